"""Harms follow from the unit and the neighbour relation."""

from dataclasses import replace

from discreet.release.report.about import About
from discreet.release.report.charges import protections
from discreet.release.report.harms import harms


def test_a_person_is_covered_and_a_group_is_not(made):
    (protection,) = protections([made[1]["wards"]])
    found = harms(protection, About(unit_name="patient"))
    assert found.covered[0] == "learning that one patient is in the data"
    assert any("household" in text for text in found.uncovered)
    assert not any("rows are protected" in text for text in found.uncovered)


def test_replacement_does_not_hide_who_is_in_the_data(made):
    (protection,) = protections([made[1]["wards"]])
    found = harms(replace(protection, unit="one patient_id, replaced by another"), About())
    assert len(found.covered) == 1
    assert any("number of units is public" in text for text in found.uncovered)


def test_rows_are_not_people(made):
    (protection,) = protections([made[1]["row"]])
    found = harms(protection, About())
    assert all("one row, not one person," in text for text in found.covered)
    assert any("people are not" in text for text in found.uncovered)
