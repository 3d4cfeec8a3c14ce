"""What was spent of a privacy budget and what is left: by accountant, analyst, version and day.

A report is a value made from a history (`ledger.history(name)`) and a budget; it opens nothing. The cap is over all
analysts, so what is left is for all of them together, also in the report of one analyst. Days are those of UTC, by the
times that were recorded; the order of the chain decides nothing else here, since sums have no order.
"""

import itertools
import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date
from fractions import Fraction
from typing import TYPE_CHECKING, Any, TypeVar

import pyarrow as pa

from discreet import plots
from discreet.accounting.costs import DELTA_UNITS, EPSILON_UNITS, NOTHING, RHO_UNITS
from discreet.accounting.filters import Budget
from discreet.errors import ParameterError, short_traceback
from discreet.exact.numbers import Number, probability
from discreet.exact.rounding import double_up
from discreet.ledger.records.chain import Kind
from discreet.ledger.records.history import Entry
from discreet.ledger.reporting.batch import NOT_FIXED, BatchTotal, batch
from discreet.ledger.reporting.burn_down import BurnDown, bar, burn_down, percent, utc_time
from discreet.ledger.reporting.spending import (
    AtDelta,
    Left,
    SpendingCounter,
    SpendingTotal,
    left_of,
    plain,
    plain_down,
    plain_up,
    promised_at,
    text_down,
    text_up,
)
from discreet.ledger.reporting.tables import TextTable, html_page, text_page

if TYPE_CHECKING:
    from matplotlib.figure import Figure

K = TypeVar("K")

DELTAS: tuple[Number, ...] = (1e-6, 1e-9, 1e-12)
SCHEMA = "discreet.report/1"
MOST_SHOWN = 10
FEW_DIGITS = 4
MOST_BARS = 62
MOST_CELLS = 40
_ASKED = (Kind.RESERVED, Kind.REJECTED)
_BUDGET_EVENTS = (Kind.CAPPED, Kind.RECOVERED)
_NOBODY = "(recovered)"
_PERIODS = (("day", 10), ("month", 7), ("year", 4))

_ROUNDING = "What is spent is rounded up, what is left is rounded down."
_CAPS = (
    "A query is admitted by the cap on epsilons or by that on Renyi divergences, whichever holds, and by that on own "
    "deltas. Divergences are at the order of the budget, divided by it: those of Gaussian noise are its rho. "
    "'Of budget' is an epsilon in the budget's own terms."
)
_AS_ONE_GOES = (
    "For adaptive analysts the epsilon under 'cap' holds, at each delta; 'spent' is the guarantee of a budget fixed "
    "in advance at this total."
)
_CHANGED = (
    "The budget was changed after the first charge, {times}: the guarantee over all budgets is the largest of their "
    "epsilons with the sum of their deltas, not the column 'cap'."
)
_OTHERS = "{count} recorded, which no privacy budget covers: see the history. Every later release lists them."
_RECOVERED = (
    "The ledger was recovered, {times}: lost charges count by the most that any evidence shows, and the budget may "
    "have been changed in it."
)


@dataclass(frozen=True)
class Day:
    """What was spent on one day (UTC), and up to its end."""

    day: date
    spent: SpendingTotal
    total: SpendingTotal


