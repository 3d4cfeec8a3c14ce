"""The contract of a session, checked from outside on data that is made up: nothing is asked of the session itself.

What is checked is how a query goes through: what it costs, when data is read, what comes back, and what neighbours can
be told apart by. The session gives its public facts, and others are made like it over adversarial data.
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
from discreet.accounting.filters import NOTHING, Budget, Cost
from discreet.auditing.contracts import clauses
from discreet.auditing.contracts.clauses import NotChecked
from discreet.auditing.exact import masses
from discreet.auditing.finding import Finding
from discreet.auditing.sensitivity import audit as sensitivity
from discreet.auditing.sensitivity import neighbours
from discreet.auditing.side_channels.audit import compare_calls
from discreet.auditing.side_channels.file_access import Noticing
from discreet.auditing.statistical.audit import LEAST_SAMPLES, audit
from discreet.catalog.catalog import Catalog
from discreet.errors import FAILURE, BudgetError, Failure, ParameterError, SourceError, short_traceback
from discreet.exact import Number, positive
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
        session: Session with the catalog and the budget. It is not asked anything, and nothing is spent.
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
        closing(_Asked(session, query, make_session, epsilon, mechanism, pairs, random, Path(place))) as asked,
    ):
        asked.refuse_early()
        return _read(asked, name or f"session over {asked.name!r}", samples, side_channels, alarm)


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


def _read(asked: "_Asked", subject: str, samples: int, side_channels: bool, alarm: float) -> list[Finding]:
    checks: dict[str, Callable[[], clauses.Said]] = {
        "the sessions that are made have the same public facts": lambda: _described(asked),
        "explaining is free": lambda: _explained(asked),
        "a charge comes before data": lambda: _charged_first(asked),
        "a failure says one sentence, and its charge stands": lambda: _failed(asked),
        "a repeated question gets its stored answer at no cost": lambda: _repeated(asked),
        "keys are complete, whatever the data": lambda: _keyed(asked),
        "releases stand on the public grid": lambda: _on_grid(asked),
        "a spent budget refuses": lambda: _spent(asked),
        "exact answers keep to their sensitivity": lambda: asked.examined.finding,
    }
    if samples:
        checks["releases of neighbours keep the claim"] = lambda: _audited(asked, samples, alarm, subject)
    if side_channels:
        checks["neighbours look the same to everybody"] = lambda: _compared(asked, subject)
    return clauses.read(subject, checks)


@dataclass
class _Asked:
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
        if self.shared.ledger is self.session.ledger:
            raise ParameterError(
                "a make_session that charges the session's own ledger",
                because="the contract is checked by spending whole budgets, and this one is a promise to people",
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
    def examined(self) -> sensitivity.Examined:
        return sensitivity.examined(
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
        pair = self.examined.pair
        if pair is None:
            raise NotChecked("no pair of neighbours was made")
        return sensitivity.moved_alone(pair)

    @cached_property
    def rows(self) -> pa.Table:
        """Some made-up rows, at least one."""
        made = neighbours.pairs(self.session.catalog.table(self.name), _MOST_RELEASES, self.random, typed=True)
        return next(side for pair in made for side in pair if side.num_rows)

    @cached_property
    def shared(self) -> Session:
        """A session over these rows, for clauses that leave others as they find it."""
        return self.make(self.rows)

    def close(self) -> None:
        if "shared" in vars(self):
            self.shared.close()

    @contextmanager
    def opened(self, rows: Any) -> Iterator[Session]:
        with closing(self.make(rows)) as made:
            yield made

    def make(self, rows: Any) -> Session:
        """A session with a home of its own, and a ledger there or in memory."""
        with _new_home(self.place), contextlib.redirect_stderr(io.StringIO()):
            made = self.given(rows) if self.given else self._like_it(rows, SQLiteLedger(":memory:"))
        if self.spent(made) != NOTHING:
            made.close()
            raise NotChecked("make_session names a ledger that was charged before")
        return made

    def make_at_home(self, rows: Any) -> Session:
        """A session with the ledger of whatever home there is, where its owner names none."""
        return self.given(rows) if self.given else self._like_it(rows, None)

    def _like_it(self, rows: Any, ledger: SQLiteLedger | None) -> Session:
        alone = Catalog(tables={self.name: self.session.catalog.table(self.name)})
        return type(self.session)(alone, sources={self.name: rows}, ledger=ledger, threads=1)

    def release(self, session: Session, epsilon: Fraction | None = None, *, fresh: bool = False) -> Release:
        return session.release(self.query, epsilon=epsilon or self.epsilon, mechanism=self.mechanism, fresh=fresh)

    def spent(self, session: Session) -> Cost:
        return session.ledger.spent(self.name)

    def written(self, session: Session) -> tuple[Cost, list[Entry]]:
        return self.spent(session), session.history(self.name)


@contextmanager
def _new_home(place: Path) -> Iterator[None]:
    """An empty home for whoever is made meanwhile; it stays for as long as the check."""
    before = os.environ.get(home.VARIABLE)
    os.environ[home.VARIABLE] = tempfile.mkdtemp(dir=place)
    try:
        yield
    finally:
        os.environ.pop(home.VARIABLE) if before is None else os.environ.update({home.VARIABLE: before})


def _explained(asked: _Asked) -> str:
    session = asked.shared
    before = asked.written(session)
    session.explain(asked.query, epsilon=asked.epsilon, mechanism=asked.mechanism)
    return "" if asked.written(session) == before else "explaining leaves a mark in the ledger"


@contextmanager
def _noticed(asked: _Asked) -> Iterator[tuple[Session, Noticing]]:
    noticing = Noticing(asked.rows)
    try:
        session = asked.make(noticing.dataset())
    except (SourceError, TypeError, ValueError, AttributeError) as error:
        raise NotChecked("make_session takes no pyarrow dataset, so reading cannot be noticed") from error
    try:
        with closing(session):
            yield session, noticing
    finally:
        noticing.forget()


def _charged_first(asked: _Asked) -> str:
    with _noticed(asked) as (session, noticing):
        costs: list[Cost] = []
        before = asked.spent(session)
        noticing.opened = lambda: costs.append(asked.spent(session))
        session.explain(asked.query, epsilon=asked.epsilon, mechanism=asked.mechanism)
        if costs:
            return "explaining reads data"
        asked.release(session)
        after = asked.spent(session)
    if after == before:
        return "a release is not charged"
    if not costs:
        raise NotChecked("the data was not read through the dataset that was given")
    return "" if all(cost == after for cost in costs) else "data is read before its charge is in the ledger"


def _described(asked: _Asked) -> str:
    """What stands in the catalog decides the sensitivity; a session with other facts is another promise."""
    made, told = (each.catalog.table(asked.name) for each in (asked.shared, asked.session))
    of_source = {"source", "relation", "delimiter", "budget", "version", "rows", "population"}
    other = [
        name for name in type(told).model_fields if name not in of_source and getattr(made, name) != getattr(told, name)
    ]
    return f"make_session opens it with another {', '.join(other)}" if other else ""


def _failed(asked: _Asked) -> str:
    def unreadable() -> None:
        raise OSError

    with _noticed(asked) as (session, noticing):
        before = asked.spent(session)
        noticing.opened = unreadable
        try:
            with _without_log():
                asked.release(session)
        except Failure as failure:
            told = str(failure)
        except Exception as error:  # noqa: BLE001 - whatever it is, it is not the one sentence
            return f"a failure after the charge comes out as {type(error).__name__}"
        else:
            raise NotChecked("the data was not read through the dataset that was given")
        if told != FAILURE:
            return "a failure says more than its one sentence"
        return "" if asked.spent(session) != before else "a query that failed after it opened its data costs nothing"


def _repeated(asked: _Asked) -> str:
    session = asked.shared
    first = asked.release(session)
    before = asked.spent(session)
    again = asked.release(session)
    if asked.spent(session) != before:
        return "the same question again is charged again"
    if again != first:
        return "the same question again gets another answer"
    return "" if again.repeated else "a stored answer does not say that it is one"


def _keyed(asked: _Asked) -> str:
    rows = asked.private.pushdown.keys.rows
    expected = [tuple(row[i] for row in rows) for i in range(len(asked.private.group_columns))]
    for data in (*asked.datasets, asked.rows.slice(0, 0)):
        with asked.opened(data) as session:
            release = asked.release(session)
        if [key.values for key in release.keys] != expected:
            return "the keys of a release are not the public ones, in their order"
        if any(len(output.values) != len(rows) for output in release.outputs):
            return "a release has another number of rows than there are public keys"
    return ""


def _on_grid(asked: _Asked) -> str:
    release = asked.release(asked.shared)
    if any(type(step) is not int for measured in release.measured for step in measured.steps):
        return "a measured integer is of another type"
    for made in asked.private.recipes:
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


def _spent(asked: _Asked) -> str:
    """Ask for half of the promise until it is refused; then nothing may be charged, and the promise must hold."""
    half = asked.budget.epsilon / 2
    with asked.opened(asked.rows) as session:
        for _ in range(_MOST_RELEASES):
            before = asked.spent(session)
            try:
                asked.release(session, half, fresh=True)
            except BudgetError:
                return "" if asked.spent(session) == before else "a refused question is charged"
            if not asked.budget.admits(asked.spent(session)):
                return "more is released than the budget allows"
            if asked.spent(session) == before:
                return "a fresh release is not charged"
    return f"{_MOST_RELEASES} releases for half of the budget each are not refused"


def _audited(asked: _Asked, samples: int, alarm: float, subject: str) -> Finding:
    one, other = asked.datasets
    with _Renewed(asked, {"one": one, "other": other}) as renewed:
        renewed.renew("one")
        renewed.renew("other")
        return audit(
            renewed.answer,
            "one",
            "other",
            claim=masses.claim_of(asked.private.event),
            samples=samples,
            alarm=alarm,
            name=subject,
        )


@dataclass
class _Renewed:
    """Fresh releases from sessions that are made anew whenever a budget is gone, so that no run sees another."""

    asked: _Asked
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
        self.sessions[which] = self.asked.make(self.data[which])

    def answer(self, which: str) -> list[int]:
        """The noisy integers of one release, one after the other."""
        try:
            release = self.asked.release(self.sessions[which], fresh=True)
        except BudgetError:
            self.renew(which)
            release = self.asked.release(self.sessions[which], fresh=True)
        return [step for measured in release.measured for step in measured.steps]


def _compared(asked: _Asked, subject: str) -> list[Finding]:
    one, other = asked.datasets
    return compare_calls(asked.make_at_home, one, other, [asked.query], epsilon=asked.epsilon, name=subject)


@contextmanager
def _without_log() -> Iterator[None]:
    """Without the line for the owner on a failure that is made on purpose."""
    log = logging.getLogger("discreet")
    was, log.disabled = log.disabled, True
    try:
        yield
    finally:
        log.disabled = was
