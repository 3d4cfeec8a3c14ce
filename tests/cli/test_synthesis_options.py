"""Options of `discreet synth` declare slots, and its refusals advise options."""

import datetime as dt

import pytest
import typer

from discreet.catalog.catalog import Column, ColumnType
from discreet.cli.synthesis_options import advise_options, bounds_in, names_in, option_advice
from discreet.errors import UnboundedError

COLUMNS = {name: Column(type=ColumnType(name)) for name in ("integer", "real", "date", "timestamp", "text")}


def test_bounds_are_read_in_the_types_of_their_columns():
    given = ["integer=-1,90", "real=0,0.5", "date=2020-01-01, 2024-12-31", "timestamp=2020-01-01,2024-12-31T23:59"]
    found = bounds_in(given, COLUMNS)
    assert found["integer"] == (-1, 90)
    assert found["real"] == (0.0, 0.5)
    assert found["date"] == (dt.date(2020, 1, 1), dt.date(2024, 12, 31))
    assert found["timestamp"] == tuple(map(dt.datetime.fromisoformat, ("2020-01-01", "2024-12-31T23:59")))
    assert bounds_in(["a=b=1,2"], {}) == {"a=b": (1, 2)}
    assert bounds_in(None, COLUMNS) is None


@pytest.mark.parametrize(
    "given", ["integer=1", "integer=1,2,3", "integer=low,high", "real=0,inf", "date=1,2", "=1,2", "integer", ""]
)
def test_bounds_that_are_no_two_values_are_a_wrong_call(given):
    with pytest.raises(typer.BadParameter, match="lowest and highest value"):
        bounds_in([given], COLUMNS)
    with pytest.raises(typer.BadParameter, match="twice"):
        bounds_in(["integer=1,2", "integer=1,3"], COLUMNS)


def test_names_stand_between_commas():
    assert names_in('age, "a,b"', "--columns") == ["age", "a,b"]


@pytest.mark.parametrize(
    ("advice", "options"),
    [
        ("bounds={'cost': (0, 100)}", "--bounds cost=0,100"),
        (
            "bounds={'day': (dt.date(2024, 1, 1), dt.date(2024, 12, 31))}",
            "--bounds day=2024-01-01,2024-12-31",
        ),
        (
            "bounds={'seen': (dt.datetime(2024, 1, 1), dt.datetime(2025, 1, 1, 6, 30))}, or columns=['age']",
            "--bounds seen=2024-01-01T00:00,2025-01-01T06:30, or --columns age",
        ),
        (
            "slots=session.release(table.find_slots(['day']), epsilon=0.2), or columns=['age', 'home town', 'a,b']",
            "--slots found.json, a file that found.save wrote, or --columns 'age,home town,\"a,b\"'",
        ),
        ('keys={\'sex\': ["A", "B"]}', "keys: [A, B] of 'sex' in the catalog"),
        (
            "a search with a larger epsilon: session.release(table.find_slots(['day']), epsilon=1)",
            "a search with a larger epsilon: --slots found.json, a file that found.save wrote",
        ),
        ('workload=[["age", "sex"], ["sex"]]', "--workload age,sex --workload sex"),
        ('dp.table("people")', "discreet synth people"),
        ("session.release(query, epsilon=0.5)", "discreet synth people --epsilon 0.5"),
        ("'age'", "'age'"),
    ],
)
def test_advice_in_python_becomes_options(advice, options):
    assert option_advice(advice, "people") == options


def test_a_refusal_keeps_its_class_and_reason():
    with pytest.raises(UnboundedError, match=r"a reason\n.*--columns age$"), advise_options("people", "1"):
        raise UnboundedError("synthesis of 'day'", because="a reason", instead="columns=['age']")
