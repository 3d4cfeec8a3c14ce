"""Harms are those of `dp.covers`, in the owner's word for the unit."""

from dataclasses import replace

import pytest

from discreet.catalog.privacy_unit import Neighbours, Unit
from discreet.release.harms import usual_harms
from discreet.release.report.about import About
from discreet.release.report.charges import protections
from discreet.release.report.harms import harms, stated_guarantee


@pytest.mark.parametrize("name", ["wards", "gauss", "keys", "replaced", "replaced_gauss"])
def test_verdicts_are_those_of_the_command(made, name):
    release = made[1][name]
    (protection,) = protections([release])
    verdicts = usual_harms(stated_guarantee(protection))
    found = harms(protection, About())
    assert found.covered == tuple(f"learning {each.harm}: {each.reason}" for each in verdicts if each.is_covered)
    assert found.uncovered == tuple(f"learning {each.harm}: {each.reason}" for each in verdicts if not each.is_covered)


def test_the_guarantee_is_that_of_the_charges(made):
    (protection,) = protections([made[1]["replaced"]])
    guarantee = stated_guarantee(protection)
    assert (guarantee.epsilon, guarantee.delta) == (protection.epsilon, protection.delta)
    assert guarantee.unit == Unit(("patient_id",), Neighbours.REPLACE_ONE)


def test_the_owner_has_a_word_for_the_unit(made):
    (protection,) = protections([made[1]["wards"]])
    found = harms(protection, About(unit_name="patient"))
    assert found.covered[0].startswith("learning that one patient is in the data: ")
    assert not any("patient_id" in text for text in (*found.covered, *found.uncovered))


def test_a_large_epsilon_covers_nothing(made):
    (protection,) = protections([made[1]["wards"]])
    assert harms(replace(protection, charges=protection.charges * 100), About()).covered == ()


def test_replacement_does_not_hide_who_is_in_the_data(made):
    (protection,) = protections([made[1]["replaced"]])
    found = harms(protection, About())
    assert not any("is in the data" in text for text in found.covered)
    assert any("that one patient_id is in the data: " in text for text in found.uncovered)


def test_rows_are_not_people(made):
    (protection,) = protections([made[1]["row"]])
    found = harms(protection, About())
    assert all("one row, not one person," in text for text in found.covered)
    assert any("people are not" in text for text in found.uncovered)
