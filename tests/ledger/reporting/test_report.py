"""Reports: hand-checked sums, the same totals however they are cut, and text that fits a terminal."""

import json
from dataclasses import replace
from fractions import Fraction
from html.parser import HTMLParser

import pytest
from dp_accounting import dp_event
from dp_accounting.pld import PLDAccountant
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet import events
from discreet.accounting.costs import EPSILON_UNITS, NOTHING, Cost, cost
from discreet.accounting.filters import Budget
from discreet.errors import LedgerError, ParameterError
from discreet.ledger.records.chain import Kind, State
from discreet.ledger.records.history import Entry
from discreet.ledger.records.registration import budget_columns
from discreet.ledger.reporting.report import Overview, SpendingReport, report
from loops import times_as_long

TENTH = events.PureEvent(Fraction(1, 10))
GAUSSIAN = events.DiscreteGaussianEvent(Fraction(400), Fraction(1))
PURE = Budget(epsilon=1)
BOTH = Budget(epsilon=2, delta=1e-9, reserved_delta=0)


def entry(event: events.Event | None = None, /, **changes) -> Entry:
    usual = {
        "sequence": 1,
        "time": "2026-07-01T10:00:00.000000+00:00",
        "analyst": "ann",
        "kind": Kind.RESERVED,
        "version": 1,
        "cost": NOTHING if event is None else cost(event),
        "question": "5f1d",
        "state": State.ANSWERED,
        "event": None if event is None else events.canonical(event),
        "detail": None,
    }
    return Entry(**usual | changes)


def rejected(**changes) -> Entry:
    return entry(**{"kind": Kind.REJECTED, "state": State.REJECTED, "event": events.canonical(TENTH)} | changes)


CHANGE = json.dumps({when: {"budget": budget_columns(Budget(epsilon=e))} for when, e in (("old", 1), ("new", 2))})
REGISTERED = entry(kind=Kind.REGISTERED, analyst=None, question=None, state=None)
HISTORY = [
    REGISTERED,
    entry(TENTH),
    entry(TENTH, analyst="bob", state=State.FORFEITED, time="2026-07-02T00:00:00.000000+00:00"),
    entry(events.PureEvent(Fraction(3, 20)), version=2, time="2026-07-02T23:59:59.999999+00:00"),
    rejected(analyst="bob", version=2, time="2026-07-03T08:00:00.000000+00:00"),
]

TEXT = """\
visits: epsilon 0.35 spent of the privacy budget of epsilon 1

  used   35% of the privacy budget
  left   Laplace epsilon 0.65, over all analysts
  asked  3 queries, 1 failed, 1 rejected
  days   2026-07-01 to 2026-07-03, UTC

  day         spent by its end                used  epsilon  cap
  2026-07-01  ███░░░░░░░░░░░░░░░░░░░░░░░░░░░   10%      0.1    1
  2026-07-02  ███████████░░░░░░░░░░░░░░░░░░░   35%     0.35    1
  2026-07-03  ███████████░░░░░░░░░░░░░░░░░░░   35%     0.35    1

  terms               spent  cap  left  by
  epsilons, summed     0.35    1  0.65  pure
  rhos, summed      0.02125             zCDP
  own deltas              0    0     0
  epsilon at 1e-06     0.35    1        sum of epsilons

  analyst  queries  failed  epsilons     rhos  of budget
  ann            2       0      0.25  0.01625       0.25
  bob            1       1       0.1    0.005        0.1

  version  queries  failed  epsilons     rhos  of budget
  2              1       0      0.15  0.01125       0.15
  1              2       1       0.2     0.01        0.2

  day         queries  failed      rho  rho so far  of budget so far
  2026-07-01        1       0    0.005       0.005               0.1
  2026-07-02        2       1  0.01625     0.02125              0.35
  2026-07-03        0       0        0     0.02125              0.35

"""

charges = st.lists(
    st.builds(
        entry,
        st.one_of(
            st.builds(events.PureEvent, st.fractions(Fraction(1, 100), 1, max_denominator=10**4)),
            st.builds(events.DiscreteGaussianEvent, st.fractions(10, 10**4, max_denominator=7), st.just(Fraction(3))),
            st.builds(events.ApproximateEvent, st.just(Fraction(1, 7)), st.just(Fraction(1, 10**10))),
        ),
        analyst=st.sampled_from(["ann", "bob", "eve"]),
        version=st.integers(1, 3),
        state=st.sampled_from([State.RESERVED, State.ANSWERED, State.FORFEITED]),
        time=st.dates().map(lambda day: f"{day}T12:00:00+00:00"),
    ),
    max_size=8,
)


