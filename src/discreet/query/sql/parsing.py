"""From text to one SELECT: limits first, then the clause for privacy, then sqlglot, then the tree as a whole."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from sqlglot import exp, parse, tokenize
from sqlglot.errors import ErrorLevel, ParseError, SqlglotError
from sqlglot.tokenizer_core import Token, TokenType

from discreet.errors import SqlError
from discreet.query.sql.limits import DEEPEST, check_length, check_signs, check_tokens
from discreet.query.sql.nodes import ACCEPTED, TEXT, refusal
from discreet.query.sql.privacy_clause import PrivacyClause, read_clause

_DEEPEST_TREE = 8 * DEEPEST
_STATEMENT = "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward"
_BEGINNINGS = (TokenType.SELECT, TokenType.WITH, TokenType.FROM, TokenType.L_PAREN)
_NAMED = (TokenType.VAR, TokenType.IDENTIFIER, TokenType.NUMBER, TokenType.STRING)
_SYNTAX = frozenset({"within", "group", "nulls", "first", "last"})
_ABBREVIATIONS = frozenset({"mm", "mon", "yyyy", "yy"})
_TIMES_IN_UTC = ("bigquery", "spark")
"""Dialects whose TIMESTAMP has a zone: a constant without one is a time in UTC, as all times are here."""
_FAULTS = (AssertionError, AttributeError, LookupError, RecursionError, TypeError, ValueError)
"""What the parser raises at words that are out of place."""
_COUNTED: dict[TokenType, tuple[type[exp.Expr], ...]] = {
    TokenType.STAR: (exp.Star, exp.Mul),
    TokenType.DISTINCT: (exp.Distinct,),
}


@dataclass(frozen=True)
class SelectTree:
    """The tree of a SELECT, what its privacy clause says, and a refusal where the tree lacks a word of the text."""

    select: exp.Select
    clause: PrivacyClause
    dropped: SqlError | None = None


def parse_statement(text: str, dialect: str) -> SelectTree:
    """One SELECT statement, or an error."""
    check_length(text)
    tokens = _tokens(text, dialect)
    check_tokens(tokens)
    _check_beginning(tokens)
    check_signs(tokens)
    plain, clause = read_clause(text, tokens)
    try:
        trees = parse(plain, read=dialect, error_level=ErrorLevel.RAISE)
    except ParseError as error:
        raise _syntax_error(error) from None
    except (SqlglotError, *_FAULTS):
        raise SqlError(
            "a statement that the parser cannot read",
            because="its parts are nested too deep, or are out of place",
            instead=_STATEMENT,
        ) from None
    found = [tree for tree in trees if tree is not None]
    if len(found) != 1:
        raise SqlError(f"{len(found)} statements", because="one SELECT is one batch and one charge", instead=_STATEMENT)
    select = _select(found[0], plain)
    if dialect not in _TIMES_IN_UTC:
        _refuse_zones(select)
    return SelectTree(select, clause, _first_loss(_tokens(plain, dialect), select, plain))


def _check_beginning(tokens: Sequence[Token]) -> None:
    """Refuse other statements than SELECT, and several, before the parser guesses what they are."""
    ends = [i for i, token in enumerate(tokens) if token.token_type is TokenType.SEMICOLON]
    parts = [part for part in _statements(tokens, ends) if part]
    if len(parts) != 1:
        raise SqlError(f"{len(parts)} statements", because="one SELECT is one batch and one charge", instead=_STATEMENT)
    if parts[0][0].token_type not in _BEGINNINGS:
        raise SqlError(
            f"a statement of kind {parts[0][0].text.upper()[:40]} in line {parts[0][0].line}",
            because="only SELECT is answered",
            instead=_STATEMENT,
        )


def _statements(tokens: Sequence[Token], ends: Sequence[int]) -> list[Sequence[Token]]:
    starts = [0, *(end + 1 for end in ends)]
    return [tokens[start:end] for start, end in zip(starts, [*ends, len(tokens)], strict=True)]


def _first_loss(tokens: Sequence[Token], select: exp.Select, text: str) -> SqlError | None:
    """The refusal of the first word of a statement that its tree lacks: the parser ignores some that it knows.

    Names, numbers and texts are looked for one by one at any place; * and DISTINCT are counted.
    """
    known = Counter[object]()
    for node in select.walk():
        known[type(node)] += 1
        if isinstance(node, exp.Identifier | exp.Literal | exp.Var | exp.Anonymous):
            known[str(node.this).casefold()] += 1
    for before, token, following in zip([None, *tokens[:-1]], tokens, [*tokens[1:], None], strict=True):
        kinds = _COUNTED.get(token.token_type)
        is_call = following is not None and following.token_type is TokenType.L_PAREN
        if kinds is not None:
            found = [kind for kind in kinds if known[kind] > 0]
        elif token.token_type in _NAMED and not (is_call and token.token_type is TokenType.VAR):
            word = token.text.casefold()
            if word in (_SYNTAX if token.token_type is TokenType.VAR else _ABBREVIATIONS):
                continue
            is_after_dot = before is not None and before.token_type is TokenType.DOT
            words = [word, f"0.{word}"] if is_after_dot else [word]
            found = [each for each in words if known[each] > 0]  # type: ignore[misc]
            if not found and token.token_type is TokenType.IDENTIFIER and _takes_parts(known, word):
                continue
        else:
            continue
        if not found:
            column = token.start - text.rfind("\n", 0, token.start)
            return SqlError(
                f"{token.text[:40]!r} in line {token.line}, column {column}",
                because="the parser ignores it at this place, so the answer would be to another statement",
                instead=f"the statement without it; {ACCEPTED}",
            )
        known[found[0]] -= 1
    return None


def _takes_parts(known: Counter[object], word: str) -> bool:
    """Whether the tree has each part of a path in one pair of quotes, as BigQuery writes it; they are then taken."""
    parts = Counter(word.split("."))
    if len(parts) == 1 or any(known[part] < times for part, times in parts.items()):
        return False
    known.subtract(parts)
    return True


def _tokens(text: str, dialect: str) -> list[Token]:
    try:
        return list(tokenize(text, read=dialect))
    except (SqlglotError, *_FAULTS):
        raise SqlError(
            "a statement with a quote or a comment that does not end",
            because="it cannot be divided into words",
            instead=_STATEMENT,
        ) from None


def _select(tree: exp.Expr, text: str) -> exp.Select:
    if not isinstance(tree, exp.Select):
        kind = str(getattr(tree, "this", "")) if isinstance(tree, exp.Command) else tree.key
        raise SqlError(
            f"a statement of kind {kind.upper()[:40]}",
            because="only SELECT is answered",
            instead="several SELECT statements" if isinstance(tree, exp.SetOperation) else _STATEMENT,
        )
    tree.meta[TEXT] = text
    _check_depth(tree)
    return tree


def _refuse_zones(tree: exp.Expr) -> None:
    for kind in tree.find_all(exp.DataType):
        if kind.this in (exp.DType.TIMESTAMPTZ, exp.DType.TIMESTAMPLTZ):
            raise refusal(
                kind.parent or kind,
                because="a time with a zone depends on settings of the engine",
                instead="TIMESTAMP '2026-01-31 12:00', in UTC",
            )


def _check_depth(tree: exp.Expr) -> None:
    """Refuse trees that are too deep for the translation, such as long chains of AND; no recursion is used."""
    level: list[exp.Expr] = [tree]
    for _ in range(_DEEPEST_TREE):
        level = [child for node in level for child in node.iter_expressions()]
        if not level:
            return
    raise refusal(
        level[0],
        what="a chain of conditions or signs",
        because=f"the statement has more than {_DEEPEST_TREE} levels",
        instead="IN (...) for long lists of alternatives",
    )


def _syntax_error(error: ParseError) -> SqlError:
    """What the parser says of the first fault, in its own words and with its place."""
    first = error.errors[0] if error.errors else {}
    said = str(first.get("description") or "it is not SQL").rstrip(".")
    if "<" in said:  # a class of the parser, which says nothing to anybody
        said = "a part of the statement is missing here"
    place = f"line {first['line']}, column {first['col']}" if first.get("line") else "the statement"
    near = str(first.get("highlight") or "")[:40]
    return SqlError(f"{near!r} in {place}" if near else place, because=said[:200], instead=f"{_STATEMENT}; {ACCEPTED}")
