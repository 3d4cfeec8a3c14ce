"""`discreet synth`: a synthetic table is charged once, written as rows, and saved; a saved one gives rows for free."""

import json
import logging
import os
import sys

import pexpect
import pyarrow.parquet as pq
import pytest
from pyarrow import csv

import discreet as dp
from discreet.cli.synth import SYNTHESIZERS
from discreet.errors import NameNotFoundError, Refusal
from discreet.plan import synthesis as plan

CANARY = "canary-7f3a91"
CATALOG = """
tables:
  people:
    source: people.csv
    privacy_unit: id
    max_rows: 1
    budget: {epsilon: 4, delta: 0.000000001}
    columns:
      id: {type: text}
      age: {type: integer, bounds: [0, 90]}
      sex: {type: text, keys: [F, M]}
      city: {type: text}
"""
SMALL = ("people", "--epsilon", "1", "--columns", "age,sex")


@pytest.fixture
def people(discreet, visits_directory):
    """The command in a directory with a table of people, in which one row holds what the catalog does not declare."""
    rows = "".join(f"p{i},{i % 90},{'FM'[i % 2]},city {i % 7}\n" for i in range(300))
    canary = f"{CANARY},77777777,{CANARY},{CANARY}\n"
    (visits_directory / "people.csv").write_text(f"id,age,sex,city\n{rows}{canary}")
    (visits_directory / "catalog.yaml").write_text(CATALOG)
    return visits_directory


def left(discreet):
    return json.loads(discreet("check", "--json").stdout)["people"]["epsilon"]


def test_a_table_is_charged_once_and_written_and_saved(discreet, people):
    words = ("synth", *SMALL, "--out", "rows.parquet", "--save", "people.json")
    first = discreet(*words)
    assert first.exit_code == 0, first.output
    assert "epsilon 1, delta 9e-10, for one id" in first.stdout
    assert "measured marginals" in first.stdout
    number = pq.read_table(people / "rows.parquet").num_rows
    assert f"saved rows.parquet: {number:,} rows" in first.stderr
    assert "saved people.json" in first.stderr
    spent = left(discreet)
    assert spent < 4
    again = discreet(*words)
    assert again.exit_code == 0
    assert left(discreet) == spent
    assert "the stored answer is free" in again.stdout


def test_explain_is_free_and_reads_nothing(discreet, people):
    (people / "people.csv").write_text("id,age,sex,city\n")
    found = discreet("synth", *SMALL, "--explain")
    assert found.exit_code == 0
    assert "costs          epsilon 1 at delta 9e-10" in found.stdout
    assert json.loads(discreet("synth", *SMALL, "--explain", "--json").stdout)["fits"] is True
    assert left(discreet) == 4


def test_a_saved_table_gives_rows_without_catalog_ledger_or_source(discreet, people):
    discreet("synth", *SMALL, "--save", "people.json")
    for name in ("catalog.yaml", "people.csv"):
        (people / name).unlink()
    (people / "home").rename(people / "gone")
    found = discreet("synth", "--from", "people.json", "--rows", "40", "--out", "rows.csv")
    assert found.exit_code == 0, found.output
    assert csv.read_csv(people / "rows.csv").num_rows == 40
    assert "saved rows.csv: 40 rows" in found.stderr
    assert not (people / "home").exists()
    beside = dp.SyntheticTable.load(people / "rows.csv.json")
    assert beside == dp.SyntheticTable.load(people / "people.json")
    assert "rows.csv.json" in found.stderr
    assert "synthetic table (graphical)" in discreet("release", "show", "rows.csv").stdout


def test_the_answer_for_programs_has_figures_and_files_without_the_model(discreet, people):
    found = json.loads(discreet("synth", *SMALL, "--out", "rows.csv", "--rows", "9", "--json").stdout)
    assert found["rows"] == 9
    assert found["columns"] == ["age", "sex"]
    assert found["files"] == ["rows.csv", "rows.csv.json"]
    assert found["guarantee"].startswith("epsilon 1, delta 9e-10")
    assert found["quality"]["rows"] == 9
    assert "state" not in found


