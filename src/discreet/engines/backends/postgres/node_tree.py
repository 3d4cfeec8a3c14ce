"""PostgreSQL's parsed expressions and queries (`pg_node_tree`), read from the text in which its catalogs keep them.

The text is what the server itself reads when it expands a view or a policy, so nothing is lost between what is checked
and what runs. Text that does not follow the grammar is an error: the definition is refused.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias

_WORD = re.compile(r"[(){}]|(?:\\.|[^\s(){}\\])+", re.DOTALL)
_DEEPEST = 200  # two frames are used for each level, of the 1,000 that Python has

Value: TypeAlias = "Node | list[Value] | bytes | str | None"


@dataclass(frozen=True)
class Node:
    """A node by its label, such as OPEXPR, with its fields; `<>` is None, a constant's datum is bytes."""

    label: str
    fields: Mapping[str, Value]

    def __getitem__(self, name: str) -> Value:
        """A field; one that the server did not write is None."""
        return self.fields.get(name)

    def nodes(self, name: str) -> "list[Node]":
        """The nodes in a list, or the one that a field holds."""
        value = self[name]
        return [each for each in (value if isinstance(value, list) else [value]) if isinstance(each, Node)]

    def number(self, name: str) -> int:
        """A field that is a whole number."""
        return int(str(self[name]))


def parse_node_tree(text: str) -> Value:
    """The tree that a text describes.

    >>> parse_node_tree("{CONST :consttype 23 :constisnull false}")["consttype"]
    '23'
    """
    reader = _Reader(iter(_WORD.findall(text)))
    value = reader.value(reader.take(), 0)
    if reader.peek() is not None:
        raise ValueError("a tree ends before its text does")
    return value


class _Reader:
    def __init__(self, words: Iterator[str]) -> None:
        self._words = words
        self._next = next(words, None)

    def peek(self) -> str | None:
        return self._next

    def take(self) -> str:
        word, self._next = self._next, next(self._words, None)
        if word is None:
            raise ValueError("a tree is not closed")
        return word

    def value(self, word: str, depth: int) -> Value:
        if depth > _DEEPEST or word in (")", "}"):
            raise ValueError("a tree is too deep, or not well formed")
        if word == "{":
            return self._node(depth + 1)
        if word == "(":
            return self._list(depth + 1)
        return None if word == "<>" else word

    def _list(self, depth: int) -> list[Value]:
        found: list[Value] = []
        while (word := self.take()) != ")":
            found.append(self.value(word, depth))
        return found

    def _node(self, depth: int) -> Node:
        label = self.take()
        fields: dict[str, Value] = {}
        while (word := self.take()) != "}":
            name = word[1:]
            if not word.startswith(":") or name in fields:
                raise ValueError("a field of a node has no name, or a name twice")
            fields[name] = self.value(self.take(), depth)  # also where a name that a user chose begins with a colon
            if self.peek() == "[":
                fields[name] = self._datum()
        return Node(label, fields)

    def _datum(self) -> bytes:
        """The bytes of a constant, which are written as signed numbers in square brackets."""
        self.take()
        found = []
        while (word := self.take()) != "]":
            found.append(int(word) % 256)
        return bytes(found)
