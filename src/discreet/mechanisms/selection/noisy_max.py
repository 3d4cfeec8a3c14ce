"""Report noisy max: noise on every score, and only the place of the largest leaves.

Definition
    The candidate with the largest u_r + noise_r is chosen, for independent noise of one distribution:
        gumbel        P[noise <= x] = exp(-e^(-rate x)); the choice is distributed as in the exponential mechanism, by
                      which it is drawn
        exponential   P[noise > x] = e^(-rate x) for x >= 0; the choice is distributed as in permute and flip, by which
                      it is drawn
        laplace       grid steps with P[y] proportional to q^|y|, q = e^(-1/scale), scale = 1/(rate grid); candidates
                      that tie for the largest are equally likely
    The rate is epsilon/(2 sensitivity), or epsilon/sensitivity where the scores are monotone.

Guarantee
    If no score moves by more than `sensitivity` between neighbours, and all move one way where `monotone` is set, a
    release is epsilon-DP; with Gumbel noise its losses lie within an interval of length epsilon. With Laplace noise the
    gap to the runner-up may leave as well, at the same cost: `release_with_gap`. Proof:
    docs/proofs/mechanisms/selection/noisy_max.md.

Exactness
    Gumbel and exponential noise are not drawn: the choice is, with exactly its probability. The scale of Laplace noise
    is the least double at or above 1/(rate grid), `epsilon` is what that very double costs, at most what was asked for,
    and the noise is exact (samplers/discrete.py). Of many candidates only those get noise whose noise can matter, which
    changes no probability. `pmf` is for display; `brackets` hold the probabilities between rationals; both for small
    sets.

Not covered
    The noisy maximum itself, which does not leave. The gap under Gumbel or exponential noise: it would cost more.
    Whether `sensitivity` and `monotone` are true of the scores: under replace-one neighbours counts are not monotone.
    The time a draw takes.

References
    Dwork and Roth, The Algorithmic Foundations of Differential Privacy, 2014, Claim 3.9 (Laplace noise).
    Ding, Kifer, Sayed, Steinke, Wang, Xiao and Zhang, The Permute-and-Flip Mechanism Is Identical to Report-Noisy-Max
    with Exponential Noise, 2021. Ding, Wang, Zhang and Kifer, Free Gap Information from the Differentially Private
    Sparse Vector and Noisy Max Mechanisms, VLDB 2019. Yellott, The Relationship between Luce's Choice Axiom,
    Thurstone's Theory of Comparative Judgment, and the Double Exponential Distribution, 1977 (Gumbel noise).
"""

import decimal
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Literal, NamedTuple, TypeVar, get_args

import numpy as np

from discreet.errors import ParameterError, public_class, short_traceback
from discreet.events import BoundedRangeEvent, PureEvent
from discreet.exact.numbers import Number, whole
from discreet.exact.rounding import double_up, exp_down, exp_up
from discreet.mechanisms.lattice import Scalar, value_of
from discreet.mechanisms.selection.exponential import Exponential
from discreet.mechanisms.selection.permute_and_flip import PermuteAndFlip
from discreet.mechanisms.selection.scores import Bracket, Scores, SelectionMechanism, failing, standing
from discreet.samplers import categorical
from discreet.samplers.categorical import Gaps
from discreet.samplers.discrete import check_scale, discrete_laplace

Noise = Literal["laplace", "exponential", "gumbel"]
Q = TypeVar("Q", Fraction, Decimal)

MOST_BRACKETED = 10
MOST_STEPS = 300

_LEADERS = 1024
_WORD = 2**63
_CONTEXT = decimal.Context(prec=120, Emin=-999_999_999, Emax=999_999_999)
_ROUNDING = Fraction(1, 10**90)


class ChosenWithGap(NamedTuple):
    """A place, and by how much its noisy score is above the least that would have won."""

    place: int
    gap: Scalar


