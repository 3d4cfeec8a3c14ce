"""Samplers that draw with half of the noise that they are called with, and say nothing of it.

They stand where those of `draws` stand, so everything that is charged, stated and computed beside a draw stays as it
is: noise of half the scale, choices at twice the rate, the chances of a rule for keys that has twice the epsilon. A
loss of epsilon becomes up to 2 epsilon, a rho 4 rho.
"""

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest

from discreet.mechanisms import keys
from discreet.samplers import categorical, continuous, discrete


def halve(patch: pytest.MonkeyPatch) -> None:
    """Let every sampler draw with half of its noise."""
    for name in ("_laplace", "_gaussian", "_staircase"):
        patch.setattr(discrete, name, _half_as_wide(getattr(discrete, name)))
    for name in ("choose_without_replacement", "permute_and_flip", "flips"):
        patch.setattr(categorical, name, _twice_as_steep(getattr(categorical, name)))
    patch.setattr(continuous, "round_with_noise", _half_as_far(continuous.round_with_noise))
    patch.setattr(keys.Optimal, "release", _twice_the_epsilon(keys.Optimal.release))


def _half_as_wide(draw: Callable[..., Any]) -> Callable[..., Any]:
    return lambda width, *rest: draw(width / 2, *rest)


def _twice_as_steep(choose: Callable[..., Any]) -> Callable[..., Any]:
    return lambda gaps, rate, *count: choose(gaps, 2 * rate, *count)


def _half_as_far(rounded: Callable[..., int]) -> Callable[..., int]:
    return lambda value, scale, law, grid: rounded(value, Fraction(scale) / 2, law, grid)


def _twice_the_epsilon(release: Callable[..., Any]) -> Callable[..., Any]:
    def released(rule: keys.Optimal, units: Any) -> Any:
        twice = keys.Optimal(
            epsilon=2 * rule.epsilon,
            delta=rule.delta,
            groups=rule.groups,
            neighbours=rule.neighbours,
            at_least=rule.at_least,
        )
        return release(twice, units)

    return released
