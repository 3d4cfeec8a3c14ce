"""Selections, watches, streams, noise that fits and chunks as callables of a dataset, with neighbours and claims.

Each is what a session calls under its charge, on data where one unit does most: scores that move against each other,
questions just below a threshold before one above it, a median in a gap, an answer of one chunk from bound to bound.
"""

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

from discreet.auditing import claims
from discreet.auditing.claims import Claim
from discreet.mechanisms import AboveThreshold, Exponential, NoisyMax, PermuteAndFlip, TopK, keys, sampled, smooth
from discreet.mechanisms.quantile import RankSelection
from discreet.workloads.stream import Online

EPSILON, DELTA, RHO = 1, Fraction(1, 1000), Fraction(1, 2)
THRESHOLD = 5
CHUNKS = 5
BOUNDS = (0, 8)


class Audited(NamedTuple):
    """A mechanism as a callable, two neighbours on which it is stretched, and what it claims."""

    mechanism: Callable[[Any], object]
    one: object
    other: object
    claim: Claim


def families() -> Mapping[str, Audited]:
    """Every family beside plain noise, by name."""
    pure = claims.claim(epsilon=EPSILON)
    against = ([3, 2, 0, 1], [2, 3, 1, 2])
    one_way = ([3, 3, 0, 1], [4, 3, 1, 1])
    words: dict[str, Any] = {"sensitivity": 1, "epsilon": EPSILON}
    return {
        "exponential": Audited(Exponential(**words).release, *against, pure),
        "exponential, one way": Audited(Exponential(monotone=True, **words).release, *one_way, pure),
        "permute and flip": Audited(PermuteAndFlip(**words).release, *against, pure),
        "noisy max, Laplace": Audited(NoisyMax(noise="laplace", **words).release, *against, pure),
        "best two": Audited(TopK(k=2, **words).release, *against, pure),
        "above threshold": Audited(_watched(1), [4] * 6 + [6], [5] * 6 + [5], pure),
        "above threshold, twice, with gaps": Audited(_watched(2, gap=True), [4, 6, 4, 6], [5, 5, 5, 5], pure),
        "above threshold, with answers": Audited(_watched(1, with_answers=True), [4, 4, 6], [5, 5, 5], pure),
        "stream of ranges": Audited(_streamed(), [9, 0], [10, 0], pure),
        "quantile by ranks": Audited(_ranked(), [[2, 0, 1, 0]], [[2, 0, 1, 1]], pure),
        **_found(),
        **_fitted(),
        **_sampled(),
    }


def _ranked() -> Callable[[Any], object]:
    return RankSelection(probability=Fraction(1, 2), l1=1, epsilon=EPSILON).release


def _found() -> dict[str, Audited]:
    """Keys of which one has a unit more, and one that only this unit has."""
    units = ([3, 2, 0], [3, 3, 0])
    alone = ([3, 2, 0], [3, 2, 1])
    words: dict[str, Any] = {"epsilon": EPSILON, "delta": DELTA}
    claim = claims.claim(epsilon=EPSILON, delta=float(DELTA))
    return {
        "keys, optimal rule": Audited(keys.Optimal(**words).release, *units, claim),
        "keys, optimal rule, one that nobody else has": Audited(keys.Optimal(**words).release, *alone, claim),
        "keys, Laplace threshold": Audited(keys.LaplaceThreshold(**words).release, *units, claim),
        "keys, one that nobody else has": Audited(keys.LaplaceThreshold(**words).release, *alone, claim),
        "best keys of an unknown domain": Audited(keys.TopKeys(k=2, limit=4, **words).release, *units, claim),
    }


def _watched(answers: int, **words: Any) -> Callable[[Sequence[int]], object]:
    watch = AboveThreshold(threshold=THRESHOLD, epsilon=EPSILON, answers=answers, **words)

    def told(values: Sequence[int]) -> object:
        return [(reply.is_above, reply.answer, reply.gap) for reply in watch.open().ask_many(values)]

    return told


def _streamed() -> Callable[[Sequence[int]], object]:
    """A histogram that is wrong about both of its bins: the first range is corrected, by a number with noise."""
    online = Online(bins=2, total=4, threshold=1, epsilon=EPSILON, corrections=1)

    def told(counts: Sequence[int]) -> object:
        answer = online.open(counts).ask(0, 1)
        return [answer.value, answer.corrected]

    return told


def _fitted() -> dict[str, Audited]:
    """A median with one value in a gap, which one more value moves across it."""
    rows = ([0, 1, 1, 7, 8], [0, 1, 1, 7, 8, 8])
    grid = Fraction(1, 8)
    pure = {name: smooth.Smooth(noise=name, epsilon=EPSILON, grid=grid).release for name in ("pareto", "student_t")}
    loose = smooth.Smooth(noise="laplace", epsilon=EPSILON, delta=DELTA, grid=grid).release
    rooted = smooth.Smooth(noise="laplace_log_normal", rho=RHO, grid=grid).release
    test = smooth.ProposeTestRelease(bound=1, epsilon=Fraction(EPSILON, 2), delta=DELTA, grid=grid).release
    approximate = claims.claim(epsilon=EPSILON, delta=float(DELTA))
    made: dict[str, tuple[Callable[[Any], object], Claim]] = {
        f"median, {name} noise": (call, claims.claim(epsilon=EPSILON)) for name, call in pure.items()
    }
    made["median, Laplace noise"] = (loose, approximate)
    made["median, Laplace log-normal noise"] = (rooted, claims.claim(rho=float(RHO)))
    made["median, proposed bound"] = (test, approximate)
    found = {name: Audited(_of(smooth.Median, call), *rows, claim) for name, (call, claim) in made.items()}
    width = _of(smooth.InterquartileRange, pure["pareto"])
    return found | {"distance between quartiles, pareto noise": Audited(width, *rows, claims.claim(epsilon=EPSILON))}


def _of(kind: Any, release: Callable[[Any], object]) -> Callable[[Sequence[int]], object]:
    def released(rows: Sequence[int]) -> object:
        return release(kind(rows, bounds=BOUNDS))

    return released


def _sampled() -> dict[str, Audited]:
    """Chunks of which one goes from bound to bound."""
    answers = ([0, 0, 4, 8, 8], [0, 8, 4, 8, 8])
    words: dict[str, Any] = {"bounds": BOUNDS, "chunks": CHUNKS, "epsilon": EPSILON, "grid": 1}
    pure = claims.claim(epsilon=EPSILON)
    found = sampled.SelfBoundedMean(**words)
    return {
        "mean of chunks": Audited(sampled.ClippedMean(**words).release, *answers, pure),
        "median of chunks": Audited(sampled.PrivateMedian(**words).release, *answers, pure),
        "mean of chunks within bounds of its own": Audited(lambda given: found.release(given).value, *answers, pure),
    }
