"""What a ledger asks of a database: reads, then writes that are committed together, or nothing at all.

A piece of work reads under the locks it needs and says what to write; the store writes and commits in one go. Work that
did not reach its COMMIT left nothing behind and is simply run again (a lost connection, a deadlock), so it must have no
effect of its own. A COMMIT whose outcome is unknown is reported as such. A charge is then found by its request key
and recognised by the hash of its own link.
"""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeVar

from discreet.errors import LedgerError
from discreet.ledger.records import faults

if TYPE_CHECKING:
    from discreet.ledger.transactions.steward import StewardWrite

T = TypeVar("T")
Row = dict[str, Any]
Values = Mapping[str, object]
Statement = tuple[str, Values]
Ask = Callable[[Statement], list[Row]]


class UnknownOutcomeError(LedgerError):
    """The database was lost while it committed: what was to be written is there, or not."""

    def __init__(self, sentence: str = faults.UNKNOWN) -> None:
        super().__init__(sentence)


class RoleRights(NamedTuple):
    """What a verification and charges ask of a role: not to be the owner's, and to have no right beyond a steward's."""

    is_owner: bool = False
    is_too_powerful: bool = False


class Transaction(Protocol):
    """Reads as they are asked for; writes as they are committed, in the order given."""

    def read(self, *questions: Statement) -> list[list[Row]]:
        """The rows of several queries, asked together."""

    def write(self, statement: str, values: Values) -> None:
        """A change of exactly one row, made when the work is done."""

    def write_as_steward(self, write: "StewardWrite", values: Values) -> None:
        """The same for a change that only the steward may make; refused where this process is not the steward."""


class Store(Protocol):
    """A database that keeps ledgers; statements use `:name`, `{lock}`, `{alone}` and `{clock}` (milliseconds)."""

    def run(self, work: Callable[[Transaction], T]) -> T:
        """Run work and commit what it wrote; on any exception nothing is written."""

    def look(self, work: Callable[[Transaction], T]) -> T:
        """Run work that reads, in one consistent view, without waiting for writers."""

    def ask(self, question: Statement) -> list[Row]:
        """The rows of one query."""

    def refuse_service(self) -> None:
        """Refuse who may not make the steward's writes, before an act of theirs writes anything anywhere."""

    def role_rights(self) -> RoleRights:
        """Whether the role of this process owns the database, or may do more than discreet grants."""

    def findings(self, *, full: bool) -> list[str]:
        """What is wrong with the database itself: its rules, its schema's version; with `full` its pages too."""

    def close(self) -> None:
        """Let go of the database."""


def one(rows: list[Row]) -> Row | None:
    """The only row, or None."""
    return rows[0] if rows else None


def insert_statement(table: str, row: Values) -> Statement:
    """One row into one table."""
    columns = ", ".join(row)
    marks = ", ".join(f":{name}" for name in row)
    return f"INSERT INTO {table} ({columns}) VALUES ({marks})", row
