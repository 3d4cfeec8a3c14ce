"""Limits are public numbers: they say when a release is there, whatever the data is."""

from dataclasses import fields
from fractions import Fraction

import pytest

from discreet.errors import ParameterError
from discreet.sandbox import Limits
from discreet.sandbox.limits import MEGABYTE, cores, installed_memory


def test_the_timetable_follows_from_public_numbers_alone():
    limits = Limits(seconds=0.1, rest=0.05, reading=2, workers=1)
    assert limits.rounds(1_000) == 1_000
    assert limits.begins(0) == 2
    assert limits.begins(3) == 2 + 3 * Fraction("0.15")
    assert limits.deadline(1_000) == 2 + 1_000 * Fraction("0.15")


def test_a_block_more_than_the_workers_take_makes_one_more_round():
    limits = Limits(workers=len(cores()))
    assert limits.rounds(limits.workers) == 1
    assert limits.rounds(limits.workers + 1) == 2


def test_cpu_is_at_most_the_time_of_a_block():
    assert Limits(seconds=2).cpu == Limits(seconds=2, cpu=5).cpu == 2
    assert Limits(seconds=2, cpu=0.5).cpu == Fraction(1, 2)


def test_there_is_a_worker_for_each_core_unless_fewer_are_asked_for():
    assert Limits().workers == len(cores())
    assert Limits(workers=1).workers == 1


@pytest.mark.parametrize(
    "given",
    [
        {"seconds": 0},
        {"seconds": -1},
        {"seconds": float("nan")},
        {"seconds": 0.001},
        {"seconds": 10**6},
        {"cpu": 0},
        {"memory": 1.5},
        {"memory": MEGABYTE},
        {"workers": 0},
        {"workers": 10_000},
        {"rest": -1},
        {"reading": float("inf")},
        {"constant_time": "yes"},
        {"isolation": "none"},
        {"isolation": None},
    ],
)
def test_a_limit_that_is_none_is_refused(given):
    with pytest.raises(ParameterError):
        Limits(**given)


def test_more_memory_than_the_machine_has_is_refused():
    installed = installed_memory()
    assert installed is not None
    with pytest.raises(ParameterError, match="workers with"):
        Limits(memory=installed + 1, workers=1)


def test_the_text_of_limits_in_fingerprints_names_every_one_and_stays():
    limits = Limits(seconds=2, workers=1, rest=1, constant_time=False)
    assert limits.fingerprint_text == (
        "Limits(seconds=Fraction(2, 1), cpu=Fraction(2, 1), memory=536870912, workers=1, rest=Fraction(1, 1), "
        "reading=Fraction(5, 1), constant_time=False, isolation='kernel')"
    )
    assert [f"{field.name}=" in limits.fingerprint_text for field in fields(Limits)] == [True] * len(fields(Limits))
