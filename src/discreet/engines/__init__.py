"""Engines run pushed-down questions where the rows are, and give back small tables of integers.

The contract, which one test suite holds every engine to:

- `prepare` binds a question against declared types and known columns; it reads no row and may refuse.
- `run` answers with whole numbers, one list per measure, in the order of the public keys; absent keys are zeros.
- The same question on the same rows with the same key gives the same integers, whatever the order of the rows.
- NULL, NaN, infinities and cells that do not fit their declared type are missing; no cell can raise an error.
- `close` leaves nothing behind.
"""

from typing import Protocol

from discreet.engines.duckdb import DuckDB, Prepared, Registered, draft
from discreet.engines.sources import Source, source_of, unreadable_column
from discreet.engines.workspace import Workspace
from discreet.pushdown import Pushdown

__all__ = [
    "DuckDB",
    "Engine",
    "Prepared",
    "Registered",
    "Source",
    "Workspace",
    "draft",
    "source_of",
    "unreadable_column",
]


class Engine(Protocol):
    """What every engine can do."""

    def prepare(self, question: Pushdown) -> Prepared:
        """Bind a question without reading a row."""

    def run(self, prepared: Prepared) -> list[list[int]]:
        """Answer a bound question in whole numbers."""

    def close(self) -> None:
        """Give back everything, prepared tables and spill files included."""
