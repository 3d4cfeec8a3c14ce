"""The contract of a session, checked from outside on data that is made up: nothing is asked of the session itself.

What is checked is how a query goes through: what it costs, when data is read, what comes back, and what neighbours can
be distinguished by. The session gives its public facts, and others are made like it over adversarial data.
"""

import contextlib
import io
import logging
import math
import os
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import numpy as np
import pyarrow as pa

from discreet import home
from discreet.accounting.costs import NOTHING, Cost
from discreet.accounting.filters import Budget
from discreet.auditing.contracts import clauses
from discreet.auditing.contracts.clauses import CannotCheck
from discreet.auditing.exact import masses
from discreet.auditing.finding import Finding
from discreet.auditing.sensitivity import audit as sensitivity
from discreet.auditing.sensitivity import neighbours
from discreet.auditing.side_channels.audit import compare_calls
from discreet.auditing.side_channels.file_access import Noticing
from discreet.auditing.statistical.audit import LEAST_SAMPLES, audit
from discreet.catalog.catalog import Catalog
from discreet.errors import FAILURE, BudgetError, Failure, ParameterError, SourceError, short_traceback
from discreet.exact.numbers import Number, positive
from discreet.ledger import Entry, SQLiteLedger
from discreet.planner.queries.tables import AggregatePlan, MechanismName, analyze
from discreet.query.frame import Query
from discreet.release.release import Release
from discreet.session.arguments import table_name
from discreet.session.session import Session

SHARE_OF_BUDGET = Fraction(1, 10)
_MOST_RELEASES = 200

Make = Callable[[Any], Session]


@short_traceback
def check_session(
    session: Session,
    query: Query,
    *,
    make_session: Make | None = None,
    epsilon: Number | None = None,
    mechanism: MechanismName | None = None,
    pairs: int = 50,
    samples: int = 200,
    side_channels: bool = True,
    alarm: float = 1e-6,
    generator: np.random.Generator | None = None,
    name: str | None = None,
) -> list[Finding]:
    """Check every clause of the contract of a session, for one query.

    Args:
        session: Session with the catalog and the budget. It answers no query, and nothing is spent.
        query: The query.
        make_session: Function that opens a session over other rows, and names no ledger. Default: one of the same class
            and catalog.
        epsilon: Epsilon of each release. Default: a tenth of the budget.
        mechanism: The additive noise, as for `release`. Default: chosen by the budget.
        pairs: Number of pairs of neighbours for the sensitivity. Default 50.
        samples: Number of releases on each of two neighbours; 0 leaves the statistical audit out. Default 200.
        side_channels: Whether all public calls are compared on two neighbours, which takes seconds. Default True.
        alarm: Probability that a true claim is called broken. Default 1e-6.
        generator: Generator of the random choices. Default: a new one.
        name: Name of the subject in the finding. Default: that of the object.

    Returns:
        One finding for each clause.

    Raises:
        ParameterError: If an argument is of another kind.

    Example:
        >>> import discreet as dp
        >>> facts = {"name": "visits", "privacy_unit": "patient_id", "max_rows": 3, "budget": dp.Budget(epsilon=2)}
        >>> session = dp.protect(dp.datasets.visits(100), **facts, fixed_schema=True, ledger=":memory:")
        >>> sizes = {"pairs": 2, "samples": 0, "side_channels": False}
        >>> findings = dp.auditing.check_session(session, dp.table("visits").agg(n=dp.count()), **sizes)
        >>> any(finding.is_broken for finding in findings)
        False
    """
    _refuse_mixed_up(session, query, samples)
    random = generator or np.random.default_rng()
    with (
        tempfile.TemporaryDirectory(prefix="discreet-audit-", ignore_cleanup_errors=True) as place,
        closing(_QueryCheck(session, query, make_session, epsilon, mechanism, pairs, random, Path(place))) as check,
    ):
        check.refuse_early()
        return _read(check, name or f"session over {check.name!r}", samples, side_channels, alarm)


