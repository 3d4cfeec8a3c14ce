"""The stated loss of a year of reports bounds what an exact adversary computes, and memoisation stops the attack."""

import itertools
import os
from collections import Counter
from fractions import Fraction
from math import exp, log, sqrt

import pytest

from discreet.errors import ParameterError
from discreet.exact.rounding import exp_down
from discreet.local import Task, oracles
from discreet.local.client import Client
from discreet.local.longitudinal import (
    largest_loss,
    memos,
    most_likely_value,
    pattern,
    sequence_likelihood,
    sequence_loss,
)
from discreet.local.oracles import ratio_within
from local.local_tasks import KINDS, TWO_STAGES, pair, task

DAYS = 365
ALARM = 1e-6
REPEATS = [("krr", "fresh"), *((kind, repeat) for kind in TWO_STAGES for repeat in ("memoised", "two_stage"))]


def read(kind, size, epsilon, repeat, **fields):
    return Task.from_json(task(kind, size, epsilon, repeat, cohorts=1, **fields))


def outcomes_of(given):
    oracle = given.decoder
    law = oracle.pmf(0, 0) if given.oracle.kind == "lh" else oracle.pmf(0)
    return list(law)


def all_likelihoods(given, size, length):
    """Of all sequences of values, those of all reports."""
    reports = list(itertools.product(outcomes_of(given), repeat=length))
    sequences = itertools.product(range(size), repeat=length)
    return {slots: [sequence_likelihood(given, each, slots) for each in reports] for slots in sequences}


def most(one, other):
    """The largest ratio of two rows of likelihoods; None where it is infinite."""
    if any(above and not below for above, below in zip(one, other, strict=True)):
        return None
    return max(above / below for above, below in zip(one, other, strict=True) if below)


# The definition


def test_after_max_values_reports_have_the_outcome_of_the_default():
    assert memos([0, 1, 0, 2, 1, 3], 2) == [0, 1, 0, None, 1, None]
    assert memos([0, 1, 2], None) == [0, 1, 2]
    assert memos([], 3) == []


def test_the_pattern_says_which_times_have_equal_values():
    assert pattern([7, 7, 3, 7, 3]) == pattern([1, 1, 0, 1, 0]) == [0, 0, 2, 0, 2]
    assert pattern([7, 7, 3]) != pattern([7, 3, 3])


@pytest.mark.parametrize(("kind", "repeat"), REPEATS)
def test_likelihoods_of_all_reports_add_up_to_one(kind, repeat):
    size = 2 if kind == "unary" else 3
    given = read(kind, size, "1", repeat, max_values=1 if repeat != "fresh" else None)
    assert {sum(row) for row in all_likelihoods(given, size, 3).values()} == {1}


@pytest.mark.parametrize("repeat", ["fresh", "memoised", "two_stage"])
def test_the_likelihood_of_one_report_is_that_of_its_oracle(repeat):
    given = read("krr", 4, "1", repeat)
    for slot, outcome in itertools.product(range(4), repeat=2):
        assert sequence_likelihood(given, [outcome], [slot]) == given.decoder.probability(outcome, slot)


# The guarantee, for all sequences and all reports of a few times


@pytest.mark.guarantee("local.longitudinal")
@pytest.mark.parametrize(("kind", "repeat"), REPEATS)
@pytest.mark.parametrize("max_values", [1, 2, None])
def test_no_reports_of_sequences_with_one_pattern_have_a_larger_ratio_than_stated(kind, repeat, max_values):
    size, length = (2, 3) if kind == "unary" else (3, 3)
    given = read(kind, size, "1", repeat, max_values=None if repeat == "fresh" else max_values)
    likelihoods = all_likelihoods(given, size, length)
    for one, other in itertools.permutations(likelihoods, 2):
        if pattern(one) == pattern(other):
            loss = sequence_loss(given, one)
            assert loss == sequence_loss(given, other)
            assert loss.same_pattern <= largest_loss(given, length).same_pattern
            assert most(likelihoods[one], likelihoods[other]) <= exp_down(loss.same_pattern)


