"""From text to one SELECT: limits first, then the clause for privacy, then sqlglot, then the tree as a whole."""

from dataclasses import dataclass

from sqlglot import exp, parse, tokenize
from sqlglot.errors import ErrorLevel, ParseError, TokenError
from sqlglot.tokenizer_core import Token

from discreet.errors import SqlError
from discreet.sql_queries.limits import DEEPEST, check_length, check_tokens
from discreet.sql_queries.nodes import ACCEPTED, TEXT, refusal
from discreet.sql_queries.privacy_clause import PrivacyClause, read_clause

_DEEPEST_TREE = 8 * DEEPEST
_STATEMENT = "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward"


@dataclass(frozen=True)
class Parsed:
    """The tree of a SELECT, and what its privacy clause says."""

    select: exp.Select
    clause: PrivacyClause


def parse_statement(text: str, dialect: str) -> Parsed:
    """One SELECT statement, or an error."""
    check_length(text)
    tokens = _tokens(text, dialect)
    check_tokens(tokens)
    plain, clause = read_clause(text, tokens)
    try:
        trees = parse(plain, read=dialect, error_level=ErrorLevel.RAISE)
    except ParseError as error:
        raise _syntax_error(error) from None
    except (RecursionError, ValueError, TypeError, AttributeError, KeyError, IndexError):
        raise SqlError(
            "a statement that the parser cannot read",
            because="its parts are nested too deep, or are out of place",
            instead=_STATEMENT,
        ) from None
    found = [tree for tree in trees if tree is not None]
    if len(found) != 1:
        raise SqlError(f"{len(found)} statements", because="one SELECT is one batch and one charge", instead=_STATEMENT)
    return Parsed(_select(found[0], plain), clause)


def _tokens(text: str, dialect: str) -> list[Token]:
    try:
        return list(tokenize(text, read=dialect))
    except (TokenError, ValueError, IndexError):
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
    place = f"line {first['line']}, column {first['col']}" if first.get("line") else "the statement"
    near = str(first.get("highlight") or "")[:40]
    return SqlError(f"{near!r} in {place}" if near else place, because=said[:200], instead=f"{_STATEMENT}; {ACCEPTED}")
