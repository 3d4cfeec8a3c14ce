"""`discreet preview`: the answer of a statement on generated data, for free."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from discreet.catalog.catalog import Catalog
from discreet.cli import statements
from discreet.cli.address import is_address
from discreet.cli.apps import command_app
from discreet.cli.output import AsJson, print_json
from discreet.cli.statements import CATALOG, CatalogPath, Delta, Dialect, Epsilon, File
from discreet.cli.terminal import print_fitting
from discreet.query.sql.dialects import DEFAULT
from discreet.query.sql.statement import sql
from discreet.release.synthetic import SyntheticTable
from discreet.session.preview import preview

app = command_app("preview")


@app.command("preview", no_args_is_help=True, epilog="Example: discreet preview query.sql --epsilon 0.5")
def command(
    file: File,
    epsilon: Epsilon = None,
    delta: Delta = None,
    catalog: CatalogPath = CATALOG,
    dialect: Dialect = None,
    synthetic: Annotated[
        Path | None,
        typer.Option("--synthetic", help="Answer on the rows of this saved synthetic table.", metavar="FILE"),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Answer a statement on generated data.

    Rows are generated from the catalog alone, or are those of a released synthetic table. No source is opened, and
    nothing is charged.
    """
    facts = Catalog.load(catalog)
    statement = sql(statements.read_text(file), dialect=dialect or _dialect(facts))
    price = statements.number(epsilon, "--epsilon"), statements.number(delta, "--delta")
    rows = None if synthetic is None else SyntheticTable.load(synthetic)
    table = preview(facts, statement, epsilon=price[0], delta=price[1], synthetic=rows)
    if as_json:
        label = "generated_data" if rows is None else "synthetic_data"
        print_json({label: True, **table.to_json()})
    else:
        print_fitting(str(table), sys.stdout)


def _dialect(catalog: Catalog) -> str:
    """The dialect of the engine that would answer, by the place of the first table."""
    first = next(iter(catalog.tables.values()), None)
    return "postgres" if first is not None and first.source and is_address(first.source) else DEFAULT
