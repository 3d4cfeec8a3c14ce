"""Saved results are read by the schema that they name; anything else is refused."""

import json

import pytest

import discreet as dp
from discreet.errors import ParameterError
from discreet.release.forms import read_plain
from discreet.release.saved import read_result

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


def test_a_name_that_comes_twice_is_refused(tmp_path, results):
    path = tmp_path / "x.json"
    path.write_text(json.dumps(results[0].to_json()).replace('"private"', '"library": "2", "private"', 1))
    with pytest.raises(ParameterError, match="holds no release"):
        read_plain(path)


def test_a_file_that_is_not_there_is_refused(tmp_path):
    with pytest.raises(ParameterError, match="not there"):
        read_plain(tmp_path / "none.json")
