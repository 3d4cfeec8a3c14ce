"""A history checker: what clients saw of a ledger, held against itself and against what the ledger holds.

It believes receipts and replies that were acknowledged, and the clock of the machine, by which clients note when they
asked and when they were answered. Each check returns what is wrong, in words, and nothing where all is well.
"""

import itertools
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from discreet.accounting.costs import NOTHING
from discreet.ledger import Kind, Ledger, Receipt, State

NAME = "visits"


@dataclass(frozen=True)
class Request:
    """One request as all of its tries saw it: every receipt and every reply that came back."""

    request: str
    question: str
    receipts: tuple[Receipt, ...]
    replies: tuple[str, ...]


@dataclass(frozen=True)
class Charge:
    """One try to charge: when it was begun and ended, in nanoseconds, and its receipt; None where it was refused."""

    begun: int
    ended: int
    receipt: Receipt | None


def wrong_with_requests(ledger: Ledger, requests: Iterable[Request]) -> list[str]:
    """Charged once, answered once, every reply the stored one, nothing lost, nothing that nobody asked for."""
    asked = list(requests)
    found = [wrong for each in asked for wrong in _wrong_with_one(ledger, each)]
    charges = [entry for entry in ledger.history(NAME) if entry.kind == Kind.RESERVED]
    times = Counter(entry.question for entry in charges)
    found += [f"{each.request} was charged {times[each.question]} times" for each in asked if times[each.question] != 1]
    found += [f"event {entry.sequence} is {entry.state}" for entry in charges if entry.state is not State.ANSWERED]
    known = {each.question for each in asked}
    found += [f"event {entry.sequence} was asked for by nobody" for entry in charges if entry.question not in known]
    if ledger.spent(NAME) != sum((entry.cost for entry in charges), NOTHING):
        found.append("the total is not the sum of the charges")
    verified = ledger.verify(receipts=[receipt for each in asked for receipt in each.receipts])
    return found if verified else [*found, str(verified)]


def _wrong_with_one(ledger: Ledger, asked: Request) -> Iterator[str]:
    stored = ledger.stored_answer(NAME, asked.question)
    seen = {reply.encode() for reply in asked.replies}
    if len({receipt.hash for receipt in asked.receipts}) != 1:
        yield f"{asked.request} has receipts of several charges, or none"
    if seen != {stored}:
        yield f"{asked.request} was answered by {seen}, and {stored!r} is stored"


def wrong_with_spending(charges: Iterable[Charge], *, cap: int) -> list[str]:
    """From what was acknowledged alone: one chain, in the order of time, to the cap and not beyond.

    Charges must divide the cap; nothing else may have been written while they were made.
    """
    tries = list(charges)
    accepted = sorted((each for each in tries if each.receipt), key=lambda each: _receipt(each).sequence)
    found = list(_wrong_with_the_chain([_receipt(each) for each in accepted]))
    total = sum(_receipt(each).cost.epsilon or 0 for each in accepted)
    if total != cap:
        found.append(f"{total} units were acknowledged of a cap of {cap}")
    latest = 0
    for each in accepted:
        latest = max(latest, each.begun)
        if each.ended < latest:
            found.append(f"event {_receipt(each).sequence} ended before one with a lower number had begun")
    early = [each for each in tries if each.receipt is None and each.ended < latest]
    if early:
        found.append(f"{len(early)} charges were refused while there was room")
    return found


def _wrong_with_the_chain(receipts: list[Receipt]) -> Iterator[str]:
    for before, after in itertools.pairwise(receipts):
        if after.sequence != before.sequence + 1 or after.previous != before.hash:
            yield f"event {after.sequence} does not follow event {before.sequence}"
    for receipt in receipts:
        if not receipt.verify():
            yield f"the receipt of event {receipt.sequence} does not verify"


def _receipt(charge: Charge) -> Receipt:
    if charge.receipt is None:
        raise ValueError("a refusal has no receipt")
    return charge.receipt
