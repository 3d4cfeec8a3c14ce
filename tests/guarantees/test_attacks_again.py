"""What a second review found, after the first one's findings were mended; each stays found."""

import datetime as dt
from enum import Enum

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import discreet as dp
from discreet.errors import SourceError
from discreet.query import frame

T = frame.table("t")
COUNT = T.agg(n=frame.count())
BUDGET = dp.Budget(epsilon=1)


def exact(source, query, **words):
    words = {"privacy_unit": dp.ROW} | words
    with dp.testing.protect(source, name="t", budget=BUDGET, **words) as session:
        return session.release(query, epsilon=1).value()


@pytest.mark.pitfall("A6")
def test_categories_of_a_parquet_file_are_left_alone(tmp_path):
    """The 129th of them would not fit the index that the file's metadata asks for, and reading would fail."""
    path = tmp_path / "t.parquet"
    table = pa.table({"c": pa.array(["a", "b"]).dictionary_encode(), "x": [1, 2]})
    pq.write_table(table, path)
    assert exact(path, COUNT) == 2
    with dp.testing.protect(path, name="t", privacy_unit=dp.ROW, budget=BUDGET) as session:
        assert list(session.catalog.table("t").columns) == ["x"]
    with pytest.raises(SourceError, match="column 'c'"):
        dp.testing.protect(path, name="t", privacy_unit=dp.ROW, budget=BUDGET, types={"c": "text", "x": "integer"})


def test_categories_of_a_frame_are_read_whatever_their_number():
    table = pa.table({"c": pa.array([f"v{i % 400}" for i in range(4_000)]).dictionary_encode()})
    assert exact(table, T.where(T.c == "v399").agg(n=frame.count())) == 10


@pytest.mark.parametrize(
    "cells",
    [
        pa.array([[1], [2**62], None], pa.list_(pa.int64())).cast(pa.list_(pa.duration("s"))),
        pa.array([[("a", 1)], None], pa.map_(pa.string(), pa.int64())),
        pa.array([{"a": [dt.time(1)]}, None], pa.struct([("a", pa.list_(pa.time32("s")))])),
    ],
    ids=["spans", "map", "times"],
)
def test_nested_values_that_an_engine_checks_are_refused_by_their_type(cells):
    with pytest.raises(SourceError, match="column 'c'"):
        exact(
            pa.table({"c": cells, "u": [1] * len(cells)}),
            COUNT,
            privacy_unit="u",
            max_rows=1,
            types={"c": "document"},
            fixed_schema=True,
        )


STRANGERS = {
    "a number": 1,
    "half a character": "\udc80",
    "nothing": None,
    "a number of 5,000 digits": 10**5000,
    "a time before the first": dt.datetime(1, 1, 1, tzinfo=dt.timezone(dt.timedelta(hours=5))),
}


@pytest.mark.pitfall("A22")
@pytest.mark.parametrize("stranger", STRANGERS.values(), ids=STRANGERS)
def test_one_object_of_a_pandas_column_changes_no_other(stranger):
    class Letter(str, Enum):  # noqa: UP042 - a str that prints itself in another way
        A = "a"

    shared = pd.DataFrame({"c": pd.Series([Letter.A] * 10 + [stranger], dtype=object)})
    assert exact(shared, T.where(T.c == "a").agg(n=frame.count()), types={"c": "text"}) == 10


@pytest.mark.pitfall("A22")
@pytest.mark.parametrize("strangers", [[], ["zz"]])
def test_one_category_of_a_pandas_column_changes_no_other(strangers):
    shared = pd.DataFrame({"c": pd.Series([1] * 5 + [2] * 5 + strangers).astype("category")})
    assert exact(shared, T.where(T.c == 1).agg(n=frame.count()), types={"c": "integer"}) == 5


@pytest.mark.pitfall("A15")
def test_rows_inside_a_huge_quoted_cell_stay_inside_it(tmp_path):
    """DuckDB loses its place in a cell larger than two of its buffers."""
    path = tmp_path / "t.csv"
    hidden = "".join(f"{1000 + i},7\n" for i in range(50))
    with path.open("w") as file:
        file.write("u,x\n" + "".join(f"{i},1\n" for i in range(10)))
        file.write('50,"' + "x" * 70_000_000 + "\n" + hidden + '"\n')
        file.write("".join(f"{i},1\n" for i in range(20, 30)))
    assert exact(path, T.where(T.u < 1000).agg(n=frame.count()), types={"u": "integer", "x": "text"}) in (20, 21)
    assert exact(path, T.where(T.u >= 1000).agg(n=frame.count()), types={"u": "integer", "x": "text"}) == 0


def test_an_open_session_does_not_follow_a_catalog_that_is_edited():
    rows = pa.table({"u": [1, 1, 2], "v": [1, 2, 3]})
    with dp.protect(rows, name="t", privacy_unit="u", max_rows=1, budget=BUDGET, ledger=":memory:") as session:
        other = dp.testing.protect(rows, name="t", privacy_unit="v", max_rows=1, budget=BUDGET)
        session.catalog.tables["t"] = other.catalog.table("t")
        other.close()
        assert "one u," in session.release(COUNT, epsilon=0.1).guarantee


def test_the_answer_of_another_registration_is_not_handed_out(tmp_path):
    for name, rows in (("a", 1), ("b", 2)):
        (tmp_path / f"{name}.csv").write_text("x\n" + "1\n" * rows)
    words = {"name": "t", "privacy_unit": dp.ROW, "budget": BUDGET, "ledger": tmp_path / "l.sqlite"}
    with dp.protect(tmp_path / "a.csv", **words) as stale, dp.protect(tmp_path / "b.csv", **words) as corrected:
        corrected.release(COUNT, epsilon=0.1)
        with pytest.raises(SourceError):
            stale.release(COUNT, epsilon=0.1)
