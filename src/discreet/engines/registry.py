"""From what an owner names to a source, and from a source to the engine where its rows already are.

Each engine says which sources it recognises; what none of the others knows is DuckDB's. Drivers that are not installed
are not imported before somebody names a source of theirs. An installed package adds an engine by an entry point of the
group `discreet.engines`, which names a module with the names of `EngineModule`; built-in engines are asked first.
"""

import logging
import re
from collections.abc import Mapping
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Protocol, get_args

from discreet.catalog.catalog import ColumnType
from discreet.engines.backends import dap, duckdb, sqlite
from discreet.engines.backends.postgres import engine as postgres
from discreet.engines.backends.spark import engine as spark
from discreet.engines.prepared import RegisteredSource
from discreet.engines.sources import source as sources
from discreet.engines.sources.source import UNSTATED, Source, Statements
from discreet.engines.sources.workspace import Workspace
from discreet.engines.sql_engine import SQLEngine
from discreet.errors import SourceError

_POSTGRES = re.compile(r"postgres(ql)?(\+\w+)?://", re.IGNORECASE)
_SECRETIVE = re.compile(r"^jdbc:|^postgres(ql)?:|\bpassword\s*=|\bhost\s*=\s*\S+\s+\w+=", re.IGNORECASE)


class EngineModule(Protocol):
    """What the module of an engine offers."""

    @property
    def KIND(self) -> str:  # noqa: N802 - a constant of the module
        """The kind of its sources."""

    @property
    def ENGINE(self) -> type[SQLEngine]:  # noqa: N802
        """The engine itself."""

    def is_source(self, data: object) -> bool:
        """Whether the engine reads such a thing; asked without importing a driver."""

    def has_tables(self, data: object) -> bool:
        """Whether a source that it recognises is a database, of which a table must be named."""

    def source(self, data: object, table: str | None, stated: Statements) -> Source:
        """The source, by its schema alone."""

    def draft(self, source: Source) -> dict[str, ColumnType]:
        """The types that its columns seem to have."""


GROUP = "discreet.engines"
BUILT_IN: tuple[EngineModule, ...] = (postgres, spark, sqlite, dap)

_NAMES = ("KIND", "ENGINE", "is_source", "has_tables", "source", "draft")
_log = logging.getLogger("discreet")


@cache
def modules() -> tuple[EngineModule, ...]:
    """The engines beside DuckDB: the built-in ones, and those that installed packages register."""
    found: dict[str, EngineModule] = {module.KIND: module for module in BUILT_IN}
    for point in sorted(entry_points(group=GROUP), key=lambda each: each.name):
        module = _load(point)
        if module is None:
            continue
        if module.KIND in get_args(sources.FileKind) or found.setdefault(module.KIND, module) is not module:
            _log.warning("engine %r of %r is left out: another engine has its kind of sources", point.name, point.value)
    return tuple(found.values())


def _load(point: EntryPoint) -> EngineModule | None:
    """The module of an entry point; one that cannot be imported or lacks a name is left out with a warning."""
    try:
        module: EngineModule = point.load()
        missing = [name for name in _NAMES if not hasattr(module, name)]
    except Exception as error:  # noqa: BLE001 - a broken package must not close the others
        _log.warning("engine %r is left out: importing it raised %s", point.name, type(error).__name__)
        return None
    if missing:
        _log.warning("engine %r is left out: it has no %s", point.name, ", ".join(missing))
    return None if missing else module


def source_of(
    data: object, *, delimiter: str | None = None, table: str | None = None, stated: Statements = UNSTATED
) -> Source:
    """Recognise a path, a frame, or a table of any engine."""
    data = _address(data)
    module = _module_of(data)
    if module is not None:
        return module.source(data, table, stated)
    return sources.source_of(data, delimiter=delimiter, table=table, stated=stated)


def has_tables(data: object) -> bool:
    """Whether a source is a database, of which a table must be named."""
    data = _address(data)
    module = _module_of(data)
    return sources.is_database(data) if module is None else module.has_tables(data)


def _module_of(data: object) -> EngineModule | None:
    return next((module for module in modules() if _recognises(module, data)), None)


def _recognises(module: EngineModule, data: object) -> bool:
    """Whether an engine reads such a thing; one that fails when it is asked does not."""
    try:
        return module.is_source(data)
    except Exception as error:  # noqa: BLE001 - one engine must not close the others
        _log.warning("engine %r is not asked for a source: it raised %s", module.KIND, type(error).__name__)
        return False


def _address(data: object) -> object:
    """An address without blanks around it; one that we do not take is refused without showing it."""
    if not isinstance(data, str | Path):
        return data
    text = str(data).strip()
    if isinstance(data, str) and (scheme := _POSTGRES.match(text)):
        return scheme.group().lower() + text[scheme.end() :]
    if _SECRETIVE.search(text):
        raise SourceError(
            "an address that is not postgresql://",
            because="addresses are text in that form, not jdbc: or host=...",
            instead='dp.protect("postgresql://reader@host:5432/database", table="schema.visits", ...)',
        )
    return data


def draft(source: Source) -> dict[str, ColumnType]:
    """The types that a source seems to have, for an owner who drafts a catalog."""
    module = next((module for module in modules() if source.kind == module.KIND), None)
    return duckdb.draft(source) if module is None else module.draft(source)


def engine_of(source: Source) -> type[SQLEngine]:
    """The engine that reads a source where it is."""
    return {module.KIND: module.ENGINE for module in modules()}.get(source.kind, duckdb.DuckDB)


def engines_of(tables: Mapping[str, Source], *, memory_limit: str | None, threads: int | None) -> dict[str, SQLEngine]:
    """An engine for each table; tables that one engine reads from one place share it."""
    groups: dict[tuple[type[SQLEngine], str | None], dict[str, RegisteredSource]] = {}
    for name, source in tables.items():
        groups.setdefault((engine_of(source), source.address), {})[name] = RegisteredSource(source, 0)
    opened: dict[str, SQLEngine] = {}
    try:
        for (kind, _), registered in groups.items():
            opened |= dict.fromkeys(
                registered, kind(registered, Workspace(), memory_limit=memory_limit, threads=threads)
            )
    except BaseException:
        for engine in dict.fromkeys(opened.values()):
            engine.close()
        raise
    return opened
