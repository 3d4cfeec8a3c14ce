"""The quality of a released table by its own noisy marginals: post-processing of what is public, at no cost.

The distance of a marginal is half the sum of |share of drawn rows - noisy count / total| over its cells, with the
estimated total of the release. For the exact rows its expectation is that of noise alone, up to the error of the total:
half the number of cells times E|noise|, by the total. A model that fits the noise lies below that, and a model that
misses the marginal lies above.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from discreet.plan.slots import SlotColumn, columns_from_json
from discreet.release.measured_quality import MarginalQuality, MeasuredQuality
from discreet.release.quality.shares import ColumnShares
from discreet.synthesis.core.measurement import Floats
from discreet.synthesis.quality.column_shares import column_shares
from discreet.synthesis.quality.distances import SlotRows
from discreet.synthesis.quality.encoding import encode_rows

_WIDE = 50.0
"""Sigma from which the mean of |noise| is that of the continuous law, to 5 digits."""


def measured_quality(state: Mapping[str, Any], drawn: pa.Table, persons: pa.Table | None = None) -> MeasuredQuality:
    """The distances between drawn rows and the noisy marginals of a state.

    Args:
        state: The state of a `SyntheticTable`.
        drawn: Its rows; at least one.
        persons: The persons of these rows, in a two-level table. Default: the table has one level.

    Returns:
        The distances, marginal by marginal; those of persons last.
    """
    columns = columns_from_json(state["columns"])
    found = _level_quality(columns, state, drawn)
    if persons is None:
        return found
    own = tuple(column for column in columns if column.name in persons.column_names)
    others = _level_quality(own, state["persons"], persons)
    return replace(found, marginals=found.marginals + others.marginals, columns=others.columns + found.columns)


def _level_quality(columns: Sequence[SlotColumn], state: Mapping[str, Any], drawn: pa.Table) -> MeasuredQuality:
    """The distances between drawn rows of one level and its own marginals."""
    rows = encode_rows(columns, drawn)
    total = max(1.0, float(state["total"]))
    marginals = tuple(_quality(rows, each, total) for each in state["measurements"])
    shares = tuple(found for column in columns for found in _column_shares(column, rows, state["measurements"], total))
    return MeasuredQuality(drawn.num_rows, marginals, shares)


def mean_noise(sigma: float) -> float:
    """The mean of |noise| of the discrete Gaussian with this parameter.

    Args:
        sigma: The parameter; 0 in exact results of `dp.testing`.

    Returns:
        The sum of |k| exp(-k^2 / (2 sigma^2)) over all integers k, divided by that of the weights.
    """
    if sigma <= 0:
        return 0.0
    if sigma >= _WIDE:
        return sigma * math.sqrt(2 / math.pi)
    steps = np.arange(1, math.ceil(12 * sigma) + 2)
    weights = np.exp(-(steps**2) / (2 * sigma**2))
    return float(2 * (steps * weights).sum() / (1 + 2 * weights.sum()))


def _quality(rows: SlotRows, measurement: Mapping[str, Any], total: float) -> MarginalQuality:
    columns = tuple(measurement["columns"])
    shares = _merge(rows, columns, measurement.get("groups", {})) / len(rows.codes)
    noisy = np.asarray(measurement["values"], dtype=np.float64).reshape(shares.shape) / total
    noise = shares.size * mean_noise(float(measurement["sigma"])) / (2 * total)
    drawing = drawing_error(noisy, len(rows.codes), total)
    return MarginalQuality(columns, float(np.abs(shares - noisy).sum() / 2), noise, drawing)


def drawing_error(noisy: Floats, rows: int, total: float) -> float:
    """About the expected distance that is due to drawing fewer rows than the data have.

    Args:
        noisy: The noisy shares of the cells.
        rows: Number of drawn rows.
        total: The estimated number of rows of the data.

    Returns:
        Half the sum of E|share of drawn rows - share|, by the normal approximation; 0 from as many rows as the data on.
    """
    positive = np.maximum(noisy, 0.0)
    if rows >= total or not positive.sum():
        return 0.0
    shares = positive / positive.sum()
    variance = shares * (1 - shares)
    normal = np.sqrt(2 / math.pi * variance * (1 / rows - 1 / total))
    return float(np.minimum(normal, 2 * variance).sum() / 2)


def _column_shares(
    column: SlotColumn, rows: SlotRows, measurements: Sequence[Mapping[str, Any]], total: float
) -> Iterator[ColumnShares]:
    """The shares by the one-way marginal of least noise; none where slots were measured together, or not at all."""
    own = [each for each in measurements if tuple(each["columns"]) == (column.name,) and not each.get("groups")]
    if own:
        noisy = np.asarray(min(own, key=lambda each: float(each["sigma"]))["values"], dtype=np.float64) / total
        yield column_shares(column, noisy, rows.marginal((column.name,)) / len(rows.codes))


def _merge(rows: SlotRows, columns: tuple[str, ...], groups: Mapping[str, list[int]]) -> Floats:
    """The counts of a marginal, in which slots of one group are added."""
    counts = rows.marginal(columns)
    for axis, name in enumerate(rows.domain.ordered(columns)):
        if name in groups:
            merged = np.zeros((max(groups[name]) + 1, *np.delete(counts.shape, axis)))
            np.add.at(merged, groups[name], np.moveaxis(counts, axis, 0))
            counts = np.moveaxis(merged, 0, axis)
    return counts
