"""An expression is printed as it could be typed, with parentheses only where they are needed."""

import pytest

import discreet as dp
from discreet.query.expression_text import expression_text

visits = dp.table("visits")
TYPED = {
    "dp.when(table.age < 18, 'child')": dp.when(visits.age < 18, "child"),
    "dp.when(table.a, 1).when(table.b, 2).otherwise(0)": dp.when(visits.a, 1).when(visits.b, 2).otherwise(0),
    "dp.when(table.a, table.x + 1).otherwise(0) > 2": dp.when(visits.a, visits.x + 1).otherwise(0) > 2,
    "table.cost.fill_missing(0)": visits.cost.fill_missing(0),
    "(table.cost / 2).fill_missing(table.cost)": (visits.cost / 2).fill_missing(visits.cost),
    "table.s.starts_with('%')": visits.s.starts_with("%"),
    'table.s.contains("it\'s")': visits.s.contains("it's"),
    "table.day.truncate('month') == '2026-01-01'": visits.day.truncate("month") == "2026-01-01",
    "table.day.part('weekday').is_in([6, 7])": visits.day.part("weekday").is_in([6, 7]),
}


@pytest.mark.parametrize("text", TYPED)
def test_an_expression_reads_as_it_could_be_typed(text):
    expression = TYPED[text]
    assert repr(expression) == expression_text(expression.node) == text
    assert eval(text, {"table": visits, "dp": dp}).node == expression.node  # noqa: S307 - the text is our own
