"""Burn-down of a privacy budget: what was spent by the end of each period, against the cap that was in force then.

Periods are hours, days, weeks, months or years of UTC, the shortest of which there are few enough to read. Periods
without a charge are listed too, so that the lines of the chart are evenly spaced in time.
"""

import copy
import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from typing import Any

from discreet.accounting.costs import NOTHING
from discreet.accounting.filters import Budget
from discreet.errors import LedgerError
from discreet.ledger.records import faults
from discreet.ledger.records.chain import Kind
from discreet.ledger.records.history import Entry
from discreet.ledger.records.registration import budget_of
from discreet.ledger.reporting.spending import SpendingCounter, SpendingTotal, plain, plain_up, text_up
from discreet.ledger.reporting.tables import TextTable

MOST_PERIODS = 24
WIDTH = 30
_USED, _LEFT = "█", "░"
_STEPS = {"hour": timedelta(hours=1), "day": timedelta(days=1), "week": timedelta(days=7), "month": timedelta(days=31)}
"""From the start of a period into the next one."""
_FORMS = {"hour": "%Y-%m-%d %H:00", "day": "%Y-%m-%d", "week": "%Y-%m-%d", "month": "%Y-%m", "year": "%Y"}


@dataclass(frozen=True)
class BurnDownPoint:
    """What was spent by the end of one period, and the budget in force then."""

    start: datetime
    spent: SpendingTotal
    budget: Budget

    @property
    def epsilon(self) -> Fraction | None:
        """What was spent, in the terms of the budget; None where it exceeds them."""
        return self.spent.of_promise(self.budget).epsilon

    @property
    def share(self) -> Fraction | None:
        """The used part of the budget; None where no cap holds."""
        return self.spent.share(self.budget)


@dataclass(frozen=True)
class BurnDown:
    """Points at the ends of equal periods, oldest first."""

    period: str
    points: tuple[BurnDownPoint, ...]

    def table(self) -> TextTable:
        """The chart: one line for each period, its bar rounded up."""
        rows = tuple(
            (
                self._name(point),
                bar(point.share, WIDTH),
                percent(point.share),
                text_up(point.epsilon),
                text_up(point.budget.epsilon),
            )
            for point in self.points
        )
        head = "week from" if self.period == "week" else self.period
        return TextTable((head, "spent by its end", "used", "epsilon", "cap"), rows, "<<>>>")

    def to_list(self) -> list[dict[str, Any]]:
        """The points as plain JSON: each number exact as text, and as a double on the safe side."""
        return [
            {
                "start": point.start.isoformat(),
                "epsilon": plain_up(point.epsilon),
                "share": plain_up(point.share),
                "cap": {"epsilon": plain(point.budget.epsilon), "delta": plain(point.budget.delta)},
            }
            for point in self.points
        ]

    def _name(self, point: BurnDownPoint) -> str:
        return point.start.strftime(_FORMS[self.period])


def burn_down(history: Sequence[Entry], budget: Budget, analyst: str | None = None) -> BurnDown:
    """The burn-down of a history; with an analyst, what that one spent of the budget of all.

    Args:
        history: All entries of a dataset, in the order of its chain.
        budget: The budget in force now.
        analyst: Name of the analyst. Default: all of them.

    Returns:
        The points; none where nothing was ever charged.
    """
    times = _running_times(history)
    if not any(entry.kind == Kind.RESERVED or entry.cost != NOTHING for entry in history):
        return BurnDown("day", ())
    period, starts = _periods(times[0], times[-1])
    replayed = _Replay(history, budget, analyst)
    points, place = [], 0
    for start, end in zip(starts, [*starts[1:], None], strict=True):
        while place < len(history) and (end is None or times[place] < end):
            replayed.add(place, history[place])
            place += 1
        points.append(BurnDownPoint(start, replayed.spending(), replayed.budget))
    return BurnDown(period, tuple(points))


def bar(share: Fraction | None, width: int) -> str:
    """A used part as a bar; any spending fills a cell, and the whole bar where no cap holds."""
    used = width if share is None else min(width, math.ceil(share * width))
    return _USED * used + _LEFT * (width - used)


def percent(share: Fraction | None) -> str:
    """A used part in percent, rounded up."""
    return "over" if share is None or share > 1 else f"{text_up(100 * share, 4)}%"


class _Replay:
    """Sums of a chain up to some entry: what was charged before the last change of the budget counts by its rho."""

    def __init__(self, history: Sequence[Entry], budget: Budget, analyst: str | None) -> None:
        self._caps = {place: entry for place, entry in enumerate(history) if entry.kind == Kind.CAPPED}
        changes = (place for place, entry in enumerate(history) if entry.kind in (Kind.CAPPED, Kind.RECOVERED))
        self._last = max(changes, default=-1)
        self._present, self._analyst = budget, analyst
        self._now, self._by_rho = SpendingCounter(), SpendingCounter()
        self.budget = _budget_in(next(iter(self._caps.values())), "old") if self._caps else budget

    def add(self, place: int, entry: Entry) -> None:
        """Count the entry at a place of the chain."""
        is_counted = entry.kind != Kind.CAPPED and self._analyst in (None, entry.analyst)
        if is_counted:
            self._by_rho.add(replace(entry, cost=entry.cost.at_any_order))
        if entry.kind in (Kind.CAPPED, Kind.RECOVERED):  # for everybody, also where it is another analyst's act
            self._now = copy.copy(self._by_rho)
        elif is_counted:
            self._now.add(entry)
        if entry.kind == Kind.CAPPED:
            self.budget = _budget_in(entry, "new")
        if place >= self._last:
            self.budget = self._present

    def spending(self) -> SpendingTotal:
        """What was counted so far."""
        return self._now.spending()


def _budget_in(entry: Entry, which: str) -> Budget:
    return budget_of(json.loads(entry.detail or "{}")[which]["budget"])


def _running_times(history: Sequence[Entry]) -> list[datetime]:
    """The times of entries, none before that of the one before it: the chain decides the order, not the clock."""
    times: list[datetime] = []
    for entry in history:
        moment = utc_time(entry.time)
        times.append(max(moment, times[-1]) if times else moment)
    return times


def utc_time(text: str) -> datetime:
    """The time of an entry or an anchor in UTC; one that was never written by a ledger means a damaged one."""
    try:
        moment = datetime.fromisoformat(text)
        return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except (TypeError, ValueError, OverflowError):
        raise LedgerError(faults.DAMAGED) from None


def _periods(first: datetime, last: datetime) -> tuple[str, list[datetime]]:
    """The shortest periods of which at most 24 cover a time, and the start of each; else the last 24 years."""
    for name in _STEPS:
        starts = [_start_of(name, first)]
        while len(starts) <= MOST_PERIODS:
            following = _next_start(name, starts[-1])
            if following > last:
                return name, starts
            starts.append(following)
    years = range(max(first.year, last.year - MOST_PERIODS + 1), last.year + 1)
    return "year", [datetime(year, 1, 1, tzinfo=UTC) for year in years]


def _start_of(name: str, moment: datetime) -> datetime:
    if name == "hour":
        return moment.replace(minute=0, second=0, microsecond=0)
    day = moment.replace(hour=0, minute=0, second=0, microsecond=0)
    if name == "week":
        return day - timedelta(days=day.weekday())
    return day.replace(day=1) if name == "month" else day


def _next_start(name: str, start: datetime) -> datetime:
    """The start of the next period; there is none after the last day of the calendar."""
    try:
        return _start_of(name, start + _STEPS[name])
    except OverflowError:
        return datetime.max.replace(tzinfo=UTC)
