"""The two ways to find quantiles: prices, shapes of what is noisy, expected errors against what happens."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from discreet.accounting.prices import total
from discreet.catalog.privacy_unit import Caps, Neighbours
from discreet.mechanisms import Gaussian, Laplace
from discreet.mechanisms.quantile import NoisyTree
from discreet.planner.budget.allocation import Spending
from discreet.planner.queries import quantile_methods
from discreet.planner.queries.quantile_methods import BRANCHINGS, ByChoice, ByTree, Layout, by_choice, by_tree
from discreet.release.values.weighted_sums import Sums
from discreet.workloads.tree import Tree

QUARTILES = (Fraction(1, 4), Fraction(1, 2), Fraction(3, 4))
PURE = Spending((Laplace,), Fraction(1), Fraction(1), Fraction(0), "")
RHO = Spending((Gaussian,), Fraction(1, 20), Fraction(1), Fraction(1, 10**9), "", (Fraction(20),))
ONE_ROW = Caps(1, 1, 1)
CAPS = Caps(5, 2, 3)


def layout(steps, caps=ONE_ROW, groups=1, neighbours=Neighbours.ADD_REMOVE):
    return Layout(caps, groups, neighbours, steps)


def weighed(shares):
    return [(share, Fraction(1)) for share in shares]


@pytest.mark.parametrize("how", list(Neighbours))
@pytest.mark.parametrize("caps", [ONE_ROW, CAPS, Caps(4), Caps(None, 2, 2)], ids=str)
def test_both_ways_cost_what_was_asked_for_and_never_more(caps, how):
    for spent, groups in itertools.product((PURE, RHO), (1, 4)):
        where = layout(20, caps, groups, how)
        for way in (by_choice(where, spent, weighed(QUARTILES)), by_tree(where, spent, QUARTILES)):
            price = total(way.event)
            paid = price.epsilon if spent is PURE else price.rho
            assert spent.amount * (1 - Fraction(1, 10**9)) <= paid <= spent.amount


def test_weights_divide_the_price_of_choices():
    way = by_choice(layout(20), PURE, [(Fraction(1, 2), Fraction(3)), (Fraction(1, 4), Fraction(1))])
    assert [selection.event().epsilon for selection in way.selections] == [Fraction(3, 4), Fraction(1, 4)]


def test_scores_of_the_median_move_by_one_for_each_row_and_those_of_other_quantiles_by_more():
    assert layout(9, Caps(7)).score_sensitivity(Fraction(1, 2)).l1 == 7
    assert layout(9, Caps(7)).score_sensitivity(Fraction(9, 10)).l1 == 63
    assert layout(9, Caps(None, 2, 3), 5).score_sensitivity(Fraction(1, 2)).l2_squared == 2 * 3**2
    assert layout(9, Caps(7), 1, Neighbours.REPLACE_ONE).score_sensitivity(Fraction(9, 10)).l1 == 70


@pytest.mark.parametrize("spent", [PURE, RHO], ids=["pure", "rho"])
def test_without_noise_both_ways_find_the_same_steps(spent):
    random = np.random.default_rng(1)
    where = layout(30, CAPS, 5)
    counts = [int(n) for n in random.poisson(random.exponential(5, 150))]
    chosen, tree = by_choice(where, spent, weighed(QUARTILES)), by_tree(where, spent, QUARTILES)
    assert chosen.places(chosen.combine(counts)) == tree.places(tree.combine(counts))


@pytest.mark.parametrize("spent", [PURE, RHO], ids=["pure", "rho"])
def test_what_is_noisy_is_read_back_from_what_is_measured(spent):
    where = layout(30, CAPS, 5)
    counts = list(range(150))
    for way in (by_choice(where, spent, weighed(QUARTILES)), by_tree(where, spent, QUARTILES)):
        noisy = way.randomize(counts)
        measured = way.measurements(noisy, -3, Fraction(1, 2))
        assert way.restore_noisy(measured, -3) == noisy
        assert all(each.l1 >= 1 and each.scale > 0 for each in measured)
        assert [len(steps) for steps in way.places(noisy)] == [5, 5, 5]
        assert bool(measured[0].places) == isinstance(way, ByTree)


def test_of_a_large_group_both_ways_find_the_quantile():
    """A million rows at each step: a step that is wrong has a chance below 1e-50."""
    where = layout(9, CAPS, 2)
    for spent in (PURE, RHO):
        for way in (by_choice(where, spent, weighed(QUARTILES)), by_tree(where, spent, QUARTILES)):
            assert way.places(way.randomize([10**6] * 18)) == [[2, 2], [4, 4], [6, 6]]


@pytest.mark.parametrize("spent", [PURE, RHO], ids=["pure", "rho"])
def test_the_variance_of_an_estimate_is_that_of_its_coefficients(spent):
    way = by_tree(layout(25, CAPS, 3), spent, QUARTILES)
    stated = way._variances(0)
    for boundary in (1, 7, 24):
        contrast = (np.arange(25) < boundary) - 0.25
        weights = way.tree.weights(contrast.astype(float), list(way.noise.variances))
        parts = zip(way.noise.variances, weights, strict=True)
        exact = sum(variance * (level**2).sum() for variance, level in parts if math.isfinite(variance))
        assert stated[boundary - 1] == pytest.approx(exact)


@pytest.mark.parametrize("steps", [2, 10, 126, 1000])
@pytest.mark.parametrize("kind", [PURE, RHO], ids=["pure", "rho"])
def test_the_tree_that_is_taken_is_no_worse_than_trees_of_any_branching_with_equal_shares(steps, kind):
    where, share = layout(steps, CAPS, 3), (Fraction(1, 2),)
    best = by_tree(where, kind, share)._variances(0).mean()
    for branching in {*(b for b in BRANCHINGS if b < steps), steps}:
        tree = Tree(steps, branching)
        amount = kind.amount / len(tree.widths)
        sizes = [where.level(width) for width in tree.widths]
        if kind is PURE:
            variances = [2 * (moved.l1 / float(amount)) ** 2 for moved in sizes]
        else:
            variances = [moved.l2_squared / (2 * float(amount)) for moved in sizes]
        equal = ByTree(where, tree, _Fixed(tuple(variances)), share)
        assert best <= 1.02 * equal._variances(0).mean(), branching


class _Fixed(NoisyTree):
    """A tree whose variances are said."""

    @property
    def variances(self):
        return self.levels


@pytest.mark.statistical(false_alarm=1e-6)
def test_the_error_that_is_expected_of_a_tree_is_about_the_one_that_happens(samples):
    """The mean over 60 groups and 6 releases, whose standard error is a twenty-fifth of it: false alarms below 1e-9."""
    where = layout(200, ONE_ROW, 60)
    way = by_tree(where, RHO, (Fraction(1, 3),))
    counts = [1] * 200 * 60
    off = []
    for _ in range(samples(6)):
        steps = way.places(way.randomize(counts))[0]
        off += [max(0.0, step - 200 / 3, 200 / 3 - step - 1) for step in steps]
    assert way.expected_error(200) == pytest.approx(np.mean(off), rel=0.3)


def test_choosing_is_better_for_one_quantile_and_a_tree_for_many():
    many = tuple(Fraction(part, 20) for part in range(1, 20))
    for spent in (PURE, RHO):
        where = layout(126)
        margins = [
            [
                way.margin(0, Fraction(19, 20))
                for way in (by_choice(where, spent, weighed(shares)), by_tree(where, spent, shares))
            ]
            for shares in ((Fraction(1, 2),), many)
        ]
        assert margins[0][0] < margins[0][1]
        assert margins[1][0] > margins[1][1]


@pytest.mark.parametrize("spent", [PURE, RHO], ids=["pure", "rho"])
def test_a_tree_of_two_steps_has_the_margin_of_one_decision_on_one_side(spent):
    way = by_tree(layout(2), spent, (Fraction(1, 2),))
    weights, counts = way.tree.contrast_weights(0.5, way.noise.variances)
    noises = [noise for noise in way.noise.levels if noise is not None]
    sums = Sums.of(noises, [weights[i] for i in way._measured_levels], [counts[i] for i in way._measured_levels])
    assert way.margin(0, Fraction(19, 20)) == math.ceil(sums.margins(Fraction(9, 10)).max())


@pytest.mark.parametrize("spent", [PURE, RHO], ids=["pure", "rho"])
def test_margins_of_very_many_steps_are_bounds_of_the_same_size(spent, monkeypatch):
    way = by_tree(layout(300), spent, (Fraction(1, 3),))
    exact = way.margin(0, Fraction(19, 20))
    monkeypatch.setattr(quantile_methods, "_MOST_EXACT", 100)
    quantile_methods._contrast_margin.cache_clear()
    bound = way.margin(0, Fraction(19, 20))
    quantile_methods._contrast_margin.cache_clear()
    assert exact < bound < 1.6 * exact


@pytest.mark.statistical(false_alarm=2e-6)
@pytest.mark.parametrize("spent", [PURE, RHO], ids=["pure", "rho"])
def test_quantiles_are_within_their_margin_as_often_as_it_says(spent, samples):
    """False alarm: 1e-6 for each noise (Hoeffding); margins are proved for one half."""
    way, counts, draws = by_tree(layout(40), spent, (Fraction(1, 4),)), [3, 0, 8, 1] * 10, samples(400)
    margin, exact = way.margin(0, Fraction(1, 2)), np.concatenate([[0], np.cumsum(counts)])
    found = [way.places(way.randomize(counts))[0][0] for _ in range(draws)]
    missed = [max(exact[step] - 30, 30 - exact[step + 1]) > margin for step in found]
    assert np.mean(missed) <= 0.5 + math.sqrt(math.log(1e6) / (2 * draws))


def test_names_say_which_noise_it_is():
    where = layout(126)
    names = [
        type(way)(*vars(way).values()).name
        for way in (by_choice(where, PURE, weighed(QUARTILES)), by_tree(where, RHO, QUARTILES))
    ]
    assert names == ["permute and flip by ranks", "discrete Gaussian noise on a tree of 2 branches"]
    assert by_choice(where, RHO, weighed(QUARTILES)).name == "the exponential mechanism by ranks"
    assert isinstance(by_tree(where, RHO, QUARTILES).noise.levels[0], Gaussian)
    assert isinstance(by_choice(where, RHO, weighed(QUARTILES)), ByChoice)
