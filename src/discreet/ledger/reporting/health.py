"""Health of a ledger, for monitoring: whether it serves, what is spent, how old its anchors are, and its keys.

It is made from a few rows of each dataset; no chain is read. What is spent is rounded up.
"""

import itertools
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from fractions import Fraction
from functools import cached_property
from typing import Any, NamedTuple

from discreet.accounting.costs import Cost
from discreet.accounting.filters import Budget
from discreet.errors import DiscreetError, LedgerError, Refusal
from discreet.ledger.records import faults
from discreet.ledger.records.account import Account
from discreet.ledger.records.chain import now
from discreet.ledger.records.quota import Share
from discreet.ledger.reporting.burn_down import percent, utc_time
from discreet.ledger.reporting.spending import SpendingTotal, plain, plain_up, text_up
from discreet.ledger.reporting.tables import WIDTH, TextTable, text_page, with_commands_apart
from discreet.ledger.transactions.store import RoleRights

SCHEMA = "discreet.health/1"
UNREACHABLE = "unreachable"
MOST_SHOWN = 10
COLUMNS = (
    "anchor: age of the newest anchor; since: events after it; unanswered: charges whose lease has ended; failing:"
    " analysts near their limit of failures."
)
CURE = (
    "find the cause; then, with --receipt FILE for each receipt, and on PostgreSQL with the steward's or the owner's"
    " address, run discreet ledger recover --ledger LEDGER --reason TEXT"
)
KEYLESS = (
    "this process has no signing key, so it cannot charge; make one by discreet ledger key new, and let the ledger's"
    " owner list it"
)
OWNER = "This role owns the database: it does what the steward does, and charges nothing."
OVERSPENT = "{used} of its privacy budget is spent"
ANCHORED_LONG_AGO = "{events} since its newest anchor, which is {age} old"
NEVER_ANCHORED = "{events}, and no anchor of it is known here"
NOT_HERE = "not here: nothing can be charged from here; the problems say why."
SERVES, STOPPED, ELSEWHERE = "serves", "stopped", "not here"
_HERE = frozenset({"keys", "rights"})
"""Kinds of problems under which this process charges nothing."""
_UNITS = ((86_400, "d"), (3_600, "h"), (60, "min"))


class AnchoredEvent(NamedTuple):
    """The last event of a dataset that is anchored at home or in the shared anchors, and when that was."""

    sequence: int
    time: str


AnchorsByOrigin = Mapping[str, Mapping[str, AnchoredEvent]]
"""Of each dataset, the last anchored event at home and in the store of shared anchors ("home", "shared")."""


@dataclass(frozen=True)
class HealthProblem:
    """What is wrong, with one dataset or with all: `kind` is for programs."""

    kind: str
    what: str
    dataset: str | None = None

    def __str__(self) -> str:
        return self.what if self.dataset is None else f"{self.dataset!r}: {self.what}"


@dataclass(frozen=True)
class AnchorAge:
    """Age of the newest anchor of a dataset, at home or shared, and number of events after it."""

    seconds: float
    events: int


