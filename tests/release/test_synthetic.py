"""A synthetic table is written as plain data and read back; damaged data is refused."""

import pyarrow.parquet as pq
import pytest

import discreet as dp
from discreet.errors import ParameterError, UnsupportedError
from discreet.release.saved import read_saved

COLUMN = {"name": "sex", "type": "text", "edges": [], "values": ["F", "M"]}
MODEL = {
    "kind": "tree",
    "total": 4.0,
    "columns": [{"name": "sex", "groups": [0, 1, 2], "shares": [1.0] * 3, "probabilities": [0.5, 0.25, 0.25]}],
    "edges": [],
}
STATE = {
    "columns": [COLUMN],
    "total": 4.2,
    "measurements": [{"columns": ["sex"], "values": [2, 1, 1], "sigma": 1.5}],
    "model": MODEL,
    "draw": 7,
}


def released(**changes):
    header = {"dataset": "people", "version": 1, "guarantee": "epsilon 1", "receipt": {"id": "r"}}
    body = {"name": "tree", "card": (("measured", "columns"),), "state": STATE}
    return dp.SyntheticTable(**header | body | changes)


def test_a_table_is_written_and_read_back(tmp_path):
    assert dp.SyntheticTable.from_json(released().to_json()) == released()
    released().save(tmp_path / "table.json")
    assert dp.SyntheticTable.load(tmp_path / "table.json") == released()
    assert read_saved(tmp_path / "table.json") == released()


def test_rows_are_the_same_each_time_and_as_many_as_wanted(tmp_path):
    table = released()
    assert table.columns == ("sex",)
    assert table.rows == table.to_arrow().num_rows == 4
    assert table.to_arrow().equals(released().to_arrow())
    assert sorted(table.to_arrow()["sex"].to_pylist(), key=str) == ["F", "F", "M", None]
    assert table.to_pandas(2).shape == (2, 1)
    table.to_parquet(tmp_path / "rows.parquet", rows=8)
    written = pq.read_table(tmp_path / "rows.parquet")
    assert written.num_rows == 8
    assert written.schema.metadata[b"discreet.synthetic"] == b"epsilon 1"
    assert released(state=STATE | {"total": -3.0}).rows == 0


@pytest.mark.parametrize("rows", [-1, 1.5, "9", True, 2**40])
def test_a_number_of_rows_is_a_whole_number_from_0_on(rows):
    with pytest.raises(ParameterError, match="rows="):
        released().to_arrow(rows)


def test_a_file_has_the_ending_of_its_form(tmp_path):
    with pytest.raises(UnsupportedError, match=r"rows\.parquet"):
        released().to_parquet(tmp_path / "rows.csv")
    with pytest.raises(UnsupportedError, match=r"table\.json"):
        released().save(tmp_path / "table.pkl")
    with pytest.raises(ParameterError):
        released().to_parquet(tmp_path / "nowhere" / "rows.parquet")


@pytest.mark.parametrize(
    "damage",
    [
        {"name": 1},
        {"card": [["a", 1]]},
        {"state": []},
        {"state": STATE | {"total": "4"}},
        {"state": STATE | {"total": float("nan")}},
        {"state": STATE | {"draw": 1.5}},
        {"state": STATE | {"columns": []}},
        {"state": STATE | {"columns": [{"name": 1}]}},
        {"state": {"total": 1}},
    ],
    ids=str,
)
def test_damaged_data_is_refused(damage):
    with pytest.raises(ParameterError, match="damaged"):
        dp.SyntheticTable.from_json(released().to_json() | damage)


def test_the_text_has_card_limits_and_cost():
    text = str(released())
    assert "synthetic table (tree): about 4 rows of 1 columns" in text
    assert "measured: columns" in text
    assert all(limit in text for limit in released().limits)


def test_the_quality_of_a_table_is_that_of_its_own_noisy_marginals():
    quality = released().quality()
    (found,) = quality.marginals
    assert (found.columns, quality.rows) == (("sex",), 4)
    assert found.distance == pytest.approx((2 / 4.2 - 0.5 + (1 / 4.2 - 0.25) * 2) / -2)
    assert found.noise > found.distance
    assert released(state=STATE | {"total": -3.0}).quality().rows == 1
    with pytest.raises(ParameterError, match="0 rows"):
        released().quality(0)
