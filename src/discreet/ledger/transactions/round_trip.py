"""The charge and answer transactions in one round trip: the parameters of the store's functions, and their reply.

The client writes the link but for its place in the chain; the store puts it there under the dataset's lock and says
where. They cover one dataset, with no earlier charge (or, for an answer, with the charge still held), not behind its
anchors. Otherwise the store writes and returns nothing, and the longer way finds out why.
"""

from dataclasses import dataclass, replace
from fractions import Fraction

from discreet.accounting.costs import Cost
from discreet.accounting.filters import Budget
from discreet.errors import LedgerError
from discreet.ledger.records import faults
from discreet.ledger.records.account import order_text, parse_order
from discreet.ledger.records.canonical_text import canonical, digest
from discreet.ledger.records.chain import GENESIS, ChainLink, Kind, columns_of, cost_in, now
from discreet.ledger.records.registration import budget_of
from discreet.ledger.records.reservation import Reservation
from discreet.ledger.transactions.charge import ChargeRequest
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
    "renyi": "bigint",
    "order": "text",
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
"""The parameters of the function `discreet.charge`, in order, with their SQL types."""

FORMER = "former"
"""Beside it, the fingerprints of the query in earlier formats, with commas: a charge under one is an earlier charge."""

ACTS = "acts"
"""The number of acts on the ledger's keys by which the claim was made."""

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
"""The parameters of the function `discreet.answer`, in order, with their SQL types."""

_PROMISED = {
    "epsilon": "promised_epsilon",
    "delta": "promised_delta",
    "reserved_delta": "promised_reserve",
    "ceiling": "promised_ceiling",
    "reason": "promised_reason",
}


@dataclass(frozen=True, kw_only=True)
class ChainHead:
    """The head of a dataset's chain after one round trip, with its totals and budget."""

    name: str
    sequence: int
    head: str
    spent: Cost
    budget: Budget
    order: Fraction | None


def charge_claim(
    request: ChargeRequest, least: int, order: Fraction | None, *, acts: int
) -> tuple[ChainLink, dict[str, object]]:
    """The link of a charge to one dataset without its place in the chain, and the parameters for the store.

    The store refuses it where the dataset's order of the Renyi filter is another, or the number of acts on its keys.
    """
    (part,) = request.parts
    cost = part.cost(order)
    columns = request.claim(part)
    link = ChainLink(
        dataset=part.name,
        sequence=0,
        kind=Kind.RESERVED,
        time=now(),
        previous=GENESIS,
        library=__version__,
        cost=cost,
        **columns,
    )
    request.times.append(link.time)
    details = {"description": request.description, "registration": part.registration, "is_fresh": request.fresh}
    details |= {"order": order_text(order), ACTS: acts}
    details |= {FORMER: "" if request.fresh else ",".join(request.former)}
    return link, columns | vars(cost) | details | {"term": request.term, "least": least} | _link_columns(link)


def answer_claim(reservation: Reservation, payload: bytes, least: int) -> tuple[ChainLink, dict[str, object]]:
    """The link of an answer without its place in the chain, and the parameters for the store."""
    charged = reservation.receipt
    link = ChainLink(
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
    details = {
        "charge": canonical(columns_of(charged.link())),
        "attempt": reservation.attempt,
        "payload": payload,
        "least": least,
    }
    return link, same | details | _link_columns(link)


def place_link(link: ChainLink, row: Row) -> tuple[ChainLink, ChainHead]:
    """The link in the place that the store gave it; another hash than ours means other contents."""
    placed = replace(link, sequence=row["new_sequence"], previous=row["previous_head"])
    if placed.hash != row["new_head"]:
        raise LedgerError(faults.DAMAGED)
    budget = budget_of({name: row[column] for name, column in _PROMISED.items()})
    head = ChainHead(
        name=link.dataset,
        sequence=placed.sequence,
        head=placed.hash,
        spent=cost_in(row, "total"),
        budget=budget,
        order=parse_order(row["promised_order"]),
    )
    return placed, head


def _link_columns(link: ChainLink) -> dict[str, object]:
    before, between, after = link.around()
    place = {"name": link.dataset, "time": link.time, "library": link.library, "format": link.format}
    return place | {"before": before, "between": between, "after": after}
