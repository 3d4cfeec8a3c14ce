"""`discreet synth`: charge for a synthetic table, write its rows, and save its model; or rows of a saved one."""

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import pyarrow as pa
import typer

from discreet import synthesis
from discreet.catalog.catalog import Column
from discreet.cli import statements
from discreet.cli.apps import command_app
from discreet.cli.examples import examples
from discreet.cli.ledger_options import KeyFile
from discreet.cli.output import AsJson, print_json
from discreet.cli.plan import explanation_document
from discreet.cli.statements import CATALOG, CatalogPath, LedgerPlace
from discreet.cli.synthesis_options import advise_options, bounds_in, names_in
from discreet.cli.terminal import print_fitting
from discreet.errors import UnsupportedError
from discreet.query.frame import table as table_named
from discreet.query.synthesis import SynthesisQuery
from discreet.release import forms
from discreet.release.found_slots import FoundSlots
from discreet.release.model import require_json_path
from discreet.release.synthetic import SyntheticTable

app = command_app("synth")
SYNTHESIZERS = {
    "graphical": "GraphicalSynthesizer",
    "independent": "IndependentSynthesizer",
    "tree": "TreeSynthesizer",
}
"""The synthesizers of `dp.synthesis`, by the words of `--synthesizer`."""
DEFAULT = "graphical"


@app.command(
    "synth",
    no_args_is_help=True,
    epilog=examples("discreet synth people --epsilon 1 --columns age,sex --out rows.parquet --save people.json"),
)
def command(
    name: Annotated[
        str | None, typer.Argument(metavar="TABLE", help="A table of the catalog. Without --from.", show_default=False)
    ] = None,
    epsilon: Annotated[
        str | None, typer.Option("--epsilon", metavar="NUMBER", help="The privacy cost of the whole table.")
    ] = None,
    synthesizer: Annotated[
        str, typer.Option("--synthesizer", metavar="NAME", help="graphical, tree or independent.")
    ] = DEFAULT,
    columns: Annotated[
        str | None,
        typer.Option("--columns", metavar="NAMES", help="Columns with commas between. Default: all but the unit."),
    ] = None,
    workload: Annotated[
        list[str] | None,
        typer.Option(
            "--workload", metavar="NAMES", help="Columns whose relation matters: age,income; may be repeated."
        ),
    ] = None,
    bounds: Annotated[
        list[str] | None,
        typer.Option(
            "--bounds",
            metavar="NAME=LOW,HIGH",
            help="Bounds of a column of numbers, dates or times: admitted=2020-01-01,2024-12-31; may be repeated.",
        ),
    ] = None,
    slots: Annotated[
        Path | None,
        typer.Option("--slots", help="Slots that were found privately: a file of found.save.", metavar="FILE"),
    ] = None,
    rows: Annotated[
        int | None,
        typer.Option("--rows", metavar="NUMBER", help="Rows to draw. Default: a noisy count of the data's.", min=0),
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", "--output", help="Write rows: .csv or .parquet.", metavar="FILE")
    ] = None,
    save: Annotated[
        Path | None, typer.Option("--save", help="Save model, guarantee and receipt: .json.", metavar="FILE")
    ] = None,
    explain: Annotated[
        bool, typer.Option("--explain", help="Print the cost and what is measured; charge nothing.")
    ] = False,
    source: Annotated[
        Path | None, typer.Option("--from", help="Rows of a saved synthetic table, for free.", metavar="FILE")
    ] = None,
    catalog: CatalogPath = CATALOG,
    ledger: LedgerPlace = None,
    key: KeyFile = None,
    as_json: AsJson = False,
) -> None:
    """Charge for a synthetic table, and write its rows.

    The same table again returns the stored one at no cost. With --from nothing is opened but the saved file.
    """
    _require_one_source(name, source)
    declared = (epsilon, columns, workload, bounds, slots)
    chosen = explain or synthesizer != DEFAULT or any(each is not None for each in declared)
    if source is not None and chosen:
        raise typer.BadParameter("--from takes --rows, --out and --save alone: the saved table is what it is")
    if source is None and epsilon is None:
        raise typer.BadParameter("--epsilon states what the table costs, such as 1")
    price = statements.number(epsilon, "--epsilon")
    place = Place(out, save, rows)
    if not explain:
        place.require()
    if source is not None:
        place.write(SyntheticTable.load(source), as_json=as_json)
        return
    wanted = Wanted(
        str(name), synthesizer, columns, workload, bounds, None if slots is None else FoundSlots.load(slots)
    )
    wanted.require()
    with statements.open_session(catalog, ledger, key) as session, advise_options(wanted.name, epsilon):
        query = wanted.query(session.catalog.table(wanted.name).columns)
        if explain:
            found = session.explain(query, epsilon=price)
            print_json(explanation_document(found)) if as_json else print_fitting(str(found), sys.stdout)
            return
        table = session.release(query, epsilon=price)
    place.write(table, as_json=as_json)


