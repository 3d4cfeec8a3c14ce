"""What a reviewer with one order, to break the guarantee, found; each stays found."""

import datetime as dt
import json

import duckdb as driver
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import discreet as dp
from discreet.errors import CatalogError, ParameterError, SourceError, UnsupportedError
from discreet.query import frame

T = frame.table("t")
COUNT = T.agg(n=frame.count())
BUDGET = dp.Budget(epsilon=1)


def exact(source, query, **words):
    """An exact answer; a cell that made reading fail would raise."""
    words = {"privacy_unit": "u", "max_rows": 2, "fixed_schema": True} | words
    with dp.testing.protect(source, name="t", budget=BUDGET, **words) as session:
        return session.release(query, epsilon=1).outputs[0].values


def bad_text():
    """Three cells, the last of which is not UTF-8."""
    return pa.StringArray.from_buffers(3, pa.array([0, 1, 2, 4], pa.int32()).buffers()[1], pa.py_buffer(b"ab\xff\xfe"))


def far_time(unit):
    cells = pa.array([0, 1, (300_000 - 1970) * 31_556_952_000], pa.int64())
    return (
        cells.view(pa.timestamp("ms"))
        if unit == "ms"
        else pa.array([0, 1, -(2**63)], pa.int64()).view(pa.timestamp(unit))
    )


CELLS = {
    "bytes that are not UTF-8": (bad_text, "text"),
    "bytes that are not UTF-8, as a document": (bad_text, "document"),
    "bytes that are not UTF-8 in a list": (
        lambda: pa.ListArray.from_arrays(pa.array([0, 1, 2, 3], pa.int32()), bad_text()),
        "document",
    ),
    "a year beyond the calendar": (lambda: far_time("ms"), "timestamp"),
    "a year beyond the calendar, as a date": (lambda: far_time("ms"), "date"),
    "the least time": (lambda: far_time("us"), "timestamp"),
    "JSON that is none": (
        lambda: pa.ExtensionArray.from_storage(pa.json_(pa.string()), pa.array(["1", "2", "{oops"])),
        "integer",
    ),
    "a time outside the day": (lambda: pa.array([0, 1, 2**40], pa.int64()).view(pa.time64("us")), "integer"),
}


@pytest.mark.pitfall("A6")
@pytest.mark.parametrize("stored", ["frame", "parquet"])
@pytest.mark.parametrize("made", CELLS.values(), ids=CELLS)
def test_no_cell_of_a_frame_or_file_makes_reading_fail(made, stored, tmp_path):
    cells, kind = made
    table = pa.table({"u": [1, 2, 3], "w": cells()})
    source = table
    if stored == "parquet":
        source = tmp_path / "t.parquet"
        pq.write_table(table, source)
    missing = T.where(T.w.is_missing()).agg(n=frame.count())
    assert exact(source, missing, types={"u": "integer", "w": kind})[0] in (0, 1)


@pytest.mark.pitfall("A16")
def test_a_unit_that_is_not_text_is_missing_and_not_an_error(tmp_path):
    pq.write_table(pa.table({"u": bad_text()}), tmp_path / "t.parquet")
    assert exact(tmp_path / "t.parquet", T.agg(n=frame.count_units()), types={"u": "text"}) == (2,)


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_a_file_name_that_is_a_pattern_is_refused(ending, tmp_path):
    """The engine would expand it again, read the other file twice and this one never."""
    for name in ("a1", "a[1]"):
        path = tmp_path / f"{name}.{ending}"
        if ending == "csv":
            path.write_text("x\n1\n")
        else:
            pq.write_table(pa.table({"x": [1]}), path)
    with pytest.raises(SourceError, match="characters"):
        dp.protect(str(tmp_path / f"*.{ending}"), name="t", privacy_unit=dp.ROW, budget=BUDGET)


