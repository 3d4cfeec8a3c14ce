"""The ledger over any store: charges before data, one stored answer for each, a chain that anyone can recompute.

The charge transaction (`charge`) holds the guarded update of the totals and of the analyst's share, the chained event
and the reservation. The data is read after it has committed. The answer transaction (`answer`) stores the answer unless
there is one, under the fencing token of the attempt that holds the charge, and the reply is read from the store.
"""

import secrets
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from types import TracebackType
from typing import Self

from discreet import events
from discreet.accounting.filters import Budget
from discreet.errors import ParameterError, public_class
from discreet.ledger.integrity import halts, recovery
from discreet.ledger.integrity.anchors import Anchor
from discreet.ledger.integrity.recovered_total import RecoveryEvidence
from discreet.ledger.integrity.verification import Verification
from discreet.ledger.key_administration import LONGEST_REASON, KeyAdministration
from discreet.ledger.records.canonical_text import label, short_code
from discreet.ledger.records.chain import State
from discreet.ledger.records.lease import Lease
from discreet.ledger.records.other_release import OtherRelease, checked_request
from discreet.ledger.records.quota import EVERYONE, NoChange, checked_failures
from discreet.ledger.records.receipt import Receipt
from discreet.ledger.records.registration import Dataset, Registration
from discreet.ledger.records.reservation import Reservation, reservation_of
from discreet.ledger.transactions import limits, other_releases, statements
from discreet.ledger.transactions import outcome as outcomes
from discreet.ledger.transactions import register as registers
from discreet.ledger.transactions.charge import ChargeRequest, DatasetCharge
from discreet.ledger.verification import Extent

PATIENCE = 600.0
OWNER = "owner"


