"""The noisy table that leaves: values with margins, the guarantee in words, the raw integers, and a receipt.

A release is a value. It saves to JSON with a published schema, `discreet.release/1` (see `schema`), and loads back.
"""

# ruff: noqa: PD011 - the values here are tuples, and none of them is a pandas frame

import datetime as dt
import html
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from discreet import plots
from discreet.catalog import ColumnType, Value
from discreet.errors import ParameterError, UnsupportedError
from discreet.exact import shown

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    from matplotlib.figure import Figure as Picture

Figure = int | float

SCHEMA = "discreet.release/1"
MARGIN = "_margin"
_SHOWN_ROWS = 20
_SMALLEST_MARGIN = 1e-9
_OTHER_FORMS = {
    ".csv": "release.to_pandas().to_csv",
    ".tsv": "release.to_pandas().to_csv",
    ".xlsx": "release.to_pandas().to_excel",
    ".parquet": "release.to_pandas().to_parquet",
    ".html": "release.to_pandas().to_html",
    ".png": "release.plot().savefig",
    ".pdf": "release.plot().savefig",
    ".svg": "release.plot().savefig",
}
KEY_TYPES: dict[ColumnType, pa.DataType] = {
    ColumnType.INTEGER: pa.int64(),
    ColumnType.TEXT: pa.string(),
    ColumnType.BOOLEAN: pa.bool_(),
    ColumnType.DATE: pa.date32(),
    ColumnType.TIMESTAMP: pa.timestamp("us"),
}


@dataclass(frozen=True)
class Output:
    """A named column of answers, each with its margin at the release's confidence: whole numbers where they are.

    Margins are in the numbers of the values, or of what `margin_of` names, such as ranks.
    """

    name: str
    kind: str
    values: tuple[Figure, ...]
    margins: tuple[Figure, ...]
    margin_of: str = ""


@dataclass(frozen=True)
class Measured:
    """Noisy integers as they were drawn, in steps of a public grid, with the noise that is on them.

    There is one for each row of the release, unless `places` says what else they stand for, such as nodes of a tree.
    """

    measure: str
    mechanism: str
    scale: float
    l1: int
    l2_squared: int
    grid: Fraction
    steps: tuple[int, ...]
    places: str = ""


@dataclass(frozen=True)
class Key:
    """A grouping column and its keys, one per row of the release."""

    name: str
    type: ColumnType
    values: tuple[Value, ...]


