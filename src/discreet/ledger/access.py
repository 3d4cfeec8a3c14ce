"""How a ledger reaches its store: transactions whose outcome becomes known, charges with a listed key, verification."""

import logging
import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from enum import Enum
from functools import partial
from pathlib import Path
from typing import TypeVar

from discreet.errors import BudgetError, LedgerError, PendingError, public_class
from discreet.ledger.integrity.anchor_stores import absolute_place, anchor_store_at, closing_on_error
from discreet.ledger.integrity.anchors import Anchor
from discreet.ledger.integrity.checkpoints import CheckpointFile
from discreet.ledger.integrity.findings import IntegrityFinding
from discreet.ledger.integrity.receipt_checks import receipt_findings
from discreet.ledger.integrity.rollback import RollbackDetector
from discreet.ledger.integrity.shared_anchors import SharedAnchors, store_in
from discreet.ledger.integrity.store_pages import StorePages
from discreet.ledger.integrity.verification import Verification, VerifiedDataset, resume, verify_dataset
from discreet.ledger.records import faults
from discreet.ledger.records.account import Account
from discreet.ledger.records.key_acts import KeyAct
from discreet.ledger.records.lease import term
from discreet.ledger.records.receipt import Receipt
from discreet.ledger.records.reservation import Reservation
from discreet.ledger.records.signatures import Signer
from discreet.ledger.signing_key import KeysChangedError, SigningKey
from discreet.ledger.transactions import charge as charges
from discreet.ledger.transactions import key_register, other_releases, statements
from discreet.ledger.transactions.charge import ChargeRequest, Waiting
from discreet.ledger.transactions.statements import LedgerWriter
from discreet.ledger.transactions.store import Store, UnknownOutcomeError

T = TypeVar("T")
log = logging.getLogger("discreet")

WAITING = "the same query is being answered by somebody else; waiting, at most %d seconds after they fall silent"
LEASE = 30.0
ANCHORS_VARIABLE = "DISCREET_ANCHORS"
SHORTEST_NAP, LONGEST_NAP = 0.005, 0.5
MOST_RETRIES = 5
LOST_CHECKPOINT = (
    "the chain was verified up to this event and does not hold it any more: an older copy or another history is there"
)


class Extent(Enum):
    """How much a verification reads: what is new since the last one, or everything.

    WITHOUT_CHECKPOINTS reads everything, and neither reads nor writes checkpoints.
    """

    NEW = "new"
    FULL = "full"
    WITHOUT_CHECKPOINTS = "without checkpoints"


