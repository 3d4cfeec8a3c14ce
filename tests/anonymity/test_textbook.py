"""The textbook's path: Adult without names, singled out by birth date and ZIP code, then floored to tens.

The figures are those of Near and Abuah, Programming Differential Privacy, chapters 1 and 2, on UCI Adult.
"""

import datetime as dt
from fractions import Fraction
from pathlib import Path

import brute
import census
import pyarrow as pa
import pytest

import discreet as dp


@pytest.fixture(scope="module")
def people(adult: Path) -> pa.Table:
    return census.census(adult)


def measured(table: pa.Table, quasi: list[str]) -> dp.anonymity.AnonymityMeasures:
    """The measures of the library, which are those of the oracle."""
    found, told = dp.anonymity.measure(table, quasi), brute.measure(table.select(quasi).to_pylist(), quasi)
    assert (found.class_sizes, found.unique_people, found.marketer) == (
        told.class_sizes,
        told.unique_people,
        told.marketer,
    )
    return found


def test_birth_date_and_zip_code_single_out_more_than_99_percent(people: pa.Table):
    told = measured(people, ["birth_date", "zip"])
    assert told.people == 32_561
    assert told.uniqueness > Fraction(99, 100)


def test_the_histogram_of_birth_dates_says_how_many_people_share_each(people: pa.Table):
    told = measured(people, ["birth_date"])
    assert sum(size * classes for size, classes in told.class_sizes) == 32_561
    assert told.class_sizes[:3] == ((1, 5_883), (2, 4_390), (3, 2_666))
    assert told.class_sizes[-1] == (10, 1)


@pytest.mark.parametrize(
    ("rows", "top", "k"), [(500, 60, 7), (500, None, 1), (1_000, None, 1), (None, None, 21)], ids=str
)
def test_ages_and_education_floored_to_tens_have_the_k_of_the_textbook(
    people: pa.Table, rows: int | None, top: int | None, k: int
):
    table = census.tens(people, rows=rows, top=top)
    assert measured(table, table.column_names).k == k


def test_the_generated_columns_are_the_same_on_every_machine(people: pa.Table):
    assert people.select(["name", "birth_date", "zip", "Age"]).slice(0, 2).to_pylist() == [
        {"name": "Jamal Dubois 0", "birth_date": dt.date(1955, 5, 1), "zip": "29229", "Age": 39},
        {"name": "Boris Gupta 1", "birth_date": dt.date(1944, 9, 1), "zip": "33170", "Age": 50},
    ]
