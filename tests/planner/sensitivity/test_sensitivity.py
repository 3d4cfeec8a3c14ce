"""Every rule of sensitivity against an oracle that tries all units, and all pairs of units, under small caps.

The oracle knows no rule. It lists every vector of rows that the caps allow, everything that a measure can make of such
rows, and takes the largest norms over all of them (a unit added or removed) or over all differences of two (a unit
replaced). A rule must be at least that, and equal to it where it is tight:

- always, for a unit that is added or removed;
- for a unit that is replaced: in L0 and Linf always; in every norm where there is one group, where values reach equally
  far to both sides of zero, or where they lie on one side and two units fit beside each other without touching.
"""

import functools
import itertools
from collections.abc import Iterator
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.catalog.catalog import ColumnType
from discreet.catalog.privacy_unit import Caps, Neighbours
from discreet.plan.physical import CountRows, CountUnits, CountValues, Integers, Read, SumSteps
from discreet.planner.budget.measurement_basis import bases
from discreet.planner.sensitivity.contribution_bounds import spread
from discreet.planner.sensitivity.sensitivity import Drawn, Offset, Sensitivity, sensitivity
from grids import over

X = Read("x", ColumnType.REAL)
SUMS = [(0, 1), (0, 3), (-1, 1), (-2, 2), (-1, 2), (-3, 1), (2, 3), (-2, -1), (4, 4), (-5, 0)]
CAPS = [
    Caps(rows, groups, per_group)
    for rows, groups, per_group in itertools.product((None, 1, 2, 3), (None, 1, 2), (None, 1, 2))
    if rows is not None or per_group is not None
]


def _sum(low: int, high: int, centre: int = 0, power: int = 1) -> SumSteps:
    return SumSteps(X, Fraction(1), low, high, centre, power=power)


def _values(size: int) -> CountValues:
    return CountValues(Read("s", ColumnType.TEXT), tuple("abcdefgh"[:size]))


def _rows(caps: Caps, groups: int, highest: int) -> Iterator[tuple[int, ...]]:
    for rows in itertools.product(range(highest + 1), repeat=groups):
        few_rows = caps.max_rows is None or sum(rows) <= caps.max_rows
        few_in_each = caps.max_rows_per_group is None or max(rows) <= caps.max_rows_per_group
        if few_rows and few_in_each and (caps.max_groups is None or sum(map(bool, rows)) <= caps.max_groups):
            yield rows


def _made_of(measure: Drawn, rows: int) -> set[int]:
    """What a measure can be of so many rows of one unit in one group, where nobody else is; extremes are enough."""
    match measure:
        case Offset(counted, CountUnits(), factor, offset):
            return {factor * value - offset * min(1, rows) for value in _made_of(counted, rows)}
        case Offset(counted, CountRows(None), factor, offset):
            return {factor * value - offset * rows for value in _made_of(counted, rows)}
        case CountRows(None):
            return {rows}
        case CountRows():
            return {0, rows}
        case CountUnits():
            return {min(1, rows)}
        case CountValues(_, domain):
            return set(range(min(1, rows), min(rows, len(domain)) + 1))
        case SumSteps():
            ends = {(end - measure.centre) ** measure.power for end in (measure.low, measure.high)}
            return {0, *(rows * end for end in ends)}


@functools.cache
def _reachable(measure: Drawn, caps: Caps, groups: int, highest: int = 3) -> frozenset[tuple[int, ...]]:
    vectors: set[tuple[int, ...]] = set()
    for rows in _rows(caps, groups, highest):
        vectors |= set(itertools.product(*(_made_of(measure, n) for n in rows)))
    return frozenset(vectors)


def _norms(vector: tuple[int, ...]) -> tuple[int, int, int, int]:
    return sum(map(bool, vector)), sum(map(abs, vector)), sum(n * n for n in vector), max(map(abs, vector))


def _most(measure: Drawn, caps: Caps, groups: int, neighbours: Neighbours) -> tuple[int, ...]:
    vectors = _reachable(measure, caps, groups)
    moves = vectors
    if neighbours is Neighbours.REPLACE_ONE:
        moves = {tuple(a - b for a, b in zip(u, v, strict=True)) for u in vectors for v in vectors}
    return tuple(max(column) for column in zip(*map(_norms, moves), strict=True))


def _rule(measure: Drawn, caps: Caps, groups: int, neighbours: Neighbours) -> tuple[int, ...]:
    stated = sensitivity(measure, caps, groups, neighbours)
    return stated.l0, stated.l1, stated.l2_squared, stated.linf


