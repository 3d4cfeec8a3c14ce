"""Hostile data (PITFALLS, part D) against a whole session: cells, rows, names and files that nobody expects.

Whatever comes in, a call ends in an answer, in a refusal that nothing was charged for, or in the one sentence after
the charge. Data never decides between the first two.
"""

import math
import threading

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from hostile import COUNT, ROWS, T, exact, opened, outcome, spent

import discreet as dp
from discreet.accounting.costs import EPSILON_UNITS
from discreet.errors import CatalogError, NameNotFoundError, SourceError


def csv(path, data, **words):
    """Count of rows, count of units and sum of ages of a CSV whose cells are given as bytes."""
    path.write_bytes(b"id,age,note\n" + data)
    query = T.agg(n=dp.count(), u=dp.count_units(), s=dp.sum("age", bounds=(0, 100)))
    return exact(path, query, types={"id": "text", "age": "integer", "note": "text"}, **words)


@pytest.mark.parametrize(
    ("data", "answers"),
    [
        (b"", ((0,), (0,), (0,))),
        (b"a,1,x\n", ((1,), (1,), (1,))),
        (b"a,1,x\nb,2,new category\n", ((2,), (2,), (3,))),
        (b",1,x\n,2,y\nb,3,z\n", ((1,), (1,), (3,))),
        (b"a,one,x\nb,2,y\n", ((2,), (2,), (2,))),
        (b"a,1,x\nb\x00b,2,y\nc,3,\x00\n", ((3,), (3,), (6,))),
        (b"a,1,\xff\xfe\nb,2,\xc3\x28\nc,3,z\n", ((3,), (3,), (6,))),
        (b"a,99999999999999999999,x\nb,-99999999999999999999,y\nc,7,z\n", ((3,), (3,), (7,))),
        (b'a,1,"quoted, with ""quotes"" and\nlines"\nb,2,y\n', ((2,), (2,), (3,))),
    ],
    ids=["empty", "one row", "unseen", "no ids", "text", "NUL", "invalid UTF-8", "beyond 64 bits", "quoted"],
)
def test_strange_cells_raise_nothing_and_spoil_no_other_row(tmp_path, data, answers):
    assert csv(tmp_path / "t.csv", data) == answers


def test_rows_that_do_not_fit_the_header_are_kept_or_left_out_each_by_itself(tmp_path):
    rows = [b"a,1\n", b"b,2,y,extra\n", b"c,4,z\n", b"\n", b"d\n", b",,,,,\n", b"e,8,w\n"]
    alone = [csv(tmp_path / "t.csv", row) for row in rows]
    together = csv(tmp_path / "t.csv", b"".join(rows))
    assert together == tuple((sum(each[k][0] for each in alone),) for k in range(3))
    assert together[2][0] >= 12


@pytest.mark.pitfall("A15")
@pytest.mark.parametrize("row", [b"b,2,y\rz\n", b"b,2,y\r\n", b'b,2,"y"oops\n', b'b,2,y"z\n'], ids=str)
def test_one_malformed_row_takes_no_other_row_with_it(tmp_path, row):
    """At most the row itself is gone: the sum of the others' ages stays."""
    others = b"".join(b"u%d,1,x\n" % i for i in range(1_000))
    path = tmp_path / "t.csv"
    assert csv(path, others + row + others, max_rows=2)[2][0] in (2_000, 2_002)


def test_one_unit_with_a_million_rows_counts_for_its_cap():
    rows = pa.table({"id": ["whale"] * 10**6 + ["a", "b"], "x": pa.array(range(10**6 + 2), pa.int64())})
    query = T.agg(n=dp.count(), u=dp.count_units(), s=dp.sum("x", bounds=(0, 1)))
    answers = exact(rows, query, max_rows=3)
    assert answers[:2] == ((5,), (3,))
    assert answers[2][0] <= 5


def test_a_cell_of_twenty_megabytes_spoils_no_other_row(tmp_path):
    huge = b"q" * 20_000_000
    assert csv(tmp_path / "t.csv", b"a,1,x\nb,2," + huge + b"\nc,3,z\n")[2] in ((4,), (6,))


@pytest.mark.full
def test_a_cell_of_a_hundred_megabytes_spoils_no_other_row(tmp_path):
    huge = b"q" * 100_000_000
    assert csv(tmp_path / "t.csv", b"a,1,x\nb,2," + huge + b"\nc,3,z\n")[2] in ((4,), (6,))
    frame = pa.table({"id": ["a", "b"], "note": [huge.decode(), "x"]})
    assert exact(frame, T.where(T.note == "x").agg(n=dp.count())) == ((1,),)


