"""The cube and the levels that a search or a partition works on: given, or counted from a source by its engine."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Protocol, runtime_checkable

import numpy as np
import pyarrow as pa

from discreet.anonymity.classes.column_lists import names_of, one_column
from discreet.anonymity.classes.cube import Cube
from discreet.anonymity.classes.cube import cube as count_people
from discreet.anonymity.classes.roles import require_hidden_persons, require_roles
from discreet.anonymity.generalisation.hierarchies.base import plain_values, text_of
from discreet.anonymity.generalisation.levels import GeneralisationLevels
from discreet.errors import NameNotFoundError, ParameterError, TypeMismatchError, suggestion


@runtime_checkable
class LevelsOfValues(Protocol):
    """A hierarchy, as far as a search and a recoding need it."""

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
    memory_limit: str | None = None,
) -> Cube:
    """The cube with these quasi-identifiers, in this order, and at most one sensitive column."""
    if isinstance(quasi, list) and not quasi:
        raise ParameterError(
            "no quasi-identifiers", because="at least one column is generalised", instead='["zip", "birth_date"]'
        )
    quasi = names_of(quasi, "quasi")
    if sensitive is not None:
        one_column(sensitive, "sensitive", example='"disease"')
    require_hidden_persons(quasi, person)
    require_roles(quasi, [sensitive] if sensitive else [], person)
    if isinstance(source, Cube):
        return _select(source, quasi, sensitive, person)
    values = [sensitive] if sensitive else []
    return count_people(source, quasi, values, person=person, table=table, memory_limit=memory_limit)


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


def levels_of_column(name: str, hierarchy: object, values: pa.Array) -> GeneralisationLevels:
    """The levels of the distinct values of a column, from its hierarchy or as they are given.

    Levels that are given are found by their labels at level 0, never by their position: the order in which an engine
    counts values says nothing.
    """
    if isinstance(hierarchy, GeneralisationLevels):
        return _match_values(name, hierarchy, values)
    if not isinstance(hierarchy, LevelsOfValues):
        raise TypeMismatchError(
            f"a hierarchy of type {type(hierarchy).__name__} for {name!r}",
            because="a column is generalised by a hierarchy or by its levels",
            instead=f'{{"{name}": dp.anonymity.hierarchies.digits()}}',
        )
    try:
        levels = hierarchy.levels(values)
    except (ParameterError, TypeMismatchError) as error:
        raise type(error)(f"{name!r}: {error.what}", because=error.because, instead=error.instead) from None
    if len(levels.codes[0]) != len(values):
        raise ParameterError(
            f"the levels of {name!r}",
            because="they have not one code for each distinct value",
            instead=f'hierarchy.levels(cube.values["{name}"])',
        )
    return levels


def _match_values(name: str, levels: GeneralisationLevels, values: pa.Array) -> GeneralisationLevels:
    """The levels of these values in their order; the levels may know further values."""
    texts = text_of(plain_values(values)).to_pylist()
    places = {label: place for place, label in enumerate(levels.labels[0])}
    if tuple(texts) == levels.labels[0]:
        return levels
    absent = sum(text not in places for text in texts)
    if absent or len(places) < len(levels.labels[0]):
        raise ParameterError(
            f"levels of {name!r} whose level 0 has {f'no label for {absent:,} values' if absent else 'a label twice'}",
            because="values are found by their text at level 0",
            instead=f'hierarchy.levels(cube.values["{name}"]), or a label for each value as a CSV file has it',
        )
    chosen = np.array([places[text] for text in texts], dtype=np.int64)
    codes = (np.arange(len(texts), dtype=np.int64), *(each[chosen] for each in levels.codes[1:]))
    return GeneralisationLevels(codes, (tuple(texts), *levels.labels[1:]))
