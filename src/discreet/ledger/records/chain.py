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

from discreet.accounting.filters import NOTHING, Cost
from discreet.ledger.records.canonical_text import canonical, digest

FORMAT = 1
GENESIS = "0" * 64


class Kind(StrEnum):
    """What a link records; only RESERVED and RECOVERED cost anything, and nothing gives anything back."""

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
        cost = [self.cost.epsilon, self.cost.rho, self.cost.delta]
        return canonical(_columns(self) | {"format": f"discreet.ledger/{self.format}", "cost": cost})

    def around(self) -> tuple[str, str, str]:
        """The text before the previous hash, between it and the sequence, and after, for who learns those two later.

        Quotes within values are escaped, so the names stand in the text once.
        """
        before, _, rest = self.text.partition(f',"previous":"{self.previous}"')
        between, _, after = rest.partition(f',"sequence":{self.sequence},')
        return f'{before},"previous":"', f'"{between},"sequence":', f",{after}"


_COLUMNS = tuple(f.name for f in fields(ChainLink) if f.name != "cost")


def columns_of(link: ChainLink) -> dict[str, Any]:
    """The columns of the table `events`."""
    cost = {"cost_epsilon": link.cost.epsilon, "cost_rho": link.cost.rho, "cost_delta": link.cost.delta}
    return _columns(link) | cost | {"hash": link.hash}


def link_of(columns: Mapping[str, Any]) -> ChainLink:
    """The link that `columns_of` wrote."""
    cost = Cost(columns["cost_epsilon"], columns["cost_rho"], columns["cost_delta"])
    return ChainLink(cost=cost, **{name: columns[name] for name in _COLUMNS})


def _columns(link: ChainLink) -> dict[str, Any]:
    return {name: getattr(link, name) for name in _COLUMNS}


def now() -> str:
    """The time in UTC as ISO text; recorded, never compared."""
    return datetime.now(UTC).isoformat(timespec="microseconds")
