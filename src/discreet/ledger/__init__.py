"""The ledger: one durable privacy budget for each dataset, over all queries, analysts and restarts.

A charge moves through one state machine, and nothing leads back:

    REJECTED                       it did not fit; no data was read, nothing was spent
    RESERVED ──> ANSWERED          the charge is durable; then one stored answer
             └─> FORFEITED         failed after data was read: the charge stays

    reservation = ledger.charge(...)              charge transaction: durable before any data is read
    payload = ...                                 read, aggregate, add noise
    answer = ledger.answer(reservation, payload)  answer transaction: stored once; the reply is what the store holds

`Ledger` is one class over two stores, SQLite for one person and PostgreSQL for an organisation.
"""

from discreet.ledger.integrity.anchors import Anchor
from discreet.ledger.integrity.findings import IntegrityFinding
from discreet.ledger.integrity.verification import Verification
from discreet.ledger.ledger import Ledger
from discreet.ledger.moving import move_to_postgres
from discreet.ledger.opening import open_ledger
from discreet.ledger.postgres import PostgresLedger
from discreet.ledger.records.chain import Kind, State
from discreet.ledger.records.history import Entry
from discreet.ledger.records.key_acts import ListedKey
from discreet.ledger.records.other_release import OtherRelease, ReleaseKind
from discreet.ledger.records.quota import Share
from discreet.ledger.records.receipt import ChargeReference, Receipt
from discreet.ledger.records.registration import Dataset, RegisteredSlice, Registration
from discreet.ledger.records.reservation import Reservation
from discreet.ledger.records.signatures import Signer
from discreet.ledger.reporting.health import LedgerHealth
from discreet.ledger.reporting.report import SpendingReport
from discreet.ledger.sqlite import SQLiteLedger
from discreet.ledger.transactions.charge import DatasetCharge
from discreet.ledger.transactions.outcome import SupersededError

__all__ = [
    "Anchor",
    "ChargeReference",
    "Dataset",
    "DatasetCharge",
    "Entry",
    "IntegrityFinding",
    "Kind",
    "Ledger",
    "LedgerHealth",
    "ListedKey",
    "OtherRelease",
    "PostgresLedger",
    "Receipt",
    "RegisteredSlice",
    "Registration",
    "ReleaseKind",
    "Reservation",
    "SQLiteLedger",
    "Share",
    "Signer",
    "SpendingReport",
    "State",
    "SupersededError",
    "Verification",
    "move_to_postgres",
    "open_ledger",
]
