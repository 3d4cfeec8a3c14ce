"""The promise holds for analysts who choose as they go, to the last unit."""

import math
import subprocess
import sys
from fractions import Fraction
from functools import lru_cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm

from discreet import events
from discreet.accounting.costs import DELTA_UNITS, EPSILON_UNITS, LARGEST_UNITS, NOTHING, RHO_UNITS, Cost, cost, restate
from discreet.accounting.filters import Budget
from discreet.errors import AccountingError, BudgetError, ParameterError
from discreet.exact.zcdp import cap_at_order, rho_of

PROMISE = Budget(epsilon=2, delta=1e-9, reserved_delta=0)

rates = st.fractions(min_value=Fraction(1, 10**15), max_value=3, max_denominator=10**18)
small = st.fractions(min_value=0, max_value=Fraction(1, 10**8), max_denominator=10**25)
spent_costs = st.builds(
    lambda epsilon, rho, delta, part: Cost(epsilon, rho, delta, int(rho * part)),
    st.none() | st.integers(0, 3 * EPSILON_UNITS),
    st.integers(0, RHO_UNITS // 10) | st.integers(0, 10**6),
    st.integers(0, 2 * 10**8),
    st.sampled_from([Fraction(1, 3), 1]),
)


def gaussian(budget: Budget, epsilon: object) -> events.Event:
    return events.ConcentratedEvent(budget.rho(epsilon))


# What the filters promise ---------------------------------------------------------------------------------------------


class Coins:
    """The best an adaptive analyst can do against a promise with randomized responses, computed exactly.

    Each kind of question is a coin of its epsilon that is lost with probability delta. The state counts, for each kind,
    answers for and against; the value is the largest P(S) - e^epsilon Q(S) that the analyst can still reach.
    """

    def __init__(self, budget: Budget, kinds: list[tuple[str, str]], target: float) -> None:
        self.kinds = [events.ApproximateEvent(Fraction(rate), Fraction(delta)) for rate, delta in kinds]
        self.costs = [budget.cost(kind) for kind in self.kinds]
        self.caps = budget.caps()
        self.target = target
        self.value = lru_cache(maxsize=None)(self._value)

    def best(self) -> float:
        return self.value((0, 0) * len(self.kinds))

    def _value(self, state: tuple[int, ...]) -> float:
        found = self._now(state)
        for place, kind in enumerate(self.kinds):
            if self.caps.admit(self._spent(state, place)):
                lost = float(kind.delta) * self._mass(state, likely=True)
                found = max(found, lost + self.value(_with(state, 2 * place)) + self.value(_with(state, 2 * place + 1)))
        return found

    def _now(self, state: tuple[int, ...]) -> float:
        return max(0.0, self._mass(state, likely=True) - math.exp(self.target) * self._mass(state, likely=False))

    def _spent(self, state: tuple[int, ...], place: int) -> Cost:
        asked = [state[2 * i] + state[2 * i + 1] + (i == place) for i in range(len(self.kinds))]
        return sum((price for price, count in zip(self.costs, asked, strict=True) for _ in range(count)), NOTHING)

    def _mass(self, state: tuple[int, ...], *, likely: bool) -> float:
        """The probability of one order of these answers, under P or under Q, with nothing lost."""
        mass = 1.0
        for place, kind in enumerate(self.kinds):
            heads = 1 / (1 + math.exp(-float(kind.epsilon)))
            right, wrong = (heads, 1 - heads) if likely else (1 - heads, heads)
            kept = 1 - float(kind.delta)
            mass *= (kept * right) ** state[2 * place] * (kept * wrong) ** state[2 * place + 1]
        return mass


def _with(state: tuple[int, ...], place: int) -> tuple[int, ...]:
    return (*state[:place], state[place] + 1, *state[place + 1 :])


KINDS = [("0.1", "0"), ("0.35", "0"), ("0.1", "0.01")]


@pytest.mark.guarantee("accounting.filters")
@pytest.mark.parametrize(
    ("epsilon", "delta", "reserve"), [(1, "0.05", "0.02"), (0.8, "0.1", "0.03"), (0.5, "0.02", "0"), (0.7, "0", "0")]
)
def test_no_adaptive_analyst_beats_the_promise_with_coins(epsilon, delta, reserve):
    budget = Budget(epsilon=epsilon, delta=Fraction(delta), reserved_delta=Fraction(reserve))
    reached = Coins(budget, KINDS, float(epsilon)).best()
    assert reached <= float(delta) + 1e-12
    assert reached >= float(reserve)


def test_a_filter_that_is_too_generous_is_caught_by_the_same_coins():
    """A positive control: the caps of a promise half as strict again are beaten."""
    generous = Budget(epsilon=1.5, delta=0.05)
    assert Coins(generous, KINDS, 1.0).best() > 0.05


class RaisedCoins(Coins):
    """The same analyst, whose owner replaces the budget by a larger one once, whenever it suits the analyst."""

    def __init__(self, first: Budget, second: Budget, kinds: list[tuple[str, str]]) -> None:
        super().__init__(first, kinds, float(second.epsilon))
        self.before = lru_cache(maxsize=None)(self._before)
        self._first, self._second = first, second

    def best(self) -> float:
        return self.before((0, 0) * len(self.kinds))

    def _before(self, state: tuple[int, ...]) -> float:
        """The value while the first budget is in force: ask, stop, or have it raised."""
        found = max(self._now(state), self._after_raise(state))
        for place, kind in enumerate(self.kinds):
            if self._first.admits(self._spent(state, place)):
                lost = float(kind.delta) * self._mass(state, likely=True)
                answers = (self.before(_with(state, 2 * place + side)) for side in (0, 1))
                found = max(found, lost + sum(answers))
        return found

    def _after_raise(self, state: tuple[int, ...]) -> float:
        asked = [state[2 * i] + state[2 * i + 1] for i in range(len(self.kinds))]
        paid = sum((price for price, count in zip(self.costs, asked, strict=True) for _ in range(count)), NOTHING)
        rest = Coins(self._second, [(str(kind.epsilon), str(kind.delta)) for kind in self.kinds], self.target)
        spent = restate(paid, self._first.order, self._second.order)
        rest._spent = lambda now, place: self._later(now, place, state, spent, rest.costs)
        return rest.value(state)

    def _later(self, now: tuple[int, ...], place: int, state: tuple[int, ...], spent: Cost, costs: list[Cost]) -> Cost:
        more = [now[2 * i] + now[2 * i + 1] - state[2 * i] - state[2 * i + 1] + (i == place) for i in range(len(costs))]
        return sum((price for price, count in zip(costs, more, strict=True) for _ in range(count)), spent)


@pytest.mark.guarantee("accounting.filters")
@pytest.mark.parametrize(("first", "second"), [((0.4, "0.02"), (0.8, "0.05")), ((0.5, "0.05"), (0.7, "0.02"))])
def test_after_a_raise_the_largest_epsilon_holds_with_the_sum_of_the_deltas(first, second):
    """Delta 0.01 of each is reserved, once: the reserve may not change."""
    made = [Budget(epsilon=e, delta=Fraction(d), reserved_delta=Fraction(1, 100)) for e, d in (first, second)]
    reached = RaisedCoins(*made, [("0.15", "0"), ("0.1", "0.01")]).best()
    assert 0.01 <= reached <= float(made[0].delta + made[1].delta) + 1e-12


class Batches:
    """The best an adaptive analyst can do with batches and coins, by the exact laws of their answers.

    A batch is eight coins of epsilon 1/5 that are answered at once. It is (epsilon, delta)-private by the sum over its
    nine outcomes, and its rho is that of its coins. A coin may be lost, which gives it a delta of its own.
    """

    COINS, RATE = 8, 0.2

    def __init__(self, budget: Budget, own: float, *, stated_delta: float | None = None) -> None:
        heads = 1 / (1 + math.exp(-self.RATE))
        ways = [math.comb(self.COINS, n) for n in range(self.COINS + 1)]
        several = [
            (way * heads**n * (1 - heads) ** (self.COINS - n), way * (1 - heads) ** n * heads ** (self.COINS - n))
            for n, way in enumerate(ways)
        ]
        self.epsilon = _least_epsilon(several, own)
        self.rho = Fraction(self.COINS) * Fraction(1, 50)
        batch = events.ApproximateConcentratedEvent(
            Fraction(self.epsilon), Fraction(str(own if stated_delta is None else stated_delta)), self.rho
        )
        coin = events.ApproximateEvent(Fraction(7, 20), Fraction(1, 100))
        kept = 0.99 / (1 + math.exp(-0.35))
        single = [(kept, 0.99 - kept), (0.99 - kept, kept), (0.01, 0.0)]
        self.kinds = [(several, budget.cost(batch)), (single, budget.cost(coin))]
        self.budget = budget
        self.value = lru_cache(maxsize=None)(self._value)

    def best(self) -> float:
        return self.value(tuple(0 for law, _ in self.kinds for _ in law))

    def _value(self, state: tuple[int, ...]) -> float:
        ratio = math.exp(float(self.budget.epsilon))
        found, start = max(0.0, self._mass(state, 0) - ratio * self._mass(state, 1)), 0
        for law, price in self.kinds:
            if self.budget.admits(self._spent(state) + price):
                found = max(found, sum(self.value(_with(state, start + n)) for n in range(len(law))))
            start += len(law)
        return found

    def _spent(self, state: tuple[int, ...]) -> Cost:
        asked = [sum(state[: len(self.kinds[0][0])]), sum(state[len(self.kinds[0][0]) :])]
        return sum((price for (_, price), count in zip(self.kinds, asked, strict=True) for _ in range(count)), NOTHING)

    def _mass(self, state: tuple[int, ...], side: int) -> float:
        outcomes = [outcome for law, _ in self.kinds for outcome in law]
        return math.prod(outcome[side] ** count for outcome, count in zip(outcomes, state, strict=True) if count)


def _least_epsilon(law: list[tuple[float, float]], delta: float) -> float:
    low, high = 0.0, 10.0
    for _ in range(60):
        middle = (low + high) / 2
        enough = sum(max(0.0, p - math.exp(middle) * q) for p, q in law) <= delta
        low, high = (low, middle) if enough else (middle, high)
    return high


BATCHED = Budget(epsilon=2, delta=Fraction(1, 10), reserved_delta=Fraction(3, 100))


@pytest.mark.guarantee("accounting.filters")
@pytest.mark.parametrize("own", [0.01, 0.005])
def test_no_adaptive_analyst_beats_the_promise_with_batches_that_are_charged_by_their_rho(own):
    game = Batches(BATCHED, own)
    assert float(game.rho) < game.epsilon**2 / 4  # what their epsilon alone would be charged is more
    assert own <= game.best() <= float(BATCHED.delta) + 1e-12


def test_a_batch_that_does_not_state_its_delta_is_caught_by_the_same_analyst():
    """A positive control: at a high delta its epsilon is small, and by epsilons alone three of them are admitted."""
    tight = Budget(epsilon=1, delta=Fraction(3, 100), reserved_delta=Fraction(1, 100))
    assert Batches(tight, 0.1, stated_delta=0.0).best() > 0.03


def gaussian_delta(shift: np.ndarray | float, epsilon: np.ndarray) -> np.ndarray:
    return norm.cdf(shift / 2 - epsilon / shift) - np.exp(epsilon + norm.logcdf(-shift / 2 - epsilon / shift))


def best_of_two_stages(epsilon: float, first: float, second: float, own: float) -> float:
    """Gaussian answers of rho `first`; then more, up to `second`, where the loss so far is high, or a lost `own`."""
    spread = math.sqrt(2 * first)
    losses = np.linspace(first - 10 * spread, first + 10 * spread, 200_001)
    weights = norm.pdf(losses, first, spread) * (losses[1] - losses[0])
    more = gaussian_delta(math.sqrt(2 * (second - first)), epsilon - losses)
    lost = own + (1 - own) * np.maximum(0, 1 - np.exp(epsilon - losses))
    return float((weights * np.maximum(more, lost)).sum())


@pytest.mark.parametrize(("epsilon", "delta"), [(1, 1e-6), (2, 1e-9), (8, 1e-6)])
def test_a_delta_divided_by_what_was_spent_would_break_the_promise(epsilon, delta):
    """Why the reserve is fixed: had the caps of rho followed the deltas spent, an analyst would reach 1.15 delta."""
    exact = Fraction(str(delta))
    kept = exact / 100
    moving = best_of_two_stages(
        epsilon, float(rho_of(Fraction(epsilon), kept)), float(rho_of(Fraction(epsilon), exact)), float(exact - kept)
    )
    assert moving > 1.15 * delta


@pytest.mark.parametrize(("epsilon", "delta"), [(1, 1e-6), (2, 1e-9), (8, 1e-6)])
@pytest.mark.parametrize("share", ["0.01", "0.1", "0.5", "0.9"])
def test_a_delta_divided_in_advance_keeps_the_promise_against_the_same_analyst(epsilon, delta, share):
    exact = Fraction(str(delta))
    budget = Budget(epsilon=epsilon, delta=exact, reserved_delta=exact * Fraction(share))
    second = float(budget.rho(epsilon))
    for part in (0.3, 0.6, 0.9, 0.99):
        assert best_of_two_stages(epsilon, second * part, second, float(budget.reserved_delta)) <= delta


# The Renyi filter -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("epsilon", "delta", "largest"), [(1, 1e-6, 0.557), (2, 1e-9, 1.072)])
def test_the_largest_pure_epsilon_beside_gaussian_noise(epsilon, delta, largest):
    """By rho, which holds at all orders, 0.221 and 0.335 would fit."""
    budget = Budget(epsilon=epsilon, delta=delta)
    beside_gaussian = Cost(None, 0, 0, 0)
    assert float(budget.laplace_left(beside_gaussian)) == pytest.approx(largest, abs=5e-4)
    by_rho = math.sqrt(2 * budget.rho(epsilon))
    assert by_rho < 0.4 * largest
    assert budget.admits(beside_gaussian + budget.cost(events.PureEvent(largest - 0.001)))
    assert not budget.admits(beside_gaussian + budget.cost(events.PureEvent(largest + 0.001)))


@given(
    st.sampled_from([0.01, 0.3, 1, 2, 10]),
    st.sampled_from(["1e-12", "1e-9", "1e-6", "0.1"]),
    st.sampled_from([0, 0.1, 0.9]),
)
def test_the_cap_is_that_of_the_order_at_which_charges_are_counted(epsilon, delta, share):
    exact = Fraction(delta)
    budget = Budget(epsilon=epsilon, delta=exact, reserved_delta=exact * Fraction(str(share)))
    cap = cap_at_order(budget.epsilon, budget.conversion_delta, budget.order)
    assert 0 <= cap - Fraction(budget.caps().rho, RHO_UNITS) < Fraction(1, RHO_UNITS)


@pytest.mark.parametrize("units", [1, 1000])
def test_what_is_left_is_nothing_where_it_converts_to_nothing(units):
    budget = Budget(epsilon=10, delta=1e-3)
    spent = Cost(None, budget.caps().rho - units, 0, budget.caps().rho - units)
    assert budget.gaussian_left(spent) == 0


def test_a_budget_at_a_stored_order_is_equal_and_counts_at_that_order():
    stored = PROMISE.at_order(Fraction(7))
    assert stored == PROMISE == Budget(**stored.arguments)
    assert (stored.order, stored.at_order(None).order) == (7, PROMISE.order)
    event = events.PureEvent(Fraction(1, 2))
    assert stored.cost(event) == cost(event, Fraction(7)) != PROMISE.cost(event)
    assert stored.cost(events.PureEvent(stored.laplace_left(Cost(None, 0, 0, 0)))).renyi <= stored.caps().rho


def test_a_budget_that_converts_nothing_has_no_order():
    assert Budget(epsilon=1).order is None
    assert Budget(epsilon=1, delta=1e-6, reserved_delta=1e-6).order is None
    assert Budget(epsilon=1, delta=1e-6).order > 1
    assert Budget(epsilon=1).cost(events.PureEvent(1)) == cost(events.PureEvent(1))


# Units ----------------------------------------------------------------------------------------------------------------


@settings(deadline=None)
@given(rates, small)
def test_caps_round_down(epsilon, delta):
    exact = Fraction(math.floor(delta * DELTA_UNITS), DELTA_UNITS)
    budget = Budget(epsilon=max(epsilon, Fraction(1, 10**12)), delta=exact, reserved_delta=exact / 3)
    caps = budget.caps()
    assert Fraction(caps.epsilon, EPSILON_UNITS) <= budget.epsilon
    assert Fraction(caps.rho, RHO_UNITS) <= rho_of(budget.epsilon, budget.conversion_delta)
    assert Fraction(caps.delta, DELTA_UNITS) <= exact / 3


@settings(deadline=None, max_examples=200)
@given(st.lists(rates, min_size=1, max_size=4), st.fractions(min_value=Fraction(1, 100), max_value=5))
def test_what_is_admitted_fits_exactly(charges, epsilon):
    budget = Budget(epsilon=epsilon, delta=Fraction(1, 10**6))
    spent = sum((cost(events.PureEvent(charge)) for charge in charges), NOTHING)
    exact_rho = sum(min(charge, charge**2 / 2) for charge in charges)
    if budget.admits(spent):
        assert sum(charges) <= epsilon or exact_rho <= rho_of(epsilon, Fraction(1, 10**6))


def test_a_cost_equal_to_what_is_left_is_admitted_and_one_unit_more_is_not():
    budget = Budget(epsilon=1)
    spent = cost(events.PureEvent(Fraction(3, 10)))
    assert budget.admits(spent + Cost(7 * EPSILON_UNITS // 10, 10**15, 0, 10**15))
    assert not budget.admits(spent + Cost(7 * EPSILON_UNITS // 10 + 1, 10**15, 0, 10**15))


def test_totals_of_an_admitted_ledger_fit_in_64_bits():
    widest = Budget(epsilon=1000, delta=Fraction(999, 1000), ceiling=1000)
    caps = widest.caps()
    assert max(caps.epsilon, caps.rho, caps.delta) < LARGEST_UNITS // 8
    for parts in (1, 10, 500):
        spent = sum((cost(events.PureEvent(Fraction(1000, parts))) for _ in range(parts)), NOTHING)
        assert widest.admits(spent)
        assert max(spent.epsilon or 0, spent.rho) < LARGEST_UNITS // 8


# Either filter --------------------------------------------------------------------------------------------------------


def test_epsilon_two_spends_a_budget_of_two_exactly():
    one = events.ConcentratedEvent(Fraction(math.floor(rho_of(Fraction(2), Fraction(1, 10**9)) * RHO_UNITS), RHO_UNITS))
    spent = cost(one)
    assert spent.rho == PROMISE.caps().rho
    assert PROMISE.admits(spent)
    assert not PROMISE.admits(spent + Cost(None, 1, 0, 1))
    assert PROMISE.epsilon_left(NOTHING) == 2
    assert PROMISE.epsilon_left(spent) == 0


def test_half_an_epsilon_fits_fourteen_times():
    one = cost(gaussian(PROMISE, 0.5))
    spent = NOTHING
    for _ in range(14):
        spent += one
        assert PROMISE.admits(spent)
    assert not PROMISE.admits(spent + one)


def test_a_few_laplace_answers_are_served_by_epsilon_and_many_small_ones_by_rho():
    half = cost(events.DiscreteLaplaceEvent(2, 1))
    assert half.rho > PROMISE.caps().rho
    assert PROMISE.admits(half + half + half + half)
    assert not PROMISE.admits(half + half + half + half + half)
    tiny = cost(events.RepeatedEvent(events.DiscreteLaplaceEvent(100, 1), 1000))
    assert tiny.epsilon == 10 * EPSILON_UNITS
    assert PROMISE.admits(tiny)


def test_once_both_filters_are_broken_nothing_more_is_admitted():
    broken = cost(events.DiscreteLaplaceEvent(2, 1)) + cost(events.GaussianEvent(100, 1))
    assert broken.epsilon is None
    assert not PROMISE.admits(broken)
    assert PROMISE.epsilon_left(broken) == 0


def test_a_pure_promise_admits_no_gaussian_noise_and_no_delta():
    budget = Budget(epsilon=1)
    assert not budget.admits(cost(events.GaussianEvent(10**6, 1)))
    assert not budget.admits(cost(events.ApproximateEvent(Fraction(1, 10), Fraction(1, 10**15))))
    assert budget.admits(cost(events.PureEvent(1)))


def test_events_with_a_delta_need_a_reserve():
    threshold = cost(events.ApproximateEvent(Fraction(1, 2), Fraction(1, 10**11)))
    assert not PROMISE.admits(threshold)
    reserving = Budget(epsilon=2, delta=1e-9, reserved_delta=1e-10)
    assert reserving.admits(threshold)
    assert reserving.admits(Cost(threshold.epsilon, threshold.rho, 10**8, threshold.rho))
    assert not reserving.admits(Cost(threshold.epsilon, threshold.rho, 10**8 + 1, threshold.rho))
    assert reserving.caps().rho < PROMISE.caps().rho


def test_a_reserve_is_a_part_of_delta():
    with pytest.raises(BudgetError, match="reserved_delta"):
        Budget(epsilon=1, delta=1e-9, reserved_delta=1e-8)


@pytest.mark.pitfall("B2")
def test_there_is_no_way_to_charge_by_a_loss_distribution():
    code = (
        "import inspect, sys, discreet.accounting.costs as f; "
        "assert 'discreet.accounting.pld' not in sys.modules and 'dp_accounting' not in sys.modules; "
        "assert list(inspect.signature(f.cost).parameters) == ['event', 'order']"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


# What is left ---------------------------------------------------------------------------------------------------------


@settings(deadline=None, max_examples=150)
@given(spent_costs, st.sampled_from(["0", "1e-9", "1e-6"]), st.sampled_from([0.1, 1, 2, 10]))
def test_what_is_left_can_be_asked_for(spent, delta, epsilon):
    exact = Fraction(delta)
    budget = Budget(epsilon=epsilon, delta=exact, reserved_delta=exact / 10)
    laplace, normal = budget.laplace_left(spent), budget.gaussian_left(spent)
    assert budget.epsilon_left(spent) == max(laplace, normal)
    if laplace:
        assert budget.admits(spent + budget.cost(events.PureEvent(laplace)))
    if normal:
        assert budget.admits(spent + cost(gaussian(budget, normal)))
        assert budget.rho(normal) > 0
    for value in (laplace, normal):
        assert value <= budget.epsilon
        assert float(value) == pytest.approx(float(f"{float(value):.6g}"), rel=1e-12)


@settings(deadline=None, max_examples=60)
@given(spent_costs, st.sampled_from([1, 2]))
def test_little_is_hidden_by_rounding_what_is_left(spent, epsilon):
    budget = Budget(epsilon=epsilon, delta=1e-9)
    normal = budget.gaussian_left(Cost(None, spent.rho, 0, spent.rho))
    if 0 < normal < budget.epsilon:
        assert not budget.admits(
            Cost(None, spent.rho, 0, spent.rho) + cost(gaussian(budget, normal * Fraction(10_001, 10_000)))
        )


def test_a_fresh_pure_budget_has_all_of_it_left():
    assert Budget(epsilon=1).epsilon_left(NOTHING) == 1
    assert Budget(epsilon=1).epsilon_left(cost(events.PureEvent(Fraction(3, 10)))) == Fraction(7, 10)
    assert Budget(epsilon=1).epsilon_left(cost(events.PureEvent(1))) == 0


# The promise itself ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("reason", [5, b"board", "a\0b", "a\ud800b", "two\nlines", "a\u2028b", "x" * 2_001])
def test_a_reason_is_text_that_prints(reason):
    """The ledger keeps it for ever, in every store, and an audit shows it as it is."""
    with pytest.raises(ParameterError, match="text that prints"):
        Budget(epsilon=1, reason=reason)
    assert Budget(epsilon=1, reason="Beschluß № 5 🦄").reason == "Beschluß № 5 🦄"


def test_an_epsilon_above_the_ceiling_needs_a_reason():
    with pytest.raises(BudgetError, match="ceiling"):
        Budget(epsilon=11)
    with pytest.raises(BudgetError, match="ceiling"):
        Budget(epsilon=11, reason="  ")
    assert Budget(epsilon=11, reason="agreed with the ethics board").epsilon == 11
    assert Budget(epsilon=11, ceiling=20).epsilon == 11


def test_a_delta_of_one_in_the_population_is_refused():
    with pytest.raises(BudgetError, match="declared population is 1,000"):
        Budget(epsilon=1, delta=0.001).check_population(1000)
    Budget(epsilon=1, delta=Fraction(999, 1_000_000)).check_population(1000)
    with pytest.raises(BudgetError, match="no population is declared"):
        Budget(epsilon=1, delta=1e-6).check_population(None)
    Budget(epsilon=1, delta=1e-7).check_population(None)
    Budget(epsilon=1).check_population(None)
    with pytest.raises(ParameterError):
        Budget(epsilon=1, delta=1e-9).check_population(0)


@pytest.mark.parametrize(
    "options",
    [
        {"epsilon": 0},
        {"epsilon": -1},
        {"epsilon": math.nan},
        {"epsilon": math.inf},
        {"epsilon": True},
        {"epsilon": "1"},
        {"epsilon": 1, "delta": 1},
        {"epsilon": 1, "delta": -1e-9},
        {"epsilon": 1, "delta": math.nan},
        {"epsilon": 1e-320},
        {"epsilon": 1, "delta": 1e-19},
        {"epsilon": 1001, "reason": "none is good enough"},
    ],
)
def test_a_promise_that_cannot_be_kept_or_counted_is_refused(options):
    with pytest.raises((ParameterError, BudgetError)):
        Budget(**options)


def test_the_promise_is_shown_with_its_delta():
    assert str(PROMISE) == "epsilon 2, delta 1e-09"
    assert str(Budget(epsilon=0.5)) == "epsilon 0.5"


def test_an_unknown_event_has_no_cost():
    with pytest.raises(AccountingError):
        cost(object())


def test_a_tenth_of_delta_is_reserved_unless_a_budget_states_its_reserve():
    """`None` is a tenth for a new dataset; an explicit 0 reserves nothing."""
    budget = Budget(epsilon=2, delta=1e-9)
    assert budget.reserved_delta is None
    assert (budget.reserve, budget.conversion_delta) == (Fraction(1, 10**10), Fraction(9, 10**10))
    assert budget.caps() == Budget(epsilon=2, delta=1e-9, reserved_delta=1e-10).caps()
    assert budget == Budget(epsilon=2, delta=1e-9, reserved_delta=1e-10)
    assert hash(budget) == hash(Budget(epsilon=2, delta=1e-9, reserved_delta=1e-10))
    assert budget != Budget(epsilon=2, delta=1e-9, reserved_delta=0)
    assert budget != "epsilon 2"
    assert Budget(epsilon=2).reserve == 0
    assert Budget(epsilon=2, delta=1e-9, reserved_delta=0).caps().delta == 0


def test_a_stated_reserve_is_not_replaced():
    stated = Budget(epsilon=2, delta=1e-9, reserved_delta=0)
    assert stated.reserving(Fraction(1, 10**10)) is stated
    assert Budget(epsilon=2, delta=1e-9).reserving(0).reserved_delta == 0


def test_a_budget_is_shown_with_the_reserve_that_it_states():
    assert repr(Budget(epsilon=2, delta=1e-9)) == "Budget(epsilon=2, delta=1e-09)"
    assert repr(Budget(epsilon=2, delta=1e-9, reserved_delta=0)) == "Budget(epsilon=2, delta=1e-09, reserved_delta=0)"
    assert repr(Budget(epsilon=2)) == "Budget(epsilon=2)"
