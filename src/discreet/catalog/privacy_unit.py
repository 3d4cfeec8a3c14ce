"""The privacy unit, the neighbour relation, and the contribution bounds of a unit."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final, Literal

from discreet.errors import ParameterError, UnitError
from discreet.exact.numbers import whole

LARGEST_CAP = 10**15


class Row:
    """The type of `dp.ROW`: each row is its own unit; it protects rows, not people."""

    def __repr__(self) -> str:
        return "dp.ROW"


ROW: Final = Row()


class Neighbours(StrEnum):
    """Which two datasets must be hard to tell apart."""

    ADD_REMOVE = "add_remove"
    REPLACE_ONE = "replace_one"


@dataclass(frozen=True)
class Unit:
    """The privacy unit: the columns that name a person (none of them means the row), and the neighbour relation."""

    columns: tuple[str, ...]
    neighbours: Neighbours = Neighbours.ADD_REMOVE

    @property
    def is_row(self) -> bool:
        """Whether each row is a unit of its own."""
        return not self.columns

    @property
    def label(self) -> str:
        """The unit in words, with the warning that a row-level guarantee must carry."""
        if self.is_row:
            return "one row (protects rows, not people)"
        return "one " + " and ".join(_distinct_label(column) for column in self.columns)

    def __str__(self) -> str:
        verb = "added or removed" if self.neighbours is Neighbours.ADD_REMOVE else "replaced by another"
        return f"{self.label}, {verb}"


@dataclass(frozen=True)
class Caps:
    """Contribution bounds of one unit: rows in all, groups, rows in each group. None means no such bound."""

    max_rows: int | None = None
    max_groups: int | None = None
    max_rows_per_group: int | None = None

    def __post_init__(self) -> None:
        for name in ("max_rows", "max_groups", "max_rows_per_group"):
            value = getattr(self, name)
            if value is not None:
                object.__setattr__(self, name, _cap(value, name))


def _cap(value: object, name: str) -> int:
    number = whole(value, name)
    if number > LARGEST_CAP:
        raise ParameterError(
            f"{name} beyond 10^15",
            because="no unit has that many rows, and engines count them in 64-bit integers",
            instead=f"{name}=10, or another whole number from 1 on",
        )
    return number


def _distinct_label(column: str) -> str:
    """A name that no other list of columns can be mistaken for."""
    return column if column.isidentifier() else repr(column)


def unit_of(
    privacy_unit: str | tuple[str, ...] | list[str] | Row | None,
    neighbours: Neighbours | Literal["add_remove", "replace_one"] = "add_remove",
) -> Unit:
    """The unit that a person declared; it must be declared."""
    if privacy_unit is None:
        raise UnitError(
            "no privacy_unit",
            because="a privacy guarantee protects a unit, and none was named",
            instead='privacy_unit="patient_id", or dp.ROW where each row is a different person',
        )
    if neighbours not in tuple(Neighbours):
        raise ParameterError(
            f"neighbours={neighbours!r}",
            because="there are two neighbour relations",
            instead='neighbours="add_remove" or neighbours="replace_one"',
        )
    relation = Neighbours(neighbours)
    if isinstance(privacy_unit, Row):
        return Unit((), relation)
    return Unit(_columns(privacy_unit), relation)


def _columns(privacy_unit: object) -> tuple[str, ...]:
    named = [privacy_unit] if isinstance(privacy_unit, str) else privacy_unit
    columns = tuple(named) if isinstance(named, tuple | list) else ()
    if not columns or not all(isinstance(c, str) and c for c in columns) or len(set(columns)) != len(columns):
        raise UnitError(
            f"privacy_unit={privacy_unit!r}",
            because="the unit is a column, several different columns, or dp.ROW",
            instead='privacy_unit="patient_id"',
        )
    return columns
