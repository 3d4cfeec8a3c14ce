"""The ledger on SQLite: for one person, one machine, many threads and processes.

T1 (`charge`) is one transaction: the guarded update of the totals, the chained event, the reservation. The data is read
after it has committed. T2 (`answer`) stores the answer unless there is one, and the reply is read from the store.
"""

import os
from collections.abc import Iterable
from types import TracebackType
from typing import Any, Self

from discreet import events
from discreet.accounting.filters import Budget, Cost
from discreet.errors import Failure, LedgerError, ParameterError
from discreet.ledger import admission, registration, statements
from discreet.ledger.chain import Kind, State
from discreet.ledger.connection import Database
from discreet.ledger.history import Entry
from discreet.ledger.receipt import Receipt, Reservation, receipt_of
from discreet.ledger.registration import Dataset, Registration, checked_version
from discreet.ledger.text import canonical, digest, document, key, label, short_code
from discreet.ledger.verification import Finding, Verification, verification

LONGEST_REASON = 2_000


class SQLiteLedger:
    """A ledger in one file, or in memory for tests."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._database = Database(path)

    def register(self, dataset: Dataset) -> Registration:
        """Register a dataset or its next version, or return what is registered.

        Another declaration of a registered version replaces it as long as nothing was ever charged to the dataset, and
        is refused from then on.
        """
        with self._database.transaction() as connection:
            account = statements.find_account(connection, dataset.name)
            if account is None:
                return statements.register_first(connection, dataset)
            newest = statements.newest_version(connection, account)
            stored = statements.registered_version(connection, account, dataset.version)
            if stored is None:
                registration.refuse_another_promise(dataset, newest)
                return statements.register_version(connection, account, newest, dataset)
            refusal = registration.refusal_of_a_change(dataset, stored, newest.version)
            if refusal is None:
                return stored
            if account.is_charged:
                raise refusal
            return statements.register_again(connection, account, stored, dataset)

    def registered(self, name: str, version: int | None = None) -> Registration | None:
        """What is registered under a name (its newest version unless one is given), or None."""
        with self._database.snapshot() as connection:
            account = statements.find_account(connection, name)
            return None if account is None else statements.registered_version(connection, account, version)

    def set_cap(self, name: str, budget: Budget, *, reason: str) -> None:
        """Make a new promise for a dataset: recorded with its reason; what was spent stays spent."""
        label(reason, "reason", most=LONGEST_REASON)
        with self._database.transaction() as connection:
            account = statements.account(connection, name)
            newest = statements.registered_version(connection, account, None)
            if registration.promise_of(budget) == registration.promise_of(account.budget):
                raise _same_cap(name, budget)
            registration.refuse_another_division(name, budget, account.budget, account.spent)
            budget.check_population(None if newest is None else newest.population)
            statements.set_cap(connection, account, account.promising(budget), reason)

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
    ) -> Receipt:
        """T1: charge an event before any data is read; a charge that does not fit is refused and costs nothing.

        A repeated `request` of the same analyst returns the receipt of its first charge and charges nothing. A charge
        that names its `registration` (its sequence) is refused where that was replaced since.
        """
        cost = admission.price(event)
        claim: dict[str, Any] = {
            "version": checked_version(version),
            "analyst": label(analyst, "analyst"),
            "event": events.canonical(event),
            "question": key(question, "question"),
            "request": None if request is None else label(request, "request"),
            "digest": digest(document(description, "description")),
        }
        with self._database.transaction() as connection:
            account = statements.account(connection, name)
            link = account.link(Kind.RESERVED, cost=cost, **claim)
            statements.refuse_unknown_version(connection, link)
            statements.refuse_a_replaced_registration(connection, link, registration)
            earlier = statements.same_request(connection, link)
            if earlier is not None:
                return earlier
            if statements.reserve(connection, account, link, description):
                return receipt_of(link)
            asked = canonical({"asked": [cost.epsilon, cost.rho, cost.delta]})
            statements.append(connection, account.link(Kind.REJECTED, detail=asked, **claim))
        raise admission.refusal(name, account.budget, account.spent, cost)

    def answer(self, reservation: Reservation, payload: bytes) -> bytes:
        """T2: store the answer of a charge unless it has one; returns what the store holds."""
        if not isinstance(payload, bytes):
            raise TypeError("an answer is bytes")
        with self._database.transaction() as connection:
            charge, state = statements.reservation(connection, reservation)
            if state is State.FORFEITED:
                raise Failure
            if state is State.RESERVED:
                place = {"dataset": charge.dataset, "reservation": charge.sequence}
                statements.insert(connection, "answers", place | {"payload": payload})
                statements.conclude(connection, charge, State.ANSWERED, digest=digest(payload))
        with self._database.snapshot() as connection:
            return statements.payload(connection, charge.dataset, charge.sequence)

    def forfeit(self, reservation: Reservation, code: str) -> State:
        """Record that a charge failed after data was read; the charge stays, and a stored answer stays too."""
        detail = canonical({"code": short_code(code, "code")})
        with self._database.transaction() as connection:
            charge, state = statements.reservation(connection, reservation)
            if state is not State.RESERVED:
                return state
            statements.conclude(connection, charge, State.FORFEITED, detail=detail)
            return State.FORFEITED

    def state(self, reservation: Reservation) -> State:
        """Where a charge stands."""
        with self._database.snapshot() as connection:
            return statements.reservation(connection, reservation)[1]

    def stored(self, name: str, question: str) -> bytes | None:
        """The latest stored answer to a question, or None; an empty answer is an answer."""
        key(question, "question")
        with self._database.snapshot() as connection:
            return statements.same_question(connection, statements.account(connection, name).name, question)

    def spent(self, name: str) -> Cost:
        """What was ever charged to a dataset, by all analysts, over all versions."""
        with self._database.snapshot() as connection:
            return statements.account(connection, name).spent

    def budget(self, name: str) -> Budget:
        """The promise of a dataset."""
        with self._database.snapshot() as connection:
            return statements.account(connection, name).budget

    def history(self, name: str) -> list[Entry]:
        """Everything that happened to a dataset, in the order of its chain."""
        with self._database.snapshot() as connection:
            return list(statements.entries(connection, statements.account(connection, name).name))

    def datasets(self) -> list[Registration]:
        """The newest version of every dataset, by name."""
        with self._database.snapshot() as connection:
            return list(statements.newest_versions(connection))

    def verify(self, name: str | None = None, *, receipts: Iterable[Receipt] = ()) -> Verification:
        """Recompute the chain of one dataset or of all, and compare it with everything else that the store holds.

        Receipts that are given must be in the chain: one that is not shows that an older copy was put back.
        """
        try:
            with self._database.snapshot() as connection:
                names = statements.names(connection) if name is None else [name]
                findings = tuple(statements.file_findings(connection))
                evidence = [statements.evidence(connection, each) for each in names]
        except LedgerError as error:
            return Verification(datasets=0, events=0, findings=(Finding(str(error)),))
        return verification(evidence, findings, tuple(receipts))

    def close(self) -> None:
        """Close the ledger's connection in this process."""
        self._database.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()


def _same_cap(name: str, budget: Budget) -> ParameterError:
    return ParameterError(
        f"a cap of {budget} for {name!r}",
        because="it is the cap already",
        instead=f"ledger.budget({name!r}) to see the promise, or another budget",
    )
