"""Which published cells an auxiliary cell is compatible with: equal, within a distance, or alike as text.

Every comparison becomes one of three relations between integers, so that no float decides a match: equal codes, a range
of ranks among the distinct published values, or a list of published codes. Floats are read by their shortest decimals.
"""

import datetime as dt
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from discreet.anonymity.generalisation.hierarchies.base import is_text
from discreet.anonymity.linkage.persons import has_value
from discreet.engines.sources.arrow_tables import Codes, cast_exactly, encode, numbers
from discreet.errors import ParameterError, TypeMismatchError
from discreet.exact.numbers import Number, rational

Tolerance = Number | dt.timedelta
MOST_EDITS = 2
_DAY = 86_400_000_000


@dataclass(frozen=True)
class EqualCells:
    """A column that is compared exactly: cells are compatible where their codes are equal."""

    published: Codes
    auxiliary: Codes


@dataclass(frozen=True)
class RangeCells:
    """A column that is compared within a distance: compatible ranks are at least `low` and below `high`.

    `low` and `high` are by the auxiliary code. Missing cells have a rank and a code of their own.
    """

    published: Codes
    auxiliary: Codes
    low: Codes
    high: Codes


@dataclass(frozen=True)
class SimilarCells:
    """A column of text with a few edits: `codes[first[a]:first[a + 1]]` are compatible with the auxiliary code a."""

    published: Codes
    auxiliary: Codes
    first: Codes
    codes: Codes


Cells = EqualCells | RangeCells | SimilarCells


def compare(name: str, published: pa.ChunkedArray, auxiliary: pa.ChunkedArray, tolerance: Tolerance | None) -> Cells:
    """The cells of a column as the relation between two tables; a missing cell is compatible with a missing one."""
    if tolerance is None:
        return _split(encode([published, auxiliary], name), len(published))
    kinds = [_plain_type(column.type) for column in (published, auxiliary)]
    if all(is_text(kind) for kind in kinds):
        return _compare_text(published, auxiliary, _edits(name, tolerance))
    if all(_is_time(kind) for kind in kinds):
        return _compare_times(name, published, auxiliary, kinds, _days(name, tolerance))
    if any(is_text(kind) or _is_time(kind) for kind in kinds):
        raise TypeMismatchError(
            f"column {name!r} of types {kinds[0]} and {kinds[1]}",
            because="a distance needs two columns of numbers, of dates or of text",
            instead=f"{name!r} cast to one type in both tables",
        )
    return _compare_numbers(name, published, auxiliary, _distance(name, tolerance))


def fold(text: str) -> str:
    """Text without differences of case, blanks and compatibility forms."""
    return "".join(unicodedata.normalize("NFKC", text).casefold().split())


def is_within(first: str, second: str, edits: int) -> bool:
    """Whether at most so many insertions, deletions and replacements of a letter lead from one text to the other."""
    if not edits or first == second:
        return first == second
    start, end = 0, min(len(first), len(second))
    while start < end and first[start] == second[start]:
        start += 1
    first, second = first[start:], second[start:]
    if not first or not second:
        return len(first) + len(second) <= edits
    left, right, fewer = first[1:], second[1:], edits - 1
    return is_within(left, right, fewer) or is_within(left, second, fewer) or is_within(first, right, fewer)


def similar_pairs(published: Sequence[str], auxiliary: Sequence[str], edits: int) -> Iterator[tuple[int, int]]:
    """Pairs (auxiliary, published) of places whose texts are within so many edits.

    Texts within d edits have a form in common after at most d deletions in each, so that only such pairs are compared.
    The index holds the forms of the shorter list.
    """
    is_swapped = len(published) < len(auxiliary)
    small, large = (published, auxiliary) if is_swapped else (auxiliary, published)
    index: dict[str, list[int]] = {}
    for place, text in enumerate(small):
        for form in deletions(text, edits):
            index.setdefault(form, []).append(place)
    for place, text in enumerate(large):
        near = {other for form in deletions(text, edits) for other in index.get(form, ())}
        for other in near:
            if is_within(text, small[other], edits):
                yield (place, other) if is_swapped else (other, place)


