"""What one unit can put into a grouped table, held against every vector of rows that its caps allow."""

import itertools

import pytest

from discreet.catalog.privacy_unit import ROW, Caps, unit_of
from discreet.errors import UnboundedError
from discreet.planner.sensitivity.contribution_bounds import (
    Spread,
    caps_to_enforce,
    effective,
    presence,
    require_row_bound,
    spread,
)

OPEN = (None, 1, 2, 3)
CAPS = [
    Caps(rows, groups, per_group)
    for rows, groups, per_group in itertools.product((None, 1, 2, 3, 4, 5), OPEN, OPEN)
    if rows is not None or per_group is not None
]
ID = unit_of("id")


def vectors(caps: Caps, groups: int) -> list[tuple[int, ...]]:
    """Every way in which one unit's rows can lie in the groups, by trying them all."""
    highest = min(cap for cap in (caps.max_rows, caps.max_rows_per_group) if cap is not None)
    return [
        rows
        for rows in itertools.product(range(highest + 1), repeat=groups)
        if (caps.max_rows is None or sum(rows) <= caps.max_rows)
        and (caps.max_groups is None or sum(map(bool, rows)) <= caps.max_groups)
    ]


def most(every: list[tuple[int, ...]], groups: int) -> Spread:
    return Spread(
        l0=max(sum(map(bool, rows)) for rows in every),
        l1=max(map(sum, every)),
        l2_squared=max(sum(n * n for n in rows) for rows in every),
        linf=max(map(max, every)),
        groups=groups,
    )


@pytest.mark.pitfall("A10")
@pytest.mark.pitfall("A14")
@pytest.mark.parametrize("groups", [1, 2, 3, 4])
def test_the_spread_of_a_unit_is_exactly_the_most_that_its_caps_allow(groups):
    for caps in CAPS:
        assert spread(caps, groups) == most(vectors(caps, groups), groups), caps


def test_rows_alone_bound_the_square_by_their_square_and_not_by_their_number():
    assert spread(Caps(max_rows=9), 100) == Spread(9, 9, 81, 9, 100)


def test_groups_and_rows_in_each_bound_the_square_by_their_product():
    assert spread(Caps(None, 4, 3), 100) == Spread(4, 12, 36, 3, 100)
    assert spread(Caps(7, 4, 3), 100) == Spread(4, 7, 3**2 + 3**2 + 1, 3, 100)


@pytest.mark.parametrize("groups", [1, 2, 3, 4])
def test_the_presence_of_a_unit_is_exactly_the_most_that_its_caps_allow(groups):
    for caps in CAPS:
        present = [tuple(map(bool, rows)) for rows in vectors(caps, groups)]
        assert presence(caps, groups) == most(present, groups), caps


def test_presence_is_bounded_by_the_public_groups_where_nothing_else_does():
    assert presence(Caps(), 5) == Spread(5, 5, 5, 1, 5)
    assert presence(Caps(max_groups=2), 5).l1 == 2


def test_rows_that_nothing_bounds_have_no_spread():
    with pytest.raises(ValueError, match="unbounded"):
        spread(Caps(max_groups=1), 3)


def test_the_caps_of_a_query_stand_before_those_of_the_owner():
    owner = Caps(10, 3, 5)
    assert effective(ID, owner, None, None) == owner
    assert effective(ID, owner, 2, None) == Caps(10, 2, 5)
    assert effective(ID, owner, 7, 9) == Caps(10, 7, 9)
    assert effective(ID, Caps(), 2, 1) == Caps(None, 2, 1)


def test_a_row_that_is_its_own_unit_needs_no_caps_and_gets_none():
    row = unit_of(ROW)
    assert effective(row, Caps(10, 3, 5), 2, 2) == Caps(1, 1, 1)
    assert caps_to_enforce(row, Caps(1, 1, 1), 5) == Caps()


@pytest.mark.parametrize("groups", [1, 2, 3])
def test_a_cap_is_left_out_only_where_the_others_imply_it(groups):
    """What engines enforce allows the same vectors as the caps that the noise is calibrated to."""
    for caps in CAPS:
        kept = caps_to_enforce(ID, caps, groups)
        assert set(vectors(kept, groups)) == set(vectors(caps, groups)), caps


def test_a_cap_that_others_imply_is_not_enforced_twice():
    assert caps_to_enforce(ID, Caps(2, 5, 7), 3) == Caps(2, None, None)
    assert caps_to_enforce(ID, Caps(9, 3, 9), 3) == Caps(9, None, None)
    assert caps_to_enforce(ID, Caps(9, 2, 4), 3) == Caps(9, 2, 4)


def test_rows_without_any_cap_are_refused_with_the_unit_and_the_caps_that_help():
    with pytest.raises(UnboundedError) as caught:
        require_row_bound("count 'n'", ID, Caps(max_groups=2))
    assert caught.value.what == "count 'n'"
    assert "one id" in caught.value.because
    assert "max_rows=10" in caught.value.instead
    for caps in (Caps(1), Caps(None, None, 1)):
        require_row_bound("count 'n'", ID, caps)


def in_parts(caps: Caps, groups: int, parts: int) -> list[tuple[int, ...]]:
    """Every way in which one unit's rows can lie in the parts of groups, with caps for whole groups."""
    highest = min(cap for cap in (caps.max_rows, caps.max_rows_per_group) if cap is not None)
    own = [each for each in itertools.product(range(highest + 1), repeat=parts) if sum(each) <= highest]
    return [
        sum(rows, ())
        for rows in itertools.product(own, repeat=groups)
        if (caps.max_rows is None or sum(map(sum, rows)) <= caps.max_rows)
        and (caps.max_groups is None or sum(map(any, rows)) <= caps.max_groups)
    ]


@pytest.mark.guarantee("planner.sensitivity.contribution_bounds")
@pytest.mark.pitfall("A10")
@pytest.mark.parametrize(("groups", "parts"), [(1, 2), (1, 3), (1, 4), (2, 2), (2, 3), (3, 2)])
def test_the_spread_over_parts_of_groups_is_exactly_the_most_that_the_caps_of_whole_groups_allow(groups, parts):
    for caps in CAPS:
        assert spread(caps, groups, parts) == most(in_parts(caps, groups, parts), groups * parts), caps
