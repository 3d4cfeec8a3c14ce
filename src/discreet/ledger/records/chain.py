"""The chain of a dataset: one link for each thing that ever happened to it, each naming the hash of the one before.

A link's hash is the SHA-256 of the canonical JSON of all its columns, the previous hash and the format's number among
them. Links hold digests of plans and answers, not the texts themselves: a text that must be erased one day leaves the
chain whole. Order is the sequence number; the time is recorded and decides nothing.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from enum import StrEnum
from functools import cached_property
from typing import Any

from discreet.accounting.costs import NOTHING, Cost
from discreet.ledger.records.canonical_text import canonical, digest

FORMAT = 1
GENESIS = "0" * 64
MOST_EVENTS = 2**52
"""The highest number from which a recovery goes on. No ledger reaches it by charges.

From a higher one that somebody forged no numbers would be left.
"""
HIGHEST_SEQUENCE = 2 * MOST_EVENTS
"""An anchor with a higher number is not read. A database and JSON hold all numbers up to this one exactly."""


class Kind(StrEnum):
    """What a link records; nothing gives anything back.

    RESERVED and RECOVERED cost something. A new cap costs what the divergences of earlier charges are larger by at its
    order of the Renyi filter. PUBLISHED is another release of the data, which the ledger does not charge.
    """

    REGISTERED = "REGISTERED"
    VERSIONED = "VERSIONED"
    RENAMED = "RENAMED"
    CAPPED = "CAPPED"
    LIMITED = "LIMITED"
    REJECTED = "REJECTED"
    RESERVED = "RESERVED"
    RESUMED = "RESUMED"
    ANSWERED = "ANSWERED"
    FORFEITED = "FORFEITED"
    RECOVERED = "RECOVERED"
    PUBLISHED = "PUBLISHED"


class State(StrEnum):
    """Where a charge stands: REJECTED before data is read; RESERVED, then ANSWERED or FORFEITED, for ever."""

    REJECTED = "REJECTED"
    RESERVED = "RESERVED"
    ANSWERED = "ANSWERED"
    FORFEITED = "FORFEITED"


@dataclass(frozen=True, kw_only=True)
class ChainLink:
    """One event of a dataset's chain, without its own hash."""

    dataset: str
    sequence: int
    kind: str
    time: str
    version: int
    previous: str
    library: str
    cost: Cost = NOTHING
    analyst: str | None = None
    event: str | None = None
    question: str | None = None
    request: str | None = None
    reservation: int | None = None
    digest: str | None = None
    detail: str | None = None
    format: int = FORMAT

    @cached_property
    def hash(self) -> str:
        """What the next link must name as `previous`."""
        return digest(self.text)

    @property
    def text(self) -> str:
        """What is hashed."""
        return canonical(_columns(self) | {"format": f"discreet.ledger/{self.format}", "cost": self.cost.units()})


_PARTS = tuple(f.name for f in fields(Cost))
_COLUMNS = tuple(f.name for f in fields(ChainLink) if f.name != "cost")


def columns_of(link: ChainLink) -> dict[str, Any]:
    """The columns of the table `events`."""
    return _columns(link) | cost_columns("cost", link.cost) | {"hash": link.hash}


def link_of(columns: Mapping[str, Any]) -> ChainLink:
    """The link that `columns_of` wrote."""
    return ChainLink(cost=cost_in(columns, "cost"), **{name: columns[name] for name in _COLUMNS})


def cost_columns(prefix: str, cost: Cost) -> dict[str, object]:
    """A cost as columns of a table."""
    return {f"{prefix}_{name}": value for name, value in vars(cost).items()}


def cost_in(row: Mapping[str, Any], prefix: str) -> Cost:
    """The cost that `cost_columns` wrote."""
    return Cost(*(row[f"{prefix}_{name}"] for name in _PARTS))


def _columns(link: ChainLink) -> dict[str, Any]:
    return {name: getattr(link, name) for name in _COLUMNS}


def now() -> str:
    """The time in UTC as ISO text; recorded, never compared."""
    return datetime.now(UTC).isoformat(timespec="microseconds")
