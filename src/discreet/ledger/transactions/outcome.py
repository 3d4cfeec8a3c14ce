"""T2 and what else becomes of a charge: answered once by whoever holds it, forfeited, or left until it expires."""

import json
from collections.abc import Callable

from discreet.errors import Failure, LedgerError
from discreet.ledger.records import faults
from discreet.ledger.records.account import Account
from discreet.ledger.records.canonical_text import canonical, digest
from discreet.ledger.records.chain import Kind, Link, State
from discreet.ledger.records.reservation import Turn
from discreet.ledger.transactions import statements
from discreet.ledger.transactions.statements import Charged, Pen
from discreet.ledger.transactions.store import Row, Statement

EXPIRED = "lease_expired"
_EXPIRED = """SELECT r.dataset, r.sequence FROM reservations AS r
JOIN events ON events.dataset = r.dataset AND events.sequence = r.sequence
WHERE r.state = 'RESERVED' AND (r.lease <= {clock} - :grace OR r.lease > {clock} + :longest)"""


class SupersededError(LedgerError):
    """The lease of this attempt expired, and another attempt took its place."""

    def __init__(self) -> None:
        super().__init__(faults.SUPERSEDED)


def answer(pen: Pen, turn: Turn, payload: bytes) -> None:
    """Store the answer unless there is one; refuse whoever was superseded."""
    for known, charge in _held(pen, turn):
        if charge.state is State.FORFEITED:
            raise Failure
        if charge.state is State.ANSWERED:
            continue
        if charge.attempt != turn.attempt:
            raise SupersededError
        pen.append(known, statements.outcome_of(known, charge, Kind.ANSWERED, digest=digest(payload)))
        statements.conclude(pen, charge, State.ANSWERED)
        place = {"dataset": charge.link.dataset, "reservation": charge.link.sequence}
        pen.insert("answers", place | {"payload": payload})


def forfeit(pen: Pen, turn: Turn, code: str) -> State:
    """Record that a charge failed after data was read; whoever was superseded changes nothing."""
    held = _held(pen, turn)
    ours = [each for each in held if _is_ours(each[1], turn)]
    for known, charge in ours:
        forfeit_charge(pen, known, charge, code)
    return State.FORFEITED if ours else held[0][1].state


def renew(pen: Pen, turn: Turn, term: int) -> bool:
    """Hold a turn longer; False where it is no longer ours."""
    charges = [charge for _, charge in _held(pen, turn)]
    if not all(_is_ours(charge, turn) for charge in charges):
        return False
    for charge in charges:
        statements.renew(pen, charge, term)
    return True


def expired(pen: Pen, grace: int) -> list[tuple[str, int]]:
    """The charges whose lease ended at least `grace` milliseconds ago."""
    rows = pen.rows(_EXPIRED, grace=grace, longest=statements.LONGEST_LEASE)
    return [(row["dataset"], row["sequence"]) for row in rows]


def forfeit_expired(pen: Pen, place: tuple[str, int]) -> bool:
    """Forfeit one charge whose holder never came back."""
    known = statements.account(pen, place[0])
    charge = statements.charged(pen, place)
    if charge.state is not State.RESERVED or not charge.is_expired:
        return False
    forfeit_charge(pen, known, charge, EXPIRED)
    return True


def stored(turn: Turn, ask: Callable[[Statement], list[Row]]) -> bytes:
    """The answer as the store holds it."""
    payload = statements.charged_by(turn.receipt, ask(statements.place_question(turn.receipt))).payload
    if payload is None:
        raise LedgerError(faults.DAMAGED)
    return payload


def _is_ours(charge: Charged, turn: Turn) -> bool:
    return charge.state is State.RESERVED and charge.attempt == turn.attempt


def _held(pen: Pen, turn: Turn) -> list[tuple[Account, Charged]]:
    """The charges of a turn and their accounts, locked in the order of their names."""
    receipts = sorted(turn.receipts, key=lambda receipt: receipt.dataset)
    questions = [
        question
        for receipt in receipts
        for question in (statements.account_question(receipt.dataset, lock=True), statements.place_question(receipt))
    ]
    found = pen.read(*questions)
    held = [
        (statements.account_in(pen, receipt.dataset, accounts), statements.charged_by(receipt, charges))
        for receipt, accounts, charges in zip(receipts, found[::2], found[1::2], strict=True)
    ]
    _refuse_a_part([charge.link for _, charge in held])
    return held


def _refuse_a_part(links: list[Link]) -> None:
    """What was charged together has one outcome: a turn is all of one charge, and nothing else."""
    names = [link.dataset for link in links]
    for link in links:
        together = [link.dataset] if link.detail is None else json.loads(link.detail)["together"]
        if names != together or link.request != links[0].request or link.analyst != links[0].analyst:
            raise LedgerError(faults.FOREIGN_RECEIPT)


def forfeit_charge(pen: Pen, known: Account, charge: Charged, code: str) -> Account:
    """Record that a charge failed and count it as a failure of its analyst; the account after it."""
    detail = canonical({"code": code})
    after = pen.append(known, statements.outcome_of(known, charge, Kind.FORFEITED, detail=detail))
    statements.conclude(pen, charge, State.FORFEITED)
    statements.fail(pen, charge.link.dataset, charge.link.analyst or "")
    return after