@dataclass(frozen=True, kw_only=True)
class SpendingReport:
    """A privacy budget, what was spent of it and what is left. Print it, or read its parts.

    Attributes:
        dataset: Name of the dataset.
        budget: The privacy budget.
        analyst: The analyst of `spent`, or None for all.
        deltas: Deltas at which epsilon is stated.
        spent: What the analyst, or all, spent.
        total: What all analysts spent.
        left: What is left, over all analysts.
        analysts: What was spent, by analyst.
        versions: What was spent, by version of the dataset.
        days: What was spent, by day in UTC.
        batch: The same by privacy loss distributions, if all queries were fixed in advance.
        changes: Number of changes of the budget after the first charge.
        recoveries: Number of recoveries.
        burn_down: What was spent by the end of each period.
        other_releases: Number of releases that were recorded and not charged.
    """

    dataset: str
    budget: Budget
    analyst: str | None
    deltas: tuple[Fraction, ...]
    spent: SpendingTotal
    total: SpendingTotal
    left: Left
    analysts: dict[str | None, SpendingTotal]
    versions: dict[int, SpendingTotal]
    days: tuple[Day, ...]
    batch: BatchTotal
    changes: int
    recoveries: int
    burn_down: BurnDown
    other_releases: int = 0

    @property
    def epsilons(self) -> tuple[AtDelta, ...]:
        """What was spent at each delta, by the sum of epsilons, by rho or by Renyi, whichever is smallest."""
        return tuple(self.spent.at(delta, self.budget.order) for delta in self.deltas)

    @property
    def of_promise(self) -> AtDelta:
        """What was spent in the privacy budget's own terms."""
        return self.spent.of_promise(self.budget)

    def __str__(self) -> str:
        return text_page(self._title(), self._tables(), self._notes())

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return html_page(self._title(), self._tables(), self._notes())

    def to_dict(self) -> dict[str, Any]:
        """The report as plain JSON: each number exact as text, and as a double on the safe side."""
        return {
            "schema": SCHEMA,
            "dataset": self.dataset,
            "analyst": self.analyst,
            "promise": _plain_promise(self.budget, self.deltas),
            "promise_changes": self.changes,
            "recoveries": self.recoveries,
            "other_releases": self.other_releases,
            "spent": _plain_spending(self.spent, self.budget, self.deltas),
            "total": _plain_spending(self.total, self.budget, self.deltas),
            "left": {name: plain_down(value) for name, value in vars(self.left).items()},
            "batch": {"note": self.batch.note, "epsilons": [_plain_at(found) for found in self.batch.figures]},
            "analysts": [
                {"analyst": name, **_plain_spending(part, self.budget, self.deltas)}
                for name, part in self.analysts.items()
            ],
            "versions": [
                {"version": version, **_plain_spending(part, self.budget, self.deltas)}
                for version, part in self.versions.items()
            ],
            "days": [
                {"day": day.day.isoformat()}
                | {"spent": _plain_spending(day.spent, self.budget), "total": _plain_spending(day.total, self.budget)}
                for day in self.days
            ],
            "burn_down": {"period": self.burn_down.period, "points": self.burn_down.to_list()},
        }

    def plot(self) -> "Figure":
        """The part of the cap that was used by the end of each day, or of each month or year where there are many."""
        whose = "" if self.analyst is None else f" by {self.analyst!r}"
        period, ends = _periods(self.days)
        return _bars(
            [(end, total.share(self.budget)) for end, total in ends.items()] or [("nothing yet", Fraction(0))],
            title=f"{self.dataset}: used{whose} by the end of each {period}",
            measure=f"percent of the privacy budget of {self.budget}",
        )

    def _title(self) -> str:
        whose = "" if self.analyst is None else f" by {self.analyst!r}"
        epsilon = self.of_promise.epsilon
        much, of = ("more", "than") if epsilon is None else (f"epsilon {text_up(epsilon)}", "of")
        return f"{self.dataset}: {much} spent{whose} {of} the privacy budget of {self.budget}"

    def _tables(self) -> list[TextTable]:
        chart = [self.burn_down.table()] if self.burn_down.points else []
        tables = [self._facts(), *chart, self._terms()]
        if self.analysts and self.analyst is None:
            heaviest = sorted(self.analysts.items(), key=lambda item: (-item[1].cost.rho, item[0] or ""))
            tables.append(self._shares("analyst", [(name or _NOBODY, part) for name, part in heaviest]))
        if len(self.versions) > 1:
            newest = sorted(self.versions.items(), reverse=True)
            tables.append(self._shares("version", [(str(version), part) for version, part in newest]))
        return [*tables, *([self._over_time()] if self.days else [])]

    def _facts(self) -> TextTable:
        kinds = {"Laplace": self.left.laplace, "Gaussian": self.left.gaussian}
        left = " or ".join(f"{kind} epsilon {text_down(value)}" for kind, value in kinds.items() if value)
        part = self.spent
        queries = "query" if part.questions == 1 else "queries"
        asked = f"{part.questions:,} {queries}, {part.failures:,} failed, {part.rejections:,} rejected"
        share = self.spent.share(self.budget)
        used = "more than there is" if share is None or share > 1 else f"{text_up(100 * share, FEW_DIGITS)}%"
        rows = [
            ("used", f"{used} of the privacy budget"),
            ("left", f"{left or 'nothing'}, over all analysts"),
            ("asked", asked),
        ]
        if self.days:
            rows.append(("days", f"{self.days[0].day} to {self.days[-1].day}, UTC"))
        return TextTable((), tuple(rows), "<<")

    def _terms(self) -> TextTable:
        spent, caps, left = self.spent, self.budget.caps(), self.left
        epsilon, rho, delta = _ratios(caps.epsilon, caps.rho, caps.delta)
        pure = "pure" if spent.pure is not None else "outside own deltas" if spent.epsilon is not None else ""
        rows = [
            ("epsilons, summed", text_up(spent.epsilon), text_up(epsilon), text_down(left.epsilon), pure),
            ("rhos, summed", text_up(spent.rho), "", "", "zCDP"),
        ]
        if self.budget.order is not None:
            order = f"order {text_up(self.budget.order, FEW_DIGITS)}"
            rows.append(("Renyi, summed", text_up(spent.renyi), text_up(rho), text_down(left.rho), order))
        rows.append(("own deltas", text_up(spent.delta), text_up(delta), text_down(left.delta), ""))
        rows += [_row(found, promised_at(self.budget, found.delta)) for found in self.epsilons]
        rows += [_row(found, None) for found in self.batch.figures]
        return TextTable(("terms", "spent", "cap", "left", "by"), tuple(rows), "<>>><")

    def _shares(self, what: str, parts: list[tuple[str, SpendingTotal]]) -> TextTable:
        rows = tuple(
            (name, f"{part.questions:,}", f"{part.failures:,}", text_up(part.epsilon), *self._amounts(part))
            for name, part in parts[:MOST_SHOWN]
        )
        hidden = len(parts) - MOST_SHOWN
        more = f"... {hidden:,} more: report.{what}s has all" if hidden > 0 else ""
        return TextTable((what, "queries", "failed", "epsilons", "rhos", "of budget"), rows, "<>>>>>", more)

    def _over_time(self) -> TextTable:
        rows = tuple(
            (str(day.day), f"{part.questions:,}", f"{part.failures:,}", text_up(part.rho), *self._amounts(day.total))
            for day, part in ((day, day.spent) for day in self.days[-MOST_SHOWN:])
        )
        hidden = len(self.days) - MOST_SHOWN
        more = f"... {hidden:,} earlier: report.days has all" if hidden > 0 else ""
        return TextTable(("day", "queries", "failed", "rho", "rho so far", "of budget so far"), rows, "<>>>>>", more)

    def _amounts(self, part: SpendingTotal) -> tuple[str, str]:
        return text_up(part.rho), text_up(part.of_promise(self.budget).epsilon)

    def _notes(self) -> list[str]:
        holds = _CHANGED.format(times=_times(self.changes)) if self.changes else _AS_ONE_GOES
        notes = [_ROUNDING, _CAPS, holds, f"{self.batch.note}."]
        if self.recoveries:
            notes.append(_RECOVERED.format(times=_times(self.recoveries)))
        if self.other_releases:
            are = "other release is" if self.other_releases == 1 else "other releases are"
            notes.append(_OTHERS.format(count=f"{self.other_releases:,} {are}"))
        notes += [f"No epsilon at {text_up(f.delta)}: {f.by}." for f in self.epsilons if f.epsilon is None]
        notes += [f"No PLD at {text_up(f.delta)}: {f.by}." for f in self.batch.figures if f.epsilon is None]
        if self.spent.epsilon is None:
            notes.append("No pure epsilon: some charge has no finite one, as under Gaussian noise.")
        if self.spent.delta:
            notes.append(f"Deltas of the charges' own, {text_up(self.spent.delta)} in all, are part of each delta.")
        return notes


