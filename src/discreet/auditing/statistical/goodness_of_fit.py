"""Whether draws follow the distribution that a mechanism states, and stay within its stated margin.

Definition
    n independent draws fall into k bins of stated probabilities p; the statistic is n KL(q, p), q the shares that were
    drawn: half of the likelihood-ratio form of chi-square. Steps far from zero are pooled. Bins are chosen by draws
    that are not used again, or by the stated distribution alone. Draws of several distributions have a statistic each,
    and their sum is held against what it may be by chance.

Guarantee
    If the draws are independent and follow the stated distribution, `check_fit` calls it broken with a chance of at
    most `alarm`, at every n: P[n KL >= t] <= e^-t (e t/(k - 1))^(k - 1) for t > k - 1; so does `check_parts`, with the
    sum of k - 1 over all parts. If the noise stays within the margin with at least the stated confidence, so does
    `check_margin`. Proof: docs/proofs/auditing/statistical/goodness_of_fit.md.

Exactness
    Probabilities of bins are floats, from the mechanism's own `cdf` or `pmf`; they are right to about 9 digits, which
    moves the statistic by less than n 10^-9. The tail of the binomial distribution is SciPy's.

Not covered
    Deviations that n draws cannot show; whether draws depend on each other, beyond two releases being equal.

References
    Agrawal, Finite-Sample Concentration of the Multinomial in Relative Entropy, IEEE Transactions on Information
    Theory, 2020 (the bound on the moment generating function, and the tail that follows).
"""

import math
import time
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from scipy import optimize, stats

from discreet.auditing.exact.distributions import MOST_STATED, MassFunction
from discreet.auditing.finding import Finding, Verdict
from discreet.exact.numbers import rational, whole

LAYER = "draws"
MOST_BINS = 24
_PILOT = 10
_FEWEST = 200
_EDGES = (0.35, 0.7, 1.2, 2.0)
_FEW_BINS = 8

Draws = Sequence[int]


