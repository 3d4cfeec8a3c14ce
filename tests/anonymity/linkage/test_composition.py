"""Releases of the same people intersected: the worked pair, and brute force on random tables."""

import numpy as np
import pyarrow as pa
import pytest

import discreet as dp
from discreet.anonymity.linkage.composition import CompositionRisk, example, intersect, intersect_everyone
from discreet.anonymity.owners import STAMP
from discreet.errors import NameNotFoundError, ParameterError


def test_two_hospitals_together_name_her_condition_and_neither_does_alone():
    worked = example()
    first, second = worked.risk.releases
    assert (first.k, second.k) == (4, 6)
    assert (first.candidates, second.candidates) == (4, 6)
    assert len(first.values) == 3
    assert len(second.values) == 3
    assert worked.risk.values == ("tuberculosis",)
    assert worked.risk.is_disclosed
    assert STAMP in str(worked.risk)


def test_the_figure_states_the_condition_in_its_description():
    pytest.importorskip("matplotlib")
    label = example().plot().get_label()
    assert label.endswith(STAMP)
    assert "'tuberculosis'" in label
    assert "second hospital (k = 6): 6 candidates" in label


def test_a_person_of_another_class_is_not_disclosed():
    worked = example()
    older = {
        name: cells | {"age": age}
        for (name, cells), age in zip(worked.target.items(), ("40 or over", "35 or over"), strict=True)
    }
    risk = intersect(worked.releases, older, "condition")
    assert not risk.is_disclosed
    assert set(risk.values) == {"cancer", "asthma"}
    assert "2 values of 'condition'" in risk.verdict


def test_a_person_who_is_in_one_release_alone_has_no_compatible_value():
    worked = example()
    nobody = dict(worked.target) | {"second hospital": {"zip_code": "999**"}}
    risk = intersect(worked.releases, nobody, "condition", quasi=worked.quasi)
    assert risk.values == ()
    assert risk.releases[1].k == 6
    assert "not in all of them" in risk.verdict
    pytest.importorskip("matplotlib")
    assert "No value is compatible" in risk.plot().get_label()


def test_missing_cells_follow_the_policy():
    first = pa.table({"age": ["3*", None, "3*"], "ill": ["x", "y", "z"]})
    second = pa.table({"age": [30, 30], "ill": ["x", "y"]})
    known = {"first": {"age": "3*"}, "second": {"age": 30}}
    values = {
        nulls: intersect({"first": first, "second": second}, known, "ill", nulls=nulls).values
        for nulls in ("value", "wildcard", "exclude")
    }
    assert values == {"value": ("x",), "wildcard": ("x", "y"), "exclude": ("x",)}
    missing = known | {"first": {"age": [None]}}
    assert intersect({"first": first, "second": second}, missing, "ill").values == ("y",)
    assert intersect({"first": first, "second": second}, missing, "ill", nulls="exclude").values == ()


def test_people_are_counted_and_not_rows():
    first = pa.table({"id": [1, 1, 2, None, None], "zip": ["a"] * 5, "ill": ["x", "x", "x", "y", "y"]})
    risk = intersect({"1": first, "2": first}, {"1": {"zip": "a"}, "2": {"zip": "a"}}, "ill", person="id")
    assert risk.releases[0].candidates == risk.releases[0].k == 4
    assert risk.releases[0].values == (("x", 2), ("y", 2))


def test_a_wrong_call_is_refused_before_rows_are_compared():
    table = pa.table({"zip": ["a"], "ill": ["x"]})
    with pytest.raises(ParameterError, match="two or more"):
        intersect({"one": table}, {"one": {"zip": "a"}}, "ill")
    with pytest.raises(ParameterError, match="each release"):
        intersect({"one": table, "two": table}, {"one": {"zip": "a"}}, "ill")
    with pytest.raises(NameNotFoundError):
        intersect({"one": table, "two": table}, {"one": {"zip": "a"}, "two": {"zip": "a"}}, "illness")
    with pytest.raises(ParameterError, match="missing cell"):
        intersect({"one": table, "two": table}, {"one": {"zip": "a"}, "two": {"zip": "a"}}, "ill", nulls="drop")


def test_the_result_as_json_has_plain_values():
    figures = example().risk.to_json()["figures"]
    assert figures["values"] == ["tuberculosis"]
    assert figures["releases"][0]["values"] == [["asthma", 2], ["heart disease", 1], ["tuberculosis", 1]]