@public_class
@dataclass(frozen=True, init=False)
class NoisyMax(SelectionMechanism):
    """Report noisy max: the candidate with the largest noisy score.

    Args:
        sensitivity: Sensitivity of a score.
        epsilon: Epsilon of one release.
        monotone: Whether one unit changes all scores in the same direction: half of the noise. Default False.
        grid: Scores are multiples of it. Default 1.
        noise: "exponential" (as `PermuteAndFlip`), "gumbel" (as `Exponential`) or "laplace". Default "exponential".

    Raises:
        ParameterError: If an argument is outside its range, or there is no such noise.

    Example:
        >>> import discreet as dp
        >>> mechanism = dp.mechanisms.NoisyMax(sensitivity=1, epsilon=20, noise="laplace")
        >>> mechanism.release([120, 20])
        0
    """

    noise: Noise

    @short_traceback
    def __init__(
        self,
        *,
        sensitivity: Number,
        epsilon: Number,
        monotone: bool = False,
        grid: Number = 1,
        noise: Noise = "exponential",
    ) -> None:
        super().__init__(sensitivity=sensitivity, epsilon=epsilon, monotone=monotone, grid=grid)
        object.__setattr__(self, "noise", _require_noise(noise))
        if noise == "laplace":
            steps = 1 / (self.rate * self.grid)
            check_scale(steps, "scale", 'NoisyMax(sensitivity=1, epsilon=0.1, noise="laplace")')
            object.__setattr__(self, "epsilon", self.epsilon * steps / Fraction(double_up(steps)))

    @property
    def scale(self) -> float:
        """The scale of Laplace noise, in steps of the grid."""
        return float(1 / (self.rate * self.grid))

    def event(self) -> PureEvent | BoundedRangeEvent:
        """Event of a release, with its gap or without.

        Returns:
            The event.
        """
        return BoundedRangeEvent(self.epsilon) if self.noise == "gumbel" else PureEvent(self.epsilon)

    @short_traceback
    def release(self, scores: Scores) -> int:
        """Choose a candidate, with fresh randomness.

        Args:
            scores: One exact score per candidate, on the grid.

        Returns:
            Index of the candidate.

        Raises:
            ParameterError: If scores are not on the grid, or there are none.
        """
        if self.noise != "laplace":
            return self._alike().release(scores)
        values = _contenders(standing(scores, self.grid).on(self.grid), self.scale, 1)
        return _winner(values)

    @short_traceback
    def release_with_gap(self, scores: Scores) -> ChosenWithGap:
        """Choose a candidate, and measure its distance to the runner-up, at no further cost; with Laplace noise.

        Args:
            scores: One exact score per candidate, on the grid; at least two.

        Returns:
            Index of the candidate, and the noisy distance to the runner-up.

        Raises:
            ParameterError: If the noise is not Laplace noise, or there are fewer than two scores.
        """
        if self.noise != "laplace" or len(scores) < 2:
            raise ParameterError(
                f"the gap of a noisy maximum of {len(scores):,} with {self.noise} noise",
                because="the gap to the runner-up is free under Laplace noise alone, and needs a runner-up",
                instead='NoisyMax(..., noise="laplace").release_with_gap(scores) for two scores or more',
            )
        values = _contenders(standing(scores, self.grid).on(self.grid), self.scale, 2)
        place = _winner(values)
        others = [value for other, value in values.items() if other != place]
        second = max(others)
        above = values[place] - second
        comes_later = not above or _below(others.count(second) + 1) == 0
        return ChosenWithGap(place, value_of(above if comes_later else above - 1, self.grid))

    @short_traceback
    def pmf(self, scores: Scores) -> list[float]:
        """Probability of each candidate, in floats.

        Args:
            scores: One exact score per candidate, on the grid.

        Returns:
            The probabilities.

        Raises:
            ParameterError: If scores are not on the grid, or there are none.
        """
        if self.noise != "laplace":
            return self._alike().pmf(scores)
        return [float((bracket.low + bracket.high) / 2) for bracket in self.brackets(scores)]

    @short_traceback
    def brackets(self, scores: Scores) -> list[Bracket]:
        """Probability of each candidate between two rationals; with Laplace noise for few and close scores.

        Args:
            scores: One exact score per candidate, on the grid.

        Returns:
            A lower and an upper bound for each candidate.

        Raises:
            ParameterError: If scores are not on the grid, or there are none.
        """
        if self.noise != "laplace":
            return self._alike().brackets(scores)
        gaps = [int(gap) for gap in standing(scores, self.grid).on(self.grid)]
        _refuse_wide(gaps)
        least, most = exp_down(-self.rate * self.grid), exp_up(-self.rate * self.grid)
        slack = 2 * len(gaps) * (most - least) / (1 - most**2) + _ROUNDING
        with decimal.localcontext(_CONTEXT):
            found = chances(gaps, Decimal(least.numerator) / Decimal(least.denominator))
        return [Bracket(max(Fraction(0), Fraction(share) - slack), Fraction(share) + slack) for share in found]

    @short_traceback
    def utility(self, candidates: int, beta: Number) -> Fraction:
        if self.noise != "laplace":
            return super().utility(candidates, beta)
        others, allowed = whole(candidates, "candidates") - 1, failing(beta)
        if not others:
            return Fraction(0)
        missed, met = 0, 1
        while others * self._overtaking(met) > allowed:
            missed, met = met, 2 * met
        while met - missed > 1:
            middle = (missed + met) // 2
            if others * self._overtaking(middle) > allowed:
                missed = middle
            else:
                met = middle
        return (met - 1) * self.grid

    def _alike(self) -> Exponential | PermuteAndFlip:
        """The mechanism with the same distribution."""
        kind = Exponential if self.noise == "gumbel" else PermuteAndFlip
        return kind(sensitivity=self.sensitivity, epsilon=self.epsilon, monotone=self.monotone, grid=self.grid)

    def _overtaking(self, steps: int) -> Fraction:
        """At least the probability that one noise exceeds another by so many steps or more."""
        exponent = -self.rate * self.grid
        low, high = exp_down(exponent), exp_up(exponent)
        rest = steps + (1 + high + 2 * high**2) / (1 - high**2)
        return (1 - low) / (1 + low) ** 2 * exp_up(exponent * steps) * rest


