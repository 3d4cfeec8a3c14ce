"""Neighbouring lists: one number apart, in any order, with what hurts a function of numbers."""

import itertools
import math
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest

from discreet.auditing.sensitivity.audit import audit_function
from discreet.auditing.sensitivity.lists import neighbouring_lists
from discreet.errors import ParameterError
from discreet.testing import generator


def counted(numbers: list[object]) -> Counter:
    return Counter(map(repr, numbers))


@pytest.mark.parametrize("ordered", [True, False])
def test_one_number_is_added_or_removed(ordered):
    for one, other in neighbouring_lists(count=200, ordered=ordered, generator=generator(1)):
        assert abs(len(one) - len(other)) == 1
        assert sum(((counted(one) - counted(other)) + (counted(other) - counted(one))).values()) == 1


def test_one_number_is_replaced():
    for one, other in neighbouring_lists(neighbours="replace_one", generator=generator(2)):
        assert len(one) == len(other)
        assert sum((counted(one) - counted(other)).values()) <= 1


def test_lists_have_the_lengths_that_were_asked_for():
    made = neighbouring_lists(neighbours="replace_one", lengths=(0, 1, 64), count=9, generator=generator(3))
    assert [len(one) for one, _ in made] == [0, 1, 64] * 3


def test_hostile_numbers_turn_up_unless_lists_stay_within_bounds():
    wild = [x for pair in neighbouring_lists(generator=generator(4)) for side in pair for x in side]
    assert any(math.isnan(x) for x in wild)
    assert {math.inf, -math.inf, 5e-324, 1.7976931348623157e308, 0.0, 1.0} <= set(wild)
    assert any(x == 0 and math.copysign(1, x) < 0 for x in wild)
    tame = [
        x
        for pair in neighbouring_lists((2**52, 2**52 + 1), within_bounds=True, generator=generator(5))
        for side in pair
        for x in side
    ]
    assert all(2**52 <= Fraction(x) <= 2**52 + 1 for x in tame)


def test_whole_numbers_are_python_integers_with_the_ends_of_every_width():
    made = neighbouring_lists((0, 10), whole_numbers=True, generator=generator(6))
    numbers = [x for pair in made for side in pair for x in side]
    assert {type(x) for x in numbers} == {int}
    assert {2**31 - 1, 2**31, 2**63 - 1, -(2**63), 0, 10, 11, -1} <= set(numbers)


def test_ordered_lists_keep_the_order_of_what_they_share():
    for one, other in neighbouring_lists(lengths=(8,), ordered=True, count=50, generator=generator(7)):
        longer, shorter = sorted((list(map(repr, one)), list(map(repr, other))), key=len, reverse=True)
        assert any(longer[:i] + longer[i + 1 :] == shorter for i in range(len(longer)))


def test_bounds_in_the_wrong_order_are_refused():
    with pytest.raises(ParameterError, match="wrong order"):
        list(neighbouring_lists((1, 0)))


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("neighbours", ["add_remove", "replace_one"])
def test_no_stretch_between_the_bounds_is_left_out(seed, neighbours):
    made = list(neighbouring_lists((0, 1), count=200, neighbours=neighbours, generator=generator(seed)))
    moved = [x for one, other in made[::3] for x in (counted(one) - counted(other)) + (counted(other) - counted(one))]
    inner = [0.0, *sorted(x for x in map(float, moved) if 0 < x < 1), 1.0]
    assert max(b - a for a, b in itertools.pairwise(inner)) <= 8 / 200


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(("width", "most"), [(np.int32, 2**24), (np.int16, 1_000), (np.uint32, 2**28)])
def test_a_sum_that_wraps_around_between_two_lengths_is_found(seed, width, most):
    def total(numbers):
        kept = [min(max(number, 0), most) for number in numbers]
        return int(np.array(sum(kept) % 2**64, np.uint64).astype(width))

    made = neighbouring_lists((0, most), whole_numbers=True, generator=generator(seed))
    assert audit_function(total, made, sensitivity=most).is_broken


@pytest.mark.parametrize("count", [np.int8, np.uint8])
def test_a_count_that_wraps_around_is_found(count):
    made = neighbouring_lists(generator=generator(8))
    assert audit_function(lambda numbers: int(np.int64(len(numbers)).astype(count)), made, sensitivity=1).is_broken


def test_bounds_without_a_number_between_them_still_make_lists():
    for words in ({}, {"whole_numbers": True}):
        assert len(list(neighbouring_lists((Fraction(1, 3), Fraction(1, 3)), generator=generator(9), **words))) == 200