@dataclass(frozen=True, kw_only=True)
class DatasetHealth:
    """One dataset: `anchors` by origin ("home", "shared"), `unanswered` charges whose lease has ended."""

    dataset: str
    budget: Budget
    spent: Cost
    events: int
    stopped: str | None = None
    anchors: Mapping[str, AnchorAge]
    unanswered: int = 0
    near_limit: tuple[Share, ...] = ()
    """Analysts with nine tenths of the failures that they may have."""

    @cached_property
    def epsilon(self) -> Fraction | None:
        """What is spent in the budget's own terms; None where it has no epsilon there."""
        return SpendingTotal(cost=self.spent).of_promise(self.budget).epsilon

    @cached_property
    def share(self) -> Fraction | None:
        """The used part of the budget; above 1 or None where it is exceeded."""
        return SpendingTotal(cost=self.spent).share(self.budget)

    @property
    def newest_anchor(self) -> AnchorAge | None:
        """The newest anchor, at home or shared."""
        return min(self.anchors.values(), key=lambda anchor: (anchor.events, anchor.seconds), default=None)

    def problems(self, oldest_anchor: float | None, most_spent: Fraction | None) -> Iterator[HealthProblem]:
        """What is wrong with it, beside the two limits that are given."""
        if self.stopped is not None:
            yield HealthProblem("stopped", self.stopped, self.dataset)
        share = self.share
        if most_spent is not None and (share is None or share >= most_spent):
            used = "more than all" if share is None or share > 1 else percent(share)
            yield HealthProblem("spent", OVERSPENT.format(used=used), self.dataset)
        anchor = self.newest_anchor
        if oldest_anchor is not None and anchor is None:
            yield HealthProblem("anchors", NEVER_ANCHORED.format(events=_count(self.events, "event")), self.dataset)
        elif oldest_anchor is not None and anchor is not None and anchor.events and anchor.seconds > oldest_anchor:
            what = ANCHORED_LONG_AGO.format(events=_count(anchor.events, "event"), age=_age(anchor.seconds))
            yield HealthProblem("anchors", what, self.dataset)

    def state(self, *, is_refused_here: bool = False) -> str:
        """State for a table: "stopped"; else "not here" if this process is refused, and "serves" if it is not."""
        if self.stopped is not None:
            return STOPPED
        return ELSEWHERE if is_refused_here else SERVES

    def row(self, *, is_refused_here: bool = False) -> tuple[str, ...]:
        """The line of a table."""
        anchor = self.newest_anchor
        epsilon, share = self.epsilon, self.share
        return (
            self.dataset,
            text_up(epsilon) if epsilon is not None else "over",
            text_up(self.budget.epsilon),
            percent(share),
            "none" if anchor is None else _age(anchor.seconds),
            f"{self.events if anchor is None else anchor.events:,}",
            f"{self.unanswered:,}",
            f"{len(self.near_limit):,}",
            self.state(is_refused_here=is_refused_here),
        )

    def to_dict(self, *, is_refused_here: bool = False) -> dict[str, Any]:
        """The dataset as plain JSON."""
        anchors = {
            origin: {"age_seconds": each.seconds, "events_since": each.events} for origin, each in self.anchors.items()
        }
        analysts = [
            {"analyst": each.analyst, "failures": each.failures, "most_failures": each.most_failures}
            for each in self.near_limit
        ]
        return {
            "dataset": self.dataset,
            "state": self.state(is_refused_here=is_refused_here),
            "stopped": self.stopped,
            "epsilon": {"spent": plain_up(self.epsilon), "cap": plain(self.budget.epsilon)},
            "delta": plain(self.budget.delta),
            "share": plain_up(self.share),
            "events": self.events,
            "anchors": {"home": None, "shared": None} | anchors,
            "unanswered_charges": self.unanswered,
            "analysts_near_failure_limit": analysts,
        }


@dataclass(frozen=True, kw_only=True)
class KeyHealth:
    """Keys of a ledger, and its shared anchors.

    Attributes:
        listed: Number of keys that may charge.
        key: Id of the key of this process; None if it has none.
        state: State of that key: "listed", "revoked", "not listed" or "none".
        is_owner: Whether it is the owner's.
        shared_anchors: "not named", "reachable" or "unreachable".
        shared_anchors_place: Where the ledger says that they are, without role and password; None if it names none.
        shared_anchors_tried: Where this process looks for them instead, by DISCREET_ANCHORS or an argument; None if it
            goes by the ledger, or the address cannot be shown without a part that may be a password.
        fault: Why nothing can be charged with this key, or with any if there is none; None if something can.
    """

    listed: int
    key: str | None = None
    state: str = "none"
    is_owner: bool = False
    shared_anchors: str = "not named"
    shared_anchors_place: str | None = None
    shared_anchors_tried: str | None = None
    fault: str | None = None

    def problems(self, *, needs_key: bool) -> Iterator[HealthProblem]:
        """Why nothing can be charged; with `needs_key` also that this process has no key."""
        if needs_key and self.key is None and self.fault != faults.NO_KEY:
            yield HealthProblem("keys", KEYLESS)
        if self.fault is not None:
            yield HealthProblem("keys", self.fault)
        if self.shared_anchors == UNREACHABLE and self.fault not in faults.WITHOUT_SHARED_ANCHORS:
            yield HealthProblem("keys", faults.NO_SHARED_ANCHORS)

    def __str__(self) -> str:
        own = f"Key {self.key} of this process is {self.state}" + (" and the owner's" if self.is_owner else "")
        none = "This process has no signing key" + (", so it cannot charge" if self.listed else "")
        mine = none if self.key is None else own
        where = "" if self.shared_anchors_place is None else f", at {self.shared_anchors_place}"
        where += "" if self.shared_anchors_tried is None else f", looked for at {self.shared_anchors_tried}"
        return f"{mine}; {_count(self.listed, 'key')} may charge. Shared anchors: {self.shared_anchors}{where}."

    def to_dict(self) -> dict[str, Any]:
        """The keys as plain JSON."""
        return dict(vars(self))


