"""Edges of bins from what was found privately: quantiles, noisy counts of sizes, and years.

Everything here is post-processing of noisy answers. Edges are whole steps of a public grid until they are numbers.
"""

import datetime as dt
import math
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise

from discreet.catalog.catalog import ColumnType
from discreet.plan.logical import Scalar
from discreet.planner.queries.log_scale import Bounds, Scale

_LAST_YEAR = dt.MAXYEAR - 1


def quantile_edges(points: Sequence[int], low: int, high: int) -> list[int]:
    """Edges at quantiles between bounds, in steps; a step that several quantiles share has a bin of its own."""
    times = Counter(min(max(point, low), high) for point in points)
    inner = {point for point in times if low < point}
    inner |= {point + 1 for point, number in times.items() if number > 1 and point < high}
    return [low, *sorted(inner), high + 1]


def histogram_edges(scale: Scale, counts: Sequence[int], bounds: Bounds, bins: int) -> list[int]:
    """Edges of bins of about equal numbers of rows between found bounds, in steps, from noisy counts of sizes.

    Within a bin of the scale, rows are taken as evenly spread. Three quarters of the bins have equal numbers of rows;
    edges of the scale stand beside them where its bins have a quarter of such a number, so that long tails have bins.
    """
    low, high = bounds[0], bounds[1] + 1
    starts = [low, *(min(max(edge, low), high) for edge in scale.edges), high]
    parts = [(start, end, max(0, count)) for (start, end), count in zip(pairwise(starts), counts, strict=True)]
    parts = [part for part in parts if part[0] < part[1]]
    total = sum(count for *_, count in parts)
    if not total:
        return equal_edges(low, high, bins)
    bins, edges, before = max(1, 3 * bins // 4), {low, high}, 0
    for start, end, count in parts:
        edges |= {start, end} if 4 * bins * count >= total else set()
        first, last = -(-before * bins // total), (before + count) * bins // total
        inside = range(first, last + 1) if count else ()
        edges |= {start + (end - start) * (place * total - before * bins) // (count * bins) for place in inside}
        before += count
    return sorted(edges)


def equal_edges(low: int, high: int, bins: int) -> list[int]:
    """Edges of bins of equal width, in steps; each holds at least one."""
    count = min(bins, high - low)
    return [low + (high - low) * place // count for place in range(count + 1)]


def numbers(kind: ColumnType, steps: Sequence[int], grid: Fraction) -> tuple[Scalar, ...]:
    """Steps of a grid as numbers of a type, each once; there are at least two.

    The last step is the one after the highest value. Bins of reals end at the highest value itself.
    """
    is_beyond = kind is ColumnType.REAL and len(steps) > 1 and steps[-2] < steps[-1] - 1
    exact = [step * grid for step in ((*steps[:-1], steps[-1] - 1) if is_beyond else steps)]
    if kind is ColumnType.INTEGER:
        whole = sorted({math.ceil(each) for each in exact})
        return tuple(whole) if len(whole) > 1 else (whole[0], whole[0] + 1)
    reals = sorted({float(each) for each in exact})
    return tuple(reals) if len(reals) > 1 else (reals[0], math.nextafter(reals[0], math.inf))


def year_edges(kind: ColumnType, years: Sequence[int], bins: int) -> tuple[Scalar, ...]:
    """Edges at the years that were found, each divided evenly where there are fewer of them than bins."""
    known = sorted({year for year in years if 1 <= year <= _LAST_YEAR})
    if not known:
        return ()
    every = -(-len(known) // bins)
    parts = max(1, bins // len(known))
    edges = {_start(known[-1] + 1)}
    for place in range(0, len(known), every):
        start, end = _start(known[place]), _start(known[place] + 1)
        edges |= {start + (end - start) * part // parts for part in range(parts)}
        edges |= {end} if known[min(place + 1, len(known) - 1)] > known[place] + 1 else set()
    return tuple(sorted({each.date() for each in edges} if kind is ColumnType.DATE else edges))


def _start(year: int) -> dt.datetime:
    return dt.datetime(year, 1, 1)  # noqa: DTZ001 - cells have no zone
