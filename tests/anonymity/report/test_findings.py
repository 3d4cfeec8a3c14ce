"""Findings as sections: their order, their sentences, and the words that they never use."""

from fractions import Fraction

import pyarrow as pa
import pytest

import discreet as dp
from discreet.anonymity.owners import STAMP
from discreet.anonymity.report.findings import NOT_A_GUARANTEE, listing, part, sections, share_text, size_bins


def test_the_sections_are_attacker_generalisation_release_and_limits(report):
    headings = [section.heading for section in sections(report.findings)]
    assert headings[0] == "What an attacker who knows zip_code, birth_date and sex learns"
    assert headings[1:3] == [
        "What generalisation would cost",
        "What a differentially private release would give instead",
    ]
    assert "do not protect against" in headings[3]


def test_class_sizes_are_put_into_bins_that_add_up():
    sizes = [(1, 7), (2, 6), (3, 3), (4, 8), (60, 60), (20_000, 20_000)]
    bins = size_bins(sizes)
    assert bins == [("1", 7), ("2", 6), ("3 to 4", 11), ("50 to 99", 60), ("10,000 or more", 20_000)]


def test_numbers_have_their_share():
    assert part(1, 4) == "1 (25%)"
    assert part(0, 0) == "0 (0%)"
    assert share_text(Fraction(19_994, 20_000)) == "99.97%"
    assert listing(["a"]) == "a"
    assert listing(["a", "b", "c"]) == "a, b and c"


def test_people_whose_value_is_learned_without_being_alone_are_named(report):
    (learned,) = [line for line in sections(report.findings)[0].sentences if line.startswith("marital_status")]
    found = report.findings.sensitive[0]
    assert f"{found.people:,} people" in learned
    assert f"{found.sharing:,} of them are not alone" in learned


def test_k_anonymity_is_never_called_private_or_safe(report):
    for section in sections(report.findings):
        for sentence in (section.heading, *section.sentences):
            words = sentence.lower().replace("differentially private", "")
            assert "private" not in words
            assert "safe" not in words
    assert NOT_A_GUARANTEE in sections(report.findings)[3].sentences


@pytest.mark.parametrize("nulls", ["value", "wildcard", "exclude"])
@pytest.mark.parametrize("person", [None, "person"])
def test_the_table_of_class_sizes_has_each_person_once(nulls, person):
    generator = dp.testing.generator(4)
    columns = {name: [[None, "A", "B", "C"][each] for each in generator.integers(0, 4, 300)] for name in ("x", "y")}
    table = pa.table(columns | {"person": generator.integers(0, 120, 300)})
    found = dp.anonymity.risk_report(table, ["x", "y"], person=person, nulls=nulls).findings
    assert sum(number for _, number in found.counts.people_by_size) == found.counts.people
    sizes = sections(found)[0].tables[-1]
    assert sum(int(row[1].replace(",", "")) for row in sizes.rows) == found.counts.people
    assert all(float(row[2].rstrip("%")) <= 100 for row in sizes.rows)
    are_several = nulls == "wildcard" or person is not None
    assert sizes.caption == f"People by the size of their {'smallest ' if are_several else ''}class"


def test_generalisation_says_that_missing_cells_are_values_there(report):
    table = pa.table({"x": ["a", None] * 20})
    found = dp.anonymity.risk_report(table, ["x"], nulls="wildcard").findings
    assert "Here a missing cell counts as a value of its own." in sections(found)[1].sentences
    assert not any("missing cell" in sentence for sentence in sections(report.findings)[1].sentences)


def test_the_text_of_findings_has_the_stamp_and_no_example_of_a_value(report, evil_report):
    assert repr(report.findings).endswith(f"3,000 people, k = 1 for zip_code, birth_date and sex. {STAMP}")
    assert "\x1b" not in repr(evil_report.findings)
    assert str(report.findings) == repr(report.findings)
