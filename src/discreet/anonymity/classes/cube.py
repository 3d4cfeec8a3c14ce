"""Count cube: people by quasi-identifiers and sensitive values, small enough to search in memory.

A row of the cube is a base class: one combination of values of all columns. Where each person has one row, a base class
holds a number of people and coarser classes are sums of base classes. Where persons have several rows, sums would count
them several times: the cube then has one row for each pair of a person and a base class.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet.anonymity.classes.base_groups import read_groups
from discreet.anonymity.classes.column_lists import names_of
from discreet.anonymity.classes.keys import renumber
from discreet.anonymity.classes.roles import require_roles
from discreet.anonymity.owners import STAMP
from discreet.engines.exact_tables import open_table
from discreet.engines.sql.blocks import TYPES
from discreet.errors import public_class, short_traceback
from discreet.release.values import rendering

Codes = NDArray[np.int64]


@public_class
@dataclass(frozen=True, repr=False)
class Cube:
    """Base classes as codes into the distinct values of each column.

    Attributes:
        quasi: Names of the quasi-identifiers.
        sensitive: Names of the sensitive columns; may be empty.
        values: For each column its distinct values; code i stands for `values[name][i]`, and a null is a value.
        codes: For each column one code a row of the cube.
        people: Number of people in each row of the cube; 1 where `persons` is given.
        persons: Code of the person of each row, where persons have several rows; otherwise None.

    Example:
        >>> import discreet as dp
        >>> import pyarrow as pa
        >>> dp.anonymity.cube(pa.table({"age": [30, 30, 40]}), ["age"]).total
        3
    """

    quasi: tuple[str, ...]
    sensitive: tuple[str, ...]
    values: Mapping[str, pa.Array]
    codes: Mapping[str, Codes]
    people: Codes
    persons: Codes | None = None

    def __repr__(self) -> str:
        """The size and the names of columns: values, codes and persons are not printed."""
        names = ", ".join(rendering.cell(name) for name in (*self.quasi, *self.sensitive))
        return f"Cube of {self.total:,} people in {len(self.people):,} rows by {names}. {STAMP}"

    @property
    def total(self) -> int:
        """Number of people."""
        if self.persons is None:
            return int(self.people.sum())
        return int(self.persons.max(initial=-1)) + 1


@short_traceback
def cube(
    source: object,
    quasi: Sequence[str],
    sensitive: Sequence[str] = (),
    *,
    person: str | None = None,
    table: str | None = None,
    memory_limit: str | None = None,
) -> Cube:
    """Count the people of a source by quasi-identifiers and sensitive values, with one GROUP BY in its engine.

    Args:
        source: A path, frame or table, as for `dp.protect`.
        quasi: Names of the quasi-identifiers.
        sensitive: Names of the sensitive columns. Default: none.
        person: Column that names the person of a row; a row without one is a person of its own. Default: each row is
            a person. The cube has persons only where one of them has several rows.
        table: Name of the table, where the source is a database.
        memory_limit: Memory of the engine, such as "4GB". Default: the engine's own.

    Returns:
        The cube.

    Raises:
        ParameterError: If columns are not a list of distinct names, or a sensitive column is a quasi-identifier or the
            column of persons too.
        NameNotFoundError: If the source does not have a column.

    Example:
        >>> import discreet as dp
        >>> import pyarrow as pa
        >>> found = dp.anonymity.cube(pa.table({"age": [30, 30, 40]}), ["age"])
        >>> sorted(found.people.tolist()), found.total
        ([1, 2], 3)
    """
    quasi, sensitive = names_of(quasi, "quasi", least=0), names_of(sensitive, "sensitive", least=0)
    require_roles(quasi, sensitive, person)
    with open_table(source, table=table, memory_limit=memory_limit) as rows:
        groups = read_groups(rows, [*quasi, *sensitive], person, are_distinct=True)
        kinds = rows.column_types(list(groups.values))
    codes = {name: each.astype(np.int64) for name, each in groups.codes.items()}
    persons = groups.people.persons
    numbers = None if persons is None else renumber(persons.astype(np.int64))[0]
    # a table without rows has no batch, and its columns still have a type
    values = {name: each if len(each) else pa.array([], TYPES[kinds[name]]) for name, each in groups.values.items()}
    return Cube(quasi, sensitive, values, codes, groups.people.counts, numbers)
