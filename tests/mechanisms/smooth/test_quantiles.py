"""Quantiles: the contract holds exactly on all small datasets, the bounds are the classic ones or better, and fast."""

import math
import random
from fractions import Fraction

import numpy as np
import pytest
from small_worlds import check_contract, check_smoothness, datasets, neighbours

from discreet.errors import ParameterError
from discreet.mechanisms.smooth import InterquartileRange, Median, Quantile, StepCounts

VALUES = range(4)
LEVELS = [Fraction(1, 2), Fraction(1, 4), Fraction(9, 10), Fraction(1, 1000)]
SECRET = 918_273


def quantile_of(level, max_rows, relation):
    def made(rows):
        return Quantile(list(rows), level=level, bounds=(0, 3), max_rows=max_rows, neighbours=relation)

    return made


def range_of(max_rows, relation):
    def made(rows):
        return InterquartileRange(list(rows), bounds=(0, 3), max_rows=max_rows, neighbours=relation)

    return made


@pytest.mark.guarantee("mechanisms.smooth.quantiles")
@pytest.mark.parametrize("level", LEVELS, ids=str)
@pytest.mark.parametrize(
    ("max_rows", "relation", "most"),
    [(1, "add_remove", 6), (2, "add_remove", 5), (1, "replace_one", 6), (2, "replace_one", 4)],
)
def test_a_quantile_keeps_the_contract_on_all_small_datasets(level, max_rows, relation, most):
    reached = check_contract(quantile_of(level, max_rows, relation), VALUES, most, max_rows, relation)
    assert reached == 1 or (max_rows == 2 and reached > 0.9)  # A_0 is the local sensitivity itself


@pytest.mark.guarantee("mechanisms.smooth.quantiles")
@pytest.mark.parametrize(
    ("max_rows", "relation", "most"),
    [(1, "add_remove", 6), (2, "add_remove", 4), (1, "replace_one", 5), (2, "replace_one", 4)],
)
def test_the_interquartile_range_keeps_the_contract_on_all_small_datasets(max_rows, relation, most):
    check_contract(range_of(max_rows, relation), VALUES, most, max_rows, relation)


@pytest.mark.guarantee("mechanisms.smooth.quantiles")
@pytest.mark.parametrize("relation", ["add_remove", "replace_one"])
@pytest.mark.parametrize("max_rows", [1, 2])
def test_the_smooth_sensitivity_of_quantiles_is_smooth_and_covers_every_move(relation, max_rows):
    for made in (quantile_of(Fraction(1, 2), max_rows, relation), range_of(max_rows, relation)):
        near = check_smoothness(made, VALUES, 4, max_rows, relation, Fraction(1, 5))
        assert 0.999 < near <= 1


@pytest.mark.parametrize("level", LEVELS[:3], ids=str)
@pytest.mark.parametrize("relation", ["add_remove", "replace_one"])
def test_every_bound_is_reached_by_some_data_within_its_distance(level, relation):
    """The true local sensitivity at distance k, by walking all datasets, against A_k."""
    made, everything = quantile_of(level, 1, relation), list(datasets(VALUES, 5))
    around = {rows: neighbours(rows, VALUES, 1, relation) for rows in datasets(VALUES, 8)}
    value = {rows: made(rows).value() for rows in datasets(VALUES, 9)}
    moves = {rows: max(abs(value[rows] - value[other]) for other in near) for rows, near in around.items()}
    equal = total = 0
    for rows in (rows for rows in everything if len(rows) >= 4):
        within = {rows}
        for distance in range(3):
            true, bound = max(moves[other] for other in within), made(rows).at(distance)
            assert true <= bound
            equal, total = equal + (true == bound), total + 1
            within = within.union(*(around[other] for other in within))
    assert equal / total > 0.95


def test_replacing_rows_gives_the_classic_windows():
    chooser = random.Random(31)  # noqa: S311 - chooses cases, not noise
    for _ in range(60):
        count = chooser.randint(1, 40)
        rows = sorted(chooser.randint(0, 50) for _ in range(count))
        median = Median(rows, bounds=(0, 50), neighbours="replace_one")
        rank = math.ceil(Fraction(count, 2))

        def x(i, rows=rows):
            return 0 if i <= 0 else 50 if i > len(rows) else rows[i - 1]

        for k in range(count + 3):
            assert median.at(k) == max(x(rank + t) - x(rank + t - k - 1) for t in range(k + 2))


def test_adding_or_removing_rows_reaches_half_as_far():
    rows = range(0, 1010, 10)
    replaced = Median(list(rows), bounds=(0, 1000), neighbours="replace_one")
    added = Median(list(rows), bounds=(0, 1000))
    assert [replaced.at(k) for k in (0, 10, 20)] == [10, 110, 210]
    assert [added.at(k) for k in (0, 10, 20)] == [10, 110, 210]  # as long, but always about the middle
    lopsided = [0] * 50 + [500] + [600] * 20 + [1000] * 30
    assert Median(lopsided, bounds=(0, 1000)).at(38) == 600
    assert Median(lopsided, bounds=(0, 1000), neighbours="replace_one").at(38) == 1000


