"""`discreet epsilon`: the smallest epsilon for a margin of error, for free."""

import json
from typing import Annotated

import typer

from discreet.cli import statements
from discreet.cli.statements import CATALOG, AsJson, CatalogPath, Dialect, File, LedgerPlace

app = statements.command_app("epsilon")


@app.command("epsilon", no_args_is_help=True)
def command(
    file: File,
    margin: Annotated[float, typer.Option("--margin", help="Largest margin of error, in the unit of the output.")],
    output: Annotated[str | None, typer.Option("--output", help="Name of the output. Default: all of them.")] = None,
    catalog: CatalogPath = CATALOG,
    ledger: LedgerPlace = None,
    dialect: Dialect = None,
    as_json: AsJson = False,
) -> None:
    """Print the smallest epsilon for a margin of error.

    No row is read and nothing is charged.
    """
    with statements.open_session(catalog, ledger) as session:
        statement = statements.read_statement(file, session, dialect)
        found = session.epsilon_for(statement, margin=margin, output=output)
    print(json.dumps({"epsilon": found}) if as_json else found)