def _refuse_mixed_up(session: object, query: object, samples: int) -> None:
    if not isinstance(session, Session) or not isinstance(query, Query):
        raise ParameterError(
            f"check_session of {type(session).__name__} and {type(query).__name__}",
            because="it is given a session, then a query",
            instead='check_session(session, dp.table("visits").agg(n=dp.count()))',
        )
    if samples and samples < LEAST_SAMPLES:
        raise ParameterError(
            f"samples={samples}",
            because=f"fewer than {LEAST_SAMPLES} releases of each neighbour refute nothing",
            instead=f"samples={LEAST_SAMPLES}, or samples=0 to leave that clause out",
        )


def _read(check: "_QueryCheck", subject: str, samples: int, side_channels: bool, alarm: float) -> list[Finding]:
    checks: dict[str, Callable[[], clauses.Said]] = {
        "the sessions that are made have the same public facts": lambda: _check_facts(check),
        "explaining is free": lambda: _check_explain(check),
        "a charge comes before data": lambda: _check_charge_first(check),
        "a failure says one sentence, and its charge stands": lambda: _check_failure(check),
        "a repeated query gets its stored answer at no cost": lambda: _check_repeat(check),
        "keys are complete, for any data": lambda: _check_keys(check),
        "releases stand on the public grid": lambda: _check_grid(check),
        "a spent budget refuses": lambda: _check_budget(check),
        "exact answers keep to their sensitivity": lambda: check.examination.finding,
    }
    if samples:
        checks["releases of neighbours keep the claim"] = lambda: _audit_neighbours(check, samples, alarm, subject)
    if side_channels:
        checks["neighbours look the same to everybody"] = lambda: _compare_sides(check, subject)
    return clauses.read(subject, checks)


@dataclass
class _QueryCheck:
    """A query as it is asked of sessions over made-up data."""

    session: Session
    query: Query
    given: Make | None
    price: Number | None
    mechanism: MechanismName | None
    pairs: int
    random: np.random.Generator
    place: Path

    def refuse_early(self) -> None:
        """A query that is refused is refused here, and so is a ledger that is not made for this check."""
        _ = self.private
        if self.shared_session.ledger is self.session.ledger:
            raise ParameterError(
                "a make_session that charges the session's own ledger",
                because="the check spends whole budgets, and this one protects real people",
                instead='make_session=lambda rows: dp.protect(rows, name="visits", ...), without ledger=',
            )

    @property
    def name(self) -> str:
        return table_name(self.query)

    @cached_property
    def budget(self) -> Budget:
        return self.session.ledger.budget(self.name)

    @cached_property
    def epsilon(self) -> Fraction:
        return self.budget.epsilon * SHARE_OF_BUDGET if self.price is None else positive(self.price, "epsilon")

    @cached_property
    def private(self) -> AggregatePlan:
        return analyze(
            self.query.plan, self.session.catalog, self.budget, epsilon=self.epsilon, mechanism=self.mechanism
        )

    @cached_property
    def examination(self) -> sensitivity.Examination:
        return sensitivity.examine(
            self.query,
            self.session,
            pairs=self.pairs,
            epsilon=self.epsilon,
            mechanism=self.mechanism,
            generator=self.random,
            typed=True,
        )

    @cached_property
    def datasets(self) -> tuple[pa.Table, pa.Table]:
        """Two neighbours that are nothing but the unit in which they differ, so that no other unit's rows matter."""
        pair = self.examination.pair
        if pair is None:
            raise CannotCheck("no pair of neighbours was made")
        return sensitivity.moved_alone(pair)

    @cached_property
    def rows(self) -> pa.Table:
        """Some made-up rows, at least one."""
        made = neighbours.pairs(self.session.catalog.table(self.name), _MOST_RELEASES, self.random, typed=True)
        return next(side for pair in made for side in pair if side.num_rows)

    @cached_property
    def shared_session(self) -> Session:
        """A session over these rows, for clauses that leave others as they find it."""
        return self.make(self.rows)

    def close(self) -> None:
        if "shared" in vars(self):
            self.shared_session.close()

    @contextmanager
    def open(self, rows: Any) -> Iterator[Session]:
        with closing(self.make(rows)) as made:
            yield made

    def make(self, rows: Any) -> Session:
        """A session with a home of its own, and a ledger there or in memory."""
        with _new_home(self.place), contextlib.redirect_stderr(io.StringIO()):
            made = self.given(rows) if self.given else self._like_it(rows, SQLiteLedger(":memory:"))
        if self.cost(made) != NOTHING:
            made.close()
            raise CannotCheck("make_session names a ledger that was charged before")
        return made

    def make_at_home(self, rows: Any) -> Session:
        """A session with the ledger of the current home, where its owner names none."""
        return self.given(rows) if self.given else self._like_it(rows, None)

    def _like_it(self, rows: Any, ledger: SQLiteLedger | None) -> Session:
        alone = Catalog(tables={self.name: self.session.catalog.table(self.name)})
        return type(self.session)(alone, sources={self.name: rows}, ledger=ledger, threads=1)

    def release(self, session: Session, epsilon: Fraction | None = None, *, fresh: bool = False) -> Release:
        return session.release(self.query, epsilon=epsilon or self.epsilon, mechanism=self.mechanism, fresh=fresh)

    def cost(self, session: Session) -> Cost:
        return session.ledger.spent(self.name)

    def ledger_state(self, session: Session) -> tuple[Cost, list[Entry]]:
        return self.cost(session), session.history(self.name)


