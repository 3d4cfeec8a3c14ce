"""What a ledger answers without a charge: registrations, spending, stored answers and history."""

from collections import Counter
from collections.abc import Mapping, Sequence
from fractions import Fraction

from discreet.accounting.costs import Cost
from discreet.accounting.filters import Budget
from discreet.errors import LedgerError, ParameterError, public_class
from discreet.exact.numbers import Number, positive
from discreet.ledger.integrity import halts
from discreet.ledger.integrity.anchors import Anchor
from discreet.ledger.records import faults
from discreet.ledger.records.canonical_text import key, label
from discreet.ledger.records.chain import State
from discreet.ledger.records.history import Entry
from discreet.ledger.records.key_acts import ListedKey
from discreet.ledger.records.other_release import OtherRelease
from discreet.ledger.records.quota import Share
from discreet.ledger.records.receipt import ChargeReference
from discreet.ledger.records.registration import Registration
from discreet.ledger.reporting.health import (
    CURE,
    UNREACHABLE,
    AnchoredEvent,
    HealthRows,
    KeyHealth,
    LedgerHealth,
    ledger_health,
)
from discreet.ledger.reporting.report import DELTAS, SpendingReport, report
from discreet.ledger.stores.anchor_places import shown_place
from discreet.ledger.transactions import other_releases, outcome, statements, stored_charge
from discreet.ledger.transactions.statements import LedgerWriter
from discreet.ledger.verification import LedgerVerification, without_name

_SOURCES = "SELECT DISTINCT dataset, source FROM versions ORDER BY dataset, source"


