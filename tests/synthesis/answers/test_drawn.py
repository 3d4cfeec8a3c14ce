"""Queries that are not about slots are answered from drawn rows, as a model's estimate."""

import datetime as dt
from fractions import Fraction

import pytest

import discreet as dp
from discreet.errors import Refusal, UnsupportedError
from discreet.synthesis.answers.drawn import drawn_answer
from discreet.synthesis.rows.tables import draw_table

STATE = {
    "columns": [
        {"name": "sex", "type": "text", "edges": [], "values": ["F", "M"]},
        {"name": "age", "type": "integer", "edges": [0, 50, 100], "values": []},
    ],
    "total": 400.2,
    "measurements": [],
    "model": {
        "kind": "tree",
        "total": 400.2,
        "columns": [
            {"name": "sex", "groups": [0, 1, 2], "shares": [1.0] * 3, "probabilities": [0.5, 0.25, 0.25]},
            {"name": "age", "groups": [0, 1, 2], "shares": [1.0] * 3, "probabilities": [0.5, 0.5, 0.0]},
        ],
        "edges": [],
    },
    "draw": 7,
}
T = dp.table("people")


def test_figures_are_those_of_the_drawn_rows_without_interval():
    ages = draw_table(STATE, 400)["age"].to_pylist()
    answer = drawn_answer("people", STATE, T.where(T.age > 30).agg(n=dp.count()), Fraction(1, 2))
    assert answer.rows[0].estimate == sum(age > 30 for age in ages)
    assert answer.rows[0].how == "model"
    assert answer.rows[0].lower is None
    assert "drawn rows" in answer.notes[0]


def test_groups_and_several_outputs_stand_one_below_another():
    query = T.group_by("sex").agg(n=dp.count(), age=dp.mean("age"))
    answer = drawn_answer("people", STATE, query, Fraction(1, 2))
    assert answer.keys[0].values == ("F", "M", "F", "M")
    assert [row.output for row in answer.rows] == ["n", "n", "age", "age"]
    assert answer.rows[0].estimate == 200
    median = drawn_answer("people", STATE, T.agg(m=dp.median("age")), Fraction(1, 2))
    assert 30 < median.rows[0].estimate < 70


def test_what_a_session_refuses_is_refused():
    with pytest.raises(Refusal):
        drawn_answer("people", STATE, T.group_by("age").agg(n=dp.count()), Fraction(1, 2))
    with pytest.raises(UnsupportedError, match="not a table"):
        drawn_answer("people", STATE, T.choose(["F", "M"], score=dp.score(by="sex")), Fraction(1, 2))


DATED = {
    "columns": [
        {"name": "sex", "type": "text", "edges": [], "values": ["f", "m"]},
        {"name": "day", "type": "date", "edges": ["2020-01-01", "2022-01-01", "2024-01-01"], "values": []},
        {
            "name": "seen",
            "type": "timestamp",
            "edges": ["2020-01-01T00:00:00", "2022-01-01T00:00:00", "2024-01-01T00:00:00"],
            "values": [],
        },
    ],
    "total": 400.0,
    "measurements": [],
    "model": {
        "kind": "tree",
        "total": 400.0,
        "columns": [
            {"name": name, "groups": [0, 1, 2], "shares": [1.0] * 3, "probabilities": [0.75, 0.25, 0.0]}
            for name in ("sex", "day", "seen")
        ],
        "edges": [],
    },
    "draw": 7,
}
ROWS = draw_table(DATED, 400).to_pylist()


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        (T.day >= dt.date(2021, 3, 1), sum(row["day"] >= dt.date(2021, 3, 1) for row in ROWS)),
        (T.day >= "2021-03-01", sum(row["day"] >= dt.date(2021, 3, 1) for row in ROWS)),
        (
            T.seen < dt.datetime.fromisoformat("2021-03-01T12:00"),
            sum(row["seen"] < dt.datetime.fromisoformat("2021-03-01T12:00") for row in ROWS),
        ),
        (
            (T.day > "2021-03-01") & (T.sex == "f"),
            sum(str(row["day"]) > "2021-03-01" and row["sex"] == "f" for row in ROWS),
        ),
    ],
)
def test_a_condition_that_cuts_a_bin_of_dates_or_times_counts_drawn_rows(condition, expected):
    answer = drawn_answer("people", DATED, T.where(condition).agg(n=dp.count()), Fraction(1, 2))
    assert answer.rows[0].estimate == expected
    assert 0 < answer.rows[0].estimate < 400
    assert answer.rows[0].how == "model"


def test_parts_of_dates_are_counted_over_drawn_rows():
    answer = drawn_answer("people", DATED, T.where(T.day.part("year") == 2020).agg(n=dp.count()), Fraction(1, 2))
    assert answer.rows[0].estimate == sum(row["day"].year == 2020 for row in ROWS)
