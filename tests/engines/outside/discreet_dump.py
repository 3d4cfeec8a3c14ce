"""An engine outside the package, by the page on how to add an engine: text dumps of SQLite databases."""

import sqlite3
from contextlib import closing
from pathlib import Path
from urllib.parse import quote

from discreet.catalog.catalog import ColumnType
from discreet.engines.backends import sqlite
from discreet.engines.sources.source import UNSTATED, Source, Statements, unopened_database
from discreet.engines.sql_engine import SQLEngine

KIND = "sqlite dump"


class Dump(sqlite.SQLite):
    """A dump, loaded into a database file beside it."""

    @staticmethod
    def open_connection(address: str) -> sqlite3.Connection:
        return sqlite.SQLite.open_connection(str(_database(Path(address))))


ENGINE: type[SQLEngine] = Dump


def is_source(data: object) -> bool:
    return isinstance(data, str | Path) and str(data).endswith(".sql")


def has_tables(data: object) -> bool:
    return True


def source(data: object, table: str | None, stated: Statements = UNSTATED) -> Source:
    known = sqlite.source(str(_database(Path(str(data)))), table, stated)
    place = Path(str(data)).absolute()
    return Source(
        KIND, f"{place.as_uri()}#{quote(table or '')}", known.columns, (str(place),), table=table, address=str(place)
    )


def draft(source: Source) -> dict[str, ColumnType]:
    database = str(_database(Path(source.paths[0])))
    return sqlite.draft(sqlite.source(database, source.table))


def _database(dump: Path) -> Path:
    """The dump as a database file beside it, made once."""
    made = dump.with_suffix(".loaded.sqlite")
    if not made.exists():
        try:
            with closing(sqlite3.connect(made)) as connection, connection:
                connection.executescript(dump.read_text(encoding="utf-8"))
        except (OSError, sqlite3.Error):
            raise unopened_database() from None
    return made
