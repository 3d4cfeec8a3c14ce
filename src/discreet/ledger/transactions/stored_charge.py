"""A charge as the store holds it: what is read of it, and what becomes of it.

Statements are written as those of `statements`.
"""

from typing import Any

from discreet.errors import LedgerError
from discreet.ledger.records import faults
from discreet.ledger.records.account import Account
from discreet.ledger.records.canonical_text import digest
from discreet.ledger.records.chain import ChainLink, Kind, State, link_of
from discreet.ledger.records.receipt import ChargeReference, Receipt
from discreet.ledger.transactions.statements import NAMED, SHADOWED, LedgerWriter
from discreet.ledger.transactions.store import Row, Statement

# The outcome is found by a partial index. SQLite uses one only where a statement repeats the index's own condition.
_CHARGED = """SELECT events.*, r.state, r.attempt, r.lease, {clock} AS clock, r.description,
  answers.payload, outcome.digest AS sealed, outcome.sequence AS concluded, (
  SELECT count(*) FROM halts WHERE halts.dataset IN (r.dataset, '') AND cleared IS NULL) AS halts
FROM reservations AS r
JOIN events ON events.dataset = r.dataset AND events.sequence = r.sequence
LEFT JOIN answers ON answers.dataset = r.dataset AND answers.reservation = r.sequence
LEFT JOIN events AS outcome ON outcome.dataset = r.dataset AND outcome.reservation = r.sequence
  AND outcome.kind IN ('ANSWERED', 'FORFEITED') AND outcome.kind = 'ANSWERED'
WHERE """
_BY_REQUEST = f"{_CHARGED} r.dataset = {NAMED} AND r.analyst = :analyst AND r.request = :request"
# The place is found in an index alone: sorting whole charges would read the answer of every earlier one.
_BY_QUESTION = f"""{_CHARGED} r.dataset = {NAMED} AND NOT {SHADOWED} AND r.sequence = (
SELECT earlier.sequence FROM reservations AS earlier WHERE earlier.dataset = {NAMED}
  AND earlier.question = :question AND earlier.state <> 'FORFEITED'
ORDER BY earlier.state, earlier.sequence DESC LIMIT 1)"""
_BY_PLACE = f"{_CHARGED} r.dataset = :dataset AND r.sequence = :sequence"
_RESERVE = """INSERT INTO reservations
  (dataset, sequence, analyst, request, question, description, state, attempt, lease)
VALUES (:dataset, :sequence, :analyst, :request, :question, :description, 'RESERVED', 1, {clock} + :term)"""
_CONCLUDE = """UPDATE reservations SET state = :state
WHERE dataset = :dataset AND sequence = :sequence AND state = 'RESERVED' AND attempt = :attempt"""
_RESUME = """UPDATE reservations SET attempt = attempt + 1, lease = {clock} + :term
WHERE dataset = :dataset AND sequence = :sequence AND state = 'RESERVED' AND attempt = :attempt"""
_RENEW = """UPDATE reservations SET lease = {clock} + :term
WHERE dataset = :dataset AND sequence = :sequence AND state = 'RESERVED' AND attempt = :attempt"""

LONGEST_LEASE = 86_400_000
"""A lease that ends later than this, in milliseconds, was taken under another clock, and counts as expired."""


class StoredCharge:
    """A charge as the store holds it: its link, where it stands, whose attempt holds it, and its answer if any."""

    def __init__(self, row: Row) -> None:
        self.link = link_of(row)
        if self.link.hash != row["hash"]:  # what is read here is signed, and answered from
            raise LedgerError(faults.DAMAGED)
        self.state = State(row["state"])
        self.attempt = int(row["attempt"])
        left = row["lease"] - row["clock"]
        self.is_expired = not 0 < left <= LONGEST_LEASE
        self.is_halted = bool(row["halts"])
        self.concluded: int | None = row["concluded"]
        """Number of the event that has its answer; None where it has none."""
        self._payload, self._sealed = row["payload"], row["sealed"]

    @property
    def payload(self) -> bytes | None:
        """The stored answer as its event sealed it; an empty one is an answer."""
        if self.state is not State.ANSWERED:
            return None
        if self._payload is None or digest(self._payload) != self._sealed:
            raise LedgerError(faults.DAMAGED)
        return bytes(self._payload)


def request_question(name: str, analyst: str, request: str) -> Statement:
    """What to read for an earlier charge under a request key."""
    return _BY_REQUEST, {"name": name, "analyst": analyst, "request": request}


def same_question(name: str, question: str) -> Statement:
    """The statement for an earlier charge of the same query: an answered one if there is any."""
    return _BY_QUESTION, {"name": name, "question": question}


def place_question(reference: ChargeReference) -> Statement:
    """What to read for the charge behind a receipt, or behind (dataset, sequence)."""
    dataset, sequence = (reference.dataset, reference.sequence) if isinstance(reference, Receipt) else reference
    return _BY_PLACE, {"dataset": dataset, "sequence": sequence}


def charge_in(rows: list[Row]) -> StoredCharge | None:
    """The charge in what was read, or None."""
    return StoredCharge(rows[0]) if rows else None


def find_charge(writer: LedgerWriter, reference: ChargeReference) -> StoredCharge:
    """The charge behind a receipt, or behind (dataset, sequence)."""
    return charge_of(reference, writer.read(place_question(reference))[0])


def charge_of(reference: ChargeReference, rows: list[Row]) -> StoredCharge:
    """The charge in what was read for a receipt; one of another ledger is refused."""
    found = charge_in(rows)
    if found is None or (isinstance(reference, Receipt) and reference.hash != found.link.hash):
        raise LedgerError(faults.FOREIGN_RECEIPT)
    return found


def reserve(writer: LedgerWriter, link: ChainLink, description: str, term: int) -> None:
    """The reservation that goes with a charge, leased for `term` milliseconds."""
    columns = {name: getattr(link, name) for name in ("dataset", "sequence", "analyst", "request", "question")}
    writer.write(_RESERVE, columns | {"description": description, "term": term})


def _place(charge: StoredCharge) -> dict[str, object]:
    return {"dataset": charge.link.dataset, "sequence": charge.link.sequence, "attempt": charge.attempt}


def conclude(writer: LedgerWriter, charge: StoredCharge, state: State) -> None:
    """Set what became of a charge: one outcome, once, by its holder."""
    writer.write(_CONCLUDE, _place(charge) | {"state": str(state)})


def resume(writer: LedgerWriter, charge: StoredCharge, term: int) -> None:
    """Take an expired charge over: the next attempt holds it."""
    writer.write(_RESUME, _place(charge) | {"term": term})


def renew(writer: LedgerWriter, charge: StoredCharge, term: int) -> None:
    """Extend the lease of a charge."""
    writer.write(_RENEW, _place(charge) | {"term": term})


def outcome_of(account: Account, charge: StoredCharge, kind: Kind, **columns: Any) -> ChainLink:
    """The link that says what became of a charge."""
    return account.link(
        kind,
        version=charge.link.version,
        analyst=charge.link.analyst,
        question=charge.link.question,
        reservation=charge.link.sequence,
        **columns,
    )
