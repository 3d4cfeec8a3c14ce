"""How a ledger reaches its store: transactions whose outcome becomes known, and charges with a listed key."""

import logging
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TypeVar

from discreet.errors import BudgetError, LedgerError, PendingError, public_class
from discreet.ledger.integrity import halts
from discreet.ledger.integrity.checkpoints import CheckpointFile
from discreet.ledger.integrity.rollback import RollbackDetector
from discreet.ledger.integrity.shared_anchors import SharedAnchors, store_in
from discreet.ledger.records import faults
from discreet.ledger.records.account import Account
from discreet.ledger.records.key_acts import KeyAct
from discreet.ledger.records.lease import term
from discreet.ledger.records.reservation import Reservation
from discreet.ledger.records.signatures import Signer
from discreet.ledger.signing_key import KeysChangedError, SigningKey
from discreet.ledger.stores.anchor_places import absolute_place, anchor_store_at, closing_on_error
from discreet.ledger.transactions import charge as charges
from discreet.ledger.transactions import key_register, other_releases, statements
from discreet.ledger.transactions.charge import ChargeRequest, Waiting
from discreet.ledger.transactions.statements import LedgerWriter, Look
from discreet.ledger.transactions.store import Store, UnknownOutcomeError

T = TypeVar("T")
log = logging.getLogger("discreet")