def test_a_long_cell_in_a_frame_is_compared_and_counted():
    frame = pa.table({"id": ["a", "b"], "note": ["q" * 20_000_000, "x"]})
    assert exact(frame, T.where(T.note == "x").agg(n=dp.count())) == ((1,),)


DATES = ["0000-00-00", "1000000-01-01", "99999999-01-01", "2020-13-45", "infinity", "2020-02-30", "2020-02-29", "soon"]


@pytest.mark.parametrize("kind", ["date", "timestamp"])
def test_dates_that_are_none_are_missing_and_far_ones_are_total(tmp_path, kind):
    path = tmp_path / "t.csv"
    path.write_text("id,day\n" + "".join(f"u{i},{day}\n" for i, day in enumerate(DATES)))
    types = {"id": "text", "day": kind}
    days = {"date": "2020-02-29", "timestamp": "2020-02-29 00:00"}
    assert exact(path, T.where(T.day == days[kind]).agg(n=dp.count()), types=types) == ((1,),)
    assert exact(path, T.where(T.day.is_missing()).agg(n=dp.count()), types=types)[0][0] in (5, 6, 7)
    other = "timestamp" if kind == "date" else "date"
    assert exact(path, T.where(T.day.cast(other) == days[other]).agg(n=dp.count()), types=types) == ((1,),)
    text = T.where(T.day.cast(kind) == days[kind]).agg(n=dp.count())
    assert exact(path, text, types={"id": "text", "day": "text"}) == ((1,),)


@pytest.mark.parametrize(
    "column",
    [
        pa.array([2**31 - 1, -(2**31), 0], pa.date32()),
        pa.array([2**63 - 1, -(2**63) + 1, 0], pa.timestamp("s")),
        pa.array([2**63 - 1, -(2**63) + 1, 0], pa.timestamp("us")),
        pa.array([2**63 - 1, -(2**63) + 1, 0], pa.timestamp("ns")),
        pa.array([2**64 - 1, 0, 1], pa.uint64()),
        pa.array([math.nan, -0.0, 5e-324], pa.float64()),
        pa.array([{"a": 1}, None, {"a": 2}]),
        pa.array([[1], [], None]),
        pa.array([b"\xff\x00", b"12", None]),
        pa.array([None, None, None], pa.null()),
        pa.array(["é", "\U0001f600", "\u202e"]).dictionary_encode(),
    ],
    ids=lambda column: str(column.type)[:20],
)
@pytest.mark.parametrize("kind", ["integer", "real", "text", "boolean", "date", "timestamp"])
def test_a_column_of_any_type_is_read_as_the_declared_type_or_refused_before_it_is_registered(column, kind):
    rows = pa.table({"id": ["a", "b", "c"], "x": column})
    counted = T.where(T.x.is_present()).agg(n=dp.count())
    try:
        found = exact(rows, counted, types={"id": "text", "x": kind}, fixed_schema=True)[0][0]
    except SourceError as refusal:
        assert refusal.what == f"column 'x' of 't' as {kind}"  # noqa: PT017 - both outcomes are right
    else:
        assert 0 <= found <= 3


@pytest.mark.parametrize("header", ["id,id,x", "id,ID,x", "id,x,x", "", "id,,x", "id,x\x01y,z"])
def test_duplicate_and_empty_column_names_are_refused(tmp_path, header):
    path = tmp_path / "t.csv"
    path.write_text(f"{header}\n1,2,3\n")
    with pytest.raises((SourceError, CatalogError)):
        opened(path)


@pytest.mark.parametrize("other", ["\uff41ge", "\u0430ge", "AGE", "age "], ids=["wide", "cyrillic", "case", "space"])
def test_two_names_that_a_reader_cannot_tell_apart_are_refused(tmp_path, other):
    path = tmp_path / "t.csv"
    path.write_text(f"id,age,{other}\n1,2,3\n")
    with pytest.raises((CatalogError, SourceError)):
        opened(path)


