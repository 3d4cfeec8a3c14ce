"""All measures of small tables, by hand, on every engine."""

import json
import sqlite3
from contextlib import closing
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

import discreet as dp
from discreet.anonymity.classes.risk import AnonymityMeasures
from discreet.errors import NameNotFoundError, ParameterError
from servers import PostgresServer

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PATIENTS = pa.table(
    {
        "zip": ["130**"] * 4 + ["1485*"] * 4 + ["130**"] * 4,
        "age": ["<30"] * 4 + [">=40"] * 4 + ["3*"] * 4,
        "condition": [
            *("heart disease", "heart disease", "viral infection", "viral infection"),
            *("cancer", "heart disease", "viral infection", "viral infection"),
            *(["cancer"] * 4),
        ],
        "patient": list(range(12)),
    }
)
"""The 4-anonymous inpatients of Machanavajjhala et al. (2007), figure 2."""


def _measure(source: object, table: str | None = None, person: str | None = None) -> AnonymityMeasures:
    return dp.anonymity.measure(source, ["zip", "age"], sensitive=["condition"], person=person, table=table)


def _check(found: AnonymityMeasures) -> None:
    assert (found.people, found.rows, found.classes, found.k, found.unique_people) == (12, 12, 3, 4, 0)
    assert found.class_sizes == ((4, 3),)
    assert found.prosecutor.highest == found.prosecutor.average == found.marketer == Fraction(1, 4)
    assert found.diversity["condition"].distinct == 1
    assert found.diversity["condition"].entropy == 1
    assert found.closeness["condition"] == 1 - Fraction(5, 12)


def test_the_inpatients_are_4_anonymous_and_a_class_of_them_is_homogeneous() -> None:
    _check(_measure(PATIENTS))
    _check(_measure(PATIENTS, person="patient"))


def test_the_inpatients_have_the_same_measures_in_sqlite(tmp_path: Path) -> None:
    path = tmp_path / "patients.sqlite"
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("CREATE TABLE patients (zip TEXT, age TEXT, condition TEXT, patient INTEGER)")
        rows = [tuple(row.values()) for row in PATIENTS.to_pylist()]
        connection.executemany("INSERT INTO patients VALUES (?, ?, ?, ?)", rows)
    _check(_measure(path, "patients"))


def test_the_inpatients_have_the_same_measures_in_postgres(postgres: PostgresServer) -> None:
    postgres.load("anonymity_patients", PATIENTS)
    _check(_measure(postgres.engine_url, "anonymity_patients", "patient"))


def test_the_inpatients_have_the_same_measures_in_spark(spark: "SparkSession") -> None:
    _check(_measure(spark.createDataFrame(PATIENTS)))


def test_a_person_with_several_rows_has_the_largest_of_their_risks() -> None:
    table = pa.table({"zip": ["1", "2", "2", "2"], "who": ["a", "a", "b", "c"]})
    found = dp.anonymity.measure(table, ["zip"], person="who", threshold=0.5)
    assert (found.people, found.pairs, found.k, found.unique_people) == (3, 4, 1, 1)
    assert found.prosecutor.average == (1 + Fraction(2, 3)) / 3
    assert found.marketer == Fraction(2, 4)
    assert (found.prosecutor.people_above, found.prosecutor.share_above) == (1, Fraction(1, 3))


def test_rows_of_one_person_are_not_a_crowd() -> None:
    table = pa.table({"zip": ["1", "1", "1"], "who": ["a", "a", "a"]})
    assert dp.anonymity.measure(table, ["zip"], person="who").k == 1


def test_a_missing_cell_follows_the_policy() -> None:
    table = pa.table({"zip": ["1", "1", None]})
    found = {policy: dp.anonymity.measure(table, ["zip"], nulls=policy) for policy in ("value", "wildcard", "exclude")}
    assert [each.k for each in found.values()] == [1, 3, 2]
    assert [each.excluded for each in found.values()] == [0, 0, 1]
    assert "1 rows left out" in str(found["exclude"])


def test_a_threshold_counts_people_above_it_and_not_at_it() -> None:
    table = pa.table({"zip": ["1", "1", "2"]})
    assert dp.anonymity.measure(table, ["zip"], threshold=Fraction(1, 2)).prosecutor.people_above == 1
    assert dp.anonymity.measure(table, ["zip"], threshold=Fraction(1, 10**9)).prosecutor.people_above == 3