@contextmanager
def _new_home(place: Path) -> Iterator[None]:
    """An empty home for sessions made meanwhile; it stays until the check ends."""
    before = os.environ.get(home.VARIABLE)
    os.environ[home.VARIABLE] = tempfile.mkdtemp(dir=place)
    try:
        yield
    finally:
        os.environ.pop(home.VARIABLE) if before is None else os.environ.update({home.VARIABLE: before})


def _check_explain(check: _QueryCheck) -> str:
    session = check.shared_session
    before = check.ledger_state(session)
    session.explain(check.query, epsilon=check.epsilon, mechanism=check.mechanism)
    return "" if check.ledger_state(session) == before else "explaining leaves a mark in the ledger"


@contextmanager
def _open_noticing(check: _QueryCheck) -> Iterator[tuple[Session, Noticing]]:
    noticing = Noticing(check.rows)
    try:
        session = check.make(noticing.dataset())
    except (SourceError, TypeError, ValueError, AttributeError) as error:
        raise CannotCheck("make_session takes no pyarrow dataset, so reading cannot be noticed") from error
    try:
        with closing(session):
            yield session, noticing
    finally:
        noticing.forget()


def _check_charge_first(check: _QueryCheck) -> str:
    with _open_noticing(check) as (session, noticing):
        costs: list[Cost] = []
        before = check.cost(session)
        noticing.opened = lambda: costs.append(check.cost(session))
        session.explain(check.query, epsilon=check.epsilon, mechanism=check.mechanism)
        if costs:
            return "explaining reads data"
        check.release(session)
        after = check.cost(session)
    if after == before:
        return "a release is not charged"
    if not costs:
        raise CannotCheck("the data was not read through the dataset that was given")
    return "" if all(cost == after for cost in costs) else "data is read before its charge is in the ledger"


def _check_facts(check: _QueryCheck) -> str:
    """What stands in the catalog decides the sensitivity; a session with other facts has another guarantee."""
    made, told = (each.catalog.table(check.name) for each in (check.shared_session, check.session))
    of_source = {"source", "relation", "delimiter", "budget", "version", "rows", "population"}
    other = [
        name for name in type(told).model_fields if name not in of_source and getattr(made, name) != getattr(told, name)
    ]
    return f"make_session opens it with another {', '.join(other)}" if other else ""


def _check_failure(check: _QueryCheck) -> str:
    def unreadable() -> None:
        raise OSError

    with _open_noticing(check) as (session, noticing):
        before = check.cost(session)
        noticing.opened = unreadable
        try:
            with _without_log():
                check.release(session)
        except Failure as failure:
            told = str(failure)
        except Exception as error:  # noqa: BLE001 - any other exception is not the constant sentence
            return f"a failure after the charge comes out as {type(error).__name__}"
        else:
            raise CannotCheck("the data was not read through the dataset that was given")
        if told != FAILURE:
            return "a failure says more than its one sentence"
        return "" if check.cost(session) != before else "a query that failed after it opened its data costs nothing"


