"""Gathering: the vocabulary grows only from runs that serve for choosing."""

import numpy as np

from discreet.auditing.statistical.outcomes import Outcomes, Pair
from discreet.auditing.statistical.samples import Samples


def pair(*values):
    return Pair(Outcomes(list(values)), Outcomes(list(values)))


def add(gathered, block, *, may_learn):
    gathered.add(block, gathered.read(block), may_learn=may_learn)


def test_all_runs_are_remembered_in_order():
    gathered = Samples()
    for block in (pair(1.0, 2.0), pair(3.0)):
        add(gathered, block, may_learn=True)
    assert gathered.count == 3
    assert gathered.sides().one.numbers["value"].tolist() == [1, 2, 3]
    assert gathered.sides(2).other.numbers["value"].tolist() == [3]
    assert gathered.sides(-5).one.count == 3


def test_new_places_are_learned_while_they_may_be_and_earlier_runs_are_read_again():
    gathered = Samples()
    add(gathered, pair({"a": 1}), may_learn=True)
    assert gathered.vocabulary.places == ("value['a']",)
    add(gathered, pair(*[{"a": 1, "b": 2}] * 4), may_learn=True)
    assert set(gathered.vocabulary.places) == {"value['a']", "value['b']"}
    assert gathered.sides().one.numbers["present value['b']"].tolist() == [0, 1, 1, 1, 1]


def test_nothing_is_learned_from_runs_that_are_tested_on():
    gathered = Samples()
    add(gathered, pair({"a": 1}), may_learn=True)
    add(gathered, pair(*[{"b": 1}] * 9), may_learn=False)
    assert gathered.vocabulary.places == ("value['a']",)
    assert gathered.sides().one.numbers["elsewhere"].tolist() == [0] + [1] * 9


def test_arrays_stay_arrays():
    gathered = Samples()
    for _ in range(5):
        block = Pair(Outcomes(np.zeros((3, 2))), Outcomes(np.ones((3, 2))))
        add(gathered, block, may_learn=True)
    assert gathered.sides().other.numbers["sum"].tolist() == [2] * 15
