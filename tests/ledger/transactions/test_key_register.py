"""Acts on keys are read in their order, and written in the next place alone."""

import pytest

from discreet.errors import LedgerError
from discreet.ledger.records import faults
from discreet.ledger.records.key_acts import ActKind, KeyRegister
from discreet.ledger.records.signatures import Signer
from discreet.ledger.transactions import key_register

SIGNER = Signer.in_memory()


def test_what_is_written_is_read_again(sqlite_ledger):
    before = sqlite_ledger._look(lambda writer: key_register.read(writer, sqlite_ledger._id))
    act = sqlite_ledger._key.owner_act(ActKind.LISTED, SIGNER.public, name="pod", reason="a test")
    sqlite_ledger._run(lambda writer: key_register.append(writer, act))
    assert sqlite_ledger._look(lambda writer: key_register.read(writer, sqlite_ledger._id)) == before.then(act)


def test_of_two_acts_in_one_place_the_second_is_not_written(sqlite_ledger):
    act = sqlite_ledger._key.owner_act(ActKind.LISTED, SIGNER.public, name="pod", reason="a test")
    sqlite_ledger._run(lambda writer: key_register.append(writer, act))
    with pytest.raises(LedgerError) as caught:
        sqlite_ledger._run(lambda writer: key_register.append(writer, act))
    assert str(caught.value) == faults.BROKEN_RULE


def test_acts_of_another_ledger_are_damage(sqlite_ledger):
    with pytest.raises(LedgerError, match="damaged"):
        sqlite_ledger._look(lambda writer: key_register.read(writer, "another"))
    assert KeyRegister("another").acts == ()
