"""The dialects of SQL that are read."""

from discreet.errors import ParameterError, suggestion
from discreet.release.sql_release import DIALECTS

DEFAULT = "duckdb"
_OTHER_NAMES = {"postgresql": "postgres", "sparksql": "spark", "databricks": "spark", "sqlite": DEFAULT}


def checked_dialect(name: object) -> str:
    """The name of a dialect, or an error.

    Statements for SQLite are read as DuckDB's: whole numbers keep their fraction when divided, and LIKE tells capitals.
    """
    known = str(name).lower()
    known = _OTHER_NAMES.get(known, known)
    if known in DIALECTS:
        return known
    nearest = suggestion(known, DIALECTS)
    raise ParameterError(
        f"dialect={name!r}"[:80],
        because=f"the dialects are {', '.join(DIALECTS)}",
        instead=f"dialect={(nearest if nearest in DIALECTS else DEFAULT)!r}",
    )


def dialect_of_engine(engine: str) -> str:
    """The dialect that an engine speaks, by the name of its class; DuckDB's for an engine that is not known."""
    known = engine.lower()
    return _OTHER_NAMES.get(known, known if known in DIALECTS else DEFAULT)
