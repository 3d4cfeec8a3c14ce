"""Local objects keep their contract exactly, for all small datasets, and show nothing private."""

import math
import random
from fractions import Fraction

import numpy as np
import pytest
from small_worlds import check_contract, check_smoothness

from discreet.errors import FAILURE, Failure, ParameterError
from discreet.mechanisms.smooth import BoundedMean, SuppliedBounds
from discreet.mechanisms.smooth.smoothing import smooth_sensitivity

VALUES = range(4)
SECRET = 918_273_645


def mean_of(max_rows, relation, empty=None):
    def made(rows):
        return BoundedMean(
            total=sum(rows), count=len(rows), bounds=(0, 3), max_rows=max_rows, neighbours=relation, empty=empty
        )

    return made


@pytest.mark.guarantee("mechanisms.smooth.local")
@pytest.mark.parametrize("relation", ["add_remove", "replace_one"])
@pytest.mark.parametrize("max_rows", [1, 2])
@pytest.mark.parametrize("empty", [None, 0, 3])
def test_a_mean_keeps_the_contract_on_all_small_datasets(relation, max_rows, empty):
    check_contract(mean_of(max_rows, relation, empty), VALUES, 5, max_rows, relation)


@pytest.mark.guarantee("mechanisms.smooth.local")
@pytest.mark.parametrize("max_rows", [1, 2])
@pytest.mark.parametrize("relation", ["add_remove", "replace_one"])
def test_the_smooth_sensitivity_of_a_mean_is_smooth_and_covers_every_move(relation, max_rows):
    for beta in (Fraction(1, 100), Fraction(1, 2)):
        made = mean_of(max_rows, relation)
        assert check_smoothness(made, VALUES, 4 if max_rows == 1 else 3, max_rows, relation, beta) <= 1


@pytest.mark.parametrize("relation", ["add_remove", "replace_one"])
@pytest.mark.parametrize("max_rows", [1, 2, 3])
def test_some_mean_moves_by_exactly_the_bound(relation, max_rows):
    for count in range(1, 9):
        low, high = [0] * max(0, count - max_rows), [3] * min(max_rows, count)
        made = mean_of(max_rows, relation, empty=0)
        full = made(tuple(low + high))
        other = made(tuple(low)) if relation == "add_remove" else made(tuple(low + [0] * len(high)))
        assert full.value() - other.value() == full.at(0) == 3 * min(1, Fraction(max_rows, count))


def test_a_public_count_leaves_the_bound_where_it_is():
    fixed = BoundedMean(total=10, count=20, bounds=(0, 5), neighbours="replace_one", count_is_public=True)
    assert fixed.at(0) == fixed.at(7) == fixed.at(10**9) == Fraction(1, 4)
    assert smooth_sensitivity(fixed, Fraction(1, 10)) == pytest.approx(Fraction(1, 4), rel=1e-30)
    with pytest.raises(ParameterError, match="count_is_public"):
        BoundedMean(total=10, count=20, bounds=(0, 5), count_is_public=True)


def test_random_units_of_several_rows_keep_the_contract_of_a_mean():
    chooser = random.Random(20260)  # noqa: S311 - chooses cases, not noise
    for _ in range(300):
        max_rows, count = chooser.randint(1, 6), chooser.randint(0, 60)
        rows = [chooser.choice([0, 1, 99, 100]) for _ in range(count)]
        kept = rows[chooser.randint(0, min(max_rows, count)) :]
        other = kept + [chooser.choice([0, 100])] * chooser.randint(0, max_rows)

        def made(values, cap=max_rows):
            return BoundedMean(total=sum(values), count=len(values), bounds=(0, 100), max_rows=cap)

        here, there = made(rows), made(other)
        assert abs(here.value() - there.value()) <= min(here.at(0), there.at(0))
        assert all(here.at(k) <= there.at(k + 1) and there.at(k) <= here.at(k + 1) for k in range(70))


def test_a_mean_of_nothing_is_public_and_a_total_beyond_the_bounds_is_put_back():
    assert BoundedMean(total=0, count=0, bounds=(2, 5)).value() == Fraction(7, 2)
    assert BoundedMean(total=0, count=0, bounds=(2, 5), empty=3).value() == 3
    assert BoundedMean(total=1000, count=2, bounds=(2, 5)).value() == 5
    assert BoundedMean(total=np.int64(-7), count=np.int32(2), bounds=(2, 5)).value() == 2
    assert BoundedMean(total=3, count=-4, bounds=(2, 5)).at(0) == 3


def test_a_supplied_sequence_is_made_monotone_and_bounded():
    given = SuppliedBounds(value=5, at=lambda k: [3, 1, 8, 2, 99][k], largest=10, reach=5)
    assert [given.at(k) for k in range(7)] == [3, 3, 8, 8, 10, 10, 10]
    assert SuppliedBounds(value=5, at=lambda k: -k, largest=10).at(4) == 0
    assert given.value() == 5
    assert given.reach == 5


@pytest.mark.guarantee("mechanisms.smooth.local")
@pytest.mark.parametrize("max_rows", [1, 2])
def test_a_supplied_sequence_that_keeps_the_contract_still_does_when_cut_off(max_rows):
    inner = mean_of(max_rows, "add_remove")

    def made(rows):
        local = inner(rows)
        return SuppliedBounds(value=local.value(), at=local.at, largest=3, reach=2)

    check_contract(made, VALUES, 4, max_rows, "add_remove")
    assert check_smoothness(made, VALUES, 3, max_rows, "add_remove", Fraction(1, 5)) <= 1


@pytest.mark.pitfall("A6")
def test_what_a_supplied_function_says_when_it_fails_does_not_leave():
    def at(k):
        raise ValueError(SECRET)

    for function in (at, lambda k: k + 0.5, lambda k: [k]):
        with pytest.raises(Failure) as failure:
            SuppliedBounds(value=1, at=function, largest=10).at(0)
        assert str(failure.value) == FAILURE
        assert failure.value.__cause__ is None
        assert failure.value.__suppress_context__


@pytest.mark.pitfall("A6")
def test_nothing_private_is_shown():
    mean = BoundedMean(total=SECRET, count=SECRET, bounds=(0, 5))
    given = SuppliedBounds(value=SECRET, at=lambda k: k + SECRET, largest=5)
    assert str(SECRET) not in repr(mean) + str(mean) + repr(given) + str(given)
    for wrong in (float(SECRET), str(SECRET), SECRET + 0j, None, True):
        for made in (
            lambda w=wrong: BoundedMean(total=w, count=1, bounds=(0, 5)),
            lambda w=wrong: BoundedMean(total=1, count=w, bounds=(0, 5)),
            lambda w=wrong: SuppliedBounds(value=w, at=lambda k: k, largest=5),
        ):
            with pytest.raises(ParameterError) as refusal:
                made()
            assert str(SECRET) not in str(refusal.value)


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"bounds": (5, 0)}, "bounds"),
        ({"bounds": (5, 5)}, "bounds"),
        ({"bounds": (0, math.inf)}, "bounds"),
        ({"bounds": 5}, "bounds"),
        ({"max_rows": 0}, "max_rows"),
        ({"empty": 6}, "empty"),
        ({"neighbours": "both"}, "neighbours"),
    ],
)
def test_public_parameters_that_make_no_sense_are_refused_by_name(changed, words):
    with pytest.raises(ParameterError, match=words) as refusal:
        BoundedMean(**{"total": 1, "count": 1, "bounds": (0, 5)} | changed)
    assert words in refusal.value.instead
