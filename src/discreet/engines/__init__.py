"""Engines run pushed-down queries where the rows are, and return small tables of integers.

The contract, which one test suite holds every engine to:

- `prepare` binds a query against declared types and known columns; it reads no protected row and may refuse. Rows
  that it makes of public tables are named after what those hold, and none are used that were made of other contents.
- `run` answers with whole numbers, one list per measure, in the order of the public keys; absent keys are zeros. Where
  keys are open it names those that enough units have, in the order of their own values, and no others.
- The same query on the same rows with the same key gives the same integers, in any order of the rows.
- NULL, NaN, infinities and cells that do not fit their declared type are missing; no cell can raise an error.
- `blocks` gives rows in blocks of whole units; what is in a block, and its order, depends on those units alone.
- `close` leaves nothing behind.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol, runtime_checkable

from discreet.catalog.catalog import ColumnType
from discreet.engines.backends.duckdb import DuckDB
from discreet.engines.prepared import PreparedBlocks, PreparedMarginals, PreparedQuery, RegisteredSource
from discreet.engines.progress import Stage
from discreet.engines.registry import draft, engine_of, engines_of, has_tables, source_of
from discreet.engines.sources.contents import States
from discreet.engines.sources.files import public_location, resolve_location
from discreet.engines.sources.identity import OpenSource, is_registered, same_rows
from discreet.engines.sources.inferred import spellings
from discreet.engines.sources.source import Source, Statements, unreadable_column
from discreet.engines.sources.workspace import Workspace
from discreet.engines.sql.blocks import LARGEST_BLOCK, Block
from discreet.plan.physical import KeyedTable, Pushdown, Scan, Term
from discreet.plan.slots import Counts, MarginalBatch

__all__ = [
    "Block",
    "ClusterEngine",
    "DuckDB",
    "Engine",
    "OpenSource",
    "PreparedBlocks",
    "PreparedMarginals",
    "PreparedQuery",
    "RegisteredSource",
    "Source",
    "Statements",
    "States",
    "Workspace",
    "draft",
    "engine_of",
    "engines_of",
    "has_tables",
    "is_registered",
    "public_location",
    "resolve_location",
    "same_rows",
    "source_of",
    "spellings",
    "unreadable_column",
]


@runtime_checkable
class ClusterEngine(Protocol):
    """What an engine can do that computes sums over people where their rows are."""

    def people(self, prepared: PreparedBlocks, encode: Any, add: Any) -> AbstractContextManager[Any]:
        """People whose codes stay in the engine; each sum over them is one job."""

    def has_modules(self, modules: Sequence[str]) -> bool:
        """Whether functions that need some modules run there."""


class Engine(Protocol):
    """What every engine can do."""

    def require(self, table: str, columns: Mapping[str, ColumnType]) -> None:
        """Refuse declared columns that the source does not have or cannot give."""

    def adopt(self, table: str, hash_key: int) -> None:
        """Take the key that orders a table's rows."""

    def prepare(self, question: Pushdown) -> PreparedQuery:
        """Bind a query without reading a protected row."""

    def run(self, prepared: PreparedQuery) -> list[list[int]] | KeyedTable:
        """Answer a bound query in whole numbers, and in keys where those are open."""

    def prepare_blocks(self, question: Pushdown, columns: Mapping[str, Term], number: int) -> PreparedBlocks:
        """Bind a split of a query's rows into blocks of whole units, without reading a row."""

    def has_inferred(self, scan: Scan) -> bool:
        """Whether a query reads an in-memory table whose column types were inferred: texts are read in one form."""

    def blocks(self, prepared: PreparedBlocks, *, largest: int | None = LARGEST_BLOCK) -> Iterator[Block]:
        """Every block with its number, 0 first, from one pass; None for one of more bytes than `largest`."""

    def prepare_marginals(self, batch: MarginalBatch) -> PreparedMarginals:
        """Bind counts of marginals without reading a row; what SQL cannot say is refused."""

    def marginals(self, prepared: PreparedMarginals) -> Counts:
        """The exact counts of every marginal, of the shape of its slots."""

    def progress(self) -> Stage | None:
        """How far it is with what it runs now; only an owner may see it."""

    def exposures(self) -> tuple[str, ...]:
        """Records outside discreet that show exact row counts, and are switched on."""

    def close(self) -> None:
        """Give back everything, prepared tables and spill files included."""
