"""`discreet harm`: whether the privacy unit covers what somebody must not learn."""

from typing import Annotated, Any

import typer

from discreet.cli import statements
from discreet.cli.apps import command_app
from discreet.cli.output import AsJson, print_result
from discreet.cli.statements import CATALOG, CatalogPath, LedgerPlace
from discreet.exact.rounding import double_up
from discreet.release.harms import Coverage, covers, usual_harms
from discreet.session.session import Session

app = command_app("harm")


@app.command("harm", epilog="Example: discreet harm --learns value --of doctor_id --units 40")
def command(
    learns: Annotated[
        str | None,
        typer.Option(
            "--learns", metavar="WHAT", help="What is learned: presence, value or statistic. Default: the usual."
        ),
    ] = None,
    of: Annotated[
        list[str] | None,
        typer.Option(
            "--of", metavar="COLUMN", help="Column that names who is harmed; may be repeated. Default: the unit."
        ),
    ] = None,
    units: Annotated[
        int | None,
        typer.Option("--units", metavar="NUMBER", help="The most units whose rows are about one of them.", min=1),
    ] = None,
    table: Annotated[
        str | None, typer.Option("--table", metavar="TABLE", help="One table. Default: all that have a budget.")
    ] = None,
    catalog: CatalogPath = CATALOG,
    ledger: LedgerPlace = None,
    as_json: AsJson = False,
) -> None:
    """Say whether the privacy unit covers a harm.

    No row is read and nothing is charged.
    """
    with statements.open_session(catalog, ledger) as session:
        found = {name: _verdicts(session, name, learns, of, units) for name in _tables(session, table)}
    document = {name: [*map(_plain, verdicts)] for name, verdicts in found.items()}
    lines = [
        line
        for name, verdicts in found.items()
        for line in (f"{name}, over {verdicts[0].span}", *(f"  {each.verdict}" for each in verdicts))
    ]
    print_result(document, "\n".join(lines), as_json=as_json)


def _tables(session: Session, table: str | None) -> list[str]:
    """The tables that have a budget of their own, or the one that is named."""
    if table is not None:
        return [table]
    return [name for name, facts in session.catalog.tables.items() if facts.budget is not None]


def _verdicts(
    session: Session, table: str, learns: str | None, of: list[str] | None, units: int | None
) -> tuple[Coverage, ...]:
    guarantee = session.remaining(table).guarantee
    if learns is None and of is None and units is None:
        return usual_harms(guarantee)
    learned: Any = "value" if learns is None else learns
    return (covers(guarantee, learns=learned, of=of, units=units),)


def _plain(found: Coverage) -> dict[str, object]:
    numbers = {"epsilon": found.epsilon, "delta": found.delta}
    return {
        "harm": found.harm,
        "covered": found.is_covered,
        "reason": found.reason,
        "over": found.span,
        **{name: None if value is None else double_up(value) for name, value in numbers.items()},
    }
