"""The table that a statement gives: columns of SELECT, computed from the releases of its queries."""

# ruff: noqa: PD011 - the values here are tuples, and none of them is a pandas frame

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from discreet.errors import ParameterError, public_class, suggestion
from discreet.exact.numbers import shown
from discreet.release import forms
from discreet.release.document import conditions
from discreet.release.noisy_columns import HIGH, LOW, Arithmetic, KeyOf, Order, TableRecipe, Values, evaluate
from discreet.release.release import Release
from discreet.release.signed import statement
from discreet.release.values import rendering

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl

SCHEMA = "discreet.sql/1"
DIALECTS = ("duckdb", "postgres", "spark", "bigquery", "snowflake")
"""The dialects of SQL that a statement is read in."""
_SHOWN_ROWS = 20


@public_class
@dataclass(frozen=True)
class SqlRelease:
    """A noisy table: the columns of SELECT, with the ends of confidence intervals beside numbers.

    Everything in it is computed from `releases`, which are signed, and costs nothing more.

    Attributes:
        text: The statement.
        dialect: The dialect it is written in.
        recipe: How the table is computed from the releases.
        releases: The releases of its queries.

    Example:
        >>> import discreet as dp
        >>> people = dp.datasets.people(1_000)
        >>> with dp.testing.protect(people, name="people", privacy_unit=dp.ROW, budget=dp.Budget(epsilon=1)) as session:
        ...     table = session.sql("SELECT COUNT(*) AS n FROM people", epsilon=0.5)
        >>> table["n"]
        (1000,)
    """

    text: str
    dialect: str
    recipe: TableRecipe = field(repr=False)
    releases: tuple[Release, ...]

    def __len__(self) -> int:
        return len(self._rows)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """Rows as dictionaries: columns of SELECT, each number beside the ends of its interval."""
        yield from self.to_arrow().to_pylist()

    def __getitem__(self, name: str) -> tuple[Any, ...]:
        """The values of a column."""
        return self._column(name).values

    def interval(self, name: str) -> tuple[tuple[float | None, float | None], ...]:
        """Ends of the confidence intervals of a column, one pair per row.

        Args:
            name: Name of the column.

        Returns:
            Pairs of a lower and an upper end; None where the end is not known, as for a quantile.
        """
        found = self._column(name)
        nothing = (None,) * len(found.values)
        return tuple(zip(found.lows or nothing, found.highs or nothing, strict=True))

    @property
    def has_one_receipt(self) -> bool:
        """Whether all releases are of one charge, whose guarantee the table states."""
        return len({str(release.receipt.get("hash")) for release in self.releases}) == 1

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns of SELECT."""
        return tuple(self.recipe.columns)

    def to_arrow(self) -> pa.Table:
        """The table for other tools.

        Returns:
            Columns of SELECT; beside numbers with an interval, its ends under the names `n_low` and `n_high`.
        """
        arrays: dict[str, pa.Array] = {}
        for name in self.columns:
            found = self._column(name)
            arrays[name] = pa.array(found.values)
            if found.lows is not None and found.highs is not None:
                ends = {name + LOW: found.lows, name + HIGH: found.highs}
                arrays |= {end: pa.array(side, pa.float64()) for end, side in ends.items()}
        header = {**self._header(), "releases": [release.header() for release in self.releases]}
        return pa.table(arrays).replace_schema_metadata({"discreet": json.dumps(header, ensure_ascii=False)})

    def to_pandas(self) -> "pd.DataFrame":
        """The table as a pandas DataFrame.

        Returns:
            The columns of `to_arrow`.

        Raises:
            UnsupportedError: If pandas is not installed.
        """
        return forms.pandas_frame(self.to_arrow())

    def to_polars(self) -> "pl.DataFrame":
        """The table as a Polars DataFrame.

        Returns:
            The columns of `to_arrow`.

        Raises:
            UnsupportedError: If Polars is not installed.
        """
        return forms.polars_frame(self.to_arrow())

    def to_json(self) -> dict[str, Any]:
        """The table as plain data, with the releases that it is computed from.

        Returns:
            A dictionary for `json.dumps`.
        """
        return {
            **self._header(),
            "table": json.loads(_json_text(self.to_arrow())),
            "recipe": self.recipe.to_json(),
            "releases": [each.to_json() for each in self.releases],
        }

    @classmethod
    def from_json(cls, data: Any) -> "SqlRelease":
        """The table that `to_json` wrote. It is computed again from its releases.

        Args:
            data: Plain data, as `json.loads` returns it.

        Returns:
            A table equal to the one that was written.

        Raises:
            ParameterError: If the data has another schema, is damaged, or its table does not follow from its releases.
        """
        try:
            found = cls(
                data["statement"],
                data["dialect"],
                TableRecipe.from_json(data["recipe"]),
                tuple(Release.from_json(each) for each in data["releases"]),
            )
            is_same = statement(found.to_json()) == statement(data) and found.has_one_receipt
            is_same = is_same and type(data["statement"]) is str and found.dialect in DIALECTS
        except (
            ArithmeticError,
            AttributeError,
            IndexError,
            KeyError,
            RuntimeError,
            StopIteration,
            TypeError,
            ValueError,
        ):
            is_same = False
        if not is_same:
            raise ParameterError(
                "the table of a statement that is damaged",
                because="its columns do not follow from the releases in it",
                instead="what to_json() or save(...) wrote, unchanged",
            )
        return found

    def save(self, path: str | Path) -> None:
        """Write the table to a file: JSON, or HTML, CSV or Parquet if the name ends so.

        Args:
            path: Path of the file. An existing file is replaced. Beside a CSV file its JSON is a sidecar.

        Raises:
            UnsupportedError: If the name of the file ends as another format does, or generated data would be saved in
                a form without a label.
        """
        texts = {".json": self._text, ".csv": lambda: forms.csv_text(self.to_arrow()), ".html": self._page}
        forms.require_label(Path(path), self.releases[0].dataset)
        forms.save(Path(path), texts, self.to_arrow)

    @classmethod
    def load(cls, path: str | Path) -> "SqlRelease":
        """Read the table of a statement from a JSON file, or from the sidecar of a CSV file.

        Args:
            path: Path of a JSON or CSV file that `save` wrote.

        Returns:
            A table equal to the one that was saved.

        Raises:
            ParameterError: If the file is not there, is damaged, has another schema, or is a CSV file whose numbers
                are not those of its sidecar.
        """
        found = cls.from_json(forms.read_plain(Path(path)))
        forms.require_same_csv(Path(path), found.to_arrow)
        return found

    def __str__(self) -> str:
        head, rows = self.cells(_SHOWN_ROWS)
        more = len(self) - _SHOWN_ROWS
        return "\n".join(
            [
                *self._stamp(),
                *rendering.text_table(head, rows, self.text_columns),
                *([f"... {more:,} more rows: .to_pandas() has all"] if more > 0 else []),
                *self._notes(),
            ]
        )

    __repr__ = __str__

    def _repr_html_(self) -> str:
        head, rows = self.cells(_SHOWN_ROWS)
        table = rendering.html_table(head, rows, self.text_columns)
        return rendering.card(self._stamp(), table, self._notes())

    def _stamp(self) -> list[str]:
        private, dataset = all(release.private for release in self.releases), self.releases[0].dataset
        return rendering.stamp("exact answers", private=private, dataset=dataset)

    def _page(self) -> str:
        head, rows = self.cells(len(self))
        lines = [("statement", " ".join(self.text.split()))]
        for release in self.releases:
            lines += [*(() if release.document is None else release.document.lines()), ("guarantee", release.guarantee)]
        table = rendering.html_table(head, rows, self.text_columns)
        notes = [*self._stamp(), *self._notes()]
        return forms.page(f"Release from {self.releases[0].dataset}", notes, table, tuple(lines))

    def _text(self) -> str:
        return json.dumps(self.to_json(), indent=1, ensure_ascii=False) + "\n"

    def _header(self) -> dict[str, Any]:
        return {
            "schema": SCHEMA,
            "statement": self.text,
            "dialect": self.dialect,
            "guarantee": self.releases[0].guarantee,
            "notes": self._remarks(),
        }

    @cached_property
    def _rows(self) -> tuple[int, ...]:
        """The rows of the releases that are in the table, in its order."""
        having = self.recipe.having
        kept = range(len(self.releases[0]))
        if having is not None:
            is_met = evaluate(having, self.releases).values
            kept = [row for row in kept if is_met[row] is True]  # type: ignore[assignment]
        ordered = list(kept)
        for order in reversed(self.recipe.order):
            ordered = _sort_rows(ordered, order, evaluate(order.column, self.releases).values)
        start, most = self.recipe.offset, self.recipe.limit
        return tuple(ordered[start : None if most is None else start + most])

    @cached_property
    def _columns(self) -> dict[str, Values]:
        return {
            name: _take_rows(evaluate(column, self.releases), self._rows)
            for name, column in self.recipe.columns.items()
        }

    def _column(self, name: str) -> Values:
        try:
            return self._columns[name]
        except KeyError:
            raise ParameterError(
                f"column {name!r}", because="SELECT has no column of that name", instead=suggestion(name, self.columns)
            ) from None

    def _is_bare(self, name: str) -> bool:
        """Whether a column has noisy numbers without an interval."""
        found = self._column(name)
        return isinstance(self.recipe.columns[name], Arithmetic) and found.lows is None

    @property
    def text_columns(self) -> int:
        """Number of columns before the first noisy number; they hold keys."""
        columns = list(self.recipe.columns.values())
        return next((i for i, column in enumerate(columns) if not isinstance(column, KeyOf)), len(columns))

    def cells(self, most: int = _SHOWN_ROWS) -> tuple[list[str], list[list[str]]]:
        """The table as text: the columns of SELECT, numbers with their intervals.

        Args:
            most: The largest number of rows. Default 20.

        Returns:
            The names of the columns, and the first rows.
        """
        head = [rendering.cell(name) for name in self.columns]
        rows = [[_cell(self._column(name), row) for name in self.columns] for row in range(min(len(self), most))]
        return head, rows

    def _notes(self) -> list[str]:
        first = self.releases[0]
        where = [f"where    {condition}" for condition in conditions(first.document)]
        cost = rendering.cost_notes(first.guarantee, first.receipt, repeated=first.repeated)
        return [*where, *self._remarks(), *cost]

    def _remarks(self) -> list[str]:
        """What holds of intervals and keys."""
        level = shown(100 * self.releases[0].confidence)
        notes = [f"each interval holds {level}% of the time, for the noise"]
        if self.recipe.selects:
            notes = [
                f"each interval holds {level}% of the time before rows were chosen by their noisy numbers, not after"
            ]
        if any(self._is_bare(name) for name in self.columns):
            notes.append("numbers without ± have no interval, because their noise is not known in this form")
        return [*notes, *(line for release in self.releases for line in _found_keys(release))]


def _found_keys(release: Release) -> list[str]:
    """The line that says how unknown keys were found, and that some are missing."""
    groups = dict(release.document.query).get("groups", "") if release.document is not None else ""
    return [f"groups   {groups}; rare keys are missing"] if "public key" not in groups and groups else []


def _sort_rows(rows: list[int], order: Order, values: tuple[Any, ...]) -> list[int]:
    present = [row for row in rows if values[row] is not None]
    missing = [row for row in rows if values[row] is None]
    present.sort(key=lambda row: values[row], reverse=order.descending)
    return [*missing, *present] if order.nulls_first else [*present, *missing]


def _take_rows(found: Values, rows: tuple[int, ...]) -> Values:
    sides = (found.values, found.lows, found.highs, found.texts)
    return Values(*(None if side is None else tuple(side[row] for row in rows) for side in sides))  # type: ignore[arg-type]


def _cell(column: Values, row: int) -> str:
    value = column.values[row]
    if column.texts is not None:
        return column.texts[row]
    if not isinstance(value, int | float) or isinstance(value, bool):
        return rendering.cell(value)
    if column.lows is None or column.highs is None:
        return rendering.figure(value, 0)
    low, high = column.lows[row], column.highs[row]
    if low is None or high is None:
        return f"{rendering.figure(value, 0)} (no interval)"
    margin = max(high - value, value - low)
    if isinstance(value, int):
        margin = round(margin)
    if abs((high - value) - (value - low)) <= 1e-6 * max(1.0, margin):
        return f"{rendering.figure(value, margin)} ± {rendering.figure(margin, margin)}"
    return f"{rendering.figure(value, margin)} ({rendering.figure(low, margin)} to {rendering.figure(high, margin)})"


def _json_text(table: pa.Table) -> str:
    return json.dumps({name: table[name].to_pylist() for name in table.column_names}, default=str, ensure_ascii=False)