@pytest.mark.pitfall("A22")
def test_a_new_version_keeps_the_types_of_the_one_before(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("age\n1\n2\n")
    with dp.protect(path, privacy_unit=dp.ROW, budget=BUDGET) as session:
        session.release(COUNT, epsilon=0.1)
    path.write_text("age\n1\nx\n")
    with dp.protect(path, privacy_unit=dp.ROW, budget=BUDGET, version=2) as session:
        assert str(session.catalog.table("t").columns["age"].type) == "integer"


def test_a_real_session_takes_no_ledger_of_a_testing_session():
    rows = pa.table({"u": [1, 2]})
    with dp.testing.protect(rows, name="t", privacy_unit=dp.ROW, budget=BUDGET) as testing:
        testing.release(COUNT, epsilon=1)
        with pytest.raises(ParameterError, match="exact answers"):
            dp.protect(rows, name="t", privacy_unit=dp.ROW, budget=BUDGET, ledger=testing.ledger)


def test_an_exact_answer_and_a_noisy_one_are_different_questions(tmp_path):
    rows = pa.table({"u": [1, 2]})
    with dp.protect(rows, name="t", privacy_unit=dp.ROW, budget=BUDGET, ledger=tmp_path / "l.sqlite") as session:
        noisy = session.release(COUNT, epsilon=0.1).receipt["question"]
    with dp.testing.protect(rows, name="t", privacy_unit=dp.ROW, budget=BUDGET) as testing:
        assert testing.release(COUNT, epsilon=0.1).receipt["question"] != noisy


def test_two_columns_are_not_mistaken_for_one_with_a_long_name(tmp_path):
    table = pa.table({"a": [1], "b": [1], "a and b": [1]})
    words = {"name": "t", "budget": BUDGET, "max_rows": 1, "ledger": tmp_path / "l.sqlite"}
    with dp.protect(table, privacy_unit=["a", "b"], **words) as session:
        session.release(COUNT, epsilon=0.1)
    with pytest.raises(dp.Refusal):
        dp.protect(table, privacy_unit="a and b", version=2, **words)


@pytest.mark.pitfall("A6")
def test_a_lazy_frame_that_fails_on_a_cell_does_not_print_it():
    relation = driver.sql("SELECT CAST(x AS INTEGER) AS x FROM (VALUES ('1'), ('HIV+ alice')) AS t(x)")
    with pytest.raises(SourceError) as caught:
        dp.protect(relation, name="t", privacy_unit=dp.ROW, budget=BUDGET)
    seen, error = "", caught.value
    while error is not None:
        seen, error = seen + str(error), error.__cause__ or error.__context__
    assert "alice" not in seen


@pytest.mark.pitfall("B3")
def test_what_sql_cannot_say_is_refused_before_the_charge(tmp_path):
    rows = pa.table({"d": pa.array([dt.date(2020, 1, 1)])})
    term = T.d
    for _ in range(20):
        term = term.cast("timestamp").cast("date")
    words = {"privacy_unit": dp.ROW, "budget": BUDGET, "ledger": tmp_path / "l.sqlite", "fixed_schema": True}
    with dp.protect(rows, name="t", **words) as session:
        with pytest.raises(UnsupportedError):
            session.release(T.where(term > "2020-01-01").agg(n=frame.count()), epsilon=0.1)
        assert session.ledger.spent("t").epsilon == 0


def test_divisions_within_divisions_are_planned_at_once(tmp_path):
    """Each once doubled the plan, and forty of them would have hung the session."""
    term = T.x
    for _ in range(40):
        term = 1 / (1 + term)
    with dp.testing.protect(pa.table({"x": [1.0, 2.0]}), name="t", privacy_unit=dp.ROW, budget=BUDGET) as session:
        assert session.release(T.where(term > 0).agg(n=frame.count()), epsilon=0.1).value() == 2


def test_facts_that_the_ledger_keeps_name_every_column(tmp_path):
    with dp.protect(
        pa.table({"x": [1]}), name="t", privacy_unit=dp.ROW, budget=BUDGET, ledger=tmp_path / "l.sqlite"
    ) as session:
        session.release(COUNT, epsilon=0.1)
        assert json.loads(session.ledger.registration("t").facts)["columns"] == {"x": "integer"}
    with pytest.raises((CatalogError, SourceError)):
        dp.protect(
            pa.table({"x": [1]}),
            name="t",
            privacy_unit=dp.ROW,
            budget=BUDGET,
            ledger=tmp_path / "l.sqlite",
            types={"x": "text"},
        )
