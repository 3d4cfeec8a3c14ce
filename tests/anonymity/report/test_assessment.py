"""From a source to findings: the same figures from files, databases and tables; wrong columns are refused."""

import sqlite3

import pyarrow as pa
import pytest
from pyarrow import csv, parquet

import discreet as dp
from discreet.anonymity.report.assessment import source_name
from discreet.errors import NameNotFoundError, ParameterError, SourceError

QUASI = ["zip_code", "birth_date", "sex"]


@pytest.fixture
def people():
    return dp.datasets.people(500)


def figures(source, **words):
    return dp.anonymity.risk_report(source, QUASI, person="person_id", **words).to_json()["figures"]["growth"]


def test_files_databases_and_tables_give_the_same_figures(people, tmp_path):
    csv.write_csv(people, tmp_path / "people.csv")
    parquet.write_table(people, tmp_path / "people.parquet")
    with sqlite3.connect(tmp_path / "people.sqlite") as database:
        database.execute("CREATE TABLE persons (person_id INTEGER, zip_code TEXT, birth_date TEXT, sex TEXT)")
        rows = people.select(["person_id", *QUASI]).to_pylist()
        values = [tuple(str(cell) if name == "birth_date" else cell for name, cell in row.items()) for row in rows]
        database.executemany("INSERT INTO persons VALUES (?, ?, ?, ?)", values)
    expected = figures(people)
    assert figures(str(tmp_path / "people.csv")) == expected
    assert figures(tmp_path / "people.parquet") == expected
    assert figures(str(tmp_path / "people.sqlite"), table="persons") == expected


def test_a_person_with_two_rows_of_the_same_class_counts_once(people):
    once, twice = figures(people), figures(pa.concat_tables([people, people]))
    assert once == twice


def test_people_with_missing_cells_can_be_left_out():
    table = pa.table({"zip_code": ["A", None, "A"], "birth_date": ["x", "x", "x"], "sex": ["f", "f", "f"]})
    report = dp.anonymity.risk_report(table, QUASI, nulls="exclude")
    assert (report.findings.counts.people, report.findings.excluded, report.findings.counts.k) == (2, 1, 2)
    assert "left out: 1 person" in report.text(120)


def test_an_empty_table_is_refused():
    table = pa.table({"zip_code": pa.array([], pa.string())})
    with pytest.raises(SourceError, match="the table without a row"):
        dp.anonymity.risk_report(table, ["zip_code"])


def test_a_misspelt_column_is_refused_with_the_nearest_name(people):
    with pytest.raises(NameNotFoundError, match="zip_code"):
        dp.anonymity.risk_report(people, ["zip_cod"])


@pytest.mark.parametrize(
    ("quasi", "words"),
    [
        ("zip_code", {}),
        ([], {}),
        (["sex", "sex"], {}),
        (["sex"], {"sensitive": ["sex"]}),
        (["person_id"], {"person": "person_id"}),
        (["sex"], {"sensitive": "income"}),
        (["sex"], {"nulls": "drop"}),
        (["sex"], {"k": 1}),
    ],
)
def test_wrong_columns_are_refused_before_data_is_read(people, quasi, words):
    with pytest.raises(ParameterError):
        dp.anonymity.risk_report(people, quasi, **words)


def test_the_name_of_a_source_never_has_an_address():
    assert source_name("/data/people.csv", None) == "people.csv"
    assert source_name("all.sqlite", "persons") == "persons in all.sqlite"
    assert source_name("postgresql://ada:secret@db/x", "persons") == "persons"
    assert source_name(object(), None) == "the table"


def test_the_report_has_the_hints_of_measure_on_persons():
    table = pa.table({"zip": ["1"] * 5, "patient_id": ["a", "a", None, None, "b"]})
    report = dp.anonymity.risk_report(table, ["zip"], person="patient_id")
    assert report.findings.unnamed_rows == 2
    assert "2 rows have no patient_id; each counts as a person." in str(report)
    report = dp.anonymity.risk_report(table, ["zip", "patient_id"])
    assert report.findings.unnamed_rows == 0
    assert "patient_id seems to name people: person='patient_id' counts them." in report.text(200)
