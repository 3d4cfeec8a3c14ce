"""What a DuckDB file may hold beside plain columns: collations, finer clocks, huge numbers, things that are computed.

Each of these once told of one person: a row counted under every spelling of a key, or one cell made a question fail.
"""

import datetime as dt
import itertools

import duckdb
import pytest

import discreet as dp
from discreet.errors import SourceError

T = dp.table("t")
BUDGET = dp.Budget(epsilon=10, delta=9e-7, reserved_delta=5e-7)
SPELLINGS = ["".join(letters) for letters in itertools.product(*((letter, letter.upper()) for letter in "aspirin"))]


def _file(path, columns, rows):
    with duckdb.connect(str(path)) as made:
        made.execute(f"CREATE TABLE t({columns})")
        made.executemany(f"INSERT INTO t VALUES ({', '.join('?' * len(rows[0]))})", rows)
    return path


def _session(path, kind=dp.protect, **words):
    given = {"privacy_unit": "id", "max_rows": 1, "budget": BUDGET, "ledger": ":memory:"} | words
    return kind(path, table="t", name="t", **given)


@pytest.mark.pitfall("A16")
@pytest.mark.guarantee("planner.sensitivity.sensitivity")
@pytest.mark.parametrize("collation", ["NOCASE", "NOACCENT", "NOCASE.NOACCENT"])
def test_text_with_a_collation_is_compared_by_what_it_holds(collation, tmp_path):
    """One person moves one of the 128 spellings of a key, and theirs is not shown for everybody's."""
    rows = [(i, "aspirin") for i in range(200)]
    worlds = ([(1000, "aSPIRIn"), *rows], rows)
    paths = [
        _file(tmp_path / f"{i}.duckdb", f"id INTEGER, g VARCHAR COLLATE {collation}", w) for i, w in enumerate(worlds)
    ]
    found = []
    for path in paths:
        with _session(path, dp.testing.protect) as session:
            found.append(session.release(T.group_by("g", keys={"g": SPELLINGS}).agg(n=dp.count()), epsilon=1)["n"])
            keys = T.group_by("g", keys=dp.discover(delta=1e-8), max_groups=1).agg(n=dp.count())
            assert session.release(keys, epsilon=1).keys[0].values == ("aspirin",)
    assert sum(abs(one - other) for one, other in zip(*found, strict=True)) == 1


@pytest.mark.pitfall("A6")
@pytest.mark.parametrize("kind", ["TIMESTAMP_NS", "TIMESTAMPTZ_NS", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMPTZ"])
@pytest.mark.parametrize("is_there", [True, False])
def test_a_clock_of_another_fineness_answers_whether_or_not_somebody_is_there(kind, is_there, tmp_path):
    rows = [(i, 77 if is_there and i == 0 else 30, "2020-01-01 00:00:00") for i in range(50)]
    path = _file(tmp_path / "t.duckdb", f"id INTEGER, age INTEGER, g {kind}", rows)
    day = dt.datetime(2020, 1, 1)  # noqa: DTZ001 - columns have no zone
    with _session(path) as session, _session(path, dp.testing.protect) as exact:
        old = T.where(T.age == 77)
        for query in (
            old.group_by("g", keys={"g": [day]}).agg(u=dp.count_units()),
            old.where(day <= T.g).agg(u=dp.count_units()),
            old.group_by("g", keys=dp.discover(delta=1e-7), max_groups=1).agg(u=dp.count_units()),
        ):
            session.release(query, epsilon=1)
        assert exact.release(T.where(day == T.g).agg(n=dp.count()), epsilon=1).value() == 50


@pytest.mark.pitfall("A6")
@pytest.mark.parametrize("types", [{}, {"g": "integer"}])
def test_numbers_of_any_length_are_read_or_missing(types, tmp_path):
    rows = [(0, "9" * 400), (1, "-" + "9" * 19), *((i, "5") for i in range(2, 40))]
    path = _file(tmp_path / "t.duckdb", "id INTEGER, g BIGNUM", rows)
    five = 5 if types else "5"
    with _session(path, dp.testing.protect, types=types) as session:
        assert session.release(T.where(T.g == five).agg(n=dp.count()), epsilon=1).value() == 38


@pytest.mark.pitfall("A6")
@pytest.mark.parametrize(
    "made",
    [
        "CREATE VIEW t AS SELECT id, CAST(txt AS INTEGER) AS x FROM kept",
        "CREATE TABLE t(id INTEGER, txt VARCHAR, x INTEGER GENERATED ALWAYS AS (CAST(txt AS INTEGER)))",
        "CREATE TABLE t(id INTEGER, txt VARCHAR); CREATE SCHEMA s; CREATE VIEW s.t AS SELECT 1 AS id",
    ],
)
def test_what_is_computed_as_it_is_read_is_refused(made, tmp_path):
    path = tmp_path / "t.duckdb"
    with duckdb.connect(str(path)) as file:
        file.execute("CREATE TABLE kept(id INTEGER, txt VARCHAR)")
        for statement in made.split(";"):
            file.execute(statement)
    name = "s.t" if "SCHEMA" in made else "t"
    with pytest.raises(SourceError, match="view or has a generated column"):
        dp.protect(path, table=name, name="t", privacy_unit="id", max_rows=1, budget=BUDGET, ledger=":memory:")
