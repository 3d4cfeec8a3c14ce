"""The ledger over any store: charges before data, one stored answer for each, a chain that anyone can recompute.

T1 (`charge`) is one transaction: the guarded update of the totals and of the analyst's share, the chained event, the
reservation. The data is read after it has committed. T2 (`answer`) stores the answer unless there is one, under the
fencing token of the attempt that holds the charge, and the reply is read from the store.
"""

import logging
import secrets
import time
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from types import TracebackType
from typing import Self, TypeVar

from discreet import events
from discreet.accounting.filters import Budget, Cost
from discreet.errors import BudgetError, LedgerError, ParameterError, PendingError, public_class
from discreet.exact import Number
from discreet.ledger.integrity import recovery
from discreet.ledger.integrity.anchors import Anchor
from discreet.ledger.integrity.rollback import RollbackDetector
from discreet.ledger.integrity.verification import IntegrityFinding, Verification, verification
from discreet.ledger.records import faults
from discreet.ledger.records.canonical_text import key, label, short_code
from discreet.ledger.records.chain import State
from discreet.ledger.records.history import Entry
from discreet.ledger.records.lease import Lease, term
from discreet.ledger.records.quota import EVERYONE, NoChange, Share, checked_failures
from discreet.ledger.records.receipt import ChargeReference, Receipt, receipt_of
from discreet.ledger.records.registration import Dataset, Registration
from discreet.ledger.records.reservation import Reservation, reservation_of
from discreet.ledger.records.signatures import Signer
from discreet.ledger.reporting.report import DELTAS, SpendingReport, report
from discreet.ledger.transactions import charge as charges
from discreet.ledger.transactions import limits, round_trip, statements
from discreet.ledger.transactions import outcome as outcomes
from discreet.ledger.transactions import register as registers
from discreet.ledger.transactions.charge import ChargeRequest, DatasetCharge, Waiting
from discreet.ledger.transactions.statements import LedgerWriter
from discreet.ledger.transactions.store import Store, UnknownOutcomeError

T = TypeVar("T")
log = logging.getLogger("discreet")

WAITING = "the same query is being answered by somebody else; waiting, at most %d seconds after they fall silent"
LONGEST_REASON = 2_000
LEASE = 30.0
PATIENCE = 600.0
SHORTEST_NAP, LONGEST_NAP = 0.005, 0.5
COMMITS_LOOKED_UP = 5
_SOURCES = "SELECT DISTINCT dataset, source FROM versions ORDER BY dataset, source"