@dataclass(frozen=True)
class Overview:
    """Several datasets, one line for each."""

    reports: tuple[SpendingReport, ...]

    def __init__(self, reports: Iterable[SpendingReport]) -> None:
        object.__setattr__(self, "reports", tuple(reports))

    def __str__(self) -> str:
        return text_page(self._title(), self._tables(), self._notes())

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return html_page(self._title(), self._tables(), self._notes())

    def to_dict(self) -> dict[str, Any]:
        """The reports as plain JSON."""
        return {"schema": "discreet.overview/1", "datasets": [report.to_dict() for report in self.reports]}

    def plot(self) -> "Figure":
        """The part of each privacy budget that is used."""
        shares = [(report.dataset, report.spent.share(report.budget)) for report in self.reports]
        return _bars(shares, title="privacy budgets", measure="percent of each privacy budget")

    def _title(self) -> str:
        return f"{len(self.reports):,} dataset{'' if len(self.reports) == 1 else 's'}"

    def _tables(self) -> list[TextTable]:
        head = ("dataset", "epsilon", "delta", "spent", "Laplace", "Gaussian", "asked", "failed")
        lines = TextTable(head, tuple(_line(report) for report in self.reports), "<>>>>>>>")
        shares = [(report.dataset, report.total.share(report.budget)) for report in self.reports]
        bars = tuple((name, bar(share, MOST_CELLS), percent(share)) for name, share in shares)
        return [lines, *([TextTable(("dataset", "", "used"), bars, "<<>")] if bars else [])]

    def _notes(self) -> list[str]:
        return [
            "Spent is in the terms of each budget; Laplace and Gaussian are what one more query may ask for.",
            _ROUNDING,
            "Each dataset has its own privacy budget; budgets about the same people add up.",
        ]