def slow_at(rows, level, bounds, max_rows, relation, distance):
    """A_k from the definition: all pairs of ranks that some a and b reach."""
    count, (low, high) = len(rows), bounds
    rows, share = sorted(rows), Fraction(1) if relation == "replace_one" else max(level, 1 - level)
    centre = level * count
    near, far = distance * max_rows * share, (distance + 1) * max_rows * share
    best = 0

    def x(i):
        return low if i <= 0 else high if i > count else rows[i - 1]

    for below, above in ((near, far), (far, near)):
        for first in range(math.ceil(centre - below), math.ceil(centre) + 1):
            a = min(Fraction(0), first - centre)
            b = min(above, a + max_rows * (distance + share))
            best = max(best, x(math.ceil(centre + b)) - x(first))
    return best


def test_the_fast_windows_are_those_of_the_definition():
    chooser = random.Random(32)  # noqa: S311 - chooses cases, not noise
    for _ in range(100):
        count, top = chooser.randint(0, 30), chooser.choice([3, 10, 1000])
        rows = [chooser.randint(-5, top) for _ in range(count)]
        level = Fraction(chooser.randint(1, 19), 20)
        max_rows, relation = chooser.randint(1, 4), chooser.choice(["add_remove", "replace_one"])
        quantile = Quantile(rows, level=level, bounds=(-5, top), max_rows=max_rows, neighbours=relation)
        for distance in (0, 1, 2, 3, 7, 20, 50):
            assert quantile.at(distance) == slow_at(rows, level, (-5, top), max_rows, relation, distance)


def test_a_quantile_is_the_least_step_with_its_share_of_rows_at_or_below():
    chooser = random.Random(33)  # noqa: S311 - chooses cases, not noise
    for _ in range(100):
        rows = [chooser.randint(0, 9) for _ in range(chooser.randint(1, 20))]
        level = Fraction(chooser.randint(1, 99), 100)
        share = [Fraction(sum(row <= step for row in rows), len(rows)) for step in range(10)]
        least = next(step for step in range(10) if share[step] >= level)
        assert Quantile(rows, level=level, bounds=(0, 9)).value() == least
    assert Median([1, 2, 3, 4], bounds=(0, 9)).value() == 2
    assert Median([], bounds=(3, 9)).value() == 3
    assert InterquartileRange([1, 2, 3, 4], bounds=(0, 9), step=Fraction(1, 2)).value() == 1


def test_rows_and_counts_of_the_same_data_agree():
    rng = np.random.default_rng(34)
    counts = rng.poisson(0.4, 200)
    rows = np.repeat(np.arange(200) + 7, counts)
    for made in (Median, InterquartileRange):
        by_rows, by_counts = (
            made(rows, bounds=(7, 206), max_rows=2),
            made(StepCounts.of_counts(counts, low=7), max_rows=2),
        )
        assert by_rows.value() == by_counts.value()
        assert [by_rows.at(k) for k in range(100)] == [by_counts.at(k) for k in range(100)]
        assert by_rows.largest == by_counts.largest == 199


def test_rows_beyond_the_bounds_are_put_onto_them_whatever_their_size():
    for rows in (
        [-(10**30), 2, 10**30],
        np.array([-(2**63), 2, 2**63 - 1]),
        np.array([0, 2, 2**64 - 1], dtype=np.uint64),
    ):
        median = Median(rows, bounds=(1, 5))
        assert median.value() == 2
        assert median.at(0) == 1
    assert Median(StepCounts.of_counts([2**62, 2**62, 2**62], low=0)).value() == 1
    assert Median(StepCounts.of_counts([-5, 3, 0], low=0)).value() == 1


def test_a_step_of_another_size_scales_everything():
    fine = Median([1, 4, 9], bounds=(0, 20), step=Fraction(1, 4))
    assert (fine.value(), fine.at(0), fine.largest) == (1, Fraction(3, 4), 5)


@pytest.mark.pitfall("A6")
def test_nothing_private_is_shown_by_quantiles():
    rows = [SECRET] * 3
    for local in (
        Median(rows, bounds=(0, 10**6)),
        InterquartileRange(rows, bounds=(0, 10**6)),
        StepCounts.of_rows(rows, (0, 10**6)),
    ):
        assert str(SECRET) not in repr(local) + str(local)
    for wrong in ([float(SECRET)], [str(SECRET)], np.array([float(SECRET)]), [None], [True], np.array([[SECRET]])):
        with pytest.raises(ParameterError) as refusal:
            Median(wrong, bounds=(0, 10**6))
        assert str(SECRET) not in str(refusal.value)


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"bounds": (5, 0)}, "bounds"),
        ({"bounds": (0, 2**63)}, "bounds"),
        ({"bounds": (0.5, 2)}, "bounds"),
        ({"bounds": None}, "bounds"),
        ({"level": 0}, "level"),
        ({"level": 25}, "level=0.25"),
        ({"step": 0}, "step"),
        ({"max_rows": 0}, "max_rows"),
        ({"neighbours": "both"}, "neighbours"),
    ],
)
def test_public_parameters_that_make_no_sense_are_refused_by_name(changed, words):
    with pytest.raises(ParameterError) as refusal:
        Quantile([1], **{"level": 0.5, "bounds": (0, 5)} | changed)
    assert words in str(refusal.value)
