"""A learner says its schedule before it trains."""

import pytest

from discreet.learning.core.learner import Learner, PublicModel


def test_learners_and_models_are_contracts():
    for contract in (Learner, PublicModel):
        with pytest.raises(TypeError, match="abstract"):
            contract()
