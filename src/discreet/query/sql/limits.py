"""Limits on the size and the depth of a statement, checked on its tokens before it is parsed.

A parser by recursive descent needs stack for every level. Within these limits it always has enough, and takes less than
a tenth of a second.
"""

from collections.abc import Sequence
from decimal import Decimal, InvalidOperation
from fractions import Fraction

from sqlglot.parser import Parser
from sqlglot.tokenizer_core import Token, TokenType

from discreet.errors import SqlError

LONGEST = 20_000
LARGEST_EXPONENT = 300
MOST_TOKENS = 2_000
DEEPEST = 24
_DEEPEST_TYPES = 3
_OPENING = (TokenType.L_PAREN, TokenType.L_BRACKET, TokenType.L_BRACE, TokenType.CASE)
_CLOSING = (TokenType.R_PAREN, TokenType.R_BRACKET, TokenType.R_BRACE, TokenType.END)
_PREFIXES = (TokenType.NOT, TokenType.DASH, TokenType.PLUS, TokenType.TILDE)
_PAIRS = {
    TokenType.R_PAREN: TokenType.L_PAREN,
    TokenType.R_BRACKET: TokenType.L_BRACKET,
    TokenType.R_BRACE: TokenType.L_BRACE,
}
_AFTER_AS = (TokenType.L_PAREN, TokenType.STRING, TokenType.IDENTIFIER)
_SHORTER = "a shorter statement; keys and long lists belong in the catalog"


def check_length(text: str) -> None:
    """Refuse a text that is too long."""
    if len(text) > LONGEST:
        raise SqlError(
            f"a statement of {len(text):,} characters", because=f"at most {LONGEST:,} are read", instead=_SHORTER
        )


def number(text: str) -> Fraction | None:
    """A number that was written in a statement; None where it is none, or too large or small to be meant."""
    try:
        value = Decimal(text)
    except InvalidOperation:
        return None
    is_ordinary = value.is_finite() and abs(value.adjusted()) <= LARGEST_EXPONENT
    return Fraction(value) if is_ordinary else None


def check_tokens(tokens: Sequence[Token]) -> None:
    """Refuse too many tokens, and brackets, CASE or signs within each other too deep."""
    if len(tokens) > MOST_TOKENS:
        raise SqlError(
            f"a statement of {len(tokens):,} words and signs",
            because=f"at most {MOST_TOKENS:,} are read",
            instead=_SHORTER,
        )
    _check_type_words(tokens)
    depth = prefixes = 0
    for token in tokens:
        depth += (token.token_type in _OPENING) - (token.token_type in _CLOSING)
        prefixes = prefixes + 1 if token.token_type in _PREFIXES else 0
        if depth + prefixes > DEEPEST:
            raise SqlError(
                f"a statement of more than {DEEPEST} levels in line {token.line}",
                because="brackets, CASE, NOT and signs within each other are read to that depth",
                instead="fewer levels, or WITH for the inner ones",
            )


def _check_type_words(tokens: Sequence[Token]) -> None:
    """Refuse brackets after names of types within each other: the parser reads each level twice, so time doubles."""
    levels: list[bool] = []
    before: Token | None = None
    for token in tokens:
        if token.token_type in _PAIRS.values():
            levels.append(before is not None and before.token_type in Parser.TYPE_TOKENS)
        elif token.token_type in _PAIRS and levels:
            levels.pop()
        if sum(levels) > _DEEPEST_TYPES:
            raise _syntax_error(token, f"types with brackets within each other are read to {_DEEPEST_TYPES} levels")
        before = token


def check_signs(tokens: Sequence[Token]) -> None:
    """Refuse signs that the parser is generous with: brackets that do not match, empty places, AS without a name."""
    open_ones: list[Token] = []
    for token, following in zip(tokens, [*tokens[1:], None], strict=True):
        kind = token.token_type
        if kind in _PAIRS.values():
            open_ones.append(token)
        elif kind in _PAIRS and (not open_ones or open_ones.pop().token_type is not _PAIRS[kind]):
            raise _syntax_error(token, "no bracket was opened for it")
        after = None if following is None else following.token_type
        if kind in (TokenType.COMMA, TokenType.L_PAREN, TokenType.SELECT) and after is TokenType.COMMA:
            raise _syntax_error(token, "nothing stands between it and the next comma")
        if kind is TokenType.ALIAS and not _is_name(following):
            raise _syntax_error(token, "no name follows it")
    if open_ones:
        raise _syntax_error(open_ones[-1], "it is not closed")


def _is_name(token: Token | None) -> bool:
    if token is None:
        return False
    return token.token_type in _AFTER_AS or token.text[:1].isalpha() or token.text[:1] == "_"


def _syntax_error(token: Token, because: str) -> SqlError:
    return SqlError(
        f"{token.text[:40]!r} in line {token.line}, column {token.col}",
        because=because,
        instead="SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward",
    )
