"""Lying never pays: every report of everybody in every small town, by probabilities held between rationals."""

import itertools
import math
from fractions import Fraction
from functools import cache

import pytest
from scipy.stats import binomtest

from examples import facility

EPSILONS = [Fraction(1, 10), Fraction(1), Fraction(4)]
TOWNS = [(2, 2), (2, 3), (3, 2), (3, 3), (5, 2)]


def expected_walks(town, place, reports, who, imposing):
    """Rationals with the expected walk of somebody at a place between them."""
    imposed = imposing * town.imposed_walk(place, reports[who])
    low = high = Fraction(0)
    for bracket, pair in zip(brackets(town, tuple(sorted(reports))), town.pairs, strict=True):
        low += bracket.low * facility.walk(place, pair)
        high += bracket.high * facility.walk(place, pair)
    return (1 - imposing) * low + imposed, (1 - imposing) * high + imposed


@cache
def brackets(town, reports):
    return town.mechanism.brackets(town.scores(reports))


def every_lie(town, people):
    """Everything that others may say, where somebody lives, and what they may say instead."""
    places = range(town.length + 1)
    for others in itertools.combinations_with_replacement(places, people - 1):
        yield from ((others, place, told) for place, told in itertools.permutations(places, 2))


@pytest.mark.parametrize("epsilon", EPSILONS, ids=str)
@pytest.mark.parametrize(("length", "people"), TOWNS)
def test_no_lie_ever_shortens_the_expected_walk(length, people, epsilon):
    town = facility.Town(length, epsilon)
    for others, place, told in every_lie(town, people):
        _, truth = expected_walks(town, place, (place, *others), 0, town.imposing)
        lie, _ = expected_walks(town, place, (told, *others), 0, town.imposing)
        assert truth < lie


@pytest.mark.parametrize(("epsilon", "people"), [(Fraction(1, 10), 2), (Fraction(1), 3)], ids=str)
def test_without_imposing_some_lie_pays(epsilon, people):
    """Otherwise the mixture would not be needed."""
    town = facility.Town(5, epsilon)
    paying = 0
    for others, place, told in every_lie(town, people):
        truth, _ = expected_walks(town, place, (place, *others), 0, 0)
        _, lie = expected_walks(town, place, (told, *others), 0, 0)
        paying += lie < truth
    assert paying > 0


def test_where_the_best_places_are_chosen_almost_surely_a_lie_saves_a_third_of_a_step_and_imposing_ends_it():
    """With homes 0, 0, 2 and 5 the facilities are at 0 and 5; whoever is at 2 says 3 to have one nearer at times."""
    town, truth, lie = facility.Town(5, Fraction(100)), (2, 0, 0, 5), (3, 0, 0, 5)
    saved = [expected_walks(town, 2, told, 0, 0)[0] for told in (truth, lie)]
    assert saved[0] - saved[1] > Fraction(33, 100)
    mixed = [expected_walks(town, 2, told, 0, town.imposing)[0] for told in (truth, lie)]
    assert mixed[0] < mixed[1]


def test_a_lie_by_d_places_saves_at_most_epsilon_d_over_two_by_the_choice_and_costs_d_over_length_when_imposed():
    town = facility.Town(4, Fraction(1))
    for others, place, told in every_lie(town, 3):
        off = abs(place - told)
        _, truth = expected_walks(town, place, (place, *others), 0, 0)
        lie, _ = expected_walks(town, place, (told, *others), 0, 0)
        assert truth - lie <= town.epsilon * off / 2
        assert town.imposed_walk(place, told) - town.imposed_walk(place, place) == Fraction(off, town.length)


def test_the_chance_of_imposing_balances_the_two():
    for length, epsilon in itertools.product(range(2, 12), EPSILONS):
        town = facility.Town(length, epsilon)
        assert town.imposing / length == (1 - town.imposing) * epsilon / 2


@pytest.mark.parametrize("epsilon", EPSILONS, ids=str)
def test_the_expected_total_walk_is_within_the_bound(epsilon):
    town = facility.Town(4, epsilon)
    for homes in itertools.combinations_with_replacement(range(5), 4):
        total = sum(expected_walks(town, place, homes, who, town.imposing)[1] for who, place in enumerate(homes))
        assert total <= -max(town.scores(homes)) + town.loss_bound(len(homes))


@pytest.mark.parametrize("length", [2, 5, 10])
@pytest.mark.parametrize("people", [10, 10_000])
def test_at_the_best_epsilon_the_bound_per_person_falls_with_the_square_root_of_people(length, people):
    town = facility.Town(length, facility.best_epsilon(people, length))
    closed = (length - 1) * math.sqrt(2 * people * length * math.log(len(town.pairs)))
    assert town.loss_bound(people) <= closed * 1.001


def test_the_places_are_epsilon_private_under_replace_one():
    town = facility.Town(3, Fraction(1))
    drawn = {(left, left + 1): Fraction(1, 3) for left in range(3)}
    for others, place, told in every_lie(town, 2):
        one, other = (
            [
                (1 - town.imposing) * bracket.high + town.imposing * drawn.get(pair, 0)
                for bracket, pair in zip(brackets(town, tuple(sorted(reports))), town.pairs, strict=True)
            ]
            for reports in ((place, *others), (told, *others))
        )
        assert all(float(a / b) <= math.e for a, b in zip(one, other, strict=True))


@pytest.mark.statistical(false_alarm=1e-6)
def test_facilities_are_imposed_as_often_as_said_and_by_reports(samples):
    """Of 400 placements 200 are expected. False-alarm rate 1e-6."""
    many = samples(400)
    town = facility.Town(2, Fraction(1))
    placed = [facility.place_facilities(town, (0, 2, 2)) for _ in range(many)]
    imposed = [each for each in placed if each.imposed is not None]
    assert binomtest(len(imposed), many).pvalue > 1e-6
    assert all(each.imposed == (each.pair[0], each.pair[1], each.pair[1]) for each in imposed)
    assert all(each.pair[1] - each.pair[0] == 1 for each in imposed)


def test_the_account_is_short(capsys):
    facility.main()
    assert len(capsys.readouterr().out.splitlines()) == 3
