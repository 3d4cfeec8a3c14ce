"""The result of a private selection: the candidates, an error bound for their scores, and the receipt.

The scores themselves are not released. The privacy cost covers the selected candidates only.
"""

import datetime as dt
import itertools
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

from discreet.catalog.catalog import Value
from discreet.errors import ParameterError, public_class
from discreet.exact.numbers import shown
from discreet.release.result import Result, is_figure, ratio_text, read_ratio

_DATES: dict[type, str] = {dt.date: "date", dt.datetime: "timestamp"}
_PARSERS = {"date": dt.date.fromisoformat, "timestamp": dt.datetime.fromisoformat}


@public_class
@dataclass(frozen=True, kw_only=True, repr=False)
class Selection(Result):
    """Candidates with high scores, selected with differential privacy.

    The header fields (`dataset`, `guarantee`, `receipt`, ...) are those of every result.

    Attributes:
        values: The selected candidates, best first up to noise. With unknown keys there may be fewer than requested,
            or none.
        candidates: Number of public candidates; None for unknown keys.
        within: With probability `confidence`, the score of the first is at most this far below the best score.

    Example:
        >>> import discreet as dp
        >>> people = dp.datasets.people(1_000)
        >>> query = dp.table("people").choose(["F", "M", "X"], score=dp.score(by="sex"))
        >>> with dp.testing.protect(people, name="people", privacy_unit=dp.ROW, budget=dp.Budget(epsilon=1)) as session:
        ...     selection = session.release(query, epsilon=0.5)
        >>> selection.value
        'F'
        >>> dp.Selection.from_json(selection.to_json()) == selection
        True
    """

    values: tuple[Value | float, ...]
    candidates: int | None
    within: Fraction

    _schema: ClassVar = "discreet.chosen"
    _noun: ClassVar = "a selection"
    _exact: ClassVar = "the best without noise"

    @property
    def value(self) -> Any:
        """The candidate that was selected first."""
        if not self.values:
            raise ParameterError(
                "the first of a selection that is empty",
                because="no key stood out enough to be named",
                instead="a larger epsilon, or keys that are public",
            )
        return self.values[0]

    def _body_to_json(self) -> dict[str, Any]:
        """Dates are text; `types`, which only a selection with dates has, tells them from candidates that are text."""
        types = [_DATES.get(type(value)) for value in self.values]
        plain = [value.isoformat() if isinstance(value, dt.date) else value for value in self.values]
        body = {"values": plain, "candidates": self.candidates, "within": ratio_text(self.within)}
        return body | ({"types": types} if any(types) else {})

    @classmethod
    def _body_from_json(cls, data: dict[str, Any]) -> dict[str, Any]:
        types, candidates = data.get("types") or itertools.repeat(None, len(data["values"])), data["candidates"]
        pairs = zip(data["values"], types, strict=True)
        if not (candidates is None or type(candidates) is int) or not is_figure(candidates):
            raise TypeError("a number of candidates that is none")
        if not all(isinstance(value, str | bool) or is_figure(value) for value in data["values"]):
            raise TypeError("candidates of an unknown type")
        return {
            "values": tuple(value if kind is None else _PARSERS[kind](value) for value, kind in pairs),
            "candidates": candidates,
            "within": read_ratio(data["within"]),
        }

    def _body_lines(self) -> list[str]:
        named = ", ".join("(missing)" if value is None else str(value) for value in self.values)
        among = "keys that were not known" if self.candidates is None else f"{self.candidates:,} candidates"
        return [f"{named or 'none'}, of {among}"]

    def _body_notes(self) -> list[str]:
        level, whose = shown(100 * self.confidence), "the" if len(self.values) == 1 else "the first one's"
        return [f"in {level}% of selections {whose} score is at most {shown(self.within, 6)} below the best"]
