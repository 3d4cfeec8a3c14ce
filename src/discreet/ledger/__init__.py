"""The ledger: the promise over every question ever asked of a dataset, kept through crashes, crowds and restarts.

A charge moves through one state machine, and nothing leads back:

    REJECTED                       it did not fit; no data was read, nothing was spent
    RESERVED ──> ANSWERED          the charge is durable; then one stored answer
             └─> FORFEITED         failed after data was read: the charge stays

    turn = ledger.charge(...)                T1: durable before any data is read
    payload = ...                            read, aggregate, add noise
    answer = ledger.answer(turn, payload)    T2: stored once; the reply is what the store holds

`Ledger` is one class over two stores, SQLite for one person and PostgreSQL for an organisation.
"""

from discreet.ledger.integrity.anchors import Anchor
from discreet.ledger.integrity.verification import IntegrityFinding, Verification
from discreet.ledger.ledger import Ledger
from discreet.ledger.opening import open_ledger
from discreet.ledger.postgres import PostgresLedger
from discreet.ledger.records.chain import Kind, State
from discreet.ledger.records.history import Entry
from discreet.ledger.records.quota import Share
from discreet.ledger.records.receipt import Receipt, Reservation
from discreet.ledger.records.registration import Dataset, Registration, Slice
from discreet.ledger.records.reservation import Turn
from discreet.ledger.records.signatures import Signer
from discreet.ledger.reporting.report import Report
from discreet.ledger.sqlite import SQLiteLedger
from discreet.ledger.transactions.charge import Part
from discreet.ledger.transactions.outcome import SupersededError

__all__ = [
    "Anchor",
    "Dataset",
    "Entry",
    "IntegrityFinding",
    "Kind",
    "Ledger",
    "Part",
    "PostgresLedger",
    "Receipt",
    "Registration",
    "Report",
    "Reservation",
    "SQLiteLedger",
    "Share",
    "Signer",
    "Slice",
    "State",
    "SupersededError",
    "Turn",
    "Verification",
    "open_ledger",
]
