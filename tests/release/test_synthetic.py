"""A synthetic table is written as plain data and read back; damaged data is refused."""

import datetime as dt

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


LINKED = STATE | {
    "columns": [{"name": "visit_count", "type": "integer", "edges": [], "values": [1, 2]}, COLUMN],
    "model": {
        "kind": "two_level",
        "identifier": "who",
        "persons": MODEL
        | {"columns": [MODEL["columns"][0] | {"name": "visit_count", "probabilities": [0.5, 0.5, 0.0]}]},
        "visits": MODEL
        | {
            "columns": [
                MODEL["columns"][0] | {"name": "visit_count", "probabilities": [1 / 3, 2 / 3, 0.0]},
                *MODEL["columns"],
            ]
        },
    },
}


def test_a_two_level_table_gives_persons_and_visits(tmp_path):
    table = released(state=LINKED, name="two levels")
    tables = table.to_tables()
    assert {name: each.column_names for name, each in tables.items()} == {
        "persons": ["who", "visit_count"],
        "visits": ["who", "sex"],
    }
    assert tables["visits"].num_rows == table.rows == 4
    assert tables["visits"].schema.metadata[b"discreet.synthetic"] == b"epsilon 1"
    assert table.to_arrow().column_names == ["who", "visit_count", "sex"]
    assert table.to_arrow()["sex"].equals(tables["visits"]["sex"])
    table.to_parquet(tmp_path / "both", rows=40)
    written = {name: pq.read_table(tmp_path / "both" / f"{name}.parquet") for name in tables}
    assert written["visits"].equals(table.to_tables(40)["visits"])
    assert written["persons"].schema.metadata[b"discreet.synthetic"] == b"epsilon 1"
    table.to_parquet(tmp_path / "joined.parquet")
    assert pq.read_table(tmp_path / "joined.parquet").num_rows == 4
    assert dp.SyntheticTable.from_json(table.to_json()) == table


def test_two_levels_need_a_directory_and_a_two_level_table(tmp_path):
    with pytest.raises(UnsupportedError, match="one level"):
        released().to_tables()
    with pytest.raises(UnsupportedError, match=r"ends in \.parquet"):
        released().to_parquet(tmp_path / "both")
    table = released(state=LINKED)
    with pytest.raises(ParameterError, match="no such directory"):
        table.to_parquet(tmp_path / "nowhere" / "both")
    (tmp_path / "file").touch()
    with pytest.raises(ParameterError, match="no such directory"):
        table.to_parquet(tmp_path / "file")
    with pytest.raises(ParameterError, match="rows=-1"):
        table.to_tables(-1)


def test_a_file_that_is_missing_is_one_that_a_table_saves(tmp_path):
    with pytest.raises(ParameterError, match=r'table\.save\("people\.json"\)'):
        dp.SyntheticTable.load(tmp_path / "nothing.json")


EXACT = released(private=False)
MARK = "NOT PRIVATE"


def test_rows_of_a_table_of_testing_are_labelled_so_in_arrow_and_parquet(tmp_path):
    EXACT.to_parquet(tmp_path / "rows.parquet")
    for schema in (EXACT.to_arrow().schema, pq.read_schema(tmp_path / "rows.parquet")):
        assert schema.metadata[b"discreet.synthetic"].decode().startswith(MARK)
        assert schema.metadata[b"discreet.synthetic"].endswith(b"epsilon 1")
    assert MARK not in released().label


def test_answers_and_quality_of_a_table_of_testing_are_marked():
    query = dp.table("people").agg(n=dp.count())
    answer, quality = EXACT.answer(query), EXACT.quality()
    for text in (str(answer), answer._repr_html_(), str(quality), quality.to_html()):
        assert MARK in text
    assert answer.to_arrow().schema.metadata[b"discreet.synthetic"].decode().startswith(MARK)
    assert answer.to_json()["private"] is quality.to_json()["private"] is False
    assert "may be published" not in quality.to_html()
    assert "under the guarantee" not in quality.to_html()
    answer, quality = released().answer(query), released().quality()
    for text in (str(answer), answer._repr_html_(), str(quality), quality.to_html()):
        assert MARK not in text
    assert answer.to_arrow().schema.metadata is None
    assert answer.to_json()["private"] is quality.to_json()["private"] is True


WIDE = {
    "columns": [
        {"name": "age", "type": "integer", "edges": [0, 50, 100], "values": []},
        {"name": "day", "type": "date", "edges": ["2024-01-01", "2025-01-01"], "values": []},
        {"name": "smoker", "type": "boolean", "edges": [], "values": [False, True]},
        COLUMN,
    ],
    "total": 40.0,
    "measurements": [],
    "draw": 7,
}


def wide(missing):
    """A table of four columns, with or without missing values."""
    sizes = {"age": 3, "day": 2, "smoker": 3, "sex": 3}
    columns = [
        {
            "name": name,
            "groups": list(range(size)),
            "shares": [1.0] * size,
            "probabilities": [*[(1 - missing) / (size - 1)] * (size - 1), missing],
        }
        for name, size in sizes.items()
    ]
    return released(state=WIDE | {"model": {"kind": "tree", "total": 40.0, "columns": columns, "edges": []}})


def test_types_of_a_frame_do_not_depend_on_missing_values():
    with_some, without = wide(0.25).to_pandas(), wide(0.0).to_pandas()
    assert with_some["age"].isna().any()
    assert not without.isna().any().any()
    assert dict(with_some.dtypes) == dict(without.dtypes)
    assert str(without["age"].dtype) == "Int64"
    assert str(without["smoker"].dtype) == "boolean"
    assert with_some["age"].dropna().between(0, 99).all()


def test_slots_are_public_as_those_of_found_slots_are():
    table = wide(0.0)
    assert table.edges == {"age": (0, 50, 100), "day": (dt.date(2024, 1, 1), dt.date(2025, 1, 1))}
    assert table.keys == {"smoker": (False, True), "sex": ("F", "M")}
