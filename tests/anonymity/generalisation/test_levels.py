"""Levels know how high they are."""

import numpy as np

from discreet.anonymity.generalisation.levels import GeneralisationLevels


def test_the_height_is_the_number_of_the_last_level():
    assert GeneralisationLevels((np.arange(2), np.zeros(2, dtype=np.int64)), (("a", "b"), ("*",))).height == 1
