"""Slots that were found are printed, saved and read back; damaged ones are refused."""

import datetime as dt

import pytest

import discreet as dp
from discreet.errors import ParameterError, UnsupportedError
from discreet.release.saved import read_result, read_saved

COLUMNS = (
    {"name": "sex", "type": "text", "edges": [], "values": ["F", "M"]},
    {"name": "born", "type": "date", "edges": ["2020-01-01", "2021-01-01"], "values": []},
    {"name": "age", "type": "integer", "edges": list(range(20)), "values": []},
)
FOUND = dp.FoundSlots(
    dataset="people", version=1, guarantee="epsilon 1", receipt={}, columns=COLUMNS, not_found=("city",)
)


def test_slots_are_values_of_their_types():
    assert FOUND.keys == {"sex": ("F", "M")}
    assert FOUND.edges["born"] == (dt.date(2020, 1, 1), dt.date(2021, 1, 1))


def test_slots_are_printed_in_short():
    assert FOUND.lines == (
        "sex: 2 values: F, M",
        "born: 1 bins between 2020-01-01, 2021-01-01",
        "age: 19 bins between 0, 1, 2, 3, 4, 5, 6, 7, ...",
        "city: nothing was found",
    )
    assert FOUND.limits


def test_slots_are_read_back(tmp_path):
    assert dp.FoundSlots.from_json(FOUND.to_json()) == FOUND
    assert read_result(FOUND.to_json(), tmp_path) == FOUND


def test_slots_are_saved_and_loaded(tmp_path):
    FOUND.save(tmp_path / "found.json")
    assert dp.FoundSlots.load(tmp_path / "found.json") == FOUND
    assert read_saved(tmp_path / "found.json") == FOUND
    with pytest.raises(UnsupportedError, match=r"found\.json"):
        FOUND.save(tmp_path / "found.csv")
    with pytest.raises(ParameterError, match=r"found\.save"):
        dp.FoundSlots.load(tmp_path / "nothing.json")


@pytest.mark.parametrize(
    "columns",
    [
        [],
        [{"name": "sex", "type": "text", "edges": [], "values": []}],
        [{"name": "sex", "type": "text", "edges": [], "values": [1]}],
        [{"name": "age", "type": "integer", "edges": [0, None], "values": []}],
        [{"name": "age", "type": "integer", "edges": [0], "values": []}],
        [{"name": "born", "type": "date", "edges": ["x", "y"], "values": []}],
        [{"name": 1, "type": "text", "edges": [], "values": ["a"]}],
        [COLUMNS[0], COLUMNS[0]],
        [{"name": "sex", "type": "document", "edges": [], "values": ["a"]}],
    ],
)
def test_damaged_slots_are_refused(columns):
    with pytest.raises(ParameterError, match="damaged"):
        dp.FoundSlots.from_json(FOUND.to_json() | {"columns": columns, "not_found": []})
