"""What a newcomer tries first: it works, or it is refused with the line to type instead."""

import pytest

import discreet as dp
from discreet.errors import AccountingError


def test_a_mechanism_can_be_compared_without_asking_for_its_event():
    laplace = dp.mechanisms.Laplace(sensitivity=1, epsilon=0.1)
    table = dp.accounting.compare([laplace, laplace], delta=1e-6)
    assert table == dp.accounting.compare([laplace.event()] * 2, delta=1e-6)
    assert dp.accounting.compare(laplace, delta=1e-6)["pure"].epsilon == 0.1


@pytest.mark.parametrize(
    "price",
    [
        dp.accounting.pure.epsilon,
        dp.accounting.approximate.basic,
        lambda event: dp.accounting.concentrated.epsilon(event, 1e-6),
        lambda event: dp.accounting.renyi.epsilon(event, 10),
        lambda event: dp.accounting.pld.epsilon(event, 1e-6),
        dp.accounting.filters.cost,
    ],
)
def test_an_accountant_that_is_given_a_mechanism_says_how_to_ask_it(price):
    laplace = dp.mechanisms.Laplace(sensitivity=1, epsilon=0.1)
    for mistake in (laplace, laplace.event):
        with pytest.raises(AccountingError) as refusal:
            price(mistake)
        assert refusal.value.instead == "laplace.event()"
    assert price(laplace.event()) is not None


def test_exact_results_print_shortly():
    laplace, gaussian = (
        dp.mechanisms.Laplace(sensitivity=1, epsilon=0.3),
        dp.mechanisms.Gaussian(sensitivity=1, rho=0.1),
    )
    assert repr(dp.mechanisms.Laplace(sensitivity=1, epsilon=0.1).margin()) == "30"
    assert str(dp.accounting.pure.epsilon(laplace.event())) == "3/10"
    for result in (
        gaussian.delta(1),
        dp.accounting.concentrated.epsilon(gaussian.event(), 1e-6),
        dp.accounting.concentrated.rho(gaussian.event()).rho,
        dp.accounting.renyi.epsilon(laplace.event(), 10),
        dp.accounting.renyi.converted(laplace.event(), 1e-6).epsilon,
        dp.accounting.group.approximate(epsilon=0.1, delta=1e-9, size=5).delta,
        dp.accounting.approximate.advanced(epsilon=0.1, count=100, slack=1e-6).epsilon,
        dp.accounting.approximate.optimal(epsilon=0.1, count=100, delta=1e-6),
    ):
        assert len(str(result)) <= 40, result