def chances(gaps: list[int], q: Q) -> list[Q]:
    """The probability of each candidate under noise with P[y] proportional to q^|y|: exact for rational q."""
    farthest, many = max(gaps), len(gaps)
    lowest = q ** (many * farthest - sum(gaps)) / (many * (1 + q) ** many)
    found = [lowest + _above_all(gaps, place, q) for place in range(many)]
    powers = [q**exponent for exponent in range(farthest + 2)]
    for level in range(1 - farthest, 1):
        exactly = [(1 - q) / (1 + q) * powers[abs(level + gap)] for gap in gaps]
        at_most = [_at_most(level - 1 + gap, powers) for gap in gaps]
        for place in range(many):
            others = [[at_most[i], exactly[i]] for i in range(many) if i != place]
            shared = sum(factor / (power + 1) for power, factor in enumerate(_product(others, q)))
            found[place] += exactly[place] * shared
    return found


def _above_all(gaps: list[int], place: int, q: Q) -> Q:
    """The probability to win with a noisy score above every score, by geometric series."""
    heights = _product([[q / q, q**gap] for other, gap in enumerate(gaps) if other != place], q)
    upper, lower, total = -q / (1 + q), -1 / (1 + q), 0 * q
    for power, height in enumerate(heights):
        mean = (upper ** (power + 1) - lower ** (power + 1)) / (power + 1)
        total += height * mean * q ** (power + 1) / (1 - q ** (power + 1))
    return q ** gaps[place] * total


