"""Release, Selection and Estimate have one header: the same fields, the same text around them, JSON both ways."""

import datetime as dt
import json
from dataclasses import replace
from fractions import Fraction

import pyarrow as pa
import pytest

import discreet as dp
from discreet.catalog.catalog import ColumnType
from discreet.errors import ParameterError
from discreet.release.result import Result, ratio_text
from discreet.release.values.columns import Key, OutputColumn
from released import release as made

HEADER = {
    "dataset": "visits",
    "version": 3,
    "guarantee": "epsilon 1",
    "receipt": {"hash": "ab" * 32, "time": "2026-11-16T12:00:00+00:00", "version": 3},
    "confidence": Fraction(9, 10),
    "library": "0.1.0",
}
DAY, NOON = dt.date(2026, 11, 16), dt.datetime(2026, 11, 16, 12, 0, 0, 5)  # noqa: DTZ001 - naive
LATER = NOON.replace(tzinfo=dt.UTC)


def release(*steps, **changes):
    return replace(made(*steps, **changes), **HEADER)


def selection(*values, **changes):
    return dp.Selection(**HEADER | {"values": values, "candidates": 3, "within": Fraction(7, 2)} | changes)


def estimate(value, margin=None, **changes):
    return dp.Estimate(**HEADER | {"name": "age", "made": "noise", "value": value, "margin": margin} | changes)


def dated(*values, kind=ColumnType.DATE):
    return release([1] * len(values), rows=(), names=(), keys=(Key("day", kind, values),))


NOTHING = OutputColumn("n", "sum", (None, 2.5), (None, 0.1))
RESULTS = {
    "release": release([1, 2, 3, 4], [5, 6, 7, 8]),
    "release that was rounded": release([11, 22, 33, 44]).rounded(to=10),
    "release of dates": dated(DAY, None),
    "release of timestamps": dated(NOON, kind=ColumnType.TIMESTAMP),
    "release with a missing cell": release([1, 2], rows=(("A",), (None,)), names=("ward",), outputs=(NOTHING,)),
    "release in a batch": release([1], names=(), place=2),
    "exact release": release([1], names=(), private=False),
    "selection": selection("A", "B"),
    "selection of numbers": selection(4, 0.1, 2**70, True),
    "selection of dates": selection(DAY, None, candidates=None),
    "selection of timestamps": selection(NOON, LATER),
    "selection of text that looks like a date": selection("2026-11-16", DAY),
    "empty selection": selection(candidates=None),
    "exact selection": selection("A", private=False),
    "estimate": estimate(38.5, 0.1),
    "estimate of a whole number": estimate(2**70, 3),
    "estimate without a margin": estimate(1e-300),
    "estimate without a value": estimate(None),
    "exact estimate": estimate(1, private=False),
}
every_result = pytest.mark.parametrize("result", RESULTS.values(), ids=RESULTS)


@every_result
def test_a_result_comes_back_from_json_as_it_was(result):
    again = type(result).from_json(json.loads(json.dumps(result.to_json(), allow_nan=False)))
    assert again == result
    assert str(again) == str(result)
    assert again.to_json() == result.to_json()
    assert type(result).from_json(result.to_json()) == result


@every_result
def test_every_result_has_the_same_header(result):
    plain = result.to_json()
    assert isinstance(result, Result)
    assert {name: getattr(result, name) for name in HEADER} == HEADER
    assert (plain["dataset"], plain["confidence"]) == ({"name": "visits", "version": 3}, "9/10")
    assert {name: plain[name] for name in ("guarantee", "receipt", "library")}.items() <= HEADER.items()


@every_result
def test_every_result_says_its_cost_last_and_first_that_it_is_not_private(result):
    lines = str(result).splitlines()
    assert lines[-2:] == ["spent    epsilon 1", "receipt  abababababab"]
    assert repr(result) == str(result)
    assert lines[0].startswith("NOT PRIVATE") is not result.private
    assert result._repr_html_().startswith("<div><strong>NOT PRIVATE") is not result.private
    assert result._repr_html_().endswith("<div>spent    epsilon 1</div><div>receipt  abababababab</div></small></div>")


@pytest.mark.parametrize("kind", [dp.Release, dp.Selection, dp.Estimate])
@pytest.mark.parametrize("data", [None, [], {}, 5, "text", {"schema": "another/1"}])
def test_another_schema_is_refused(kind, data):
    with pytest.raises(ParameterError, match="of schema"):
        kind.from_json(data)


@pytest.mark.parametrize("name", ["selection of dates", "estimate"])
def test_a_damaged_result_is_refused(name):
    result = RESULTS[name]
    plain = result.to_json()
    for lost in set(plain) - {"schema", "types"}:
        with pytest.raises(ParameterError, match="damaged"):
            type(result).from_json({key: value for key, value in plain.items() if key != lost})


@pytest.mark.parametrize("damage", [{"types": ["date"]}, {"types": ["day", None]}, {"within": "1/0"}, {"values": 3}])
def test_a_damaged_selection_is_refused(damage):
    with pytest.raises(ParameterError, match="a selection that is damaged"):
        dp.Selection.from_json(selection(DAY, None).to_json() | damage)


@pytest.mark.parametrize(
    "damage",
    [
        {"private": "false"},
        {"private": 1},
        {"confidence": "2/1"},
        {"confidence": "-1/1"},
        {"guarantee": 5},
        {"receipt": []},
    ],
)
@pytest.mark.parametrize("name", ["exact release", "selection", "estimate"])
def test_a_header_of_other_types_is_refused_so_that_no_edit_hides_an_exact_result(name, damage):
    result = RESULTS[name]
    with pytest.raises(ParameterError, match="damaged"):
        type(result).from_json(result.to_json() | damage)


def test_a_repeat_is_equal_and_is_not_written():
    for first, again in (
        (RESULTS["selection"], selection("A", "B", repeated=True)),
        (RESULTS["estimate"], estimate(38.5, 0.1, repeated=True)),
    ):
        assert again == first
        assert again.to_json() == first.to_json()
        assert "the stored answer is free" in str(again)


def test_a_ratio_is_written_with_its_denominator():
    assert (ratio_text(Fraction(19, 20)), ratio_text(Fraction(3))) == ("19/20", "3/1")


@pytest.mark.parametrize("protect", [dp.protect, dp.testing.protect], ids=["private", "exact"])
def test_results_of_a_session_survive_json(protect):
    rows = pa.table({"id": range(40), "day": [DAY] * 30 + [None] * 10, "age": [i % 50 for i in range(40)]})
    table = dp.table("t")
    function = table.apply("def f(rows): return len(rows)", columns=["age"], blocks=2, bounds=(0, 40))
    choice = table.choose([DAY, DAY + dt.timedelta(1)], score=dp.score(by="day"))
    groups = table.group_by("day", keys={"day": [DAY, None]}).agg(n=dp.count(), m=dp.mean("age", bounds=(0, 50)))
    facts = {"name": "t", "privacy_unit": "id", "max_rows": 1, "fixed_schema": True}
    with protect(rows, budget=dp.Budget(epsilon=9), **facts) as session:
        batch = session.release([groups, choice, function, groups], epsilon=3)
        single = session.release(
            table.agg(age=dp.median("age", bounds=(0, 50))), epsilon=1, method=dp.SmoothSensitivity()
        )
    assert [type(each) for each in batch] == [dp.Release, dp.Selection, dp.Estimate, dp.Release]
    assert len({each.guarantee for each in batch}) == 1
    for each in (*batch, single):
        assert type(each).from_json(json.loads(json.dumps(each.to_json()))) == each
        assert each.private is (protect is dp.protect)
