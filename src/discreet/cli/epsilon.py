"""`discreet epsilon`: the smallest epsilon for a margin of error, for free."""

from typing import Annotated

import typer

from discreet.cli import statements
from discreet.cli.apps import command_app
from discreet.cli.output import AsJson, print_result
from discreet.cli.statements import CATALOG, CatalogPath, Delta, Dialect, File, LedgerPlace

app = command_app("epsilon")


@app.command("epsilon", no_args_is_help=True, epilog="Example: discreet epsilon query.sql --margin 50")
def command(
    file: File,
    margin: Annotated[
        float, typer.Option("--margin", metavar="NUMBER", help="Largest margin of error, in the unit of the output.")
    ],
    output: Annotated[
        str | None, typer.Option("--output", metavar="NAME", help="Name of the output. Default: all of them.")
    ] = None,
    delta: Delta = None,
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
        given = statements.number(delta, "--delta")
        found = session.epsilon_for(statement, margin=margin, output=output, delta=given)
    print_result({"epsilon": found}, found, as_json=as_json)
