"""What SQL engines share: refusals of columns that have no reading, and tables of keys."""

import pyarrow as pa
import pytest

from discreet.catalog.catalog import ColumnType
from discreet.engines import DuckDB, RegisteredSource, Workspace, source_of
from discreet.engines.prepared import keys_table
from discreet.errors import SourceError
from discreet.plan.physical import Keys, Read


@pytest.mark.parametrize(
    ("cells", "declared", "instead"),
    [
        (pa.array([1.5]), ColumnType.TEXT, "types={'v': \"integer\"} or types={'v': \"real\"}"),
        (pa.array([[1]]), ColumnType.INTEGER, "types={'v': \"document\"} or types={'v': \"binary\"}"),
        (pa.array([1]), ColumnType.DATE, "types={'v': \"integer\"} or types={'v': \"real\"}"),
    ],
)
def test_a_column_that_has_no_reading_as_its_declared_type_is_refused_before_it_is_registered(
    cells, declared, instead, tmp_path
):
    engine = DuckDB({"t": RegisteredSource(source_of(pa.table({"v": cells})), 1)}, Workspace(tmp_path))
    try:
        with pytest.raises(SourceError, match="column 'v' of 't' as") as refusal:
            engine.require("t", {"v": declared})
    finally:
        engine.close()
    assert refusal.value.instead == instead


def test_keys_are_numbered_in_the_order_of_the_answer():
    keys = Keys((Read("g", ColumnType.TEXT), Read("h", ColumnType.INTEGER)), (("b", 1), ("a", None)))
    assert keys_table(keys).to_pydict() == {"discreet_key": [0, 1], "k0": ["b", "a"], "k1": [1, None]}