@public_class
class Ledger(KeyAdministration):
    """Privacy budgets of datasets, kept in a store: charges before data is read, and one stored answer for each.

    `SQLiteLedger` and `PostgresLedger` are ledgers; `open_ledger` opens either. Close a ledger, or use it in a `with`
    block: closing writes the last anchors.

    Example:
        >>> from discreet.ledger import open_ledger
        >>> with open_ledger(":memory:") as ledger:
        ...     print(ledger.verify())
        0 datasets, 0 events: everything agrees
    """

    def register(self, dataset: Dataset) -> Registration:
        """Register a dataset or its next version, or return its registration.

        Another declaration of a registered version replaces it as long as nothing was ever charged to the dataset.

        Args:
            dataset: Name, version, budget, source and declaration.

        Returns:
            The registration.

        Raises:
            Refusal: If the declaration differs from that of a dataset that was charged.
        """
        return self._run_as_owner(lambda writer: registers.register(writer, dataset))

    def rename(self, name: str, to: str, *, reason: str) -> None:
        """Give a dataset another name. Both names lead to the same privacy budget.

        Args:
            name: Name of the dataset.
            to: The new name.
            reason: Reason, which the ledger records.

        Raises:
            Refusal: If there is no such dataset, or the new name is taken.
        """
        label(reason, "reason", most=LONGEST_REASON)
        self._run_as_owner(lambda writer: registers.rename(writer, name, to, reason))

    def set_cap(self, name: str, budget: Budget, *, reason: str) -> None:
        """Set a new budget of a dataset; its spending is restated at the new order, and never lower.

        Args:
            name: Name of the dataset.
            budget: The new budget.
            reason: Reason, which the ledger records.

        Raises:
            Refusal: If there is no such dataset, or the budget is not allowed.
        """
        label(reason, "reason", most=LONGEST_REASON)
        self._run_as_owner(lambda writer: limits.set_cap(writer, name, budget, reason))

    def set_quota(
        self,
        name: str,
        analyst: str = EVERYONE,
        quota: Budget | NoChange | None = NoChange.QUOTA,
        *,
        failures: int | None = None,
        reason: str,
    ) -> None:
        """Set what an analyst may spend of a dataset, and how often they may fail after data was read.

        Args:
            name: Name of the dataset.
            analyst: Name of the analyst. Default: all who have no quota of their own.
            quota: The quota, as a budget; None lifts it. Default: unchanged.
            failures: Number of failures allowed. Default: unchanged.
            reason: Reason, which the ledger records.

        Raises:
            ParameterError: If the quota is not a budget.
            NameNotFoundError: If there is no such dataset.
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
        self._run_as_owner(lambda writer: limits.set_quota(writer, name, analyst, quota, most, reason))

    def add_other_release(
        self, name: str, what: str, *, kind: str, sha256: str | None = None, author: str = OWNER
    ) -> OtherRelease:
        """Record a release of a dataset that was not charged, such as a generalised file. It costs nothing.

        Documents of later releases list it among other releases: the newest 100 in words, and the number of the rest.

        Args:
            name: Name of the dataset.
            what: The release in words, at most 500 characters. Later releases repeat them.
            kind: "generalised", "exact", "synthetic", "differentially_private" (charged elsewhere) or "other".
            sha256: SHA-256 of the file, in hexadecimal. Default: none is recorded.
            author: Name of the person who records it. Default "owner".

        Returns:
            The record, with its place in the chain.

        Raises:
            ParameterError: If a text is too long or does not print, or the kind is not one of these.
            NameNotFoundError: If there is no such dataset.
            LedgerError: If the ledger cannot be used.
        """
        request = checked_request(what, kind, sha256, author, f"auto-{secrets.token_hex(16)}")
        self._refuse_unusable_key()
        return self._run_idempotent(lambda writer: other_releases.add(writer, name, request))

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
        """Charge an event, durably, before any data is read.

        A query that was answered before returns its stored answer and is not charged, unless `fresh`.

        Args:
            name: Name of the dataset.
            version: Version of the dataset.
            analyst: Name of the analyst.
            event: The event.
            question: Fingerprint of the query.
            request: Idempotency key: repeated by the same analyst, it is the same charge. Default: a new one.
            description: The plan, as text.
            registration: Number of the registration that the plan was made for. Default: the present one.
            fresh: Whether to charge a query that was answered before. Default False.
            former: Fingerprints of the query in earlier formats. Default: none.
            patience: Seconds to wait for another process that is answering the query. Default 600.

        Returns:
            The reservation, with its receipt or the stored answer.

        Raises:
            BudgetError: If it does not fit the budget or the quota.
            PendingError: If another process is still answering the query.
            LedgerError: If the ledger cannot be used.
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
        """Charge a query over several datasets: all of them, or none.

        Args:
            parts: Dataset, version and event of each charge.
            analyst: Name of the analyst.
            question: Fingerprint of the query.
            request: Idempotency key: repeated by the same analyst, it is the same charge. Default: a new one.
            description: The plan, as text.
            fresh: Whether to charge a query that was answered before. Default False.
            former: Fingerprints of the query in earlier formats. Default: none.
            patience: Seconds to wait for another process that is answering the query. Default 600.

        Returns:
            The reservation, with its receipts or the stored answer.

        Raises:
            BudgetError: If it does not fit the budget or the quota.
            PendingError: If another process is still answering the query.
            LedgerError: If the ledger cannot be used.
        """
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
        return self._complete(self._charge_or_wait(charge_request, patience))

    def answer(self, reservation: Reservation | Receipt, payload: bytes) -> bytes:
        """Store the answer of a charge, unless it has one.

        Args:
            reservation: The reservation, or its receipt.
            payload: The answer, as bytes.

        Returns:
            The stored answer.

        Raises:
            TypeError: If the answer is not bytes.
            Failure: If the charge is forfeited.
            LedgerError: If the charge is not one of this ledger.
        """
        if not isinstance(payload, bytes):
            raise TypeError("an answer is bytes")
        ours = reservation_of(reservation)
        if self._key.is_stranger and self.state(ours.receipt) is not State.ANSWERED:
            self._key.refuse_unusable_key()
        self._run_idempotent(lambda writer: outcomes.answer(writer, ours, payload))
        return outcomes.stored_answer(ours, self._store.ask)

    def forfeit(self, reservation: Reservation | Receipt, code: str) -> State:
        """Record that a charge failed after data was read. The charge stays, and a stored answer stays too.

        Args:
            reservation: The reservation, or its receipt.
            code: Short code of the failure.

        Returns:
            State of the charge.

        Raises:
            ParameterError: If the code is not a short code.
        """
        short_code(code, "code")
        self._refuse_stranger()
        return self._run_idempotent(lambda writer: outcomes.forfeit(writer, reservation_of(reservation), code))

    def holding(self, reservation: Reservation) -> Lease:
        """Renew the lease of a reservation while its answer is computed: `with ledger.holding(reservation):`.

        Args:
            reservation: The reservation.

        Returns:
            A context manager.
        """
        return Lease(
            lambda: self._run(lambda writer: outcomes.renew(writer, reservation, self._term)), self._term / 3000
        )

    def forfeit_expired(self, *, grace: float = 86_400.0) -> int:
        """Forfeit charges whose holder fell silent and that nobody asked again.

        Args:
            grace: Seconds after the end of the lease. Default 86,400.

        Returns:
            Number of charges that were forfeited.
        """
        self._refuse_stranger()
        places = self._look(lambda writer: outcomes.expired_charges(writer, round(grace * 1000)))
        return sum(self._run(partial(outcomes.forfeit_expired_charge, place=place)) for place in places)

    def verify(self, name: str | None = None, *, receipts: Iterable[Receipt] = (), full: bool = False) -> Verification:
        """Recompute the hash chain of one dataset or of all, and compare it with everything else in the store.

        It goes on from the last event that was verified without a finding. Changes of rows before that event are found
        by a full verification alone. A dataset with a finding is halted until `recover`: every charge is refused, also
        of a repeated query. `stored_answer` still returns answers.

        Args:
            name: Name of the dataset. Default: all.
            receipts: Receipts that must be in the chain and list the other releases before them. Default: none.
            full: Whether to read everything, also what was verified before, and the pages of the database. Default
                False.

        Returns:
            The findings, and the datasets that are stopped; `ok` if there are neither.
        """
        found = self._verify(name, tuple(receipts), Extent.FULL if full else Extent.NEW)
        if not found.ok:
            halts.halt_datasets(self._run, found)
        return self._with_stops(found, name)

    def recover(self, *, reason: str, receipts: Iterable[Receipt] = ()) -> Verification:
        """Serve again after damage or an old copy: totals become the most that any evidence shows.

        Evidence is the store, its chain, its anchors, what was verified, and signed receipts. No total is lowered; a
        budget may be. Charges in flight are forfeited where history may be lost. A dataset whose declaration was
        changed stays halted.

        Args:
            reason: Reason, which the ledger records.
            receipts: Signed receipts of charges that the chain may lack. Each is added to the total unless other
                evidence counts it already. Default: none.

        Returns:
            The findings and the stopped datasets that remain.

        Raises:
            ParameterError: If there is no reason.
            LedgerError: If this role or key may not recover, or the shared anchors cannot be reached.
        """
        label(reason, "reason", most=LONGEST_REASON)
        given = tuple(receipts)
        self._refuse_service()
        is_halted = self._recover_acts()
        self._refuse_unusable_key()
        self._detector.anchor_memory()
        found = self._verify(None, given, Extent.WITHOUT_CHECKPOINTS)
        is_sound = not any(finding.dataset is None and finding.is_ours for finding in found.findings)
        anchors = self._detector.every_anchor()
        proofs = self._evidence(anchors, given, reason)
        if not is_halted and self._is_older_copy({*anchors}, proofs):
            self._halt_older_copy()
        general, recovered = self._look(halts.general_halts), 0
        for proof in proofs:
            # not _run, which refuses chains that are behind: these do until they are recovered
            _, writer = self._commit(partial(recovery.recover, proof=proof))
            self._detector.anchor_recovery(writer.heads.values())
            recovered = max([recovered, *(account.sequence for account in writer.heads.values())])
        if is_sound and recovered:  # not before: other datasets would be charged before their own recovery, or without
            self._commit(partial(halts.end_general_halts, ids=general, sequence=recovered))
        self._detector.compare()
        self._upgrade_records()
        self._checkpoints.forget()  # they may be of the history that is lost
        return self._with_stops(self._verify(None, given, Extent.FULL))

    def _is_older_copy(self, anchored: set[str], proofs: list[RecoveryEvidence]) -> bool:
        """Whether evidence names a dataset that the store lacks, or shows history that a chain lacks."""
        named = anchored | {receipt.dataset for proof in proofs[:1] for receipt in proof.receipts}
        if named - {*self._look(statements.names)}:
            return True
        return any(self._look(partial(recovery.is_older_copy, proof=proof)) for proof in proofs)

    def _evidence(
        self, anchors: Mapping[str, tuple[Anchor, ...]], receipts: tuple[Receipt, ...], reason: str
    ) -> list[RecoveryEvidence]:
        """What is known of each dataset besides what the store holds; all have the same receipts."""
        publics = self._public_keys(receipts)
        vouched = tuple(receipt for receipt in receipts if receipt.is_of(self._id) and receipt.verify(publics))
        ends = self._detector.shared_ends()
        return [
            RecoveryEvidence(
                name=name,
                anchors=self._with_checkpoint(name, anchors.get(name, ())),
                receipts=vouched,
                reason=reason,
                shared=ends.get(name),
            )
            for name in [known.name for known in self._look(statements.readable_accounts)]
        ]

    def anchor_memory(self) -> None:
        """Anchor at home what this process saw since its last anchor there; a session does so when it ends."""
        self._detector.anchor_memory()

    def close(self) -> None:
        """Anchor what this process saw, and close the store."""
        self._detector.close()
        self._store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()
