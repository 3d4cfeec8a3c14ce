"""No row, cell, exact value or row count leaves, by any way that is not a noisy answer.

A file is filled with canaries: distinctive text and numbers in every column, text in number columns, numbers in text
columns. A real process makes every public call on it, those included that are refused, those that fail after the
charge, and those whose data goes away. Everything that it prints, warns, logs at any level or raises is kept (with the
chain of causes, and with the local variables of every frame of every traceback), and so is every file that it leaves
outside the one private directory. None of it may hold a canary, an exact answer or a row count.

Answers are asked for with so little epsilon, and means between bounds so wide, that a noisy number is an exact one
with probability below 1e-5 in all. A longer number that begins with the digits of an exact one is not that number.
"""

import contextlib
import hashlib
import logging
import os
import re
import signal
import sqlite3
import subprocess
import sys
import time
import traceback
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

import discreet as dp

ROWS = 10_007
NUMBER = 73_939_133
DAY = "1911-11-11"
CANARY = "CANARY"
DIGEST = r"\b(?=\d*[a-f])[0-9a-f]{12,128}\b"
SIGNATURE = r"\b(?=[0-9+/]*[A-Za-z])[A-Za-z0-9+/]{80,}={0,2}"
TIME = r"\d{4}-\d\d-\d\dT[\d:.+]+"
MARKS = (CANARY, str(NUMBER), f"{NUMBER:,}", DAY, "yrana", "quetzal")

