"""Rows of a released table follow from its plain data alone, in whatever order its names were written."""

import json

import numpy as np

from discreet.catalog.catalog import ColumnType
from discreet.plan.slots import SlotColumn, columns_to_json
from discreet.synthesis.rows.tables import draw_table, model_of

COLUMNS = (
    SlotColumn("b", ColumnType.TEXT, values=("x", "y")),
    SlotColumn("a", ColumnType.INTEGER, edges=(0, 10, 20, 30)),
)


def tree_column(name, *probabilities):
    groups = list(range(len(probabilities)))
    return {"name": name, "groups": groups, "shares": [1.0] * len(groups), "probabilities": list(probabilities)}


PAIR = np.array([[0.3, 0.1, 0.0, 0.0], [0.0, 0.2, 0.2, 0.0], [0.0, 0.0, 0.0, 0.2]])
STATE = {
    "columns": columns_to_json(COLUMNS),
    "total": 100.0,
    "measurements": [],
    "model": {
        "kind": "tree",
        "total": 100.0,
        "columns": [tree_column("b", *PAIR.sum(1)), tree_column("a", *PAIR.sum(0))],
        "edges": [{"columns": ["b", "a"], "probabilities": PAIR.ravel().tolist()}],
    },
    "draw": 3,
}


def test_rows_have_the_counts_of_the_model():
    rows = draw_table(STATE, 100)
    assert rows.column_names == ["b", "a"]
    pairs = list(zip(rows["b"].to_pylist(), rows["a"].to_pylist(), strict=True))
    assert sum(b == "x" and a < 10 for b, a in pairs if a is not None) == 30
    assert sum(b is None and a is None for b, a in pairs) == 20


def test_the_order_in_which_names_were_written_changes_no_row():
    written = json.loads(json.dumps(STATE, sort_keys=True))
    assert draw_table(written, 1_000).equals(draw_table(STATE, 1_000))
    assert model_of(written).domain.names == ("b", "a")


def test_no_rows_are_a_table_with_the_same_types():
    assert draw_table(STATE, 0).schema == draw_table(STATE, 9).schema
