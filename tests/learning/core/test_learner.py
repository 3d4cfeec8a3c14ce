"""A learner says its schedule before it trains."""

from fractions import Fraction

import pytest

from discreet.learning.core.features import linear_bins
from discreet.learning.core.learner import Learner, OneSumLearner, PublicModel
from discreet.learning.linear.naive_bayes_learner import NaiveBayesLearner
from discreet.learning.linear.ridge_learner import RidgeLearner
from discreet.learning.linear.scale_learner import ScaleLearner


def test_learners_and_models_are_contracts():
    for contract in (Learner, OneSumLearner, PublicModel):
        with pytest.raises(TypeError, match="abstract"):
            contract()


def test_a_learner_of_one_sum_charges_the_clip_and_length_of_its_step():
    features = {"age": linear_bins(0, 9, 3)}
    for learner in (
        NaiveBayesLearner(features, 2, Fraction(1, 10)),
        RidgeLearner(features, Fraction(1, 10), replace_one=True),
        ScaleLearner(features, Fraction(1, 10)),
    ):
        assert isinstance(learner, OneSumLearner)
        (planned,) = learner.schedule.sums
        step = learner._step()
        assert (planned.clip, planned.noise.dimension) == (step.clip, step.length)
        assert learner.schedule.rho <= Fraction(1, 10)
        assert planned.noise.squared_sensitivity == (step.clip * (2 if learner.replace_one else 1)) ** 2
