"""One number about a whole table, made private by noise that fits the data or by many small answers; with its receipt.

A margin is there only where it is public. Noise that was fitted to the data has a size that is itself private, so such
an estimate has none; and a test that does not pass gives no value at all, which is an answer that was paid for.
"""

import html
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from discreet.errors import public_class
from discreet.exact import shown
from discreet.release.values import rendering

SCHEMA = "discreet.estimate/1"

Figure = int | float


@public_class
@dataclass(frozen=True)
class Estimate:
    """A value, or none where a test did not pass; how it was made; what it cost."""

    dataset: str
    version: int
    name: str
    value: Figure | None
    made: str
    guarantee: str
    receipt: dict[str, Any] = field(repr=False)
    margin: Figure | None = None
    confidence: Fraction = Fraction(19, 20)
    private: bool = True
    library: str = ""
    repeated: bool = field(default=False, compare=False)

    def __float__(self) -> float:
        return float("nan") if self.value is None else float(self.value)

    def to_json(self) -> dict[str, Any]:
        """The estimate as plain data."""
        return {
            "schema": SCHEMA,
            "library": self.library,
            "private": self.private,
            "dataset": {"name": self.dataset, "version": self.version},
            "name": self.name,
            "value": self.value,
            "margin": self.margin,
            "confidence": f"{self.confidence.numerator}/{self.confidence.denominator}",
            "made": self.made,
            "guarantee": self.guarantee,
            "receipt": self.receipt,
        }

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> "Estimate":
        """The estimate that `to_json` wrote."""
        same = ("library", "private", "name", "value", "margin", "made", "guarantee", "receipt")
        return cls(
            dataset=data["dataset"]["name"],
            version=data["dataset"]["version"],
            confidence=Fraction(data["confidence"]),
            **{word: data[word] for word in same},
        )

    def __str__(self) -> str:
        return "\n".join([*self._stamp(), self._summary(), *self._notes()])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return rendering.card(self._stamp(), f"<div>{html.escape(self._summary())}</div>", self._notes())

    def _stamp(self) -> list[str]:
        return rendering.stamp("an exact answer", private=self.private)

    def _summary(self) -> str:
        if self.value is None:
            return f"{self.name}  nothing: the test did not pass"
        beside = "" if self.margin is None else f" ± {_short(self.margin)}"
        return f"{self.name}  {_short(self.value)}{beside}"

    def _notes(self) -> list[str]:
        level = shown(100 * self.confidence)
        margin = (
            "it cost what a number would have cost"
            if self.value is None
            else "no margin: how far the noise goes is not public in advance"
            if self.margin is None
            else f"± holds {level}% of the time, for the noise alone"
        )
        return [
            margin,
            f"made by  {self.made}",
            *rendering.cost_notes(self.guarantee, self.receipt, repeated=self.repeated),
        ]


def _short(value: Figure) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{value:,.6g}"
