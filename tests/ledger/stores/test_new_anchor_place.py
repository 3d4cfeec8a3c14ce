"""A place of shared anchors that cannot be used is named as the new one, and the present one stays."""

import pytest

from discreet.errors import LedgerError
from discreet.ledger.records import faults
from discreet.ledger.stores.new_anchor_place import naming_new_anchors


@pytest.mark.parametrize("sentence", [faults.of_anchor_database(each) for each in (faults.NO_DATABASE, faults.UNSAFE)])
def test_a_sentence_about_the_present_database_becomes_one_about_the_new_one(sentence):
    with pytest.raises(LedgerError) as caught, naming_new_anchors():
        raise LedgerError(sentence)
    told = str(caught.value)
    assert told.startswith(faults.NEW_ANCHOR_DATABASE)
    assert told.removeprefix(faults.NEW_ANCHOR_DATABASE)
    assert "DISCREET_ANCHORS" not in told
    assert "nothing can be charged" not in told


@pytest.mark.parametrize("sentence", sorted(faults.UNREACHABLE_ANCHORS))
def test_no_sentence_about_a_new_place_says_that_the_ledger_stopped(sentence):
    told = faults.of_new_anchors(sentence)
    assert "nothing was changed" in told
    assert "DISCREET_ANCHORS" not in told


def test_other_errors_stay_what_they_are():
    with pytest.raises(LedgerError) as caught, naming_new_anchors():
        raise LedgerError(faults.NOT_THE_OWNER)
    assert str(caught.value) == faults.NOT_THE_OWNER