def _check_repeat(check: _QueryCheck) -> str:
    session = check.shared_session
    first = check.release(session)
    before = check.cost(session)
    again = check.release(session)
    if check.cost(session) != before:
        return "the same query again is charged again"
    if again != first:
        return "the same query again gets another answer"
    return "" if again.repeated else "a stored answer does not say that it is one"


def _check_keys(check: _QueryCheck) -> str:
    rows = check.private.pushdown.keys.rows
    expected = [tuple(row[i] for row in rows) for i in range(len(check.private.group_columns))]
    for data in (*check.datasets, check.rows.slice(0, 0)):
        with check.open(data) as session:
            release = check.release(session)
        if [key.values for key in release.keys] != expected:
            return "the keys of a release are not the public ones, in their order"
        if any(len(output.values) != len(rows) for output in release.outputs):
            return "a release has another number of rows than there are public keys"
    return ""


def _check_grid(check: _QueryCheck) -> str:
    release = check.release(check.shared_session)
    if any(type(step) is not int for measured in release.measured for step in measured.steps):
        return "a measured integer is of another type"
    for made in check.private.recipes:
        for value in release[made.name]:
            if value is None or not math.isfinite(value):
                return f"{made.name!r} is not a finite number"
            if made.kind == "mean":
                low, high = made.bounds or (Fraction(0), Fraction(0))
                if not float(low) <= value <= float(high):
                    return f"the mean {made.name!r} leaves its bounds"
            elif made.kind in ("variance", "standard deviation"):
                if value < 0:
                    return f"the {made.kind} {made.name!r} is below zero"
            elif value != float(round(Fraction(value) / made.grid) * made.grid):
                return f"{made.name!r} is off its grid"
    return ""


def _check_budget(check: _QueryCheck) -> str:
    """Release at half of the budget until refused; then nothing may be charged, and the budget must hold."""
    half = check.budget.epsilon / 2
    with check.open(check.rows) as session:
        for _ in range(_MOST_RELEASES):
            before = check.cost(session)
            try:
                check.release(session, half, fresh=True)
            except BudgetError:
                return "" if check.cost(session) == before else "a refused query is charged"
            if not check.budget.admits(check.cost(session)):
                return "more is released than the budget allows"
            if check.cost(session) == before:
                return "a fresh release is not charged"
    return f"{_MOST_RELEASES} releases for half of the budget each are not refused"


def _audit_neighbours(check: _QueryCheck, samples: int, alarm: float, subject: str) -> Finding:
    one, other = check.datasets
    with _FreshReleases(check, {"one": one, "other": other}) as fresh:
        fresh.renew("one")
        fresh.renew("other")
        return audit(
            fresh.answer,
            "one",
            "other",
            claim=masses.claim_of(check.private.event),
            samples=samples,
            alarm=alarm,
            name=subject,
        )


@dataclass
class _FreshReleases:
    """Fresh releases from sessions that are made anew whenever a budget is gone, so that no run sees another."""

    check: _QueryCheck
    data: Mapping[str, pa.Table]
    sessions: dict[str, Session] = field(default_factory=dict)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for session in self.sessions.values():
            session.close()

    def renew(self, which: str) -> None:
        """A session with a budget that nobody has touched, in the place of the one before."""
        if which in self.sessions:
            self.sessions.pop(which).close()
        self.sessions[which] = self.check.make(self.data[which])

    def answer(self, which: str) -> list[int]:
        """The noisy integers of one release, one after the other."""
        try:
            release = self.check.release(self.sessions[which], fresh=True)
        except BudgetError:
            self.renew(which)
            release = self.check.release(self.sessions[which], fresh=True)
        return [step for measured in release.measured for step in measured.steps]


def _compare_sides(check: _QueryCheck, subject: str) -> list[Finding]:
    one, other = check.datasets
    return compare_calls(check.make_at_home, one, other, [check.query], epsilon=check.epsilon, name=subject)


@contextmanager
def _without_log() -> Iterator[None]:
    """Without the line for the owner on a failure that is made on purpose."""
    log = logging.getLogger("discreet")
    was, log.disabled = log.disabled, True
    try:
        yield
    finally:
        log.disabled = was