def _is_tight(measure: Integers, caps: Caps, groups: int) -> bool:
    alone = sensitivity(measure, caps, groups, Neighbours.ADD_REMOVE)
    low, high = 0, 1
    if isinstance(measure, SumSteps) and measure.power % 2:
        low, high = measure.low - measure.centre, measure.high - measure.centre
    return groups == 1 or low == -high or ((low >= 0 or high <= 0) and groups >= 2 * alone.l0)


MEASURES = [
    CountRows(),
    CountRows(X),
    CountUnits(),
    *(_values(size) for size in (1, 2, 3)),
    *(_sum(low, high) for low, high in SUMS),
    *(_sum(low, high, centre) for low, high, centre in ((0, 5, 2), (3, 8, 5), (-9, -4, -7), (0, 1, 0))),
    *(_sum(low, high, centre, 2) for low, high, centre in ((0, 5, 2), (-4, 4, 0), (3, 8, 5), (-9, -4, -7))),
    _sum(-2, 3, 0, 3),
]


@pytest.mark.pitfall("A10")
@pytest.mark.pitfall("A14")
@over("groups", [1, 2, 3])
@pytest.mark.parametrize("measure", MEASURES, ids=repr)
def test_adding_or_removing_a_unit_moves_a_table_by_exactly_what_the_rule_states(measure, groups):
    for caps in CAPS:
        assert _rule(measure, caps, groups, Neighbours.ADD_REMOVE) == _most(
            measure, caps, groups, Neighbours.ADD_REMOVE
        )


@pytest.mark.pitfall("A9")
@over("groups", [1, 2, 3])
@pytest.mark.parametrize("measure", MEASURES, ids=repr)
def test_replacing_a_unit_moves_a_table_by_at_most_what_the_rule_states(measure, groups):
    for caps in CAPS:
        stated = _rule(measure, caps, groups, Neighbours.REPLACE_ONE)
        found = _most(measure, caps, groups, Neighbours.REPLACE_ONE)
        assert all(rule >= move for rule, move in zip(stated, found, strict=True)), caps
        assert (stated[0], stated[3]) == (found[0], found[3]), caps
        if _is_tight(measure, caps, groups):
            assert stated == found, caps


@pytest.mark.pitfall("A9")
@pytest.mark.parametrize("measure", [CountRows(), CountUnits(), _values(2), _sum(0, 3), _sum(-1, 2)], ids=repr)
def test_two_units_that_do_not_touch_move_a_table_twice_as_far(measure):
    for caps in (Caps(2), Caps(None, 2, 1), Caps(2, 1, 2)):
        stated = _rule(measure, caps, 4, Neighbours.REPLACE_ONE)
        found = _most(measure, caps, 4, Neighbours.REPLACE_ONE)
        assert all(rule >= move for rule, move in zip(stated, found, strict=True))
        if _is_tight(measure, caps, 4):
            assert stated == found


@settings(deadline=None, max_examples=60)
@given(
    st.integers(-6, 6),
    st.integers(0, 6),
    st.integers(-3, 3),
    st.sampled_from(CAPS),
    st.integers(1, 3),
    st.sampled_from(Neighbours),
)
def test_no_bounds_and_no_centre_break_a_rule(low, width, shift, caps, groups, neighbours):
    measure = _sum(low, low + width, low + shift)
    stated, found = _rule(measure, caps, groups, neighbours), _most(measure, caps, groups, neighbours)
    assert all(rule >= move for rule, move in zip(stated, found, strict=True))


def test_a_replaced_unit_is_never_stated_to_do_less_than_an_added_one():
    for measure, caps, groups in itertools.product(MEASURES, CAPS, (1, 2, 5, 50)):
        added = _rule(measure, caps, groups, Neighbours.ADD_REMOVE)
        replaced = _rule(measure, caps, groups, Neighbours.REPLACE_ONE)
        assert all(more >= less for more, less in zip(replaced, added, strict=True))


def test_a_distinct_count_without_any_cap_is_bounded_by_its_domain():
    assert sensitivity(_values(3), Caps(), 2, Neighbours.ADD_REMOVE) == Sensitivity(2, 6, 18, 3)
    assert sensitivity(_values(8), Caps(max_rows=2), 5, Neighbours.ADD_REMOVE) == Sensitivity(2, 2, 4, 2)


def test_a_row_level_histogram_has_the_sensitivities_of_the_textbook():
    caps = Caps(1, 1, 1)
    assert sensitivity(CountRows(), caps, 10, Neighbours.ADD_REMOVE) == Sensitivity(1, 1, 1, 1)
    assert sensitivity(CountRows(), caps, 10, Neighbours.REPLACE_ONE) == Sensitivity(2, 2, 2, 1)


