"""Selections, sparse vectors, streams, smooth sensitivity and blocks as callables, with neighbours and claims.

Each is what a session calls under its charge, on data where one unit does most: scores that move against each other,
queries just below a threshold before one above it, a median in a gap, an answer of one block from bound to bound.
"""

from collections.abc import Callable, Hashable, Mapping, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

from discreet.auditing import claims
from discreet.auditing.claims import Claim
from discreet.auditing.exact import stated
from discreet.auditing.exact.stated import Law, plain
from discreet.auditing.finding import Finding
from discreet.auditing.statistical import goodness_of_fit
from discreet.auditing.statistical.audit import audit
from discreet.mechanisms import (
    AboveThreshold,
    Exponential,
    Gaussian,
    NoisyMax,
    PermuteAndFlip,
    RepeatedAboveThreshold,
    TopK,
    keys,
    sampled,
    smooth,
)
from discreet.mechanisms.quantile import RankSelection
from discreet.workloads.stream import Online

EPSILON, DELTA, RHO = 1, Fraction(1, 1000), Fraction(1, 2)
THRESHOLD = 5
BLOCKS = 5
BOUNDS = (0, 8)


class AuditedMechanism(NamedTuple):
    """A mechanism as a callable, its two worst-case neighbours, its claim, and the distribution of its outcomes.

    `told` is the part of an outcome that the distribution is about. `times` is how many times the
    samples of others it takes to see half of the noise, and `far` is data for the distribution alone, where the
    neighbours are so close to a threshold that half of the noise tells about the same.
    """

    mechanism: Callable[[Any], object]
    one: object
    other: object
    claim: Claim
    law: Law
    told: Callable[[Any], Hashable] = plain
    times: int = 1
    far: object = None


def audited_family(name: str, made: AuditedMechanism, samples: int, alarm: float) -> list[Finding]:
    """The claim, and whether the same draws follow the distribution that is stated of them: each with this alarm.

    Half of the noise breaks the distribution by a few hundred draws, also where no pair of neighbours makes it break
    the claim.
    """
    here: list[Hashable] = []
    there: list[Hashable] = []

    def record(data: object) -> object:
        outcome = made.mechanism(data)
        (here if data is made.one else there).append(made.told(outcome))
        return outcome

    words: dict[str, Any] = {"claim": made.claim, "samples": samples * made.times, "alarm": alarm, "name": name}
    claimed = audit(record, made.one, made.other, **words)
    drawn = [(here, made.one), (there, made.other)]
    if made.far is not None:
        drawn.append(([made.told(made.mechanism(made.far)) for _ in range(samples)], made.far))
    parts = [goodness_of_fit.part_of_outcomes(outcomes, made.law(data)) for outcomes, data in drawn]
    return [claimed, goodness_of_fit.check_parts(parts, alarm=alarm, name=name)]


def families() -> Mapping[str, AuditedMechanism]:
    """Every family beside plain noise, by name."""
    return {
        **_selections(),
        **_watches(),
        **_partition_selections(),
        **_smooth_sensitivities(),
        **_sample_and_aggregate(),
    }


def _selections() -> dict[str, AuditedMechanism]:
    """Scores of which few go up and all others down, or one up alone."""
    pure = claims.claim(epsilon=EPSILON)
    against = ([1, 0, 0, 0, 0, 0], [0, 1, 1, 1, 1, 1])
    one_way = ([1, 0, 0, 0, 0, 0, 0, 0], [0] * 8)
    two_against = ([1, 1, 0, 0, 0, 0], [0, 0, 1, 1, 1, 1])
    words: dict[str, Any] = {"sensitivity": 1, "epsilon": EPSILON}
    made: dict[str, tuple[Any, tuple[list[int], list[int]], int]] = {
        "exponential": (Exponential(**words), against, 5),
        "exponential, one way": (Exponential(monotone=True, **words), one_way, 3),
        "permute and flip": (PermuteAndFlip(**words), against, 3),
        "noisy max, Laplace": (NoisyMax(noise="laplace", **words), against, 3),
        "best two": (TopK(k=2, **words), two_against, 8),
    }
    found = {
        name: AuditedMechanism(each.release, *pair, pure, stated.of_scores(each), times=times)
        for name, (each, pair, times) in made.items()
    }
    ranks = RankSelection(probability=Fraction(1, 2), l1=1, epsilon=EPSILON)
    by_ranks = AuditedMechanism(ranks.release, [[2, 0, 1, 0]], [[2, 0, 1, 1]], pure, stated.of_groups(ranks))
    return found | {"quantile by ranks": by_ranks}