@dataclass(frozen=True)
class Place:
    """Where rows and model go, and how many rows."""

    out: Path | None
    save: Path | None
    rows: int | None

    def require(self) -> None:
        """Refuse places that cannot be written, before anything is charged."""
        if self.out is None and self.save is None:
            raise typer.BadParameter("--out names a file for the rows, --save one for the model; --explain needs none")
        if self.out is not None:
            if self.out.suffix.lower() not in (".csv", ".parquet"):
                raise UnsupportedError(
                    f"rows in {str(self.out)!r}",
                    because="rows are written as CSV or as Parquet",
                    instead=f"--out {self.out.with_suffix('.parquet')}",
                )
            forms.require_place(self.out, "rows")
        if self.save is not None:
            require_json_path(self.save)

    def write(self, table: SyntheticTable, *, as_json: bool) -> None:
        """Write the files, then print the table, its guarantee and its free quality."""
        drawn = table.to_arrow(self.rows)
        saved: list[Path] = []
        if self.out is not None:
            saved += _write_rows(table, drawn, self.out)
        if self.save is not None:
            table.save(self.save)
            saved.append(self.save)
        quality = table.quality(drawn.num_rows) if drawn.num_rows else None
        if as_json:
            figures = None if quality is None else quality.to_json()
            print_json(_document(table, drawn) | {"files": [*map(str, saved)], "quality": figures})
            return
        print_fitting(str(table) if quality is None else f"{table}\n\n{quality}", sys.stdout)
        for path in saved:
            number = f": {drawn.num_rows:,} rows" if path == self.out else ""
            typer.echo(f"saved {path}{number}", err=True)


@dataclass(frozen=True)
class Wanted:
    """The synthetic table that is wanted, as options say it."""

    name: str
    synthesizer: str
    columns: str | None
    workload: list[str] | None
    bounds: list[str] | None
    slots: FoundSlots | None

    def require(self) -> None:
        """Refuse a synthesizer that is not known, and lists of names that are none, before a session is opened."""
        if self.synthesizer not in SYNTHESIZERS:
            raise typer.BadParameter(f"--synthesizer is one of {', '.join(SYNTHESIZERS)}")
        self._lists()

    def query(self, columns: Mapping[str, Column]) -> SynthesisQuery:
        """The query, of a table with these columns."""
        kind: Any = getattr(synthesis, SYNTHESIZERS[self.synthesizer])
        listed, marginals = self._lists()
        declared: dict[str, Any] = {"bounds": bounds_in(self.bounds, columns), "slots": self.slots}
        return table_named(self.name).synthesize(kind(), columns=listed, workload=marginals, **declared)

    def _lists(self) -> tuple[list[str] | None, list[list[str]] | None]:
        listed = None if self.columns is None else names_in(self.columns, "--columns")
        return listed, [names_in(each, "--workload") for each in self.workload] if self.workload else None


def _require_one_source(name: str | None, source: Path | None) -> None:
    if (name is None) == (source is None):
        raise typer.BadParameter("a table of the catalog, or --from with a saved synthetic table")


def _write_rows(table: SyntheticTable, drawn: pa.Table, path: Path) -> list[Path]:
    """Write rows; beside a CSV file stands the release that they are of, since it has no place for a guarantee."""
    if path.suffix.lower() == ".parquet":
        table.to_parquet(path, drawn.num_rows)
        return [path]
    forms.require_label(path, table.dataset)
    path.write_text(forms.csv_text(drawn), encoding="utf-8", newline="")
    table.save(forms.sidecar(path))
    return [path, forms.sidecar(path)]


def _document(table: SyntheticTable, drawn: pa.Table) -> dict[str, Any]:
    """What a program reads of a table; the model is in the saved file."""
    return {
        "dataset": table.dataset,
        "synthesizer": table.name,
        "columns": list(table.columns),
        "rows": drawn.num_rows,
        "private": table.private,
        "guarantee": table.guarantee,
        "repeated": table.repeated,
        "receipt": table.receipt,
    }
