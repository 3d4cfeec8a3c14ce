"""What the commands on SQL statements share: their options, the session of a catalog, and the text of a statement."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Annotated

import typer

from discreet.cli.opening import open_ledger_at
from discreet.errors import ParameterError
from discreet.query.sql.limits import LONGEST
from discreet.query.sql.statement import Statement, sql
from discreet.session.session import Session

File = Annotated[
    Path,
    typer.Argument(metavar="FILE", help="A file with one SELECT statement; - is standard input.", show_default=False),
]
CatalogPath = Annotated[Path, typer.Option("--catalog", help="The catalog of the tables.", metavar="FILE")]
LedgerPlace = Annotated[
    str | None,
    typer.Option("--ledger", help="A ledger in a file, or postgresql://... Default: the one at home.", metavar="WHERE"),
]
Dialect = Annotated[
    str | None,
    typer.Option(
        "--dialect", metavar="NAME", help="duckdb, postgres, spark, bigquery or snowflake. Default: the engine's."
    ),
]
Epsilon = Annotated[
    str | None, typer.Option("--epsilon", metavar="NUMBER", help="The privacy cost. Default: that of OPTIONS.")
]
Delta = Annotated[
    str | None,
    typer.Option("--delta", metavar="NUMBER", help="Finds unknown keys of GROUP BY. Default: keys are public."),
]
CATALOG = Path("catalog.yaml")


def number(text: str | None, option: str) -> Decimal | None:
    """The exact number that an option gives; refused where it is not one."""
    try:
        value = None if text is None else Decimal(text)
    except InvalidOperation:
        value = Decimal("NaN")
    if value is not None and not value.is_finite():
        raise typer.BadParameter(f"{option} is a number, such as 0.5")
    return value


@contextmanager
def open_session(catalog: Path, ledger: str | None, key: Path | None = None) -> Iterator[Session]:
    """The tables of a catalog under the ledger that is named, or the one at home; `key` is the file of another key.

    A ledger that is named must be there: a slip in its name would begin a new one with the whole budget.
    """
    if ledger is None and key is None:
        with Session(catalog) as session:
            yield session
        return
    with open_ledger_at(ledger, key, None) as named, Session(catalog, ledger=named) as session:
        yield session


def read_statement(file: Path, session: Session, dialect: str | None) -> Statement:
    """The statement in a file, in a dialect or in that of the session's engine."""
    return sql(read_text(file), dialect=session.dialect if dialect is None else dialect)


def read_text(file: Path) -> str:
    """The text of a statement, from a file or from standard input."""
    try:
        return sys.stdin.read(LONGEST + 1) if str(file) == "-" else file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        raise ParameterError(
            f"a statement in {str(file)!r}",
            because="the file is not there, or is not text",
            instead="a file with SELECT COUNT(*) AS n FROM visits in it",
        ) from None
