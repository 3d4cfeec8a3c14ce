"""Saved results are read by the schema that they name; anything else is refused."""

import copy
import dataclasses
import json
from fractions import Fraction

import pytest

import discreet as dp
import released
from discreet.errors import ParameterError
from discreet.learning.core.saved_state import MODEL_FORMAT
from discreet.release.forms import read_plain
from discreet.release.release import Release
from discreet.release.saved import read_result, read_saved
from discreet.release.selection import Selection

FACTS = {"name": "people", "privacy_unit": dp.ROW, "budget": dp.Budget(epsilon=3)}
people = dp.table("people")


@pytest.fixture(scope="module")
def results():
    with dp.testing.protect(dp.datasets.people(100), **FACTS) as session:
        yield [
            session.release(people.agg(n=dp.count()), epsilon=0.5),
            session.release(people.choose(["F", "M"], score=dp.score(by="sex")), epsilon=0.5),
            session.release(
                people.agg(h=dp.median("hours_per_week", bounds=(0, 100))), epsilon=0.5, method=dp.SmoothSensitivity()
            ),
        ]


def test_each_kind_of_result_is_read(results, tmp_path):
    for place, result in enumerate(results):
        path = tmp_path / f"{place}.json"
        path.write_text(json.dumps(result.to_json()))
        assert read_result(read_plain(path), path) == result


@pytest.mark.parametrize("text", ["", "5", '{"schema": "other/1"}', "{", '{"a": NaN}', "[" * 100_000])
def test_what_is_no_result_is_refused(tmp_path, text):
    path = tmp_path / "x.json"
    path.write_text(text)
    with pytest.raises(ParameterError, match="holds no release"):
        read_result(read_plain(path), path)


def test_a_model_without_a_release_is_refused_as_such(tmp_path):
    path = tmp_path / "x.json"
    path.write_text(json.dumps({"format": MODEL_FORMAT}))
    with pytest.raises(ParameterError, match=r"a model alone.*\n.*dp\.learning\.load"):
        read_saved(path)


def test_a_name_that_comes_twice_is_refused(tmp_path, results):
    path = tmp_path / "x.json"
    path.write_text(json.dumps(results[0].to_json()).replace('"private"', '"library": "2", "private"', 1))
    with pytest.raises(ParameterError, match="holds no release"):
        read_plain(path)


def test_a_file_that_is_not_there_is_refused(tmp_path):
    with pytest.raises(ParameterError, match="not there"):
        read_plain(tmp_path / "none.json")


def _edited(data, *path_and_value):
    *path, last, value = path_and_value
    changed = copy.deepcopy(data)
    part = changed
    for step in path:
        part = part[step]
    part[last] = value
    return changed


@pytest.mark.parametrize(
    "edit",
    [
        ("keys", 0, "values", 0, True),
        ("keys", 0, "values", 0, ["A"]),
        ("outputs", 0, "kind", 3),
        ("outputs", 0, "values", 0, 10**400),
        ("outputs", 0, "parts", 0, 0, "0"),
        ("measured", 0, "steps", 0, "1"),
        ("measured", 0, "scale", None),
        ("measured", 0, "grid", "1e99999"),
        ("confidence", "1e-999999999"),
        ("confidence", 0.95),
        ("place", "1"),
        ("dataset", "version", "1"),
    ],
    ids=str,
)
def test_a_value_of_another_type_is_refused_where_the_file_is_read(edit):
    """Found by the fuzzer: such files loaded, and failed later, where they were shown or compared."""
    data = released.release([1, 2, 3, 4]).to_json()
    assert Release.from_json(data)
    with pytest.raises(ParameterError, match="damaged"):
        Release.from_json(_edited(data, *edit))


@pytest.mark.parametrize(
    "edit", [("candidates", "3"), ("candidates", [3]), ("values", 0, ["A"]), ("within", "1e99999")]
)
def test_a_selection_with_a_value_of_another_type_is_refused(edit):
    facts = {"dataset": "visits", "version": 1, "guarantee": "epsilon 1", "receipt": {"hash": "a" * 64}}
    data = Selection(**facts, values=("A",), candidates=3, within=Fraction(1, 2)).to_json()
    assert Selection.from_json(data)
    with pytest.raises(ParameterError, match="damaged"):
        Selection.from_json(_edited(data, *edit))


@pytest.mark.parametrize(
    ("place", "change"),
    [(1, {"candidates": "5"}), (1, {"values": [[]]}), (2, {"value": "5"}), (2, {"name": 5}), (2, {"margin": 10**400})],
)
def test_values_of_another_type_are_refused(results, tmp_path, place, change):
    path = tmp_path / "x.json"
    path.write_text(json.dumps(results[place].to_json() | change))
    with pytest.raises(ParameterError, match="damaged"):
        read_saved(path)


def test_a_csv_file_is_compared_with_its_sidecar(results, tmp_path):
    results[0].save(tmp_path / "x.csv")
    assert read_saved(tmp_path / "x.csv") == results[0]
    (tmp_path / "x.csv").write_text("n,n_margin\n1,1\n")
    with pytest.raises(ParameterError, match="not those of the sidecar"):
        read_saved(tmp_path / "x.csv")


def test_a_sidecar_without_its_csv_file_is_refused(tmp_path):
    session = dp.testing.protect(dp.datasets.people(100), **FACTS)
    session.release(people.agg(n=dp.count()), epsilon=1).save(tmp_path / "x.csv")
    (tmp_path / "x.csv").unlink()
    with pytest.raises(ParameterError, match="sidecar"):
        read_saved(tmp_path / "x.csv")


def test_no_escape_of_a_forged_file_reaches_a_terminal():
    session = dp.testing.protect(dp.datasets.people(100), **FACTS)
    release = session.release(people.agg(n=dp.count()), epsilon=1)
    forged = dataclasses.replace(release, guarantee="epsilon 1\x1b[2J", receipt={"hash": "\x1b[31mred"})
    assert "\x1b" not in str(forged)
