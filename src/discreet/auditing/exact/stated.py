"""What each family says of its own outcomes: the probability of each, computed beside the code that draws it.

A law is a function of the dataset; its outcomes are those of the callable that is audited, with lists as tuples. They
are floats, right to about 9 digits, and whatever a law leaves out is one outcome more. Where a mechanism states its
`pmf` or `kept`, that is its law. Those of sparse vectors, fitted noise and choices until a bar are computed here, from
the scales and rates that their prices are computed from.
"""

import math
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import permutations, product
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import stats

from discreet.mechanisms import AboveThreshold, RepeatedAboveThreshold, sampled, smooth
from discreet.mechanisms.keys import TopKeys
from discreet.mechanisms.sampled import self_bounded
from discreet.mechanisms.smooth.proposing import distance
from discreet.mechanisms.smooth.smoothing import smooth_sensitivity
from discreet.samplers.continuous import LaplaceLogNormal, Noise, Pareto, StudentT
from discreet.samplers.continuous import StandardLaplace as ContinuousLaplace
from discreet.workloads.stream import Online

Floats = npt.NDArray[np.float64]
Shares = Mapping[Hashable, float]
Law = Callable[[Any], Shares]

_REACH = 40
_STEPS = 4_000
_NODES = 180


def plain(outcome: Any) -> Hashable:
    """An outcome that can be looked up: lists as tuples."""
    made: Hashable = tuple(map(plain, outcome)) if isinstance(outcome, (list, tuple)) else outcome
    return made


def places_of(outcome: Sequence[Any]) -> Hashable:
    """The places of kept keys, with or without the numbers that are shown of them."""
    return tuple(int(getattr(each, "place", each)) for each in outcome)


def of_scores(mechanism: Any) -> Law:
    """A place among candidates, or an order of places."""
    return lambda scores: _as_mapping(mechanism.pmf(scores))


def of_groups(mechanism: Any) -> Law:
    """A step for one group."""
    return lambda groups: {(step,): share for step, share in enumerate(mechanism.pmf(groups[0]))}


def of_partition_selection(rule: Any) -> Law:
    """Which keys are kept, each by a draw of its own."""

    def law(units: Sequence[int]) -> Shares:
        chances = [float(rule.keep_probability(count)) for count in units]
        return {
            tuple(place for place, is_kept in enumerate(kept) if is_kept): math.prod(
                chance if is_kept else 1 - chance for chance, is_kept in zip(chances, kept, strict=True)
            )
            for kept in product((False, True), repeat=len(units))
        }

    return law


def of_top(rule: TopKeys) -> Law:
    """Choices by exponential weights, until the bar or a blank is chosen."""

    def law(scores: Sequence[int]) -> Shares:
        places, candidates = rule.candidates(scores)
        weights = [math.exp(float(rule.rate) * (score - max(candidates))) for score in candidates]
        found: dict[Hashable, float] = {}
        for chosen in permutations(range(len(candidates)), rule.k):
            left, share = sum(weights), 1.0
            for each in chosen:
                share, left = share * weights[each] / left, left - weights[each]
            named = next((n for n, each in enumerate(chosen) if each >= len(places)), len(chosen))
            key = tuple(places[each] for each in chosen[:named])
            found[key] = found.get(key, 0.0) + share
        return found

    return law


def of_watch(watch: AboveThreshold | RepeatedAboveThreshold) -> Law:
    """Above or below for each query, and the answers that are shown."""
    stage, stages = (watch.each, watch.times) if isinstance(watch, RepeatedAboveThreshold) else (watch, 1)

    def law(values: Sequence[int]) -> Shares:
        found: dict[Hashable, float] = {}
        for above, share in _patterns(stage, values, stages):
            asked = zip(values[: len(above)], above, strict=True)
            shown = [_answers(watch, value) if is_above else {None: 1.0} for value, is_above in asked]
            for answers in product(*(each.items() for each in shown)):
                key = tuple((is_above, answer) for is_above, (answer, _) in zip(above, answers, strict=True))
                found[key] = share * math.prod(chance for _, chance in answers)
        return found

    return law


def of_online(online: Online) -> Law:
    """The answer to the first range, and whether it is a correction."""
    expected = round(online.total / online.bins)

    def law(counts: Sequence[int]) -> Shares:
        difference = counts[0] - expected
        found: dict[Hashable, float] = {}
        replies: Mapping[Any, float] = of_watch(online.above_threshold)([difference, -difference])
        for told, share in replies.items():
            is_above, answer = told[-1]
            sign = 1 if len(told) == 1 else -1
            key = (expected + sign * int(answer) if is_above else expected, is_above)
            found[key] = found.get(key, 0.0) + share
        return found

    return law


def of_smooth_sensitivity(mechanism: smooth.Smooth, kind: Any) -> Law:
    """The answer with noise on the scale of the smooth sensitivity, rounded to the grid."""

    def law(local: Any) -> Shares:
        width = smooth_sensitivity(local, mechanism.beta) / mechanism.shift
        return _grid_masses(local.value(), width, mechanism.law, mechanism.grid)

    return lambda rows: law(kind(rows))


def of_propose_test_release(mechanism: smooth.ProposeTestRelease, kind: Any) -> Law:
    """Nothing where the test fails, and else the answer with noise on the scale of the proposed bound."""

    def law(local: Any) -> Shares:
        far = distance(local, mechanism.bound)
        chance = 1.0 if far is None else mechanism.chance(far)
        width = mechanism.bound / mechanism.epsilon
        answers = _grid_masses(local.value(), width, ContinuousLaplace(), mechanism.grid)
        return {None: 1 - chance} | {answer: chance * share for answer, share in answers.items()}

    return lambda rows: law(kind(rows))


