"""How counts, sums and distinct units of groups are said: of the rows at once, or by way of one row for each unit."""

from collections.abc import Mapping, Sequence

UNIT = "discreet_unit"
OF_UNIT = "discreet_of_unit"


class Tally:
    """Counts and sums of the rows of a group."""

    def counted(self, what: str) -> str:
        """How many rows have it."""
        return f"count({what})"

    def summed(self, total: str, what: str) -> str:
        """The sum of it, by the template of a sum."""
        return total.format(what)

    def units(self, unit: str) -> str:
        """How many different units there are."""
        return f"count(DISTINCT {unit})"

    def source(self, rows: str, groups: Mapping[str, str], unit: Sequence[str]) -> tuple[str, Mapping[str, str]]:  # noqa: ARG002
        """What the measures asked for so far are taken from, and the groups as they are called there, by name."""
        return rows, groups


class ByUnit(Tally):
    """The same of one row for each unit and group, made first: some engines count distinct units sooner that way."""

    def __init__(self) -> None:
        self._parts: dict[str, str] = {}

    def counted(self, what: str) -> str:
        """How many rows have it."""
        return f"sum({self._part(super().counted(what))})"

    def summed(self, total: str, what: str) -> str:
        """The sum of it, by the template of a sum."""
        return f"sum({self._part(super().summed(total, what))})"

    def units(self, unit: str) -> str:  # noqa: ARG002 - each row is one
        """How many different units there are."""
        return "count(*)"

    def source(self, rows: str, groups: Mapping[str, str], unit: Sequence[str]) -> tuple[str, Mapping[str, str]]:
        """The rows of units: their groups, whose they are, and the parts of all measures asked for so far."""
        owners = {f"{UNIT}{i}": column for i, column in enumerate(unit)}
        by = {**groups, **owners}
        columns = [f"{column} AS {name}" for name, column in by.items()]
        columns += [f"{part} AS {name}" for part, name in self._parts.items()]
        units = f"FROM (SELECT {', '.join(columns)} {rows} GROUP BY {', '.join(by)}) AS units"
        return units, {name: name for name in groups}

    def _part(self, sql: str) -> str:
        return self._parts.setdefault(sql, f"{OF_UNIT}{len(self._parts)}")
