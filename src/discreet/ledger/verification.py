"""Verification of a ledger: its chains, its anchors, its keys and receipts, from the last checkpoint or in full."""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from enum import Enum
from functools import partial

from discreet.errors import LedgerError, public_class
from discreet.ledger.access import LedgerAccess
from discreet.ledger.integrity.anchors import Anchor
from discreet.ledger.integrity.findings import IntegrityFinding
from discreet.ledger.integrity.receipt_checks import receipt_findings
from discreet.ledger.integrity.store_pages import StorePages
from discreet.ledger.integrity.verification import Verification, VerifiedDataset, resume, verify_dataset
from discreet.ledger.records import faults
from discreet.ledger.records.receipt import Receipt
from discreet.ledger.transactions import statements
from discreet.ledger.transactions.statements import LedgerWriter

LOST_CHECKPOINT = (
    "the chain was verified up to this event and does not hold it any more: an older copy or another history is there"
)
OTHER_STORE = (
    "acts on its keys at this home name another store of shared anchors, at {!r}, and the ledger does not: an older"
    " copy was put back"
)
_STOPS = "SELECT dataset, time, finding FROM halts WHERE cleared IS NULL ORDER BY time DESC"


class Extent(Enum):
    """How much a verification reads: what is new since the last one, or everything.

    WITHOUT_CHECKPOINTS reads everything, and neither reads nor writes checkpoints.
    """

    NEW = "new"
    FULL = "full"
    WITHOUT_CHECKPOINTS = "without checkpoints"


@public_class
class LedgerVerification(LedgerAccess):
    """The verification of a ledger."""

    def _verify(self, name: str | None, receipts: tuple[Receipt, ...], extent: Extent) -> Verification:
        try:
            return self._verify_rows(name, receipts, extent)
        except LedgerError as error:
            if str(error) != faults.DAMAGED:
                raise
            return Verification(datasets=0, events=0, findings=(IntegrityFinding(str(error)),))

    def _with_stops(self, found: Verification, name: str | None = None) -> Verification:
        """A verification with the datasets that are stopped now: those of earlier verifications too."""

        def stops(writer: LedgerWriter) -> dict[str, str]:
            known = {"", *_names(writer, name)}
            rows = [row for row in writer.rows(_STOPS) if row["dataset"] in known]
            return {row["dataset"]: f"since {row['time']}: {without_name(**row)}" for row in rows}

        with suppress(LedgerError):  # a store that cannot be read serves nothing, and is a finding
            return replace(found, stopped=self._look(stops))
        return found

    def _verify_rows(self, name: str | None, receipts: tuple[Receipt, ...], extent: Extent) -> Verification:
        self._load_keys()
        anchors = self._detector.anchors()  # before the store is read: others go on charging and anchoring
        texts = [*self._store.findings(full=extent is not Extent.NEW), *self._key.findings()]
        findings = [IntegrityFinding(text) for text in texts]
        if self._key.anchors_fault is not None:  # it says nothing of the rows, and nothing can be charged anyway
            findings.append(IntegrityFinding(self._key.anchors_fault, is_ours=False))
            place = self._detector.acts.place_at_home(self._key.register)
            findings += [] if place is None else [IntegrityFinding(OTHER_STORE.format(place))]
        verified = [self._verify_dataset(each, extent) for each in self._look(partial(_names, name=name))]
        held = {each.name: each for each in verified}
        if name is not None:
            anchors = {each: anchor for each, anchor in anchors.items() if each in held}
            receipts = tuple(receipt for receipt in receipts if receipt.dataset in held)
        findings += self._detector.findings(verified, anchors)
        findings += _lost_checkpoints(verified, {finding.dataset for finding in findings})
        findings += [finding for each in verified for finding in each.findings]
        findings += receipt_findings(held, receipts, self._public_keys(receipts), self._id)
        if extent is not Extent.WITHOUT_CHECKPOINTS:
            self._keep_checkpoints(verified, findings)
        since = {each.name: each.check.start for each in verified if each.check.start is not None}
        return Verification(len(verified), sum(each.check.events for each in verified), tuple(findings), since)

    def _verify_dataset(self, name: str, extent: Extent) -> VerifiedDataset:
        """Verify a dataset from its checkpoint on, or from its beginning where it has none."""
        checkpoint = None if extent is Extent.WITHOUT_CHECKPOINTS else self._checkpoints.get(name)
        known = None if checkpoint is None else checkpoint.check()
        is_there = known is not None and resume(known, self._store.ask)
        return verify_dataset(
            name,
            StorePages(self._look, name),
            self._store.ask,
            after=known if is_there and extent is Extent.NEW else None,
            lost=None if is_there or checkpoint is None else checkpoint.anchor(),
        )

    def _keep_checkpoints(self, verified: list[VerifiedDataset], findings: list[IntegrityFinding]) -> None:
        """Write the checkpoints of datasets without a finding; one about the database is about all of them."""
        found = {finding.dataset for finding in findings}
        sound = (each.check for each in verified if not found & {None, each.name})
        kept = self._checkpoints.put(sound, self._anchor_store_id or None)
        if self._key.is_listed and not self._read_only:  # what another key anchors would make it the owner's
            self._detector.anchor_verification(anchor for each in kept if (anchor := each.anchor()) is not None)

    def _with_checkpoint(self, name: str, anchors: tuple[Anchor, ...]) -> tuple[Anchor, ...]:
        """The anchors of a dataset, with its checkpoint; a higher anchor may be of another history than that one."""
        checkpoint = self._checkpoints.get(name)
        verified = None if checkpoint is None else checkpoint.anchor()
        is_known = verified is None or any(anchor.head == verified.head for anchor in anchors)
        return anchors if verified is None or is_known else (*anchors, verified)

    def _public_keys(self, receipts: Sequence[Receipt] = ()) -> dict[str, str] | None:
        """The keys that may have signed some receipts, by the certificates in them too; None for a ledger in memory."""
        if self._key.signer is None:
            return None
        found = self._key.publics()
        for certificate in {receipt.certificate for receipt in receipts}:  # receipts of one key have the same
            found |= self._key.register.certified_keys(certificate)
        return found


def _lost_checkpoints(verified: list[VerifiedDataset], reported: set[str | None]) -> Iterator[IntegrityFinding]:
    """Events up to which datasets were verified and that their chains lost, where no anchor says so already."""
    for each in verified:
        if each.lost is not None and each.name not in reported and not each.counts(each.lost):
            yield IntegrityFinding(LOST_CHECKPOINT, each.name, each.lost.sequence)


def without_name(dataset: str, finding: str, **_: object) -> str:
    """The finding of a halt without the name of its dataset."""
    return finding.removeprefix(f"{dataset!r}: ").removeprefix(f"{dataset!r} ") if dataset else finding


def _names(writer: LedgerWriter, name: str | None) -> list[str]:
    return statements.names(writer) if name is None else [statements.name_of(writer, name)]
