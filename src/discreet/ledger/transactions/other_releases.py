"""Other releases in the chain: an uncharged event for each, and the list of them; totals and caps do not move."""

from dataclasses import replace
from typing import Any

from discreet.errors import LedgerError
from discreet.ledger.records import faults
from discreet.ledger.records.chain import Kind, link_of
from discreet.ledger.records.other_release import (
    MOST_LISTED,
    OtherRelease,
    OtherReleaseRequest,
    other_release_of,
    read_release,
    receipt_lines,
)
from discreet.ledger.records.receipt import Receipt
from discreet.ledger.transactions import statements
from discreet.ledger.transactions.statements import LedgerWriter
from discreet.ledger.transactions.store import Ask

# The kind is written out: only then do stores find these few among all events by their index.
_PUBLISHED = "SELECT * FROM events WHERE dataset = :name AND kind = 'PUBLISHED'"
IN_ORDER = f"{_PUBLISHED} ORDER BY sequence"
_BY_REQUEST = f"{_PUBLISHED} AND request = :request"
_BEFORE = f"{_PUBLISHED} AND sequence < :sequence"
_NEWEST_BEFORE = f"{_BEFORE} ORDER BY sequence DESC LIMIT {MOST_LISTED}"
_NUMBER_BEFORE = _BEFORE.replace("*", "count(*) AS number", 1)


def add(writer: LedgerWriter, name: str, request: OtherReleaseRequest) -> OtherRelease:
    """Append the event of another release; run again after an unknown outcome, it finds its own event."""
    known = statements.account(writer, name)
    if known.is_halted:
        raise LedgerError(faults.HALTED)
    earlier = writer.row(_BY_REQUEST, name=known.name, request=request.request)
    if earlier is not None:
        return other_release_of(link_of(earlier))
    version = statements.newest_number(writer, known.name)
    columns: dict[str, Any] = request.columns()
    link = known.link(Kind.PUBLISHED, version=version, **columns)
    writer.append(known, link)
    return other_release_of(link)


def find_all(writer: LedgerWriter, name: str) -> tuple[OtherRelease, ...]:
    """Every other release of a dataset that must exist, in the order of its chain."""
    known = statements.account(writer, name, lock=False)
    return tuple(map(read_release, writer.rows(IN_ORDER, name=known.name)))


def list_in_receipt(receipt: Receipt, ask: Ask) -> Receipt:
    """The receipt with the newest other releases that its chain held before its charge: at any time, the same ones."""
    place = {"name": receipt.dataset, "sequence": receipt.sequence}
    newest = [read_release(row) for row in reversed(ask((_NEWEST_BEFORE, place)))]
    total = ask((_NUMBER_BEFORE, place))[0]["number"] if len(newest) == MOST_LISTED else len(newest)
    return replace(receipt, others=receipt_lines(newest, total))
