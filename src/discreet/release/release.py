"""The noisy table that leaves: values with margins, the guarantee in words, the raw integers, and a receipt.

A release is a value. It saves to JSON with a published schema, `discreet.release/2` (see `schema`), and loads back.
What is computed from it alone costs nothing: totals and ratios with intervals (`total`, `ratio`, `mean`, `share`),
readable forms (`rounded`, `clamped`, `consistent`, `pivot`), and intervals by simulation (`simulate`).
"""

# ruff: noqa: PD011 - the values here are tuples, and none of them is a pandas frame

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import pyarrow as pa

from discreet import plots
from discreet.catalog.catalog import ColumnType, Value
from discreet.errors import ParameterError, UnsupportedError, public_class
from discreet.exact.numbers import shown
from discreet.release import forms, serialization
from discreet.release.document import conditions
from discreet.release.postprocessing.rows import BOUNDS_INSTEAD, NOTHING_FOUND, require_rows
from discreet.release.postprocessing.verbs import PostProcessing, answer_text, find_output
from discreet.release.serialization import SCHEMA, schema
from discreet.release.values import rendering
from discreet.release.values.columns import (
    KEY_TYPES,
    MARGIN,
    Answer,
    Figure,
    Key,
    MeasuredColumn,
    OutputColumn,
    RawAnswers,
    key_arrays,
    output_arrays,
)

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    from matplotlib.figure import Figure as Picture

__all__ = ["KEY_TYPES", "MARGIN", "SCHEMA", "Figure", "Key", "MeasuredColumn", "OutputColumn", "Release", "schema"]

_SHOWN_ROWS = 20
_COLUMNS = ("keys", "outputs", "measured", "raw")