@pytest.mark.parametrize(
    "words",
    [
        ("synth", *SMALL, "--out", "rows.xlsx"),
        ("synth", *SMALL, "--out", "nowhere/rows.csv"),
        ("synth", *SMALL, "--save", "people.parquet"),
        ("synth", *SMALL, "--save", "nowhere/people.json"),
        ("synth", "people", "--epsilon", "1", "--out", "rows.csv"),
        ("synth", "people", "--epsilon", "9", "--columns", "age,sex", "--out", "rows.csv"),
        ("synth", "--from", "nothing.json", "--out", "rows.csv"),
        ("synth", "--from", "catalog.yaml", "--out", "rows.csv"),
    ],
)
def test_what_cannot_be_done_is_refused_before_a_charge(discreet, people, words):
    found = discreet(*words)
    assert found.exit_code == 1
    assert isinstance(found.exception, Refusal)
    assert left(discreet) == 4
    assert not [*people.glob("rows.*")]


@pytest.mark.parametrize(
    "words",
    [
        ("synth",),
        ("synth", *SMALL),
        ("synth", "people", "--columns", "age,sex", "--out", "rows.csv"),
        ("synth", "people", "--epsilon", "much", "--out", "rows.csv"),
        ("synth", *SMALL, "--synthesizer", "mst", "--out", "rows.csv"),
        ("synth", *SMALL, "--rows", "-1", "--out", "rows.csv"),
        ("synth", "people", "--from", "people.json", "--out", "rows.csv"),
        ("synth", "--from", "people.json", "--epsilon", "1", "--out", "rows.csv"),
        ("synth", "people", "--epsilon", "1", "--columns", "age,,sex", "--out", "rows.csv"),
    ],
)
def test_a_wrong_call_ends_with_2(discreet, people, words):
    assert discreet(*words).exit_code == 2
    assert left(discreet) == 4


def test_a_slip_in_a_name_is_refused_with_the_name(discreet, people):
    found = discreet("synth", "peple", "--epsilon", "1", "--out", "rows.csv").exception
    assert isinstance(found, NameNotFoundError)
    assert "people" in found.instead


@pytest.mark.parametrize("part", ["model", "measurements"])
def test_a_damaged_file_is_refused(discreet, people, part):
    discreet("synth", *SMALL, "--synthesizer", "tree", "--save", "people.json")
    data = json.loads((people / "people.json").read_text())
    data["state"][part] = {"kind": "tree"}
    (people / "people.json").write_text(json.dumps(data))
    found = discreet("synth", "--from", "people.json", "--out", "rows.csv").exception
    assert isinstance(found, Refusal)
    assert "damaged" in found.because


def test_the_workload_reaches_the_query(discreet, people):
    text = discreet("synth", *SMALL, "--workload", "age, sex", "--workload", "sex", "--explain").stdout
    assert "one of 1 marginals" in text


def test_the_synthesizers_are_those_of_the_package_but_the_one_with_rules_for_persons():
    names = {tag: name for tag, (_, name) in plan._SYNTHESIZERS.items()}
    assert names == SYNTHESIZERS | {"two_level": "TwoLevelSynthesizer"}


@pytest.mark.parametrize("synthesizer", SYNTHESIZERS)
def test_no_cell_that_is_not_declared_is_in_any_file_or_output(discreet, people, synthesizer, caplog):
    words = ("--synthesizer", synthesizer, "--out", "rows.parquet", "--save", "people.json")
    with caplog.at_level(logging.DEBUG):
        found = discreet("synth", *SMALL, *words)
        discreet("synth", "--from", "people.json", "--out", "rows.csv")
        refused = discreet("synth", "people", "--epsilon", "1", "--out", "rows.csv")
    assert found.exit_code == 0, found.output
    said = [found.output, caplog.text, refused.output, str(refused.exception)]
    files = [path.read_bytes() for path in people.rglob("*") if path.is_file() and path.name != "people.csv"]
    assert len(files) > 5
    for canary in (CANARY, "77777777"):
        assert not [text for text in said if canary in text]
        assert not [text for text in files if canary.encode() in text]


