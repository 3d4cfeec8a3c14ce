"""Values become the slots that they were drawn from; other values go where engines count them."""

import datetime as dt

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from discreet.catalog.catalog import ColumnType
from discreet.errors import NameNotFoundError, ParameterError
from discreet.plan.slots import SlotColumn
from discreet.synthesis.quality.encoding import encode_rows
from discreet.synthesis.rows.decoding import TYPES, decode

DECADE = tuple(dt.datetime.fromisoformat(f"{year}-01-01") for year in (2000, 2010))
COLUMNS = (
    SlotColumn("age", ColumnType.INTEGER, edges=(0, 10, 20, 30)),
    SlotColumn("pay", ColumnType.REAL, edges=(0.0, 0.5, 2.5)),
    SlotColumn("sex", ColumnType.TEXT, values=("F", "M")),
    SlotColumn("owns", ColumnType.BOOLEAN, values=(True, False)),
    SlotColumn("day", ColumnType.DATE, edges=(dt.date(1960, 1, 1), dt.date(1980, 1, 1), dt.date(2000, 1, 1))),
    SlotColumn("time", ColumnType.TIMESTAMP, edges=DECADE),
    SlotColumn("zip", ColumnType.INTEGER, edges=(0, 9)),
)


def test_slots_come_back_from_the_values_that_were_drawn_for_them():
    generator = np.random.default_rng(3)
    codes = np.column_stack([generator.integers(column.size, size=400) for column in COLUMNS])
    cells = [decode(column, codes[:, place], generator) for place, column in enumerate(COLUMNS)]
    table = pa.table(dict(zip([column.name for column in COLUMNS], cells, strict=True)))
    found = encode_rows(COLUMNS, table)
    assert (found.codes == codes).all()
    assert found.domain.slots == {column.name: column.size for column in COLUMNS}


def test_values_outside_the_edges_are_in_the_end_bins_and_unknown_ones_in_the_last_slot():
    table = pa.table({"age": [-5, 10, 99, None], "pay": [0.5, float("nan"), None, 9.0], "sex": ["F", "X", None, "M"]})
    assert encode_rows(COLUMNS[:3], table).codes.T.tolist() == [[0, 1, 2, 3], [1, 2, 2, 1], [0, 2, 2, 1]]


def test_a_pandas_frame_with_gaps_is_read_as_well():
    frame = pd.DataFrame({"age": [5, None, 25], "sex": ["M", None, "F"], "more": [1, 2, 3]})
    assert encode_rows((COLUMNS[0], COLUMNS[2]), frame).codes.tolist() == [[0, 1], [3, 2], [2, 0]]


def test_a_table_without_the_column_or_with_other_cells_is_refused():
    with pytest.raises(NameNotFoundError, match="'age'"):
        encode_rows(COLUMNS[:1], pa.table({"sex": ["F"]}))
    with pytest.raises(ParameterError, match="another type") as caught:
        encode_rows(COLUMNS[:1], pa.table({"age": ["secret"]}))
    assert "secret" not in str(caught.value)
    with pytest.raises(ParameterError, match="list"):
        encode_rows(COLUMNS[:1], [1, 2])


def test_every_type_of_a_column_has_slots():
    assert {column.type for column in COLUMNS} == set(TYPES)
