"""A ledger with many charges, written row by row as charges and answers would have, without their transactions.

    fill(address, "visits", 100_000)        # a path, or the address of a superuser of a PostgreSQL database

The chain is valid, so `verify` finds nothing, and later charges follow it. Plans and answers have 600 bytes each.
"""

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import islice
from typing import Any

from discreet import events
from discreet.accounting.costs import NOTHING, Cost
from discreet.ledger.records import admission
from discreet.ledger.records.account import Account, account_of
from discreet.ledger.records.canonical_text import digest
from discreet.ledger.records.chain import Kind, State, columns_of, cost_columns
from discreet.ledger.records.description import plan_of
from discreet.ledger.records.quota import Share
from tampering import Hand, tampering

EVENT = events.PureEvent(Fraction(1, 10**9))
DESCRIPTION = json.dumps({"plan": "p" * 589})
ANSWER = b"a" * 600
ANALYSTS = ("ann", "bob", "eve")
OPEN_EVERY = 1_000
BATCH = 2_000

Rows = list[tuple[str, dict[str, Any]]]


@dataclass
class _Progress:
    """The account after the rows so far, what each charge costs, and what each analyst was charged."""

    account: Account
    cost: Cost
    charged: dict[str, Cost]


def fill(address: str, name: str, charges: int) -> None:
    """Append charges with their answers to a registered dataset; one in a thousand has no answer."""
    with tampering(address) as hand:
        (row,) = hand.execute("SELECT datasets.*, 0 AS halts FROM datasets WHERE name = :name", name=name)
        known = account_of(row)
        progress = _Progress(known, admission.price(EVENT, known.order), dict.fromkeys(ANALYSTS, NOTHING))
        rows = _rows(progress, charges)
        while batch := list(islice(rows, BATCH)):
            _insert(hand, batch)
        _conclude(hand, progress)
    if not address.startswith("postgresql:"):
        return
    with tampering(address) as hand:
        hand.execute("ANALYZE")


def question(number: int) -> str:
    """The fingerprint of the query of a charge."""
    return hashlib.sha256(b"%d" % number).hexdigest()


def _rows(progress: _Progress, charges: int) -> Iterator[tuple[str, dict[str, Any]]]:
    for number in range(charges):
        yield from _charge(progress, number)


def _charge(progress: _Progress, number: int) -> Rows:
    """The rows of one charge and of its answer."""
    known, analyst = progress.account, ANALYSTS[number % len(ANALYSTS)]
    cost = progress.cost
    claim = {"version": 1, "analyst": analyst, "question": question(number)}
    sealed = {"event": events.canonical(EVENT), "request": f"r-{number}", "digest": digest(plan_of(DESCRIPTION))}
    link = known.link(Kind.RESERVED, cost=cost, **claim, **sealed)
    progress.charged[analyst] += cost
    progress.account = replace(known, sequence=link.sequence, head=link.hash, spent=known.spent + cost)
    place = {"dataset": known.name, "sequence": link.sequence}
    reservation = place | {name: getattr(link, name) for name in ("analyst", "request", "question")}
    is_open = number % OPEN_EVERY == OPEN_EVERY - 1
    state = State.RESERVED if is_open else State.ANSWERED
    reservation |= {"description": DESCRIPTION, "state": str(state), "attempt": 1, "lease": 0}
    rows: Rows = [("events", columns_of(link)), ("reservations", reservation)]
    return rows if is_open else [*rows, *_answer(progress, link.sequence, claim)]


def _answer(progress: _Progress, reservation: int, claim: dict[str, Any]) -> Rows:
    known = progress.account
    link = known.link(Kind.ANSWERED, reservation=reservation, digest=digest(ANSWER), **claim)
    progress.account = replace(known, sequence=link.sequence, head=link.hash)
    answer = {"dataset": known.name, "reservation": reservation, "payload": ANSWER}
    return [("events", columns_of(link)), ("answers", answer)]


def _insert(hand: Hand, batch: Rows) -> None:
    for table in ("events", "reservations", "answers"):
        rows = [row for name, row in batch if name == table]
        if rows:
            hand.insert(table, rows)


def _conclude(hand: Hand, progress: _Progress) -> None:
    """The rows of the dataset and of the analysts."""
    known = progress.account
    columns = {"sequence": known.sequence, "head": known.head} | cost_columns("spent", known.spent)
    changes = ", ".join(f"{column} = :{column}" for column in columns)
    hand.execute(f"UPDATE datasets SET {changes} WHERE name = :name", name=known.name, **columns)
    shares = [Share(dataset=known.name, analyst=analyst, spent=cost) for analyst, cost in progress.charged.items()]
    hand.insert("analysts", [share.row() for share in shares if share.spent != NOTHING])