@pytest.mark.guarantee("local.longitudinal")
@pytest.mark.parametrize(("kind", "repeat"), [("krr", "fresh"), *((kind, "two_stage") for kind in TWO_STAGES)])
def test_no_reports_of_any_two_sequences_have_a_larger_ratio_than_stated(kind, repeat):
    size, length = (2, 2) if kind == "unary" else (3, 3)
    given = read(kind, size, "1", repeat, max_values=None if repeat == "fresh" else 2)
    likelihoods = all_likelihoods(given, size, length)
    for one, other in itertools.permutations(likelihoods, 2):
        assert most(likelihoods[one], likelihoods[other]) <= exp_down(sequence_loss(given, one).any_pattern)


@pytest.mark.guarantee("local.longitudinal")
def test_memoised_reports_show_when_a_value_changes():
    given = read("krr", 3, "1", "memoised")
    likelihoods = all_likelihoods(given, 3, 2)
    assert most(likelihoods[0, 1], likelihoods[0, 0]) is None
    assert sequence_loss(given, (0, 1)).any_pattern is None
    assert sequence_loss(given, (0,)).any_pattern == 1


@pytest.mark.guarantee("local.longitudinal")
def test_two_stages_of_unary_encoding_lose_more_than_the_fresh_stage_between_patterns():
    """Bits of other values are the same permanent bits where the value stays, and new ones where it changes."""
    given = read("unary", 400, "1", "two_stage")
    every = tuple(range(400))
    stays, changes = (sequence_likelihood(given, [every, every], slots) for slots in ([0, 0], [0, 1]))
    loss = sequence_loss(given, [0, 0])
    assert stays / changes > exp(2 * 0.5)
    assert loss.any_pattern > 2 * Fraction(1, 2)
    assert stays / changes <= exp_down(loss.any_pattern)


def test_the_loss_of_a_memoised_sequence_is_reached():
    given = read("krr", 3, "1", "memoised")
    likelihoods = all_likelihoods(given, 3, 3)
    largest = most(likelihoods[0, 1, 0], likelihoods[1, 0, 1])
    assert largest == given.oracle.ratio**2
    assert abs(log(largest) - sequence_loss(given, (0, 1, 0)).same_pattern) < 1e-5


def test_the_largest_loss_is_public_and_bounded_by_max_values_and_by_the_fresh_stages():
    assert largest_loss(read("krr", 5, "2", "fresh"), DAYS).same_pattern == 2 * DAYS
    assert largest_loss(read("krr", 5, "2", "memoised", max_values=3), DAYS).same_pattern == 6
    assert largest_loss(read("krr", 5, "2", "memoised", max_values=None), DAYS).same_pattern == 10
    two = read("krr", 5, "2", "two_stage", max_values=3)
    assert largest_loss(two, DAYS) == largest_loss(two, 10**6).__class__(Fraction(6), Fraction(DAYS))
    assert largest_loss(two, 2).same_pattern == 2
    assert largest_loss(two, 0).same_pattern == 0


def test_slots_outside_of_the_domain_and_negative_numbers_are_refused():
    given = read("krr", 3, "1", "memoised")
    for slots in ([3], [-1]):
        with pytest.raises(ParameterError):
            sequence_loss(given, slots)
        with pytest.raises(ParameterError):
            sequence_likelihood(given, [0], slots)
    with pytest.raises(ParameterError):
        largest_loss(given, -1)


# A year of a client


