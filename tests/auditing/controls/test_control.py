"""The noise that controls are made of is the noise that they say it is."""

import numpy as np
import pytest
from scipy import stats

from discreet.auditing.controls import BROKEN, CONTROLS, RIGHT
from discreet.auditing.controls.control import discrete_laplace, laplace, on_grid
from fits import fit
from grids import over


def test_every_control_has_a_name_of_its_own_and_says_why():
    assert len({control.name for control in CONTROLS}) == len(CONTROLS)
    assert all(control.why for control in CONTROLS)
    assert all(control.is_broken for control in BROKEN)
    assert not any(control.is_broken for control in RIGHT)


@pytest.mark.statistical(false_alarm=1e-6)
def test_discrete_laplace_noise_has_its_law(samples):
    """False-alarm rate 1e-6."""
    ratio = np.exp(-1 / 2)
    law = {y: (1 - ratio) / (1 + ratio) * ratio ** abs(y) for y in range(-8, 9)}
    assert fit(discrete_laplace(2, samples(100_000)).tolist(), law) > 1e-6


@pytest.mark.statistical(false_alarm=1e-6)
def test_laplace_noise_has_its_law(samples):
    """False-alarm rate 1e-6, by Dvoretzky, Kiefer and Wolfowitz."""
    many = samples(20_000)
    farthest = stats.kstest(laplace(3, many), stats.laplace(scale=3).cdf).statistic
    assert 2 * np.exp(-2 * many * farthest**2) > 1e-6


def test_what_is_on_the_grid_is_a_multiple_of_its_step():
    values = on_grid(1 + laplace(1, 1_000))
    assert (values * 2**20 == np.round(values * 2**20)).all()


@over("control", [c for c in CONTROLS if c.many and c.needs is None])
def test_a_control_gives_as_many_outcomes_as_are_asked_for(control):
    for dataset in (control.one, control.other):
        assert len(control.mechanism(dataset, 7)) == 7