EVERY_CALL = """
import logging, pathlib, sys, traceback, warnings
import discreet as dp

logging.basicConfig(level=logging.DEBUG, stream=sys.stderr, format="%(name)s %(levelname)s %(message)s %(args)s")
logging.getLogger().setLevel(logging.DEBUG)
warnings.simplefilter("always")
source, out = (pathlib.Path(path) for path in sys.argv[1:3])
LEAST = 1e-8
BUDGET = dp.Budget(epsilon=1)
UNIT = dict(privacy_unit="id", max_rows=3, budget=BUDGET)

def tell(error):
    print("RAISED", str(error), repr(error), error.args, getattr(error, "__notes__", ""))
    whole = traceback.TracebackException.from_exception(error, capture_locals=True)
    print("".join(whole.format()))
    while error is not None:
        if not type(error).__module__.startswith("discreet"):
            print("FOREIGN EXCEPTION", type(error))
        error = error.__cause__ or error.__context__

def attempt(call):
    try:
        result = call()
        print(result, repr(result))
        for way in ("_repr_html_", "to_arrow", "to_pandas", "to_polars", "to_json"):
            if hasattr(result, way):
                print(getattr(result, way)())
        return result
    except Exception as error:
        tell(error)

def queries(t):
    number = dict(bounds=(0, 10**9))
    yield t.agg(n=dp.count())
    yield t.agg(n=dp.count(), u=dp.count_units(), s=dp.sum("age", **number), m=dp.mean("age", **number))
    yield t.group_by("ward", keys={"ward": ["A", "B", None]}).agg(n=dp.count(), m=dp.mean("cost", **number))
    yield t.group_by("ward", keys={"ward": ["A"]}, max_groups=1, max_rows_per_group=2).agg(n=dp.count())
    yield t.where(t.note.cast("integer") > 5).agg(n=dp.count())
    yield t.where(t.note.cast("date") > "1900-01-01").agg(n=dp.count(), v=dp.count_distinct("ward", domain=["A"]))
    yield t.where(1 / (t.age - 30) > 0).agg(s=dp.sum(t.age * t.age * 1e200, bounds=(0, 1)))
    yield t.derive(x=t.age / t.cost).agg(s=dp.sum("x", bounds=(-1, 1)))

def refused(t):
    yield t.where(t.agee > 1).agg(n=dp.count())
    yield t.agg(s=dp.sum("age"))
    yield t.agg(s=dp.sum("note", bounds=(0, 1)))
    yield t.group_by("ward").agg(n=dp.count())
    yield t.where(t.ward > 3).agg(n=dp.count())
    yield t.where(t.age == "A").agg(n=dp.count())

def everything(session, name):
    t = dp.table(name)
    for query in queries(t):
        attempt(lambda: session.explain(query, epsilon=LEAST))
        release = attempt(lambda: session.release(query, epsilon=LEAST))
        attempt(lambda: session.release(query, epsilon=LEAST))
        attempt(lambda: session.release(query, epsilon=LEAST, fresh=True, confidence=0.5))
        attempt(lambda: session.epsilon_for(query, margin=1000))
        if release is not None:
            release.save(out / f"{name}-{release.receipt['hash'][:8]}.json")
    for query in refused(t):
        for call in (session.release, session.explain):
            attempt(lambda: call(query, epsilon=LEAST))
    for epsilon in (float("nan"), 0, 5, "x"):
        attempt(lambda: session.release(t.agg(n=dp.count()), epsilon=epsilon, fresh=True))
    attempt(lambda: session.release(t.agg(n=dp.count()), epsilon=LEAST, mechanism="gaussian"))
    attempt(session.remaining)
    attempt(session.history)
    attempt(session.ledger.verify)
    attempt(session.ledger.datasets)
    attempt(session.catalog.to_yaml)
    attempt(lambda: session)

def failing(path, change, **words):
    session = attempt(lambda: dp.protect(path, name=path.stem + change.__name__, **(UNIT | words)))
    if session is None:
        return
    kept = path.read_bytes()
    change(path)
    everything(session, path.stem + change.__name__)
    path.write_bytes(kept)
    session.close()
    attempt(lambda: session.release(dp.table(path.stem + change.__name__).agg(n=dp.count()), epsilon=LEAST, fresh=True))

def gone(path): path.unlink()
def cut(path): path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
def garbage(path): path.write_bytes(b"CANARY,quetzal" * 10_000)
def nothing(path): pass

for suffix in (".csv", ".parquet"):
    path = source.with_suffix(suffix)
    with attempt(lambda: dp.protect(path, name="all" + suffix[1:], **UNIT)) as session:
        everything(session, "all" + suffix[1:])
    for change in (gone, cut, garbage):
        failing(path, change)
    failing(path, nothing, memory_limit="1MB")
declared = dict(types={name: "integer" for name in ("id", "age", "cost", "day", "ward", "note")})
with attempt(lambda: dp.protect(source.with_suffix(".csv"), name="declared", **(UNIT | declared))) as session:
    everything(session, "declared")
for bad in (dict(types={"agee": "text"}), dict(keys={"age": ["x"]}), dict(bounds={"age": (2, 1)}), dict(version=0),
            dict(memory_limit="x"), dict(delimiter=";"), dict(privacy_unit="cost"), dict(privacy_unit=None)):
    attempt(lambda: dp.protect(source.with_suffix(".csv"), name="bad", **(UNIT | bad)))
spoilt = source.with_suffix(".csv").rename(source.with_suffix(".duckdb"))
attempt(lambda: dp.protect(spoilt, table="t", name="spoilt", **UNIT))
spoilt.rename(source.with_suffix(".csv"))
print("DONE")
sys.stdout.flush()
path = source.with_suffix(".csv")
session = dp.protect(path, name="last", **UNIT)
path.unlink()
session.release(dp.table("last").agg(n=dp.count()), epsilon=LEAST)
"""


def corpus(rows=ROWS):
    """Canaries in every column; half of the cells of a column are of a kind that it should not have."""
    kinds = range(rows)
    return pa.table(
        {
            "id": [f"{CANARY}-yrana-{i // 2}" for i in kinds],
            "age": [str(NUMBER) if i % 2 else f"{CANARY} age {i}" for i in kinds],
            "cost": [f"{NUMBER}.25" if i % 3 else f"{CANARY} cost {i}" for i in kinds],
            "day": [DAY if i % 2 else f"{CANARY} day" for i in kinds],
            "ward": ["quetzal" if i % 5 else "A" for i in kinds],
            "note": [f"{NUMBER}" if i % 7 else f"{CANARY} HIV+ {i}" for i in kinds],
        }
    )


