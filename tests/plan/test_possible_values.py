"""The values that a case of constants or a part of a date can have are known from the expression alone."""

import pytest

import discreet as dp
from discreet.plan.possible_values import possible_values

t = dp.table("t")
CHILD = dp.when(t.age < 18, "child")


@pytest.mark.parametrize(
    ("expression", "values"),
    [
        (CHILD, ("child", None)),
        (CHILD.otherwise("adult"), ("child", "adult")),
        (CHILD.when(t.age > 65, "old").when(t.age > 90, "child").otherwise("adult"), ("child", "old", "adult")),
        (dp.when(t.a, 1).when(t.b, True).otherwise(1), (1, True)),
        (dp.when(t.a, CHILD).otherwise("x"), ("child", None, "x")),
        (dp.when(t.a, t.day.part("quarter")).otherwise(9), (1, 2, 3, 4, 9)),
        (t.day.part("quarter"), (1, 2, 3, 4)),
        (t.day.part("month"), tuple(range(1, 13))),
        (t.day.part("day"), tuple(range(1, 32))),
        (t.day.part("weekday"), (1, 2, 3, 4, 5, 6, 7)),
        (t.day.part("hour"), tuple(range(24))),
    ],
    ids=str,
)
def test_constants_and_parts_of_dates_are_listed_in_order_and_each_once(expression, values):
    found = possible_values(expression.node)
    assert found == values
    assert [type(each) for each in found] == [type(each) for each in values]


@pytest.mark.parametrize(
    "expression",
    [
        t.age,
        t.age + 1,
        t.day.part("year"),
        t.day.truncate("month"),
        t.ward.contains("A"),
        dp.when(t.a, 1).otherwise(t.age),
        dp.when(t.a, t.age).otherwise(1),
    ],
    ids=str,
)
def test_any_other_value_is_unknown(expression):
    assert possible_values(expression.node) is None
