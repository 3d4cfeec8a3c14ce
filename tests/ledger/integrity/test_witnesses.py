"""What stands outside a store: anchors and acts at home, and those that machines share."""

import pytest

from discreet.accounting.costs import Cost
from discreet.errors import LedgerError
from discreet.ledger.integrity.anchors import UNWRITABLE, Anchor
from discreet.ledger.integrity.witnesses import Witnesses
from discreet.ledger.records.signatures import Signer

SIGNER = Signer.in_memory()


def anchor(sequence):
    usual = {"ledger": "one", "dataset": "visits", "budget": {}, "time": ""}
    return Anchor(sequence=sequence, head=f"{sequence:064x}", spent=Cost(sequence, 0, 0, 0), **usual)


@pytest.fixture
def opened(tmp_path):
    return lambda ledger="one": Witnesses.at(tmp_path / "anchors", SIGNER, ledger=ledger, name=ledger)


def test_a_ledger_in_memory_has_none():
    nobody = Witnesses.at(None, None, ledger="one", name="one")
    assert not nobody
    nobody.record([anchor(1)])
    nobody.record_acts((), ("first", "second"))
    assert nobody.latest() == {}
    assert nobody.longest_acts() == ()


def test_anchors_at_home_are_those_of_one_ledger(opened):
    opened().record([anchor(1), anchor(3)])
    assert opened().latest()["visits"].sequence == 3
    assert opened().largest_totals()["visits"].epsilon == 3
    assert [each.sequence for each in opened().every()] == [1, 3]
    assert [each.sequence for each in opened().unknown_anchors(lambda each: each.sequence == 3)] == [1]
    assert opened("two").latest() == {}


def test_acts_are_kept_at_home_where_there_are_more_than_the_creation(opened):
    opened().record_acts((), ("first",))
    assert opened().longest_acts() == ()
    opened().record_acts((), ("first", "second"))
    opened().record_acts((), ("first", "second", "third"))
    assert opened().longest_acts() == ("first", "second", "third")


def test_acts_that_do_not_go_on_from_those_at_home_are_not_kept(opened):
    opened().record_acts((), ("first", "second"))
    opened().record_acts((), ("first", "other", "third"))
    assert opened().longest_acts() == ("first", "second")


def test_a_directory_that_cannot_be_made_is_told_in_one_sentence(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(LedgerError) as caught:
        Witnesses.at(tmp_path / "file" / "anchors", SIGNER, ledger="one", name="one")
    assert str(caught.value) == UNWRITABLE