def written(directory, table):
    for kind, write in ((".csv", pyarrow.csv.write_csv), (".parquet", pq.write_table)):
        write(table, directory / f"people{kind}")
    return directory / "people"


def exact_numbers(path):
    """Exact answers, sizes and row counts, as they would be printed."""
    table = pq.read_table(path.with_suffix(".parquet"))
    types = {"age": "integer", "cost": "real", "day": "date", "note": "text", "id": "text", "ward": "text"}
    t = dp.table("exact")
    words = {"name": "exact", "privacy_unit": "id", "max_rows": 3, "types": types, "budget": dp.Budget(epsilon=1)}
    with dp.testing.protect(table, **words) as session:
        release = session.release(
            t.agg(
                n=dp.count(),
                u=dp.count_units(),
                s=dp.sum("age", bounds=(0, 10**9)),
                c=dp.sum("cost", bounds=(0, 10**9), grid=0.25),
            ),
            epsilon=0.5,
        )
        odd = session.release(t.where(t.note.cast("integer") > 5).agg(n=dp.count()), epsilon=1e-3)
        wards = session.release(t.group_by("ward", keys={"ward": ["A", "quetzal"]}).agg(n=dp.count()), epsilon=1e-3)
    found = {release[name][0] for name in ("n", "u", "s", "c")} | {odd.value(), *wards["n"], table.num_rows}
    return {text for number in found for text in (str(number), f"{number:,}") if number > 1_000}


def found_in(text, numbers):
    """Canaries and exact numbers in a text; digests, signatures and times aside, whose digits are nobody's."""
    plain = re.sub(rf"{DIGEST}|{SIGNATURE}|{TIME}", " ", text)
    marks = {mark for mark in MARKS if mark in text}
    return marks | {n for n in numbers if re.search(rf"(?<![\d.,]){re.escape(n)}(?!\d|,\d|\.\d*[1-9])", plain)}


def texts_below(*directories):
    """Every file below some directories but for the one private directory, as text."""
    for directory in directories:
        for path in directory.rglob("*"):
            if path.is_file() and "private" not in path.relative_to(directory).parts:
                yield path, path.read_bytes().decode("utf-8", errors="replace")


def cells_of(database):
    """Every cell of every table of a ledger, one a line: in the file itself digits of neighbours run together."""
    with contextlib.closing(sqlite3.connect(database)) as connection:
        names = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        cells = [cell for name in names for row in connection.execute(f"SELECT * FROM {name}") for cell in row]
    return "\n".join(cell.decode() if isinstance(cell, bytes) else str(cell) for cell in cells)


@pytest.fixture
def places(tmp_path):
    made = {name: tmp_path / name for name in ("data", "out", "temporary", "elsewhere")}
    for path in made.values():
        path.mkdir()
    return made


def run(code, places, home, *arguments):
    (places["data"] / "script.py").write_text(code)
    environment = os.environ | {
        "DISCREET_HOME": str(home),
        "HOME": str(places["elsewhere"]),
        "TMPDIR": str(places["temporary"]),
    }
    command = [sys.executable, places["data"] / "script.py", *map(str, arguments)]
    return subprocess.run(
        command, env=environment, cwd=places["elsewhere"], capture_output=True, text=True, timeout=300, check=False
    )


