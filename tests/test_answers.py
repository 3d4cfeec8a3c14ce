"""The parts of a release become Arrow columns of their own types."""

import pyarrow as pa

from discreet.answers import figure_array, key_arrays
from released import keys


def test_keys_keep_their_names_and_types():
    arrays = key_arrays(keys())
    assert list(arrays) == ["ward", "sex"]
    assert arrays["ward"].type == pa.string()


def test_whole_numbers_stay_whole_while_they_fit():
    assert figure_array((1, 2)).type == pa.int64()
    assert figure_array((1, 2.5)).type == pa.float64()
    assert figure_array((2**63, 1)).type == pa.float64()
    assert len(figure_array(())) == 0
