"""Conditions of checks and indexes as trees, so that two spellings of one condition compare as equal, and no others.

PostgreSQL prints a condition with parentheses, types of literals and other words than it was written in. Both
`a AND (b OR c)` and `(a AND b) OR c` are conditions, and two, so parentheses are parsed and not dropped. What the
description of the schema does not use (functions, other casts, operators of a schema) compares as its own text.
"""

import re
from collections.abc import Callable

Tree = str | tuple[object, ...]

_TOKEN = re.compile(r"\s*('(?:[^']|'')*'|::|<>|<=|>=|[<>=(),\[\]]|\w+)")
_COMPARISONS = frozenset({"=", "<>", "<", "<=", ">", ">="})
_WORDS = frozenset({"AND", "OR", "NOT", "IS", "NULL", "IN", "ANY", "ARRAY", "DISTINCT", "FROM", "CHECK"})


def condition(text: str) -> Tree:
    """The tree of a condition; a text that is none of those that the schema has stays as it is.

    >>> condition("(a >= 1) AND (b IS NOT NULL)") == condition("a >= 1 AND NOT b IS NULL")
    True
    >>> condition("a AND (b OR c)") == condition("(a AND b) OR c")
    False
    """
    try:
        return _Parser(_tokens(text)).whole()
    except (ValueError, RecursionError):
        return text


def _tokens(text: str) -> list[str]:
    found, place = [], 0
    text = text.strip()
    while place < len(text):
        match = _TOKEN.match(text, place)
        if match is None:
            raise ValueError(text)
        found.append(match[1])
        place = match.end()
    return found


class _Parser:
    """Tokens from the left; each method reads one kind of expression, from the weakest to the strongest."""

    def __init__(self, tokens: list[str]) -> None:
        self._rest = tokens[::-1]

    def whole(self) -> Tree:
        tree = self._any()
        if self._rest:
            raise ValueError(self._rest)
        return tree

    def _any(self) -> Tree:
        return self._chain_of("OR", self._all)

    def _all(self) -> Tree:
        return self._chain_of("AND", self._negation)

    def _chain_of(self, word: str, part: Callable[[], Tree]) -> Tree:
        """Parts joined by a word; those that are joined by it themselves are parts of the whole."""
        parts = [part()]
        while self._skip(word):
            parts.append(part())
        flat = [each for tree in parts for each in (tree[1:] if tree[0] == word else (tree,))]
        return parts[0] if len(parts) == 1 else (word, *flat)

    def _negation(self) -> Tree:
        return ("NOT", self._negation()) if self._skip("NOT") else self._test()

    def _test(self) -> Tree:
        tree = self._comparison()
        while self._skip("IS"):
            is_negated = self._skip("NOT")
            if self._skip("NULL"):
                tree = ("NULL", tree)
            else:
                self._expect("DISTINCT", "FROM")
                tree = ("DISTINCT", tree, self._comparison())
            tree = ("NOT", tree) if is_negated else tree
        return tree

    def _comparison(self) -> Tree:
        left = self._value()
        if self._skip("IN"):
            self._expect("(")
            return ("IN", left, *self._list(")"))
        if self._rest and self._rest[-1] in _COMPARISONS:
            act = self._rest.pop()
            if act == "=" and self._skip("ANY"):
                self._expect("(", "ARRAY", "[")
                found = self._list("]")
                self._expect(")")
                return ("IN", left, *found)
            return (act, left, self._value())
        return left

    def _list(self, end: str) -> list[Tree]:
        found = [self._value()]
        while self._skip(","):
            found.append(self._value())
        self._expect(end)
        return found

    def _value(self) -> Tree:
        if self._skip("("):
            tree = self._any()
            self._expect(")")
            return tree
        token = self._rest.pop() if self._rest else ""
        if token in _WORDS or not re.fullmatch(r"\w+|'.*'", token, re.DOTALL):
            raise ValueError(token)
        if token.startswith("'") and self._skip("::"):
            self._expect("text")
        return token

    def _skip(self, word: str) -> bool:
        """Whether this token is next, which is read then."""
        is_next = bool(self._rest) and self._rest[-1] == word
        if is_next:
            self._rest.pop()
        return is_next

    def _expect(self, *words: str) -> None:
        for word in words:
            if not self._skip(word):
                raise ValueError(word)
