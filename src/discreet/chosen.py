"""What a selection gives: the candidates that were chosen, how good they are sure to be, and the receipt.

The scores themselves do not leave: which candidate won is all that was paid for.
"""

import datetime as dt
import html
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from discreet.catalog import Value
from discreet.exact import shown

SCHEMA = "discreet.chosen/1"


@dataclass(frozen=True)
class Chosen:
    """Candidates with high scores, best first as far as the noise tells.

    `within` says how good: with probability `confidence`, the score of the first is at most so far below the best one,
    whatever the data is.
    """

    dataset: str
    version: int
    values: tuple[Value | float, ...]
    candidates: int
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
        return "\n".join([*self._stamp(), self._said(), *self._notes()])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        stamp = "".join(f"<strong>{html.escape(text)}</strong>" for text in self._stamp())
        notes = "".join(f"<div>{html.escape(note)}</div>" for note in self._notes())
        return f"<div>{stamp}<div>{html.escape(self._said())}</div><small>{notes}</small></div>"

    def _stamp(self) -> list[str]:
        return [] if self.private else ["NOT PRIVATE: the best without noise, from dp.testing, for tests only"]

    def _said(self) -> str:
        first = "(missing)" if self.value is None else str(self.value)
        rest = "".join(f", {value}" for value in self.values[1:])
        return f"{first}{rest}, of {self.candidates:,} candidates"

    def _notes(self) -> list[str]:
        receipt = str(self.receipt.get("hash", ""))[:12]
        level, whose = shown(100 * self.confidence), "the" if len(self.values) == 1 else "the first one's"
        return [
            f"in {level}% of selections {whose} score is at most {shown(self.within, 6)} below the best",
            f"spent    {self.guarantee}",
            *(["repeat   this question was answered before; the stored answer is free"] if self.repeated else []),
            *([f"receipt  {receipt}"] if receipt else []),
        ]