def test_a_sum_far_from_zero_is_moved_by_its_bound_and_a_centred_one_by_half_its_width():
    assert sensitivity(_sum(1000, 1010), Caps(1), 1, Neighbours.ADD_REMOVE).l1 == 1010
    assert sensitivity(_sum(1000, 1010, 1005), Caps(1), 1, Neighbours.ADD_REMOVE).l1 == 5
    assert sensitivity(_sum(1000, 1010, 1005), Caps(1), 1, Neighbours.REPLACE_ONE).l1 == 10


def _offsets(caps: Caps, groups: int) -> set[Offset]:
    """Every offset that is ever drawn: counts of rows and of values, and sums, on units and on rows."""
    measures = (CountUnits(), CountRows(), CountRows(X))
    found = {d for basis in bases(measures, caps, groups, Neighbours.ADD_REMOVE) for d in basis.drawn}
    other = Read("other", ColumnType.REAL)
    for (low, high), carrier in itertools.product(SUMS, (CountUnits(), CountRows())):
        total = SumSteps(other, Fraction(1), low, high)
        found |= {d for basis in bases((carrier, total), caps, groups, Neighbours.ADD_REMOVE) for d in basis.drawn}
    return {drawn for drawn in found if isinstance(drawn, Offset)}


@pytest.mark.guarantee("planner.sensitivity.sensitivity")
@pytest.mark.pitfall("A9")
@pytest.mark.pitfall("A10")
@pytest.mark.parametrize("neighbours", Neighbours)
@pytest.mark.parametrize("groups", [1, 2, 3])
def test_no_unit_moves_an_offset_by_more_than_the_rule_states(groups, neighbours):
    """Counts that are offset by units are moved by exactly that where a unit is added or removed, whatever the caps."""
    for caps in CAPS:
        for offset in _offsets(caps, groups):
            stated, found = _rule(offset, caps, groups, neighbours), _most(offset, caps, groups, neighbours)
            assert all(rule >= move for rule, move in zip(stated, found, strict=True)), (caps, offset)
            if neighbours is Neighbours.ADD_REMOVE and isinstance(offset.measure, CountRows):
                assert stated == found, (caps, offset)
            full = spread(caps, groups)
            if full.l1 == full.l0 * full.linf and isinstance(offset.carrier, CountUnits):
                assert stated == found, (caps, offset)


@settings(deadline=None, max_examples=60)
@given(
    st.sampled_from([CountRows(), CountRows(X), _sum(0, 3), _sum(-2, 1), _sum(2, 3), _sum(-5, -4)]),
    st.sampled_from([CountUnits(), CountRows()]),
    st.integers(1, 3),
    st.integers(-7, 7),
    st.sampled_from(CAPS),
    st.integers(1, 3),
    st.sampled_from(Neighbours),
)
def test_no_factor_and_no_offset_break_a_rule(measure, carrier, factor, offset, caps, groups, neighbours):
    if isinstance(measure, CountRows) and isinstance(carrier, CountRows):
        with pytest.raises(TypeError):
            sensitivity(Offset(measure, carrier, factor, offset), caps, groups, neighbours)
        return
    drawn = Offset(measure, carrier, factor, offset)
    stated, found = _rule(drawn, caps, groups, neighbours), _most(drawn, caps, groups, neighbours)
    assert all(rule >= move for rule, move in zip(stated, found, strict=True))


def test_the_offset_of_a_count_by_units_is_moved_by_less_than_half():
    caps = Caps(None, 5, 4)
    assert sensitivity(CountRows(), caps, 1000, Neighbours.ADD_REMOVE) == Sensitivity(5, 20, 80, 4)
    twice = Offset(CountRows(), CountUnits(), 2, 5)
    assert sensitivity(twice, caps, 1000, Neighbours.ADD_REMOVE) == Sensitivity(5, 15, 45, 3)
    assert sensitivity(twice, caps, 1000, Neighbours.REPLACE_ONE) == Sensitivity(10, 30, 180, 6)


@pytest.mark.parametrize("neighbours", Neighbours)
@pytest.mark.parametrize(("low", "high", "centre"), [(-10, 2, 0), (-2, 10, 0), (0, 9, 7), (0, 9, 2), (3, 5, 9)])
def test_a_sum_of_squares_is_moved_by_the_end_that_is_farther_from_the_centre(low, high, centre, neighbours):
    farthest = max(abs(low - centre), abs(high - centre)) ** 2
    assert sensitivity(_sum(low, high, centre, power=2), Caps(max_rows=1), 1, neighbours).linf == farthest
