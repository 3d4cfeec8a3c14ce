"""`discreet risk`: text, page, pictures and JSON of one file, and plain errors."""

import json
import sqlite3
from contextlib import closing

import pytest
from pyarrow import csv
from typer.testing import CliRunner

import discreet as dp
from discreet.anonymity.owners import STAMP
from discreet.cli import app


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("COLUMNS", raising=False)  # other tests of a worker may have set it
    csv.write_csv(dp.datasets.people(800), "people.csv")
    return tmp_path


def run(*words):
    return CliRunner().invoke(app, ["risk", *words])


WORDS = ("people.csv", "--quasi", "zip_code, birth_date,sex", "--person", "person_id")


def test_the_text_has_the_four_parts_and_the_stamp(place):
    result = run(*WORDS, "--sensitive", "marital_status")
    assert result.exit_code == 0, result.output
    for line in (
        "1. What an attacker",
        "2. What generalisation",
        "3. What a differentially private",
        "4. What k-anonymity",
    ):
        assert line in result.stdout
    assert STAMP in result.stdout
    assert "marital_status is learned for" in result.stdout


def test_json_is_one_document_and_agrees_with_the_library(place):
    result = run(*WORDS, "--json")
    data = json.loads(result.stdout)
    report = dp.anonymity.risk_report("people.csv", ["zip_code", "birth_date", "sex"], person="person_id")
    assert data == report.to_json()


def test_a_page_and_pictures_are_written_on_request(place):
    pytest.importorskip("matplotlib")
    result = run(*WORDS, "--html", "risk.html", "--plots", "pictures", "--k", "3")
    assert result.exit_code == 0, result.output
    assert "saved risk.html" in result.stderr
    assert (place / "risk.html").exists()
    assert (place / "pictures" / "risk-class-sizes.svg").exists()


def test_a_wrong_column_is_refused_with_a_suggestion(place):
    result = run("people.csv", "--quasi", "zipcode,sex")
    assert result.exit_code == 1
    assert "zip_code" in str(result.exception)
    data = json.loads(run("people.csv", "--quasi", "zipcode,sex", "--json").stdout)
    assert data["error"]["instead"] == "zip_code"


def test_a_refused_page_leaves_standard_output_to_the_error(place):
    result = run(*WORDS, "--html", "risk.pdf", "--json")
    assert result.exit_code == 1
    assert json.loads(result.stdout)["error"]["type"] == "ParameterError"


def test_a_file_that_is_not_there_ends_with_one(place):
    assert run("nothing.csv", "--quasi", "sex").exit_code == 1


def test_a_row_that_cannot_be_read_is_refused_with_its_line(place):
    (place / "rg.csv").write_text("zip,sex,age\n" + "10115,M,3\n10117,F,4\n" * 45 + "77777,M\n")
    result = run("rg.csv", "--quasi", "zip,sex")
    assert result.exit_code == 1
    assert "1 row of 'rg.csv' that cannot be read, the first in line 92" in str(result.exception or result.output)


def test_a_table_without_rows_is_refused(place):
    (place / "empty.csv").write_text("zip,sex\n")
    result = run("empty.csv", "--quasi", "zip,sex")
    assert result.exit_code == 1
    assert "empty.csv without a row" in str(result.exception or result.output)


def test_a_file_with_semicolons_is_measured(place):
    (place / "semi.csv").write_text("zip;sex\n" + "1;f\n2;m\n" * 3)
    assert run("semi.csv", "--quasi", "zip,sex").exit_code == 0


@pytest.mark.parametrize(
    ("words", "advice"),
    [
        (("--quasi", "zip"), "--table visits or --table wards"),
        (("--quasi", "zip", "--table", "visit"), "--table visits"),
        (("--quasi", "zip", "--table", "visits", "--nulls", "x"), "--nulls value"),
        (("--quasi", "zip,zip", "--table", "visits"), "--quasi zip"),
    ],
)
def test_advice_has_the_words_of_the_command_line(place, words, advice):
    with closing(sqlite3.connect("a.sqlite")) as connection:
        connection.execute("CREATE TABLE visits (zip TEXT)")
        connection.execute("CREATE TABLE wards (zip TEXT)")
    result = run("a.sqlite", *words)
    assert result.exit_code == 1
    assert advice in str(result.exception) + result.output


def test_the_width_of_a_pipe_is_that_of_the_variable_columns(place, monkeypatch):
    report = dp.anonymity.risk_report("people.csv", ["zip_code", "birth_date", "sex"], person="person_id")
    for columns, width in (("70", 70), ("200", 200), ("wide", 120)):
        monkeypatch.setenv("COLUMNS", columns)
        assert run(*WORDS).stdout == f"{report.text(width)}\n"
