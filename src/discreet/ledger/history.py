"""What happened to a dataset, in the order of its chain: one entry for each charge, rejection, version and cap."""

from dataclasses import dataclass

from discreet.accounting.filters import Cost
from discreet.ledger.chain import Kind, State


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One line of a dataset's history; `state` says where a charge stands now, and is None for what is no charge.

    `kind` is REGISTERED, VERSIONED, CAPPED, RESERVED or REJECTED; `event` and `detail` are JSON; `time` is UTC and does
    not decide the order.
    """

    sequence: int
    time: str
    analyst: str | None
    kind: Kind
    version: int
    cost: Cost
    question: str | None
    state: State | None
    event: str | None
    detail: str | None