def test_a_table_without_rows_has_nobody() -> None:
    found = dp.anonymity.measure(
        pa.table({"zip": pa.array([], pa.string()), "s": pa.array([], pa.string())}), ["zip"], sensitive=["s"]
    )
    assert (found.people, found.k, found.classes, found.class_sizes) == (0, 0, 0, ())


def test_results_are_stamped_for_owners_and_have_json() -> None:
    found = _measure(PATIENTS)
    assert "owners" in str(found)
    figures = json.loads(json.dumps(found.to_json()))["figures"]
    assert figures["k"] == 4
    assert figures["diversity"]["condition"]["distinct"] == 1


def test_arguments_that_do_not_fit_are_refused() -> None:
    with pytest.raises(ParameterError):
        dp.anonymity.measure(PATIENTS, "zip")  # type: ignore[arg-type]
    with pytest.raises(ParameterError):
        dp.anonymity.measure(PATIENTS, ["zip", "zip"])
    with pytest.raises(ParameterError):
        dp.anonymity.measure(PATIENTS, ["zip"], nulls="drop")
    with pytest.raises(ParameterError):
        dp.anonymity.measure(PATIENTS, ["zip"], ordered=["condition"])
    with pytest.raises(ParameterError):
        dp.anonymity.measure(PATIENTS, ["zip"], nulls="wildcard", population=PATIENTS)
    with pytest.raises(NameNotFoundError):
        dp.anonymity.measure(PATIENTS, ["zap"])


def test_a_quasi_identifier_may_have_the_name_of_the_count() -> None:
    table = pa.table({"discreet_count": [1, 2], "zip": [1, 1]})
    assert dp.anonymity.measure(table, ["zip", "discreet_count"]).k == 1
    assert dp.anonymity.measure(table, ["zip", "discreet_count"], person="discreet_count").k == 1


@pytest.mark.parametrize("c", [0, -1])
def test_a_c_that_is_not_above_zero_is_refused(c: int) -> None:
    with pytest.raises(ParameterError):
        dp.anonymity.measure(pa.table({"age": [1], "disease": ["flu"]}), ["age"], sensitive=["disease"], c=c)


def test_names_of_columns_cannot_move_the_cursor_of_a_terminal() -> None:
    table = pa.table({"\x1b[31mred": [1, 2], "s\x1b]0;t\x07\n": ["a", "b"]})
    text = str(dp.anonymity.measure(table, ["\x1b[31mred"], sensitive=["s\x1b]0;t\x07\n"]))
    assert all(line.isprintable() for line in text.splitlines())
    assert r"\x1b[31mred" in text


def test_rows_without_a_person_are_counted_in_a_line() -> None:
    table = pa.table({"zip": ["1"] * 5, "patient_id": ["a", "a", None, None, "b"]})
    found = dp.anonymity.measure(table, ["zip"], person="patient_id")
    assert (found.unnamed_rows, found.people) == (2, 4)
    assert "2 rows have no patient_id; each counts as a person" in str(found)
    assert "each counts as a person" not in str(dp.anonymity.measure(table, ["zip"]))


def test_a_lone_name_is_advised_in_a_list() -> None:
    with pytest.raises(ParameterError) as caught:
        dp.anonymity.measure(PATIENTS, ["zip"], sensitive="condition")
    assert caught.value.instead == "sensitive=['condition']"


@pytest.mark.parametrize("threshold", [5, 0, -1])
def test_a_threshold_that_is_no_risk_is_refused(threshold: int) -> None:
    with pytest.raises(ParameterError, match='threshold="1/5"'):
        dp.anonymity.measure(PATIENTS, ["zip"], threshold=threshold)


def test_a_quasi_identifier_with_the_name_of_an_id_is_advised_as_the_person() -> None:
    table = pa.table({"zip": ["1", "1"], "patient_id": ["a", "b"]})
    advice = "patient_id seems to name people: person='patient_id' counts them"
    assert advice in str(dp.anonymity.measure(table, ["patient_id", "zip"]))
    assert advice not in str(dp.anonymity.measure(table, ["zip"], person="patient_id"))