@short_traceback
def report(
    name: str,
    budget: Budget,
    entries: Iterable[Entry],
    *,
    analyst: str | None = None,
    deltas: Sequence[Number] = DELTAS,
    fixed_in_advance: bool = False,
) -> SpendingReport:
    """A history and a budget in the terms of every accountant; with an analyst, what that one spent.

    `fixed_in_advance` is a statement of the caller, that every query was chosen before the first answer was seen;
    only then are loss distributions (PLD) composed.
    """
    if not isinstance(fixed_in_advance, bool):
        raise _no_statement(fixed_in_advance)
    if not isinstance(deltas, Iterable):
        raise _one_delta(deltas)
    asked = tuple(probability(delta, "a delta of deltas") for delta in deltas)
    history = list(entries)
    charges = [entry for entry in history if entry.kind in _ASKED or entry.cost != NOTHING]
    parts = [entry for entry in _at_present_order(history) if entry.kind in _ASKED or entry.cost != NOTHING]
    chosen = parts if analyst is None else [entry for entry in parts if entry.analyst == analyst]
    total = _sum(charges)
    spent = total if analyst is None else _sum(chosen)
    known = tuple(spent.at(delta, budget.order) for delta in asked)
    return SpendingReport(
        dataset=name,
        budget=budget,
        analyst=analyst,
        deltas=asked,
        spent=spent,
        total=total,
        left=left_of(budget, total.cost),
        analysts=_by(chosen, lambda entry: entry.analyst),
        versions=_by(chosen, lambda entry: entry.version),
        days=_by_day(chosen),
        batch=batch(chosen, known) if fixed_in_advance else BatchTotal((), NOT_FIXED),
        changes=_changes(history),
        recoveries=sum(entry.kind == Kind.RECOVERED for entry in history),
        burn_down=burn_down(history, budget, analyst),
        other_releases=sum(entry.kind == Kind.PUBLISHED for entry in history),
    )


def _at_present_order(history: list[Entry]) -> Iterator[Entry]:
    """A history as its parts count: by rho what was charged under another order of the Renyi filter."""
    last = max((place for place, entry in enumerate(history) if entry.kind in _BUDGET_EVENTS), default=-1)
    for place, entry in enumerate(history):
        if entry.kind != Kind.CAPPED:
            yield entry if place > last else replace(entry, cost=entry.cost.at_any_order)


def _sum(entries: list[Entry]) -> SpendingTotal:
    counter = SpendingCounter()
    for entry in entries:
        counter.add(entry)
    return counter.spending()


def _by(entries: list[Entry], key: Callable[[Entry], K]) -> dict[K, SpendingTotal]:
    """What was spent under each value of a key, in the order in which they first appear."""
    counters: defaultdict[K, SpendingCounter] = defaultdict(SpendingCounter)
    for entry in entries:
        counters[key(entry)].add(entry)
    return {value: counter.spending() for value, counter in counters.items()}


def _by_day(entries: list[Entry]) -> tuple[Day, ...]:
    parts = sorted(_by(entries, _day).items())
    totals = itertools.accumulate((part for _, part in parts), _add_spending)
    return tuple(Day(day, part, total) for (day, part), total in zip(parts, totals, strict=True))


def _add_spending(one: SpendingTotal, other: SpendingTotal) -> SpendingTotal:
    return SpendingTotal(
        cost=one.cost + other.cost,
        questions=one.questions + other.questions,
        failures=one.failures + other.failures,
        rejections=one.rejections + other.rejections,
    )


