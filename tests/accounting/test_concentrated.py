"""Rhos add and convert; deltas of events come out of the delta that is asked for."""

import math
from fractions import Fraction

import pytest
from dp_accounting import dp_event, rdp
from scipy.optimize import brentq
from scipy.stats import norm

from discreet import events
from discreet.accounting import concentrated
from discreet.errors import AccountingError, ParameterError
from discreet.exact.rounding import brief_up
from discreet.exact.zcdp import epsilon_of


def gaussian_epsilon(shift: float, delta: float) -> float:
    def excess(e: float) -> float:
        return norm.cdf(shift / 2 - e / shift) - math.exp(e + norm.logcdf(-shift / 2 - e / shift)) - delta

    return brentq(excess, 0, shift**2 / 2 + 40 * shift, xtol=1e-13)


def test_rhos_and_deltas_add():
    parts = events.ComposedEvent(
        (events.GaussianEvent(100, 1), events.ConcentratedEvent(0.01, 1e-9), events.PureEvent(0.1))
    )
    assert concentrated.rho(parts) == (Fraction(2, 100), Fraction(1, 10**9))


@pytest.mark.guarantee("accounting.concentrated")
@pytest.mark.parametrize("count", [1, 10, 100, 1000, 10_000])
def test_rho_is_an_upper_bound_for_any_number_of_gaussian_answers(count):
    event = events.RepeatedEvent(events.GaussianEvent(100, 1), count)
    truth = gaussian_epsilon(math.sqrt(count) / 10, 1e-6)
    tight, loose = concentrated.epsilon(event, 1e-6), concentrated.epsilon(event, 1e-6, conversion="loose")
    assert truth <= tight <= loose
    assert tight <= 1.15 * truth


@pytest.mark.parametrize("count", [1, 30, 1000])
def test_dp_accounting_agrees_up_to_its_grid_of_orders(count):
    accountant = rdp.RdpAccountant()
    accountant.compose(dp_event.ZCDpEvent(rho=0.005), count)
    ours = concentrated.epsilon(events.RepeatedEvent(events.ConcentratedEvent(0.005), count), 1e-6)
    assert float(ours) <= accountant.get_epsilon(1e-6) * (1 + 1e-9)
    assert float(ours) == pytest.approx(accountant.get_epsilon(1e-6), rel=2e-3)


def test_deltas_of_events_come_out_of_the_delta_asked_for():
    event = events.ConcentratedEvent(0.01, 4e-7)
    assert concentrated.epsilon(event, 1e-6) == brief_up(epsilon_of(Fraction(1, 100), Fraction(6, 10**7)))
    with pytest.raises(AccountingError, match="deltas of the events sum"):
        concentrated.epsilon(event, 4e-7)


def test_what_cannot_be_converted_is_refused():
    with pytest.raises(AccountingError, match="delta 0"):
        concentrated.epsilon(events.GaussianEvent(1, 1), 0)
    with pytest.raises(ParameterError, match="two conversions"):
        concentrated.epsilon(events.GaussianEvent(1, 1), 1e-6, conversion="magic")
    with pytest.raises(AccountingError, match="privacy cost is not known"):
        concentrated.rho(object())
