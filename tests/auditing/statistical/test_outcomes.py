"""Runs: everything that a mechanism does is an outcome, and the two datasets take turns."""

import time

import numpy as np
import pytest

from discreet.auditing.statistical.outcomes import IteratorItems, Outcomes, RaisedError, Runs
from discreet.errors import ParameterError
from loops import loops


def test_values_come_in_order_beside_their_times():
    pair = Runs(lambda data: data * 2, 1, "x").run(3)
    assert pair.one.values == [2, 2, 2]
    assert pair.other.values == ["xx", "xx", "xx"]
    assert len(pair.one) == len(pair.other) == 3
    assert (pair.one.seconds > 0).all()


def test_every_exception_is_an_outcome():
    def fails(data):
        raise {"a": ValueError, "b": ZeroDivisionError}[data]("of " + data)

    pair = Runs(fails, "a", "b").run(1)
    assert pair.one.values == [RaisedError("ValueError", "of a")]
    assert pair.other.values == [RaisedError("ZeroDivisionError", "of b")]


def test_an_exception_that_cannot_be_printed_is_an_outcome_too():
    class Unprintable(Exception):  # noqa: N818
        def __str__(self):
            raise RuntimeError

    def fails(data):
        raise Unprintable

    assert Runs(fails, 0, 1).run(1).one.values == [RaisedError("Unprintable", "")]


def test_an_iterator_is_gone_through_once_and_to_an_end():
    def endless():
        while True:
            yield 1

    def fails(data):
        yield data
        raise ValueError("late")

    assert Runs(lambda data: map(abs, data), [-1], [2]).run(1).one.values == [IteratorItems("map", [1])]
    assert len(Runs(lambda _: endless(), 0, 1).run(1).one.values[0].items) == 10_001
    assert Runs(fails, 0, 1).run(1).other.values == [IteratorItems("generator", [1, RaisedError("ValueError", "late")])]
    assert Runs(lambda data, n: [iter([data])] * n, 0, 1, many=True).run(1).other.values[0].items == [1]


def test_an_interrupt_is_no_outcome():
    def interrupted(data):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Runs(interrupted, 0, 1).run(1)


def test_the_datasets_take_turns_and_neither_always_goes_first():
    seen = []
    Runs(seen.append, 1, 2).run(4)
    assert seen == [1, 2, 2, 1, 1, 2, 2, 1]


def test_times_are_those_of_each_run():
    pair = Runs(time.sleep, 0.02, 0).run(2)
    assert (pair.one.seconds >= 0.02).all()


def test_many_outcomes_may_come_at_once_and_the_batches_take_turns():
    seen = []

    def batch(data, count):
        seen.append((data, count))
        return np.full(count, data)

    runs = Runs(batch, 1, 2, many=True)
    first, second = runs.run(3), runs.run(2)
    assert seen == [(1, 3), (2, 3), (2, 2), (1, 2)]
    assert first.one.values.tolist() == [1, 1, 1]
    assert second.other.values.tolist() == [2, 2]
    assert first.one.seconds is None


@pytest.mark.parametrize("kind", [list, tuple, iter])
def test_many_outcomes_may_come_as_anything_that_can_be_gone_through(kind):
    assert Runs(lambda data, count: kind([data] * count), "a", None, many=True).run(2).other.values == [None, None]


@pytest.mark.parametrize("returned", [[1], None, 7, np.zeros(9)], ids=repr)
def test_a_batch_of_another_size_is_refused(returned):
    with pytest.raises(ParameterError, match="did not return 3 of them"):
        Runs(lambda *_: returned, 0, 1, many=True).run(3)


def test_an_exception_for_a_whole_batch_is_refused_because_it_is_one_outcome_and_not_many():
    with pytest.raises(ParameterError, match="raised ZeroDivisionError") as refused:
        Runs(lambda data, _: [1 / data], 0, 1, many=True).run(3)
    assert "many=False" in refused.value.instead


@pytest.mark.timing
def test_running_costs_little_more_than_the_calls():
    """100,000 calls of an empty function: the bound is ten times what they take, 1.1 loops."""
    assert loops(lambda: Runs(lambda data: data, 0, 1).run(50_000)) < 11


def test_outcomes_have_a_length():
    assert len(Outcomes(np.zeros((5, 2)))) == 5