@dataclass(frozen=True, kw_only=True)
class LedgerHealth:
    """Health of a ledger, for monitoring. Print it; it is true if there is no problem.

    Attributes:
        store: "SQLite" or "PostgreSQL".
        time: Time at which it was read, in UTC.
        problems: What is wrong, each with `kind`, `what` and `dataset`.
        error: Why the ledger cannot be reached or opened; None if it can.
        error_type: Class of that error.
        schema_version: Version of the ledger's schema, or None.
        is_behind: Whether any dataset or key is behind its anchors; None if that is not known.
        datasets: Spending, anchors and failures of each dataset.
        keys: The key of this process, and whether the shared anchors can be reached; None if that is not known.
        is_owner: Whether the role of this process owns the database, and so charges nothing.

    Example:
        >>> import discreet as dp
        >>> with dp.SQLiteLedger("ledger.sqlite") as ledger:
        ...     health = ledger.health(most_spent=0.9)
        >>> health.ok, health.store, health.keys.state
        (True, 'SQLite', 'listed')
    """

    store: str
    time: str
    problems: tuple[HealthProblem, ...]
    error: str | None = None
    error_type: str = LedgerError.__name__
    schema_version: int | None = None
    is_behind: bool | None = None
    datasets: tuple[DatasetHealth, ...] = ()
    keys: KeyHealth | None = None
    is_owner: bool = False

    @classmethod
    def unreachable(cls, store: str, error: DiscreetError, kind: str = UNREACHABLE) -> "LedgerHealth":
        """That of a ledger that cannot be reached or opened, by the kind of the problem."""
        parts = (error.what, error.because, error.instead) if isinstance(error, Refusal) else (str(error),)
        what = "; ".join(parts)
        problem = HealthProblem(kind, what)
        return cls(store=store, time=now(), problems=(problem,), error=what, error_type=type(error).__name__)

    @property
    def ok(self) -> bool:
        """Whether there is no problem."""
        return not self.problems

    @property
    def is_refused_here(self) -> bool:
        """Whether a problem of its key, of the shared anchors or of its role keeps this process from charging."""
        return any(each.kind in _HERE for each in self.problems)

    def __bool__(self) -> bool:
        return self.ok

    def __str__(self) -> str:
        if self.error is not None:
            return f"unhealthy: {self.error}"
        state = "healthy" if self.ok else f"unhealthy, {_count(len(self.problems), 'problem')}"
        size = f"{_count(len(self.datasets), 'dataset')} on {self.store}, schema {self.schema_version}"
        legend = [COLUMNS, *([NOT_HERE] if self.is_refused_here else [])] if self.datasets else []
        notes = [*legend, str(self.keys), *([OWNER] if self.is_owner else [])]
        return text_page(f"{state}: {size}", [*self._problem_lists(), *self._tables()], notes)

    __repr__ = __str__

    def to_dict(self) -> dict[str, Any]:
        """The health as plain JSON: each number exact as text, and as a double that is not below it."""
        error = {} if self.error is None else {"error": {"type": self.error_type, "what": self.error}}
        return error | {
            "schema": SCHEMA,
            "healthy": self.ok,
            "reachable": self.error is None,
            "problems": [{"problem": each.kind, "dataset": each.dataset, "what": each.what} for each in self.problems],
            "time": self.time,
            "store": self.store,
            "schema_version": self.schema_version,
            "role_is_owner": self.is_owner,
            "behind_anchors": self.is_behind,
            "keys": None if self.keys is None else self.keys.to_dict(),
            "datasets": [each.to_dict(is_refused_here=self.is_refused_here) for each in self.datasets],
        }

    def _problem_lists(self) -> list[TextTable]:
        """The problems, on lines that fit a page."""
        first = [with_commands_apart(str(each), WIDTH - 2) for each in self.problems[:MOST_SHOWN]]
        more = _more(len(self.problems) - len(first), "problems")
        lines = TextTable((), tuple((line,) for line in itertools.chain(*first)), "<", more)
        return [lines] if first else []

    def _tables(self) -> list[TextTable]:
        head = ("dataset", "spent", "of", "used", "anchor", "since", "unanswered", "failing", "state")
        first = sorted(self.datasets, key=_urgency, reverse=True)[:MOST_SHOWN]
        more = _more(len(self.datasets) - len(first), "datasets")
        rows = tuple(each.row(is_refused_here=self.is_refused_here) for each in first)
        return [TextTable(head, rows, "<>>>>>>><", more)] if rows else []