@pytest.mark.full
def test_a_terminal_shows_the_table_within_its_width(discreet, people):
    words = ["-m", "discreet", "synth", *SMALL, "--out", "rows.csv"]
    environment = os.environ | {"TERM": "xterm", "COLUMNS": "80"}
    place = str(people)
    child = pexpect.spawn(
        sys.executable, words, cwd=place, env=environment, encoding="utf-8", timeout=120, dimensions=(40, 80)
    )
    child.expect("saved rows.csv: [0-9]+ rows")
    assert max(map(len, child.before.splitlines()[1:])) <= 80
    child.expect(pexpect.EOF)


DATED = CATALOG.replace("city: {type: text}", "city: {type: text}\n      day: {type: date}")


@pytest.fixture
def dated(people):
    """The same with a column of dates, which a catalog declares no bounds of."""
    rows = "".join(f"p{i},{i % 90},{'FM'[i % 2]},city {i % 7},2020-0{1 + i % 9}-01\n" for i in range(300))
    (people / "people.csv").write_text(f"id,age,sex,city,day\n{rows}")
    (people / "catalog.yaml").write_text(DATED)
    return people


def test_bounds_of_dates_are_an_option_which_the_refusal_advises(discreet, dated):
    words = ("synth", "people", "--epsilon", "1", "--columns", "age,day")
    refused = discreet(*words, "--out", "rows.csv").exception
    assert isinstance(refused, Refusal)
    assert "'day'" in refused.what
    assert "--bounds day=2024-01-01,2024-12-31" in refused.instead
    assert "--columns age" in refused.instead
    assert "dt.date" not in refused.instead
    assert "session" not in refused.instead
    found = discreet(*words, "--bounds", "day=2020-01-01,2020-12-31", "--out", "rows.csv")
    assert found.exit_code == 0, found.output
    days = [day for day in csv.read_csv(dated / "rows.csv")["day"].to_pylist() if day is not None]
    assert {day.year for day in days} == {2020}


def test_slots_that_were_found_are_an_option(discreet, dated):
    column = {"name": "city", "type": "text", "edges": [], "values": ["city 1", "city 2"]}
    header = {"dataset": "people", "version": 1, "guarantee": "epsilon 1", "receipt": {}}
    dp.FoundSlots(columns=(column,), **header).save(dated / "found.json")
    words = ("synth", "people", "--epsilon", "1", "--columns", "age,city", "--out", "rows.csv")
    assert "--slots found.json" in discreet(*words).exception.instead
    found = discreet(*words, "--slots", "found.json")
    assert found.exit_code == 0, found.output
    assert set(csv.read_csv(dated / "rows.csv")["city"].to_pylist()) <= {"city 1", "city 2", ""}
    assert "found.save" in discreet(*words, "--slots", "nothing.json").exception.instead


def test_refusals_advise_no_python(discreet, dated):
    base = ("synth", "people", "--out", "rows.csv")
    for words in (
        ("--epsilon", "1"),
        ("--epsilon", "9", "--columns", "age"),
        ("--epsilon", "1", "--columns", "id"),
        ("--epsilon", "1", "--columns", "age,ages"),
        ("--epsilon", "1", "--columns", "age", "--bounds", "sex=0,1"),
        ("--epsilon", "1", "--columns", "age,sex", "--workload", "age,city"),
        ("--epsilon", "1", "--columns", "age,sex", "--workload", "sxe"),
        ("--epsilon", "1", "--columns", "age,age"),
    ):
        refused = discreet(*base, *words).exception
        assert isinstance(refused, Refusal), words
        assert not [word for word in ("dp.", "session.", "={", "=[") if word in refused.instead], str(refused)


def test_no_rows_have_no_quality_and_few_rows_have_the_error_of_drawing(discreet, people):
    assert discreet("synth", *SMALL, "--save", "people.json").exit_code == 0
    words = ("synth", "--from", "people.json", "--out", "rows.csv", "--rows")
    assert "quality of" not in discreet(*words, "0").stdout
    assert json.loads(discreet(*words, "0", "--json").stdout)["quality"] is None
    assert "error of drawing" in discreet(*words, "20").stdout
