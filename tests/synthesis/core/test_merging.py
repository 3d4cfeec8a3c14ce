"""Small slots of a column are one group, where there are several."""

import numpy as np

from discreet.synthesis.core.merging import MERGE_BELOW, merged_slots


def test_small_slots_are_the_last_group_where_there_are_several():
    assert merged_slots(np.array([500.0, 3, 400, -2, 9]), 5.0) == (0, 2, 1, 2, 2)
    assert merged_slots(np.array([3.0, 500]), 5.0) == (0, 1)
    assert merged_slots(np.array([500.0, 400]), 5.0) == (0, 1)
    assert merged_slots(np.array([1.0, -1, 0]), 5.0) == (0, 0, 0)


def test_a_count_at_the_limit_is_not_small():
    limit = MERGE_BELOW * 2.0
    assert merged_slots(np.array([limit, limit, 0.0]), 2.0) == (0, 1, 2)
    assert merged_slots(np.array([limit, limit - 0.1, 0.0]), 2.0) == (0, 1, 1)
