"""Files of generalised tables: whole or absent, and in the history before they have their name."""

import hashlib
import os
import signal
import stat
import subprocess
import sys
import textwrap

import pyarrow as pa
import pytest
from pyarrow import csv, parquet

import discreet as dp

TENS = dp.anonymity.hierarchies.digits(1)
PEOPLE = pa.table({"age": [31, 38, None], "note": ["=1+1", "", None]})


@pytest.fixture
def result():
    return dp.anonymity.generalise(PEOPLE, {"age": (TENS, 1), "note": None})


@pytest.fixture
def ledger(tmp_path):
    with dp.SQLiteLedger(tmp_path / "ledger.sqlite") as opened:
        dp.protect(PEOPLE, name="people", privacy_unit=dp.ROW, budget=dp.Budget(epsilon=1), ledger=opened)
        yield opened


def test_csv_and_parquet_hold_the_table(result, tmp_path):
    digest = result.write(tmp_path / "a.csv")
    assert digest == hashlib.sha256((tmp_path / "a.csv").read_bytes()).hexdigest()
    # null is an empty cell and the empty text is quoted; a formula is text as it is
    assert (tmp_path / "a.csv").read_text() == '"age","note"\n"30",""\n"30","=1+1"\n,\n'
    result.write(str(tmp_path / "a.parquet"))
    assert parquet.read_table(tmp_path / "a.parquet").equals(result.table)
    assert csv.read_csv(tmp_path / "a.csv").num_rows == 3
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.csv", "a.parquet"]


def test_only_the_owner_may_read_the_file(result, tmp_path):
    result.write(tmp_path / "a.csv")
    assert stat.S_IMODE((tmp_path / "a.csv").stat().st_mode) == 0o600


def test_the_history_has_an_entry_without_figures(result, ledger, tmp_path):
    digest = result.write(tmp_path / "a.csv", ledger=ledger, dataset="people")
    (entry,) = ledger.other_releases("people")
    assert (entry.what, entry.kind, entry.sha256) == ("a.csv: age (level 1), note", "generalised", digest)


def test_the_path_of_a_ledger_stands_for_the_ledger(result, ledger, tmp_path):
    digest = result.write(tmp_path / "a.csv", ledger=str(tmp_path / "ledger.sqlite"), dataset="people")
    again = result.write(tmp_path / "b.csv", ledger=tmp_path / "ledger.sqlite", dataset="people")
    assert [entry.sha256 for entry in ledger.other_releases("people")] == [digest, again]


@pytest.mark.parametrize("wrong", ["none.sqlite", 5, ["ledger.sqlite"]], ids=str)
def test_what_is_no_ledger_is_refused_and_nothing_is_written(result, tmp_path, monkeypatch, wrong):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(dp.errors.ParameterError, match="ledger"):
        result.write("a.csv", ledger=wrong, dataset="people")
    assert not list(tmp_path.iterdir())


def test_a_dataset_that_the_ledger_does_not_have_leaves_no_file(result, ledger, tmp_path):
    with pytest.raises(dp.errors.NameNotFoundError):
        result.write(tmp_path / "a.csv", ledger=ledger, dataset="others")
    assert {path.suffix for path in tmp_path.iterdir()}.isdisjoint({".csv", ".new"})


def test_a_long_description_is_cut(ledger, tmp_path):
    names = {f"column {number} of many": 0 for number in range(60)}
    found = dp.anonymity.generalise(pa.table({name: [1] for name in names}), names)
    found.write(tmp_path / "a.csv", ledger=ledger, dataset="people")
    assert len(ledger.other_releases("people")[0].what) == 500


@pytest.mark.parametrize("name", ["a.xlsx", "a", "none/a.csv"])
def test_other_places_are_refused_before_anything_is_written(result, tmp_path, name):
    with pytest.raises(dp.errors.ParameterError):
        result.write(tmp_path / name)
    assert not list(tmp_path.iterdir())


def test_a_ledger_needs_the_name_of_a_dataset(result, ledger, tmp_path):
    with pytest.raises(dp.errors.ParameterError):
        result.write(tmp_path / "a.csv", ledger=ledger)
    with pytest.raises(dp.errors.ParameterError):
        result.write(tmp_path / "a.csv", dataset="people")


KILL = """
import os, signal, sys
from pathlib import Path
import pyarrow as pa
import discreet as dp
from discreet.anonymity.generalisation import file_writer
from discreet.home import durable_files

def die(*arguments, **options):
    os.kill(os.getpid(), signal.SIGKILL)

place, moment = Path(sys.argv[1]), sys.argv[2]
found = dp.anonymity.generalise(pa.table({"age": [31]}), {"age": 0})
with dp.SQLiteLedger(place / "ledger.sqlite") as ledger:
    if moment == "before the entry":
        file_writer._sha256 = die
    elif moment == "before the name":
        Path.replace = die
    else:
        durable_files.sync_directory = die
    found.write(place / "a.csv", ledger=ledger, dataset="people")
"""


@pytest.mark.parametrize(
    ("moment", "entries", "exists"),
    [("before the entry", 0, False), ("before the name", 1, False), ("after the name", 1, True)],
)
def test_a_kill_never_leaves_a_file_without_an_entry(ledger, tmp_path, moment, entries, exists):
    command = [sys.executable, "-c", textwrap.dedent(KILL), str(tmp_path), moment]
    ended = subprocess.run(command, check=False, capture_output=True, env=os.environ)
    assert ended.returncode == -signal.SIGKILL, ended.stderr
    assert len(ledger.other_releases("people")) == entries
    assert (tmp_path / "a.csv").exists() == exists
    if exists:
        digest = hashlib.sha256((tmp_path / "a.csv").read_bytes()).hexdigest()
        assert ledger.other_releases("people")[0].sha256 == digest


@pytest.mark.parametrize("ending", [".csv", ".parquet"])
def test_the_longest_name_that_the_file_system_takes_is_written(result, tmp_path, ending):
    longest = os.pathconf(tmp_path, "PC_NAME_MAX")
    path = tmp_path / ("x" * (longest - len(ending)) + ending)
    result.write(path)
    assert [each.name for each in tmp_path.iterdir()] == [path.name]


@pytest.mark.parametrize("name", ["x" * 300 + ".csv", "\u00e9" * 130 + ".csv", "a/" * 3_000 + "people.csv"])
def test_a_name_or_a_path_that_is_too_long_is_an_exact_error(result, ledger, tmp_path, name):
    with pytest.raises(dp.errors.ParameterError) as caught:
        result.write(tmp_path / name, ledger=ledger, dataset="people")
    assert caught.value.instead == "write('people.csv')"
    assert not ledger.other_releases("people")
