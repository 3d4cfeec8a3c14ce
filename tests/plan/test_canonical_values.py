"""One text for one plain value; what is not a value has none unless somebody writes it."""

import datetime as dt
from enum import StrEnum
from fractions import Fraction

import pytest

from discreet.plan.canonical_values import plain, sha256, text

VALUES = [1, True, 1.0, Fraction(1), "1", None, (1,), (1.0,), ("1",), dt.date(2026, 1, 1), dt.datetime(2026, 1, 1)]  # noqa: DTZ001


def test_values_of_different_types_never_share_a_text():
    assert (
        len({text(plain(value)) for value in VALUES}) == len({sha256(plain(value)) for value in VALUES}) == len(VALUES)
    )


def test_a_list_is_a_tuple_and_a_member_of_an_enumeration_is_its_value():
    class Kind(StrEnum):
        INTEGER = "integer"

    assert plain([1, (2.0, "a")]) == plain((1, [2.0, "a"])) == [1, [{"real": "0x1.0000000000000p+1"}, "a"]]
    assert plain({"b": Kind.INTEGER}) == {"b": "integer"}
    assert text(plain({"b": 1, "a": Fraction(1, 3)})) == '{"a":{"ratio":"1/3"},"b":1}'


def test_what_is_not_a_value_is_written_by_whoever_knows_it_or_refused():
    with pytest.raises(TypeError, match="object has no canonical text"):
        plain((1, object()))
    assert plain((1, object()), lambda _: "known") == [1, "known"]
