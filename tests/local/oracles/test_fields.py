"""Fields of oracles in a task."""

from fractions import Fraction

import pytest

from discreet.errors import ParameterError
from discreet.local import oracles
from discreet.local.oracles.fields import read_ratio, whole_field, write_ratio
from grids import over


@over("pair", ([6, 2], [1, 0], [-3, 1], [3], 3, None, ["3", "1"], [3, -1], [3.0, 1.0]))
def test_fractions_that_are_not_in_lowest_terms_are_refused(pair):
    with pytest.raises(ParameterError, match="lowest terms"):
        read_ratio(pair, "ratio")


def test_fractions_are_written_as_they_are_read():
    assert read_ratio(write_ratio(Fraction(7, 3)), "ratio") == Fraction(7, 3)


@over("value", (1, 2**24 + 1, True, 2.0, "2", None, Fraction(2)))
def test_sizes_outside_the_range_are_refused(value):
    with pytest.raises(ParameterError, match="size="):
        whole_field().read(value, "size")


def test_fields_have_their_names_of_the_wire():
    pgr, lh = oracles.ProjectiveGeometryResponse(9, 3, 3, Fraction(3)), oracles.LocalHashing(9, 4, Fraction(3))
    assert pgr.to_json() == {"kind": "pgr", "size": 9, "field": 3, "dimension": 3, "ratio": [3, 1]}
    assert lh.to_json() == {"kind": "lh", "size": 9, "range": 4, "ratio": [3, 1]}


@over("kind", ("krr", "subset", "pgr", "hadamard"))
def test_a_missing_field_is_named(kind):
    with pytest.raises(ParameterError, match="size"):
        oracles.from_json({"kind": kind})


@over("order", (8, 32, "16", None))
def test_the_order_of_hadamard_response_is_that_of_its_size(order):
    fields = oracles.HadamardResponse(9, Fraction(3)).to_json()
    assert fields["order"] == 16
    with pytest.raises(ParameterError, match="order"):
        oracles.from_json({**fields, "order": order})
    with pytest.raises(ParameterError, match="order"):
        oracles.from_json({name: value for name, value in fields.items() if name != "order"})