def check_fit(mechanism: Any, *, samples: int = 20_000, alarm: float = 1e-6, name: str | None = None) -> Finding:
    """Draws of `release` at zero against the mechanism's `pmf`, or its `cdf` where it has one."""
    started = time.perf_counter()
    subject = name or type(mechanism).__name__
    count = whole(samples, "samples", least=_FEWEST)
    pilot, drawn = steps(mechanism, count // _PILOT), steps(mechanism, count - count // _PILOT)
    below = cumulative(mechanism, max(map(abs, (*pilot, *drawn))))
    claim = "draws follow the stated pmf"
    if below is None:
        return Finding(
            subject=subject,
            layer=LAYER,
            claim=claim,
            verdict=Verdict.SKIPPED,
            evidence="the noise is too wide to sum its pmf, and there is no cdf",
        )
    edges = chosen_edges(pilot)
    expected = np.diff([0.0, *(below(edge) for edge in edges), 1.0])
    seen = np.bincount(np.searchsorted(edges, drawn, side="right"), minlength=len(edges) + 1)
    statistic = divergence(seen, expected)
    limit = critical(len(expected), alarm)
    return Finding(
        subject=subject,
        layer=LAYER,
        claim=claim,
        verdict=Verdict.BROKEN if statistic > limit else Verdict.NOTHING_FOUND,
        evidence=f"half of the likelihood-ratio chi-square of {len(drawn):,} draws in {len(expected)} bins is "
        f"{statistic:.4g}, and {limit:.4g} is the most by chance",
        samples=count,
        alarm=alarm,
        seconds=time.perf_counter() - started,
        detail={"edges": list(map(int, edges)), "seen": seen.tolist(), "expected": expected.tolist()},
    )


class BinCounts(NamedTuple):
    """How often each bin was hit, and how likely it is; bins were chosen without looking at these draws."""

    seen: Sequence[int]
    expected: Sequence[float]


def check_parts(parts: Sequence[BinCounts], *, alarm: float, name: str) -> Finding:
    """Draws of several distributions, independent of each other, against what each distribution states."""
    statistic = math.fsum(divergence(*part) for part in parts)
    limit = critical(1 + sum(len(part.expected) - 1 for part in parts), alarm)
    drawn, bins = sum(sum(part.seen) for part in parts), sum(len(part.seen) for part in parts)
    return Finding(
        subject=name,
        layer=LAYER,
        claim="draws follow the stated law",
        verdict=Verdict.BROKEN if statistic > limit else Verdict.NOTHING_FOUND,
        evidence=f"half of the likelihood-ratio chi-square of {drawn:,} draws in {bins} bins is "
        f"{statistic:.4g}, and {limit:.4g} is the most by chance",
        samples=drawn,
        alarm=alarm,
        detail={
            "seen": [list(map(int, p.seen)) for p in parts],
            "expected": [list(map(float, p.expected)) for p in parts],
        },
    )


def part_of_noise(drawn: Any, noise: Any, width: float) -> BinCounts:
    """Steps of noise with a `cdf`, in bins around zero of a few shares of its width."""
    edges = sorted({0, 1, *(math.floor(side * share * width) for side in (-1, 1) for share in _EDGES)})
    expected: list[float] = np.diff([0.0, *(float(noise.cdf(edge - 1)) for edge in edges), 1.0]).tolist()
    return BinCounts(_counts(np.searchsorted(edges, np.asarray(drawn).ravel(), side="right"), len(edges) + 1), expected)


def part_of_outcomes(outcomes: Iterable[Hashable], law: Mapping[Any, float]) -> BinCounts:
    """Outcomes by how likely they are: bins of about so much, the most likely first, and in the last all others."""
    place: dict[Hashable, int] = {}
    expected = [0.0]
    for outcome, share in sorted(law.items(), key=lambda item: -item[1]):
        if expected[-1] >= 1 / _FEW_BINS:
            expected.append(0.0)
        place[outcome] = len(expected) - 1
        expected[-1] += share
    expected[-1] += max(0.0, 1 - math.fsum(expected))
    last = len(expected) - 1
    return BinCounts(_counts([place.get(outcome, last) for outcome in outcomes], len(expected)), expected)


def _counts(places: Any, bins: int) -> list[int]:
    counts: list[int] = np.bincount(places, minlength=bins).tolist()
    return counts


def check_margin(
    mechanism: Any, *, confidence: float = 0.95, samples: int = 20_000, alarm: float = 1e-6, name: str | None = None
) -> Finding:
    """How often draws leave the margin, against how often they may."""
    started = time.perf_counter()
    count = whole(samples, "samples", least=_FEWEST)
    margin, grid = rational(mechanism.margin(confidence), "margin"), grid_of(mechanism)
    outside = sum(1 for step in steps(mechanism, count) if abs(step) * grid > margin)
    chance = float(stats.binom.sf(outside - 1, count, 1 - confidence)) if outside else 1.0
    return Finding(
        subject=name or type(mechanism).__name__,
        layer=LAYER,
        claim=f"the noise stays within margin({confidence}) so often",
        verdict=Verdict.BROKEN if chance <= alarm else Verdict.NOTHING_FOUND,
        evidence=f"{outside:,} of {count:,} draws are outside, and {count * (1 - confidence):,.0f} may be on average",
        stated=confidence,
        found=1 - outside / count,
        samples=count,
        alarm=alarm,
        seconds=time.perf_counter() - started,
    )


def steps(mechanism: Any, count: int) -> list[int]:
    """So many draws of noise, in steps of the grid, by one release of a vector of zeros where that is possible."""
    grid = grid_of(mechanism)
    return [int(Fraction(value) / grid) for value in many(mechanism, 0, count)]


def many(mechanism: Any, value: Any, count: int) -> list[Any]:
    """So many releases of one value; a mechanism that takes no vectors is called so often."""
    try:
        released = list(mechanism.release([value] * count))
    except Exception:  # noqa: BLE001 - another contract says whether it must take a vector
        released = []
    return released if len(released) == count else [mechanism.release(value) for _ in range(count)]


def grid_of(mechanism: Any) -> Fraction:
    """The grid of a mechanism: one where it has none."""
    return rational(getattr(mechanism, "grid", 1), "grid")


def cumulative(mechanism: Any, reach: int) -> Callable[[int], float] | None:
    """P[Y < y] as a function of y; None where only a pmf is known and the noise is too wide to sum it."""
    if callable(getattr(mechanism, "cdf", None)):
        return lambda y: float(mechanism.cdf(y - 1))
    if reach > MOST_STATED:
        return None
    law = MassFunction(mechanism.pmf)
    if law.reach is None:
        return None
    first = -max(law.reach, reach)
    sums = np.cumsum([float(mass.low + mass.high) / 2 for mass in law.masses(first, -first)])
    return lambda y: 0.0 if y <= first else float(sums[min(y - 1 - first, len(sums) - 1)])


def chosen_edges(pilot: Draws, most: int = MOST_BINS) -> list[int]:
    """Where bins begin: by shares of earlier draws, so that no bin is empty, and around zero, for any draws."""
    ordered = sorted(pilot)
    quantiles = {ordered[min(len(ordered) - 1, part * len(ordered) // most)] for part in range(1, most)}
    return sorted({*quantiles, 0, 1})


def divergence(seen: Any, expected: Any) -> float:
    """The statistic n KL of what was seen from what was expected; infinite where the impossible was seen."""
    total, statistic = int(sum(seen)), 0.0
    for count, probability in zip(seen, expected, strict=True):
        if count and probability <= 0:
            return math.inf
        statistic += count * math.log(count / total / probability) if count else 0.0
    return statistic


def critical(bins: int, alarm: float) -> float:
    """The least t with e^-t (e t/(k - 1))^(k - 1) <= alarm."""
    free = bins - 1

    def excess(t: float) -> float:
        return t - free - free * math.log(t / free) + math.log(alarm)

    high = 2.0 * free + 10
    while excess(high) < 0:
        high *= 2
    return float(optimize.brentq(excess, free, high)) if excess(free) < 0 else float(free)
