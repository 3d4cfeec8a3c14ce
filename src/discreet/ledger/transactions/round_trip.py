"""T1 and T2 in one journey, where the case is plain: what the store is told, and what is made of its reply.

The client writes the link but for its place in the chain; the store puts it there under the dataset's lock and says
where. Where the case is not plain the store says nothing, and the longer way finds out why.
"""

from dataclasses import dataclass, replace

from discreet.accounting.filters import Budget, Cost
from discreet.errors import LedgerError
from discreet.ledger.records import faults
from discreet.ledger.records.canonical_text import canonical, digest
from discreet.ledger.records.chain import GENESIS, Kind, Link, columns_of, now
from discreet.ledger.records.registration import budget_of
from discreet.ledger.records.reservation import Turn
from discreet.ledger.transactions.charge import Asking
from discreet.ledger.transactions.store import Row
from discreet.version import __version__

CHARGE = {
    "name": "text",
    "version": "integer",
    "registration": "bigint",
    "analyst": "text",
    "question": "text",
    "request": "text",
    "is_fresh": "boolean",
    "event": "text",
    "epsilon": "bigint",
    "rho": "bigint",
    "delta": "bigint",
    "digest": "text",
    "description": "text",
    "time": "text",
    "library": "text",
    "format": "integer",
    "term": "bigint",
    "least": "bigint",
    "before": "text",
    "between": "text",
    "after": "text",
}
"""What the store is told of a charge, in the order of its function, with the types of SQL."""

FORMER = "former"
"""Beside it, the fingerprints of the question in earlier formats, with commas: a charge under one is no plain case."""

ANSWER = {
    "name": "text",
    "reservation": "bigint",
    "charge": "jsonb",
    "attempt": "integer",
    "version": "integer",
    "analyst": "text",
    "question": "text",
    "digest": "text",
    "payload": "bytea",
    "time": "text",
    "library": "text",
    "format": "integer",
    "least": "bigint",
    "before": "text",
    "between": "text",
    "after": "text",
}
"""What the store is told of an answer."""

_PROMISED = {
    "epsilon": "promised_epsilon",
    "delta": "promised_delta",
    "reserved_delta": "promised_reserve",
    "ceiling": "promised_ceiling",
    "reason": "promised_reason",
}


@dataclass(frozen=True, kw_only=True)
class Stood:
    """Where a dataset's chain stands after one journey."""

    name: str
    sequence: int
    head: str
    spent: Cost
    budget: Budget


def charge_claim(asked: Asking, least: int) -> tuple[Link, dict[str, object]]:
    """The link of a charge to one dataset but for its place in the chain, and what the store is told of it."""
    (part,) = asked.parts
    columns = asked.claim(part)
    link = Link(
        dataset=part.name,
        sequence=0,
        kind=Kind.RESERVED,
        time=now(),
        previous=GENESIS,
        library=__version__,
        cost=part.cost,
        **columns,
    )
    asked.times.append(link.time)
    told = {"description": asked.description, "registration": part.registration, "is_fresh": asked.fresh}
    told |= {FORMER: "" if asked.fresh else ",".join(asked.former)}
    return link, columns | vars(part.cost) | told | {"term": asked.term, "least": least} | _told(link)


def answer_claim(turn: Turn, payload: bytes, least: int) -> tuple[Link, dict[str, object]]:
    """The link of an answer but for its place in the chain, and what the store is told of it."""
    charged = turn.receipt
    link = Link(
        dataset=charged.dataset,
        sequence=0,
        kind=Kind.ANSWERED,
        time=now(),
        version=charged.version,
        previous=GENESIS,
        library=__version__,
        analyst=charged.analyst,
        question=charged.question,
        reservation=charged.sequence,
        digest=digest(payload),
    )
    same = {name: getattr(link, name) for name in ("version", "analyst", "question", "reservation", "digest")}
    told = {
        "charge": canonical(columns_of(charged.link())),
        "attempt": turn.attempt,
        "payload": payload,
        "least": least,
    }
    return link, same | told | _told(link)


def placed(link: Link, row: Row) -> tuple[Link, Stood]:
    """The link in the place that the store gave it; one whose hash is not ours was not made from what we said."""
    told = replace(link, sequence=row["new_sequence"], previous=row["previous_head"])
    if told.hash != row["new_head"]:
        raise LedgerError(faults.DAMAGED)
    budget = budget_of({name: row[column] for name, column in _PROMISED.items()})
    spent = Cost(row["total_epsilon"], row["total_rho"], row["total_delta"])
    return told, Stood(name=link.dataset, sequence=told.sequence, head=told.hash, spent=spent, budget=budget)


def _told(link: Link) -> dict[str, object]:
    before, between, after = link.around()
    place = {"name": link.dataset, "time": link.time, "library": link.library, "format": link.format}
    return place | {"before": before, "between": between, "after": after}