def _day(entry: Entry) -> date:
    """The day in UTC."""
    return utc_time(entry.time).date()


def _changes(history: list[Entry]) -> int:
    """How many other budgets were set after the first charge."""
    since = itertools.dropwhile(lambda entry: entry.cost == NOTHING, history)
    details = [json.loads(entry.detail or "{}") for entry in since if entry.kind == Kind.CAPPED]
    return sum(detail["old"]["budget"] != detail["new"]["budget"] for detail in details)


def _periods(days: tuple[Day, ...]) -> tuple[str, dict[str, SpendingTotal]]:
    """What was spent by the end of each day, or of each month or year where bars would be too many to read."""
    choices = [(name, {day.day.isoformat()[:length]: day.total for day in days}) for name, length in _PERIODS]
    return next((choice for choice in choices if len(choice[1]) <= MOST_BARS), choices[-1])


def _bars(shares: list[tuple[str, Fraction | None]], *, title: str, measure: str) -> "Figure":
    """Used and remaining in percent; all is used where no cap holds."""
    used = [100.0 if share is None else double_up(100 * share) for _, share in shares]
    table = pa.table({"name": [name for name, _ in shares], "used": used, "left": [100.0 - part for part in used]})
    return plots.budget_bars(table, label="name", spent="used", remaining="left", title=title, measure=measure)


def _line(report: SpendingReport) -> tuple[str, ...]:
    budget, left = report.budget, report.left
    return (
        report.dataset,
        text_up(budget.epsilon, FEW_DIGITS),
        text_up(budget.delta, FEW_DIGITS),
        text_up(report.of_promise.epsilon, FEW_DIGITS),
        text_down(left.laplace, FEW_DIGITS),
        text_down(left.gaussian, FEW_DIGITS),
        f"{report.spent.questions:,}",
        f"{report.spent.failures:,}",
    )


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count:,} times"


def _row(found: AtDelta, cap: Fraction | None) -> tuple[str, str, str, str, str]:
    by = "" if found.epsilon is None else found.by
    return f"epsilon at {text_up(found.delta)}", text_up(found.epsilon), text_up(cap), "", by


def _ratios(epsilon: int, rho: int, delta: int) -> tuple[Fraction, Fraction, Fraction]:
    return Fraction(epsilon, EPSILON_UNITS), Fraction(rho, RHO_UNITS), Fraction(delta, DELTA_UNITS)


def _plain_promise(budget: Budget, deltas: tuple[Fraction, ...]) -> dict[str, Any]:
    return {
        "epsilon": plain(budget.epsilon),
        "delta": plain(budget.delta),
        "reserved_delta": plain(budget.reserve),
        "rho": plain_up(Fraction(budget.caps().rho, RHO_UNITS)),
        "order": plain_up(budget.order),
        "epsilons": [{"delta": plain(delta), "epsilon": plain_up(promised_at(budget, delta))} for delta in deltas],
    }


def _plain_spending(spent: SpendingTotal, budget: Budget, deltas: tuple[Fraction, ...] = ()) -> dict[str, Any]:
    return {
        "questions": spent.questions,
        "failures": spent.failures,
        "rejections": spent.rejections,
        "pure_epsilon": plain_up(spent.pure),
        "sum_of_epsilons": plain_up(spent.epsilon),
        "rho": plain_up(spent.rho),
        "renyi": plain_up(spent.renyi),
        "own_delta": plain_up(spent.delta),
        "share": plain_up(spent.share(budget)),
        "of_promise": _plain_at(spent.of_promise(budget)),
        "epsilons": [_plain_at(spent.at(delta, budget.order)) for delta in deltas],
    }


def _plain_at(found: AtDelta) -> dict[str, Any]:
    return {"delta": plain(found.delta), "epsilon": plain_up(found.epsilon), "by": found.by}


def _no_statement(value: object) -> ParameterError:
    return ParameterError(
        f"fixed_in_advance={value!r}",
        because="it is True or False",
        instead="fixed_in_advance=True where every query was chosen before the first answer was seen, else False",
    )


def _one_delta(value: object) -> ParameterError:
    return ParameterError(
        f"deltas={value!r}", because="a report is made at several deltas", instead=f"deltas=({value!r},)"
    )
