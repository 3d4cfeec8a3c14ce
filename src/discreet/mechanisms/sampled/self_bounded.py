"""The mean of answers of blocks within bounds that it finds itself: private quartiles, widened, then a clamped mean.

Definition
    Public buckets cut [lo, hi] into intervals whose width grows with their distance from zero, 32 to each doubling. For
    each of two quartiles a bucket is chosen as a PrivateQuantile of the buckets that the answers of blocks fall into,
    at epsilon_1 each. From the lower edge of the lower bucket to the upper edge of the upper one it is w; the bounds
    are widened by `widening` times w on both sides and cut off at lo and hi. Released are these bounds and a
    ClippedMean within them, at epsilon_2 or at rho_2.

Guarantee
    2 epsilon_1 + epsilon_2 in all, or a rho of epsilon_1^2/4 + rho_2, for both neighbour relations, each part with its
    own constant for the relation: the bounds are a function of what was released, and for any bounds the mean is
    epsilon_2-DP or rho_2-zCDP. Proof: docs/proofs/mechanisms/sampled/self_bounded.md.

Exactness
    Edges and bounds are whole steps of the grid; both parts are exact as they are alone. The noise of the mean has a
    scale that depends on the bounds, so its event says only that it is epsilon_2-DP or rho_2-zCDP.

Not covered
    What steps.py does not cover. Bounds that are found badly, where blocks are few or epsilon is small: they are
    private all the same, and the mean is of answers that were moved into them. The margin is that of the noise.

References
    Smith, Privacy-preserving Statistical Estimation with Optimal Convergence Rates, STOC 2011, Algorithm 1 (widened
    Winsorized mean); Mohan, Thakurta, Shi, Song and Culler, GUPT, SIGMOD 2012, Section 4.1.
"""

import bisect
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from discreet.errors import ParameterError, public_class, short_traceback
from discreet.events import BoundedRangeEvent, ComposedEvent, ConcentratedEvent, PureEvent, RepeatedEvent
from discreet.exact.numbers import Number, positive, probability, rational
from discreet.exact.rounding import sqrt_down
from discreet.mechanisms import lattice
from discreet.mechanisms.additive import AdditiveNoise
from discreet.mechanisms.lattice import Scalar
from discreet.mechanisms.sampled.clipped_mean import ClippedMean
from discreet.mechanisms.sampled.private_quantile import PrivateQuantile
from discreet.mechanisms.sampled.steps import Answer, Relation, Steps

PER_DOUBLING = 32
_PARTS = 2**40
_QUARTILES = (Fraction(1, 4), Fraction(3, 4))
_WIDEST = 1_000


@public_class
@dataclass(frozen=True)
class MeanWithBounds:
    """Noisy mean, with the automatic bounds of the results; all of it is released.

    Attributes:
        value: The noisy mean.
        bounds: The bounds that were found.

    Example:
        >>> import discreet as dp
        >>> mean = dp.mechanisms.sampled.SelfBoundedMean(bounds=(-10**6, 10**6), blocks=1_000, epsilon=1)
        >>> found = mean.release([38 + n % 5 for n in range(1_000)])
        >>> found.bounds[0] < found.bounds[1]
        True
    """

    value: Fraction
    bounds: tuple[Scalar, Scalar]


