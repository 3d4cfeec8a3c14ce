"""The parts of a release become Arrow columns of their own types."""

from fractions import Fraction

import pyarrow as pa

from discreet.release.values.columns import OutputColumn, figure_array, key_arrays, output_arrays
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


def test_a_column_without_rows_has_the_type_that_its_rows_would_have():
    whole, half = ((0, Fraction(1)),), ((0, Fraction(1, 2)),)
    kinds = [
        ("sum", whole, pa.int64()),
        ("sum", half, pa.float64()),
        ("count", (), pa.int64()),
        ("std", (), pa.float64()),
    ]
    for kind, parts, expected in kinds:
        arrays = output_arrays(OutputColumn("x", kind, (), (), parts=parts))
        assert [array.type for array in arrays.values()] == [expected] * 2
        assert list(arrays) == ["x", "x_margin"]
