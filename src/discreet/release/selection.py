"""What a selection gives: the candidates that were chosen, how good they are sure to be, and the receipt.

The scores themselves do not leave: which candidate won is all that was paid for.
"""

import datetime as dt
import html
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from discreet.catalog.catalog import Value
from discreet.errors import ParameterError, public_class
from discreet.exact import shown
from discreet.release.values import rendering

SCHEMA = "discreet.chosen/1"


@public_class
@dataclass(frozen=True)
class Chosen:
    """Candidates with high scores, best first as far as the noise tells.

    `within` says how good: with probability `confidence`, the score of the first is at most so far below the best one,
    whatever the data is. Candidates that were not known are not counted (None), and then fewer may be chosen, or none.
    """

    dataset: str
    version: int
    values: tuple[Value | float, ...]
    candidates: int | None
    within: Fraction
    confidence: Fraction
    guarantee: str
    receipt: dict[str, Any] = field(repr=False)
    private: bool = True
    library: str = ""
    repeated: bool = field(default=False, compare=False)

    @property
    def value(self) -> Any:
        """The candidate that was chosen first."""
        if not self.values:
            raise ParameterError(
                "the first of a selection that is empty",
                because="no key stood out enough to be named",
                instead="a larger epsilon, or keys that are public",
            )
        return self.values[0]

    def to_json(self) -> dict[str, Any]:
        """The selection as plain data."""
        plain = [v.isoformat() if isinstance(v, dt.date | dt.datetime) else v for v in self.values]
        return {
            "schema": SCHEMA,
            "library": self.library,
            "private": self.private,
            "dataset": {"name": self.dataset, "version": self.version},
            "values": plain,
            "candidates": self.candidates,
            "within": f"{self.within.numerator}/{self.within.denominator}",
            "confidence": f"{self.confidence.numerator}/{self.confidence.denominator}",
            "guarantee": self.guarantee,
            "receipt": self.receipt,
        }

    def __str__(self) -> str:
        return "\n".join([*self._stamp(), self._summary(), *self._notes()])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return rendering.card(self._stamp(), f"<div>{html.escape(self._summary())}</div>", self._notes())

    def _stamp(self) -> list[str]:
        return rendering.stamp("the best without noise", private=self.private)

    def _summary(self) -> str:
        named = ", ".join("(missing)" if value is None else str(value) for value in self.values)
        among = "keys that were not known" if self.candidates is None else f"{self.candidates:,} candidates"
        return f"{named or 'none'}, of {among}"

    def _notes(self) -> list[str]:
        level, whose = shown(100 * self.confidence), "the" if len(self.values) == 1 else "the first one's"
        return [
            f"in {level}% of selections {whose} score is at most {shown(self.within, 6)} below the best",
            *rendering.cost_notes(self.guarantee, self.receipt, repeated=self.repeated),
        ]