@public_class
class Ledger:
    """Durable privacy budgets of datasets, over every query ever asked.

    `lease` is how many seconds a process that went silent keeps its reservation; a living one renews it.
    """

    def __init__(
        self, store: Store, *, signer: Signer | None, detector: RollbackDetector, lease: float = LEASE
    ) -> None:
        self._store = store
        self._signer = signer
        self._detector = detector
        try:
            self._term = term(lease)
            detector.open(self._look)
            self._id = self._look(statements.ledger_id)
        except BaseException:
            store.close()
            raise

    def register(self, dataset: Dataset) -> Registration:
        """Register a dataset or its next version, or return what is registered.

        Another declaration of a registered version replaces it as long as nothing was ever charged to the dataset, and
        is refused from then on.
        """
        return self._run(lambda writer: registers.register(writer, dataset))

    def registration(self, name: str, version: int | None = None) -> Registration | None:
        """What is registered under a name (its newest version unless one is given), or None."""

        def work(writer: LedgerWriter) -> Registration | None:
            known = statements.find_account(writer, name, lock=False)
            return None if known is None else statements.registered_version(writer, known, version)

        return self._look(work)

    def rename(self, name: str, to: str, *, reason: str) -> None:
        """Give a dataset another name; both names lead to the same privacy budget."""
        label(reason, "reason", most=LONGEST_REASON)
        self._run(lambda writer: registers.rename(writer, name, to, reason))

    def set_cap(self, name: str, budget: Budget, *, reason: str) -> None:
        """Set a new privacy budget for a dataset, with a recorded reason; what was spent stays spent."""
        label(reason, "reason", most=LONGEST_REASON)
        self._run(lambda writer: limits.set_cap(writer, name, budget, reason))

    def set_quota(
        self,
        name: str,
        analyst: str = EVERYONE,
        quota: Budget | NoChange | None = NoChange.QUOTA,
        *,
        failures: int | None = None,
        reason: str,
    ) -> None:
        """What an analyst may spend of a dataset's cap, and how often they may fail after data was read.

        Without an analyst it holds for everyone who has no quota of their own. None lifts the quota; the cap stays.
        What is not named stays as it is.
        """
        label(reason, "reason", most=LONGEST_REASON)
        label(analyst, "analyst")
        if not (quota is None or isinstance(quota, Budget | NoChange)):
            raise ParameterError(
                f"a quota of type {type(quota).__name__}",
                because="a quota is stated as a budget is",
                instead=f"ledger.set_quota({name!r}, {analyst!r}, dp.Budget(epsilon={quota}), reason=...)"
                if isinstance(quota, int | float)
                else f"ledger.set_quota({name!r}, {analyst!r}, dp.Budget(epsilon=0.5), reason=...)",
            )
        most = None if failures is None else checked_failures(failures)
        self._run(lambda writer: limits.set_quota(writer, name, analyst, quota, most, reason))

    def charge(
        self,
        name: str,
        *,
        version: int,
        analyst: str,
        event: events.Event,
        question: str,
        request: str | None = None,
        description: str,
        registration: int | None = None,
        fresh: bool = False,
        former: Sequence[str] = (),
        patience: float = PATIENCE,
    ) -> Reservation:
        """T1: charge an event, durably, before any data is read; `BudgetError` where it does not fit.

        `question` is the fingerprint of what is asked, and `former` are those that it had in earlier formats: it is
        looked up under all of them, and charged under the first. A query that was answered returns its stored answer
        and is not charged, unless `fresh`; one that somebody else is answering is waited for, at most `patience`
        seconds. A repeated `request` of the same analyst is always the same charge.
        """
        part = DatasetCharge(name=name, version=version, event=event, registration=registration)
        details = {"analyst": analyst, "question": question, "request": request, "description": description}
        return self.charge_together((part,), **details, fresh=fresh, former=former, patience=patience)  # type: ignore[arg-type]

    def charge_together(
        self,
        parts: Sequence[DatasetCharge],
        *,
        analyst: str,
        question: str,
        request: str | None = None,
        description: str,
        fresh: bool = False,
        former: Sequence[str] = (),
        patience: float = PATIENCE,
    ) -> Reservation:
        """T1 for a query over several datasets: all are charged, or none is."""
        charge_request = ChargeRequest(
            parts=tuple(parts),
            analyst=analyst,
            question=question,
            request=f"auto-{secrets.token_hex(16)}" if request is None else request,
            description=description,
            fresh=fresh,
            term=self._term,
            former=tuple(former),
        )
        return self._sign(self._charge_or_wait(charge_request, patience))

    def answer(self, reservation: Reservation | Receipt, payload: bytes) -> bytes:
        """T2: store the answer of a charge unless it has one; returns what the store holds."""
        if not isinstance(payload, bytes):
            raise TypeError("an answer is bytes")
        ours = reservation_of(reservation)
        try:
            stored = self._answer_in_one_trip(ours, payload)
            if stored is None:
                self._run(lambda writer: outcomes.answer(writer, ours, payload))
        except UnknownOutcomeError:
            stored = self._retry_unknown(lambda writer: outcomes.answer(writer, ours, payload))
        return outcomes.stored_answer(ours, self._store.ask) if stored is None else stored

    def forfeit(self, reservation: Reservation | Receipt, code: str) -> State:
        """Record that a charge failed after data was read; the charge stays, and a stored answer stays too."""
        short_code(code, "code")
        return self._insist(lambda writer: outcomes.forfeit(writer, reservation_of(reservation), code))

    def holding(self, reservation: Reservation) -> Lease:
        """Renew a reservation's lease while its answer is made: `with ledger.holding(reservation):`."""
        return Lease(
            lambda: self._run(lambda writer: outcomes.renew(writer, reservation, self._term)), self._term / 3000
        )

    def forfeit_expired(self, *, grace: float = 86_400.0) -> int:
        """Forfeit charges whose holder went silent for `grace` seconds after its lease and that nobody asked again."""
        places = self._look(lambda writer: outcomes.expired_charges(writer, round(grace * 1000)))
        return sum(self._run(partial(outcomes.forfeit_expired_charge, place=place)) for place in places)

    def state(self, reservation: ChargeReference) -> State:
        """Where a charge stands."""
        return self._look(lambda writer: statements.find_charge(writer, reservation).state)

    def stored_answer(self, name: str, question: str) -> bytes | None:
        """The latest stored answer to a query, or None; an empty answer is a result."""

        def work(writer: LedgerWriter) -> bytes | None:
            statements.account(writer, name, lock=False)
            found = statements.charge_in(writer.read(statements.same_question(name, key(question, "question")))[0])
            return None if found is None else found.payload

        return self._look(work)

    def spent(self, name: str) -> Cost:
        """What was ever charged to a dataset, by all analysts, over all versions."""
        return self._look(lambda writer: statements.account(writer, name, lock=False).spent)

    def budget(self, name: str) -> Budget:
        """The privacy budget of a dataset."""
        return self._look(lambda writer: statements.account(writer, name, lock=False).budget)

    def share(self, name: str, analyst: str) -> Share:
        """What an analyst may spend of a dataset, has spent of it, and how often they failed."""

        def work(writer: LedgerWriter) -> Share:
            known = statements.account(writer, name, lock=False)
            return statements.share(writer, known.name, label(analyst, "analyst"))[0].in_terms_of(known.budget)

        return self._look(work)

    def history(self, name: str) -> list[Entry]:
        """Everything that happened to a dataset, in the order of its chain."""
        return self._look(
            lambda writer: list(statements.entries(writer, statements.account(writer, name, lock=False).name))
        )

    def report(
        self,
        name: str,
        *,
        analyst: str | None = None,
        deltas: Sequence[Number] = DELTAS,
        fixed_in_advance: bool = False,
    ) -> SpendingReport:
        """What was spent and is left in every accountant's terms, by analyst, version and day."""

        def work(writer: LedgerWriter) -> tuple[Budget, list[Entry]]:
            known = statements.account(writer, name, lock=False)
            return known.budget, list(statements.entries(writer, known.name))

        budget, entries = self._look(work)
        return report(name, budget, entries, analyst=analyst, deltas=deltas, fixed_in_advance=fixed_in_advance)

    def datasets(self) -> list[Registration]:
        """The newest version of every dataset, by name."""
        return self._look(lambda writer: list(statements.newest_versions(writer)))

    def sources(self) -> list[tuple[str, str]]:
        """The sources of every version of every dataset, each with the name of the dataset."""
        return self._look(lambda writer: [(row["dataset"], row["source"]) for row in writer.rows(_SOURCES)])

    def verify(self, name: str | None = None, *, receipts: Iterable[Receipt] = ()) -> Verification:
        """Recompute the chain of one dataset or of all, and compare it with everything else that the store holds.

        Receipts that are given must be in the chain: one that is not shows that an older copy was put back. A dataset
        with a finding is not charged any more, by anybody, until `recover`; stored answers are still given.
        """
        found = self._verify(name, tuple(receipts))
        if not found.ok:
            recovery.try_to_halt(self._run, found)
        return found

    def recover(self, *, reason: str, receipts: Iterable[Receipt] = ()) -> Verification:
        """Serve again after damage or an old copy: totals become the most that any evidence shows, and it is recorded.

        The evidence is the store, its chain, its anchors and the receipts that are given and that it signed. Nothing is
        ever lowered, and what was in flight is forfeited. A dataset whose declaration was changed stays halted: that
        comes back from a copy only.
        """
        label(reason, "reason", most=LONGEST_REASON)
        given = tuple(receipts)
        found = self._verify(None, given)
        vouched = tuple(receipt for receipt in given if receipt.is_of(self._id) and receipt.verify(self._public_keys()))
        is_sound = not any(finding.dataset is None and finding.is_ours for finding in found.findings)
        anchors = self._detector.every_anchor()
        for name in [known.name for known in self._look(recovery.accounts)]:
            proof = recovery.Proof(
                name=name, anchors=anchors.get(name, ()), receipts=vouched, reason=reason, is_sound=is_sound
            )
            _, writer = self._commit(partial(recovery.recover, proof=proof))
            self._detector.settle(writer.heads.values())
        self._detector.open(self._look)
        return self._verify(None, given)

    def anchors(self) -> dict[str, Anchor]:
        """The highest anchor of every dataset that was ever anchored where this ledger looks."""
        return self._detector.anchors()

    def stopped_datasets(self) -> dict[str, str]:
        """The datasets that are not served, and why; '' stands for all of them."""
        found = self._look(recovery.open_halts)
        behind = dict.fromkeys(self._detector.behind(), faults.BEHIND)
        return behind | found

    def anchor(self) -> None:
        """Write down outside the store where every chain stands now."""
        self._detector.write(self._look(recovery.accounts))

    def close(self) -> None:
        """Let go of the store."""
        self._detector.close()
        self._store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def _run(self, work: Callable[[LedgerWriter], T]) -> T:
        result, writer = self._commit(work)
        self._detector.see(writer.heads.values())
        return result

    def _commit(self, work: Callable[[LedgerWriter], T]) -> tuple[T, LedgerWriter]:
        def transact(transaction: object) -> tuple[T, LedgerWriter]:
            writer = LedgerWriter(transaction)  # type: ignore[arg-type]
            return work(writer), writer

        return self._store.run(transact)

    def _look(self, work: Callable[[LedgerWriter], T]) -> T:
        return self._store.look(lambda transaction: work(LedgerWriter(transaction)))

    def _insist(self, work: Callable[[LedgerWriter], T]) -> T:
        """Run work that may be run again, until its outcome is known."""
        try:
            return self._run(work)
        except UnknownOutcomeError:
            return self._retry_unknown(work)

    def _retry_unknown(self, work: Callable[[LedgerWriter], T]) -> T:
        """Run work whose outcome is unknown once more; where the store cannot be asked, it stays unknown."""
        unknown = UnknownOutcomeError()
        for _ in range(COMMITS_LOOKED_UP):
            try:
                return self._run(work)
            except UnknownOutcomeError as error:
                unknown = error
            except LedgerError as error:
                if str(error) not in (faults.UNREACHABLE, faults.BUSY):
                    raise
                break
        raise unknown

    def _charge_in_one_trip(self, request: ChargeRequest) -> Reservation | None:
        """T1 in one round trip, if the store supports it and the case is plain."""
        trip, behind = self._store.one_round_trip, self._detector.behind()  # looked at again: others may have recovered
        if trip is None or len(request.parts) > 1 or request.parts[0].name in behind:
            return None
        link, claim = round_trip.charge_claim(request, self._detector.least(request.parts[0].name))
        row = trip.charge_at_once(claim)
        if row is None:
            return None
        placed, head = round_trip.place_link(link, row)
        self._detector.see([head])
        return Reservation(receipts=(receipt_of(placed),))

    def _answer_in_one_trip(self, reservation: Reservation, payload: bytes) -> bytes | None:
        """T2 in one round trip, if the store supports it and the case is plain."""
        trip, name = self._store.one_round_trip, reservation.receipt.dataset
        if trip is None or len(reservation.receipts) > 1 or reservation.receipt.detail is not None:
            return None
        if self._detector.is_behind(name):
            return None
        link, claim = round_trip.answer_claim(reservation, payload, self._detector.least(name))
        row = trip.answer_at_once(claim)
        if row is None:
            return None
        _, head = round_trip.place_link(link, row)
        self._detector.see([head])
        return bytes(row["stored"])

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
        """T1; where the outcome of its COMMIT is unknown, it is looked up by the request key under the same locks."""
        try:
            reservation = self._charge_in_one_trip(request) or charges.find_stored_answer(request, self._store.ask)
            return reservation or self._run(lambda writer: charges.charge(writer, request, self._detector.check))
        except UnknownOutcomeError:
            return self._retry_unknown(lambda writer: charges.resolve(writer, request, self._detector.check))

    def _sign(self, reservation: Reservation) -> Reservation:
        if self._signer is None:
            return reservation
        receipts = tuple(receipt.sign(self._signer, self._id) for receipt in reservation.receipts)
        return Reservation(receipts=receipts, attempt=reservation.attempt, payload=reservation.payload)

    def _verify(self, name: str | None, receipts: tuple[Receipt, ...]) -> Verification:
        anchors = self._detector.anchors()  # before the store is read: others go on charging and anchoring
        try:
            findings = tuple(IntegrityFinding(text) for text in self._store.findings())
            evidence = self._look(lambda writer: list(recovery.evidence(writer, name)))
        except LedgerError as error:
            if str(error) != faults.DAMAGED:
                raise
            return Verification(datasets=0, events=0, findings=(IntegrityFinding(str(error)),))
        if name is not None:
            names = {each.name for each in evidence}
            anchors = {each: anchor for each, anchor in anchors.items() if each in names}
            receipts = tuple(receipt for receipt in receipts if receipt.dataset in names)
        anchored = self._detector.findings(evidence, anchors)
        return verification(evidence, (*findings, *anchored), receipts, self._public_keys(), self._id)

    def _public_keys(self) -> dict[str, str] | None:
        """The keys that may have signed a receipt; None where this ledger signs nothing."""
        return None if self._signer is None else self._signer.known_keys()


def _pending() -> PendingError:
    return PendingError(
        "a query that is being answered already",
        because="another process holds the charge of the same query",
        instead="ask again in a while: its answer will be free; or fresh=True for a charge of its own",
    )
