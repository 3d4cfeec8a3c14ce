"""`discreet run`: charge for a statement, answer it, and save the table."""

from pathlib import Path
from typing import Annotated

import typer

from discreet.cli import statements
from discreet.cli.apps import command_app
from discreet.cli.ledger_options import KeyFile
from discreet.cli.output import AsJson, print_json
from discreet.cli.statements import CATALOG, CatalogPath, Delta, Dialect, Epsilon, File, LedgerPlace
from discreet.release import forms

app = command_app("run")


@app.command("run", no_args_is_help=True, epilog="Example: discreet run query.sql --epsilon 0.5 --out table.csv")
def command(
    file: File,
    epsilon: Epsilon = None,
    delta: Delta = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", help="Save the table, too: .csv, .parquet, .html or .json.", metavar="FILE"),
    ] = None,
    catalog: CatalogPath = CATALOG,
    ledger: LedgerPlace = None,
    key: KeyFile = None,
    dialect: Dialect = None,
    as_json: AsJson = False,
) -> None:
    """Charge for a SELECT statement and answer it.

    The same statement again returns the stored answer at no cost.
    """
    if out is not None:
        forms.require_place(out)
    with statements.open_session(catalog, ledger, key) as session:
        statement = statements.read_statement(file, session, dialect)
        price = statements.number(epsilon, "--epsilon"), statements.number(delta, "--delta")
        table = session.release(statement, epsilon=price[0], delta=price[1])
    if not as_json:
        print(table)
    if out is not None:
        table.save(out)
        typer.echo(f"saved {out}", err=True)
    if as_json:
        print_json(table.to_json())
