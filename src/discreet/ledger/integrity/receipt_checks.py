"""Receipts compared with the chains that they are of."""

from bisect import bisect_left
from collections.abc import Iterator, Mapping

from discreet.ledger.integrity.evidence import DatasetRows
from discreet.ledger.integrity.findings import UNREADABLE_ROWS, IntegrityFinding
from discreet.ledger.records.other_release import (
    MOST_LISTED,
    UNREADABLE,
    OtherRelease,
    place_in_line,
    receipt_lines,
)
from discreet.ledger.records.receipt import Receipt


def receipt_findings(
    held: Mapping[str, DatasetRows], receipts: tuple[Receipt, ...], publics: Mapping[str, str] | None, ledger: str
) -> Iterator[IntegrityFinding]:
    """Receipts must be in the chain and list its other releases; one that the ledger did not sign convicts nobody.

    A charge that the chain lost and that a recovery counted, or that an anchor covered in one, is accounted for.
    """
    for receipt in receipts:
        is_signed = receipt.verify(publics)
        if not is_signed and not receipt.verify():
            what = f"receipt {receipt.id} was changed"
        elif receipt.dataset not in held or not _holds(held[receipt.dataset], receipt):
            what = f"receipt {receipt.id} is not in the chain"
        elif not _agrees_on_releases(held[receipt.dataset], receipt, is_signed=is_signed):
            what = f"receipt {receipt.id} lists other releases than the chain before it"
        else:
            continue
        whose = "" if is_signed else ", and no key of this ledger signed it"
        if not receipt.is_of(ledger):
            whose = ", and it names another ledger"
        yield IntegrityFinding(what + whose, receipt.dataset, receipt.sequence, is_ours=not whose)


def _holds(evidence: DatasetRows, receipt: Receipt) -> bool:
    if evidence.heads.get(receipt.sequence) == receipt.hash:
        return True
    try:
        return receipt.hash in evidence.recovered_receipts() or evidence.is_covered(receipt.sequence)
    except UNREADABLE_ROWS:
        return False


def _agrees_on_releases(evidence: DatasetRows, receipt: Receipt, *, is_signed: bool) -> bool:
    """Whether a receipt lists the other releases before its charge; its hash does not cover the list.

    A charge that the chain lost has no place in it, so there is nothing to compare.
    """
    if evidence.heads.get(receipt.sequence) != receipt.hash:
        return True
    total = bisect_left(evidence.other_releases, receipt.sequence, key=lambda release: release.sequence)
    before = evidence.other_releases[:total]
    if receipt.others == receipt_lines(before[-MOST_LISTED:], total):
        return True
    is_whole = evidence.is_whole_before(receipt.sequence)
    return (is_signed or not is_whole) and _agrees_on_what_is_left(evidence, receipt, before, is_signed=is_signed)


def _agrees_on_what_is_left(
    evidence: DatasetRows, receipt: Receipt, before: list[OtherRelease], *, is_signed: bool
) -> bool:
    """The same where events were changed or lost before or after the charge: those as they were written must agree.

    A receipt of a time when an event was changed lists it as such; without a signature that is not believed.
    """
    intact = {release.sequence: release for release in before if release.sequence in evidence.heads}
    lines = {place: line for line in receipt.others if (place := place_in_line(line)) is not None}
    for place, line in lines.items():
        is_own = place in intact and line == intact[place].text
        was_changed = place in intact and is_signed and line == f"{UNREADABLE} (event {place})"
        if place in evidence.heads and not (is_own or was_changed):
            return False
    is_cut = len(lines) == MOST_LISTED == len(receipt.others) - 1
    first = min(lines) if is_cut else 0
    return all(place in lines for place in intact if place >= first) and len(lines) + is_cut == len(receipt.others)
