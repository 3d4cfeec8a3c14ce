"""The ledger over any store: charges before data, one stored answer for each, a chain that anyone can recompute.

T1 (`charge`) is one transaction: the guarded update of the totals and of the analyst's share, the chained event, the
reservation. The data is read after it has committed. T2 (`answer`) stores the answer unless there is one, under the
fencing token of whose turn it is, and the reply is read from the store.
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
from discreet.ledger.records.quota import EVERYONE, Kept, Share, checked_failures
from discreet.ledger.records.receipt import Receipt, Reservation, receipt_of
from discreet.ledger.records.registration import Dataset, Registration
from discreet.ledger.records.reservation import Turn, turn_of
from discreet.ledger.records.signatures import Signer
from discreet.ledger.reporting.report import DELTAS, Report, report
from discreet.ledger.transactions import charge as charges
from discreet.ledger.transactions import limits, round_trip, statements
from discreet.ledger.transactions import outcome as outcomes
from discreet.ledger.transactions import register as registers
from discreet.ledger.transactions.charge import Asking, Part, Waiting
from discreet.ledger.transactions.statements import Pen
from discreet.ledger.transactions.store import Store, UnknownOutcomeError

T = TypeVar("T")
log = logging.getLogger("discreet")

WAITING = "the same question is being answered by somebody else; waiting, at most %d seconds after they fall silent"
LONGEST_REASON = 2_000
LEASE = 30.0
PATIENCE = 600.0
SHORTEST_NAP, LONGEST_NAP = 0.005, 0.5
COMMITS_LOOKED_UP = 5
_SOURCES = "SELECT DISTINCT dataset, source FROM versions ORDER BY dataset, source"


@public_class
class Ledger:
    """A promise over every question ever asked, kept in a store.

    `lease` is how many seconds a process that went silent keeps its turn; a living one renews it.
    """

    def __init__(self, store: Store, *, signer: Signer | None, witness: RollbackDetector, lease: float = LEASE) -> None:
        self._store = store
        self._signer = signer
        self._witness = witness
        try:
            self._term = term(lease)
            witness.open(self._look)
            self._id = self._look(statements.ledger_id)
        except BaseException:
            store.close()
            raise

    def register(self, dataset: Dataset) -> Registration:
        """Register a dataset or its next version, or return what is registered.

        Another declaration of a registered version replaces it as long as nothing was ever charged to the dataset, and
        is refused from then on.
        """
        return self._run(lambda pen: registers.register(pen, dataset))

    def registered(self, name: str, version: int | None = None) -> Registration | None:
        """What is registered under a name (its newest version unless one is given), or None."""

        def work(pen: Pen) -> Registration | None:
            known = statements.find_account(pen, name, lock=False)
            return None if known is None else statements.registered_version(pen, known, version)

        return self._look(work)

    def rename(self, name: str, to: str, *, reason: str) -> None:
        """Give a dataset another name; the old one goes on leading to the same promise."""
        label(reason, "reason", most=LONGEST_REASON)
        self._run(lambda pen: registers.rename(pen, name, to, reason))

    def set_cap(self, name: str, budget: Budget, *, reason: str) -> None:
        """Make a new promise for a dataset: recorded with its reason; what was spent stays spent."""
        label(reason, "reason", most=LONGEST_REASON)
        self._run(lambda pen: limits.set_cap(pen, name, budget, reason))

    def set_quota(
        self,
        name: str,
        analyst: str = EVERYONE,
        quota: Budget | Kept | None = Kept.QUOTA,
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
        if not (quota is None or isinstance(quota, Budget | Kept)):
            raise ParameterError(
                f"a quota of type {type(quota).__name__}",
                because="a quota is stated as a budget is",
                instead=f"ledger.set_quota({name!r}, {analyst!r}, dp.Budget(epsilon={quota}), reason=...)"
                if isinstance(quota, int | float)
                else f"ledger.set_quota({name!r}, {analyst!r}, dp.Budget(epsilon=0.5), reason=...)",
            )
        most = None if failures is None else checked_failures(failures)
        self._run(lambda pen: limits.set_quota(pen, name, analyst, quota, most, reason))

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
    ) -> Turn:
        """T1: charge an event, durably, before any data is read; `BudgetError` where it does not fit.

        `question` is the fingerprint of what is asked, and `former` are those that it had in earlier formats: it is
        looked up under all of them, and charged under the first. A question that was answered returns its stored answer
        and is not charged, unless `fresh`; one that somebody else is answering is waited for, at most `patience`
        seconds. A repeated `request` of the same analyst is always the same charge.
        """
        part = Part(name=name, version=version, event=event, registration=registration)
        asked = {"analyst": analyst, "question": question, "request": request, "description": description}
        return self.charge_together((part,), **asked, fresh=fresh, former=former, patience=patience)  # type: ignore[arg-type]

    def charge_together(
        self,
        parts: Sequence[Part],
        *,
        analyst: str,
        question: str,
        request: str | None = None,
        description: str,
        fresh: bool = False,
        former: Sequence[str] = (),
        patience: float = PATIENCE,
    ) -> Turn:
        """T1 for a question over several datasets: all are charged, or none is."""
        asked = Asking(
            parts=tuple(parts),
            analyst=analyst,
            question=question,
            request=f"auto-{secrets.token_hex(16)}" if request is None else request,
            description=description,
            fresh=fresh,
            term=self._term,
            former=tuple(former),
        )
        return self._signed(self._waited_for(asked, patience))

    def answer(self, turn: Turn | Receipt, payload: bytes) -> bytes:
        """T2: store the answer of a charge unless it has one; returns what the store holds."""
        if not isinstance(payload, bytes):
            raise TypeError("an answer is bytes")
        ours = turn_of(turn)
        try:
            stored = self._answered_at_once(ours, payload)
            if stored is None:
                self._run(lambda pen: outcomes.answer(pen, ours, payload))
        except UnknownOutcomeError:
            stored = self._resolved(lambda pen: outcomes.answer(pen, ours, payload))
        return outcomes.stored(ours, self._store.ask) if stored is None else stored

    def forfeit(self, turn: Turn | Receipt, code: str) -> State:
        """Record that a charge failed after data was read; the charge stays, and a stored answer stays too."""
        short_code(code, "code")
        return self._insist(lambda pen: outcomes.forfeit(pen, turn_of(turn), code))

    def holding(self, turn: Turn) -> Lease:
        """Renew a turn's lease in the background while its answer is made: `with ledger.holding(turn): ...`."""
        return Lease(lambda: self._run(lambda pen: outcomes.renew(pen, turn, self._term)), self._term / 3000)

    def forfeit_expired(self, *, grace: float = 86_400.0) -> int:
        """Forfeit charges whose holder went silent for `grace` seconds after its lease and that nobody asked again."""
        places = self._look(lambda pen: outcomes.expired(pen, round(grace * 1000)))
        return sum(self._run(partial(outcomes.forfeit_expired, place=place)) for place in places)

    def state(self, reservation: Reservation) -> State:
        """Where a charge stands."""
        return self._look(lambda pen: statements.charged(pen, reservation).state)

    def stored(self, name: str, question: str) -> bytes | None:
        """The latest stored answer to a question, or None; an empty answer is an answer."""

        def work(pen: Pen) -> bytes | None:
            statements.account(pen, name, lock=False)
            found = statements.charged_in(pen.read(statements.same_question(name, key(question, "question")))[0])
            return None if found is None else found.payload

        return self._look(work)

    def spent(self, name: str) -> Cost:
        """What was ever charged to a dataset, by all analysts, over all versions."""
        return self._look(lambda pen: statements.account(pen, name, lock=False).spent)

    def budget(self, name: str) -> Budget:
        """The promise of a dataset."""
        return self._look(lambda pen: statements.account(pen, name, lock=False).budget)

    def share(self, name: str, analyst: str) -> Share:
        """What an analyst may spend of a dataset, has spent of it, and how often they failed."""

        def work(pen: Pen) -> Share:
            known = statements.account(pen, name, lock=False)
            return statements.share(pen, known.name, label(analyst, "analyst"))[0].in_terms_of(known.budget)

        return self._look(work)

    def history(self, name: str) -> list[Entry]:
        """Everything that happened to a dataset, in the order of its chain."""
        return self._look(lambda pen: list(statements.entries(pen, statements.account(pen, name, lock=False).name)))

    def report(
        self,
        name: str,
        *,
        analyst: str | None = None,
        deltas: Sequence[Number] = DELTAS,
        fixed_in_advance: bool = False,
    ) -> Report:
        """What was spent and is left in every accountant's terms, by analyst, version and day."""

        def work(pen: Pen) -> tuple[Budget, list[Entry]]:
            known = statements.account(pen, name, lock=False)
            return known.budget, list(statements.entries(pen, known.name))

        budget, entries = self._look(work)
        return report(name, budget, entries, analyst=analyst, deltas=deltas, fixed_in_advance=fixed_in_advance)

    def datasets(self) -> list[Registration]:
        """The newest version of every dataset, by name."""
        return self._look(lambda pen: list(statements.newest_versions(pen)))

    def sources(self) -> list[tuple[str, str]]:
        """The sources of every version of every dataset, each with the name of the dataset."""
        return self._look(lambda pen: [(row["dataset"], row["source"]) for row in pen.rows(_SOURCES)])

    def verify(self, name: str | None = None, *, receipts: Iterable[Receipt] = ()) -> Verification:
        """Recompute the chain of one dataset or of all, and compare it with everything else that the store holds.

        Receipts that are given must be in the chain: one that is not shows that an older copy was put back. A dataset
        with a finding is not charged any more, by anybody, until `recover`; stored answers are still given.
        """
        found = self._verified(name, tuple(receipts))
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
        found = self._verified(None, given)
        vouched = tuple(receipt for receipt in given if receipt.is_of(self._id) and receipt.verify(self._publics()))
        is_sound = not any(finding.dataset is None and finding.is_ours for finding in found.findings)
        anchors = self._witness.every_anchor()
        for name in [known.name for known in self._look(recovery.accounts)]:
            proof = recovery.Proof(
                name=name, anchors=anchors.get(name, ()), receipts=vouched, reason=reason, is_sound=is_sound
            )
            _, pen = self._committed(partial(recovery.recover, proof=proof))
            self._witness.settle(pen.moved.values())
        self._witness.open(self._look)
        return self._verified(None, given)

    def anchors(self) -> dict[str, Anchor]:
        """The highest anchor of every dataset that was ever anchored where this ledger looks."""
        return self._witness.anchors()

    def stopped(self) -> dict[str, str]:
        """The datasets that are not served, and why; '' stands for all of them."""
        found = self._look(recovery.open_halts)
        behind = dict.fromkeys(self._witness.behind(), faults.BEHIND)
        return behind | found

    def anchor(self) -> None:
        """Write down outside the store where every chain stands now."""
        self._witness.write(self._look(recovery.accounts))

    def close(self) -> None:
        """Let go of the store."""
        self._witness.close()
        self._store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def _run(self, work: Callable[[Pen], T]) -> T:
        result, pen = self._committed(work)
        self._witness.see(pen.moved.values())
        return result

    def _committed(self, work: Callable[[Pen], T]) -> tuple[T, Pen]:
        def recorded(transaction: object) -> tuple[T, Pen]:
            pen = Pen(transaction)  # type: ignore[arg-type]
            return work(pen), pen

        return self._store.run(recorded)

    def _look(self, work: Callable[[Pen], T]) -> T:
        return self._store.look(lambda transaction: work(Pen(transaction)))

    def _insist(self, work: Callable[[Pen], T]) -> T:
        """Run work that may be run again, until its outcome is known."""
        try:
            return self._run(work)
        except UnknownOutcomeError:
            return self._resolved(work)

    def _resolved(self, work: Callable[[Pen], T]) -> T:
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

    def _charged_at_once(self, asked: Asking) -> Turn | None:
        """T1 in one journey, where the store can and the case is plain."""
        journey, behind = self._store.one_journey, self._witness.behind()  # looked at again: others may have recovered
        if journey is None or len(asked.parts) > 1 or asked.parts[0].name in behind:
            return None
        link, claim = round_trip.charge_claim(asked, self._witness.least(asked.parts[0].name))
        row = journey.charge_at_once(claim)
        if row is None:
            return None
        placed, standing = round_trip.placed(link, row)
        self._witness.see([standing])
        return Turn(receipts=(receipt_of(placed),))

    def _answered_at_once(self, turn: Turn, payload: bytes) -> bytes | None:
        """T2 in one journey, where the store can and the case is plain."""
        journey, name = self._store.one_journey, turn.receipt.dataset
        if journey is None or len(turn.receipts) > 1 or turn.receipt.detail is not None:
            return None
        if self._witness.is_behind(name):
            return None
        link, claim = round_trip.answer_claim(turn, payload, self._witness.least(name))
        row = journey.answer_at_once(claim)
        if row is None:
            return None
        _, standing = round_trip.placed(link, row)
        self._witness.see([standing])
        return bytes(row["stored"])

    def _waited_for(self, asked: Asking, patience: float) -> Turn:
        end, nap, told = time.monotonic() + patience, SHORTEST_NAP, False
        while True:
            outcome = self._charged(asked)
            if isinstance(outcome, Turn):
                return outcome
            if isinstance(outcome, Waiting):
                if time.monotonic() >= end:
                    raise _pending()
                if nap == LONGEST_NAP and not told:
                    log.warning(WAITING, self._term // 1000)
                    told = True
                time.sleep(nap)
                nap = min(2 * nap, LONGEST_NAP)
                continue
            raise outcome

    def _charged(self, asked: Asking) -> Turn | Waiting | BudgetError:
        """T1; where the outcome of its COMMIT is unknown, it is looked up by the request key under the same locks."""
        try:
            turn = self._charged_at_once(asked) or charges.repeated(asked, self._store.ask)
            return turn or self._run(lambda pen: charges.charge(pen, asked, self._witness.check))
        except UnknownOutcomeError:
            return self._resolved(lambda pen: charges.resolve(pen, asked, self._witness.check))

    def _signed(self, turn: Turn) -> Turn:
        if self._signer is None:
            return turn
        receipts = tuple(receipt.sign(self._signer, self._id) for receipt in turn.receipts)
        return Turn(receipts=receipts, attempt=turn.attempt, payload=turn.payload)

    def _verified(self, name: str | None, receipts: tuple[Receipt, ...]) -> Verification:
        anchors = self._witness.anchors()  # before the store is read: others go on charging and anchoring
        try:
            findings = tuple(IntegrityFinding(text) for text in self._store.findings())
            evidence = self._look(lambda pen: list(recovery.evidence(pen, name)))
        except LedgerError as error:
            if str(error) != faults.DAMAGED:
                raise
            return Verification(datasets=0, events=0, findings=(IntegrityFinding(str(error)),))
        if name is not None:
            asked = {each.name for each in evidence}
            anchors = {each: anchor for each, anchor in anchors.items() if each in asked}
            receipts = tuple(receipt for receipt in receipts if receipt.dataset in asked)
        anchored = self._witness.findings(evidence, anchors)
        return verification(evidence, (*findings, *anchored), receipts, self._publics(), self._id)

    def _publics(self) -> dict[str, str] | None:
        """The keys that may have signed a receipt; None where this ledger signs nothing."""
        return None if self._signer is None else self._signer.known()


def _pending() -> PendingError:
    return PendingError(
        "a question that is being answered already",
        because="somebody else asked the same question and holds its charge",
        instead="ask again in a while: its answer will be free; or fresh=True for a charge of its own",
    )