class Words(HTMLParser):
    """The tags and texts of a page."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.texts: list[str] = []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag, _):
        self.tags.append(tag)

    def handle_data(self, data):
        self.texts.append(data)


def test_three_laplace_answers_by_hand():
    """0.1 + 0.1 + 0.15 of epsilon; 0.005 + 0.005 + 0.01125 of rho; 0.65 of 1 is left, for Laplace noise only."""
    made = report("visits", PURE, HISTORY)
    assert made.spent.pure == Fraction(35, 100)
    assert made.spent.rho == Fraction(2125, 10**5)
    assert made.spent.delta == 0
    assert [(found.epsilon, found.by) for found in made.epsilons] == [(Fraction(35, 100), "sum of epsilons")] * 3
    assert made.of_promise.epsilon == Fraction(35, 100)
    assert (made.left.laplace, made.left.gaussian) == (Fraction(65, 100), 0)
    assert (made.spent.questions, made.spent.failures, made.spent.rejections) == (3, 1, 1)


def test_analysts_versions_and_days_by_hand():
    made = report("visits", PURE, HISTORY)
    told = {name: (part.pure, part.questions, part.failures, part.rejections) for name, part in made.analysts.items()}
    assert told == {"ann": (Fraction(1, 4), 2, 0, 0), "bob": (Fraction(1, 10), 1, 1, 1)}
    assert {version: part.pure for version, part in made.versions.items()} == {1: Fraction(1, 5), 2: Fraction(3, 20)}
    days = [(str(day.day), day.spent.pure, day.total.pure, day.spent.questions) for day in made.days]
    assert days == [
        ("2026-07-01", Fraction(1, 10), Fraction(1, 10), 1),
        ("2026-07-02", Fraction(1, 4), Fraction(35, 100), 2),
        ("2026-07-03", 0, Fraction(35, 100), 0),
    ]


def test_gaussian_answers_by_hand():
    """rho is 1/800 for each; eighty make 0.1, and what is left of the cap on rho is the rest."""
    made = report("visits", BOTH, [entry(GAUSSIAN)] * 40)
    assert made.spent.pure is None
    assert made.spent.rho == Fraction(5, 100)
    assert {found.by for found in made.epsilons} == {"zCDP"}
    assert made.of_promise == made.epsilons[1]
    assert made.left.rho == BOTH.rho(2) - Fraction(5, 100)
    assert made.left.gaussian == BOTH.gaussian_left(made.total.cost)


def test_dp_accounting_is_never_above_what_is_spent_and_agrees_where_the_history_was_fixed():
    """Theirs is the continuous law, which at sigma 20 differs from the discrete one by parts in ten thousand."""
    accountant = PLDAccountant(value_discretization_interval=1e-4).compose(dp_event.GaussianDpEvent(20.0), 40)
    made = report("visits", BOTH, [entry(GAUSSIAN)] * 40, deltas=(1e-6, 1e-9), fixed_in_advance=True)
    for summed, fixed in zip(made.epsilons, made.batch.figures, strict=True):
        theirs = accountant.get_epsilon(float(fixed.delta))
        assert fixed.by == "PLD"
        assert float(fixed.epsilon) == pytest.approx(theirs, rel=1e-3)
        assert theirs < float(summed.epsilon) < 1.2 * theirs


@pytest.mark.pitfall("B2")
def test_loss_distributions_are_shown_only_where_the_caller_states_that_the_history_was_fixed():
    made = report("visits", BOTH, [entry(GAUSSIAN)])
    assert made.batch.figures == ()
    assert "not for analysts who choose as they go" in made.batch.note
    assert "PLD is not shown" in str(made)
    stated = report("visits", BOTH, [entry(GAUSSIAN)], fixed_in_advance=True)
    assert "the caller states that every query was fixed" in " ".join(str(stated).split())
    for vague in ("no", 1, None):
        with pytest.raises(ParameterError, match="fixed_in_advance"):
            report("visits", BOTH, [entry(GAUSSIAN)], fixed_in_advance=vague)


@pytest.mark.pitfall("B1")
def test_a_report_about_one_analyst_leaves_what_all_of_them_left():
    made = report("visits", PURE, HISTORY, analyst="bob")
    assert (made.spent.pure, made.total.pure) == (Fraction(1, 10), Fraction(35, 100))
    assert made.left == report("visits", PURE, HISTORY).left
    assert set(made.analysts) == {"bob"}
    assert [str(day.day) for day in made.days] == ["2026-07-02", "2026-07-03"]
    assert "0.1 spent by 'bob'" in str(made)
    assert report("visits", PURE, HISTORY, analyst="nobody").spent.cost == NOTHING


def test_own_deltas_are_told_and_part_of_each_delta():
    budget = Budget(epsilon=2, delta=1e-6, reserved_delta=1e-7)
    made = report("visits", budget, [entry(events.ApproximateEvent(Fraction(1, 10), 1e-8))] * 3, deltas=(1e-6, 1e-8))
    assert made.spent.delta == Fraction(3, 10**8)
    assert [found.epsilon for found in made.epsilons] == [Fraction(3, 10), None]
    assert made.left.delta == Fraction(7, 10**8)
    told = " ".join(str(made).split())
    assert "No epsilon at 1e-08: the charges have more delta of their own." in told
    assert "Deltas of the charges' own, 3e-08 in all, are part of each delta." in told


def recovered(what: Cost) -> Entry:
    return entry(kind=Kind.RECOVERED, analyst=None, state=None, question=None, cost=what)


def test_a_recovered_charge_is_in_the_totals_and_is_nobodys_question():
    made = report("visits", PURE, [*HISTORY, recovered(cost(TENTH))], fixed_in_advance=True)
    assert made.spent.pure == Fraction(45, 100)
    assert (made.spent.questions, made.recoveries) == (3, 1)
    assert made.analysts[None].pure == Fraction(1, 10)
    assert "(recovered)" in str(made)
    assert "The ledger was recovered, once" in str(made)
    assert 0.44 < made.batch.figures[0].epsilon <= Fraction(45, 100)


def test_a_recovered_rho_without_an_epsilon_is_not_told_as_free():
    """Where the total had no finite epsilon, what a recovery adds to the chain has an epsilon of 0 beside its rho."""
    day = "2026-08-01T00:00:00+00:00"
    lost = replace(recovered(Cost(0, cost(GAUSSIAN).rho, 0, cost(GAUSSIAN).rho)), version=2, time=day)
    made = report("visits", BOTH, [entry(GAUSSIAN), lost])
    for part in (made.analysts[None], made.versions[2], made.days[-1].spent):
        assert part.epsilon is None
        assert part.at(Fraction(1, 10**9)) == made.analysts["ann"].at(Fraction(1, 10**9))
    assert made.total.cost == entry(GAUSSIAN).cost + lost.cost


def test_a_changed_promise_is_told_where_something_was_charged_before():
    capped = replace(entry(kind=Kind.CAPPED, analyst=None, state=None), detail=CHANGE)
    assert report("visits", PURE, [REGISTERED, capped, entry(TENTH)]).changes == 0
    made = report("visits", PURE, [REGISTERED, entry(TENTH), capped, entry(TENTH), capped])
    assert made.changes == 2
    assert "2 times: the guarantee over all budgets is the largest of their epsilons" in " ".join(str(made).split())


@pytest.mark.pitfall("D")
def test_a_clock_that_went_back_changes_no_total():
    times = [
        "2027-07-01T00:00:00+00:00",
        "2026-07-01T23:00:00+00:00",
        "2026-07-02T01:00:00+02:00",
        "2026-06-30T00:00:00",
    ]
    made = report("visits", PURE, [entry(TENTH, time=moment) for moment in times])
    assert [(str(day.day), day.total.pure) for day in made.days] == [
        ("2026-06-30", Fraction(1, 10)),
        ("2026-07-01", Fraction(3, 10)),
        ("2027-07-01", Fraction(4, 10)),
    ]
    with pytest.raises(LedgerError, match="damaged"):
        report("visits", PURE, [entry(TENTH, time="yesterday")])


@settings(deadline=None, max_examples=40)
@given(charges)
def test_totals_are_those_of_the_filters_however_they_are_cut(history):
    made = report("visits", BOTH, history)
    assert made.spent.cost == sum((cost(events.from_canonical(each.event)) for each in history), NOTHING)
    for parts in (made.analysts.values(), made.versions.values(), [day.spent for day in made.days]):
        assert sum((part.cost for part in parts), NOTHING) == made.spent.cost
        assert sum(part.questions for part in parts) == made.spent.questions == len(history)
        assert sum(part.failures for part in parts) == made.spent.failures
    assert [day.day for day in made.days] == sorted(day.day for day in made.days)
    assert not made.days or made.days[-1].total.cost == made.spent.cost
    assert made.left.laplace == BOTH.laplace_left(made.spent.cost)


@settings(deadline=None, max_examples=15)
@given(charges)
def test_a_fixed_history_is_never_told_as_more_than_the_sums(history):
    made = report("visits", BOTH, history, deltas=(1e-6,), fixed_in_advance=True)
    assert made.batch.figures[0].epsilon <= made.epsilons[0].epsilon


def long_report(**options) -> SpendingReport:
    """Every part at its widest: long names, small numbers, own deltas, many days, analysts and versions."""
    small = events.ApproximateEvent(Fraction(1, 3 * 10**5), Fraction(1, 3 * 10**9))
    history = [
        entry(
            (small, GAUSSIAN, TENTH)[place % 3],
            analyst=f"{place % 13} " + "x" * 190,
            version=1 + place % 12,
            time=f"2026-{1 + place % 12:02}-{1 + place % 28:02}T00:00:00+00:00",
        )
        for place in range(80)
    ]
    budget = Budget(epsilon=Fraction(2123456789, 10**9), delta=1e-6, reserved_delta=1.234567e-7)
    return report("y" * 200, budget, history, deltas=(1.23456789e-6, 1e-9, 0, 1e-18), **options)


@pytest.mark.parametrize("fixed", [False, True])
def test_a_report_fits_80_columns(fixed):
    text = str(long_report(fixed_in_advance=fixed))
    assert max(map(len, text.splitlines())) <= 80
    assert "... 3 more: report.analysts has all" in text
    assert "earlier: report.days has all" in text
    assert not any(line != line.rstrip() for line in text.splitlines())


def test_the_text_of_a_report():
    assert str(report("visits", PURE, HISTORY, deltas=(1e-6,))).startswith(TEXT)


def test_nothing_asked_is_a_report_too():
    made = report("visits", BOTH, [REGISTERED], fixed_in_advance=True)
    assert made.spent.cost == NOTHING
    assert [found.epsilon for found in (*made.epsilons, *made.batch.figures)] == [0] * 6
    assert "epsilon 0 spent of the privacy budget of epsilon 2, delta 1e-09" in str(made)
    assert made.left.laplace == made.left.gaussian == 2
    made.plot()


def test_spending_beyond_a_promise_is_told():
    made = report("visits", PURE, [entry(GAUSSIAN)])
    assert str(made).startswith("visits: more spent than the privacy budget of epsilon 1")
    assert "nothing, over all analysts" in str(made)
    assert float(Fraction(made.to_dict()["left"]["laplace"]["exact"])) == 0


def test_numbers_in_json_are_exact_and_on_the_safe_side():
    made = long_report(fixed_in_advance=True)
    plain = json.loads(json.dumps(made.to_dict(), allow_nan=False))
    assert Fraction(plain["spent"]["rho"]["exact"]) == made.spent.rho <= Fraction(plain["spent"]["rho"]["float"])
    assert Fraction(plain["left"]["rho"]["exact"]) == made.left.rho >= Fraction(plain["left"]["rho"]["float"])
    assert plain["spent"]["pure_epsilon"] is None
    assert [Fraction(each["delta"]["exact"]) for each in plain["spent"]["epsilons"]] == list(made.deltas)
    assert len(plain["analysts"]) == 13
    assert len(plain["versions"]) == 12
    assert plain["days"][-1]["total"]["rho"] == plain["spent"]["rho"]
    assert plain["batch"]["note"].startswith("PLD holds because")
    assert plain["promise"]["delta"]["float"] == 1e-6


@pytest.mark.pitfall("D")
def test_nothing_in_html_is_taken_for_markup():
    made = report("<script>visits</script>", PURE, [entry(TENTH, analyst="<img src=x>")])
    for page in (made._repr_html_(), Overview([made])._repr_html_()):
        words = Words(page)
        assert {"script", "img"}.isdisjoint(words.tags)
        assert any("<script>visits</script>" in text for text in words.texts)


def test_deltas_outside_their_range_are_refused():
    for wrong in ((1,), (-1e-6,), (True,), ("1e-6",), (float("nan"),), 1e-6):
        with pytest.raises(ParameterError):
            report("visits", PURE, HISTORY, deltas=wrong)
    assert report("visits", PURE, HISTORY, deltas=()).epsilons == ()


def test_a_plot_shows_what_was_spent_by_the_end_of_each_day_against_the_cap():
    told = report("visits", PURE, HISTORY).plot().get_label()
    assert "2026-07-01 10 spent, 90 left; 2026-07-02 35 spent, 65 left" in told
    assert "more than there is of the privacy budget" in str(report("visits", PURE, [entry(TENTH)] * 11))
    assert "110 spent, 10 over" in report("visits", PURE, [entry(TENTH)] * 11).plot().get_label()
    assert "by the end of each day" in told


def test_a_plot_of_many_days_has_a_bar_for_each_month():
    history = [
        entry(events.PureEvent(Fraction(1, 1000)), time=f"2026-{m:02}-{d:02}")
        for m in range(1, 13)
        for d in range(1, 9)
    ]
    told = report("visits", PURE, history).plot().get_label()
    assert "by the end of each month" in told
    assert "2026-12 9.6 spent, 90.4 left" in told


def test_an_overview_has_one_line_for_each_dataset_within_80_columns():
    both = Overview([report("visits", PURE, HISTORY), long_report()])
    lines = str(both).splitlines()
    assert max(map(len, lines)) <= 80
    assert lines[0] == "2 datasets"
    assert lines[3].split() == ["visits", "1", "0", "0.35", "0.65", "0", "3", "1"]
    assert lines[4].split()[0].startswith("yyy")
    assert [each["dataset"] for each in both.to_dict()["datasets"]] == ["visits", "y" * 200]
    json.dumps(both.to_dict(), allow_nan=False)
    assert "visits 35 spent, 65 left" in both.plot().get_label()
    assert str(Overview([])).startswith("0 datasets")


@pytest.mark.nightly
@pytest.mark.timing
def test_a_hundred_thousand_charges_are_reported_within_seconds():
    """Five times as many take about five times as long."""
    kinds = [entry(events.PureEvent(Fraction(1, 10**6 + place)), analyst=f"analyst {place}") for place in range(50)]
    history = [kinds[place % 50] for place in range(100_000)]
    few = history[:20_000]
    assert times_as_long(lambda: str(report("visits", PURE, history)), lambda: str(report("visits", PURE, few))) < 15
    made = report("visits", PURE, history)
    text = str(made)
    assert "100,000 queries" in text
    assert made.spent.cost.epsilon == 2000 * sum(-(-EPSILON_UNITS // (10**6 + place)) for place in range(50))


@pytest.mark.pitfall("B4")
def test_charges_too_small_for_a_float_still_add_up():
    tiny = entry(events.PureEvent(Fraction(1, 10**17)))
    assert report("visits", PURE, [tiny] * 1000).spent.pure == Fraction(1000, EPSILON_UNITS)


def test_what_is_counted_at_the_order_stands_beside_rho_and_parts_before_a_new_cap_count_by_rho():
    budget = Budget(epsilon=1, delta=1e-7)
    charged = replace(entry(TENTH), cost=budget.cost(TENTH))
    capped = replace(entry(kind=Kind.CAPPED, analyst=None, state=None), detail=CHANGE, cost=Cost(0, 0, 0, 7))
    made = report("visits", budget, [REGISTERED, charged, capped, charged])
    assert made.spent.cost == budget.cost(TENTH) + budget.cost(TENTH) + Cost(0, 0, 0, 7)
    assert made.analysts["ann"].cost == budget.cost(TENTH).at_any_order + budget.cost(TENTH)
    assert list(made.analysts) == ["ann"]
    (row,) = [line for line in str(made).splitlines() if "Renyi, summed" in line]
    assert f"order {float(budget.order):.4g}"[:-1] in row
    assert made.to_dict()["spent"]["renyi"]["exact"] == f"{made.spent.renyi.numerator}/{made.spent.renyi.denominator}"