@public_class
@dataclass(frozen=True, kw_only=True, repr=False)
class Release(PostProcessing):
    """A noisy table: an output with its margin of error for each key.

    The header fields (`dataset`, `guarantee`, `receipt`, ...) are those of every result. A release is a sequence of
    rows, each a dictionary; `release["n"]` is a column.

    Attributes:
        keys: Key columns; none without groups.
        outputs: Output columns with their margins of error.
        measured: The noisy integers that outputs are computed from, and their noise.
        unit: The privacy unit, in words.
        columns_read: Columns that the engine read.
        post_processing: What was done with the noisy integers, in words.
        untouched: The outputs before they were rounded, clamped or made consistent; `raw` is the release with them.

    Example:
        >>> import discreet as dp
        >>> people = dp.datasets.people(1_000)
        >>> with dp.testing.protect(people, name="people", privacy_unit=dp.ROW, budget=dp.Budget(epsilon=1)) as session:
        ...     release = session.release(dp.table("people").agg(n=dp.count()), epsilon=0.5)
        >>> release.value()
        1000
        >>> dp.Release.from_json(release.to_json()) == release
        True
    """

    keys: tuple[Key, ...]
    outputs: tuple[OutputColumn, ...]
    measured: tuple[MeasuredColumn, ...]
    unit: str
    columns_read: tuple[str, ...]
    post_processing: tuple[str, ...]
    untouched: RawAnswers | None = None

    _schema: ClassVar = SCHEMA
    _noun: ClassVar = "a release"
    _exact: ClassVar = "exact answers"

    def __len__(self) -> int:
        return len(self.outputs[0].values)

    def __iter__(self) -> Iterator[dict[str, Value | Answer]]:
        """Rows as dictionaries: keys, then each answer beside its margin."""
        columns: dict[str, tuple[Value | Answer, ...]] = {key.name: key.values for key in self.keys}
        for output in self.outputs:
            columns |= {output.name: output.values, output.name + MARGIN: output.margins}
        for row in zip(*columns.values(), strict=True):
            yield dict(zip(columns, row, strict=True))

    def __getitem__(self, name: str) -> tuple[Answer, ...]:
        """The values of an output, by name; None where automatic bounds found nothing."""
        return self._output(name).values

    def margin(self, name: str) -> tuple[Answer, ...]:
        """Margins of error of an output, one per row.

        Args:
            name: Name of the output.

        Returns:
            Half-widths of the confidence intervals, in the unit of the output; of a quantile, in ranks.
        """
        return self._output(name).margins

    def value(self, name: str | None = None) -> Answer:
        """The value of an output of a release without groups.

        Args:
            name: Name of the output. Default: the first.

        Returns:
            The noisy value; None if automatic bounds found nothing.

        Raises:
            ParameterError: If the release has groups.
        """
        chosen = self.outputs[0].name if name is None else name
        values = self[chosen]
        if len(values) != 1:
            raise ParameterError(
                f"value() of a release with {len(values)} rows",
                because="each key has its own" if values else "no key was kept",
                instead=f"release[{chosen!r}]",
            )
        return values[0]

    def to_arrow(self) -> pa.Table:
        """The release as an Arrow table.

        Returns:
            Key columns, then each output beside its margin of error. The metadata of its schema has the header of the
            release, as JSON under the name `discreet`: the query, the guarantee and the receipt.
        """
        columns = key_arrays(self.keys)
        for output in self.outputs:
            columns |= output_arrays(output)
        return pa.table(columns).replace_schema_metadata({"discreet": json.dumps(self.header(), ensure_ascii=False)})

    def header(self) -> dict[str, Any]:
        """Everything but the columns, as plain data: the query, the guarantee and the receipt.

        Returns:
            A dictionary for `json.dumps`.
        """
        return {name: value for name, value in self._unsigned().items() if name not in _COLUMNS}

    def to_pandas(self) -> "pd.DataFrame":
        """The release as a pandas DataFrame.

        Returns:
            The columns of `to_arrow`. Integer keys with a missing one have the type Int64.

        Raises:
            UnsupportedError: If pandas is not installed.
        """
        holed = {k.name: "Int64" for k in self.keys if k.type is ColumnType.INTEGER and None in k.values}
        return forms.pandas_frame(self.to_arrow()).astype(holed)

    def to_polars(self) -> "pl.DataFrame":
        """The release as a Polars DataFrame.

        Returns:
            The columns of `to_arrow`.

        Raises:
            UnsupportedError: If Polars is not installed.
        """
        return forms.polars_frame(self.to_arrow())

    def plot(self, name: str | None = None) -> "Picture":
        """Values with error bars; needs `pip install "discreet[plots]"`.

        Args:
            name: Name of the output to draw. Default: all outputs, a panel each.

        Returns:
            A Matplotlib figure that notebooks show.

        Raises:
            UnsupportedError: If matplotlib is not installed, or automatic bounds found nothing.
        """
        drawn = self._outputs_to_plot(name)
        require_rows(range(len(self)), len(self), "a plot")
        table = self.to_arrow()
        label = None
        if self.keys:
            label = " / ".join(key.name for key in self.keys)
            text = [
                " / ".join(map(rendering.cell, row)) for row in zip(*(key.values for key in self.keys), strict=True)
            ]
            table = pa.table({label: text, **{n: table[n] for o in drawn for n in (o.name, o.name + MARGIN)}})
        return plots.error_bars(
            table,
            key=label,
            value=[output.name for output in drawn],
            margin=[None if output.margin_of else output.name + MARGIN for output in drawn],
            title=self._title(drawn),
            label=drawn[0].name,
            confidence=float(self.confidence),
            whiskers=None if self.private else "NOT PRIVATE: exact; whiskers: the margin that a release would have",
            caption=self._caption(),
            bare=next((f"margins are in {o.margin_of}: see the table" for o in drawn if o.margin_of), None),
        )

    def _outputs_to_plot(self, name: str | None) -> tuple[OutputColumn, ...]:
        """The named output, or all of them; the first alone where the lines of all would be too many to read."""
        chosen = self.outputs if name is None else (self._output(name),)
        found = tuple(output for output in chosen if output.is_found)
        if chosen and not found:
            raise UnsupportedError(
                f"a plot of {', '.join(repr(output.name) for output in chosen)}",
                because=NOTHING_FOUND,
                instead=BOUNDS_INSTEAD,
            )
        return found if len(self) * len(found) <= plots.MOST_KEYS else found[:1]

    def _caption(self) -> str | None:
        """The conditions on rows, and the guarantee of an answer that is private."""
        where = conditions(self.document)
        lines = [*([f"where {'; '.join(where)}"] if where else []), *([self.guarantee] if self.private else [])]
        return ". ".join(lines) or None

    def _title(self, drawn: tuple[OutputColumn, ...]) -> str:
        what = ", ".join(f"{output.kind} {output.name!r}" for output in drawn)
        rest = "" if len(drawn) == len(self.outputs) else f" ({len(drawn)} of {len(self.outputs)} outputs)"
        lost = [output.name for output in self.outputs if not output.is_found]
        rest += f", nothing found for {', '.join(lost)}" if lost else ""
        return f"{what} of {self.dataset}{rest}" + ("" if self.private else " - NOT PRIVATE")

    def save(self, path: str | Path) -> None:
        """Write the release to a file: JSON, or HTML, CSV or Parquet if the name ends so.

        Beside a CSV file its JSON is written as a sidecar, `table.csv.json`.

        Args:
            path: Path of the file. An existing file is replaced.

        Raises:
            UnsupportedError: If the name of the file ends as another format does, or generated data would be saved in
                a form without a label.
        """
        texts = {".json": self._json_text, ".csv": lambda: forms.csv_text(self.to_arrow()), ".html": self._page}
        forms.require_label(Path(path), self.dataset)
        forms.save(Path(path), texts, self.to_arrow)

    @classmethod
    def load(cls, path: str | Path) -> "Release":
        """Read a release from a JSON file, or from the sidecar of a CSV file.

        Args:
            path: Path of a JSON or CSV file that `save` wrote.

        Returns:
            A release equal to the one that was saved.

        Raises:
            ParameterError: If the file is not there, is damaged, has another schema, or is a CSV file whose numbers
                are not those of its sidecar.
        """
        found = cls.from_json(forms.read_plain(Path(path)))
        forms.require_same_csv(Path(path), found.to_arrow)
        return found

    def _repr_html_(self) -> str:
        head, rows = self.cells()
        return rendering.card(self._stamp(), rendering.html_table(head, rows), (*self._more(), *self._notes()))

    def _body_to_json(self) -> dict[str, Any]:
        return serialization.plain_body(vars(self))

    @classmethod
    def _body_from_json(cls, data: dict[str, Any]) -> dict[str, Any]:
        return serialization.read_body(data)

    def _body_lines(self) -> list[str]:
        head, rows = self.cells()
        return [*rendering.text_table(head, rows, len(self.keys)), *self._more()]

    def _json_text(self) -> str:
        return json.dumps(self.to_json(), indent=1, ensure_ascii=False) + "\n"

    def _page(self) -> str:
        """A page of HTML with all rows, the document and the header."""
        head, rows = self.cells(len(self))
        lines = (
            *(() if self.document is None else self.document.lines()),
            ("guarantee", self.guarantee),
            ("charged", f"at {self.receipt.get('time', '')}, receipt {str(self.receipt.get('hash', ''))[:12]}"),
            *(("post-processing", step) for step in self.post_processing),
            ("signed", self.signature_text()),
        )
        title = f"Release from {self.dataset}, version {self.version}"
        notes = [*self._stamp(), *self._body_notes()]
        return forms.page(title, notes, rendering.html_table(head, rows, len(self.keys)), lines)

    def cells(self, most: int = _SHOWN_ROWS) -> tuple[list[str], list[list[str]]]:
        """The table as text: keys, then each output with its margin of error.

        Args:
            most: The largest number of rows. Default 20.

        Returns:
            The names of the columns, and the first rows.
        """
        head = [rendering.cell(name) for name in (*(k.name for k in self.keys), *(o.name for o in self.outputs))]
        rows = [
            [rendering.cell(key.values[i]) for key in self.keys] + [answer_text(output, i) for output in self.outputs]
            for i in range(min(len(self), most))
        ]
        return head, rows

    def _more(self) -> list[str]:
        if not len(self):
            return ["no key was kept"]
        beyond = len(self) - _SHOWN_ROWS
        return [f"... {beyond:,} more rows: release.to_pandas() has all"] if beyond > 0 else []

    def _body_notes(self) -> list[str]:
        steps = self.post_processing[len(self.raw.post_processing) :]
        return [
            f"± holds {shown(100 * self.confidence)}% of the time, for the noise",
            *self._unfound(),
            *(f"changed  {step}; release.raw has what was released" for step in steps),
        ]

    def _unfound(self) -> list[str]:
        names = [output.name for output in self.outputs if not output.is_found]
        why = "too few rows were seen at this price; it cost what a number would have cost"
        return [f"nothing  automatic bounds found nothing for {', '.join(names)}: {why}"] if names else []

    def _output(self, name: str) -> OutputColumn:
        return find_output(self.outputs, name)
