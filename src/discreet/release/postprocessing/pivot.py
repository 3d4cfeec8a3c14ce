"""A table in two directions, for reading: one key down, one key across, an answer in each cell."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa

from discreet.catalog.catalog import Value
from discreet.errors import ParameterError
from discreet.release.values import rendering
from discreet.release.values.columns import KEY_TYPES, Answer, Key, figure_array

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Pivot:
    """Two-way table of one output. Print it to read it.

    Attributes:
        rows: Key of the rows.
        columns: Key of the columns.
        cells: Values; None where the release has none.
        texts: Values as text, with their margins.
        stamp: Lines above the table. Default: none.
        notes: Lines below the table. Default: none.

    Example:
        >>> import discreet as dp
        >>> facts = {"name": "visits", "privacy_unit": "patient_id", "max_rows": 10, "budget": dp.Budget(epsilon=2)}
        >>> session = dp.testing.protect(dp.datasets.visits(100), **facts)
        >>> keys = {"urgent": [False, True], "ward": ["cardiology", "emergency"]}
        >>> query = dp.table("visits").group_by("urgent", "ward", keys=keys).agg(n=dp.count())
        >>> session.release(query, epsilon=1).pivot("ward", "urgent").to_arrow().num_rows
        2
    """

    rows: Key
    columns: Key
    cells: tuple[tuple[Answer, ...], ...]
    texts: tuple[tuple[str, ...], ...]
    stamp: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    def to_arrow(self) -> pa.Table:
        """The key of the rows, then a column of values for each key of the columns.

        Returns:
            An Arrow table.
        """
        across = zip(*self.cells, strict=True)
        named = {rendering.cell(name): _array(column) for name, column in zip(self.columns.values, across, strict=True)}
        return pa.table({self.rows.name: pa.array(self.rows.values, KEY_TYPES[self.rows.type]), **named})

    def to_pandas(self) -> "pd.DataFrame":
        """The same as a pandas DataFrame, indexed by the key of the rows.

        Returns:
            A pandas DataFrame.

        Raises:
            Refusal: If pandas is not installed.
        """
        frame: pd.DataFrame = self.to_arrow().to_pandas().set_index(self.rows.name)
        return frame

    def __str__(self) -> str:
        return "\n".join([*self.stamp, *rendering.text_table(self._head(), self._lines(), 1), *self.notes])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return rendering.card(self.stamp, rendering.html_table(self._head(), self._lines(), 1), self.notes)

    def _head(self) -> list[str]:
        corner = f"{rendering.cell(self.rows.name)} \\ {rendering.cell(self.columns.name)}"
        return [corner, *map(rendering.cell, self.columns.values)]

    def _lines(self) -> list[list[str]]:
        pairs = zip(self.rows.values, self.texts, strict=True)
        return [[rendering.cell(value), *texts] for value, texts in pairs]


def make_pivot(rows: Key, columns: Key, values: Sequence[Answer], texts: Sequence[str]) -> Pivot:
    """Values and their texts, one for each row of both keys, set out in two directions."""
    places: dict[tuple[Value, Value], int] = {}
    for place, cell in enumerate(zip(rows.values, columns.values, strict=True)):
        if cell in places:
            raise ParameterError(
                f"two answers for {rows.name}={cell[0]!r} and {columns.name}={cell[1]!r}",
                because="the release is grouped by more keys than the two that are shown",
                instead=f'where={{"another key": value}}, or release.total("n", by=[{rows.name!r}, {columns.name!r}])',
            )
        places[cell] = place
    down, across = (tuple(dict.fromkeys(key.values)) for key in (rows, columns))
    found = [[places.get((one, other)) for other in across] for one in down]
    return Pivot(
        rows=Key(rows.name, rows.type, down),
        columns=Key(columns.name, columns.type, across),
        cells=tuple(tuple(None if place is None else values[place] for place in line) for line in found),
        texts=tuple(tuple("" if place is None else texts[place] for place in line) for line in found),
    )


def _array(values: tuple[Answer, ...]) -> pa.Array:
    known = tuple(value for value in values if value is not None)
    return figure_array(known) if len(known) == len(values) else pa.array(values, pa.float64())
