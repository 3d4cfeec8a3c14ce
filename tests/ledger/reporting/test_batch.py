"""A history fixed in advance, as one batch: never below the truth, at most the sums, and quick for long histories."""

from collections import Counter
from fractions import Fraction

import pytest
from dp_accounting.pld import privacy_loss_distribution as distributions
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet import events
from discreet.accounting import approximate, concentrated, pld
from discreet.accounting.costs import NOTHING, Cost, cost
from discreet.accounting.prices import total
from discreet.ledger.records.chain import Kind, State
from discreet.ledger.records.history import Entry
from discreet.ledger.reporting import batch as module
from discreet.ledger.reporting.batch import MOST_DISTINCT, batch, bound_events
from discreet.ledger.reporting.spending import AtDelta
from loops import times_as_long

MILLIONTH = Fraction(1, 10**6)
UNKNOWN = (AtDelta(MILLIONTH, None, ""),)

simple = st.one_of(
    st.builds(events.PureEvent, st.fractions(Fraction(1, 1000), Fraction(1, 2), max_denominator=10**4)),
    st.builds(events.DiscreteLaplaceEvent, st.fractions(5, 500, max_denominator=100), st.integers(1, 4).map(Fraction)),
    st.builds(
        events.DiscreteGaussianEvent, st.fractions(50, 5000, max_denominator=10), st.integers(1, 9).map(Fraction)
    ),
    st.builds(events.ApproximateEvent, st.fractions(Fraction(1, 100), Fraction(1, 5)), st.just(Fraction(1, 10**9))),
    st.builds(events.ConcentratedEvent, st.fractions(Fraction(1, 1000), Fraction(1, 100), max_denominator=10**5)),
)


def entry(event: events.Event | None, /, **changes) -> Entry:
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


def found(entries: list[Entry]) -> float:
    (figure,) = batch(entries, UNKNOWN).figures
    return float(figure.epsilon)


def composed(counted: Counter[events.Event]) -> events.Event:
    return events.ComposedEvent(tuple(events.RepeatedEvent(event, count) for event, count in counted.items()))


def test_equal_questions_compose_as_in_the_optimal_theorem():
    """Forty releases of epsilon 0.1, the least epsilon of which is known in closed form."""
    optimal = float(approximate.optimal(epsilon=Fraction(1, 10), count=40, delta=MILLIONTH))
    assert found([entry(events.PureEvent(Fraction(1, 10)))] * 40) == pytest.approx(optimal, rel=1e-4)


def test_dp_accounting_agrees_on_a_mixed_history():
    ours = found([entry(events.DiscreteGaussianEvent(400, 4))] * 12 + [entry(events.DiscreteLaplaceEvent(10, 1))] * 5)
    gaussian = distributions.from_discrete_gaussian_mechanism(20.0, 2, None, True, 1e-4, use_connect_dots=True)
    laplace = distributions.from_discrete_laplace_mechanism(0.1, 1, True, 1e-4, use_connect_dots=True)
    theirs = gaussian.self_compose(12).compose(laplace.self_compose(5)).get_epsilon_for_delta(1e-6)
    assert ours == pytest.approx(theirs, rel=1e-3)


def test_an_event_that_holds_several_is_composed_of_all_of_them():
    parts = events.ComposedEvent((events.PureEvent(Fraction(1, 10)), events.DiscreteGaussianEvent(400, 1)))
    twice = found([entry(events.RepeatedEvent(parts, 2))])
    assert twice == found([entry(events.PureEvent(Fraction(1, 10))), entry(events.DiscreteGaussianEvent(400, 1))] * 2)


@settings(deadline=None, max_examples=15)
@given(st.lists(st.tuples(simple, st.integers(1, 20)), min_size=1, max_size=4))
def test_loss_distributions_are_at_most_half_a_percent_above_the_conversion_of_rho(parts):
    """The tolerance is the grid's: an event known by its rho alone converts to within 0.2% of the exact figure."""
    counted: Counter[events.Event] = Counter()
    for event, count in parts:
        counted[event] += count
    exact = float(concentrated.epsilon(composed(counted), MILLIONTH))
    raw = found([entry(event) for event, count in counted.items() for _ in range(count)])
    assert raw <= exact * 1.005


def test_what_is_known_otherwise_is_taken_where_it_is_smaller():
    (figure,) = batch([entry(events.PureEvent(1))], (AtDelta(MILLIONTH, Fraction(1, 2), "zCDP"),)).figures
    assert (figure.epsilon, figure.by) == (Fraction(1, 2), "zCDP, below PLD")


def recovered(what: Cost) -> Entry:
    return entry(None, kind=Kind.RECOVERED, analyst=None, state=None, cost=what)


