"""A method is an object with its parameters, each given by its name."""

import pytest

import discreet as dp
from discreet.query.methods import Method


def test_smooth_sensitivity_leaves_its_noise_to_the_budget():
    assert dp.SmoothSensitivity() == dp.SmoothSensitivity(noise=None, delta=None)
    assert dp.SmoothSensitivity(noise="laplace", delta=1e-10) != dp.SmoothSensitivity(noise="laplace", delta=1e-9)


def test_a_proposal_has_a_bound_and_a_delta():
    method = dp.ProposedBound(bound=5, delta=1e-10)
    assert (method.bound, method.delta) == (5, 1e-10)


@pytest.mark.parametrize(
    "call",
    [
        lambda: dp.SmoothSensitivity("pareto"),
        lambda: dp.ProposedBound(5, 1e-10),
        lambda: dp.ProposedBound(bound=5),
        lambda: dp.ProposedBound(delta=1e-10),
    ],
    ids=["noise by position", "bound by position", "no delta", "no bound"],
)
def test_parameters_are_given_by_name_and_a_proposal_needs_both(call):
    with pytest.raises(TypeError):
        call()


def test_every_method_is_listed_and_can_not_be_changed():
    for method in (dp.SmoothSensitivity(), dp.ProposedBound(bound=1, delta=1e-9)):
        assert isinstance(method, Method)
        with pytest.raises(AttributeError):
            method.delta = 1