def test_no_canary_and_no_exact_number_is_printed_logged_raised_or_left_behind(places, discreet_home):
    path = written(places["data"], corpus())
    numbers = exact_numbers(path)
    assert len(numbers) >= 10
    done = run(EVERY_CALL, places, discreet_home, path, places["out"])
    assert "DONE" in done.stdout, done.stdout[-2000:] + done.stderr[-4000:]
    assert done.returncode == 1
    assert done.stderr.rstrip().endswith(f"discreet.errors.Failure: {dp.errors.FAILURE}")
    assert len(done.stderr.split("Traceback (most recent call last):")[-1].splitlines()) <= 8
    assert found_in(done.stdout, numbers) == set()
    assert found_in(done.stderr, numbers) == set()
    assert "FOREIGN EXCEPTION" not in done.stdout
    assert done.stdout.count(dp.errors.FAILURE) > 20
    left = list(texts_below(places["out"], places["temporary"], places["elsewhere"], discreet_home))
    assert len(left) > 10
    for file, text in left:
        assert found_in(text, set() if "sqlite" in file.name else numbers) == set(), file
    kept = cells_of(discreet_home / "ledger.sqlite")
    assert len(kept) > 10_000
    assert found_in(kept, numbers) == set()
    assert list(places["elsewhere"].rglob("*")) == []
    with dp.SQLiteLedger(discreet_home / "ledger.sqlite") as ledger:
        assert ledger.verify().ok


def test_the_search_finds_what_a_careless_library_would_have_told(tmp_path):
    """The controls: the file itself, and the message of a driver."""
    path = written(tmp_path, corpus(50))
    assert found_in(path.with_suffix(".csv").read_text(), set()) >= {CANARY, str(NUMBER), DAY}
    with pytest.raises(duckdb.Error) as careless:
        duckdb.sql(f"SELECT CAST(age AS INTEGER) FROM read_csv('{path}.csv', all_varchar = true)").fetchall()
    assert CANARY in found_in(str(careless.value), set())
    assert found_in("about 10,007 rows", {"10,007"}) == {"10,007"}
    assert found_in('{"n": 10007}', {"10007"}) == {"10007"}
    assert found_in("10,007, 10007.0 or 10007.", {"10,007", "10007"}) == {"10,007", "10007"}
    assert found_in("in 369917482399", {"369917482399"}) == {"369917482399"}
    assert found_in("10,007,312 or 10007.25", {"10,007", "10007"}) == set()


@pytest.mark.pitfall("A6")
def test_a_driver_that_quotes_a_cell_is_not_heard(monkeypatch, caplog, capfd, recwarn):
    """A real conversion error, as a careless cast would raise it after the charge."""
    words = {"name": "t", "privacy_unit": "id", "budget": dp.Budget(epsilon=1), "ledger": ":memory:"}
    with dp.protect(pa.table({"id": ["a"]}), **words) as session, caplog.at_level(logging.DEBUG):
        connection = next(iter(session._pipeline.engines.values()))._connection

        def careless(_):
            return connection.execute(f"SELECT CAST('{CANARY} HIV+ alice' AS INTEGER)").fetchall()

        monkeypatch.setattr(next(iter(session._pipeline.engines.values())), "run", careless)
        with pytest.raises(dp.Failure) as failed:
            session.release(dp.table("t").agg(u=dp.count_units()), epsilon=0.5)
        told = "".join(traceback.format_exception(failed.value)) + caplog.text + "".join(capfd.readouterr())
        told += "".join(str(entry) for entry in session.history()) + "".join(map(str, recwarn.list))
        assert found_in(told, set()) == set()
        assert [record.args for record in caplog.records if CANARY in str(record.args)] == []
        assert failed.value.__context__ is failed.value.__cause__ is None
        assert "class ConversionException" in caplog.text
        assert session.remaining().epsilon * 2 == 1


# The private directory

SLOW = """
import sys, discreet as dp
session = dp.protect(sys.argv[1], name="people", privacy_unit="id", max_rows=1, budget=dp.Budget(epsilon=1),
                     types=dict.fromkeys(("id", "age", "note"), "text"),
                     memory_limit=sys.argv[2], threads=2)
t = dp.table("people")
query = t.where(t.note != t.age).agg(n=dp.count(), u=dp.count_units())
print("open", flush=True)
print(session.release(query, epsilon=0.125, fresh=True).value())
"""

