"""Occupations of Adult by reports of clients: Sales, 3,650 rows of 32,561, is within its interval by three methods."""

import csv
from fractions import Fraction

import pytest

import discreet as dp
from discreet.mechanisms import Laplace

EPSILON = "2.1972246"
SALES = 3_650
PEOPLE = 32_561
CONFIDENCE = 1 - 9e-7


@pytest.fixture
def people(adult, samples):
    """The occupations of all rows; four times each when a test is run again."""
    with adult.open(newline="") as file:
        return [row["Occupation"] for row in csv.DictReader(file)] * samples(1)


def two_coins(people):
    oracle = dp.local.oracles.KaryResponse.two_coin()
    domain = dp.local.SlotDomain(values=("no", "yes"))
    task = dp.local.Task(domain, "1.0987", oracle, question="Do you work in sales?")
    return task, ["yes" if each == "Sales" else "no" for each in people], "yes"


def unary(people):
    values = tuple(sorted(set(people)))
    oracle = dp.local.oracles.UnaryEncoding(len(values), Fraction(3, 4), Fraction(1, 4))
    return dp.local.Task(dp.local.SlotDomain(values=values), EPSILON, oracle), people, "Sales"


def chosen(people):
    return dp.local.Task.choose(domain=sorted(set(people)), epsilon=EPSILON, n=len(people)), people, "Sales"


# All intervals hold with probability 1 - 9e-7; the correction for skewness changes that by at most a twentieth.
@pytest.mark.statistical(false_alarm=1e-6)
@pytest.mark.parametrize("method", [two_coins, unary, chosen])
def test_sales_is_within_its_interval(method, people, samples):
    task, values, value = method(people)
    client = dp.local.Client(task.assignment())
    state = dp.local.collector.count_reports(task, map(client.report, values))
    found = dp.local.estimates.estimate(task, state, CONFIDENCE)
    place = found.values.index(value)
    truth = SALES * samples(1)
    assert state.reports == PEOPLE * samples(1)
    assert found.low[place] <= truth <= found.high[place]
    assert found.high[place] - found.low[place] < 2_000 * samples(1)


def test_the_chosen_oracle_has_two_thirds_of_the_error_of_both_textbook_forms_and_the_centre_a_hundredth():
    values = [str(each) for each in range(15)]
    errors = {}
    for name, oracle in (
        ("coins", dp.local.oracles.KaryResponse.two_coin()),
        ("unary", dp.local.oracles.UnaryEncoding(15, Fraction(3, 4), Fraction(1, 4))),
        ("chosen", dp.local.Task.choose(domain=values, epsilon=EPSILON, n=PEOPLE).oracle),
    ):
        errors[name] = (PEOPLE * oracle.variance()) ** 0.5
    assert errors["coins"] == errors["unary"] == pytest.approx(156.3, abs=0.1)
    assert errors["chosen"] == pytest.approx(105.8, abs=0.1)
    assert Laplace(sensitivity=2, epsilon=Fraction(EPSILON)).standard_deviation == pytest.approx(1.22, abs=0.01)
