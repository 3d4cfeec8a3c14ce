"""Online range queries of one histogram: answered from a public one, which is corrected where it is wrong.

Definition
    Counts x of bins are secret; a public histogram h starts even and adds up to a public total. A query is a range
    of bins. Its exact count is held against that of h, first from above and then from below, by one
    sparse vector. Where it tells below, the answer is that of h. Where it tells above, it shows the difference under
    fresh noise; h is rescaled inside and outside of the range to meet it, and the answer is the corrected one. After
    the last correction the stream is closed.

Guarantee
    If one unit moves the count of any set of bins by at most `rows`, all answers together, of any number of queries
    that may depend on earlier answers, are epsilon-DP, with the epsilon of the sparse vector. Proof:
    docs/proofs/workloads/stream.md.

Exactness
    Counts, differences and thresholds are whole numbers, and the noise is that of the sparse vector. The public
    histogram is floats; what is compared is its count of the range, rounded to a whole number.

Not covered
    Whether the total is public: under "add_remove" the number of rows is not, and a noisy one is to be given. How good
    answers are once the stream is closed. The time that an answer takes, which tells whether it was a correction, as
    the answer does.

References
    Hardt and Rothblum, A Multiplicative Weights Mechanism for Privacy-Preserving Data Analysis, FOCS 2010; Dwork and
    Roth, The Algorithmic Foundations of Differential Privacy, 2014, Section 4.2 (online query release).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from discreet.errors import ParameterError, short_traceback
from discreet.events import PureEvent
from discreet.exact.numbers import Number, whole
from discreet.mechanisms.lattice import Scalar
from discreet.mechanisms.threshold import Above, AboveThreshold, Below

_EXAMPLE = "Online(bins=100, total=30_000, threshold=500, epsilon=1, corrections=20)"


class ThresholdStream(Protocol):
    """An open sparse vector: it compares values with a threshold, with noise of its own."""

    @property
    def left(self) -> int:
        """How many more may be above."""

    def ask_many(self, values: Sequence[Scalar]) -> list[Above | Below]:
        """Whether each is above, until the last that may be."""

    def close(self) -> None:
        """Forget the noise."""


@dataclass(frozen=True)
class OnlineAnswer:
    """The answer to one query, and whether the public histogram was corrected for it."""

    value: int
    corrected: bool


@dataclass(frozen=True, init=False)
class Online:
    """The privacy cost and the noise of a stream of ranges, fixed before it opens."""

    bins: int
    total: int
    above_threshold: AboveThreshold

    @short_traceback
    def __init__(
        self, *, bins: int, total: int, threshold: Number, epsilon: Number, corrections: int = 10, rows: int = 1
    ) -> None:
        object.__setattr__(self, "bins", whole(bins, "bins"))
        object.__setattr__(self, "total", whole(total, "total"))
        above_threshold = AboveThreshold(
            threshold=threshold,
            epsilon=epsilon,
            sensitivity=whole(rows, "rows"),
            answers=whole(corrections, "corrections"),
            with_answers=True,
        )
        object.__setattr__(self, "above_threshold", above_threshold)

    def event(self) -> PureEvent:
        """What opening a stream does, with all that is ever asked of it."""
        return self.above_threshold.event()

    @short_traceback
    def open(self, counts: Sequence[int]) -> "OnlineStream":
        """A stream of queries about exact counts of the bins; charge the event before."""
        return OnlineStream(self, counts)


class OnlineStream:
    """An open stream: `ask` until the last correction; made by Online.open()."""

    __slots__ = ("_counts", "_histogram", "_stream", "_total")

    def __init__(self, online: Online, counts: Sequence[int], stream: ThresholdStream | None = None) -> None:
        if len(counts) != online.bins:
            raise ParameterError(
                "counts for another number of bins", because="there is one for each bin", instead=_EXAMPLE
            )
        self._total = online.total
        self._counts = [0, *np.cumsum(np.array(counts, dtype=object))]
        self._histogram = np.full(online.bins, online.total / online.bins)
        self._stream = stream or online.above_threshold.open()

    def __repr__(self) -> str:
        return f"a stream with {self.left} corrections left"

    @property
    def left(self) -> int:
        """How many corrections are left before the stream is closed."""
        return self._stream.left

    @property
    def histogram(self) -> NDArray[np.float64]:
        """The public histogram: free to read, also after the stream is closed."""
        return self._histogram.copy()

    def public(self, lo: int, hi: int) -> int:
        """The count of bins lo to hi - 1 in the public histogram, rounded: free."""
        self._refuse_unfit(lo, hi)
        return round(math.fsum(self._histogram[lo:hi]))

    @short_traceback
    def ask(self, lo: int, hi: int) -> OnlineAnswer:
        """How many there are in bins lo to hi - 1."""
        expected = self.public(lo, hi)
        difference = int(self._counts[hi] - self._counts[lo]) - expected
        for sign in (1, -1):
            (answer,) = self._stream.ask_many([sign * difference])
            if answer.answer is not None:
                return self._correct(lo, hi, expected + sign * int(answer.answer))
        return OnlineAnswer(expected, corrected=False)

    def close(self) -> None:
        """End the stream; its privacy cost stays spent."""
        self._stream.close()

    def _correct(self, lo: int, hi: int, value: int) -> OnlineAnswer:
        """Rescale the bins inside and outside of a range so that both add up to their published totals."""
        inside = np.zeros(len(self._histogram), bool)
        inside[lo:hi] = True
        share = min(max(value, 0), self._total) if hi - lo < len(inside) else self._total
        for part, wanted in ((inside, share), (~inside, self._total - share)):
            self._histogram[part] = _rescale(self._histogram[part], wanted)
        return OnlineAnswer(value, corrected=True)

    def _refuse_unfit(self, lo: int, hi: int) -> None:
        if not 0 <= lo < hi <= len(self._histogram):
            raise ParameterError(
                f"the bins from {lo!r} up to {hi!r}",
                because=f"a range has at least one of {len(self._histogram):,} bins",
                instead=f"ask(0, {len(self._histogram)})",
            )


def _rescale(part: NDArray[np.float64], wanted: int) -> NDArray[np.float64]:
    whole_part = part.sum()
    if whole_part <= 0:
        return np.full(len(part), wanted / max(1, len(part)))
    result: NDArray[np.float64] = part * (wanted / whole_part)
    return result
