"""Tables of every kind of result: all rows, all numbers, and intervals for charts."""

from dataclasses import replace

import pytest

from discreet.release.report.tables import MOST_ROWS, Point, relative_text, relative_width, table_of
from released import release


def test_a_release_has_all_rows_and_intervals(wards):
    table = table_of(wards)
    assert table.head == ("ward", "n", "cost")
    assert len(table.rows) == 5
    assert table.text_columns == 1
    for series, output in zip(table.series, wards.outputs, strict=True):
        for point, value, margin in zip(series.points, output.values, output.margins, strict=True):
            assert (point.value, point.low, point.high) == (value, value - margin, value + margin)
    assert "± holds 95% of the time" in table.notes[0]


def test_a_statement_has_its_columns_and_intervals(made):
    statement = made[1]["sql"]
    table = table_of(statement)
    assert table.head == ("ward", "n")
    (point,) = table.series[0].points
    assert (point.low, point.high) == statement.interval("n")[0]
    assert "before rows were chosen" in table.notes[0]


def test_a_selection_and_an_estimate_are_tables(made):
    chosen = table_of(made[1]["selection"])
    assert chosen.rows == (("1", made[1]["selection"].value),)
    assert "selected from 5 candidates" in chosen.notes
    assert "no key stood out" in table_of(replace(made[1]["selection"], values=())).notes[-1]
    estimate = table_of(made[1]["estimate"])
    assert estimate.rows == ((f"{made[1]['estimate'].value:,.6g}",),)
    assert "no interval" in estimate.notes[0]
    assert table_of(replace(made[1]["estimate"], value=None)).rows == (("nothing",),)
    assert "± 2" in table_of(replace(made[1]["estimate"], value=30, margin=2)).rows[0][0]


def test_margins_in_ranks_are_no_intervals(made):
    table = table_of(made[1]["median"])
    assert table.series[0].points[0].low is None
    assert "margins of m are in ranks" in table.notes
    assert table.least_exact is None


def test_the_least_exact_number_is_found():
    table = table_of(release([1_000, 500, 80, 20]))
    name, point = table.least_exact
    assert (name, point.label, relative_width(point)) == ("n", "B / y", 2.0)
    assert relative_text(point) == "more than the number itself"
    assert relative_text(Point("", 100.0, 95.0, 105.0)) == "5% of the number"
    assert relative_width(Point("", 0.0, -1.0, 1.0)) == float("inf")


def test_very_long_tables_are_cut_and_say_so():
    rows = tuple((str(number),) for number in range(MOST_ROWS + 1))
    table = table_of(release(range(MOST_ROWS + 1), rows=rows, names=("id",)))
    assert len(table.rows) == MOST_ROWS
    assert table.notes[-1] == "the first 1,000 of 1,001 rows; the file has all"


def test_anything_else_has_no_table():
    with pytest.raises(TypeError):
        table_of(5)
