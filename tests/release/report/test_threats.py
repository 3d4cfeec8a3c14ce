"""The threat model names the parties of these releases."""

from dataclasses import replace

from discreet.release.report.about import About
from discreet.release.report.facts import gather
from discreet.release.report.threats import assumptions, parties


def test_parties_and_what_they_see(facts_of):
    found = {each.name: each for each in parties(facts_of("wards", curator="Example hospital"))}
    assert list(found) == ["Example hospital (owner)", "machine, DuckDB", "analysts (owner)", "readers"]
    assert found["readers"].trust == found["analysts (owner)"].trust == "nothing"
    assert "rows" in found["machine, DuckDB"].sees
    assert parties(facts_of("wards"))[0].name == "owner"


def test_a_function_is_a_party_that_nobody_trusts(wards):
    query = (*wards.document.query, ("function", "f"))
    facts = gather([replace(wards, document=replace(wards.document, query=query))], About())
    assert any(each.name.startswith("function") and each.trust == "nothing" for each in parties(facts))


def test_sums_are_guarantees_only_if_fixed_in_advance(facts_of):
    assert any("fixed in advance" in text and "registered budget" in text for text in assumptions(facts_of("wards")))


def test_the_key_of_the_receipts_is_named(facts_of, wards):
    assert any(wards.receipt["key"] in text for text in assumptions(facts_of("wards")))
    unsigned = replace(wards, receipt=wards.receipt | {"key": None})
    assert any("which is missing here" in text for text in assumptions(gather([unsigned], About())))
