"""Moments of a release, read back for models."""

import numpy as np
import pytest

import discreet as dp
from discreet.errors import ParameterError
from discreet.learning.linear.released_moments import read_moments

BOUNDS = {"education_years": (0, 22), "hours_per_week": (0, 100), "income": (0, 200_000)}
PEOPLE = dp.datasets.people(3_000)


def released(products="all"):
    query = dp.table("people").moments(*BOUNDS, bounds=BOUNDS, products=products)
    budget = dp.Budget(epsilon=3, delta=1e-9)
    with dp.testing.protect(PEOPLE, name="people", privacy_unit=dp.ROW, budget=budget) as session:
        return session.release(query, epsilon=1)


def test_moments_are_those_of_the_scaled_columns():
    moments = read_moments(released())
    assert moments.names == tuple(BOUNDS)
    scaled = [
        2 * (np.clip(PEOPLE[name].to_numpy(), *pair) - pair[0]) / (pair[1] - pair[0]) - 1
        for name, pair in BOUNDS.items()
    ]
    design = np.column_stack([np.ones(len(scaled[0])), *scaled])
    assert np.allclose(moments.matrix, design.T @ design, atol=3)
    assert moments.deviation > 0
    assert np.allclose(moments.highs, [22, 100, 200_000])


def test_products_that_were_not_released_are_missing():
    matrix = read_moments(released("squares")).matrix
    assert np.isnan(matrix[1, 2])
    assert not np.isnan(np.diag(matrix)).any()
    assert not np.isnan(matrix[0]).any()


def test_a_release_survives_its_file():
    release = released()
    again = read_moments(dp.Release.from_json(release.to_json()))
    assert np.array_equal(again.matrix, read_moments(release).matrix)


def test_other_releases_and_other_columns_are_refused():
    with pytest.raises(ParameterError, match="moments"):
        read_moments("release")
    with pytest.raises(ParameterError, match="age"):
        read_moments(released()).place("age")
