"""Hierarchies: least squares against numpy, variances in closed form, and whole cells whose sums are right."""

import numpy as np
import pytest

from discreet.workloads.hierarchy import Hierarchy, Partition

CELLS = 24


def part(name, area_of):
    _, numbers = np.unique(area_of, return_inverse=True)
    return Partition(name, tuple(map(str, range(numbers.max() + 1))), numbers)


def made(random, *, crossing):
    tract = np.sort(random.integers(0, 9, CELLS))
    chain = (part("cell", np.arange(CELLS)), part("tract", tract), part("county", tract // 3))
    across = (part("zip", random.integers(0, 5, CELLS)), part("school", random.integers(0, 3, CELLS)))
    return Hierarchy((*chain, part("all", np.zeros(CELLS, int))), across if crossing else ())


def indicators(hierarchy):
    return [np.eye(len(p.areas))[:, p.area_of] for p in hierarchy.parts]


def worlds(*, crossing, number=5):
    for at in range(number):
        random = np.random.default_rng(at)
        hierarchy = made(random, crossing=crossing)
        noises = random.uniform(1, 9, len(hierarchy.parts))
        cells = random.integers(0, 4, CELLS)
        noisy = [
            np.rint(rows @ cells + random.normal(0, np.sqrt(v), len(rows))).astype(int).tolist()
            for rows, v in zip(indicators(hierarchy), noises, strict=True)
        ]
        yield hierarchy, noises, cells, noisy


def inverse_of(hierarchy, noises):
    return np.linalg.inv(sum(rows.T @ rows / v for rows, v in zip(indicators(hierarchy), noises, strict=True)))


@pytest.mark.parametrize("crossing", [False, True])
def test_the_fit_is_that_of_least_squares(crossing):
    for hierarchy, noises, _, noisy in worlds(crossing=crossing):
        target = sum(rows.T @ y / v for rows, y, v in zip(indicators(hierarchy), noisy, noises, strict=True))
        assert np.allclose(hierarchy.fit(noisy, noises), inverse_of(hierarchy, noises) @ target, atol=1e-6)


@pytest.mark.parametrize("crossing", [False, True])
def test_weights_are_how_much_one_more_in_a_count_moves_the_fit(crossing):
    for hierarchy, noises, _, noisy in worlds(crossing=crossing, number=2):
        weights = hierarchy.weights(noises)
        before = hierarchy.fit(noisy, noises)
        for place, areas in enumerate(map(len, noisy)):
            for area in range(areas):
                moved = [list(column) for column in noisy]
                moved[place][area] += 1
                change = hierarchy.fit(moved, noises) - before
                every = np.concatenate([part.sums(change) for part in hierarchy.parts])
                assert every == pytest.approx(weights[place][:, area], abs=1e-7)


def test_powers_of_weights_along_a_chain_are_those_of_all_weights():
    for hierarchy, noises, *_ in worlds(crossing=False):
        found, every = hierarchy.chain_weights(noises), hierarchy.weights(noises)
        for level, weights in enumerate(every):
            assert found.second[:, level] + found.path[:, level] ** 2 == pytest.approx(np.square(weights).sum(axis=1))
            assert found.fourth[:, level] + found.path[:, level] ** 4 == pytest.approx((weights**4).sum(axis=1))
            largest = np.maximum(found.largest, found.path)[:, level]
            assert (np.abs(weights).max(axis=1) <= largest + 1e-9).all()
            assert (found.largest[:, level] ** 2 <= found.second[:, level] + 1e-9).all()


def test_variances_along_a_chain_are_exact():
    for hierarchy, noises, *_ in worlds(crossing=False):
        inverse = inverse_of(hierarchy, noises)
        for rows, found in zip(indicators(hierarchy), hierarchy.variances(noises), strict=True):
            assert np.allclose(found, np.einsum("ij,jk,ik->i", rows, inverse, rows))


def test_variances_are_at_least_the_true_ones_where_areas_cross_the_chain():
    for hierarchy, noises, *_ in worlds(crossing=True):
        inverse = inverse_of(hierarchy, noises)
        for rows, found in zip(indicators(hierarchy), hierarchy.variances(noises), strict=True):
            assert (found >= np.einsum("ij,jk,ik->i", rows, inverse, rows) - 1e-9).all()


@pytest.mark.parametrize("crossing", [False, True])
def test_no_area_has_more_than_the_variance_of_its_own_count(crossing):
    for hierarchy, noises, *_ in worlds(crossing=crossing):
        assert all((found <= v + 1e-9).all() for found, v in zip(hierarchy.variances(noises), noises, strict=True))


@pytest.mark.parametrize("crossing", [False, True])
def test_whole_cells_are_at_least_zero_and_every_area_of_the_chain_is_less_than_one_from_its_sum(crossing):
    for hierarchy, noises, _, noisy in worlds(crossing=crossing, number=30):
        clamped = hierarchy.fit_nonnegative(noisy, noises)
        whole = np.array(hierarchy.round_cells(clamped))
        assert clamped.min() >= 0
        assert whole.min() >= 0
        for each in hierarchy.chain:
            assert np.abs(each.sums(whole) - each.sums(clamped)).max() < 1


@pytest.mark.parametrize("crossing", [False, True])
def test_every_area_is_the_sum_of_the_areas_in_it_after_rounding(crossing):
    for hierarchy, noises, _, noisy in worlds(crossing=crossing):
        whole = hierarchy.round_cells(hierarchy.fit_nonnegative(noisy, noises))
        levels = hierarchy.exact(whole)
        for below, above, parents in zip(levels, levels[1:], hierarchy.parents, strict=False):
            assert [sum(n for n, p in zip(below, parents, strict=True) if p == i) for i in range(len(above))] == above
        assert all(sum(level) == sum(whole) for level in levels)


@pytest.mark.parametrize("crossing", [False, True])
def test_exact_counts_come_back_as_they_are(crossing):
    for hierarchy, noises, cells, _ in worlds(crossing=crossing):
        exact = hierarchy.exact(cells.tolist())
        assert hierarchy.round_cells(hierarchy.fit_nonnegative(exact, noises)) == cells.tolist()


def test_sums_are_exact_whatever_their_size():
    hierarchy = made(np.random.default_rng(0), crossing=False)
    assert hierarchy.exact([2**80, *[0] * (CELLS - 1)])[-1] == [2**80]
