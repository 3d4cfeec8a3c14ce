"""What a result says of itself beside its numbers: what was asked, what its margins leave out, what is not protected.

All of it is public and known before data is read. The signature of a result covers it with the numbers.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from discreet.errors import public_class
from discreet.release.values import rendering

Lines = tuple[tuple[str, str], ...]
"""Labels and texts."""

_LISTS = ("omitted", "unprotected", "others")


@public_class
@dataclass(frozen=True, kw_only=True)
class Document:
    """The documentation that travels with a result. Print it to read it.

    Attributes:
        query: The query in words, as labels and texts: table, conditions, joins, groups, outputs, contribution bounds.
        plan: The plan that was charged, as JSON text: the query of the engine, and states of public tables. Its SHA-256
            is the `description` of the receipt. None where it is longer than 100,000 characters.
        omitted: What margins of error do not include.
        unprotected: What is not protected.
        others: Other known releases from the dataset, which its owner declared in the catalog, or recorded in the
            ledger before the charge.
        software: Versions of discreet and Python, and the engine.

    Example:
        >>> import discreet as dp
        >>> people = dp.datasets.people(1_000)
        >>> with dp.testing.protect(people, name="people", privacy_unit=dp.ROW, budget=dp.Budget(epsilon=1)) as session:
        ...     release = session.release(dp.table("people").agg(n=dp.count()), epsilon=0.5)
        >>> dict(release.document.query)["output"]
        'n = number of rows'
    """

    query: Lines
    plan: str | None
    omitted: tuple[str, ...]
    unprotected: tuple[str, ...]
    others: tuple[str, ...]
    software: Lines

    @property
    def summary(self) -> str:
        """What was asked, in one line."""
        return summary(self.query)

    def to_json(self) -> dict[str, Any]:
        """The document as plain data.

        Returns:
            A dictionary for `json.dumps`.
        """
        return {
            "query": [list(line) for line in self.query],
            "plan": self.plan,
            **{name: list(getattr(self, name)) for name in _LISTS},
            "software": [list(line) for line in self.software],
        }

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> "Document":
        """The document that `to_json` wrote.

        Args:
            data: Plain data.

        Returns:
            The document.

        Raises:
            TypeError: If the data is damaged.
        """
        query, software = (_lines(data[name]) for name in ("query", "software"))
        lists = {name: _texts(data[name]) for name in _LISTS}
        if not (data["plan"] is None or isinstance(data["plan"], str)):
            raise TypeError
        return cls(query=query, software=software, plan=data["plan"], **lists)

    def lines(self) -> Lines:
        """Labels and texts, in the order in which they are printed.

        Returns:
            Pairs of a label and a text.
        """
        return tuple(self._lines())

    def __str__(self) -> str:
        return aligned(self.lines())

    __repr__ = __str__

    def _lines(self) -> Iterator[tuple[str, str]]:
        yield from self.query
        names = {"omitted": "margins do not include", "unprotected": "not protected", "others": "other releases"}
        for name, label in names.items():
            yield from ((label, text) for text in getattr(self, name))
        if not self.others:
            yield "other releases", "none declared by the owner"
        yield "software", ", ".join(f"{name} {version}" for name, version in self.software)


def summary(query: Lines) -> str:
    """What was asked, in one line."""
    return "; ".join(f"{label}: {text}" for label, text in query)


def conditions(document: Document | None) -> list[str]:
    """The conditions on rows, each a text that prints; none for a file of version 1."""
    return [] if document is None else [rendering.cell(text) for label, text in document.query if label == "where"]


def aligned(lines: Lines) -> str:
    """Labels and texts in two columns; a label is shown once for texts that follow each other.

    They may come from a file that nobody verified, so characters that do not print are written as their codes.
    """
    printable = [(rendering.cell(label), rendering.cell(text)) for label, text in lines]
    width = max((len(label) for label, _ in printable), default=0)
    shown, last = [], None
    for label, text in printable:
        shown.append(f"{'' if label == last else label:{width}}  {text}")
        last = label
    return "\n".join(shown)


def _lines(data: Any) -> Lines:
    return tuple((label, text) for label, text in map(_texts, data))


def _texts(data: Any) -> tuple[str, ...]:
    if not isinstance(data, list) or not all(isinstance(text, str) for text in data):
        raise TypeError
    return tuple(data)