def deletions(text: str, edits: int) -> set[str]:
    """The text and its forms with at most so many letters left out."""
    forms, latest = {text}, {text}
    for _ in range(edits):
        latest = {form[:place] + form[place + 1 :] for form in latest for place in range(len(form))}
        forms |= latest
    return forms


def _split(codes: Codes, rows: int) -> EqualCells:
    return EqualCells(codes[:rows], codes[rows:])


def _compare_text(published: pa.ChunkedArray, auxiliary: pa.ChunkedArray, edits: int) -> Cells:
    (theirs, first), (ours, second) = (_fold_column(column) for column in (published, auxiliary))
    cells = pa.concat_arrays([theirs, ours]).dictionary_encode(null_encoding="encode")
    codes = cells.indices.to_numpy().astype(np.int64)
    here, there = codes[: len(theirs)][first], codes[len(theirs) :][second]
    if not edits:
        return EqualCells(here, there)
    values = cells.dictionary.to_pylist()
    inside, outside = ([c for c in np.unique(each).tolist() if values[c] is not None] for each in (here, there))
    pairs = similar_pairs([values[c] for c in inside], [values[c] for c in outside], edits)
    related = [(outside[a], inside[p]) for a, p in pairs] + [(c, c) for c, value in enumerate(values) if value is None]
    return _similar_cells(here, there, related, len(values))


def _similar_cells(published: Codes, auxiliary: Codes, pairs: Iterable[tuple[int, int]], count: int) -> SimilarCells:
    known = np.array(sorted(pairs), dtype=np.int64).reshape(-1, 2)
    return SimilarCells(published, auxiliary, np.searchsorted(known[:, 0], np.arange(count + 1)), known[:, 1].copy())


def _fold_column(column: pa.ChunkedArray) -> tuple[pa.Array, Codes]:
    """The folded distinct texts of a column, and the place of each cell among them."""
    kind = _plain_type(column.type)
    cells = column.cast(kind).cast(pa.large_string()).combine_chunks()
    cells = pa.concat_arrays(cells.chunks) if isinstance(cells, pa.ChunkedArray) else cells
    known = cells.dictionary_encode(null_encoding="encode")
    texts = [None if text is None else fold(text) for text in known.dictionary.to_pylist()]
    return pa.array(texts, pa.large_string()), known.indices.to_numpy().astype(np.int64)


def _compare_times(
    name: str, published: pa.ChunkedArray, auxiliary: pa.ChunkedArray, kinds: Sequence[pa.DataType], days: Fraction
) -> RangeCells:
    if all(kind == pa.date32() for kind in kinds):
        whole = [column.cast(pa.date32()).cast(pa.int32()).cast(pa.int64()) for column in (published, auxiliary)]
        return _compare_integers(whole, int(days))
    zones = {kind.tz for kind in kinds if pa.types.is_timestamp(kind)}
    kind = pa.timestamp("us", tz=zones.pop() if len(zones) == 1 else None)
    whole = [cast_exactly(column, kind, name).cast(pa.int64()) for column in (published, auxiliary)]
    return _compare_integers(whole, int(days * _DAY))


def _compare_numbers(
    name: str, published: pa.ChunkedArray, auxiliary: pa.ChunkedArray, distance: Fraction
) -> RangeCells:
    columns = [numbers(pa.table({name: column}), name) for column in (published, auxiliary)]
    if all(pa.types.is_integer(column.type) for column in columns):
        return _compare_integers(columns, int(distance))
    theirs, ours = (pc.add(cast_exactly(column, pa.float64(), name), 0.0) for column in columns)
    values, ranks = _ranks(theirs)
    others, codes = _ranks(ours)
    spans = [_decimal_span(values, other, distance) for other in others.tolist()]
    low, high = np.array(spans, dtype=np.int64).reshape(-1, 2).T
    return _range_cells(ranks, codes, low, high, len(values))


