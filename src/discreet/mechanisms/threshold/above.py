"""Above threshold: the sparse vector technique in integers, for streams of any length that choose as they go.

Definition
    Answers q_i and the threshold T are counted in steps of a public grid; T is rounded up to it. Opening a stream draws
    R, and each query draws its own N_i: integers with P[R = y] proportional to e^(-|y|/b1) and P[N_i = y]
    proportional to e^(-|y|/b2). Query i is reported above if q_i + N_i >= T + R, else below. After `answers` = c
    above, the stream is closed. With `gap`, an answer above tells q_i + N_i - T - R too; with `with_answers`, also q_i
    plus fresh noise of scale b3.

Guarantee
    If no answer of neighbouring datasets differs by more than `sensitivity` = D steps, all that a stream ever tells is
    epsilon-DP with epsilon = e1 + e2 + e3 for e1 = D/b1, e2 = 2 c D/b2 and, with answers, e3 = c D/b3; the gap is free.
    If, for each pair of neighbours, all answers move the same way (`monotone`: counts, and sums of values of one sign,
    under add_remove; never under replace_one), then with e2 = c D/b2 it is max(e1 + max(e2, e3), e2 + e3). It holds for
    queries chosen after earlier answers, and does not depend on how many there are; over streams of any length no
    smaller epsilon does. Other releases may go on meanwhile: docs/proofs/accounting/interactive.md. Proof:
    docs/proofs/mechanisms/threshold/above.md.

Exactness
    e1 : e2 : e3 are rational shares: 1 for the threshold, (2c)^(2/3) for comparisons (c^(2/3) where monotone), rounded
    down to thousandths, and as much as these together for answers, unless others are given. Each scale is the least
    double at or above what its share asks for, and the event has the cost of those doubles, at
    most the epsilon asked for. Noise is drawn exactly for them. `accuracy` and `margin` are decided in rationals;
    `probability_above` is a float, for display.

Not covered
    Whether `sensitivity` and `monotone` are true of the queries. Timing. A machine that is copied while a stream is
    open. That an answer off the grid was refused is a fact about the data: round rows before they are summed. Shown
    gaps are not unbiased: they are known to be at least zero.

References
    Dwork, Naor, Reingold, Rothblum and Vadhan, On the Complexity of Differentially Private Data Release, STOC 2009;
    Lyu, Su and Li, Understanding the Sparse Vector Technique for Differential Privacy, PVLDB 10(6), 2017, Algorithms 1
    and 7 (constants, monotone queries, the division); Ding, Wang, Zhang and Kifer, Free Gap Information from the
    Differentially Private Sparse Vector and Noisy Max Mechanisms, PVLDB 13(3), 2019 (the gap).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from discreet.errors import ParameterError, public_class, short_traceback
from discreet.events import PureEvent
from discreet.exact.numbers import Number, positive, rational, shown, whole
from discreet.exact.rounding import double_up, exp_down
from discreet.mechanisms import lattice
from discreet.mechanisms.laplace import Laplace
from discreet.mechanisms.lattice import Scalar
from discreet.mechanisms.threshold.stream import Scales, Stream
from discreet.samplers import discrete

_THOUSANDTHS = 1000
_LEAST_BETA = Fraction(1, 10**200)
_EXAMPLE = "AboveThreshold(threshold=1000, epsilon=0.5, answers=1)"


@public_class
@dataclass(frozen=True, init=False)
class AboveThreshold:
    """AboveThreshold, the sparse vector technique: one cost for a stream that ends after so many answers above.

    Args:
        threshold: Number that answers are compared with.
        epsilon: Epsilon of the whole stream.
        sensitivity: Sensitivity of each query. Default 1.
        answers: Number of answers above before the stream ends. Default 1.
        monotone: Whether one unit changes all answers in the same direction. Default False.
        with_answers: Whether an answer above comes with its noisy number, for a part of epsilon. Default False.
        gap: Whether an answer above comes with its noisy distance from the threshold. Default False.
        grid: Answers are multiples of it. Default 1.
        shares: How epsilon is divided between threshold, comparisons and shown answers. Default: least variance.

    Raises:
        ParameterError: If an argument is outside its range.

    Example:
        >>> import discreet as dp
        >>> above = dp.mechanisms.AboveThreshold(threshold=1_000, epsilon=1, answers=2, monotone=True)
        >>> above.accuracy(queries=1_000)
        44
    """

    threshold: Scalar
    sensitivity: Fraction
    answers: int
    monotone: bool
    gap: bool
    grid: Fraction
    scales: Scales

    @short_traceback
    def __init__(
        self,
        *,
        threshold: Number,
        epsilon: Number,
        sensitivity: Number = 1,
        answers: int = 1,
        monotone: bool = False,
        with_answers: bool = False,
        gap: bool = False,
        grid: Number = 1,
        shares: Sequence[Number] | None = None,
    ) -> None:
        spacing, size = positive(grid, "grid"), positive(sensitivity, "sensitivity")
        count, one_way = whole(answers, "answers"), _flag(monotone, "monotone")
        divided = _shares(shares, count, one_way=one_way, with_answers=_flag(with_answers, "with_answers"))
        total = _together(*divided, one_way=one_way)
        parts = [positive(epsilon, "epsilon") * share / total for share in divided]
        costs = _costs(size / spacing, count, one_way=one_way)
        doubles = [_scale(cost / part) for cost, part in zip(costs, parts, strict=False)]
        steps = math.ceil(rational(threshold, "threshold") / spacing)
        object.__setattr__(self, "threshold", lattice.value_of(steps, spacing))
        object.__setattr__(self, "sensitivity", size)
        object.__setattr__(self, "answers", count)
        object.__setattr__(self, "monotone", one_way)
        object.__setattr__(self, "gap", _flag(gap, "gap"))
        object.__setattr__(self, "grid", spacing)
        object.__setattr__(self, "scales", Scales(*doubles))

    @property
    def with_answers(self) -> bool:
        """Whether an answer above comes with the number itself, under fresh noise."""
        return self.scales.answer is not None

    @property
    def parts(self) -> tuple[Fraction, ...]:
        """What the threshold, the comparisons and, where shown, the answers would cost each by itself: exact."""
        costs = _costs(self.sensitivity / self.grid, self.answers, one_way=self.monotone)
        return tuple(cost / Fraction(scale) for cost, scale in zip(costs, self.scales.all(), strict=False))

    @property
    def epsilon(self) -> Fraction:
        """The epsilon of a whole stream of any length: exact, and at most the one asked for."""
        return _together(*self.parts, one_way=self.monotone)

    @property
    def threshold_noise(self) -> Laplace:
        """The noise of the threshold."""
        return self._noise_of(self.scales.threshold)

    @property
    def comparison_noise(self) -> Laplace:
        """The noise of each comparison."""
        return self._noise_of(self.scales.comparison)

    @property
    def answer_noise(self) -> Laplace | None:
        """The noise of each answer that is shown."""
        return None if self.scales.answer is None else self._noise_of(self.scales.answer)

    def event(self) -> PureEvent:
        """Event of a whole stream, for accountants.

        Returns:
            The event.
        """
        return PureEvent(epsilon=self.epsilon)

    @short_traceback
    def open(self) -> Stream:
        """Open a stream of queries; the noise of the threshold is drawn now. Charge the event before.

        Returns:
            The open stream.
        """
        return Stream(
            threshold=lattice.steps(self.threshold, self.grid),
            scales=self.scales,
            answers=self.answers,
            grid=self.grid,
            shows_gap=self.gap,
            answer_noise=self.answer_noise,
        )

    @short_traceback
    def accuracy(self, queries: int, beta: Number = 0.05) -> Scalar:
        """Accuracy: with probability 1 - beta, only values within this distance of the threshold are misreported.

        Args:
            queries: Number of queries.
            beta: Probability with which the bound may fail. Default 0.05.

        Returns:
            The distance, a multiple of the grid. A shown gap is within it too.

        Raises:
            ParameterError: If an argument is outside its range.
        """
        return accuracy(self, queries, beta, stages=1)

    @short_traceback
    def margin(self, confidence: Number = 0.95) -> Scalar:
        """Margin of error of a shown answer.

        Args:
            confidence: Probability with which the noise stays within it. Default 0.95.

        Returns:
            The least such multiple of the grid.

        Raises:
            ParameterError: If answers are not shown.
        """
        if self.answer_noise is None:
            raise not_shown("AboveThreshold(..., with_answers=True)")
        return self.answer_noise.margin(confidence)

    @short_traceback
    def probability_above(self, value: Scalar) -> float:
        """Probability that a first query of a value is reported above, in floats.

        Args:
            value: The exact value.

        Returns:
            The probability.

        Raises:
            ParameterError: If the value is not on the grid.
        """
        distance = lattice.steps(self.threshold, self.grid) - lattice.steps(value, self.grid)
        far = _tail(Fraction(self.scales.threshold), Fraction(self.scales.comparison), max(distance, 1 - distance))
        return float(far if distance > 0 else 1 - far)

    def _noise_of(self, scale: float) -> Laplace:
        return Laplace.with_scale(scale=scale, sensitivity=self.sensitivity, grid=self.grid)


def accuracy(above: AboveThreshold, queries: int, beta: Number, *, stages: int) -> Scalar:
    """The distance that all thresholds and comparisons of so many stages keep together; beta is divided by scales."""
    outside, count = _beta(beta), whole(queries, "queries")
    threshold, comparison = Fraction(above.scales.threshold), Fraction(above.scales.comparison)
    for_threshold = outside * threshold / (threshold + comparison)
    of_thresholds = above.threshold_noise.simultaneous_margin(min(stages, count), 1 - for_threshold)
    return of_thresholds + above.comparison_noise.simultaneous_margin(count, 1 - outside + for_threshold)


def not_shown(instead: str) -> ParameterError:
    """The error of a margin of answers that are not shown."""
    return ParameterError(
        "a margin of answers that are not shown",
        because="it reports above or below, without numbers",
        instead=f"accuracy(queries=1000), or {instead}.margin()",
    )


def _costs(steps: Fraction, count: int, *, one_way: bool) -> tuple[Fraction, Fraction, Fraction]:
    """What epsilon is, times its scale, for the threshold, for all comparisons and for all answers."""
    return steps, (1 if one_way else 2) * count * steps, count * steps


def _together(
    threshold: Fraction, comparisons: Fraction, answers: Fraction = Fraction(0), *, one_way: bool
) -> Fraction:
    """What the parts cost together: where all move one way, no pair of neighbours makes the most of all three."""
    if one_way:
        return max(threshold + max(comparisons, answers), comparisons + answers)
    return threshold + comparisons + answers


def _scale(exact: Fraction) -> float:
    discrete.check_scale(exact, "scale", _EXAMPLE)
    return double_up(exact)


def _shares(given: object, count: int, *, one_way: bool, with_answers: bool) -> tuple[Fraction, ...]:
    """How epsilon is divided: as given, or so that the variance of N - R is least, and as much again for answers."""
    if given is None:
        comparisons = _power_two_thirds(count if one_way else 2 * count)
        return (Fraction(1), comparisons, 1 + comparisons) if with_answers else (Fraction(1), comparisons)
    wanted = 3 if with_answers else 2
    if not isinstance(given, Sequence) or isinstance(given, str) or len(given) != wanted:
        raise ParameterError(
            f"shares that are not {wanted} numbers",
            because="epsilon is divided between threshold and comparisons" + (" and answers" if with_answers else ""),
            instead="shares=(1, 2, 3)" if with_answers else "shares=(1, 2)",
        )
    return tuple(positive(share, "shares") for share in given)


def _power_two_thirds(count: int) -> Fraction:
    """count^(2/3) in thousandths, rounded down."""
    cube = count**2 * _THOUSANDTHS**3
    root = 1 << -(-cube.bit_length() // 3)
    while (smaller := (2 * root + cube // root**2) // 3) < root:
        root = smaller
    return Fraction(root, _THOUSANDTHS)


def _tail(one: Fraction, other: Fraction, least: int) -> Fraction:
    """P[N - R >= least] for least >= 1 and noise of these two scales, up to about one part in 10^20."""
    p, r = exp_down(-1 / one), exp_down(-1 / other)
    p_power, r_power = exp_down(-least / one), exp_down(-least / other)
    if p == r:
        mean = least + (1 + p * p) / (1 - p * p)
        return ((1 - p) / (1 + p)) ** 2 * p_power * (mean / (1 - p) + p / (1 - p) ** 2)
    apart = (1 - p) ** 2 * r * r_power / (1 + r) - (1 - r) ** 2 * p * p_power / (1 + p)
    return apart / ((r - p) * (1 - p * r))


def _flag(value: object, name: str) -> bool:
    if not isinstance(value, bool):
        raise ParameterError(
            f"{name} of type {type(value).__name__}",
            because=f"{name} is True or False",
            instead=f"{name}=True, or {name}=False",
        )
    return value


def _beta(value: object) -> Fraction:
    number = rational(value, "beta")
    if not _LEAST_BETA <= number < 1:
        raise ParameterError(
            f"beta={shown(number)}",
            because="beta is a probability of at least 10^-200 and below 1",
            instead=f"beta={shown(number / 100) if 1 < number < 100 else '0.05'}",
        )
    return number
