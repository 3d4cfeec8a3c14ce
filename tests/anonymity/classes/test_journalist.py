"""Journalist risk against a population table."""

from fractions import Fraction

import pyarrow as pa
import pytest

import discreet as dp
from discreet.anonymity.classes.journalist import JournalistRisk
from discreet.errors import TypeMismatchError


def _risk(sample: pa.Table, population: pa.Table, person: str | None = None) -> JournalistRisk:
    found = dp.anonymity.measure(sample, ["zip", "sex"], population=population, person=person).journalist
    assert found is not None
    return found


POPULATION = pa.table(
    {"zip": ["1"] * 5 + ["2"] * 2 + ["9"], "sex": ["f"] * 5 + ["m"] * 2 + ["f"], "who": [1, 2, 3, 4, 4, 5, 6, 7]}
)


def test_the_population_decides_the_size_of_a_class() -> None:
    found = _risk(pa.table({"zip": ["1", "2", "2"], "sex": ["f", "m", "m"]}), POPULATION)
    assert (found.k_map, found.highest, found.average) == (2, Fraction(1, 2), Fraction(2, 5))
    assert (found.absent_classes, found.absent_people, found.population) == (0, 0, 8)


def test_a_class_that_the_population_lacks_is_reported() -> None:
    sample = pa.table({"zip": ["1", "3", "2"], "sex": ["f", "m", None]})
    found = _risk(sample, POPULATION)
    assert (found.k_map, found.absent_classes, found.absent_people) == (5, 2, 2)
    assert "2 classes of 2 people are not in the population" in str(found)


def test_persons_of_the_population_are_counted_once() -> None:
    sample = pa.table({"zip": ["1", "1"], "sex": ["f", "f"], "who": [1, 1]})
    assert _risk(sample, POPULATION, "who").k_map == 4


def test_a_population_without_any_class_of_the_sample_has_no_k_map() -> None:
    found = _risk(pa.table({"zip": ["7"], "sex": ["f"]}), POPULATION)
    assert (found.k_map, found.highest, found.average, found.absent_people) == (None, 0, 0, 1)


def test_columns_of_different_types_are_refused() -> None:
    with pytest.raises(TypeMismatchError):
        _risk(pa.table({"zip": [1], "sex": ["f"]}), POPULATION.set_column(0, "zip", [["x"] * 8]))


def test_spellings_of_one_number_in_the_population_are_added() -> None:
    population = pa.table({"x": ["1.5", "1.50", "1.50", "1.500"], "who": [1, 1, 2, 3]})
    found = dp.anonymity.measure(pa.table({"x": [1.5, 1.5]}), ["x"], population=population).journalist
    assert found is not None
    assert found.k_map == 4
    sample = pa.table({"x": [1.5, 1.5], "who": [1, 2]})
    with pytest.raises(TypeMismatchError):  # one person has two spellings: the counts of people cannot be added
        dp.anonymity.measure(sample, ["x"], population=population, person="who")