@dataclass(frozen=True, kw_only=True)
class HealthRows:
    """What is read of a store for its health, in one consistent view; `accounts` are those whose row can be read."""

    schema_version: int
    names: frozenset[str]
    accounts: tuple[Account, ...]
    expired: Mapping[str, int]
    near_limit: tuple[Share, ...]


def ledger_health(
    rows: HealthRows,
    *,
    store: str,
    keys: KeyHealth,
    role: RoleRights,
    needs_key: bool,
    anchors: AnchorsByOrigin,
    stopped: Mapping[str, str],
    is_behind: bool,
    oldest_anchor: float | None = None,
    most_spent: Fraction | None = None,
) -> LedgerHealth:
    """The health of a ledger, from its rows and what stands outside the store, which was read before.

    `anchors` are by origin and dataset; `stopped` has the reason for each dataset, '' stands for all of them.
    """
    time = now()
    behind = _behind(rows.accounts, anchors)
    reasons = behind | dict(stopped)
    datasets = tuple(
        _dataset_health(known, rows, anchors, reasons.get(known.name, stopped.get("")), utc_time(time))
        for known in rows.accounts
    )
    gone = {name: why for name, why in stopped.items() if name and name not in rows.names}
    gone |= dict.fromkeys(rows.names - {known.name for known in rows.accounts}, faults.DAMAGED)
    problems = [
        *keys.problems(needs_key=needs_key),
        *([HealthProblem("rights", faults.TOO_MANY_RIGHTS)] if role.is_too_powerful and not role.is_owner else []),
        *(HealthProblem("stopped", why, name) for name, why in gone.items()),
        *(problem for each in datasets for problem in each.problems(oldest_anchor, most_spent)),
    ]
    if "" in stopped and not datasets:
        problems.append(HealthProblem("stopped", stopped[""]))
    return LedgerHealth(
        store=store,
        time=time,
        problems=tuple(problems),
        schema_version=rows.schema_version,
        is_behind=is_behind or bool(behind),
        datasets=datasets,
        keys=keys,
        is_owner=role.is_owner,
    )


def _behind(accounts: Iterable[Account], anchors: AnchorsByOrigin) -> dict[str, str]:
    """The datasets that end before an anchor that was read before them."""
    least = {known.name: max(_sequences(known.name, anchors), default=0) for known in accounts}
    return {known.name: faults.BEHIND for known in accounts if known.sequence < least[known.name]}


def _sequences(name: str, anchors: AnchorsByOrigin) -> list[int]:
    return [by_name[name].sequence for by_name in anchors.values() if name in by_name]


def _dataset_health(
    account: Account,
    rows: HealthRows,
    anchors: AnchorsByOrigin,
    stopped: str | None,
    time: datetime,
) -> DatasetHealth:
    found = {origin: by_name[account.name] for origin, by_name in anchors.items() if account.name in by_name}
    return DatasetHealth(
        dataset=account.name,
        budget=account.budget,
        spent=account.spent,
        events=account.sequence,
        stopped=stopped,
        anchors={origin: _age_of(anchor, account, time) for origin, anchor in found.items()},
        unanswered=rows.expired.get(account.name, 0),
        near_limit=tuple(each for each in rows.near_limit if each.dataset == account.name),
    )


def _age_of(anchor: AnchoredEvent, account: Account, time: datetime) -> AnchorAge:
    seconds = max(0.0, round((time - utc_time(anchor.time)).total_seconds(), 3))  # clocks of machines differ
    return AnchorAge(seconds, max(0, account.sequence - anchor.sequence))


def _urgency(each: DatasetHealth) -> tuple[bool, Fraction]:
    share = each.share
    return each.stopped is not None, Fraction(2) if share is None else share


def _age(seconds: float) -> str:
    """An age in its largest whole unit."""
    size, unit = next(((size, unit) for size, unit in _UNITS if seconds >= size), (1, "s"))
    return f"{int(seconds // size)} {unit}"


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _more(hidden: int, nouns: str) -> str:
    return f"... {hidden:,} more {nouns}: --json and to_dict() have all" if hidden > 0 else ""