NEXT = """
import os, pathlib, sys, discreet as dp
session = dp.protect(sys.argv[1], name="people", privacy_unit="id", max_rows=1, budget=dp.Budget(epsilon=1),
                     types=dict.fromkeys(("id", "age", "note"), "text"))
rooms = [room for room in (pathlib.Path(os.environ["DISCREET_HOME"]) / "private").iterdir() if room.is_dir()]
print(len(rooms), session.remaining().epsilon, session.history()[-1].state)
"""


def rooms(home):
    return [room for room in (home / "private").iterdir() if room.is_dir()]


def spilt(home):
    """The files with rows in the private directory, while the engine has more rows than memory."""
    return [file for file in (home / "private").glob("*/duckdb_temp*") if "owner" not in file.name]


def until(condition, process, seconds=60):
    end = time.monotonic() + seconds
    while time.monotonic() < end and process.poll() is None:
        if condition():
            return True
        time.sleep(0.005)
    return False


def started(code, places, home, *arguments):
    (places["data"] / "slow.py").write_text(code)
    return subprocess.Popen(
        [sys.executable, places["data"] / "slow.py", *arguments],
        env=os.environ | {"DISCREET_HOME": str(home), "TMPDIR": str(places["temporary"])},
        stdout=subprocess.PIPE,
        text=True,
    )


def test_after_a_kill_in_the_middle_of_a_run_the_rows_are_gone_at_the_next_start(places, discreet_home):
    names = [hashlib.sha512(b"%d" % i).hexdigest() for i in range(300_000)]
    path = places["data"] / "people.parquet"
    columns = {"id": [name[:20] for name in names], "age": [name[20:50] for name in names], "note": names}
    pq.write_table(pa.table(columns), path)
    spilling, charges = False, 0
    for limit in ("100MB", "130MB", "160MB", "80MB", "200MB", "250MB"):
        charges += 1
        with started(SLOW, places, discreet_home, path, limit) as process:
            spilling = until(lambda: spilt(discreet_home), process)
            process.send_signal(signal.SIGKILL)
        if spilling:
            break
    assert spilling, "no run spilt rows before it ended: the test needs other limits of memory"
    (room,) = rooms(discreet_home)
    assert room.stat().st_mode & 0o777 == 0o700
    assert room.parent.stat().st_mode & 0o777 == 0o700
    done = run(NEXT, places, discreet_home, path)
    assert done.stdout.split() == ["1", f"{1 - charges / 8:g}", "RESERVED"], done.stderr
    assert rooms(discreet_home) == []
    assert spilt(discreet_home) == []
    assert list(places["temporary"].rglob("*")) == []


def test_two_sessions_alive_at_once_leave_each_others_rooms_alone(discreet_home):
    words = {"privacy_unit": "id", "max_rows": 1, "budget": dp.Budget(epsilon=1)}
    table = pa.table({"id": ["a"]})
    with dp.protect(table, name="one", **words) as one:
        with dp.protect(table, name="two", **words):
            assert len(rooms(discreet_home)) == 2
        assert len(rooms(discreet_home)) == 1
        assert one.release(dp.table("one").agg(n=dp.count()), epsilon=1).private
    assert rooms(discreet_home) == []


def test_the_home_of_ledger_and_rows_is_open_to_nobody_else(discreet_home):
    with dp.protect(pa.table({"id": ["a"]}), name="one", privacy_unit="id", budget=dp.Budget(epsilon=1)):
        for path in (discreet_home, *rooms(discreet_home), discreet_home / "private"):
            assert path.stat().st_mode & 0o077 == 0
        assert (discreet_home / "ledger.sqlite").stat().st_mode & 0o077 == 0
    Path(discreet_home).chmod(0o755)
    with pytest.raises(dp.Refusal, match="chmod 700"):
        dp.protect(pa.table({"id": ["a"]}), name="two", privacy_unit="id", budget=dp.Budget(epsilon=1))
    Path(discreet_home).chmod(0o700)