def _watches() -> dict[str, AuditedMechanism]:
    """Queries just below the threshold before one above it; and a range that a histogram is wrong about."""
    pure, concentrated = claims.claim(epsilon=EPSILON), claims.claim(rho=float(RHO))
    online = Online(bins=2, total=4, threshold=1, epsilon=EPSILON, corrections=1)
    words: dict[str, Any] = {"threshold": THRESHOLD, "epsilon": EPSILON}
    one, answered = AboveThreshold(**words), AboveThreshold(with_answers=True, **words)
    twice = AboveThreshold(answers=2, gap=True, **words)
    return {
        "above threshold": _sparse_vector(one, [4] * 6 + [6], [5] * 6 + [5], pure),
        "above threshold, twice, with gaps": _sparse_vector(twice, [4, 6, 4, 6], [5, 5, 5, 5], pure),
        "above threshold, with answers": _sparse_vector(answered, [4, 4, 6], [5, 5, 5], pure),
        "above threshold in stages": _sparse_vector(_in_stages(), [4, 6, 4, 6], [5, 5, 5, 5], concentrated),
        "stream of ranges": AuditedMechanism(_online_ranges(online), [9, 0], [10, 0], pure, stated.of_online(online)),
    }


def _partition_selections() -> dict[str, AuditedMechanism]:
    """Keys of which one has a unit more, and one that only this unit has; some are kept about as often as not."""
    words: dict[str, Any] = {"epsilon": EPSILON, "delta": DELTA}
    claim = claims.claim(epsilon=EPSILON, delta=float(DELTA))
    optimal, laplace, top = keys.Optimal(**words), keys.LaplaceThreshold(**words), keys.TopKeys(k=2, limit=4, **words)
    made: dict[str, tuple[Any, Law, tuple[list[int], list[int]]]] = {
        "keys, optimal rule": (optimal, stated.of_partition_selection(optimal), ([6, 3, 0], [6, 4, 0])),
        "keys, optimal rule, one that nobody else has": (
            optimal,
            stated.of_partition_selection(optimal),
            ([6, 3, 0], [6, 3, 1]),
        ),
        "keys, Laplace threshold": (laplace, stated.of_partition_selection(laplace), ([8, 6, 0], [8, 7, 0])),
        "keys, one that nobody else has": (laplace, stated.of_partition_selection(laplace), ([8, 6, 0], [8, 6, 1])),
        "best keys of an unknown domain": (top, stated.of_top(top), ([16, 14, 0], [16, 15, 0])),
    }
    return {
        name: AuditedMechanism(rule.release, *units, claim, law, stated.places_of, times=2 if rule is top else 1)
        for name, (rule, law, units) in made.items()
    }


def _in_stages() -> RepeatedAboveThreshold:
    """Two stages and two Gaussian answers, each pair for half of the rho: 2 epsilon^2/2 for the stages."""
    noise = Gaussian(sensitivity=1, rho=RHO / 4)
    return RepeatedAboveThreshold(AboveThreshold(threshold=THRESHOLD, epsilon=Fraction(1, 2)), 2, noise)


