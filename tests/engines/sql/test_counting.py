"""Counts and sums of groups, at once and by way of units, give the same numbers."""

import duckdb
import pytest

from discreet.engines.sql.counting import CountByRow, CountByUnit

ROWS = (
    "FROM (VALUES (1, 'a', 5), (1, 'a', NULL), (1, 'b', 2), (2, 'a', 7), (NULL, 'a', 1), (NULL, 'a', 3)) AS t(u, g, v)"
)


def _answer(tally: CountByRow) -> list[tuple[object, ...]]:
    measures = [tally.count("*"), tally.count("v"), tally.sum("sum({0})", "v"), tally.units("row(u)")]
    source, groups = tally.source(ROWS, {"grp": "g"}, ("u",))
    columns = [f"{group} AS {name}" for name, group in groups.items()]
    return duckdb.sql(f"SELECT {', '.join([*columns, *measures])} {source} GROUP BY grp ORDER BY grp").fetchall()


@pytest.mark.parametrize("tally", [CountByRow, CountByUnit])
def test_groups_are_told_alike_at_once_and_by_unit(tally: type[CountByRow]) -> None:
    assert _answer(tally()) == [("a", 5, 4, 16, 3), ("b", 1, 1, 2, 1)]


def test_what_several_measures_need_is_taken_once_from_each_unit() -> None:
    tally = CountByUnit()
    assert tally.count("v") == tally.count("v")
    source, _ = tally.source(ROWS, {"grp": "g"}, ("u",))
    assert source.count("count(v)") == 1
