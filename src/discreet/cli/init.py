"""`discreet init`: the draft of a catalog, from the names and declared types of a file or from other systems' metadata.

No row is read: a CSV file declares names alone, and a Parquet file names and types.
"""

from pathlib import Path
from typing import Annotated, Any

import pyarrow as pa
import typer

from discreet.catalog.columns import ColumnType
from discreet.catalog.imports.draft import OPEN, DraftColumn, DraftFact, DraftTable, MetadataOrigin, open_budget, write
from discreet.catalog.imports.importer import import_catalog
from discreet.cli.apps import command_app
from discreet.cli.output import AsJson, print_result
from discreet.cli.statements import CATALOG
from discreet.engines import source_of
from discreet.errors import ParameterError

app = command_app("init")
_ORIGIN = "with provenance: how they are known without the data"
_TYPES = "integer, real, text, boolean, date or timestamp"


@app.command("init", no_args_is_help=True, epilog="Example: discreet init visits.csv --out draft.yaml")
def command(
    source: Annotated[
        Path,
        typer.Argument(metavar="FILE", help="A CSV or Parquet file; or metadata, with --from.", show_default=False),
    ],
    form: Annotated[
        str | None, typer.Option("--from", help="Read metadata of smartnoise, bigquery or snowflake.", metavar="SYSTEM")
    ] = None,
    delimiter: Annotated[
        str | None,
        typer.Option("--delimiter", metavar="TEXT", help="What separates the columns of a CSV file. Default: a comma."),
    ] = None,
    out: Annotated[Path, typer.Option("--out", help="Where the draft is written.", metavar="FILE")] = CATALOG,
    as_json: AsJson = False,
) -> None:
    """Draft a catalog from a file.

    Names and declared types are read, and no row. The owner replaces every DECIDE; `discreet check` then opens it.
    """
    if out.exists():
        raise ParameterError(
            f"a draft at {str(out)!r}",
            because="a file of that name is there, and it may hold decisions",
            instead="--out with another name",
        )
    metadata: Any = form
    text = draft_file(source, delimiter) if form is None else import_catalog(source, form=metadata)
    _write(out, text)
    decisions = text.count("# decide:")
    wrote = f"wrote {out}; {decisions} comments in it say what to decide"
    text = f"{wrote}\nthen run `discreet check --catalog {out}`"
    print_result({"catalog": str(out), "decisions": decisions}, text, as_json=as_json)


def _write(out: Path, text: str) -> None:
    try:
        out.write_text(text, encoding="utf-8")
    except OSError:
        raise ParameterError(
            f"a draft at {str(out)!r}",
            because="the directory is not there, or cannot be written",
            instead=f"--out {out.name}",
        ) from None


def draft_file(path: Path, delimiter: str | None = None) -> str:
    """The draft of a catalog of one table, in YAML."""
    found = source_of(str(path), delimiter=delimiter)
    declared = {} if found.schema is None else {each.name: column_type(each.type) for each in found.schema}
    table = DraftTable(
        place=path.name,
        facts={
            "source": DraftFact(str(path), "the command line"),
            "privacy_unit": DraftFact(None, decide="the column that says whose a row is, or dp.ROW"),
            "max_rows": DraftFact(OPEN, decide="how many rows of one unit count"),
        },
        budget=open_budget(),
        columns={name: _column(declared.get(name)) for name in found.columns},
    )
    if found.kind == "csv" and delimiter not in (None, ","):
        table.facts["delimiter"] = DraftFact(delimiter, "the command line")
    return write({path.name.split(".")[0]: table}, MetadataOrigin("names and declared types", path.name))


def column_type(kind: pa.DataType) -> ColumnType | None:
    """The type of a column by the type that a file declares; None where the owner decides."""
    tests = (
        (pa.types.is_boolean, ColumnType.BOOLEAN),
        (pa.types.is_integer, ColumnType.INTEGER),
        (pa.types.is_floating, ColumnType.REAL),
        (pa.types.is_decimal, ColumnType.REAL),
        (pa.types.is_date, ColumnType.DATE),
        (pa.types.is_timestamp, ColumnType.TIMESTAMP),
        (pa.types.is_string, ColumnType.TEXT),
        (pa.types.is_large_string, ColumnType.TEXT),
    )
    return next((found for is_kind, found in tests if is_kind(kind)), None)


def _column(kind: ColumnType | None) -> DraftColumn:
    if kind is None:
        return DraftColumn(
            {"type": DraftFact(OPEN, decide=_TYPES)}, decisions=[f"bounds: [low, high] or keys: [...], {_ORIGIN}"]
        )
    decisions = [f"bounds: [low, high], {_ORIGIN}"] if kind in (ColumnType.INTEGER, ColumnType.REAL) else []
    decisions += [f"keys: [...], if its values are public, {_ORIGIN}"] if kind is ColumnType.TEXT else []
    return DraftColumn({"type": DraftFact(str(kind), "the file")}, decisions=decisions)