def _sparse_vector(
    watch: AboveThreshold | RepeatedAboveThreshold, one: list[int], other: list[int], claim: Claim
) -> AuditedMechanism:
    def ask(values: Sequence[int]) -> list[tuple[bool, Any, Any]]:
        return [(reply.is_above, reply.answer, reply.gap) for reply in watch.open().ask_many(values)]

    def without_gaps(replies: list[tuple[bool, Any, Any]]) -> Hashable:
        return tuple((is_above, answer) for is_above, answer, _ in replies)

    far = [THRESHOLD - 4, THRESHOLD - 4, THRESHOLD + 4]
    return AuditedMechanism(ask, one, other, claim, stated.of_watch(watch), without_gaps, far=far)


def _online_ranges(online: Online) -> Callable[[Sequence[int]], object]:
    """A histogram that is wrong about both of its bins: the first range is corrected, by a number with noise."""

    def ask(counts: Sequence[int]) -> object:
        answer = online.open(counts).ask(0, 1)
        return [answer.value, answer.corrected]

    return ask


def _smooth_sensitivities() -> dict[str, AuditedMechanism]:
    """A median with one value in a gap, which one more value moves across it; and one far from a gap, to be tested."""
    rows = ([0, 1, 1, 7, 8], [0, 1, 1, 7, 8, 8])
    far = ([1] * 3 + [3] * 7 + [4] * 7 + [6] * 3, [1] * 3 + [3] * 7 + [4] * 8 + [6] * 3)
    grid = Fraction(1, 8)
    pure, approximate = claims.claim(epsilon=EPSILON), claims.claim(epsilon=EPSILON, delta=float(DELTA))
    made: dict[str, tuple[smooth.Smooth, Claim]] = {
        "pareto": (smooth.Smooth(noise="pareto", epsilon=EPSILON, grid=grid), pure),
        "student_t": (smooth.Smooth(noise="student_t", epsilon=EPSILON, grid=grid), pure),
        "Laplace": (smooth.Smooth(noise="laplace", epsilon=EPSILON, delta=DELTA, grid=grid), approximate),
        "Laplace log-normal": (
            smooth.Smooth(noise="laplace_log_normal", rho=RHO, grid=grid),
            claims.claim(rho=float(RHO)),
        ),
    }
    median, width = _local(smooth.Median), _local(smooth.InterquartileRange)
    test = smooth.ProposeTestRelease(bound=1, epsilon=Fraction(EPSILON, 2), delta=DELTA, grid=grid)
    proposed = AuditedMechanism(_of(median, test), *far, approximate, stated.of_propose_test_release(test, median))
    pareto = made["pareto"][0]
    quartiles = AuditedMechanism(_of(width, pareto), *rows, pure, stated.of_smooth_sensitivity(pareto, width))
    return {
        **{
            f"median, {name} noise": AuditedMechanism(
                _of(median, each), *rows, claim, stated.of_smooth_sensitivity(each, median)
            )
            for name, (each, claim) in made.items()
        },
        "median, proposed bound": proposed,
        "distance between quartiles, pareto noise": quartiles,
    }


def _local(kind: Any) -> Callable[[Sequence[int]], Any]:
    return lambda rows: kind(rows, bounds=BOUNDS)


def _of(kind: Callable[[Sequence[int]], Any], mechanism: Any) -> Callable[[Sequence[int]], object]:
    return lambda rows: mechanism.release(kind(rows))


def _sample_and_aggregate() -> dict[str, AuditedMechanism]:
    """Blocks of which one goes from bound to bound."""
    answers = ([0, 0, 4, 8, 8], [0, 8, 4, 8, 8])
    words: dict[str, Any] = {"bounds": BOUNDS, "blocks": BLOCKS, "epsilon": EPSILON, "grid": 1}
    pure = claims.claim(epsilon=EPSILON)
    mean, median = sampled.ClippedMean(**words), sampled.PrivateMedian(**words)
    found = sampled.SelfBoundedMean(**words)
    return {
        "mean of blocks": AuditedMechanism(mean.release, *answers, pure, stated.of_mean(mean)),
        "median of blocks": AuditedMechanism(median.release, *answers, pure, stated.of_median(median), times=4),
        "mean of blocks within bounds of its own": AuditedMechanism(
            lambda given: found.release(given).value, *answers, pure, stated.of_self_bounded_mean(found)
        ),
    }
