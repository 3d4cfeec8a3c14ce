"""One number about a whole table, by smooth sensitivity, propose-test-release or sample and aggregate.

A margin of error is there only where it is public. Noise that is scaled to the smooth sensitivity has a private scale,
so such an estimate has none. A test that does not pass gives no value, and costs the same.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

from discreet.errors import public_class
from discreet.exact.numbers import shown
from discreet.release.result import Result, is_figure
from discreet.release.values.rendering import Figure

_FIELDS = ("name", "value", "margin", "made")


@public_class
@dataclass(frozen=True, kw_only=True, repr=False)
class Estimate(Result):
    """One number about a whole table.

    The header fields (`dataset`, `guarantee`, `receipt`, ...) are those of every result.

    Attributes:
        name: Name of the output.
        value: The number; None where the test of propose-test-release did not pass.
        made: The mechanism, in words.
        margin: Margin of error at `confidence`, for the noise alone; None where it is not public.

    Example:
        >>> import discreet as dp
        >>> people = dp.datasets.people(1_000)
        >>> query = dp.table("people").agg(hours=dp.median("hours_per_week", bounds=(0, 100)))
        >>> with dp.testing.protect(people, name="people", privacy_unit=dp.ROW, budget=dp.Budget(epsilon=1)) as session:
        ...     estimate = session.release(query, epsilon=0.5, method=dp.SmoothSensitivity())
        >>> estimate.value
        36
        >>> dp.Estimate.from_json(estimate.to_json()) == estimate
        True
    """

    name: str
    value: Figure | None
    made: str
    margin: Figure | None = None

    _schema: ClassVar = "discreet.estimate"
    _noun: ClassVar = "an estimate"
    _exact: ClassVar = "an exact answer"

    def __float__(self) -> float:
        return float("nan") if self.value is None else float(self.value)

    def _body_to_json(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in _FIELDS}

    @classmethod
    def _body_from_json(cls, data: dict[str, Any]) -> dict[str, Any]:
        if not all(isinstance(data[name], str) for name in ("name", "made")):
            raise TypeError("words that are no text")
        if not all(is_figure(data[name]) for name in ("value", "margin")):
            raise TypeError("numbers that are none")
        return {name: data[name] for name in _FIELDS}

    def _body_lines(self) -> list[str]:
        if self.value is None:
            return [f"{self.name}  nothing: the test did not pass"]
        beside = "" if self.margin is None else f" ± {_short(self.margin)}"
        return [f"{self.name}  {_short(self.value)}{beside}"]

    def _body_notes(self) -> list[str]:
        margin = (
            "it cost what a number would have cost"
            if self.value is None
            else "no margin: how far the noise goes is not public in advance"
            if self.margin is None
            else f"± holds {shown(100 * self.confidence)}% of the time, for the noise alone"
        )
        return [margin, f"made by  {self.made}"]


def _short(value: Figure) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{value:,.6g}"
