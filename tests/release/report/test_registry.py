"""The registry entry validates, reads back as the same data, and states what nobody stated."""

from dataclasses import replace
from fractions import Fraction

import jsonschema
import pytest
import yaml

from discreet.catalog import strict_yaml
from discreet.release.report.about import About
from discreet.release.report.facts import gather
from discreet.release.report.registry import entry, entry_text, schema

HOSTILE = 'a"\n- b: !x &y *z # \u202e <script>\x00 é'


@pytest.mark.parametrize("names", [["wards"], ["gauss", "keys", "estimate"], ["row", "sql", "selection", "exact"]])
def test_it_validates_and_reads_back(facts_of, names):
    facts = facts_of(*names)
    text = entry_text(facts)
    assert strict_yaml.read(text) == entry(facts)
    jsonschema.validate(strict_yaml.read(text), schema())


def test_other_readers_of_yaml_read_the_same(facts_of):
    facts = facts_of("wards", "gauss")
    found = yaml.safe_load(entry_text(facts))
    for period in (each["period"] for each in found["guarantees"]):
        period["first_charge"], period["last_charge"] = (
            period[name] if isinstance(period[name], str) else period[name].isoformat()
            for name in ("first_charge", "last_charge")
        )
    assert found == entry(facts)


def test_it_states_the_sum_charged_and_what_is_not_stated(facts_of):
    found = entry(facts_of("wards", "median", curator="Example hospital"))
    assert found["curator"] == "Example hospital"
    for name in ("deployment", "purpose", "justification", "contact"):
        assert found[name] == "not stated"
    (guarantee,) = found["guarantees"]
    assert Fraction(guarantee["epsilon"]) == Fraction(3, 4)
    assert guarantee["delta"] == "0"
    assert guarantee["privacy_unit"] == "one patient_id"
    assert guarantee["neighbour_relation"] == "added or removed"
    assert len(guarantee["receipts"]) == 2
    assert found["data_product"] == "wards.json, median.json"


def test_hostile_text_stays_text(wards):
    document = replace(wards.document, others=(HOSTILE,))
    facts = gather([replace(wards, document=document, post_processing=(HOSTILE,))], About(curator="x: [y"))
    found = strict_yaml.read(entry_text(facts))
    assert found == entry(facts)
    assert found["other_releases"] == found["post_processing"]
    assert "\u202e" not in entry_text(facts)
    assert len(found["other_releases"]) == 1
