"""A stream of queries against a noisy threshold: the secret state of a sparse vector, and what leaves it.

A stream has one stage or several. The noise of the threshold is drawn when the stream opens, is kept for a stage, and
is drawn again for the next one; every query gets noise of its own. After the last answer above, the stream is closed
and everything further is refused, before anything is computed. A stream holds secrets, so it belongs to the process
that opened it: it cannot be copied or pickled, a forked child cannot use it, and its repr shows only what its answers
have shown already. Threads may share it: each query is answered whole.

What is proved about it stands in above.py and repeated.py, which open it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from threading import Lock
from types import TracebackType
from typing import Any, ClassVar, NoReturn, Self

import numpy as np
from numpy.typing import NDArray

from discreet.errors import BudgetError, UnsupportedError, short_traceback
from discreet.mechanisms import lattice
from discreet.mechanisms.additive import AdditiveNoise
from discreet.mechanisms.lattice import Scalar
from discreet.mechanisms.process import this_process
from discreet.samplers import discrete

_FIRST_BLOCK = 16
_LARGEST_BLOCK = 4096


@dataclass(frozen=True, slots=True)
class Below:
    """Reply that the noisy answer is below the noisy threshold. It is false.

    Example:
        >>> import discreet as dp
        >>> above = dp.mechanisms.AboveThreshold(threshold=1_000, epsilon=10)
        >>> with above.open() as stream:
        ...     bool(stream.ask(0))
        False
    """

    is_above: ClassVar[bool] = False
    answer: ClassVar[None] = None
    gap: ClassVar[None] = None

    def __bool__(self) -> bool:
        return False


@dataclass(frozen=True, slots=True)
class Above:
    """Reply that the noisy answer is at or above the noisy threshold. It is true.

    Attributes:
        answer: The noisy answer, if requested.
        gap: Noisy distance from the threshold, if requested.

    Example:
        >>> import discreet as dp
        >>> above = dp.mechanisms.AboveThreshold(threshold=1_000, epsilon=10)
        >>> with above.open() as stream:
        ...     bool(stream.ask(2_000))
        True
    """

    is_above: ClassVar[bool] = True
    answer: Scalar | None = None
    gap: Scalar | None = None

    def __bool__(self) -> bool:
        return True


@dataclass(frozen=True)
class Scales:
    """The noise of the threshold, of each comparison, and of each answer that is shown, in steps of the grid."""

    threshold: float
    comparison: float
    answer: float | None = None

    def all(self) -> tuple[float, ...]:
        """Those that there are."""
        return tuple(scale for scale in (self.threshold, self.comparison, self.answer) if scale is not None)


class Stream:
    """Open stream of a sparse vector; `AboveThreshold.open()` makes it. It ends after its last reply above.

    Example:
        >>> import discreet as dp
        >>> above = dp.mechanisms.AboveThreshold(threshold=1_000, epsilon=10)
        >>> with above.open() as stream:
        ...     reply = stream.ask(2_000)
        >>> stream.left
        0
    """

    __slots__ = (
        "__weakref__",
        "_answer_noise",
        "_answers",
        "_grid",
        "_left",
        "_limit",
        "_lock",
        "_noises",
        "_process",
        "_scales",
        "_shows_gap",
        "_threshold",
    )

    def __init__(
        self,
        *,
        threshold: int,
        scales: Scales,
        answers: int,
        grid: Fraction,
        shows_gap: bool,
        answer_noise: AdditiveNoise | None = None,
        stages: int = 1,
    ) -> None:
        self._lock = Lock()
        self._process = this_process()
        self._answers = answers
        self._left = answers * stages
        self._grid = grid
        self._scales = scales
        self._shows_gap = shows_gap
        self._answer_noise = answer_noise
        self._noises = _Noises(scales.comparison)
        self._threshold = threshold
        self._limit: int | None = None
        self._noisy_threshold()

    @property
    def left(self) -> int:
        """How many more answers may be above before the stream is closed."""
        return self._left

    @property
    def is_closed(self) -> bool:
        """Whether every further query is refused."""
        return not self._left

    @short_traceback
    def ask(self, value: Scalar) -> Above | Below:
        """Compare one exact answer with the threshold, with noise.

        Args:
            value: An int or a Fraction on the grid.

        Returns:
            The reply.

        Raises:
            ParameterError: If the value is not on the grid.
            BudgetError: If the stream is closed.
            UnsupportedError: If another process opened it.
        """
        self._refuse_another_process()
        self._require_open()
        return self._answer([lattice.steps(value, self._grid)])[0]

    @short_traceback
    def ask_many(self, values: Sequence[Scalar] | NDArray[np.integer[Any]]) -> list[Above | Below]:
        """Compare several exact answers in turn, up to the last reply above.

        Args:
            values: Ints or Fractions on the grid.

        Returns:
            The replies; the rest is unanswered.

        Raises:
            ParameterError: If a value is not on the grid.
            BudgetError: If the stream is closed.
            UnsupportedError: If another process opened it.
        """
        self._refuse_another_process()
        self._require_open()
        return self._answer(_all_steps(values, self._grid))

    def close(self) -> None:
        """End the stream and delete its noise; its cost stays spent."""
        self._refuse_another_process()
        with self._lock:
            self._forget()

    def _answer(self, steps: list[int]) -> list[Above | Below]:
        """Read the answers before the lock; after the wait for it the stream may be closed."""
        with self._lock:
            self._require_open()
            return self._compare(steps)

    def _compare(self, steps: list[int]) -> list[Above | Below]:
        answers: list[Above | Below] = []
        while self._left and len(answers) < len(steps):
            noises = self._noises.take(len(steps) - len(answers))
            for exact, noise_of_it in zip(steps[len(answers) : len(answers) + len(noises)], noises, strict=True):
                gap = exact + noise_of_it - self._noisy_threshold()
                answers.append(_BELOW if gap < 0 else self._above(exact, gap))
                if not self._left:
                    self._forget()
                    break
        return answers

    def _noisy_threshold(self) -> int:
        """The threshold of the stage, drawn when it is first needed: a draw that fails leaves no earlier one in use."""
        if self._limit is None:
            self._limit = self._threshold + int(discrete.discrete_laplace(self._scales.threshold, 1)[0])
        return self._limit

    def _above(self, exact: int, gap: int) -> Above:
        self._count_down()
        answer = None
        if self._answer_noise is not None:
            answer = lattice.value_of(exact + self._answer_noise.draw(1)[0], self._grid)
        return Above(answer=answer, gap=lattice.value_of(gap, self._grid) if self._shows_gap else None)

    def _count_down(self) -> None:
        """One answer above less; the last one of a stage ends its threshold, in the same statement."""
        left = self._left - 1
        self._left, self._limit = left, self._limit if left % self._answers else None

    def _forget(self) -> None:
        self._left = 0
        self._limit = None
        self._noises = _Noises(self._scales.comparison)

    def _require_open(self) -> None:
        if not self._left:
            raise BudgetError(
                "a query to a stream that is closed",
                because="all answers above the threshold were given, or it was closed",
                instead="AboveThreshold(...).open() once more, which is charged as a whole, or a larger answers=...",
            )

    def _refuse_another_process(self) -> None:
        if self._process != this_process():
            raise UnsupportedError(
                "a stream in a process that did not open it",
                because="two processes with the same secret noise would show more answers than were charged for",
                instead="AboveThreshold(...).open() in this process, which is charged as a whole",
            )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Stream(left={self._left})"

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise UnsupportedError(
            "a copy of a stream",
            because="a copy with the same secret noise would show more answers than were charged for",
            instead="AboveThreshold(...).open() once more, which is charged as a whole",
        )


class _Noises:
    """Noise of one scale, drawn in blocks that grow as more is asked; each draw is handed out once."""

    def __init__(self, scale: float) -> None:
        self._scale = scale
        self._size = _FIRST_BLOCK
        self._drawn: list[int] = []

    def take(self, most: int) -> list[int]:
        """At least one draw, and at most so many; a caller that needs more calls again."""
        if not self._drawn:
            self._drawn = discrete.discrete_laplace(self._scale, self._size).tolist()
            self._size = min(2 * self._size, _LARGEST_BLOCK)
        taken = self._drawn[-most:]
        del self._drawn[-most:]
        return taken


_BELOW = Below()


def _all_steps(values: object, grid: Fraction) -> list[int]:
    listed = lattice.list_of_values(values)
    if grid == 1 and all(type(value) is int for value in listed):
        return listed
    return [lattice.steps(value, grid) for value in listed]