def _brute(tables: list[list[tuple]]) -> tuple[int, list[int], dict[int, int]]:
    """Of rows (person, class, value): who is in all tables, disclosed by each, and numbers of compatible values."""
    possible = []
    for rows in tables:
        values = {
            person: {v for _, other, v in rows for mine, c, _ in rows if mine == person and c == other}
            for person, _, _ in rows
            if person is not None
        }
        possible.append(values)
    everybody = set.intersection(*(set(each) for each in possible))
    alone = [sum(len(each[person]) == 1 for person in everybody) for each in possible]
    left = [len(set.intersection(*(each[person] for each in possible))) for person in everybody]
    return len(everybody), alone, {number: left.count(number) for number in sorted(set(left))}


@pytest.mark.parametrize("case", [*range(25), *(pytest.param(n, marks=pytest.mark.nightly) for n in range(25, 250))])
def test_everyone_agrees_with_brute_force(case):
    draw = dp.testing.generator(case)
    tables = []
    for _ in range(int(draw.integers(2, 4))):
        rows = int(draw.integers(1, 13))
        persons = [None if draw.random() < 0.1 else int(draw.integers(6)) for _ in range(rows)]
        zips = [None if draw.random() < 0.1 else str(draw.integers(3)) for _ in range(rows)]
        values = [None if draw.random() < 0.1 else str(draw.integers(4)) for _ in range(rows)]
        tables.append(list(zip(persons, zips, values, strict=True)))
    people, alone, compatible = _brute(tables)
    releases = {
        str(number): pa.table(
            {
                "id": pa.array([row[0] for row in rows], pa.int64()),
                "zip": pa.array([row[1] for row in rows], pa.string()),
                "ill": pa.array([row[2] for row in rows], pa.string()),
            }
        )
        for number, rows in enumerate(tables)
    }
    counts = intersect_everyone(releases, ["zip"], "ill", person="id")
    assert counts.people == people
    assert [number for _, number in counts.alone] == alone
    assert dict(counts.compatible) == compatible
    assert counts.together == compatible.get(1, 0)
    assert counts.contradictory == compatible.get(0, 0)


def test_what_is_disclosed_alone_is_disclosed_together_where_values_agree():
    draw = dp.testing.generator(7)
    ill = [str(value) for value in draw.integers(0, 4, 200)]
    first, second = (pa.table({"id": np.arange(200), "zip": draw.integers(0, 60, 200), "ill": ill}) for _ in range(2))
    counts = intersect_everyone({"first": first, "second": second}, ["zip"], "ill", person="id")
    assert counts.contradictory == 0
    assert counts.together >= max(number for _, number in counts.alone)
    assert "disclosed by all releases together" in str(counts)


def test_the_family_exports_it():
    assert dp.anonymity.CompositionRisk is CompositionRisk
    assert dp.anonymity.composition.example is example
    assert dp.anonymity.intersect is intersect


def test_a_list_of_releases_is_refused_with_code_that_works():
    worked = example()
    releases = list(worked.releases.values())
    with pytest.raises(ParameterError) as caught:
        intersect(releases, worked.target, "condition")
    scope = {"releases": releases}
    exec(caught.value.instead, scope)
    with pytest.raises(ParameterError) as again:
        intersect(scope["releases"], worked.target, "condition")
    assert again.value.instead == """target={'release 1': {"zip": "130**"}, 'release 2': {"zip": "130**"}}"""
    target = dict(zip(scope["releases"], worked.target.values(), strict=True))
    assert intersect(scope["releases"], target, "condition").values == ("tuberculosis",)


@pytest.mark.parametrize("target", [[{"zip": "1"}, {"zip": "1"}], "zip", {"a": "zip", "b": "zip"}, None], ids=str)
def test_a_target_of_another_kind_is_refused(target):
    table = pa.table({"zip": ["1"], "condition": ["flu"]})
    with pytest.raises(ParameterError, match="each release needs"):
        intersect({"a": table, "b": table}, target, "condition")
    with pytest.raises(ParameterError, match="one column"):
        intersect({"a": table, "b": table}, {"a": {"zip": "1"}, "b": {"zip": "1"}}, ["condition"])
