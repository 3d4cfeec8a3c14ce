"""Noisy counts become counts that add up, and measurements of one column become one estimate."""

import numpy as np
import pytest

from discreet.synthesis.core.domain import Domain
from discreet.synthesis.core.measurement import Measurement
from discreet.synthesis.core.model import CountEstimate, column_estimates, combine, estimate_of, project

DOMAIN = Domain({"age": 3, "sex": 2})
AGE = Measurement(("age",), np.array([4, 5, 6]), 2.0)
BOTH = Measurement(("age", "sex"), np.array([[1, 2], [3, 4], [5, 6]]), 1.0)


@pytest.mark.parametrize("values", [[3.0, 1.0, 2.0], [-5.0, 0.0, 9.0], [-3.0, -2.0, -4.0], [0.0, 0.0, 0.0], [7.0]])
@pytest.mark.parametrize("total", [0.5, 6.0, 1e9])
def test_projected_counts_add_to_the_total_and_none_is_negative(values, total):
    found = project(np.array(values), total)
    assert found.min() >= 0
    assert found.sum() == pytest.approx(total)


def test_projected_counts_are_the_nearest_ones():
    noisy, rng = np.array([[5.0, -1.0], [0.3, 2.0]]), np.random.default_rng(1)
    found = project(noisy, 4.0)
    others = rng.dirichlet(np.ones(4), 2_000).reshape(-1, 2, 2) * 4
    assert found.shape == (2, 2)
    assert ((found - noisy) ** 2).sum() <= ((others - noisy) ** 2).sum(axis=(1, 2)).min()


def test_counts_that_add_up_stay_as_they_are():
    assert project(np.array([1.0, 0.0, 2.0]), 3.0) == pytest.approx([1, 0, 2])


def test_a_total_that_is_not_positive_gives_zeros():
    assert not project(np.array([3.0, -1.0]), -2.0).any()
    assert not project(np.array([3.0, -1.0]), 0.0).any()


def test_noise_beyond_the_digits_of_a_float_is_projected_too():
    found = project(np.array([1e30, -1e30]), 1.0)
    assert np.isfinite(found).all()
    assert found.min() >= 0


def test_less_noise_weighs_more():
    found = combine([CountEstimate(np.array([10.0]), 1.0), CountEstimate(np.array([20.0]), 4.0)])
    assert found.values == pytest.approx([12])
    assert found.variance == pytest.approx(0.8)


def test_summed_cells_add_their_variances():
    found = estimate_of(BOTH, ("sex",))
    assert found.values.tolist() == [9, 12]
    assert found.variance == 3
    assert estimate_of(BOTH, ("age", "sex")).variance == 1


def test_a_column_is_estimated_from_all_marginals_that_have_it():
    found = column_estimates([AGE, BOTH], DOMAIN)
    assert found["age"].values == pytest.approx(
        [(4 / 4 + 3 / 2) / 0.75, (5 / 4 + 7 / 2) / 0.75, (6 / 4 + 11 / 2) / 0.75]
    )
    assert found["sex"].values.tolist() == [9, 12]


def test_measurements_of_merged_slots_are_left_out():
    assert set(column_estimates([AGE, BOTH], Domain({"age": 2, "sex": 2}))) == set()