def of_mean(mechanism: sampled.ClippedMean) -> Law:
    """The mean of blocks with its noise."""

    def law(answers: Sequence[int]) -> Shares:
        steps = mechanism.steps
        total, reach = sum(steps.read(answers)), _REACH * math.ceil(mechanism.noise.width)
        return {(total + y) * steps.grid / steps.blocks: mechanism.pmf(y) for y in range(-reach, reach + 1)}

    return law


def of_median(mechanism: sampled.PrivateMedian) -> Law:
    """The median of blocks: a point of its grid."""

    def law(answers: Sequence[int]) -> Shares:
        steps = mechanism.steps
        return {(steps.low + n) * steps.grid: share for n, share in enumerate(mechanism.pmf(answers))}

    return law


def of_self_bounded_mean(mechanism: sampled.SelfBoundedMean) -> Law:
    """Two choices of a bucket, and the mean within what they bound."""

    def law(answers: Sequence[int]) -> Shares:
        steps = mechanism.steps
        edges = self_bounded.buckets(steps.low, steps.high)
        places = [max(n for n, edge in enumerate(edges[:-1]) if edge <= step) for step in steps.read(answers)]
        both = [mechanism._quartile(part, edges).pmf(places) for part in self_bounded._QUARTILES]  # noqa: SLF001
        found: dict[Hashable, float] = {}
        for (low, first), (high, second) in product(*map(enumerate, both)):
            ends = edges[min(low, high)], edges[max(low, high) + 1]
            within = mechanism._mean(mechanism._widen_bounds(*ends))  # noqa: SLF001
            for value, share in of_mean(within)(answers).items():
                found[value] = found.get(value, 0.0) + first * second * share
        return found

    return law


def _as_mapping(shares: Any) -> Shares:
    return shares if isinstance(shares, Mapping) else dict(enumerate(shares))


def _patterns(
    watch: AboveThreshold, values: Sequence[int], stages: int = 1
) -> Iterator[tuple[tuple[bool, ...], float]]:
    """What so many stages tell of whole values until the last one ends, with its probability."""
    if not stages or not values:
        yield (), 1.0
        return
    for above, share in _stage_patterns(watch, values):
        later = stages - 1 if sum(above) == watch.answers else 0
        for rest, of_rest in _patterns(watch, values[len(above) :], later):
            yield above + rest, share * of_rest


def _stage_patterns(watch: AboveThreshold, values: Sequence[int]) -> Iterator[tuple[tuple[bool, ...], float]]:
    """What one stage tells, over the noise of its threshold."""
    steps = np.arange(-_REACH * math.ceil(watch.scales.threshold), _REACH * math.ceil(watch.scales.threshold) + 1)
    weights = np.exp(-np.abs(steps) / watch.scales.threshold)
    weights /= weights.sum()
    below = [_below(int(watch.threshold) + steps - value, watch.scales.comparison) for value in values]

    def patterns_after(before: tuple[bool, ...], chances: Floats) -> Iterator[tuple[tuple[bool, ...], float]]:
        if len(before) == len(values) or sum(before) == watch.answers:
            yield before, float(chances.sum())
            return
        under = below[len(before)]
        yield from patterns_after((*before, False), chances * under)
        yield from patterns_after((*before, True), chances * (1 - under))

    yield from patterns_after((), weights)


def _below(limits: npt.NDArray[np.int64], scale: float) -> Floats:
    """P[Y < limit] for discrete Laplace noise."""
    last = limits - 1
    q = math.exp(-1 / scale)
    tails = np.exp(-np.where(last < 0, -last, last + 1) / scale) / (1 + q)
    found: Floats = np.where(last < 0, tails, 1 - tails)
    return found


def _answers(watch: AboveThreshold | RepeatedAboveThreshold, value: int) -> dict[int | None, float]:
    noise = watch.answer_noise
    if noise is None:
        return {None: 1.0}
    reach = 10 * math.ceil(noise.width)
    return {value + y: noise.pmf(y) for y in range(-reach, reach + 1)}


def _grid_masses(value: Fraction, width: Fraction, law: Noise, grid: Fraction) -> dict[Hashable, float]:
    """The multiples of the grid nearest to value + width Z, out to so many steps."""
    middle = math.floor(value / grid)
    edges = [Fraction(2 * step - 1, 2) * grid for step in range(middle - _STEPS, middle + _STEPS + 2)]
    reached = _cumulative(law, np.array([float((edge - value) / width) for edge in edges]))
    return {(middle - _STEPS + n) * grid: float(share) for n, share in enumerate(np.diff(reached))}


def _cumulative(law: Noise, z: Floats) -> Floats:
    """P[Z <= z]."""
    if isinstance(law, StudentT):
        return np.asarray(stats.t.cdf(z, law.degrees))
    beyond = _beyond(law, np.abs(z)) / 2
    found: Floats = np.where(z < 0, beyond, 1 - beyond)
    return found


def _beyond(law: Noise, z: Floats) -> Floats:
    """P[|Z| > z]."""
    if isinstance(law, Pareto):
        return np.asarray((1 + z) ** -float(law.tail))
    if isinstance(law, ContinuousLaplace):
        return np.exp(-z)
    assert isinstance(law, LaplaceLogNormal)  # noqa: S101 - the last of the four laws
    nodes, weights = np.polynomial.hermite_e.hermegauss(_NODES)
    widths = np.exp(float(law.sigma) * nodes)
    return np.asarray(np.exp(-z[:, None] / widths) @ weights / math.sqrt(2 * math.pi))