@public_class
@dataclass(frozen=True, init=False)
class SelfBoundedMean:
    """Mean of the results of blocks within automatic bounds, where only very wide bounds are known.

    Args:
        bounds: Lowest and highest result; results outside are clipped.
        blocks: Number of blocks.
        epsilon: Epsilon of one release; or give rho.
        rho: Rho of one release; the mean then has Gaussian noise.
        grid: Results are rounded to multiples of it. Default: fine enough for the bounds.
        share: Part of the cost that finds the bounds, above 0 and below 1. Default 0.5.
        widening: Widening of the range between the quartiles on both sides, as a multiple of it. Default 2.
        neighbours: "add_remove" one unit, or "replace_one". Default "add_remove".

    Raises:
        ParameterError: If an argument is outside its range.

    Example:
        >>> import discreet as dp
        >>> mean = dp.mechanisms.sampled.SelfBoundedMean(bounds=(-10**6, 10**6), blocks=1_000, epsilon=1)
        >>> mean.rank_margin()
        92
    """

    steps: Steps
    epsilon: Fraction | None
    rho: Fraction | None
    share: Fraction
    widening: Fraction

    @short_traceback
    def __init__(
        self,
        *,
        bounds: tuple[Number, Number],
        blocks: int,
        epsilon: Number | None = None,
        rho: Number | None = None,
        grid: Number | None = None,
        share: Number = 0.5,
        widening: Number = 2,
        neighbours: Relation = "add_remove",
    ) -> None:
        object.__setattr__(self, "steps", Steps(bounds, blocks, grid, neighbours, _PARTS))
        object.__setattr__(self, "epsilon", None if epsilon is None else positive(epsilon, "epsilon"))
        object.__setattr__(self, "rho", None if rho is None else positive(rho, "rho"))
        object.__setattr__(self, "share", _share(share))
        object.__setattr__(self, "widening", _widening(widening))
        self._require_feasible()

    def event(self) -> ComposedEvent:
        """Event of a release, for accountants: two private selections, and noise of known epsilon.

        Returns:
            The event.
        """
        quartiles = RepeatedEvent(BoundedRangeEvent(self._quartile_epsilon), len(_QUARTILES))
        (price,) = self._mean_price.items()
        return ComposedEvent((quartiles, ConcentratedEvent(price[1]) if price[0] == "rho" else PureEvent(price[1])))

    @property
    def noise(self) -> AdditiveNoise:
        """The noise of the mean, were the widest bounds found."""
        return self._mean(self.steps.bounds).noise

    @short_traceback
    def release(self, answers: Sequence[Answer]) -> MeanWithBounds:
        """Find bounds, and release the noisy mean of the results within them.

        Args:
            answers: One result per block, as an int, a Fraction or a finite float.

        Returns:
            The mean and the bounds.

        Raises:
            ParameterError: If there is not one finite number per block.
        """
        edges = buckets(self.steps.low, self.steps.high)
        places = [bisect.bisect_right(edges, step) - 1 for step in self.steps.read(answers)]
        chosen = sorted(self._quartile(fraction, edges).release(places) for fraction in _QUARTILES)
        bounds = self._widen_bounds(edges[int(chosen[0])], edges[int(chosen[1]) + 1])
        return MeanWithBounds(self._mean(bounds).release(answers), bounds)

    def margin(self, found: MeanWithBounds, confidence: Number = 0.95) -> Fraction:
        """Margin of error of the mean within the bounds that were found, for the noise.

        Args:
            found: A release.
            confidence: Probability with which the margin holds. Default 0.95.

        Returns:
            The margin, in the unit of the results.
        """
        return self._mean(found.bounds).margin(confidence)

    def rank_margin(self, confidence: Number = 0.95) -> int:
        """Margin of error of both quartiles, in ranks.

        Args:
            confidence: Probability with which the margin holds. Default 0.95.

        Returns:
            The number of ranks.
        """
        each = 1 - (1 - lattice.confidence_of(confidence)) / len(_QUARTILES)
        return self._quartile(_QUARTILES[0], buckets(self.steps.low, self.steps.high)).margin(each)

    def _require_feasible(self) -> None:
        """Refuse now what could be refused later: the parts with the widest and with the tightest bounds."""
        if (self.epsilon is None) == (self.rho is None):
            raise ParameterError(
                "a mean within bounds of its own without exactly one of epsilon and rho",
                because="Laplace noise has an epsilon, and Gaussian noise a rho",
                instead="SelfBoundedMean(bounds=(-10**6, 10**6), blocks=1_000, epsilon=1)",
            )
        if self.steps.width < 2:
            raise ParameterError(
                "bounds of one step of the grid",
                because="there is nothing to find within them",
                instead="bounds=(-1_000_000, 1_000_000), grid=0.01, or a ClippedMean",
            )
        lowest = self.steps.bounds[0]
        for bounds in (self.steps.bounds, (lowest, lowest + self.steps.grid)):
            self._mean(bounds)

    @property
    def _quartile_epsilon(self) -> Fraction:
        if self.rho is not None:
            return sqrt_down(8 * self.rho * self.share / len(_QUARTILES))
        return (self.epsilon or 0) * self.share / len(_QUARTILES)

    @property
    def _mean_price(self) -> dict[str, Fraction]:
        whole = {"epsilon": self.epsilon, "rho": self.rho}
        return {name: amount * (1 - self.share) for name, amount in whole.items() if amount is not None}

    def _quartile(self, fraction: Fraction, edges: Sequence[int]) -> PrivateQuantile:
        return PrivateQuantile(
            fraction=fraction,
            bounds=(0, len(edges) - 2),
            blocks=self.steps.blocks,
            epsilon=self._quartile_epsilon,
            grid=1,
            neighbours=self.steps.neighbours,
        )

    def _mean(self, bounds: tuple[Scalar, Scalar]) -> ClippedMean:
        return ClippedMean(
            bounds=bounds,
            blocks=self.steps.blocks,
            grid=self.steps.grid,
            **self._mean_price,
            neighbours=self.steps.neighbours,
        )

    def _widen_bounds(self, low: int, high: int) -> tuple[Scalar, Scalar]:
        more = int(self.widening * (high - low))
        widened = max(self.steps.low, low - more), min(self.steps.high, high + more)
        return lattice.value_of(widened[0], self.steps.grid), lattice.value_of(widened[1], self.steps.grid)


def buckets(low: int, high: int) -> list[int]:
    """Edges from low to high, closer to each other near zero: bucket i holds the steps from edge i up to edge i + 1.

    The last edge belongs to the last bucket. Edges beyond 32 steps from zero are whole multiples of a 32nd of the power
    of two below them.
    """
    largest = max(abs(low), abs(high))
    sizes = list(range(min(largest, PER_DOUBLING)))
    step = 1
    while PER_DOUBLING * step <= largest:
        sizes += range(PER_DOUBLING * step, 2 * PER_DOUBLING * step, step)
        step *= 2
    edges = {edge for size in sizes for edge in (-size, size) if low < edge < high}
    return [low, *sorted(edges), high]


def _share(value: Number) -> Fraction:
    share = probability(value, "share", example="0.5")
    if share == 0:
        raise ParameterError(
            "share=0", because="bounds that are found cost something", instead="share=0.5, or a ClippedMean"
        )
    return share


def _widening(value: Number) -> Fraction:
    widening = rational(value, "widening")
    if not 0 <= widening <= _WIDEST:
        raise ParameterError(
            f"widening outside 0 to {_WIDEST}",
            because="it is how often the distance of the quartiles is added on each side",
            instead="widening=2",
        )
    return widening