@pytest.mark.parametrize("epsilon", [None, 0, 4 * 10**12])
def test_a_recovered_charge_counts_by_its_rho_whatever_its_epsilon(epsilon):
    """It may have been many charges; where the total had no finite epsilon before, it has none to tell either."""
    lost = events.RepeatedEvent(events.PureEvent(Fraction(1, 100)), 400)
    assert cost(lost) == Cost(4 * 10**12, 2 * 10**13, 0, 2 * 10**13)
    told = found([recovered(Cost(epsilon, 2 * 10**13, 0, 2 * 10**13))])
    assert told >= found([entry(lost)])
    assert told == pytest.approx(float(concentrated.epsilon(lost, MILLIONTH)), rel=0.005)


def test_a_recovered_charge_is_never_below_the_charge_that_was_lost():
    for lost in (events.PureEvent(Fraction(1, 10)), events.DiscreteGaussianEvent(400, 1)):
        assert found([recovered(cost(lost))]) >= found([entry(lost)])
    own = events.ApproximateEvent(Fraction(1, 10), Fraction(1, 10**7))
    assert found([recovered(cost(own))]) >= found([entry(own)])
    assert "1 recovered without an event counts by rho" in batch([recovered(cost(own))], UNKNOWN).note


def test_what_cost_nothing_is_no_part_of_the_batch():
    rejected = entry(None, kind=Kind.REJECTED, state=State.REJECTED, event=events.canonical(events.PureEvent(5)))
    assert found([rejected, entry(None, kind=Kind.REGISTERED)]) == 0


def test_an_event_that_cannot_be_read_is_told_and_not_guessed():
    unread = entry(events.PureEvent(1), event='{"kind":"TeleportEvent"}')
    told = batch([unread, entry(events.PureEvent(1))], UNKNOWN)
    assert told.figures == ()
    assert "'TeleportEvent'" in told.note
    assert "its privacy cost is not known" in told.note


def test_a_delta_that_doubles_cannot_carry_has_a_reason_in_place_of_an_epsilon():
    (figure,) = batch([entry(events.PureEvent(1))], (AtDelta(Fraction(1, 10**15), None, ""),)).figures
    assert figure.epsilon is None
    assert "doubles" in figure.by


def test_few_different_events_are_composed_as_they_are():
    counted = Counter({events.PureEvent(Fraction(1, 100 + place)): 3 for place in range(MOST_DISTINCT)})
    assert bound_events(counted) is counted
    assert "rounded up in groups" not in batch([entry(event) for event in counted], UNKNOWN).note


@settings(deadline=None, max_examples=10)
@given(st.dictionaries(simple, st.integers(1, 5), min_size=5, max_size=7))
def test_rounding_in_groups_never_tells_less(counted):
    exact = Counter(counted)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "MOST_DISTINCT", 4)
        patch.setattr(module, "MOST_GROUPS", 2)
        grouped = bound_events(exact)
    assert len(grouped) <= 5
    assert pld.epsilon(composed(grouped), MILLIONTH) >= pld.epsilon(composed(exact), MILLIONTH) * (1 - 1e-3)
    assert total(composed(grouped)).rho >= total(composed(exact)).rho
    assert total(composed(grouped)).delta >= total(composed(exact)).delta


def test_different_events_without_an_epsilon_are_added_up_by_their_rho():
    counted = Counter({events.DiscreteGaussianEvent(Fraction(10**6 + place, 7), 1): 2 for place in range(200)})
    grouped = bound_events(counted)
    (rest,) = (event for event in grouped if isinstance(event, events.ConcentratedEvent))
    assert len(grouped) == 65
    assert 0 <= total(composed(grouped)).rho - total(composed(counted)).rho < Fraction(1, 10**20)
    assert rest.rho == pytest.approx(2 * 136 * 7 / (2 * 10**6), rel=1e-3)


@pytest.mark.nightly
@pytest.mark.timing
def test_thousands_of_different_events_are_rounded_up_in_groups_within_seconds():
    """Four times as many take about as long: most are rounded up in groups."""
    history = [entry(events.DiscreteLaplaceEvent(Fraction(10_000 + place), 1)) for place in range(5_000)]
    assert times_as_long(lambda: batch(history[:1_000], UNKNOWN), lambda: batch(history[:250], UNKNOWN)) < 10
    told = batch(history, UNKNOWN)
    assert "of 5,000 different events the 64 heaviest" in told.note
    largest = events.RepeatedEvent(events.PureEvent(Fraction(1, 10_000)), 5_000)
    smallest = events.RepeatedEvent(events.PureEvent(Fraction(1, 15_000)), 5_000)
    reached = float(told.figures[0].epsilon)
    assert pld.epsilon(smallest, MILLIONTH) < reached < pld.epsilon(largest, MILLIONTH)
    everything = events.ComposedEvent(tuple(events.from_canonical(each.event) for each in history))
    assert reached < float(concentrated.epsilon(everything, MILLIONTH))
