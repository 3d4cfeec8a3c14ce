"""A person is in one part, whoever else is there; what a model and its score cost is what accountants compose."""

from fractions import Fraction

import numpy as np
import pytest

from discreet import events
from discreet.accounting.prices import total
from discreet.learning.evaluation.holdout import (
    KeyedSplit,
    fit_and_score_rhos,
    fold_numbers,
    folds_event,
    is_below,
    number_people,
    parallel_event,
)
from discreet.learning.tables import counted_rows

GENERATOR = np.random.default_rng(89)
SMALL = events.DiscreteGaussianEvent(Fraction(100), Fraction(1))
LARGE = events.compose([SMALL] * 3)


def parts_of(codes, target, counts, groups):
    return number_people(counted_rows(codes, target, counts, groups), groups, KeyedSplit())


def people(number=3000, most=4):
    return np.repeat([f"person {each}" for each in range(number)], GENERATOR.integers(1, most, number))


@pytest.mark.guarantee("learning.evaluation.holdout")
def test_a_person_is_always_on_the_same_side_whoever_else_is_there():
    split, groups = KeyedSplit(), people()
    numbers = split.numbers(groups, len(groups))
    sides = dict(zip(groups.tolist(), numbers.tolist(), strict=True))
    assert [sides[name] for name in groups] == numbers.tolist()
    order = GENERATOR.permutation(len(groups))[:500]
    assert split.numbers(groups[order], 500).tolist() == numbers[order].tolist()


@pytest.mark.guarantee("learning.evaluation.holdout")
def test_parts_are_disjoint_and_hold_whole_people():
    groups = people(400)
    codes, target = np.zeros((len(groups), 2), dtype=np.uint16), np.arange(len(groups))
    rows = parts_of(codes, target, np.ones(len(groups), dtype=np.bool_), groups)
    fold = fold_numbers(rows.numbers, 5)
    names = [{groups[each] for block in rows.part(fold == part) for each in block.target} for part in range(5)]
    assert sum(map(len, names)) == len(set.union(*names)) == 400
    out = is_below(rows.numbers, Fraction(1, 5))
    assert sum(len(block) for side in (out, ~out) for block in rows.part(side)) == len(groups)


def test_rows_that_do_not_count_or_have_no_person_are_in_no_part():
    groups = np.array(["a", None, "b", "b"], dtype=object)
    counts = np.array([True, True, False, True])
    rows = parts_of(np.zeros((4, 1), dtype=np.uint16), np.arange(4), counts, groups).rows
    assert rows.target.tolist() == [0, 3]
    alone = parts_of(np.zeros((4, 1), dtype=np.uint16), np.arange(4), counts, None).rows
    assert alone.target.tolist() == [0, 1, 3]
    assert alone.person is None


def test_another_key_gives_other_parts_and_a_key_is_not_shown():
    one, other = KeyedSplit(), KeyedSplit()
    assert one.numbers(None, 50).tolist() != other.numbers(None, 50).tolist()
    assert one.numbers(None, 50).tolist() == one.numbers(None, 60)[:50].tolist()
    assert "key" not in repr(one)


@pytest.mark.parametrize("groups", [None, "named"])
def test_shares_are_those_asked_for(groups):
    # 20,000 people: beyond 6 standard deviations with a probability below 1e-8
    names = None if groups is None else np.arange(20_000)
    numbers = KeyedSplit().numbers(names, 20_000)
    assert abs(is_below(numbers, Fraction(1, 5)).mean() - 0.2) < 0.017
    assert is_below(numbers, Fraction(1)).all()
    assert np.abs(np.bincount(fold_numbers(numbers, 4), minlength=4) / 20_000 - 0.25).max() < 0.019


@pytest.mark.guarantee("learning.evaluation.holdout")
def test_a_model_and_its_score_cost_the_larger_for_added_people_and_the_sum_for_replaced_ones():
    assert total(parallel_event(SMALL, LARGE, replace_one=False)).rho == total(LARGE).rho
    assert total(parallel_event(LARGE, SMALL, replace_one=False)).rho == total(LARGE).rho
    assert total(parallel_event(SMALL, LARGE, replace_one=True)).rho == total(SMALL).rho + total(LARGE).rho


def test_a_score_has_all_of_the_cost_or_a_quarter_where_costs_add_up():
    assert fit_and_score_rhos(Fraction(1, 50), replace_one=False) == (Fraction(1, 50), Fraction(1, 50))
    assert fit_and_score_rhos(Fraction(1, 50), replace_one=True) == (Fraction(3, 200), Fraction(1, 200))


def test_events_that_one_number_cannot_compare_are_composed():
    pure = events.PureEvent(1)
    assert parallel_event(pure, SMALL, replace_one=False) == events.compose([pure, SMALL])


@pytest.mark.guarantee("learning.evaluation.holdout")
def test_cross_validation_costs_all_fits_but_one_and_a_score():
    assert total(folds_event(LARGE, SMALL, 5, replace_one=False)).rho == 4 * total(LARGE).rho + total(SMALL).rho
    assert total(folds_event(LARGE, SMALL, 5, replace_one=True)).rho == 5 * (total(LARGE).rho + total(SMALL).rho)
