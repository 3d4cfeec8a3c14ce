"""Closed forms from noisy moments: equal to plain least squares without noise, finite for any noise."""

import numpy as np
import pytest

from discreet.learning.linear.least_squares import means_and_deviations, ridge_solution, symmetric


def _moments(rows: np.ndarray) -> np.ndarray:
    design = np.column_stack([np.ones(len(rows)), rows])
    return design.T @ design


def test_without_noise_the_solution_is_that_of_least_squares():
    generator = np.random.default_rng(1)
    columns = generator.uniform(-1, 1, (500, 3))
    target = columns @ [0.5, -0.25, 0.1] + 0.1
    solution = ridge_solution(_moments(np.column_stack([columns, target])), 0.0)
    assert np.allclose(solution.coefficients, [0.5, -0.25, 0.1], atol=1e-6)
    assert solution.intercept == pytest.approx(0.1, abs=1e-6)


def test_the_ridge_term_grows_with_the_noise_and_shrinks_coefficients():
    generator = np.random.default_rng(2)
    columns = generator.uniform(-1, 1, (500, 2))
    moments = _moments(np.column_stack([columns, columns[:, 0] * 0.8]))
    sizes = [abs(ridge_solution(moments, deviation).coefficients[0]) for deviation in (0.0, 10.0, 100.0, 1000.0)]
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[0] == pytest.approx(0.8, abs=1e-6)
    assert sizes[-1] < 0.1


def test_an_own_ridge_term_is_that_of_the_textbook():
    columns = np.array([[1.0], [-1.0], [1.0], [-1.0]])
    moments = _moments(np.column_stack([columns, columns[:, 0]]))
    assert ridge_solution(moments, 0.0, alpha=4.0).coefficients[0] == pytest.approx(0.5)


@pytest.mark.parametrize("size", [-1000.0, 0.0, 1.0])
def test_moments_that_no_table_has_still_give_finite_numbers(size):
    generator = np.random.default_rng(3)
    for _ in range(20):
        noise = symmetric(generator.normal(0, 1000, 15), 5)
        noise[0, 0] = size
        solution = ridge_solution(noise, 1000.0)
        assert np.isfinite(solution.coefficients).all()
        assert np.isfinite(solution.intercept)


def test_means_and_deviations_are_those_of_the_columns():
    values = np.array([[0.5, -1.0], [-0.5, 1.0], [0.0, 0.0]])
    means, deviations = means_and_deviations(3, values.sum(axis=0), (values**2).sum(axis=0))
    assert np.allclose(means, values.mean(axis=0))
    assert np.allclose(deviations, values.std(axis=0))


def test_noisy_deviations_stay_between_zero_and_one():
    means, deviations = means_and_deviations(-5, np.array([100.0, -7.0]), np.array([-50.0, 900.0]))
    assert np.abs(means).max() <= 1
    assert deviations.min() >= 0
    assert deviations.max() <= 1


def test_a_symmetric_matrix_has_its_upper_triangle_row_by_row():
    assert symmetric(np.arange(6.0), 3).tolist() == [[0, 1, 2], [1, 3, 4], [2, 4, 5]]