def year(size, changes):
    """A value that changes again and again, and comes back."""
    return [(day // (DAYS // changes + 1)) * 2 % size for day in range(DAYS)]


def alternatives(slots, size):
    """All sequences with the same pattern."""
    visited = list(dict.fromkeys(slots))
    for others in itertools.permutations(range(size), len(visited)):
        names = dict(zip(visited, others, strict=True))
        yield [names[slot] for slot in slots]


@pytest.mark.full
@pytest.mark.guarantee("local.longitudinal")
@pytest.mark.pitfall("C5")
@pytest.mark.parametrize(("kind", "repeat"), REPEATS)
@pytest.mark.parametrize("max_values", [2, 4])
def test_over_a_year_the_stated_loss_bounds_what_an_exact_adversary_computes(kind, repeat, max_values):
    """The adversary knows the pattern and the task, has all reports of a real client, and computes in rationals."""
    given = read(kind, 5, "1", repeat, max_values=None if repeat == "fresh" else max_values)
    slots = year(5, 9)
    assert len(set(slots)) == 5
    client = Client(given.assignment(), None, {})
    outcomes = [given.decoder.outcome(client.report(slot)[31:]) for slot in slots]
    likelihoods = [sequence_likelihood(given, outcomes, others) for others in alternatives(slots, 5)]
    stated = sequence_loss(given, slots).same_pattern
    assert stated == largest_loss(given, DAYS).same_pattern
    assert stated == (DAYS if repeat == "fresh" else max_values)
    assert max(likelihoods) / min(likelihoods) <= exp_down(stated)


# The attack

PERMANENT = exp(2) / (exp(2) + 4)
"""Share of clients whose permanent outcome of k-ary response is their value: the best that one report allows."""


def survey(kind, repeat):
    """Five values and a permanent outcome of epsilon 2; in two stages, a fresh one of epsilon 3."""
    root = ratio_within(Fraction(3, 2))
    second = {"second": {"one": pair(root / (root + 1)), "zero": pair(1 / (root + 1))}, "epsilon_second": "3"}
    base = task(kind, 5, "2", "fresh")
    return Task.from_json(base | {"repeat": repeat, "max_values": None} | (second if repeat == "two_stage" else {}))


def rates(given, people, *, is_redrawn=False):
    """Share of clients whose value the attack finds after 1, 10 and 100 reports of it."""
    hits = Counter()
    for person in range(people):
        client, slot, outcomes = Client(given.assignment(), os.urandom(16), {}), person % 5, []
        for _ in range(100):
            if is_redrawn:
                client._outcomes, client._secret = {}, os.urandom(16)
            outcomes.append(given.decoder.outcome(client.report(slot)[31:]))
        for number in (1, 10, 100):
            hits[number] += most_likely_value(given, outcomes[:number], is_redrawn=is_redrawn) == slot
    return [hits[number] / people for number in (1, 10, 100)]


def best(oracle):
    """The largest share of uniform values that anybody guesses from one outcome."""
    laws = [oracle.pmf(slot) for slot in range(oracle.size)]
    return float(sum(max(law[outcome] for law in laws) for outcome in laws[0]) / oracle.size)


def half_width(people):
    """Of a share, at a ninth of the false-alarm rate, two-sided (Hoeffding)."""
    return sqrt(log(18 / ALARM) / (2 * people))


@pytest.mark.full
@pytest.mark.pitfall("C5")
@pytest.mark.statistical(false_alarm=ALARM)
@pytest.mark.guarantee("local.longitudinal")
def test_the_attack_finds_every_value_of_k_ary_response_unless_it_is_memoised(samples):
    people = samples(150)
    redrawn = rates(survey("krr", "memoised"), people, is_redrawn=True)
    assert abs(redrawn[0] - PERMANENT) < half_width(people)
    assert redrawn[1:] == [pytest.approx(1, abs=half_width(people)), 1]
    stable = rates(survey("krr", "memoised"), people)
    assert stable[0] == stable[1] == stable[2]
    assert abs(stable[0] - PERMANENT) < half_width(people)
    assert abs(best(survey("krr", "memoised").oracle) - PERMANENT) < 1e-5


@pytest.mark.full
@pytest.mark.pitfall("C5")
@pytest.mark.statistical(false_alarm=ALARM)
@pytest.mark.guarantee("local.longitudinal")
def test_the_attack_finds_every_value_of_two_stages_unless_the_first_is_memoised(samples):
    """Peers redraw the permanent bits for each report: 0.33, 0.68 and 1.00 after 1, 10 and 100 reports."""
    people, given = samples(150), survey("unary", "two_stage")
    redrawn = rates(given, people, is_redrawn=True)
    assert abs(redrawn[0] - best(given.decoder)) < half_width(people)
    assert 0.68 - half_width(people) < redrawn[1] < 0.68 + half_width(people)
    assert redrawn[2] > 0.95
    stable = rates(given, people)
    assert abs(stable[0] - best(given.decoder)) < half_width(people)
    assert stable[2] < best(given.oracle) + half_width(people)


def test_all_kinds_can_be_memoised():
    assert {read(kind, 5, "1", "memoised").oracle.kind for kind in KINDS} == {*oracles.KINDS}
