"""The report as plain data follows its published schema."""

import json
from fractions import Fraction

import jsonschema
import pytest

from discreet.release.report.plain import plain, schema
from discreet.release.report.registry import entry


@pytest.mark.parametrize(
    "names", [["wards"], ["rounded", "gauss", "keys"], ["sql", "estimate", "selection", "row", "exact", "first"]]
)
def test_it_follows_the_schema(facts_of, names):
    facts = facts_of(*names, unit_name="patient")
    data = json.loads(json.dumps(plain(facts)))
    jsonschema.validate(data, schema())
    assert data["registry"] == entry(facts)
    assert [each["name"] for each in data["releases"]] == [f"{name}.json" for name in names]


def test_numbers_are_exact_or_on_the_safe_side(facts_of):
    facts = facts_of("wards", "median")
    (guarantee,) = plain(facts)["guarantees"]
    (protection,) = facts.protections
    assert Fraction(guarantee["epsilon"]) == Fraction(guarantee["charged_epsilon"]) == Fraction(3, 4)
    assert Fraction(guarantee["true_positive_rate"]) >= protection.true_positive_rate
    assert Fraction(guarantee["advantage"]) >= protection.advantage
    assert plain(facts_of("gauss"))["guarantees"][0]["charged_epsilon"] is None
