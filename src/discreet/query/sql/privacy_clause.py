"""The parts of a statement that only dialects with differential privacy have, read before the parser sees them.

`SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1, ...)` gives parameters, and an aggregate may have named
arguments: `SUM(x, contribution_bounds_per_row => (0, 10))`. Both are replaced by spaces, so that all other positions
stay as they are.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from sqlglot.tokenizer_core import Token, TokenType

from discreet.errors import SqlError, suggestion
from discreet.query.sql.limits import number

Bounds = tuple[Fraction, Fraction]
PER_ROW, PER_GROUP = "contribution_bounds_per_row", "contribution_bounds_per_group"
_NUMBERS = ("epsilon", "delta")
_COUNTS = ("max_groups_contributed",)
_TEXTS = ("privacy_unit_column",)
OPTIONS = (*_NUMBERS, *_COUNTS, *_TEXTS)


@dataclass(frozen=True)
class NamedBounds:
    """Bounds that an aggregate was given by name."""

    name: str
    bounds: Bounds


@dataclass(frozen=True)
class PrivacyClause:
    """The options of a statement, and the bounds of its aggregates by where the name of the aggregate begins."""

    options: Mapping[str, Fraction | str] = field(default_factory=dict)
    bounds: Mapping[int, NamedBounds] = field(default_factory=dict)


def read_clause(text: str, tokens: Sequence[Token]) -> tuple[str, PrivacyClause]:
    """The text without these parts, and what they say."""
    reader = _ClauseReader(tokens)
    options, spans = reader.options()
    bounds, more = reader.bounds()
    for start, end in (*spans, *more):
        text = text[:start] + "".join(c if c == "\n" else " " for c in text[start:end]) + text[end:]
    return text, PrivacyClause(options, bounds)


class _ClauseReader:
    def __init__(self, tokens: Sequence[Token]) -> None:
        self._tokens = tokens

    def options(self) -> tuple[dict[str, Fraction | str], list[tuple[int, int]]]:
        """The options of the outer SELECT; a clause at any other place is refused."""
        places = [i for i in range(len(self._tokens)) if self._is(i, "DIFFERENTIAL_PRIVACY", "ANONYMIZATION")]
        places = [i for i in places if i >= 2 and self._is(i - 1, "WITH") and self._is(i - 2, "SELECT")]
        if not places:
            return {}, []
        at = places[0]
        if len(places) > 1 or self._is(at, "ANONYMIZATION") or self._depth(at):
            raise self._refusal(
                places[-1], "a statement has one such clause, WITH DIFFERENTIAL_PRIVACY, in its outer SELECT"
            )
        end = at + 1
        options: dict[str, Fraction | str] = {}
        if self._is(end, "OPTIONS"):
            end = self._read_options(end + 1, options)
        return options, [(self._tokens[at - 1].start, self._tokens[end - 1].end + 1)]

    def _read_options(self, at: int, options: dict[str, Fraction | str]) -> int:
        """Read `(name = value, ...)`; returns the place after it."""
        self._expect(at, TokenType.L_PAREN)
        at += 1
        while not self._type_is(at, TokenType.R_PAREN):
            name = self._text(at).lower() if self._type_is(at, TokenType.VAR) else ""
            if name not in OPTIONS or name in options:
                nearest = suggestion(name, OPTIONS)
                raise SqlError(
                    f"option {self._text(at)!r} in {self._place(at)}"[:120],
                    because="it stands twice" if name in options else f"the options are {', '.join(OPTIONS)}",
                    instead=f"{nearest if nearest in OPTIONS else 'epsilon'} = ..., or the statement without it",
                )
            self._expect(at + 1, TokenType.EQ)
            options[name], at = self._value(name, at + 2)
            if not self._type_is(at, TokenType.R_PAREN):
                self._expect(at, TokenType.COMMA)
                at += 1
                if self._type_is(at, TokenType.R_PAREN):
                    raise self._refusal(at, "an option is expected here")
        return at + 1

    def _value(self, name: str, at: int) -> tuple[Fraction | str, int]:
        if name in _TEXTS:
            if not self._type_is(at, TokenType.VAR, TokenType.IDENTIFIER, TokenType.STRING):
                raise self._refusal(at, "a column is named here")
            return self._text(at), at + 1
        value, at = self._number(at)
        if value <= 0 or (name in _COUNTS and value.denominator != 1):
            raise self._refusal(at - 1, f"{name} is a {'whole ' if name in _COUNTS else ''}number above 0")
        if name == "delta" and value >= 1:
            raise self._refusal(at - 1, "delta is a number above 0 and far below 1")
        return value, at

    def bounds(self) -> tuple[dict[int, NamedBounds], list[tuple[int, int]]]:
        """Named bounds of aggregates, with the spans of their text."""
        found: dict[int, NamedBounds] = {}
        spans = []
        for at, token in enumerate(self._tokens):
            if token.token_type is not TokenType.FARROW:
                continue
            name = self._text(at - 1).lower()
            if name not in (PER_ROW, PER_GROUP) or not self._type_is(at - 2, TokenType.COMMA):
                raise self._refusal(at - 1, f"the named arguments are {PER_ROW} and {PER_GROUP}, after the value")
            bounds, end = self._pair(at + 1)
            function = self._function_before(at)
            if function in found or not self._type_is(end, TokenType.R_PAREN):
                raise self._refusal(at - 1, "an aggregate has one pair of bounds, as its last argument")
            found[function] = NamedBounds(name, bounds)
            spans.append((self._tokens[at - 2].start, self._tokens[end - 1].end + 1))
        return found, spans

    def _pair(self, at: int) -> tuple[Bounds, int]:
        self._expect(at, TokenType.L_PAREN)
        low, at = self._number(at + 1)
        self._expect(at, TokenType.COMMA)
        high, at = self._number(at + 1)
        self._expect(at, TokenType.R_PAREN)
        if low > high:
            raise self._refusal(at, "the lower bound is above the upper one")
        return (low, high), at + 1

    def _function_before(self, at: int) -> int:
        """Where the name of the function begins whose arguments a place is in."""
        depth = 0
        for i in range(at, 0, -1):
            depth += self._type_is(i, TokenType.R_PAREN) - self._type_is(i, TokenType.L_PAREN)
            if depth < 0:
                return int(self._tokens[i - 1].start)
        raise self._refusal(at, "named arguments stand in the call of an aggregate")

    def _number(self, at: int) -> tuple[Fraction, int]:
        sign = -1 if self._type_is(at, TokenType.DASH) else 1
        at += sign < 0
        self._expect(at, TokenType.NUMBER)
        value = number(self._text(at))
        if value is None:
            raise self._refusal(at, "a plain number stands here")
        return sign * value, at + 1

    def _depth(self, at: int) -> int:
        """How many brackets are open at a place."""
        opening, closing = TokenType.L_PAREN, TokenType.R_PAREN
        return sum(self._type_is(i, opening) - self._type_is(i, closing) for i in range(at))

    def _expect(self, at: int, kind: TokenType) -> None:
        if not self._type_is(at, kind):
            raise self._refusal(at, f"{kind.name.lower().replace('_', ' ')} is expected here")

    def _type_is(self, at: int, *kinds: TokenType) -> bool:
        return 0 <= at < len(self._tokens) and self._tokens[at].token_type in kinds

    def _is(self, at: int, *words: str) -> bool:
        quoted = (TokenType.STRING, TokenType.IDENTIFIER)
        is_word = 0 <= at < len(self._tokens) and not self._type_is(at, *quoted)
        return is_word and self._tokens[at].text.upper() in words

    def _text(self, at: int) -> str:
        return str(self._tokens[at].text) if 0 <= at < len(self._tokens) else ""

    def _place(self, at: int) -> str:
        return f"line {self._tokens[min(at, len(self._tokens) - 1)].line}"

    def _refusal(self, at: int, because: str) -> SqlError:
        return SqlError(
            f"{self._text(at) or 'the end'!r} in {self._place(at)}"[:120],
            because=because,
            instead="SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1) ..., "
            f"and SUM(x, {PER_ROW} => (0, 10)) for bounds",
        )
