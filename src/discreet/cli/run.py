"""`discreet run`: charge for a statement, answer it, and save the table."""

import json
from pathlib import Path
from typing import Annotated

import typer

from discreet.cli import statements
from discreet.cli.statements import CATALOG, AsJson, CatalogPath, Delta, Dialect, Epsilon, File, LedgerPlace

app = statements.command_app("run")


@app.command("run", no_args_is_help=True)
def command(
    file: File,
    epsilon: Epsilon = None,
    delta: Delta = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", help="Save the table: .csv, .parquet, .html or .json. Default: print it.", metavar="FILE"
        ),
    ] = None,
    catalog: CatalogPath = CATALOG,
    ledger: LedgerPlace = None,
    dialect: Dialect = None,
    as_json: AsJson = False,
) -> None:
    """Charge for a SELECT statement and answer it.

    The same statement again returns the stored answer at no cost.
    """
    with statements.open_session(catalog, ledger) as session:
        statement = statements.read_statement(file, session, dialect)
        cost, rare = statements.number(epsilon, "--epsilon"), statements.number(delta, "--delta")
        table = session.release(statement, epsilon=cost, delta=rare)
    if out is not None:
        table.save(out)
        typer.echo(f"saved {out}", err=True)
    print(json.dumps(table.to_json(), ensure_ascii=False) if as_json else table)
