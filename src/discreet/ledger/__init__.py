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

from discreet.ledger.anchors import Anchor
from discreet.ledger.book import Ledger
from discreet.ledger.chain import Kind, State
from discreet.ledger.charging import Part
from discreet.ledger.concluding import SupersededError
from discreet.ledger.history import Entry
from discreet.ledger.opening import open_ledger
from discreet.ledger.postgres import PostgresLedger
from discreet.ledger.quota import Share
from discreet.ledger.receipt import Receipt, Reservation
from discreet.ledger.registration import Dataset, Registration, Slice
from discreet.ledger.report import Report
from discreet.ledger.signing import Signer
from discreet.ledger.sqlite import SQLiteLedger
from discreet.ledger.turn import Turn
from discreet.ledger.verification import Finding, Verification

__all__ = [
    "Anchor",
    "Dataset",
    "Entry",
    "Finding",
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
