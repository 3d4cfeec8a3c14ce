"""Choosing on the Adult census: the most frequent marital status, by exact probabilities and by a session."""

from collections import Counter
from csv import DictReader
from fractions import Fraction

import pytest

import discreet as dp

STATUSES = (
    "Divorced",
    "Married-AF-spouse",
    "Married-civ-spouse",
    "Married-spouse-absent",
    "Never-married",
    "Separated",
    "Widowed",
)
EPSILON = 0.1
COLUMN = "Marital Status"


@pytest.fixture(scope="module")
def counts(adult):
    with adult.open(encoding="utf-8", newline="") as file:
        found = Counter(row[COLUMN] for row in DictReader(file))
    return [found[status] for status in STATUSES]


def mechanisms(*, monotone):
    words = {"sensitivity": 1, "epsilon": EPSILON, "monotone": monotone}
    return [dp.mechanisms.Exponential(**words), dp.mechanisms.PermuteAndFlip(**words)]


def test_the_statuses_are_all_that_there_are(counts):
    assert sum(counts) == 32_561
    assert counts[STATUSES.index("Married-civ-spouse")] == 14_976


@pytest.mark.parametrize("monotone", [True, False], ids=["add_remove", "replace_one"])
def test_married_is_chosen_in_at_least_99_percent_at_epsilon_a_tenth_by_the_exact_distribution(counts, monotone):
    for mechanism in mechanisms(monotone=monotone):
        chance = mechanism.brackets(counts)[STATUSES.index("Married-civ-spouse")]
        assert chance.low >= 1 - Fraction(1, 10**50)


@pytest.mark.parametrize("neighbours", ["add_remove", "replace_one"])
def test_a_session_on_the_census_chooses_married(adult, neighbours):
    """Anything else has probability below 1e-50."""
    with dp.protect(
        adult, privacy_unit=dp.ROW, neighbours=neighbours, budget=dp.Budget(epsilon=1), ledger=":memory:"
    ) as session:
        chosen = session.release(dp.table("adult").choose(STATUSES, score=dp.score(by=COLUMN)), epsilon=EPSILON)
        assert chosen.value == "Married-civ-spouse"
        assert session.remaining().epsilon == Fraction(9, 10)


def test_among_a_few_people_the_choice_is_open_and_still_follows_the_exact_distribution(adult, counts):
    """A sample of one in a thousand, at the same epsilon: nothing is sure, and nobody is given away."""
    few = [count // 1_000 for count in counts]
    chances = dp.mechanisms.PermuteAndFlip(sensitivity=1, epsilon=EPSILON, monotone=True).pmf(few)
    assert round(chances[STATUSES.index("Married-civ-spouse")], 2) == 0.39
    assert min(chances) > 0.01
