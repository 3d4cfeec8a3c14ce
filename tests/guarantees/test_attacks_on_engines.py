"""What an adversary found on PostgreSQL and SQLite, kept as tests: failures that told of one person's cells."""

import sqlite3
from contextlib import closing

import pyarrow as pa
import pytest

import discreet as dp
from discreet.engines import public_location
from discreet.errors import CatalogError, UnsupportedError

T = dp.table("v")
BUDGET = dp.Budget(epsilon=1)


def _protected(postgres, name, **words):
    return dp.protect(
        postgres.engine_url,
        table=name,
        name="v",
        privacy_unit="id",
        max_rows=1,
        budget=BUDGET,
        ledger=":memory:",
        **words,
    )


@pytest.mark.full
@pytest.mark.pitfall("A22")
def test_many_sums_over_one_persons_rows_do_not_make_a_row_that_is_too_wide(postgres):
    """1,100 steps in one row fit into a page only where they are missing: a failure told who is ill."""
    postgres.load("wide_steps", pa.table({"id": ["p1", "alice"], "diag": ["flu", "HIV"]}))
    alice = 1 / ((T.id == "alice") & (T.diag == "HIV")).cast("integer")
    outputs = {f"s{i}": dp.sum("z", bounds=(0, 2**23 + i), grid=1) for i in range(1_100)}
    with _protected(postgres, "wide_steps") as session:
        assert len(session.release(T.derive(z=alice).agg(**outputs), epsilon=0.01)) == 1


@pytest.mark.full
@pytest.mark.pitfall("A22")
@pytest.mark.parametrize(("kind", "most"), [("text", 180), ("integer", 900)])
def test_a_row_is_kept_only_if_it_fits_with_every_cell_there(postgres, kind, most):
    """Columns that could be too wide together are refused before the charge; what is admitted fits when it is full."""
    cell = "x" * 31 if kind == "text" else 2**62
    for columns in (most, 1_300):
        names = [f"c{i}" for i in range(columns)]
        cells = pa.array([cell if columns == most else None], pa.string() if kind == "text" else pa.int64())
        postgres.load("wide_rows", pa.table({"id": ["a"], **dict.fromkeys(names, cells)}))
        how = dp.count_distinct if kind == "text" else dp.sum
        words = {"domain": [cell]} if kind == "text" else {"bounds": (0, 9)}
        everything = T.agg(**{name: how(name, **words) for name in names})
        with _protected(postgres, "wide_rows") as session:
            if columns == most:
                assert len(session.release(everything, epsilon=0.1)) == 1
                continue
            with pytest.raises(UnsupportedError, match="1301 columns"):
                session.release(everything, epsilon=0.1)
            assert float(session.remaining()) == 1


@pytest.mark.parametrize("secret", ["pa#ss", "se?cret", "ab/cd+e", "p@ss", "a:b"])
@pytest.mark.parametrize("address", ["postgresql://r0:{}@h:5432/db", "s3://AKIA:{}@h:5432/db"])
def test_no_part_of_a_password_is_shown_or_kept(address, secret):
    """libpq takes such passwords, and keys of S3 hold slashes: what stands before # ? or / was taken for the host."""
    shown = public_location(address.format(secret))
    assert shown.partition("://")[2] == "h:5432/db"
    text = f"tables: {{v: {{source: '{address.format(secret)}', privacy_unit: id, columns: {{id: {{type: text}}}}}}}}"
    with pytest.raises(CatalogError) as refusal:
        dp.Catalog.parse(text)
    assert secret not in str(refusal.value)


def test_a_column_called_true_is_only_a_column(tmp_path):
    with closing(sqlite3.connect(tmp_path / "v.sqlite")) as connection, connection:
        connection.execute('CREATE TABLE v (id TEXT, b TEXT, "true" TEXT, "false" TEXT)')
        connection.executemany("INSERT INTO v VALUES (?, 'true', '0', '1')", [(str(i),) for i in range(10)])
    words = {"privacy_unit": "id", "max_rows": 1, "budget": BUDGET, "types": {"id": "text", "b": "boolean"}}
    with dp.testing.protect(tmp_path / "v.sqlite", table="v", **words) as session:
        assert session.release(T.where(T.b).agg(n=dp.count()), epsilon=0.1).value() == 10
        assert session.release(T.where(T.b == False).agg(n=dp.count()), epsilon=0.1).value() == 0  # noqa: E712