@public_class
class LedgerQueries(LedgerVerification):
    """The calls of a ledger that only read it."""

    def registration(self, name: str, version: int | None = None) -> Registration | None:
        """Registration of a dataset.

        Args:
            name: Name of the dataset.
            version: The version. Default: the newest.

        Returns:
            The registration, or None.
        """

        def work(writer: LedgerWriter) -> Registration | None:
            known = statements.find_account(writer, name, lock=False)
            return None if known is None else statements.registered_version(writer, known, version)

        return self._look(work)

    def state(self, reservation: ChargeReference) -> State:
        """State of a charge.

        Args:
            reservation: A receipt, or the dataset and the sequence number.

        Returns:
            The state.

        Raises:
            LedgerError: If there is no such charge.
        """
        return self._look(lambda writer: stored_charge.find_charge(writer, reservation).state)

    def stored_answer(self, name: str, question: str) -> bytes | None:
        """Latest stored answer to a query.

        Args:
            name: Name of the dataset.
            question: Fingerprint of the query.

        Returns:
            The answer, or None; an empty answer is a result. None also for an answer that is not in the shared anchors
            yet: repeat the query.

        Raises:
            NameNotFoundError: If there is no such dataset.
        """

        def work(writer: LedgerWriter) -> bytes | None:
            statements.account(writer, name, lock=False)
            same = stored_charge.same_question(name, key(question, "question"))
            found = stored_charge.charge_in(writer.read(same)[0])
            is_anchored = found is not None and self._is_anchored(found.link.dataset, found.concluded or 0, writer)
            return found.payload if found is not None and is_anchored else None

        return self._look(work)

    def spent(self, name: str) -> Cost:
        """Total cost of all charges of a dataset, by all analysts, over all versions.

        Args:
            name: Name of the dataset.

        Returns:
            The cost, in units of the ledger.

        Raises:
            NameNotFoundError: If there is no such dataset.
        """
        return self._look(lambda writer: statements.account(writer, name, lock=False).spent)

    def budget(self, name: str) -> Budget:
        """Budget of a dataset.

        Args:
            name: Name of the dataset.

        Returns:
            The budget.

        Raises:
            NameNotFoundError: If there is no such dataset.
        """
        return self._look(lambda writer: statements.account(writer, name, lock=False).budget)

    def earlier_budgets(self, name: str) -> list[Budget]:
        """Budgets that `set_cap` replaced after something was charged under them.

        Over all budgets, answers have the largest epsilon with the sum of the deltas.

        Args:
            name: Name of the dataset.

        Returns:
            The budgets, in the order in which they were in force.

        Raises:
            NameNotFoundError: If there is no such dataset.
        """

        def work(writer: LedgerWriter) -> list[Budget]:
            return statements.earlier_budgets(writer, statements.account(writer, name, lock=False))

        return self._look(work)

    def share(self, name: str, analyst: str) -> Share:
        """Quota, spending and failures of an analyst.

        Args:
            name: Name of the dataset.
            analyst: Name of the analyst.

        Returns:
            The share.

        Raises:
            NameNotFoundError: If there is no such dataset.
        """

        def work(writer: LedgerWriter) -> Share:
            known = statements.account(writer, name, lock=False)
            return statements.share(writer, known.name, label(analyst, "analyst"))[0].in_terms_of(known.budget)

        return self._look(work)

    def history(self, name: str) -> list[Entry]:
        """All events of a dataset, in the order of its chain.

        Args:
            name: Name of the dataset.

        Returns:
            The entries.

        Raises:
            NameNotFoundError: If there is no such dataset.
        """
        return self._look(
            lambda writer: list(statements.entries(writer, statements.account(writer, name, lock=False).name))
        )

    def other_releases(self, name: str) -> tuple[OtherRelease, ...]:
        """Releases of a dataset that were not charged, as `add_other_release` recorded them.

        One whose record was changed since is listed as such, with its place; `verify` reports it.

        Args:
            name: Name of the dataset.

        Returns:
            The releases, in the order of the chain.

        Raises:
            NameNotFoundError: If there is no such dataset.
        """
        return self._look(lambda writer: other_releases.find_all(writer, name))

    def report(
        self,
        name: str,
        *,
        analyst: str | None = None,
        deltas: Sequence[Number] = DELTAS,
        fixed_in_advance: bool = False,
    ) -> SpendingReport:
        """Spending and rest in every accountant's terms, by analyst, version and day.

        Args:
            name: Name of the dataset.
            analyst: Only this analyst. Default: all.
            deltas: Deltas to report epsilons at.
            fixed_in_advance: Whether the queries were fixed in advance, so that tighter accountants hold. Default
                False.

        Returns:
            The report, to print.

        Raises:
            NameNotFoundError: If there is no such dataset.
        """

        def work(writer: LedgerWriter) -> tuple[Budget, list[Entry]]:
            known = statements.account(writer, name, lock=False)
            return known.budget, list(statements.entries(writer, known.name))

        budget, entries = self._look(work)
        return report(name, budget, entries, analyst=analyst, deltas=deltas, fixed_in_advance=fixed_in_advance)

    def datasets(self) -> list[Registration]:
        """Newest version of every dataset, by name.

        Returns:
            The registrations.
        """
        return self._look(lambda writer: list(statements.newest_versions(writer)))

    def sources(self) -> list[tuple[str, str]]:
        """Sources of every version of every dataset.

        Returns:
            Pairs of a dataset and a source.
        """
        return self._look(lambda writer: [(row["dataset"], row["source"]) for row in writer.rows(_SOURCES)])

    def anchors(self) -> dict[str, Anchor]:
        """Highest anchor of every dataset that was ever anchored where this ledger looks.

        Returns:
            Anchors by dataset.
        """
        return self._detector.anchors()

    def listed_keys(self) -> tuple[ListedKey, ...]:
        """Keys that the ledger lists or listed, in the order in which they were listed first.

        Returns:
            The keys; none for a ledger in memory.
        """
        self._load_keys()
        return tuple(self._key.register.keys.values())

    @property
    def shared_anchors_place(self) -> str | None:
        """Where the owner said that the shared anchors are: a path, or the host and the name of a database."""
        return self._key.register.place or None

    def health(
        self, *, oldest_anchor: Number | None = None, most_spent: Number | None = None, needs_key: bool = False
    ) -> LedgerHealth:
        """Whether the ledger serves, for monitoring: stopped datasets, spending, anchors and keys.

        It reads no chain and changes nothing in the store. Open the ledger with `read_only=True` to change nothing
        beside it either. A ledger that cannot be reached is a result too.

        Args:
            oldest_anchor: Largest age in seconds of the newest anchor of a dataset with later events. A dataset without
                an anchor is a problem at any age. Default: no limit.
            most_spent: Part of a privacy budget from which on its spending is a problem, such as 0.9. Default: none.
            needs_key: Whether it is a problem that this process has no signing key, and so cannot charge. Default
                False.

        Returns:
            The health, to print; true if there is no problem.

        Raises:
            ParameterError: If a limit is not a positive number, or the part is above 1.
        """
        seconds = None if oldest_anchor is None else float(positive(oldest_anchor, "oldest_anchor"))
        share = None if most_spent is None else _part(most_spent)
        try:
            return self._health(seconds, share, needs_key=needs_key)
        except LedgerError as error:
            return LedgerHealth.unreachable(self.STORE, error)

    def _health(self, oldest_anchor: float | None, most_spent: Fraction | None, *, needs_key: bool) -> LedgerHealth:
        self._load_keys()
        anchors = {"home": _anchored_events(self._detector.anchors_at_home())}
        if self._key.anchors_fault is None:
            anchors["shared"] = _anchored_events(self._detector.shared_anchors())
        stopped, is_behind = self._stopped_datasets_and_rollback()
        return ledger_health(
            self._look(_health_rows),  # after the anchors: others go on charging and anchoring
            store=self.STORE,
            keys=self._key_health(),
            role=self._store.role_rights(),
            needs_key=needs_key,
            anchors=anchors,
            stopped=stopped,
            is_behind=is_behind,
            oldest_anchor=oldest_anchor,
            most_spent=most_spent,
        )

    def _key_health(self) -> KeyHealth:
        register, signer = self._key.register, self._key.signer if self._key.is_in_file else None
        listed = None if signer is None else register.keys.get(signer.key)
        state = "none" if signer is None else "not listed" if listed is None else "listed"
        named = "reachable" if register.store else "not named"
        return KeyHealth(
            listed=len(register.may_charge),
            key=None if signer is None else signer.key,
            state="revoked" if listed is not None and listed.is_revoked else state,
            is_owner=listed is not None and listed.is_owner,
            shared_anchors=named if self._key.anchors_fault is None else UNREACHABLE,
            shared_anchors_place=self.shared_anchors_place,
            shared_anchors_tried=self._tried_place(),
            fault=self._key.fault,
        )

    def _tried_place(self) -> str | None:
        """Where this process looks for the shared anchors, if the ledger says another place, without a password."""
        tried = None if self._place is None else shown_place(self._place)
        return None if tried == self.shared_anchors_place else tried

    def _stopped_datasets_and_rollback(self) -> tuple[dict[str, str], bool]:
        """Datasets that are not served with the reason, and whether any is behind its anchors.

        Where the shared anchors were lost while they were in use, only halts are known.
        """
        try:
            stopped = self.stopped_datasets()
            return stopped, self._detector.acts.are_behind or bool(self._detector.behind)
        except LedgerError as error:
            if str(error) not in faults.UNREACHABLE_ANCHORS:
                raise
            return self._halted_datasets(), self._detector.acts.are_behind

    def stopped_datasets(self) -> dict[str, str]:
        """Datasets that are not served, and why.

        Returns:
            Reasons by dataset; '' stands for all of them.
        """
        found = self._halted_datasets()
        self._detector.refresh()
        behind = dict.fromkeys(self._detector.behind, faults.BEHIND)
        behind |= {"": faults.BEHIND} if self._detector.acts.are_behind else {}
        return behind | found

    def _halted_datasets(self) -> dict[str, str]:
        """The findings of halts without the name of their dataset, and what is done about them."""
        return {name: f"{without_name(name, text)}; {CURE}" for name, text in self._look(halts.open_halts).items()}


def _part(most_spent: Number) -> Fraction:
    share = positive(most_spent, "most_spent")
    if share > 1:
        raise ParameterError(
            f"most_spent={most_spent!r}",
            because="it is a part of a privacy budget, and no more than all of it is ever spent",
            instead="most_spent=0.9",
        )
    return share


def _anchored_events(anchors: Mapping[str, Anchor]) -> dict[str, AnchoredEvent]:
    return {name: AnchoredEvent(each.sequence, each.time) for name, each in anchors.items()}


def _health_rows(writer: LedgerWriter) -> HealthRows:
    return HealthRows(
        schema_version=statements.schema_version(writer),
        names=frozenset(row["name"] for row in writer.rows("SELECT name FROM datasets")),
        accounts=tuple(statements.readable_accounts(writer)),
        expired=Counter(name for name, _ in outcome.expired_charges(writer, 0)),
        near_limit=tuple(statements.shares_near_limit(writer)),
    )
