"""The noise that controls are made of is the noise that they say it is."""

import numpy as np
import pytest
from scipy import stats

from discreet.auditing.controls import BROKEN, CONTROLS, RIGHT
from discreet.auditing.controls.control import discrete_laplace, laplace, on_grid


def test_every_control_has_a_name_of_its_own_and_says_why():
    assert len({control.name for control in CONTROLS}) == len(CONTROLS)
    assert all(control.why for control in CONTROLS)
    assert all(control.is_broken for control in BROKEN)
    assert not any(control.is_broken for control in RIGHT)


def test_discrete_laplace_noise_has_its_law():
    """False-alarm rate 1e-6."""
    drawn = discrete_laplace(2, 100_000)
    ratio = np.exp(-1 / 2)
    within = np.arange(-8, 9)
    expected = (1 - ratio) / (1 + ratio) * ratio ** np.abs(within)
    seen = np.array([np.sum(drawn == y) for y in within])
    seen, expected = np.append(seen, len(drawn) - seen.sum()), np.append(expected, 1 - expected.sum())
    assert stats.chisquare(seen, expected * len(drawn)).pvalue > 1e-6


def test_laplace_noise_has_its_law():
    """False-alarm rate 1e-6."""
    assert stats.kstest(laplace(3, 20_000), stats.laplace(scale=3).cdf).pvalue > 1e-6


def test_what_is_on_the_grid_is_a_multiple_of_its_step():
    values = on_grid(1 + laplace(1, 1_000))
    assert (values * 2**20 == np.round(values * 2**20)).all()


@pytest.mark.parametrize("control", [c for c in CONTROLS if c.many and c.needs is None], ids=lambda c: c.name)
def test_a_control_gives_as_many_outcomes_as_are_asked_for(control):
    for dataset in (control.one, control.other):
        assert len(control.mechanism(dataset, 7)) == 7
