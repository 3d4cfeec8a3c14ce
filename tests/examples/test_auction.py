"""The revenue of a private price is near that of the best price, by exact probabilities and by runs."""

import itertools
import math

import pytest

import discreet as dp
from examples import auction
from grids import over

MOST, STEP = 60, 3
CROWDS = {
    "spread": tuple(range(1, 61)) * 4,
    "alike": (30,) * 200,
    "few high": (1,) * 150 + (60,) * 9,
    "between prices": (5, 8, 11) * 60,
    "nobody": (),
}


@pytest.mark.parametrize("step", [1, 2, 3])
def test_the_best_price_of_the_grid_is_within_a_step_a_head_of_the_best_price_of_all(step):
    for bids in itertools.product(range(7), repeat=4):
        best = max(auction.revenue(bids, price) for price in auction.prices(6, step))
        assert best >= auction.best_revenue(bids) - len(bids) * step
        assert auction.best_revenue(bids) == max(auction.revenue(bids, price) for price in range(7))


def test_a_grid_that_skips_prices_loses_almost_a_step_a_head_somewhere():
    """The last term of the theorem is needed: everybody bids just below a price."""
    bids = (29,) * 50
    best = max(auction.revenue(bids, price) for price in auction.prices(30, 10))
    assert auction.best_revenue(bids) - best == 9 * len(bids)


@over("neighbours", ["add_remove", "replace_one"])
@over("epsilon", [0.1, 1, 5])
@over("crowd", CROWDS.values())
def test_the_bound_fails_with_probability_at_most_beta_by_the_exact_distribution(crowd, epsilon, neighbours):
    prices = auction.prices(MOST, STEP)
    mechanism = dp.mechanisms.PermuteAndFlip(sensitivity=MOST, epsilon=epsilon, monotone=neighbours == "add_remove")
    brought = [auction.revenue(crowd, price) for price in prices]
    chances = mechanism.pmf(brought)
    for beta in (0.5, 0.1, 0.01, 1e-6):
        bound = auction.loss_bound(len(crowd), most=MOST, step=STEP, epsilon=epsilon, beta=beta, neighbours=neighbours)
        least = auction.best_revenue(crowd) - bound
        failing = math.fsum(chance for chance, made in zip(chances, brought, strict=True) if made < least)
        assert failing <= beta


@pytest.mark.parametrize("neighbours", ["add_remove", "replace_one"])
def test_a_session_sells_within_the_bound(neighbours):
    """The bound fails with probability at most 1e-6 in each of the two runs."""
    bids = CROWDS["spread"]
    chosen = auction.sell(bids, most=MOST, step=STEP, epsilon=1, neighbours=neighbours)
    bound = auction.loss_bound(len(bids), most=MOST, step=STEP, epsilon=1, beta=1e-6, neighbours=neighbours)
    assert auction.revenue(bids, chosen.value) >= auction.best_revenue(bids) - bound
    stated = auction.loss_bound(0, most=MOST, step=STEP, epsilon=1, beta=0.05, neighbours=neighbours)
    assert chosen.within == pytest.approx(stated, rel=1e-9)


def test_without_noise_the_price_is_the_best_of_the_grid(monkeypatch):
    monkeypatch.setattr(dp, "protect", dp.testing.protect)
    for name in ("spread", "alike", "few high", "between prices"):
        bids = CROWDS[name]
        price = auction.sell(bids, most=MOST, step=STEP, epsilon=1).value
        best = max(auction.revenue(bids, other) for other in auction.prices(MOST, STEP))
        assert auction.revenue(bids, price) == best


def test_the_account_is_short(capsys):
    auction.main()
    assert len(capsys.readouterr().out.splitlines()) == 4
