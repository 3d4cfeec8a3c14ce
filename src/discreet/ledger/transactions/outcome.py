"""The answer transaction and other ends of a charge: answered once by its holder, forfeited, or expired."""

import json

from discreet.errors import Failure, LedgerError
from discreet.ledger.records import faults
from discreet.ledger.records.account import Account
from discreet.ledger.records.canonical_text import canonical, digest
from discreet.ledger.records.chain import ChainLink, Kind, State
from discreet.ledger.records.reservation import Reservation
from discreet.ledger.transactions import statements, stored_charge
from discreet.ledger.transactions.statements import LedgerWriter
from discreet.ledger.transactions.store import Ask
from discreet.ledger.transactions.stored_charge import StoredCharge

EXPIRED = "lease_expired"
_EXPIRED = """SELECT r.dataset, r.sequence FROM reservations AS r
JOIN events ON events.dataset = r.dataset AND events.sequence = r.sequence
WHERE r.state = 'RESERVED' AND (r.lease <= {clock} - :grace OR r.lease > {clock} + :longest)"""


class SupersededError(LedgerError):
    """The lease of this attempt expired, and another attempt took its place.

    Its charge stands. Repeating the query returns the answer of the other attempt, at no cost.
    """

    def __init__(self) -> None:
        super().__init__(faults.SUPERSEDED)


def answer(writer: LedgerWriter, reservation: Reservation, payload: bytes) -> None:
    """Store the answer unless there is one; refuse a superseded process."""
    for known, charge in _lock_charges(writer, reservation):
        if charge.state is State.FORFEITED:
            raise Failure
        if charge.state is State.ANSWERED:
            continue
        if charge.attempt != reservation.attempt:
            raise SupersededError
        writer.append(known, stored_charge.outcome_of(known, charge, Kind.ANSWERED, digest=digest(payload)))
        stored_charge.conclude(writer, charge, State.ANSWERED)
        place = {"dataset": charge.link.dataset, "reservation": charge.link.sequence}
        writer.insert("answers", place | {"payload": payload})


def forfeit(writer: LedgerWriter, reservation: Reservation, code: str) -> State:
    """Record that a charge failed after data was read; a superseded process changes nothing."""
    held = _lock_charges(writer, reservation)
    ours = [each for each in held if _is_ours(each[1], reservation)]
    for known, charge in ours:
        forfeit_charge(writer, known, charge, code)
    return State.FORFEITED if ours else held[0][1].state


def renew(writer: LedgerWriter, reservation: Reservation, term: int) -> bool:
    """Renew the lease of a reservation; False where it is no longer ours."""
    charges = [charge for _, charge in _lock_charges(writer, reservation)]
    if not all(_is_ours(charge, reservation) for charge in charges):
        return False
    for charge in charges:
        stored_charge.renew(writer, charge, term)
    return True


def expired_charges(writer: LedgerWriter, grace: int) -> list[tuple[str, int]]:
    """The charges whose lease ended at least `grace` milliseconds ago."""
    rows = writer.rows(_EXPIRED, grace=grace, longest=stored_charge.LONGEST_LEASE)
    return [(row["dataset"], row["sequence"]) for row in rows]


def forfeit_expired_charge(writer: LedgerWriter, place: tuple[str, int]) -> bool:
    """Forfeit one charge whose holder never came back."""
    known = statements.account(writer, place[0])
    charge = stored_charge.find_charge(writer, place)
    if charge.state is not State.RESERVED or not charge.is_expired:
        return False
    forfeit_charge(writer, known, charge, EXPIRED)
    return True


def stored_answer(reservation: Reservation, ask: Ask) -> bytes:
    """The answer as the store holds it."""
    rows = ask(stored_charge.place_question(reservation.receipt))
    payload = stored_charge.charge_of(reservation.receipt, rows).payload
    if payload is None:
        raise LedgerError(faults.DAMAGED)
    return payload


def _is_ours(charge: StoredCharge, reservation: Reservation) -> bool:
    return charge.state is State.RESERVED and charge.attempt == reservation.attempt


def _lock_charges(writer: LedgerWriter, reservation: Reservation) -> list[tuple[Account, StoredCharge]]:
    """The charges of a reservation and their accounts, locked in the order of their names."""
    receipts = sorted(reservation.receipts, key=lambda receipt: receipt.dataset)
    accounts = statements.account_questions([receipt.dataset for receipt in receipts], lock=True)
    found = writer.read(*accounts, *map(stored_charge.place_question, receipts))
    known, charges = found[: len(accounts)], found[len(accounts) :]
    held = [
        (
            statements.account_in(writer, receipt.dataset, known, place, lock=True),
            stored_charge.charge_of(receipt, charges[place]),
        )
        for place, receipt in enumerate(receipts)
    ]
    _refuse_a_part([charge.link for _, charge in held])
    return held


def _refuse_a_part(links: list[ChainLink]) -> None:
    """What was charged together has one outcome: a reservation is all of one charge, and nothing else."""
    names = [link.dataset for link in links]
    for link in links:
        together = [link.dataset] if link.detail is None else json.loads(link.detail)["together"]
        if names != together or link.request != links[0].request or link.analyst != links[0].analyst:
            raise LedgerError(faults.FOREIGN_RECEIPT)


def forfeit_charge(writer: LedgerWriter, known: Account, charge: StoredCharge, code: str) -> Account:
    """Record that a charge failed and count it as a failure of its analyst; the account after it."""
    detail = canonical({"code": code})
    after = writer.append(known, stored_charge.outcome_of(known, charge, Kind.FORFEITED, detail=detail))
    stored_charge.conclude(writer, charge, State.FORFEITED)
    statements.fail(writer, charge.link.dataset, charge.link.analyst or "")
    return after