WAITING = "the same query is being answered by somebody else; waiting, at most %d seconds after they fall silent"
LEASE = 30.0
ANCHORS_VARIABLE = "DISCREET_ANCHORS"
SHORTEST_NAP, LONGEST_NAP = 0.005, 0.5
MOST_RETRIES = 5


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
        self._read_only = read_only
        self._writes_keys = writes_keys and not read_only
        self._charges = charges
        self._anchor_store_id = ""
        try:
            place = shared_anchors or os.environ.get(ANCHORS_VARIABLE)
            self._place = None if not place else absolute_place(place)
            self._term = term(lease)
            detector.open(self._look)
            self._id = self._look(statements.ledger_id)
            directory = None if read_only else checkpoints
            self._checkpoints = CheckpointFile(
                directory, signer, self._id, home=detector.home, publics=self._key.publics
            )
            self._open_keys()
        except BaseException:
            detector.close_without_anchoring()
            store.close()
            raise

    def _open_keys(self) -> None:
        """Read who may charge, and become the owner of a ledger that is new or was migrated here."""
        self._load_keys()
        is_current = not self._detector.acts.are_behind and self._key.anchors_fault is None
        if self._writes_keys and is_current:
            is_new = not self._look(statements.names)
            act = self._key.first_act(is_new=is_new, anchored_by=self._detector.anchored_by())
            if act is not None:
                self._try_to_write_act(act)
        if self._key.may_charge:
            self._detector.merge_shared_anchors()

    def _load_keys(self) -> None:
        """Read the register of keys, and compare it with what stands outside the store, which is read first."""
        try:
            chains = self._detector.acts.chains()
            self._read_register()
            if self._key.damage is not None:
                return
            if self._open_shared_anchors():
                chains = self._detector.acts.chains()
                self._read_register()
            self._detector.acts.compare(self._key.register, chains)
        except LedgerError as error:
            if str(error) not in faults.WITHOUT_SHARED_ANCHORS:
                raise
            self._leave_lost_store(str(error))

    def _read_register(self) -> None:
        """Read the register of keys; what a listed key anchored at home or verified counts from then on."""
        self._key.load(self._look, self._id)
        self._detector.accept_keys(self._key.publics())

    def _leave_lost_store(self, fault: str) -> None:
        """Record why the shared anchors cannot be used; if the owner has named another store since, open that one."""
        self._read_register()
        self._key.anchors_fault = fault
        if self._anchor_store_id not in ("", self._key.register.store):
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

    def _try_to_write_act(self, act: KeyAct) -> None:
        """Write an act, unless another process was first; then read the acts that the ledger holds."""
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
        if self._detector.acts.are_behind:
            raise LedgerError(faults.BEHIND)

    def _refuse_behind(self) -> None:
        """Refuse an act of the owner while anything in the store is behind what stands outside it."""
        self._refuse_acts_behind()
        self._detector.refresh()
        self._detector.refuse_behind(lambda: self._look(statements.names))

    def _refuse_stranger(self) -> None:
        if self._key.is_stranger:
            self._key.refuse_unusable_key()

    def _refuse_unusable_key(self) -> None:
        self._load_keys()
        self._key.refuse_unusable_key()

    def _recover_acts(self) -> bool:
        """Put acts on keys back that an older copy of the store lacks; whether all datasets are halted for it.

        Refused where the shared anchors are away, unless acts at home name others, which are not. Once the acts are
        back, nothing else may show that it is a copy.
        """
        self._load_keys()
        if self._key.anchors_fault is not None and self._detector.acts.place_at_home(self._key.register):
            self._detector.acts.compare_with_home(self._key.register)
        is_older = self._detector.acts.are_behind
        if is_older:
            self._halt_older_copy()
            self._put_back_acts()
        if self._key.anchors_fault is not None:
            raise LedgerError(self._key.anchors_fault)
        return is_older

    def _halt_older_copy(self) -> None:
        """Stop serving every dataset until all are recovered; charges in flight of each are forfeited then.

        A recovery that is killed half way has counted the evidence of some datasets: the halt says that there was some.
        """
        if self._look(statements.names):
            halts.halt_older_copy(self._commit)

    def _put_back_acts(self) -> None:
        """Put acts on keys back as far as they can be read, and give up chains that went another way.

        What was revoked in such a chain is revoked again; what was listed there is not listed. A takeover that the
        shared anchors alone show is not put back: the owner gives it up, with all that follows it.
        """
        for text in self._detector.acts.following(self._key.register):
            act = KeyAct.from_json(text)
            self._key.register.then(act)
            self._write_act(act)
        if self._detector.acts.do_chains_part(self._key.register):
            raise LedgerError(faults.PARTED_ACTS)
        for chain in self._detector.acts.forks(self._key.register):
            vouched = self._detector.acts.vouched_part(chain, self._key.register)
            if vouched != chain and not self._key.is_owner:
                raise LedgerError(faults.UNKNOWN_TAKEOVER)
            for act in self._key.abandonment(chain, vouched):
                self._write_act(self._key.owner_act(act.kind, act.value, name=act.name, reason=act.reason))

    def _run_as_owner(self, work: Callable[[LedgerWriter], T]) -> T:
        """Run an act of the data's owner: it changes something only with a listed key, and where nothing is behind."""
        self._load_keys()
        return self._run(self._for_listed_key(work))

    def _for_listed_key(self, work: Callable[[LedgerWriter], T]) -> Callable[[LedgerWriter], T]:
        """The work, which is undone where it would change something and the key of this process is not listed."""

        def check(writer: LedgerWriter) -> None:
            if writer.heads:
                self._key.refuse_unusable_key()

        return _with_check(work, check)

    def _check(self, account: Account) -> None:
        """Refuse an account that is behind what was seen, and a charge by what the register of keys said before."""
        self._detector.check(account)
        self._key.refuse_older_register(account.acts)

    def _check_work(self, writer: LedgerWriter) -> None:
        """Refuse to commit what changes a chain while any is behind, or was done by an older register of keys.

        Where one dataset is behind, the store is an older copy: others may lack events that nothing anchored. A dataset
        that it lacks altogether may be registered again: no evidence holds its declaration. One whose row cannot be
        read is damaged, and stops no other.
        What is not anchored where machines share anchors is not given to a process that cannot anchor it.
        """
        for account in writer.held.values():
            if writer.heads:
                self._check(account)
            self._detector.check_memory(writer, account)
        if writer.heads:
            self._detector.refuse_behind(
                lambda: {each.name for each in statements.readable_accounts(writer)} - writer.new
            )
        if writer.new:
            self._key.refuse_older_register(statements.end_of_acts(writer))
        if not all(self._may_give(writer, name, account.sequence) for name, account in writer.held.items()):
            self._key.refuse_unusable_key()

    def _may_give(self, writer: LedgerWriter, name: str, sequence: int) -> bool:
        """Whether what an event says may leave this process: it is anchored, or this process anchors it first."""
        may_anchor = self._key.anchors_fault is None and not (self._key.is_stranger or self._read_only)
        return may_anchor or self._is_anchored(name, sequence, writer)

    def _is_anchored(self, name: str, sequence: int, writer: LedgerWriter | None = None) -> bool:
        """Whether machines that share anchors know of an event; `writer` is the transaction of the caller, if any."""
        look: Look = self._look if writer is None else lambda work: work(writer)
        return self._key.anchors_fault is None and self._detector.is_anchored(name, sequence, look)

    def _run(self, work: Callable[[LedgerWriter], T]) -> T:
        """Run work, and anchor where its chains stand before its result is used; again where keys changed meanwhile."""
        for _ in range(MOST_RETRIES):
            self._read_news()
            try:
                result, writer = self._commit(_with_check(work, self._check_work))
            except KeysChangedError:
                self._load_keys()
                continue
            except LedgerError as error:
                if str(error) == faults.BEHIND and not self._key.is_stranger:
                    self._detector.anchor_memory()  # a recovery counts what only this process saw
                raise
            if not self._key.is_stranger:  # what it anchored of a ledger without an owner would make it the owner
                with _after_commit():
                    self._anchor_positions(writer)
            return result
        raise LedgerError(faults.BUSY)

    def _read_news(self) -> None:
        """Compare the ledger with what others wrote to the shared anchors since: acts, lost histories, recoveries.

        An older copy of the ledger may have as many acts as this process read before they were written.
        """
        if self._key.anchors_fault is not None:
            return
        if self._detector.acts.has_news(self._key.register):
            self._load_keys()
        self._detector.refresh()

    def _anchor_positions(self, writer: LedgerWriter) -> None:
        """Anchor where the chains stand that were read or written, but for those that wait for their recovery.

        Acts are compared after the anchor is written: the owner may have named another store of anchors meanwhile.
        """
        waiting = writer.new & {*self._detector.behind}
        positions = [each for name, each in writer.positions.items() if name not in waiting]
        self._detector.anchor_if_due(positions)
        is_certified = bool(self._key.signer and positions)
        if is_certified and self._look(statements.end_of_acts) != self._key.register.end:
            self._load_keys()
            if self._key.anchors_fault is not None:  # that store is out of reach: it does not know of the result
                raise LedgerError(self._key.anchors_fault)
            self._detector.anchor_if_due(positions)

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
        if not self._key.may_charge or self._detector.acts.are_behind:
            self._load_keys()  # the key may have been listed since, or the acts put back
        try:
            return self._charge_once(request)
        except LedgerError as error:
            if str(error) not in faults.UNREACHABLE_ANCHORS or not self._finds_another_store():
                raise
            return self._charge_once(request)

    def _finds_another_store(self) -> bool:
        """Whether the owner named another store of anchors since this process opened one that is gone."""
        before = self._anchor_store_id
        self._load_keys()
        return before != self._anchor_store_id

    def _charge_once(self, request: ChargeRequest) -> Reservation | Waiting | BudgetError:
        """Charge; where the outcome of the COMMIT is unknown, look for the charge under the same locks.

        It is found by its request key, and recognised by the hash of its own link.
        """
        try:
            reservation = charges.find_stored_answer(request, self._store.ask, self._is_anchored)
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
        with _after_commit():
            receipts = tuple(other_releases.list_in_receipt(each, self._store.ask) for each in reservation.receipts)
        signer = self._key.signer
        if signer is not None and self._key.may_charge:
            certificate = self._key.register.certificate(signer.key)
            receipts = tuple(receipt.sign(signer, self._id, certificate) for receipt in receipts)
        return Reservation(receipts=receipts, attempt=reservation.attempt, payload=reservation.payload)


@contextmanager
def _after_commit() -> Iterator[None]:
    """The database was lost after it committed: the caller does not have what it may say, but the charge stands."""
    try:
        yield
    except LedgerError as error:
        if str(error) in faults.WITHOUT_CONTACT:
            raise UnknownOutcomeError from None
        raise


def _with_check(
    work: Callable[[LedgerWriter], T], check: Callable[[LedgerWriter], None]
) -> Callable[[LedgerWriter], T]:
    """Work that is followed by a check, which undoes it by raising an error."""

    def work_and_check(writer: LedgerWriter) -> T:
        result = work(writer)
        check(writer)
        return result

    return work_and_check


def _pending() -> PendingError:
    return PendingError(
        "a query that is being answered already",
        because="another process holds the charge of the same query",
        instead="ask again in a while: its answer will be free; or fresh=True for a charge of its own",
    )
