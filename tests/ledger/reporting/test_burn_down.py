"""Burn-down: what was spent by the end of each period against the cap of that time, from hand-checked histories."""

import json
from dataclasses import replace
from datetime import date
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet import events
from discreet.accounting.costs import NOTHING
from discreet.accounting.filters import Budget
from discreet.errors import LedgerError
from discreet.ledger.records.chain import Kind, State
from discreet.ledger.records.history import Entry
from discreet.ledger.records.registration import budget_columns
from discreet.ledger.reporting.burn_down import MOST_PERIODS, bar, burn_down, percent, utc_time
from discreet.ledger.reporting.report import report

ONE, TWO = Budget(epsilon=1), Budget(epsilon=2)
MIXED = Budget(epsilon=1, delta=1e-7)


def entry(time: str, budget: Budget = ONE, **changes) -> Entry:
    """A charge of epsilon 1/4."""
    event = events.PureEvent(Fraction(1, 4))
    usual = {
        "sequence": 1,
        "time": time,
        "analyst": "ann",
        "kind": Kind.RESERVED,
        "version": 1,
        "cost": budget.cost(event),
        "question": "5f1d",
        "state": State.ANSWERED,
        "event": events.canonical(event),
        "detail": None,
    }
    return Entry(**usual | changes)


def registered(time: str) -> Entry:
    return entry(time, kind=Kind.REGISTERED, cost=NOTHING, analyst=None, state=None)


def capped(time: str, old: Budget, new: Budget) -> Entry:
    detail = json.dumps({"old": {"budget": budget_columns(old)}, "new": {"budget": budget_columns(new)}})
    return entry(time, kind=Kind.CAPPED, cost=NOTHING, analyst=None, state=None, detail=detail)


def test_days_without_a_charge_are_points_too_and_each_has_the_cap_of_its_time():
    history = [
        registered("2026-07-01T10:00:00+00:00"),
        entry("2026-07-01T11:00:00+00:00"),
        entry("2026-07-03T11:00:00+00:00"),
        capped("2026-07-04T09:00:00+00:00", ONE, TWO),
        entry("2026-07-04T10:00:00+00:00"),
    ]
    found = burn_down(history, TWO)
    assert found.period == "day"
    assert [point.start.day for point in found.points] == [1, 2, 3, 4]
    assert [point.epsilon for point in found.points] == [Fraction(k, 4) for k in (1, 1, 2, 3)]
    assert [point.budget.epsilon for point in found.points] == [1, 1, 1, 2]
    assert [point.share for point in found.points] == [Fraction(1, 4), Fraction(1, 4), Fraction(1, 2), Fraction(3, 8)]


def test_the_points_as_plain_json_are_exact():
    (point,) = burn_down([entry("2026-07-01T11:20:00+00:00")], ONE).to_list()
    assert point["start"] == "2026-07-01T11:00:00+00:00"
    assert point["epsilon"] == point["share"] == {"exact": "1/4", "float": 0.25}
    assert point["cap"]["epsilon"]["exact"] == "1/1"


@pytest.mark.parametrize(
    ("last", "period", "points"),
    [
        ("2026-07-01T12:00:00+00:00", "hour", 3),
        ("2026-07-20T10:00:00+00:00", "day", 20),
        ("2026-09-01T10:00:00+00:00", "week", 10),
        ("2027-07-01T10:00:00+00:00", "month", 13),
        ("2036-07-01T10:00:00+00:00", "year", 11),
        ("2626-07-01T10:00:00+00:00", "year", 24),
        ("9999-12-31T23:59:59+00:00", "year", 24),
    ],
)
def test_the_shortest_periods_are_taken_of_which_there_are_few(last, period, points):
    found = burn_down([entry("2026-07-01T10:30:00+00:00"), entry(last)], ONE)
    assert (found.period, len(found.points)) == (period, points)
    assert found.points[-1].epsilon == Fraction(1, 2)
    assert max(map(len, found.table().text().splitlines())) <= 80


def test_what_one_analyst_spent_is_against_the_budget_of_all():
    history = [entry("2026-07-01T10:00:00+00:00"), entry("2026-07-01T10:00:00+00:00", analyst="bob")]
    (point,) = burn_down(history, ONE, "bob").points
    assert point.share == Fraction(1, 4)


def test_a_clock_that_went_back_moves_no_charge_before_an_earlier_one():
    history = [entry("2026-07-05T10:00:00+00:00"), entry("2026-07-01T10:00:00+00:00")]
    (point,) = burn_down(history, ONE).points
    assert point.epsilon == Fraction(1, 2)


def test_nothing_charged_is_no_chart():
    assert burn_down([], ONE).points == ()
    assert burn_down([registered("2026-07-01T10:00:00+00:00")], ONE).points == ()
    assert "spent by its end" not in str(report("visits", ONE, [registered("2026-07-01T10:00:00+00:00")]))


kinds = st.sampled_from(["charge", "cap", "recovery"])


people = st.sampled_from(["ann", "bob"])
moments = st.dates(date(2020, 1, 1), date(2030, 1, 1))


@given(st.lists(st.tuples(kinds, moments, people), max_size=12), st.sampled_from([None, "ann", "bob"]))
def test_the_last_point_is_the_total_of_the_report_under_any_changes_of_the_budget(steps, analyst):
    history = [registered("2020-01-01T00:00:00+00:00")]
    for kind, moment, person in steps:
        time = f"{moment.isoformat()}T12:00:00+00:00"
        charge = entry(time, MIXED, analyst=person)
        changed = replace(charge, kind=Kind.RECOVERED, state=None, event=None)
        history.append({"charge": charge, "cap": capped(time, MIXED, MIXED), "recovery": changed}[kind])
    made = report("visits", MIXED, history, analyst=analyst)
    points = made.burn_down.points
    assert len(points) <= MOST_PERIODS
    if made.days:
        assert points[-1].spent.cost == made.days[-1].total.cost
        assert points[-1].budget == MIXED
        assert [p.start for p in points] == sorted(p.start for p in points)


def test_any_spending_fills_a_cell_and_more_than_there_is_fills_the_bar():
    assert bar(Fraction(1, 10**9), 5) == "█░░░░"
    assert bar(Fraction(0), 5) == "░░░░░"
    assert bar(Fraction(7), 5) == bar(None, 5) == "█████"
    assert (percent(Fraction(1, 3)), percent(Fraction(2)), percent(None)) == ("33.34%", "over", "over")


def test_a_time_that_no_ledger_wrote_means_damage():
    with pytest.raises(LedgerError):
        utc_time("yesterday")
