"""Any function of a release, with an interval from noise that is drawn again.

The noise of a release is public, so everybody may draw it: around the noisy answers, many times, and see how far a
function of them moves. That is a parametric bootstrap. It holds about as often as it says where the function moves
around the noisy answers as it does around the true ones, which are not known; no guarantee of coverage is proved.
"""

import math
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from discreet.errors import ParameterError, TypeMismatchError, UnsupportedError
from discreet.exact.numbers import shown
from discreet.release.postprocessing.rows import noise_of
from discreet.release.values import rendering
from discreet.release.values.columns import MeasuredColumn

if TYPE_CHECKING:
    from collections.abc import Iterator

R = TypeVar("R")


@dataclass(frozen=True)
class Simulation:
    """Value of a function of a release, and its variation when the noise is drawn again.

    Attributes:
        value: Value on the release.
        low: Lower end of the interval.
        high: Upper end of the interval.
        bias: Estimated bias of the value.
        deviation: Standard deviation over the draws.
        draws: Number of draws.
        confidence: Probability with which the interval holds, approximately.
        private: Whether the release is private. Default True.

    Example:
        >>> import discreet as dp
        >>> facts = {"name": "visits", "privacy_unit": "patient_id", "max_rows": 10, "budget": dp.Budget(epsilon=2)}
        >>> session = dp.testing.protect(dp.datasets.visits(100), **facts)
        >>> grouped = dp.table("visits").group_by("urgent", keys={"urgent": [False, True]})
        >>> release = session.release(grouped.agg(n=dp.count()), epsilon=1)
        >>> simulation = release.simulate(lambda release: max(release["n"]), draws=50)
        >>> simulation.draws
        50
    """

    value: float
    low: float
    high: float
    bias: float
    deviation: float
    draws: int
    confidence: Fraction
    private: bool = True

    def __float__(self) -> float:
        return self.value

    def __str__(self) -> str:
        return "\n".join([*self._stamp(), self._summary(), *self._notes()])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return rendering.card(self._stamp(), f"<div>{self._summary()}</div>", self._notes())

    def _stamp(self) -> list[str]:
        return rendering.stamp("from exact answers", private=self.private)

    def _summary(self) -> str:
        return f"{self.value:,.6g}, from {self.low:,.6g} to {self.high:,.6g}"

    def _notes(self) -> list[str]:
        return [
            f"simulated: noise drawn {self.draws:,} times around the noisy answers, taken as if they were the truth",
            f"holds about {shown(100 * self.confidence)}% of the time, for the noise; this cost nothing",
            f"noise moves it by {self.bias:,.3g} on average, with a deviation of {self.deviation:,.3g}",
        ]


def redrawn(measured: Sequence[MeasuredColumn], needed: Collection[int], draws: int) -> "Iterator[list[list[int]]]":
    """The noisy integers with the same noise once more on top, so many times; those that are not needed as they are."""
    columns = [_again(one, draws) if place in needed else None for place, one in enumerate(measured)]
    for draw in range(draws):
        pairs = zip(measured, columns, strict=True)
        yield [list(one.steps) if column is None else column[draw] for one, column in pairs]


def _again(measured: MeasuredColumn, draws: int) -> list[list[int]]:
    noise, size = noise_of(measured), len(measured.steps)
    if noise is None:
        raise UnsupportedError(
            f"noise of {measured.mechanism!r} drawn again",
            because="only additive noise, one draw in each row, is drawn here",
            instead="outputs that are read off such noise",
        )
    drawn = noise.draw(size * draws)
    parts = (drawn[start : start + size] for start in range(0, size * draws, size))
    return [[step + y for step, y in zip(measured.steps, part, strict=True)] for part in parts]


def numeric_function(function: Callable[[R], object]) -> Callable[[R], float]:
    """Wrap a function so that it returns a finite number; refuse any other result."""
    if not callable(function):
        raise TypeMismatchError(
            f"simulate({function!r})",
            because="it is asked about the release again and again, so it must be a function",
            instead='release.simulate(lambda r: max(r["n"]))',
        )

    def number(release: R) -> float:
        answer = function(release)
        try:
            found = float(answer)  # type: ignore[arg-type]
        except (TypeError, ValueError, OverflowError):
            raise _no_number(f"of type {type(answer).__name__}", "an interval is for one number") from None
        if not math.isfinite(found):
            raise _no_number(f"{found}", "noise that is drawn again may take a count to zero or below")
        return found

    return number


def _no_number(answer: str, because: str) -> ParameterError:
    return ParameterError(
        f"simulate of a function whose answer is {answer}",
        because=because,
        instead='a function that gives a finite number for every release: lambda r: r["total"][0] / max(1, r["n"][0])',
    )


def summed_up(value: float, drawn: Sequence[float], confidence: Fraction, *, private: bool) -> Simulation:
    """The interval that the moves from the value give: a move up is an error up, so it is taken off."""
    moves = np.asarray(drawn, dtype=float) - value
    outside = float(1 - confidence) / 2
    down, up = np.quantile(moves, [outside, 1 - outside])
    return Simulation(
        value=value,
        low=float(value - up),
        high=float(value - down),
        bias=float(moves.mean()),
        deviation=float(moves.std()),
        draws=len(drawn),
        confidence=confidence,
        private=private,
    )