def _at_most(y: int, powers: list[Q]) -> Q:
    """The probability that noise is at most y, from powers of q."""
    return powers[-y] / (1 + powers[1]) if y < 0 else 1 - powers[y + 1] / (1 + powers[1])


def _product(factors: list[list[Q]], q: Q) -> list[Q]:
    """The coefficients of a product of polynomials of degree one."""
    product: list[Q] = [q / q]
    for constant, slope in factors:
        raised = [slope * factor for factor in product]
        product = [constant * factor for factor in product]
        product.append(0 * q)
        for power, factor in enumerate(raised, start=1):
            product[power] += factor
    return product


def _contenders(gaps: Gaps, scale: float, wanted: int) -> dict[int, int]:
    """Noisy scores by place, counted from the best score: all that reach the `wanted`-th largest, and some others.

    Of many candidates the leaders get their noise first. Another one matters only where it reaches the level that
    `wanted` leaders have: it gets there with probability q^t P[Y >= 0], for t >= 0 the noise it needs, and then has
    noise t + Y given Y >= 0.
    """
    if len(gaps) <= 2 * _LEADERS:
        return _add_noise(gaps, range(len(gaps)), scale)
    values = _add_noise(gaps, _leaders(gaps), scale)
    level = sorted(values.values())[-wanted]
    needed = _required_noise(gaps, level)
    arrived = [int(place) for place in np.flatnonzero(categorical.flips(needed, 1 / Fraction(scale)))]
    arrived = [place for place in arrived if place not in values]
    for place, drawn in zip(arrived, discrete_laplace(scale, len(arrived)).tolist(), strict=True):
        if int(gaps[place]) + level < 0:
            values[place] = drawn - int(gaps[place])
        elif drawn >= 0:
            values[place] = level + drawn
    return values


def _add_noise(gaps: Gaps, places: range | list[int], scale: float) -> dict[int, int]:
    drawn = discrete_laplace(scale, len(places)).tolist()
    return {place: noise - int(gaps[place]) for place, noise in zip(places, drawn, strict=True)}


def _leaders(gaps: Gaps) -> list[int]:
    """The places of the smallest gaps, as far as 64 bits tell them apart."""
    if not isinstance(gaps, np.ndarray):
        gaps = np.array([gap if gap < _WORD else _WORD for gap in gaps], dtype=np.uint64)  # noqa: FURB136 - 3 times as fast
    return [int(place) for place in np.argpartition(gaps, _LEADERS)[:_LEADERS]]


def _required_noise(gaps: Gaps, level: int) -> Gaps:
    """The noise that lifts each candidate to a level, or zero where none is needed."""
    if isinstance(gaps, np.ndarray) and int(gaps.max()) + abs(level) < _WORD:
        return np.maximum(gaps.astype(np.int64) + level, 0)
    return [int(gap) + level if gap > -level else 0 for gap in gaps]


def _winner(values: dict[int, int]) -> int:
    """The place of the largest, each of those that tie equally likely."""
    best = max(values.values())
    tied = [place for place, value in values.items() if value == best]
    return tied[_below(len(tied))]


def _below(bound: int) -> int:
    return int(categorical.uniform(bound, 1)[0])


def _require_noise(noise: object) -> Noise:
    if noise not in get_args(Noise):
        raise ParameterError(
            f"noise={noise!r}",
            because="a noisy maximum is proved for three distributions of noise",
            instead='noise="exponential", "gumbel" or "laplace"',
        )
    return noise  # type: ignore[return-value]


def _refuse_wide(gaps: list[int]) -> None:
    if len(gaps) > MOST_BRACKETED or max(gaps) > MOST_STEPS:
        raise ParameterError(
            f"the probabilities of {len(gaps):,} candidates under Laplace noise",
            because=f"they are summed for at most {MOST_BRACKETED} scores within {MOST_STEPS} steps of the grid",
            instead="release(scores), which takes any number, or fewer scores that are nearer to each other",
        )
