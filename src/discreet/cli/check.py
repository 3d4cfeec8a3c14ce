"""`discreet check`: whether a catalog can be used, and what is left of each budget."""

from discreet.cli import statements
from discreet.cli.output import print_json
from discreet.cli.statements import CATALOG, AsJson, CatalogPath, LedgerPlace

app = statements.command_app("check")


@app.command("check", epilog="Example: discreet check --catalog catalog.yaml")
def command(catalog: CatalogPath = CATALOG, ledger: LedgerPlace = None, as_json: AsJson = False) -> None:
    """Check a catalog, and print what is left.

    The tables are opened; nothing is charged.
    """
    with statements.open_session(catalog, ledger) as session:
        left = {name: session.remaining(name) for name in session.catalog.protected_tables}
    if as_json:
        print_json({name: {"epsilon": float(each), "text": str(each)} for name, each in left.items()})
        return
    for each in left.values():
        print(each)
    print(f"{catalog}: all is well")
