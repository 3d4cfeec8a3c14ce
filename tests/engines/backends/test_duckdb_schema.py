"""The types that DuckDB gives a schema are found once, and schemas that differ in metadata alone are kept apart."""

import duckdb
import pyarrow as pa
import pytest

from discreet.engines.backends import duckdb_schema
from discreet.engines.backends.duckdb_schema import frame_kinds, relation_kinds

PLAIN = pa.schema([("n", pa.int64()), ("word", pa.string())])


@pytest.fixture(autouse=True)
def nothing_found_before():
    duckdb_schema._frame_kinds.cache_clear()


def test_a_schema_is_described_as_an_empty_table_of_it():
    assert frame_kinds(PLAIN) == (("n", "BIGINT"), ("word", "VARCHAR"))
    with duckdb.connect(":memory:") as connection:
        connection.register("rows", PLAIN.empty_table())
        assert frame_kinds(PLAIN) == relation_kinds(connection, "rows")


def test_frames_of_one_schema_open_one_database(monkeypatch):
    first = frame_kinds(PLAIN)
    monkeypatch.delattr(duckdb, "connect")
    assert frame_kinds(pa.schema(list(PLAIN))) == first


def test_a_type_that_only_metadata_names_is_not_taken_for_its_storage():
    plain = pa.schema([("id", pa.binary(16))])
    named = pa.schema([pa.field("id", pa.binary(16), metadata={"ARROW:extension:name": "arrow.uuid"})])
    assert plain == named
    assert frame_kinds(plain) == (("id", "BLOB"),)
    assert frame_kinds(named) == (("id", "UUID"),)


def test_a_schema_that_duckdb_refuses_is_refused_every_time():
    for _ in range(2):
        with pytest.raises(duckdb.Error):
            frame_kinds(pa.schema([("half", pa.float16())]))
