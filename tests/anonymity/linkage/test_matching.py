"""Comparisons of cells: exact at their edges, against plain definitions."""

import datetime as dt
from fractions import Fraction
from itertools import product

import pyarrow as pa
import pytest

import discreet as dp
from discreet.anonymity.linkage.matching import (
    EqualCells,
    RangeCells,
    SimilarCells,
    compare,
    deletions,
    fold,
    is_within,
    similar_pairs,
)
from discreet.errors import ParameterError, TypeMismatchError


def matches(published: list, auxiliary: list, tolerance: object, kind: pa.DataType | None = None) -> list[list[int]]:
    """For each auxiliary cell the places of compatible published cells."""
    here, there = (pa.chunked_array([pa.array(cells, kind)]) for cells in (published, auxiliary))
    cells = compare("column", here, there, tolerance)
    answers = []
    for code in cells.auxiliary.tolist():
        if isinstance(cells, EqualCells):
            fits = cells.published == code
        elif isinstance(cells, RangeCells):
            fits = (cells.low[code] <= cells.published) & (cells.published < cells.high[code])
        else:
            assert isinstance(cells, SimilarCells)
            near = set(cells.codes[cells.first[code] : cells.first[code + 1]].tolist())
            fits = [each in near for each in cells.published.tolist()]
        answers.append([place for place, flag in enumerate(fits) if flag])
    return answers


def test_numbers_match_within_the_distance_at_its_edges():
    assert matches([1, 3, 5, None], [3, None, 6], 2) == [[0, 1, 2], [3], [2]]
    assert matches([0.3, 0.4, 0.5], [0.4], 0.1) == [[0, 1, 2]]
    assert matches([0.3, 0.4, 0.5], [0.4], 0.0999) == [[1]]
    assert matches([1, 2], [1.5], Fraction(1, 2)) == [[0, 1]]


def test_the_ends_of_64_bits_do_not_wrap_around():
    edges = [-(2**63), 0, 2**63 - 1]
    assert matches(edges, edges, 2**62) == [[0], [1], [2]]
    assert matches(edges, edges, 2**63) == [[0, 1], [0, 1, 2], [1, 2]]


def test_infinities_match_themselves_and_nan_is_missing():
    cells = [float("-inf"), 0.0, float("inf"), float("nan"), None]
    assert matches(cells, cells, 1) == [[0], [1], [2], [3, 4], [3, 4]]


def test_dates_match_within_days():
    days = [dt.date(2000, 1, day) for day in (1, 3, 9)]
    assert matches(days, days, 2) == [[0, 1], [0, 1], [2]]
    assert matches(days, days, dt.timedelta(days=6)) == [[0, 1], [0, 1, 2], [1, 2]]
    times = [dt.datetime(2000, 1, 1, hour, tzinfo=dt.UTC) for hour in (0, 12)]
    assert matches(times, times, 0.5) == [[0, 1], [0, 1]]
    assert matches(times, times, 0.49) == [[0], [1]]


def test_text_matches_without_case_and_blanks():
    assert fold("  de la Cruz") == "delacruz"
    assert matches(["Ann Lee", "ANNLEE", "Bo", None], ["ann lee", None], 0) == [[0, 1], [3]]


def test_text_matches_within_edits():
    assert matches(["Smith", "Smyth", "Smithe", "Jones", None], ["smith", None], 1) == [[0, 1, 2], [4]]
    assert matches(["Smith"], ["Smiht"], 1) == [[]]
    assert matches(["Smith"], ["Smiht"], 2) == [[0]]


def _distance(first: str, second: str) -> int:
    if not first or not second:
        return len(first) + len(second)
    return min(
        _distance(first[1:], second[1:]) + (first[0] != second[0]),
        _distance(first[1:], second) + 1,
        _distance(first, second[1:]) + 1,
    )


def test_similar_pairs_are_those_of_the_definition_of_edit_distance():
    draw = dp.testing.generator(3)
    words = ["".join(draw.choice(list("ab"), size=int(draw.integers(0, 6)))) for _ in range(30)]
    for edits, (short, long) in product((1, 2), ((words[:10], words[10:]), (words[10:], words[:10]))):
        truth = {(a, p) for (a, x), (p, y) in product(enumerate(short), enumerate(long)) if _distance(x, y) <= edits}
        assert set(similar_pairs(long, short, edits)) == truth
        assert all(is_within(short[a], long[p], edits) for a, p in truth)


def test_deletions_are_the_forms_with_letters_left_out():
    assert deletions("ab", 1) == {"ab", "a", "b"}
    assert deletions("ab", 2) == {"ab", "a", "b", ""}


def test_a_distance_that_makes_no_sense_is_refused():
    with pytest.raises(ParameterError, match="0 to 2 edits"):
        matches(["a"], ["a"], 3)
    with pytest.raises(ParameterError, match="at least 0"):
        matches([1], [1], -1)
    with pytest.raises(TypeMismatchError):
        compare("age", pa.chunked_array([["1"]]), pa.chunked_array([[1]]), 1)


def test_values_that_one_type_does_not_hold_exactly_are_refused_without_a_cell():
    big = 2**53 + 1
    pairs = [
        (pa.array([big]), pa.array([1.5]), 1),
        (pa.array([big], pa.timestamp("ns")), pa.array([1], pa.timestamp("us")), dt.timedelta(days=1)),
    ]
    for one, other, tolerance in pairs:
        for distance in (None, tolerance):
            with pytest.raises(TypeMismatchError, match="holds exactly") as refused:
                compare("c", pa.chunked_array([one]), pa.chunked_array([other]), distance)
            assert str(big)[:5] not in str(refused.value)