def _compare_integers(columns: Sequence[pa.ChunkedArray], distance: int) -> RangeCells:
    (values, ranks), (others, codes) = (_ranks(column) for column in columns)
    edges = np.iinfo(np.int64)
    # integers of Python, because sums of 64 bits would wrap around at the ends
    lowest = np.array([max(edges.min, other - distance) for other in others.tolist()], dtype=np.int64)
    highest = np.array([min(edges.max, other + distance) for other in others.tolist()], dtype=np.int64)
    low, high = np.searchsorted(values, lowest, side="left"), np.searchsorted(values, highest, side="right")
    return _range_cells(ranks, codes, low, high, len(values))


def _range_cells(ranks: Codes, codes: Codes, low: NDArray[Any], high: NDArray[Any], count: int) -> RangeCells:
    """The last rank and the last code are those of missing cells."""
    return RangeCells(ranks, codes, np.append(low, count).astype(np.int64), np.append(high, count + 1).astype(np.int64))


def _ranks(column: pa.ChunkedArray) -> tuple[NDArray[Any], Codes]:
    """The distinct values in order, and the rank of each cell; a missing cell has the rank after the last."""
    is_known = has_value(column)
    values, places = np.unique(column.filter(pa.array(is_known)).to_numpy(), return_inverse=True)
    ranks = np.full(len(column), len(values), dtype=np.int64)
    ranks[is_known] = places
    return values, ranks


def _decimal_span(values: NDArray[Any], value: float, distance: Fraction) -> tuple[int, int]:
    """The places of the sorted values within a distance of one value, by their shortest decimals."""
    if not np.isfinite(value):
        return int(np.searchsorted(values, value, "left")), int(np.searchsorted(values, value, "right"))
    middle = Fraction(repr(value))
    lowest, highest = middle - distance, middle + distance
    low = int(np.searchsorted(values, _nearest(lowest), "left"))
    while low > 0 and _is_at_least(values[low - 1], lowest):
        low -= 1
    while low < len(values) and not _is_at_least(values[low], lowest):
        low += 1
    high = int(np.searchsorted(values, _nearest(highest), "right"))
    while high > 0 and not _is_at_most(values[high - 1], highest):
        high -= 1
    while high < len(values) and _is_at_most(values[high], highest):
        high += 1
    return low, high


def _nearest(number: Fraction) -> float:
    try:
        return float(number)
    except OverflowError:
        return float("inf") if number > 0 else float("-inf")


def _is_at_least(value: Any, bound: Fraction) -> bool:
    return Fraction(repr(float(value))) >= bound if np.isfinite(value) else bool(value > 0)


def _is_at_most(value: Any, bound: Fraction) -> bool:
    return Fraction(repr(float(value))) <= bound if np.isfinite(value) else bool(value < 0)


def _plain_type(kind: pa.DataType) -> pa.DataType:
    return kind.value_type if pa.types.is_dictionary(kind) else kind


def _is_time(kind: pa.DataType) -> bool:
    return bool(pa.types.is_date(kind) or pa.types.is_timestamp(kind))


def _edits(name: str, tolerance: Tolerance) -> int:
    if isinstance(tolerance, bool) or tolerance not in range(MOST_EDITS + 1):
        raise ParameterError(
            f"approximate={{{name!r}: {tolerance!r}}}",
            because=f"text is compared with 0 to {MOST_EDITS} edits",
            instead=f"approximate={{{name!r}: 1}}",
        )
    return int(tolerance)  # type: ignore[arg-type]


def _days(name: str, tolerance: Tolerance) -> Fraction:
    if isinstance(tolerance, dt.timedelta):
        return _distance(name, Fraction(tolerance // dt.timedelta(microseconds=1), _DAY))
    return _distance(name, tolerance)


def _distance(name: str, tolerance: Tolerance) -> Fraction:
    number = rational(tolerance, f"approximate[{name!r}]")
    if number < 0:
        raise ParameterError(
            f"approximate={{{name!r}: {tolerance!r}}}",
            because="a distance is at least 0",
            instead=f"approximate={{{name!r}: 1}}",
        )
    return number