def test_column_names_full_of_quotes_are_only_names():
    names = ['a"; DROP TABLE t; --', "b'c", "d]e", "{f}", "%s"]
    rows = pa.table({"id": ["u"], **{name: [7] for name in names}})
    query = T.where(T[names[0]] == 7).agg(**{name: dp.sum(name, bounds=(0, 9)) for name in names})
    assert exact(rows, query) == ((7,),) * 5


def test_a_file_that_changes_between_questions_is_read_once_for_the_session(tmp_path):
    """A capped table is prepared once: questions of one session see one state of the file."""
    path = tmp_path / "t.csv"
    path.write_text("id,x\na,1\nb,2\n")
    with opened(path, dp.testing.protect) as session:
        assert session.release(COUNT, epsilon=0.1).value() == 2
        path.write_text("id,x\na,1\nb,2\nc,3\n")
        assert session.release(COUNT, epsilon=0.1, fresh=True).value() in (2, 3)


@pytest.mark.parametrize("kind", ["csv", "parquet"])
@pytest.mark.parametrize("change", ["gone", "emptied", "cut", "garbage", "other columns", "a directory"])
def test_a_file_that_changes_under_an_open_session_gives_an_answer_or_the_one_sentence(tmp_path, kind, change):
    path = tmp_path / f"t.{kind}"

    def write(table):
        if kind == "parquet":
            pq.write_table(table, path)
        else:
            path.write_text(
                ",".join(table.column_names)
                + "\n"
                + "".join(",".join(map(str, row.values())) + "\n" for row in table.to_pylist())
            )

    write(pa.table({"id": [f"u{i}" for i in range(500)], "x": list(range(500))}))
    with opened(path) as session:
        content = path.read_bytes()
        path.unlink()
        if change == "a directory":
            path.mkdir()
        elif change == "other columns":
            write(pa.table({"y": ["p"], "z": ["q"]}))
        elif change != "gone":
            path.write_bytes({"emptied": b"", "cut": content[: len(content) // 2], "garbage": b"CANARY" * 99}[change])
        query = T.agg(n=dp.count(), s=dp.sum("x", bounds=(0, 9)))
        said = outcome(lambda: session.release(query, epsilon=0.25).private)
        assert said is True or (str(said), said.__context__, said.__cause__) == (dp.errors.FAILURE, None, None)
        assert spent(session).epsilon == EPSILON_UNITS // 4


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_a_file_that_changes_while_it_is_read_gives_an_answer_a_refusal_or_the_one_sentence(tmp_path, kind):
    """A thread rewrites the file, whole and in pieces, while sessions open it and ask."""
    path, done = tmp_path / f"t.{kind}", threading.Event()
    rows = pa.table({"id": [f"u{i}" for i in range(20_000)], "x": list(range(20_000))})
    (pq.write_table if kind == "parquet" else pyarrow.csv.write_csv)(rows, path)
    content = path.read_bytes()

    def rewrite():
        size = len(content)
        while not done.is_set():
            for part in (content[: size // 2], content[size // 3 :], b"", content[::-1], content):
                path.write_bytes(part)

    writer = threading.Thread(target=rewrite)
    writer.start()
    try:
        said = [outcome(lambda: _asked_once(path)) for _ in range(8)]
    finally:
        done.set()
        writer.join()
    assert {type(each) for each in said} <= {bool, dp.Failure, SourceError, CatalogError, NameNotFoundError}
    assert all(each.__context__ is None for each in said if isinstance(each, Exception))


def _asked_once(path):
    with opened(path, ledger=":memory:", types={"id": "text", "x": "integer"}) as session:
        return session.release(T.agg(n=dp.count(), s=dp.sum("x", bounds=(0, 9))), epsilon=0.25).private


@pytest.mark.parametrize("content", [b"", b"garbage" * 100])
@pytest.mark.parametrize("kind", ["csv", "parquet", "duckdb"])
def test_a_file_that_is_spoilt_before_a_session_opens_is_a_refusal_of_ours(tmp_path, kind, content):
    path = tmp_path / f"t.{kind}"
    path.write_bytes(content)
    with pytest.raises(dp.Refusal) as refused:
        opened(path, table="t" if kind == "duckdb" else None)
    assert refused.value.__context__ is None


def test_a_registered_parquet_file_that_is_spoilt_later_is_a_refusal_of_ours(tmp_path):
    path = tmp_path / "t.parquet"
    pq.write_table(ROWS, path)
    opened(path).close()
    path.write_bytes(b"garbage" * 100)
    with pytest.raises(dp.Refusal):
        opened(path)
