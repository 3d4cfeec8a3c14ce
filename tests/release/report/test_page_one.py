"""Page one: plain words, no formula, every number of the releases, epsilon with its unit and period."""

import re
from dataclasses import replace

import pytest

from discreet.release.report.about import About
from discreet.release.report.facts import gather
from discreet.release.report.page_one import page_one, title

FORMULA = re.compile(r"=|\^|≤|≥|√|·|ln\(|exp\(|sqrt|[\u03b1-\u03c9]")


def words(markup):
    """The words of a page, without tags and charts."""
    return re.sub(r"<[^>]+>", " ", re.sub(r"<svg.*?</svg>", " ", markup))


@pytest.mark.parametrize("names", [["wards"], ["gauss", "keys"], ["sql", "estimate", "selection", "row", "exact"]])
def test_there_is_no_formula(facts_of, names):
    assert FORMULA.findall(words(page_one(facts_of(*names)))) == []


def test_every_number_is_there(facts_of, wards):
    page = page_one(facts_of("wards"))
    for row in wards.cells(len(wards))[1]:
        for cell in row:
            assert f">{cell}<" in page


def _plain(markup):
    return re.sub(r" +", " ", words(markup).replace(" ,", ","))


@pytest.mark.parametrize("names", [["wards"], ["wards", "median", "gauss", "row"]])
def test_epsilon_stands_in_one_box_with_unit_and_period(facts_of, names):
    page = page_one(facts_of(*names))
    boxes = re.findall(r'<div class="card">.*?</div>', page)
    assert page.count("epsilon ") == sum("epsilon " in box for box in boxes)
    for box in boxes:
        if "epsilon " in box:
            assert re.search(r"epsilon [\d.]+, +delta \S+ +for one \w+.*over .* from .*version.* charged", _plain(box))


def test_with_replacement_nothing_is_said_of_insiders(facts_of):
    for name in ("replaced", "replaced_gauss"):
        text = _plain(page_one(facts_of(name)))
        assert "of units with one of two possible records, at 1% false alarms" in text
        assert not re.search(r"insiders|outsiders|one patient_id is in the data|as without", text)
    assert "of insiders, at 1% false alarms" in page_one(facts_of("wards"))


def test_a_huge_loss_has_no_number(facts_of):
    facts = facts_of("wards")
    (protection,) = facts.protections
    huge = replace(facts, protections=(replace(protection, charges=protection.charges * 2_000),))
    text = _plain(page_one(huge))
    assert "How far odds change no useful bound" in text
    assert "a factor of" not in text


def test_several_units_do_not_compare(facts_of):
    assert "do not compare" in page_one(facts_of("wards", "row"))
    assert "do not compare" not in page_one(facts_of("wards", "median"))


def test_exact_answers_and_rows_are_stamped(facts_of):
    assert "NOT PRIVATE" in page_one(facts_of("exact", "wards"))
    assert "NOT PRIVATE" not in page_one(facts_of("wards"))
    assert "Rows are protected, not people" in page_one(facts_of("row"))


def test_what_nobody_stated_is_visible(facts_of):
    assert page_one(facts_of("wards")).count("<em>not stated</em>") == 5
    assert "<dd>Example hospital</dd>" in page_one(facts_of("wards", curator="Example hospital"))


def test_the_title_is_the_deployment_or_the_dataset(facts_of, wards):
    assert title(facts_of("wards", deployment="Wards")) == "Wards"
    assert title(facts_of("wards", "gauss")) == "Release from visits, gauss"


def test_hostile_keys_stay_text(wards):
    name = '<script>alert(1)</script>"\u202e\x00&'
    key = replace(wards.keys[0], values=(name, *wards.keys[0].values[1:]))
    page = page_one(gather([replace(wards, keys=(key,))], About()))
    assert "<script" not in page
    assert "\u202e" not in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt;&quot;\\u202e\\x00&amp;" in page