@public_class
class LedgerAccess:
    """A store, with the key that signs receipts and the detector of rollbacks.

    `lease` is how many seconds a process that went silent keeps its reservation; a living one renews it. `checkpoints`
    is the directory of the checkpoints of verifications; without one every verification is full. With `read_only`
    nothing is written, neither to the store nor beside it.
    """

    STORE: str
    """Name of the database."""

    def __init__(
        self,
        store: Store,
        *,
        signer: Signer | None,
        detector: RollbackDetector,
        lease: float = LEASE,
        checkpoints: Path | None = None,
        shared_anchors: str | os.PathLike[str] | None = None,
        writes_keys: bool = True,
        charges: bool = True,
        read_only: bool = False,
    ) -> None:
        self._store = store
        self._key = SigningKey(signer)
        self._detector = detector
        place = shared_anchors or os.environ.get(ANCHORS_VARIABLE)
        self._place = None if not place else absolute_place(place)
        self._read_only = read_only
        self._writes_keys = writes_keys and not read_only
        self._charges = charges
        self._anchor_store_id = ""
        try:
            self._term = term(lease)
            detector.open(self._look)
            self._id = self._look(statements.ledger_id)
            self._checkpoints = CheckpointFile(None if read_only else checkpoints, signer, self._id)
            self._open_keys()
        except BaseException:
            detector.let_go()
            store.close()
            raise

    def _open_keys(self) -> None:
        """Read who may charge, and become the owner of a ledger that is new or was migrated here."""
        self._load_keys()
        is_current = not self._detector.are_acts_behind and self._key.anchors_fault is None
        if self._writes_keys and is_current:
            is_new = not self._look(statements.names)
            act = self._key.first_act(is_new=is_new, anchored_by=self._detector.anchored_by())
            if act is not None:
                self._append_act(act)
        if self._key.may_charge:
            self._detector.merge_shared_anchors()

    def _load_keys(self) -> None:
        """Read the register of keys, and compare it with what stands outside the store, which is read first."""
        try:
            chains = self._detector.chains_of_acts()
            self._key.load(self._look, self._id)
            if self._key.damage is not None:
                return
            if self._open_shared_anchors():
                chains = self._detector.chains_of_acts()
                self._key.load(self._look, self._id)
            self._detector.compare_acts(self._key.register, chains)
        except LedgerError as error:
            if str(error) not in faults.WITHOUT_SHARED_ANCHORS:
                raise
            self._key.load(self._look, self._id)
            self._key.anchors_fault = str(error)
            if self._anchor_store_id not in ("", self._key.register.store):  # another store was named since
                self._anchor_store_id = ""
                self._detector.drop_shared_anchors()
                self._load_keys()

    def _open_shared_anchors(self) -> bool:
        """Open the store of anchors that the owner named, and say whether it was opened now.

        One that is configured here is opened too where the register names none: an older copy may have been put back.
        """
        register, signer = self._key.register, self._key.signer
        if signer is None or not (register.store or self._place):
            return False
        if register.store and register.store == self._anchor_store_id:
            self._key.anchors_fault = None
            return False
        store = anchor_store_at(self._place or register.place, self._id)
        with closing_on_error(store):
            store_id = register.store or store_in(store.identity(), self._id)
            if store_id is None or store_id == self._anchor_store_id:
                store.close()
                self._key.anchors_fault = None
                return False
            shared = SharedAnchors(
                store,
                ledger=self._id,
                store_id=store_id,
                signer=signer,
                publics=self._key.publics,
                may_write=lambda: not (self._read_only or self._key.is_stranger),
            )
            self._detector.share(shared)
        self._anchor_store_id, self._key.anchors_fault = store_id, None
        return True

    def _append_act(self, act: KeyAct) -> None:
        """Write an act on keys, unless another process was first with one; then read what stands now."""
        with suppress(LedgerError):
            self._commit(lambda writer: key_register.append(writer, act))
        self._load_keys()

    def _write_act(self, act: KeyAct) -> None:
        self._commit(lambda writer: key_register.append(writer, act))
        self._load_keys()

    def _refuse_service(self) -> None:
        """Refuse an act that the store would not take from this role: acts also write beside the store, and first."""
        if self._read_only:
            raise LedgerError(faults.READ_ONLY)
        self._store.refuse_service()

    def _refuse_acts_behind(self) -> None:
        """Refuse an act on keys while acts stand outside the store that are not in it: it would be a second history."""
        self._refuse_service()
        self._load_keys()
        if self._detector.are_acts_behind:
            raise LedgerError(faults.BEHIND)

    def _refuse_behind(self) -> None:
        """Refuse an act of the owner while anything in the store is behind what stands outside it."""
        self._refuse_acts_behind()
        if self._detector.behind():
            raise LedgerError(faults.BEHIND)

    def _refuse_stranger(self) -> None:
        if self._key.is_stranger:
            self._key.refuse_unlisted_key()

    def _refuse_unlisted_key(self) -> None:
        self._load_keys()
        self._key.refuse_unlisted_key()

    def _recover_acts(self) -> None:
        """Put acts on keys back that an older copy of the store lacks, and give up chains that went another way.

        What was revoked in such a chain is revoked again; what was listed there is not listed. A takeover that the
        shared anchors alone show is not put back: the owner gives it up, with all that follows it.
        """
        self._load_keys()
        if self._key.anchors_fault is not None:
            raise LedgerError(self._key.anchors_fault)
        for text in self._detector.lost_acts(self._key.register):
            act = KeyAct.from_json(text)
            self._key.register.then(act)
            self._write_act(act)
        if self._detector.are_acts_parted(self._key.register):
            raise LedgerError(faults.PARTED_ACTS)
        for chain in self._detector.forked_acts(self._key.register):
            vouched = self._detector.vouched_acts(chain, self._key.register)
            if vouched != chain and not self._key.is_owner:
                raise LedgerError(faults.UNKNOWN_TAKEOVER)
            for act in self._key.abandonment(chain, vouched):
                self._write_act(self._key.owner_act(act.kind, act.value, name=act.name, reason=act.reason))

    def _run_with_listed_key(self, work: Callable[[LedgerWriter], T]) -> T:
        """Run work that changes something only where the key of this process is listed."""
        self._load_keys()
        return self._run(self._for_listed_key(work))

    def _for_listed_key(self, work: Callable[[LedgerWriter], T]) -> Callable[[LedgerWriter], T]:
        """The work, which is undone where it would change something and the key of this process is not listed."""

        def refuse_changes(writer: LedgerWriter) -> T:
            result = work(writer)
            if writer.heads:
                self._key.refuse_unlisted_key()
            return result

        return refuse_changes

    def _check(self, account: Account) -> None:
        """Refuse an account that stands behind what was seen, and a charge by what the register of keys said before."""
        self._detector.check(account)
        self._key.check(account)

    def _run(self, work: Callable[[LedgerWriter], T]) -> T:
        result, writer = self._commit(work)
        self._detector.see(writer.heads.values())
        return result

    def _commit(self, work: Callable[[LedgerWriter], T]) -> tuple[T, LedgerWriter]:
        def transact(transaction: object) -> tuple[T, LedgerWriter]:
            writer = LedgerWriter(transaction)  # type: ignore[arg-type]
            return work(writer), writer

        if self._read_only:
            raise LedgerError(faults.READ_ONLY)
        return self._store.run(transact)

    def _look(self, work: Callable[[LedgerWriter], T]) -> T:
        return self._store.look(lambda transaction: work(LedgerWriter(transaction)))

    def _run_idempotent(self, work: Callable[[LedgerWriter], T]) -> T:
        """Run idempotent work, and retry it where its outcome is unknown."""
        try:
            return self._run(work)
        except UnknownOutcomeError:
            return self._retry_unknown(work)

    def _retry_unknown(self, work: Callable[[LedgerWriter], T]) -> T:
        """Retry at most 5 times; raise UnknownOutcomeError if the outcome stays unknown."""
        unknown = UnknownOutcomeError()
        for _ in range(MOST_RETRIES):
            try:
                return self._run(work)
            except UnknownOutcomeError as error:
                unknown = error
            except LedgerError as error:
                if str(error) not in faults.WITHOUT_CONTACT:
                    raise
                break
        raise unknown

    def _charge_or_wait(self, request: ChargeRequest, patience: float) -> Reservation:
        end, nap, is_logged = time.monotonic() + patience, SHORTEST_NAP, False
        while True:
            outcome = self._try_charge(request)
            if isinstance(outcome, Reservation):
                return outcome
            if isinstance(outcome, Waiting):
                if time.monotonic() >= end:
                    raise _pending()
                if nap == LONGEST_NAP and not is_logged:
                    log.warning(WAITING, self._term // 1000)
                    is_logged = True
                time.sleep(nap)
                nap = min(2 * nap, LONGEST_NAP)
                continue
            raise outcome

    def _try_charge(self, request: ChargeRequest) -> Reservation | Waiting | BudgetError:
        """Charge with a listed key; where the register of keys has changed, read it and charge again."""
        if not self._charges:
            raise LedgerError(faults.TOO_MANY_RIGHTS)
        if not self._key.may_charge or self._detector.are_acts_behind:
            self._load_keys()  # the key may have been listed since, or the acts put back
        for _ in range(MOST_RETRIES):
            try:
                return self._charge_once(request)
            except KeysChangedError:
                self._load_keys()
            except LedgerError as error:
                if str(error) != faults.NO_SHARED_ANCHORS or not self._finds_another_store():
                    raise
        raise LedgerError(faults.BUSY)

    def _finds_another_store(self) -> bool:
        """Whether the owner named another store of anchors since this process opened one that is gone."""
        before = self._anchor_store_id
        self._load_keys()
        return before != self._anchor_store_id

    def _charge_once(self, request: ChargeRequest) -> Reservation | Waiting | BudgetError:
        """Charge; where the outcome of the COMMIT is unknown, look it up by the request key under the same locks."""
        self._detector.behind()  # looked at again: another process may have recovered the ledger
        try:
            reservation = charges.find_stored_answer(request, self._store.ask)
            work = self._for_listed_key(lambda writer: charges.charge(writer, request, self._check))
            return reservation or self._run(work)
        except UnknownOutcomeError:
            work = self._for_listed_key(lambda writer: charges.resolve(writer, request, self._check))
            return self._retry_unknown(work)

    def signature(self, text: str) -> dict[str, str] | None:
        """Signature of a text by the key of this ledger.

        Args:
            text: The text.

        Returns:
            The id of the key and the signature, or None where this ledger signs nothing.
        """
        signer = self._key.signer if self._key.is_listed else None
        return None if signer is None else {"key": signer.key, "signature": signer.sign(text)}

    def _complete(self, reservation: Reservation) -> Reservation:
        """The reservation with receipts that list other releases and are signed, where this ledger signs."""
        receipts = tuple(other_releases.list_in_receipt(each, self._store.ask) for each in reservation.receipts)
        signer = self._key.signer
        if signer is not None and self._key.may_charge:
            certificate = self._key.register.certificate(signer.key)
            receipts = tuple(receipt.sign(signer, self._id, certificate) for receipt in receipts)
        return Reservation(receipts=receipts, attempt=reservation.attempt, payload=reservation.payload)

    def _verify(self, name: str | None, receipts: tuple[Receipt, ...], extent: Extent) -> Verification:
        try:
            return self._verify_rows(name, receipts, extent)
        except LedgerError as error:
            if str(error) != faults.DAMAGED:
                raise
            return Verification(datasets=0, events=0, findings=(IntegrityFinding(str(error)),))

    def _verify_rows(self, name: str | None, receipts: tuple[Receipt, ...], extent: Extent) -> Verification:
        self._load_keys()
        anchors = self._detector.anchors()  # before the store is read: others go on charging and anchoring
        texts = [*self._store.findings(full=extent is not Extent.NEW), *self._key.findings()]
        findings = [IntegrityFinding(text) for text in texts]
        if self._key.anchors_fault is not None:  # it says nothing of the rows, and nothing can be charged anyway
            findings.append(IntegrityFinding(self._key.anchors_fault, is_ours=False))
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
        self._detector.record_verified(anchor for each in kept if (anchor := each.anchor()) is not None)

    def _with_checkpoint(self, name: str, anchors: tuple[Anchor, ...]) -> tuple[Anchor, ...]:
        """The anchors of a dataset, with its checkpoint where that is later than all of them."""
        checkpoint = self._checkpoints.get(name)
        verified = None if checkpoint is None else checkpoint.anchor()
        if verified is None or any(anchor.sequence >= verified.sequence for anchor in anchors):
            return anchors
        return (*anchors, verified)

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


def _names(writer: LedgerWriter, name: str | None) -> list[str]:
    return statements.names(writer) if name is None else [statements.name_of(writer, name)]


def _pending() -> PendingError:
    return PendingError(
        "a query that is being answered already",
        because="another process holds the charge of the same query",
        instead="ask again in a while: its answer will be free; or fresh=True for a charge of its own",
    )