@dataclass(frozen=True)
class Release:
    """Answers with error bars, what they cost, whom they protect, and the receipt of the charge."""

    dataset: str
    version: int
    keys: tuple[Key, ...]
    outputs: tuple[Output, ...]
    measured: tuple[Measured, ...]
    confidence: Fraction
    guarantee: str
    unit: str
    columns_read: tuple[str, ...]
    post_processing: tuple[str, ...]
    receipt: dict[str, Any] = field(repr=False)
    private: bool = True
    library: str = ""
    repeated: bool = field(default=False, compare=False)

    def __len__(self) -> int:
        return len(self.outputs[0].values)

    def __iter__(self) -> Iterator[dict[str, Value | Figure]]:
        """Rows as dictionaries: keys, then each answer beside its margin."""
        columns: dict[str, tuple[Value | Figure, ...]] = {key.name: key.values for key in self.keys}
        for output in self.outputs:
            columns |= {output.name: output.values, output.name + MARGIN: output.margins}
        for row in zip(*columns.values(), strict=True):
            yield dict(zip(columns, row, strict=True))

    def __getitem__(self, name: str) -> tuple[Figure, ...]:
        """The values of an output, by name."""
        return self._output(name).values

    def margin(self, name: str) -> tuple[Figure, ...]:
        """The margins of an output, by name."""
        return self._output(name).margins

    def value(self, name: str | None = None) -> Figure:
        """The one value of a release without groups."""
        chosen = self.outputs[0].name if name is None else name
        values = self[chosen]
        if len(values) != 1:
            raise ParameterError(
                f"value() of a release with {len(values)} rows",
                because="each key has its own",
                instead=f"release[{chosen!r}]",
            )
        return values[0]

    def to_arrow(self) -> pa.Table:
        """Key columns, then each output beside its margin."""
        columns: dict[str, pa.Array] = {key.name: pa.array(key.values, KEY_TYPES[key.type]) for key in self.keys}
        for output in self.outputs:
            columns[output.name] = _array(output.values)
            columns[output.name + MARGIN] = _array(output.margins)
        return pa.table(columns)

    def to_pandas(self) -> "pd.DataFrame":
        """The table as a pandas DataFrame; whole keys beside a missing one stay whole, as Int64."""
        holed = {k.name: "Int64" for k in self.keys if k.type is ColumnType.INTEGER and None in k.values}
        try:
            frame: pd.DataFrame = self.to_arrow().to_pandas(integer_object_nulls=True)
        except ImportError:
            raise _not_installed("pandas") from None
        return frame.astype(holed)

    def to_polars(self) -> "pl.DataFrame":
        """The table as a Polars DataFrame."""
        try:
            import polars as pl  # noqa: PLC0415 - optional
        except ImportError:
            raise _not_installed("polars") from None
        return pl.DataFrame(self.to_arrow())

    def plot(self, name: str | None = None) -> "Picture":
        """Values with error bars, a panel for each output or the named one (needs pip install "discreet[plots]")."""
        drawn = self._drawn(name)
        table = self.to_arrow()
        label = None
        if self.keys:
            label = " / ".join(key.name for key in self.keys)
            text = [" / ".join(map(_cell, row)) for row in zip(*(key.values for key in self.keys), strict=True)]
            table = pa.table({label: text, **{n: table[n] for o in drawn for n in (o.name, o.name + MARGIN)}})
        return plots.error_bars(
            table,
            key=label,
            value=[output.name for output in drawn],
            margin=[output.name + MARGIN for output in drawn],
            title=self._title(drawn),
            label=drawn[0].name,
            confidence=float(self.confidence),
            whiskers=None if self.private else "NOT PRIVATE: exact; whiskers: the margin that a release would have",
            caption=self.guarantee if self.private else None,
        )

    def _drawn(self, name: str | None) -> tuple[Output, ...]:
        """The named output, or all of them; the first alone where the lines of all would be too many to read."""
        if name is not None:
            return (self._output(name),)
        return self.outputs if len(self) * len(self.outputs) <= plots.MOST_KEYS else self.outputs[:1]

    def _title(self, drawn: tuple[Output, ...]) -> str:
        what = ", ".join(f"{output.kind} {output.name!r}" for output in drawn)
        rest = "" if len(drawn) == len(self.outputs) else f" ({len(drawn)} of {len(self.outputs)} outputs)"
        return f"{what} of {self.dataset}{rest}" + ("" if self.private else " - NOT PRIVATE")

    def to_json(self) -> dict[str, Any]:
        """The release as plain data, in the published schema."""
        return {
            "schema": SCHEMA,
            "library": self.library,
            "private": self.private,
            "dataset": {"name": self.dataset, "version": self.version},
            "guarantee": self.guarantee,
            "unit": self.unit,
            "confidence": _text(self.confidence),
            "keys": [{"name": k.name, "type": str(k.type), "values": [_plain(v) for v in k.values]} for k in self.keys],
            "outputs": [_said(o) | {"values": list(o.values), "margins": list(o.margins)} for o in self.outputs],
            "measured": [_said(m) | {"grid": _text(m.grid), "steps": list(m.steps)} for m in self.measured],
            "columns_read": list(self.columns_read),
            "post_processing": list(self.post_processing),
            "receipt": self.receipt,
        }

    @classmethod
    def from_json(cls, data: Any) -> "Release":
        """The release that `to_json` wrote."""
        written = data.get("schema") if isinstance(data, dict) else None
        if written != SCHEMA:
            raise ParameterError(
                f"a release of schema {written!r}",
                because=f"this version reads {SCHEMA}",
                instead="a file that release.save(...) wrote, or a newer version of discreet",
            )
        try:
            return cls(**_fields(data))
        except (ArithmeticError, AttributeError, KeyError, TypeError, ValueError):
            raise ParameterError(
                "a release that is damaged",
                because=f"it does not have the shape of {SCHEMA}",
                instead="the file as release.save(...) wrote it",
            ) from None

    def save(self, path: str | Path) -> None:
        """Write the release as JSON."""
        other = _OTHER_FORMS.get(Path(path).suffix.lower())
        if other is not None:
            raise UnsupportedError(
                f"save({str(path)!r})",
                because="a release is saved as JSON, with its margins, its guarantee and its receipt",
                instead=f"release.save({str(Path(path).with_suffix('.json'))!r}), or {other}({str(path)!r})",
            )
        Path(path).write_text(json.dumps(self.to_json(), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")

    @classmethod
    def load(cls, path: str | Path) -> "Release":
        """Read a release that `save` wrote."""
        try:
            data = json.loads(Path(path).read_text(encoding="utf-8"))
        except (OSError, ValueError, RecursionError):
            raise ParameterError(
                f"a release at {str(path)!r}",
                because="no readable JSON is there",
                instead="the path of a file that release.save(...) wrote",
            ) from None
        return cls.from_json(data)

    def __str__(self) -> str:
        head, rows = self._cells()
        widths = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
        lines = [_line(row, widths, len(self.keys)) for row in (head, *rows)]
        return "\n".join([*self._stamp(), *lines, *self._more(), *self._notes()])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        head, rows = self._cells()
        cells = "".join(f'<th scope="col">{html.escape(text)}</th>' for text in head)
        body = "".join("<tr>" + "".join(f"<td>{html.escape(text)}</td>" for text in row) + "</tr>" for row in rows)
        table = f"<table><thead><tr>{cells}</tr></thead><tbody>{body}</tbody></table>"
        notes = "".join(f"<div>{html.escape(note)}</div>" for note in (*self._more(), *self._notes()))
        stamp = "".join(f"<strong>{html.escape(text)}</strong>" for text in self._stamp())
        return f"<div>{stamp}{table}<small>{notes}</small></div>"

    def _cells(self) -> tuple[list[str], list[list[str]]]:
        """The names of the columns, and the rows that are shown."""
        head = [_cell(name) for name in (*(k.name for k in self.keys), *(o.name for o in self.outputs))]
        rows = [
            [_cell(key.values[i]) for key in self.keys] + [_answer(output, i) for output in self.outputs]
            for i in range(min(len(self), _SHOWN_ROWS))
        ]
        return head, rows

    def _more(self) -> list[str]:
        return (
            [f"... {len(self) - _SHOWN_ROWS:,} more rows: release.to_pandas() has all"]
            if len(self) > _SHOWN_ROWS
            else []
        )

    def _stamp(self) -> list[str]:
        return [] if self.private else ["NOT PRIVATE: exact answers from dp.testing, for tests only"]

    def _notes(self) -> list[str]:
        receipt = str(self.receipt.get("hash", ""))[:12]
        return [
            f"± holds {shown(100 * self.confidence)}% of the time, for the noise",
            f"spent    {self.guarantee}",
            *(["repeat   this question was answered before; the stored answer is free"] if self.repeated else []),
            *([f"receipt  {receipt}"] if receipt else []),
        ]

    def _output(self, name: str) -> Output:
        for output in self.outputs:
            if output.name == name:
                return output
        raise ParameterError(
            f"output {name!r}",
            because="the release has no output of that name",
            instead=f"one of {', '.join(repr(o.name) for o in self.outputs)}",
        )


def schema() -> dict[str, Any]:
    """The JSON schema of a saved release."""
    text = resources.files("discreet").joinpath("schemas/release-1.json").read_text(encoding="utf-8")
    result: dict[str, Any] = json.loads(text)
    return result


def _line(cells: list[str], widths: list[int], text_columns: int) -> str:
    padded = [
        cell.ljust(width) if i < text_columns else cell.rjust(width)
        for i, (cell, width) in enumerate(zip(cells, widths, strict=True))
    ]
    return "  ".join(padded).rstrip()


def _figure(value: Figure, margin: Figure) -> str:
    """A number with as many decimals as its margin makes meaningful."""
    if isinstance(value, int) and isinstance(margin, int):
        return f"{value:,}"
    if not margin or margin < _SMALLEST_MARGIN:
        return f"{value:,.6g}"
    decimals = 0
    while margin * 10**decimals < 10:
        decimals += 1
    return f"{value:,.{decimals}f}"


def _answer(output: Output, row: int) -> str:
    value, margin = output.values[row], output.margins[row]
    if output.margin_of:
        return f"{value:,.6g} ± {_figure(margin, margin)} {output.margin_of}"
    return f"{_figure(value, margin)} ± {_figure(margin, margin)}"


def _cell(value: Value) -> str:
    """A key as text on one line: what cannot be seen is written as its code."""
    text = "(missing)" if value is None else str(value)
    return text if text.isprintable() else "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)


def _array(values: tuple[Figure, ...]) -> pa.Array:
    if all(isinstance(value, int) and abs(value) < 2**63 for value in values):
        return pa.array(values, pa.int64())
    return pa.array([float(value) for value in values], pa.float64())


def _said(part: Output | Measured) -> dict[str, Any]:
    """The fields of a part that say something: words that are empty are left out."""
    return {name: value for name, value in vars(part).items() if value != ""}


def _text(value: Fraction) -> str:
    return f"{value.numerator}/{value.denominator}"


def _plain(value: Value) -> str | int | bool | None:
    return value.isoformat() if isinstance(value, dt.date | dt.datetime) else value


def _fields(data: dict[str, Any]) -> dict[str, Any]:
    """The fields of a release, read from plain data."""
    plain = {name: data[name] for name in ("guarantee", "unit", "receipt", "private", "library")}
    fields = plain | {
        "dataset": data["dataset"]["name"],
        "version": data["dataset"]["version"],
        "keys": tuple(_key(k) for k in data["keys"]),
        "outputs": tuple(
            Output(**o | {part: tuple(o[part]) for part in ("values", "margins")}) for o in data["outputs"]
        ),
        "measured": tuple(
            Measured(**m | {"grid": Fraction(m["grid"]), "steps": tuple(m["steps"])}) for m in data["measured"]
        ),
        "confidence": Fraction(data["confidence"]),
        "columns_read": tuple(data["columns_read"]),
        "post_processing": tuple(data["post_processing"]),
    }
    columns = [k.values for k in fields["keys"]] + [c for o in fields["outputs"] for c in (o.values, o.margins)]
    if len({len(column) for column in (*columns, *(m.steps for m in fields["measured"] if not m.places))}) != 1:
        raise ValueError("columns of different lengths")
    return fields


def _not_installed(name: str) -> UnsupportedError:
    return UnsupportedError(
        f"to_{name}()", because=f"{name} is not installed", instead=f'pip install "discreet[{name}]", or to_arrow()'
    )


def _key(data: dict[str, Any]) -> Key:
    kind = ColumnType(data["type"])
    parse = {ColumnType.DATE: dt.date.fromisoformat, ColumnType.TIMESTAMP: dt.datetime.fromisoformat}.get(kind)
    values = tuple(parse(v) if parse and v is not None else v for v in data["values"])
    return Key(data["name"], kind, values)
