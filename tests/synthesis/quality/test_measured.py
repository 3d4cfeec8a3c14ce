"""The free quality of a release: near the noise where the model holds, above it where it misses a marginal."""

import numpy as np
import pyarrow as pa
import pytest

from discreet.catalog.catalog import ColumnType
from discreet.plan.slots import SlotColumn, columns_to_json
from discreet.synthesis.quality.measured import drawing_error, mean_noise, measured_quality

COLUMNS = (
    SlotColumn("a", ColumnType.INTEGER, values=tuple(range(9))),
    SlotColumn("b", ColumnType.INTEGER, values=tuple(range(9))),
)
GENERATOR = np.random.default_rng(4)
A = GENERATOR.integers(9, size=20_000)
B = (A + GENERATOR.integers(2, size=20_000)) % 9
SIGMA = 30.0


def state(**groups):
    pair = np.zeros((10, 10), dtype=np.int64)
    np.add.at(pair, (A, B), 1)
    pair += np.rint(GENERATOR.normal(0, SIGMA, pair.shape)).astype(np.int64)
    if groups:
        pair = np.add.reduceat(pair, [0, 5], axis=1)
    measurement = {"columns": ["a", "b"], "values": pair.ravel().tolist(), "sigma": SIGMA, "groups": groups}
    return {"columns": columns_to_json(COLUMNS), "total": 20_000.0, "measurements": [measurement]}


def test_the_rows_of_the_data_are_as_far_as_noise_alone():
    (found,) = measured_quality(state(), pa.table({"a": A, "b": B})).marginals
    assert found.noise == pytest.approx(100 * SIGMA * np.sqrt(2 / np.pi) / 40_000, rel=1e-3)
    # The distance has a standard deviation of 7.5% of its mean: false alarms below 1e-5, with fixed samples.
    assert found.distance == pytest.approx(found.noise, rel=0.35)


def test_rows_without_the_association_are_far_above_the_noise():
    (found,) = measured_quality(state(), pa.table({"a": A, "b": GENERATOR.permutation(B)})).marginals
    assert found.distance > 10 * found.noise
    assert found.excess == found.distance - found.noise


def test_half_as_many_rows_have_the_same_shares():
    (found,) = measured_quality(state(), pa.table({"a": A[:10_000], "b": B[:10_000]})).marginals
    assert found.distance < 2 * found.noise


def test_slots_that_were_merged_are_added():
    quality = measured_quality(state(b=[0] * 5 + [1] * 5), pa.table({"a": A, "b": B}))
    (found,) = quality.marginals
    assert found.noise == pytest.approx(20 * SIGMA * np.sqrt(2 / np.pi) / 40_000, rel=1e-3)
    assert found.distance < 4 * found.noise
    assert quality.rows == 20_000


@pytest.mark.parametrize("sigma", [0.1, 0.5, 3.0, 49.0])
def test_the_mean_of_noise_is_that_of_the_discrete_law(sigma):
    weights = {k: np.exp(-(k**2) / (2 * sigma**2)) for k in range(-2_000, 2_001)}
    assert mean_noise(sigma) == pytest.approx(sum(abs(k) * w for k, w in weights.items()) / sum(weights.values()))


def test_the_discrete_and_the_continuous_mean_meet():
    assert mean_noise(49.999) == pytest.approx(49.999 * np.sqrt(2 / np.pi), rel=1e-4)
    assert mean_noise(0.0) == 0
    assert mean_noise(80.0) == pytest.approx(80 * np.sqrt(2 / np.pi))


def test_a_column_is_shown_by_its_one_way_marginal_of_least_noise():
    found = state()
    for sigma in (40.0, 10.0):
        values = [int(sigma)] * 10
        found["measurements"].append({"columns": ["a"], "values": values, "sigma": sigma, "groups": {}})
    (column,) = measured_quality(found, pa.table({"a": A, "b": B})).columns
    assert column.name == "a"
    assert column.reference == (10 / 20_000,) * 10
    assert sum(column.drawn) == pytest.approx(1)


def test_few_rows_have_the_error_of_drawing_and_as_many_as_the_data_none():
    noisy = np.array([0.5, 0.25, 0.25, 0.0])
    expected = drawing_error(noisy, 100, 1e9)
    generator = np.random.default_rng(1)
    drawn = generator.multinomial(100, noisy, 4_000) / 100
    assert np.abs(drawn - noisy).sum(axis=1).mean() / 2 == pytest.approx(expected, rel=0.05)
    assert drawing_error(noisy, 100, 100.0) == drawing_error(np.zeros(2), 1, 100.0) == 0
    assert 0 < drawing_error(noisy, 90, 100.0) < expected
