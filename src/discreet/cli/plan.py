"""`discreet plan`: cost and margins of error of a statement, for free."""

from typing import Any

from discreet.accounting.costs import Cost
from discreet.cli import statements
from discreet.cli.apps import command_app
from discreet.cli.output import AsJson, print_result
from discreet.cli.statements import CATALOG, CatalogPath, Delta, Dialect, Epsilon, File, LedgerPlace
from discreet.ledger.records.receipt import cost_texts
from discreet.release.explanation import BatchExplanation, Explanation

app = command_app("plan")


@app.command("plan", no_args_is_help=True, epilog="Example: discreet plan query.sql --epsilon 0.5")
def command(
    file: File,
    epsilon: Epsilon = None,
    delta: Delta = None,
    catalog: CatalogPath = CATALOG,
    ledger: LedgerPlace = None,
    dialect: Dialect = None,
    as_json: AsJson = False,
) -> None:
    """Print the cost and accuracy of a statement.

    No row is read and nothing is charged.
    """
    with statements.open_session(catalog, ledger) as session:
        statement = statements.read_statement(file, session, dialect)
        price = statements.number(epsilon, "--epsilon"), statements.number(delta, "--delta")
        found = session.explain(statement, epsilon=price[0], delta=price[1])
    print_result(explanation_document(found), found, as_json=as_json)


def explanation_document(found: Explanation | BatchExplanation) -> dict[str, object]:
    """Cost, what is left, and the outputs of each query, as plain data."""
    units: Any = found.units
    parts = (found,) if isinstance(found, Explanation) else found.parts
    return {
        "cost": found.cost,
        "charge": cost_texts(Cost(**units)),
        "left": found.left,
        "fits": found.fits,
        "queries": [*map(_plain, parts)],
    }


def _plain(part: Explanation) -> dict[str, object]:
    outputs = [
        {"name": each.name, "kind": each.kind, "margin": None if each.margin is None else float(each.margin)}
        for each in part.outputs
    ]
    return {"dataset": part.dataset, "groups": part.groups, "mechanism": part.mechanism, "outputs": outputs}
