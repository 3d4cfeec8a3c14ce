"""Tokens and statements of SQL DDL, as far as imports need them: words, quoted names, text, numbers and symbols.

One tokeniser for GoogleSQL and Snowflake; they differ in quotes, comments and escapes. Text is scanned once, in linear
time. A quote or comment that does not end is refused with its line.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import NamedTuple

from discreet.catalog.imports.draft import MetadataOrigin, shown
from discreet.errors import CatalogError

_COMMON = r"""
    |(?P<number>(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][-+]?[0-9]+)?)
    |(?P<symbol>->|=>|[-+*/%(),.;=<>!|&^~:?\[\]{}@$])
"""
_LETTERS = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "\\": "\\", "'": "'", '"': '"', "?": "?"}
_ESCAPE = re.compile(r"\\(?:(?P<octal>[0-7]{3})|[xX](?P<hex>[0-9a-fA-F]{2})|u(?P<short>[0-9a-fA-F]{4})"
                     r"|U(?P<long>[0-9a-fA-F]{8})|(?P<letter>.))", re.DOTALL)  # fmt: skip
_LONGEST_NUMBER = 400


@dataclass(frozen=True)
class Lexicon:
    """How a system writes tokens: the pattern of one token, letters after a backslash, and the quote of names."""

    pattern: re.Pattern[str]
    letters: Mapping[str, str]
    folds_case: bool


GOOGLE = Lexicon(
    re.compile(
        r"""(?P<space>\s+|--[^\r\n]*|\#[^\r\n]*|/\*.*?\*/)
    |(?P<text>[rR]?(?:'''(?:[^\\]|\\.)*?'''|\"""(?:[^\\]|\\.)*?\"""
        |'(?!'')(?:[^'\\\n]|\\.)*+'|"(?!"")(?:[^"\\\n]|\\.)*+"))
    |(?P<name>`(?:[^`\\\n]|\\.)++`)
    |(?P<word>[A-Za-z_][A-Za-z0-9_]*(?:(?:-[A-Za-z0-9_]{1,30}+){1,15}+(?=\.))?)"""  # a project may have dashes
        + _COMMON,
        re.VERBOSE | re.DOTALL,
    ),
    {**_LETTERS, "a": "\a", "v": "\v", "`": "`"},
    folds_case=False,
)
SNOWFLAKE = Lexicon(
    re.compile(
        r"""(?P<space>\s+|--[^\r\n]*|//[^\r\n]*|/\*.*?\*/)
    |(?P<text>'(?:[^'\\]|\\.|'')*+'|\$\$.*?\$\$)
    |(?P<name>"(?:[^"]|"")++")
    |(?P<word>[A-Za-z_][A-Za-z0-9_$]*)"""
        + _COMMON,
        re.VERBOSE | re.DOTALL,
    ),
    {**_LETTERS, "0": "\0"},
    folds_case=True,
)


class Token(NamedTuple):
    """One token: its kind, its text as written, and its line."""

    kind: str
    text: str
    line: int


class DdlStatement:
    """The tokens of one statement, read from the left."""

    def __init__(self, tokens: list[Token], lexicon: Lexicon, origin: MetadataOrigin) -> None:
        self.tokens = tokens
        self.place = 0
        self.lexicon = lexicon
        self.origin = origin

    def is_done(self) -> bool:
        """Whether all tokens were read."""
        return self.place >= len(self.tokens)

    @property
    def where(self) -> str:
        """The line of the next token, or of the last one."""
        return f"line {self.tokens[min(self.place, len(self.tokens) - 1)].line}"

    @property
    def title(self) -> str:
        """The words that the statement begins with, at most three; never its values."""
        words: list[str] = []
        for token in self.tokens[:3]:
            if token.kind != "word":
                break
            words.append(token.text.upper())
        return f"{' '.join(words) or 'a statement'} in line {self.tokens[0].line}"

    def sees(self, *words: str) -> bool:
        """Whether the next tokens are these words and symbols."""
        following = self.tokens[self.place : self.place + len(words)]
        is_same = [t.kind in ("word", "symbol") and t.text.upper() == w for t, w in zip(following, words, strict=False)]
        return len(is_same) == len(words) and all(is_same)

    def accept(self, *words: str) -> bool:
        """Read these words and symbols if they are next."""
        is_next = self.sees(*words)
        self.place += len(words) if is_next else 0
        return is_next

    def expect(self, *words: str) -> None:
        """Read these words and symbols; anything else is refused."""
        if not self.accept(*words):
            raise self.refusal(f"{' '.join(words)} belongs here", " ".join(words))

    def next(self) -> Token:
        """Read one token."""
        if self.is_done():
            raise self.refusal("the statement ends too early", "the whole statement, with ; after it")
        self.place += 1
        return self.tokens[self.place - 1]

    def name(self) -> str:
        """Read the name of a column."""
        parts = self.path()
        if len(parts) != 1:
            raise self.refusal("a column has a name without dots", "the name in quotes")
        return parts[0]

    def path(self) -> list[str]:
        """Read a name with its qualifiers, in the case in which the system stores it."""
        parts = [self._part()]
        while self.accept("."):
            parts.append(self._part())
        if not self.lexicon.folds_case:
            return [part for each in parts for part in each.split(".")]
        return parts

    def _part(self) -> str:
        token = self.next()
        if token.kind == "name":
            inner = token.text[1:-1]
            return inner.replace('""', '"') if self.lexicon.folds_case else self._unescape(inner)
        if token.kind != "word":
            self.place -= 1
            raise self.refusal("a name belongs here", "a name, in quotes if it is not a plain word")
        return token.text.upper() if self.lexicon.folds_case else token.text

    def string(self) -> str:
        """Read a text literal."""
        token = self.next()
        if token.kind != "text":
            self.place -= 1
            raise self.refusal("text in quotes belongs here", "text in quotes")
        if token.text.startswith("$$"):
            return token.text[2:-2]
        is_raw = token.text[0] in "rR"
        quoted = token.text[1:] if is_raw else token.text
        is_triple = not self.lexicon.folds_case and quoted[:3] in ("'''", '"""')
        size = 3 if is_triple else 1
        inner = quoted[size:-size]
        if is_raw:
            return inner
        return self._unescape(inner)

    def number(self) -> Decimal:
        """Read a number with its sign."""
        sign = -1 if self.accept("-") else 1
        if sign == 1:
            self.accept("+")
        token = self.next()
        if token.kind != "number" or len(token.text) > _LONGEST_NUMBER:
            self.place -= 1
            raise self.refusal("a number belongs here", "a decimal number, without quotes")
        return sign * Decimal(token.text)

    def group(self) -> list[Token]:
        """Read from ( to the ) that closes it; the tokens between them."""
        self.expect("(")
        start = self.place
        depth = 1
        while depth:
            token = self.next()
            depth += (token.text == "(") - (token.text == ")") if token.kind == "symbol" else 0
        return self.tokens[start : self.place - 1]

    def inside(self, tokens: list[Token]) -> Iterator["DdlStatement"]:
        """The parts of a list, between the commas that are in no further parentheses."""
        depth, part = 0, list[Token]()
        for token in tokens:
            symbol = token.text if token.kind == "symbol" else ""
            depth += (symbol in ("(", "[")) - (symbol in (")", "]"))
            if symbol == "," and depth == 0:
                yield self._part_of(part)
                part = []
            else:
                part.append(token)
        if tokens:
            yield self._part_of(part)

    def _part_of(self, tokens: list[Token]) -> "DdlStatement":
        if not tokens:
            raise self.refusal("a list has a value between two commas", "the list without the further comma")
        return DdlStatement(tokens, self.lexicon, self.origin)

    def rest(self) -> list[Token]:
        """Read all that is left."""
        found, self.place = self.tokens[self.place :], len(self.tokens)
        return found

    def end(self) -> None:
        """Refuse tokens that are left, such as an expression where a literal belongs."""
        if not self.is_done():
            raise self.refusal("nothing more belongs here", "literals instead of expressions")

    def refusal(self, because: str, instead: str) -> CatalogError:
        """The error for a statement that is not of the documented form."""
        after = self.tokens[self.place].text if not self.is_done() else "the end"
        return self.origin.refusal(f"{shown(after)} in {self.where}", because=because, instead=instead)

    def _unescape(self, text: str) -> str:
        if self.lexicon.folds_case:
            text = (
                text.replace("''", "'") if "\\" not in text else re.sub(r"(\\.)|''", _one_quote, text, flags=re.DOTALL)
            )
        return _ESCAPE.sub(self._escaped_character, text)

    def _escaped_character(self, match: re.Match[str]) -> str:
        letter = match["letter"]
        if letter is not None:
            if letter not in self.lexicon.letters:
                raise self.refusal(f"{shown(match[0])} is not an escape sequence", "two backslashes for one")
            return self.lexicon.letters[letter]
        code = int(match["octal"], 8) if match["octal"] else int(match["hex"] or match["short"] or match["long"], 16)
        if code > 0x10FFFF or 0xD800 <= code < 0xE000:
            raise self.refusal(f"{shown(match[0])} is not a character", "the character itself")
        return chr(code)


def _one_quote(match: re.Match[str]) -> str:
    return match[1] or "'"


def statements(text: str, lexicon: Lexicon, origin: MetadataOrigin) -> list[DdlStatement]:
    """The statements of a script, without comments and empty statements.

    Args:
        text: The script.
        lexicon: How the system writes tokens.
        origin: Where the script is from.

    Returns:
        One statement for each piece between semicolons.

    Raises:
        CatalogError: If a quote or comment does not end, or a character is not part of SQL.
    """
    found: list[list[Token]] = [[]]
    for token in _tokens(text, lexicon, origin):
        if token.kind == "symbol" and token.text == ";":
            found.append([])
        else:
            found[-1].append(token)
    return [DdlStatement(tokens, lexicon, origin) for tokens in found if tokens]


def _tokens(text: str, lexicon: Lexicon, origin: MetadataOrigin) -> Iterator[Token]:
    place, line = 0, 1
    while place < len(text):
        match = lexicon.pattern.match(text, place)
        if match is None or (match.lastgroup == "symbol" and text.startswith(("/*", "$$"), place)):
            raise origin.refusal(
                f"{shown(text[place : place + 10])} in line {line}",
                because="a quote or comment does not end, or the character is not part of SQL",
                instead="text in quotes, and names in quotes if they are not plain words",
            )
        kind = match.lastgroup or ""
        if kind != "space":
            yield Token(kind, match[0], line)
        line += match[0].count("\n")
        place = match.end()
