"""The header of every result: dataset, guarantee, confidence and receipt; as text, as HTML, and as JSON both ways.

A result is a `Release`, a `Selection`, an `Estimate`, a `ModelRelease`, a `SyntheticTable` or `FoundSlots`. Each adds
its own body to the header.
"""

import html
import math
import re
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, ClassVar, Self

from discreet.errors import ParameterError, public_class
from discreet.release.document import Document, conditions
from discreet.release.signed import Signed
from discreet.release.values import rendering

DAMAGES = (ArithmeticError, AttributeError, IndexError, KeyError, TypeError, ValueError)
"""What reading a file that was changed may raise."""
DEFAULT_CONFIDENCE = Fraction(19, 20)
_LARGEST = 2**1023


@public_class
@dataclass(frozen=True, kw_only=True, repr=False)
class Result(ABC):
    """A result of `Session.release`, with its guarantee and the receipt of its charge.

    Attributes:
        dataset: Name of the dataset that was charged.
        version: The owner's number for the version of its data.
        guarantee: Epsilon, delta, privacy unit and scope, in words.
        receipt: Record of the charge, as plain data.
        confidence: Probability with which the error bounds hold.
        private: False for an exact result of `dp.testing`.
        library: Version of discreet that made the result.
        place: Position in a batch: the results under one receipt have noise of their own each.
        document: What was asked, what margins leave out, what is not protected; None in files of version 1.
        signed: The signature of the ledger, and the result as it was signed; None where nothing was signed.
        repeated: Whether the result was stored before and cost nothing now. It does not count in comparisons.
    """

    dataset: str
    version: int
    guarantee: str
    receipt: dict[str, Any]
    confidence: Fraction = DEFAULT_CONFIDENCE
    private: bool = True
    library: str = ""
    place: int = 0
    document: Document | None = None
    signed: Signed | None = field(default=None, compare=False)
    repeated: bool = field(default=False, compare=False)

    _schema: ClassVar[str]
    """Name of the JSON format, without its version."""
    _noun: ClassVar[str]
    """The result in error messages: "a release"."""
    _exact: ClassVar[str]
    """The result in the stamp of `dp.testing`: "exact answers"."""

    def to_json(self) -> dict[str, Any]:
        """The result as plain data.

        Returns:
            A dictionary for `json.dumps`. A result that was changed after it was signed has the original with it.
        """
        plain = self._unsigned()
        return plain if self.signed is None else plain | self.signed.beside(plain)

    def signature_text(self) -> str:
        """Whether the result is signed, in words; the signature itself is not checked here.

        Returns:
            The text.
        """
        if self.signed is None:
            return "no"
        if self.signed.covers(self._unsigned()):
            return f"by key {self.signed.key}; check the JSON file by `discreet release verify`"
        return f"the original, by key {self.signed.key}; these numbers were changed after it"

    def _unsigned(self) -> dict[str, Any]:
        """What a signature covers."""
        return {
            "schema": f"{self._schema}/{1 if self.document is None else 2}",
            "library": self.library,
            "private": self.private,
            "dataset": {"name": self.dataset, "version": self.version},
            "guarantee": self.guarantee,
            "confidence": ratio_text(self.confidence),
            **self._body_to_json(),
            **({"place": self.place} if self.place else {}),
            **({} if self.document is None else {"document": self.document.to_json()}),
            "receipt": self.receipt,
        }

    @classmethod
    def from_json(cls, data: Any) -> Self:
        """The result that `to_json` wrote.

        Args:
            data: Plain data, as `json.loads` returns it.

        Returns:
            A result equal to the one that was written.

        Raises:
            ParameterError: If the data has another schema or is damaged.
        """
        found = data.get("schema") if isinstance(data, dict) else None
        if not cls.reads(data):
            raise ParameterError(
                f"{cls._noun} of schema {found!r}",
                because=f"this version reads {cls._schema}/1 and {cls._schema}/2",
                instead="what to_json() or save(...) wrote, or a newer version of discreet",
            )
        try:
            return cls(**_header_from_json(data), **cls._body_from_json(data), signed=Signed.from_json(data))
        except DAMAGES:
            raise ParameterError(
                f"{cls._noun} that is damaged",
                because=f"it does not have the shape of {found}",
                instead="what to_json() or save(...) wrote, unchanged",
            ) from None

    @classmethod
    def reads(cls, data: Any) -> bool:
        """Whether data names a schema that this class reads.

        Args:
            data: Plain data, as `json.loads` returns it.

        Returns:
            Whether `from_json` reads it.
        """
        return isinstance(data, dict) and data.get("schema") in (f"{cls._schema}/1", f"{cls._schema}/2")

    def __str__(self) -> str:
        return "\n".join([*self._stamp(), *self._body_lines(), *self._notes()])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        lines = "".join(f"<div>{html.escape(line)}</div>" for line in self._body_lines())
        return rendering.card(self._stamp(), lines, self._notes())

    def _stamp(self) -> list[str]:
        """The line above a result that is not private, or is of generated data."""
        return rendering.stamp(self._exact, private=self.private, dataset=self.dataset)

    def _notes(self) -> list[str]:
        """The lines below a result: conditions on rows, its error bounds, its privacy cost and its receipt."""
        where = [f"where    {condition}" for condition in conditions(self.document)]
        cost = rendering.cost_notes(self.guarantee, self.receipt, repeated=self.repeated)
        return [*where, *self._body_notes(), *cost]

    @abstractmethod
    def _body_to_json(self) -> dict[str, Any]:
        """The fields of the subclass as plain data."""

    @classmethod
    @abstractmethod
    def _body_from_json(cls, data: dict[str, Any]) -> dict[str, Any]:
        """The fields of the subclass, from the plain data of the whole result."""

    @abstractmethod
    def _body_lines(self) -> list[str]:
        """The result itself as text."""

    @abstractmethod
    def _body_notes(self) -> list[str]:
        """The notes above the privacy cost."""


_TYPES = {"guarantee": str, "receipt": dict, "private": bool, "library": str}
_RATIO = re.compile(r"-?[0-9]{1,1000}/[0-9]{1,1000}")


def _header_from_json(data: dict[str, Any]) -> dict[str, Any]:
    """The header fields, each of its type: text in the place of `private` would hide that a result is exact."""
    header: dict[str, Any] = {name: data[name] for name in _TYPES}
    confidence, place, dataset = read_ratio(data["confidence"]), data.get("place", 0), data["dataset"]
    if not 0 < confidence < 1 or any(type(header[name]) is not kind for name, kind in _TYPES.items()):
        raise TypeError
    if type(place) is not int or type(dataset["name"]) is not str or type(dataset["version"]) is not int:
        raise TypeError
    return header | {
        "confidence": confidence,
        "place": place,
        "document": Document.from_json(data["document"]) if data["schema"].endswith("/2") else None,
        "dataset": dataset["name"],
        "version": dataset["version"],
    }


def ratio_text(value: Fraction) -> str:
    """An exact ratio as text: "19/20", and "3/1" for a whole number."""
    return f"{value.numerator}/{value.denominator}"


def read_ratio(data: object) -> Fraction:
    """The ratio that `ratio_text` wrote; other texts are refused, since 1e999999999 would take all memory."""
    if not isinstance(data, str) or _RATIO.fullmatch(data) is None:
        raise ValueError("not a ratio")
    return Fraction(data)


def is_figure(value: object) -> bool:
    """Whether a value is a number that a double can hold, or None where there is none."""
    if type(value) is int:
        return abs(value) < _LARGEST
    return value is None or (type(value) is float and math.isfinite(value))
