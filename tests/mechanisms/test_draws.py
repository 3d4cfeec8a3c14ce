"""Plain noise is drawn with the very scale that its event is priced from, once for every number."""

from fractions import Fraction

import pytest

import draws as record
from discreet.events import DiscreteGaussianEvent, DiscreteLaplaceEvent, PureEvent
from discreet.mechanisms import Gaussian, Laplace, Staircase

VALUES = [3, Fraction(-7), 12]


@pytest.mark.pitfall("B23")
@pytest.mark.draws("mechanisms.laplace.Laplace")
@pytest.mark.parametrize(
    ("words", "scale", "sensitivity"),
    [
        ({"sensitivity": 1, "epsilon": Fraction(1, 10)}, 10, 1),
        ({"sensitivity": 6, "epsilon": 2}, 3, 6),
        ({"sensitivity": 6, "epsilon": 2, "grid": Fraction(1, 2)}, 6, 12),
        ({"sensitivity": 1, "epsilon": 3}, Fraction(0.3333333333333333703), 1),
    ],
)
def test_laplace_noise_is_drawn_with_the_scale_that_is_priced(draws, words, scale, sensitivity):
    mechanism = Laplace(**words)
    noisy = mechanism.release(VALUES)
    assert mechanism.event() == DiscreteLaplaceEvent(Fraction(scale), Fraction(sensitivity))
    assert draws.calls == record.additive(mechanism.event(), [len(VALUES)])
    assert [noise / mechanism.grid for noise in record.carried([noisy], [VALUES])] == draws.returned == [1, 2, 3]
    assert words["epsilon"] * (1 - Fraction(1, 2**50)) < mechanism.epsilon <= words["epsilon"]


@pytest.mark.pitfall("B23")
@pytest.mark.draws("mechanisms.gaussian.Gaussian")
@pytest.mark.parametrize(
    ("words", "variance", "squared"),
    [
        ({"sensitivity": 1, "rho": Fraction(1, 8)}, 4, 1),
        ({"squared_sensitivity": 8, "rho": 1, "dimension": 3}, 4, 8),
        ({"sensitivity": 3, "rho": Fraction(1, 2), "grid": Fraction(1, 2)}, 36, 36),
    ],
)
def test_gaussian_noise_is_drawn_with_the_variance_that_is_priced(draws, words, variance, squared):
    mechanism = Gaussian(**words)
    noisy = mechanism.release(VALUES)
    dimension = words.get("dimension", 1)
    assert mechanism.event() == DiscreteGaussianEvent(Fraction(variance), Fraction(squared), dimension)
    assert draws.calls == record.additive(mechanism.event(), [len(VALUES)])
    assert [noise / mechanism.grid for noise in record.carried([noisy], [VALUES])] == draws.returned == [1, 2, 3]
    assert mechanism.rho == words["rho"]


@pytest.mark.pitfall("B23")
@pytest.mark.draws("mechanisms.staircase.Staircase")
@pytest.mark.parametrize(
    ("words", "scale", "step"),
    [
        ({"sensitivity": 5, "epsilon": Fraction(1, 10)}, 10, 5),
        ({"sensitivity": 6, "epsilon": 2, "coordinates": 4}, 2, 6),
        ({"sensitivity": 6, "epsilon": 2, "grid": Fraction(1, 2)}, 0.5, 12),
    ],
)
def test_staircase_noise_is_drawn_with_the_scale_and_the_step_that_are_priced(draws, words, scale, step):
    noise = Staircase(**words)
    noisy = noise.release(VALUES)
    assert noise.event() == PureEvent(words.get("coordinates", 1) / Fraction(scale))
    assert draws.calls == [record.Staircase(Fraction(scale), step, noise.inner, len(VALUES))]
    assert [each / noise.grid for each in record.carried([noisy], [VALUES])] == draws.returned == [1, 2, 3]


@pytest.mark.parametrize("dimension", [1, 4])
def test_gaussian_noise_for_a_pair_is_drawn_with_the_sigma_that_is_priced(draws, dimension):
    mechanism = Gaussian(sensitivity=1, epsilon=1, delta=1e-6, dimension=dimension)
    mechanism.release(5)
    assert draws.calls == [record.Gaussian(mechanism.event().variance, 1)]
    assert Fraction(99, 10**8) < mechanism.delta(1) <= Fraction(1, 10**6)


@pytest.mark.parametrize("mechanism", [Laplace(sensitivity=2, epsilon=1), Gaussian(sensitivity=2, rho=1)])
@pytest.mark.parametrize("value", [7, Fraction(7), [7], [7] * 70_000])
def test_one_number_and_many_get_a_draw_each(draws, mechanism, value):
    noisy = mechanism.release(value)
    values, released = (value, noisy) if isinstance(value, list) else ([value], [noisy])
    assert record.carried([released], [values]) == draws.returned
    assert sum(call.count for call in draws.calls) == len(values)
    assert {type(call) for call in draws.calls} == {type(record.additive(mechanism.event(), [1])[0])}
