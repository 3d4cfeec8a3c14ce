"""Whom a promise protects must be said, in one of few ways; what one unit contributes is a whole number or open."""

import copy
import pickle

import numpy as np
import pytest

from discreet.catalog.privacy_unit import LARGEST_CAP, ROW, Caps, Neighbours, Unit, unit_of
from discreet.errors import ParameterError, UnitError
from grids import over


def test_one_column_several_columns_and_the_row_are_units():
    assert unit_of("patient_id").columns == ("patient_id",)
    assert unit_of(["country", "id"]).columns == unit_of(("country", "id")).columns == ("country", "id")
    assert unit_of(ROW).is_row
    assert not unit_of("patient_id").is_row


def test_nobody_named_is_refused():
    with pytest.raises(UnitError, match="none was named"):
        unit_of(None)


@pytest.mark.parametrize("unit", ["", [], (), [""], ["id", "id"], ["id", None], 5, True, b"id", {"id": 1}, object])
def test_what_is_no_unit_is_refused(unit):
    with pytest.raises(UnitError, match="privacy_unit"):
        unit_of(unit)


def test_a_row_level_promise_says_that_it_protects_rows_and_not_people():
    assert "protects rows, not people" in str(unit_of(ROW))
    assert "protects rows, not people" in unit_of(ROW).label


def test_the_unit_is_said_together_with_its_neighbours():
    assert str(unit_of("id")) == "one id, added or removed"
    assert str(unit_of(["country", "id"], "replace_one")) == "one country and id, replaced by another"


def test_two_neighbour_relations_are_known_and_others_refused():
    assert unit_of("id").neighbours is Neighbours.ADD_REMOVE
    assert unit_of("id", Neighbours.REPLACE_ONE).neighbours is Neighbours.REPLACE_ONE
    for relation in ("bounded", "", None, 1, ["add_remove"]):
        with pytest.raises(ParameterError, match="neighbours"):
            unit_of("id", relation)


def test_the_row_survives_a_copy_and_another_process():
    for twin in (copy.deepcopy(ROW), pickle.loads(pickle.dumps(ROW))):  # noqa: S301 - our own bytes
        assert unit_of(twin) == Unit(())
    assert repr(ROW) == "dp.ROW"


def test_caps_are_whole_numbers_or_open():
    assert Caps() == Caps(None, None, None)
    assert Caps(np.int64(3), 2, 1) == Caps(3, 2, 1)
    assert type(Caps(np.int64(3)).max_rows) is int
    assert Caps(LARGEST_CAP).max_rows == LARGEST_CAP


@over("cap", [0, -1, 1.0, 2.5, True, "3", float("nan"), float("inf"), 10**16, np.True_, np.float64(3)])
@over("name", ["max_rows", "max_groups", "max_rows_per_group"])
def test_a_cap_that_is_no_whole_number_of_ordinary_size_is_refused(name, cap):
    with pytest.raises(ParameterError, match=name):
        Caps(**{name: cap})


def test_a_cap_of_more_digits_than_python_prints_is_refused():
    with pytest.raises(ParameterError, match="max_rows"):
        Caps(max_rows=10**5000)
