"""A schedule is public before data; a learner gets its sums in order and no others."""

from fractions import Fraction

import numpy as np
import pytest

import discreet as dp
from discreet.learning.core.lattice import ONE
from discreet.learning.core.rows import EncodedRows
from discreet.learning.core.sums import LARGEST_CLIP, Contributions
from discreet.learning.core.training import ExactSums, NoisySums, PeopleInMemory, Schedule, planned_sum


class Count:
    """Counts rows by the slot of the first feature."""

    length, clip, has_distinct_places = 4, ONE, True

    def contributions(self, rows):
        places = rows.codes[:, :1].astype(np.int64)
        return Contributions(places, np.full_like(places, ONE))


def people():
    codes = np.repeat(np.arange(4, dtype=np.uint16), [5, 0, 2, 9])[:, None]
    return PeopleInMemory([EncodedRows(codes, np.zeros(16, dtype=np.int64))])


@pytest.mark.guarantee("learning.core.training")
def test_the_event_of_a_schedule_is_that_of_all_its_sums():
    schedule = Schedule(tuple(planned_sum(ONE, 4, Fraction(1, 100)) for _ in range(5)))
    assert schedule.rho <= Fraction(5, 100)
    assert dp.accounting.prices.total(schedule.event).rho == schedule.rho
    assert schedule.rho > Fraction(499, 10_000)


def test_a_clip_that_sums_do_not_allow_is_refused_with_its_schedule():
    assert planned_sum(LARGEST_CLIP, 4, Fraction(1, 100)).clip == LARGEST_CLIP
    with pytest.raises(dp.errors.ParameterError, match="features"):
        planned_sum(LARGEST_CLIP + 1, 4, Fraction(1, 100))


@pytest.mark.guarantee("learning.core.training")
def test_replacing_a_person_needs_twice_the_noise():
    one, two = (planned_sum(ONE, 4, Fraction(1, 100), replace_one=each).noise.sigma for each in (False, True))
    assert two == pytest.approx(2 * one)


@pytest.mark.guarantee("learning.core.training")
def test_training_gets_the_planned_sums_and_no_others():
    sums = NoisySums(people(), Schedule((planned_sum(ONE, 4, Fraction(10**6)),)))
    assert np.rint(sums.sum(Count()) / ONE).tolist() == [5, 0, 2, 9]
    with pytest.raises(RuntimeError, match="more sums"):
        sums.sum(Count())


@pytest.mark.guarantee("learning.core.training")
def test_a_sum_of_another_clip_or_of_more_places_is_refused():
    for planned in (planned_sum(ONE - 1, 4, Fraction(1)), planned_sum(ONE, 3, Fraction(1))):
        with pytest.raises(RuntimeError, match="another sum"):
            NoisySums(people(), Schedule((planned,))).sum(Count())


def test_sums_for_tests_have_no_noise():
    schedule = Schedule((planned_sum(ONE, 4, Fraction(1, 10**6)),))
    assert (ExactSums(people(), schedule).sum(Count()) // ONE).tolist() == [5, 0, 2, 9]


def test_public_randomness_differs_from_call_to_call_but_for_exact_sums():
    people = PeopleInMemory([])
    noisy, exact = NoisySums(people, Schedule(())), ExactSums(people, Schedule(()))
    assert noisy.public_generator().integers(2**62) != noisy.public_generator().integers(2**62)
    assert exact.public_generator().integers(2**62) == exact.public_generator().integers(2**62)
