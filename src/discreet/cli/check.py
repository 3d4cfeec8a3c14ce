"""`discreet check`: whether a catalog can be used, what is left of each budget, and which bounds have no provenance."""

from typing import Any

from discreet.catalog.catalog import Catalog
from discreet.cli import statements
from discreet.cli.apps import command_app
from discreet.cli.output import AsJson, print_result
from discreet.cli.statements import CATALOG, CatalogPath, LedgerPlace

app = command_app("check")


@app.command("check", epilog="Example: discreet check --catalog catalog.yaml")
def command(catalog: CatalogPath = CATALOG, ledger: LedgerPlace = None, as_json: AsJson = False) -> None:
    """Check a catalog, and print what is left.

    The tables are opened; nothing is charged. Bounds and keys without a provenance are listed.
    """
    with statements.open_session(catalog, ledger) as session:
        unexplained = without_provenance(session.catalog)
        left = {name: session.remaining(name) for name in session.catalog.protected_tables}
    public: dict[str, dict[str, Any]] = {name: {"public": True} for name in unexplained if name not in left}
    stated = public | {name: {"epsilon": float(each), "text": str(each)} for name, each in left.items()}
    document = {name: stated[name] | {"without_provenance": columns} for name, columns in unexplained.items()}
    lines = [*map(str, left.values())]
    for name, columns in unexplained.items():
        if columns:
            lines.append(f"{name}: no provenance for the bounds or keys of {', '.join(columns)}")
    print_result(document, "\n".join([*lines, f"{catalog}: all is well"]), as_json=as_json)


def without_provenance(catalog: Catalog) -> dict[str, list[str]]:
    """Of each table the columns whose bounds or keys have no stated origin."""
    return {
        name: [
            column
            for column, facts in table.columns.items()
            if (facts.bounds is not None or facts.keys is not None) and not (facts.provenance or "").strip()
        ]
        for name, table in catalog.tables.items()
    }
