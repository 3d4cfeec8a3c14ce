"""The release that a report proposes: its code runs as it is, and its error comes from the planner without a charge."""

import contextlib
import io
import sqlite3

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import csv

import discreet as dp
from discreet.anonymity.report.findings import sections
from discreet.anonymity.report.release_plan import MAX_ROWS, dataset_name, release_plan

COLUMNS = ["marital_status", "sex", "zip_code"]


@pytest.fixture
def people():
    return dp.datasets.people(3_000)


def run(code, tmp_path, monkeypatch, **variables):
    monkeypatch.setenv("DISCREET_HOME", str(tmp_path / "home"))
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(code, "<report>", "exec"), variables)
    return printed.getvalue()


def test_the_code_for_a_file_runs_as_it_is(tmp_path, monkeypatch):
    csv.write_csv(dp.datasets.people(20_000), tmp_path / "people.csv")
    plan = release_plan(str(tmp_path / "people.csv"), COLUMNS, person="person_id", table=None)
    printed = run(plan.code, tmp_path, monkeypatch)
    assert "marital_status" in printed
    assert f"± {plan.margin}" in printed
    assert "spent    epsilon 0.5" in printed


def test_the_code_for_a_table_in_memory_runs_with_its_variable(people, tmp_path, monkeypatch):
    plan = release_plan(people, COLUMNS, person=None, table=None)
    assert "privacy_unit=dp.ROW" in plan.code
    assert "±" in run(plan.code, tmp_path, monkeypatch, people=people)


def test_the_code_for_a_table_of_a_database_runs(people, tmp_path, monkeypatch):
    with sqlite3.connect(tmp_path / "all.sqlite") as database:
        database.execute("CREATE TABLE persons (id INTEGER, sex TEXT)")
        pairs = zip(people["person_id"].to_pylist(), people["sex"].to_pylist(), strict=True)
        database.executemany("INSERT INTO persons VALUES (?, ?)", pairs)
    plan = release_plan(str(tmp_path / "all.sqlite"), ["sex"], person="id", table="persons")
    assert "±" in run(plan.code, tmp_path, monkeypatch)


def test_the_margin_is_the_planners_and_nothing_is_charged(people, tmp_path, monkeypatch):
    monkeypatch.setenv("DISCREET_HOME", str(tmp_path / "home"))
    plan = release_plan(people, COLUMNS, person="person_id", table=None)
    assert float(plan.margin) > 0
    assert "not known" in plan.keys
    assert not (tmp_path / "home" / "ledger.sqlite").exists()


def test_bounds_and_column_are_the_same_for_all_rows(people):
    statuses = [f"status {number}" for number in range(people.num_rows)]
    others = (people, pa.concat_tables([people, people.slice(0, 1)]), people.slice(0, 1), people.slice(0, 0))
    others += (people.set_column(people.column_names.index("marital_status"), "marital_status", pa.array(statuses)),)
    plans = {release_plan(each, COLUMNS, person="person_id", table=None) for each in others}
    (plan,) = plans
    assert plan.by == "marital_status"
    assert "    # your decision: further rows of a person are dropped" in plan.code
    assert f"\n    max_rows={MAX_ROWS},\n" in plan.code


def test_the_code_never_states_that_types_were_declared(people):
    frame = pd.read_csv(io.StringIO("id,zip\n1,01234\n2,\n3,99999\n"))
    for source in (frame, people, people.to_pandas()):
        plan = release_plan(source, list(source)[1:2] if source is frame else COLUMNS, person=None, table=None)
        assert "fixed_schema" not in plan.code
    assert release_plan(frame, ["zip"], person="id", table=None).by is None


def test_a_table_that_cannot_be_protected_as_it_is_is_refused_with_advice(tmp_path, monkeypatch):
    days = pa.table({"born": pa.array([0, 1], pa.date32()), "sex": ["a", "b"]})
    plan = release_plan(days, ["sex"], person="born", table=None)
    assert plan.margin is None
    assert "date" in plan.reason
    with pytest.raises(dp.errors.SourceError, match=r"visits\.csv"):
        run(plan.code, tmp_path, monkeypatch, people=days)


def test_dates_make_no_table(people):
    plan = release_plan(people, ["birth_date"], person=None, table=None)
    assert plan.by is None
    assert "group_by" not in plan.code
    assert plan.margin is not None


def test_the_address_of_a_database_is_never_in_the_code(people):
    plan = release_plan("postgresql://ada:secret@127.0.0.1:1/x", COLUMNS, person=None, table="t")
    assert "secret" not in str(plan)
    assert "os.environ" in plan.code
    assert plan.reason


def test_names_of_columns_are_quoted_as_python():
    table = pa.table({'a"b\n': ["x", "y"] * 50, "n": np.ones(100, dtype=int)})
    plan = release_plan(table, ['a"b\n'], person=None, table=None)
    compile(plan.code, "<report>", "exec")


@pytest.mark.parametrize(("source", "name"), [("a b.csv", "a_b"), ("2024.parquet", "t_2024"), (None, "people")])
def test_the_name_of_the_dataset_has_letters_digits_and_underscores(source, name):
    assert dataset_name(source, None) == name


@pytest.mark.parametrize(
    ("number", "suitable"), [(2, "nothing"), (20, "nothing"), (200, "total"), (3_000, "total"), (20_000, "table")]
)
def test_what_the_report_shows_returns_something(number, suitable, tmp_path, monkeypatch):
    csv.write_csv(dp.datasets.people(number), tmp_path / "people.csv")
    report = dp.anonymity.risk_report(
        str(tmp_path / "people.csv"), ["sex"], sensitive=["marital_status"], person="person_id"
    )
    found, section = report.findings, sections(report.findings)[2]
    assert found.suitable == suitable
    assert ("too small" in " ".join(section.sentences)) == (suitable != "table")
    if suitable == "nothing":
        assert not section.code
        assert "dp.protect" not in report.text()
        return
    printed = run(section.code, tmp_path, monkeypatch)
    if suitable == "total":
        assert f"± {found.plan.total_margin}" in printed
        assert 4 * float(found.plan.total_margin) <= number
    else:
        # half of the people are married: four times as many as a value needs, so that losing it has no chance
        assert f"± {found.plan.margin}" in printed
        assert "married" in printed


def test_the_least_number_of_people_is_that_of_the_planner(people):
    plan = release_plan(people, COLUMNS, person="person_id", table=None)
    assert f"one of {plan.least:,} in 95%" in plan.keys
    assert plan.least > 1_000
    assert "group_by" not in plan.total_code
