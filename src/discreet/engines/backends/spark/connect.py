"""Spark Connect, where the server's plans are not visible: tables by name and Parquet files are admitted, nothing else.

What the client holds is its own unresolved plan. A name may be a view, so the server's catalog is asked what it is.
"""

from typing import Any
from urllib.parse import urlsplit

from discreet.engines.backends.spark import plans, readers
from discreet.engines.backends.spark.plans import AdmittedFrame
from discreet.engines.sources.source import Statements
from discreet.errors import SourceError

_TYPED = frozenset({"parquet", "orc", "delta", "iceberg"})
_TABLES = frozenset({"MANAGED", "EXTERNAL"})
_SAFE = frozenset({"mergeschema", "recursivefilelookup", "pathglobfilter", "basepath"})
_PLACE, _FORMAT, _KIND, _OPTIONS = "Location", "Provider", "Type", "Storage Properties"


def admit(frame: Any, stated: Statements) -> AdmittedFrame:
    """Admit a DataFrame that is a table by name or Parquet files; refuse everything else."""
    plan = frame._plan  # noqa: SLF001 - the only way to it
    kind = f"{type(plan).__module__}.{type(plan).__name__}"
    if kind == "pyspark.sql.connect.plan.Read":
        return AdmittedFrame(frame, _table(frame.sparkSession, plan))
    if kind == "pyspark.sql.connect.plan.DataSource":
        return AdmittedFrame(frame, _files(frame, plan, stated))
    raise _unseen("a DataFrame of Spark Connect that is not a table or Parquet files")


def _table(session: Any, plan: Any) -> str:
    if plan.options or session.catalog.getTable(plan.table_name).tableType not in _TABLES:
        raise _unseen("a view, a temporary view or a reader with options on Spark Connect")
    rows = session.sql(f"DESCRIBE TABLE EXTENDED {plan.table_name}").collect()
    facts = {row["col_name"]: row["data_type"] for row in rows}
    if facts.get(_FORMAT, "").lower() not in _TYPED or facts.get(_KIND) not in _TABLES:
        raise _unseen("a table on Spark Connect that is not of Parquet, ORC, Delta or Iceberg")
    if "EXCEPTION" in facts.get(_OPTIONS, "").upper():
        raise _unseen("a table on Spark Connect with options that fail on a cell")
    if facts.get(_PLACE):
        return plans.identity([facts[_PLACE]])
    return plans.identity([".".join(facts.get(part, "") for part in ("Catalog", "Database", "Table"))])


def _files(frame: Any, plan: Any, stated: Statements) -> str:
    options = {name.lower() for name, value in (plan._options or {}).items() if value}  # noqa: SLF001
    paths = list(plan._paths or ())  # noqa: SLF001
    if (plan._format or "").lower() != "parquet" or not paths or not options <= _SAFE:  # noqa: SLF001
        raise _unseen("a reader on Spark Connect that is not spark.read.parquet(path) without options")
    if not plan._schema and not stated.fixed_schema:  # noqa: SLF001
        _require_text_in_folders(frame, paths)
    return plans.identity(sorted({_qualify_path(path, frame) for path in paths}))


def _qualify_path(path: str, frame: Any) -> str:
    """A path with the file system that the server found it in, as its catalog writes the places of tables."""
    known = frame.inputFiles()[:1]
    if not path.startswith("/") or not known:
        return path
    place = urlsplit(known[0])
    return f"{place.scheme}:{'//' * bool(place.netloc)}{place.netloc}{path.rstrip('/')}"


def _require_text_in_folders(frame: Any, paths: list[str]) -> None:
    """Refuse folders of partitions whose names were read as numbers or dates: one more folder could change the type."""
    within = set(frame.sparkSession.read.option("recursiveFileLookup", "true").parquet(*paths).columns)
    if any(field.name not in within and field.dataType.typeName() != "string" for field in frame.schema.fields):
        raise SourceError(
            "folders of partitions whose names are read as numbers or dates",
            because="one more folder can change the type of the column",
            instead='spark.read.schema("id STRING, day STRING").parquet(path), where day is the name of the folders',
        )


def _unseen(what: str) -> SourceError:
    return SourceError(
        what,
        because="its plan is on the server, where discreet cannot check it",
        instead=f"{readers.AS_A_TABLE}; or spark.read.parquet(path)",
    )
