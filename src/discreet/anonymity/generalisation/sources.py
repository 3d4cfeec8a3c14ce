"""The cube and the levels that a search or a partition works on: given, or counted from a source by its engine."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Protocol, runtime_checkable

import numpy as np
import pyarrow as pa

from discreet.anonymity.classes.cube import Cube
from discreet.anonymity.classes.cube import cube as count_people
from discreet.anonymity.generalisation.levels import GeneralisationLevels
from discreet.errors import NameNotFoundError, ParameterError, TypeMismatchError, suggestion


@runtime_checkable
class LevelsOfValues(Protocol):
    """A hierarchy, as far as the search needs it."""

    def levels(self, values: pa.Array) -> GeneralisationLevels:
        """The levels of distinct values."""
        ...


def open_cube(
    source: object,
    quasi: Sequence[str],
    sensitive: str | None = None,
    *,
    person: str | None = None,
    table: str | None = None,
) -> Cube:
    """The cube with these quasi-identifiers, in this order, and at most one sensitive column."""
    if isinstance(quasi, str) or not quasi:
        raise ParameterError(
            "no quasi-identifiers", because="at least one column is generalised", instead='["zip", "birth_date"]'
        )
    if len(set(quasi)) < len(quasi) or sensitive in quasi:
        raise ParameterError(
            f"columns {[*quasi, sensitive]}",
            because="each column is listed once",
            instead=f"{list(dict.fromkeys(quasi))}",
        )
    if isinstance(source, Cube):
        return _select(source, quasi, sensitive, person)
    return count_people(source, quasi, [sensitive] if sensitive else [], person=person, table=table)


def _select(cube: Cube, quasi: Sequence[str], sensitive: str | None, person: str | None) -> Cube:
    """A cube with some of its columns; classes of columns that are left out add up, persons stay."""
    if person is not None:
        raise ParameterError(
            f"person={person!r} with a cube", because="a cube already knows its persons", instead="search(cube, ...)"
        )
    names = [*quasi, *([sensitive] if sensitive else [])]
    for name in names:
        if name not in cube.codes:
            raise NameNotFoundError(
                f"column {name!r}", because="the cube does not have it", instead=suggestion(name, list(cube.codes))
            )
    return replace(
        cube,
        quasi=tuple(quasi),
        sensitive=(sensitive,) if sensitive else (),
        people=cube.people.astype(np.int64),
        values={name: cube.values[name] for name in names},
        codes={name: cube.codes[name] for name in names},
    )


def levels_of_column(name: str, hierarchy: object, cube: Cube) -> GeneralisationLevels:
    """The levels of the distinct values of a column, from its hierarchy or as they are given."""
    if isinstance(hierarchy, GeneralisationLevels):
        levels = hierarchy
    elif isinstance(hierarchy, LevelsOfValues):
        levels = hierarchy.levels(cube.values[name])
    else:
        raise TypeMismatchError(
            f"a hierarchy of type {type(hierarchy).__name__} for {name!r}",
            because="a column is generalised by a hierarchy or by its levels",
            instead=f'{{"{name}": dp.anonymity.hierarchies.digits()}}',
        )
    if any(len(codes) != len(cube.values[name]) for codes in levels.codes):
        raise ParameterError(
            f"the levels of {name!r}",
            because="they have not one code for each distinct value",
            instead=f'hierarchy.levels(cube.values["{name}"])',
        )
    return levels
