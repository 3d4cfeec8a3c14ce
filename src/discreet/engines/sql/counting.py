"""SQL for counts, sums and distinct units of groups: over the rows, or over one row for each unit and group."""

from collections.abc import Mapping, Sequence

UNIT = "discreet_unit"
OF_UNIT = "discreet_of_unit"


class CountByRow:
    """SQL for counts and sums over the rows of a group."""

    def count(self, what: str) -> str:
        """Number of rows that have a value."""
        return f"count({what})"

    def sum(self, total: str, what: str) -> str:
        """Sum of a value, by the template of a sum."""
        return total.format(what)

    def units(self, unit: str) -> str:
        """Number of distinct units."""
        return f"count(DISTINCT {unit})"

    def source(self, rows: str, groups: Mapping[str, str], unit: Sequence[str]) -> tuple[str, Mapping[str, str]]:  # noqa: ARG002
        """The rows that the measures so far are computed from, and the names of the groups there."""
        return rows, groups


class CountByUnit(CountByRow):
    """The same over one row for each unit and group: some engines count distinct units faster that way."""

    def __init__(self) -> None:
        self._parts: dict[str, str] = {}

    def count(self, what: str) -> str:
        """Number of rows that have a value."""
        return f"sum({self._part(super().count(what))})"

    def sum(self, total: str, what: str) -> str:
        """Sum of a value, by the template of a sum."""
        return f"sum({self._part(super().sum(total, what))})"

    def units(self, unit: str) -> str:  # noqa: ARG002 - each row is one
        """Number of distinct units."""
        return "count(*)"

    def source(self, rows: str, groups: Mapping[str, str], unit: Sequence[str]) -> tuple[str, Mapping[str, str]]:
        """One row for each unit and group: its groups, its unit, and the parts of all measures so far."""
        owners = {f"{UNIT}{i}": column for i, column in enumerate(unit)}
        by = {**groups, **owners}
        columns = [f"{column} AS {name}" for name, column in by.items()]
        columns += [f"{part} AS {name}" for part, name in self._parts.items()]
        units = f"FROM (SELECT {', '.join(columns)} {rows} GROUP BY {', '.join(by)}) AS units"
        return units, {name: name for name in groups}

    def _part(self, sql: str) -> str:
        return self._parts.setdefault(sql, f"{OF_UNIT}{len(self._parts)}")
