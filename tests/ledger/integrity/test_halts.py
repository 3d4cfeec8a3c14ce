"""What `verify` finds stops the service, here and elsewhere, until somebody recovers."""

import re
import shutil
import threading
from fractions import Fraction
from functools import partial

import pytest

from discreet.accounting.filters import Budget
from discreet.errors import BudgetError, LedgerError
from discreet.ledger import State
from discreet.ledger.integrity import halts
from discreet.ledger.records import faults
from tampering import clean, tampering, tenths

QUESTION = "ab12"
REASON = "a disk was replaced"


EDITS = {
    "datasets": "UPDATE datasets SET spent_rho = spent_rho + 1",
    "versions": "UPDATE versions SET facts = '{}'",
    "aliases": "DELETE FROM aliases",
    "analysts": "UPDATE analysts SET spent_epsilon = spent_epsilon - 1",
    "events": "UPDATE events SET cost_epsilon = cost_epsilon - 1 WHERE kind = 'RESERVED'",
    "a deleted event": "DELETE FROM events WHERE kind = 'REJECTED'",
    "reservations": "UPDATE reservations SET state = 'FORFEITED' WHERE state = 'RESERVED'",
    "answers": "DELETE FROM answers",
    "ledger": "UPDATE ledger SET id = 'another'",
}


@pytest.mark.guarantee("ledger")
@pytest.mark.pitfall("D")
@pytest.mark.parametrize("edit", EDITS)
def test_what_verify_finds_stops_every_charge_here_and_elsewhere(visits, another, charge, turn, tamper, edit):
    visits.rename("visits", "stays", reason="test")
    visits.answer(turn(visits, question=QUESTION), b"12")
    with pytest.raises(BudgetError):
        charge(visits, epsilon=2)
    charge(visits)
    other = another()
    tamper(EDITS[edit])
    charge(other)  # nobody has looked yet
    assert not visits.verify()
    stopped = re.escape(faults.HALTED)
    if edit == "ledger":  # whoever opens it now finds acts on the keys of another ledger
        stopped += "|" + re.escape(faults.DAMAGED_KEYS)
    for ledger in (visits, other, another()):
        with pytest.raises(LedgerError, match=stopped):
            charge(ledger)
        if edit != "aliases":
            with pytest.raises(LedgerError, match=stopped):
                charge(ledger, name="stays")


SPEND = """
import sys
from fractions import Fraction
from discreet import events
from discreet.ledger import open_ledger

with open_ledger(sys.argv[1]) as ledger:
    event = events.PureEvent(Fraction(1, 100))
    ledger.charge("visits", version=1, analyst="bob", event=event, question="ef", description="{}", patience=1)
"""


def test_another_process_is_stopped_too(address, visits, tamper, script):
    assert script(SPEND, address).returncode == 0
    tamper("UPDATE datasets SET spent_rho = spent_rho + 1")
    assert not visits.verify()
    assert faults.HALTED in script(SPEND.replace("ef", "0f"), address).stderr


def test_a_stopped_ledger_answers_nobody_but_can_still_be_read(visits, turn, tamper):
    """Reads harm nobody, and what is in flight was paid for; a question is not answered, not even one that was."""
    visits.answer(turn(visits, question=QUESTION), b"12")
    held = turn(visits, question="cd")
    tamper("UPDATE analysts SET spent_rho = 0")
    assert not visits.verify()
    assert visits.stored_answer("visits", QUESTION) == b"12"
    with pytest.raises(LedgerError, match=re.escape(faults.HALTED)):
        turn(visits, question=QUESTION)
    assert visits.answer(held, b"13") == b"13"
    assert tenths(visits) == 2
    assert len(visits.history("visits")) == 3
    assert visits.budget("visits") == Budget(epsilon=1)
    assert visits.state(held.receipt) is State.ANSWERED


def test_one_dataset_that_was_tampered_with_stops_no_other(visits, dataset, charge, tamper):
    visits.register(dataset(name="stays"))
    tamper("UPDATE datasets SET spent_rho = 1 WHERE name = 'stays'")
    assert not visits.verify()
    charge(visits)
    with pytest.raises(LedgerError, match=re.escape(faults.HALTED)):
        charge(visits, name="stays")


def test_a_halt_that_was_deleted_is_made_again_by_the_next_verify(visits, charge, tamper):
    """A halt is not sealed: whoever may delete one may serve until somebody looks again."""
    tamper("UPDATE datasets SET spent_rho = 1")
    for hidden in ("DELETE FROM halts", "UPDATE halts SET cleared = 1"):
        assert not visits.verify()
        with pytest.raises(LedgerError, match=re.escape(faults.HALTED)):
            charge(visits)
        tamper(hidden)
        charge(visits, epsilon=Fraction(1, 100))
    assert not visits.verify()
    with pytest.raises(LedgerError, match=re.escape(faults.HALTED)):
        charge(visits)


def test_verifying_twice_halts_once_and_a_recovery_clears_it(visits, another, charge, tamper, tamperer):
    tamper("UPDATE datasets SET spent_rho = 1")
    assert not visits.verify()
    assert not another().verify()
    with tampering(tamperer) as hand:
        (halt,) = hand.execute("SELECT * FROM halts")
    assert (halt["dataset"], halt["cleared"]) == ("visits", None)
    assert halt["finding"] == "'visits': the total spent is not the sum of the charges"
    assert visits.recover(reason=REASON)
    charge(visits)
    charge(another())


def test_a_halt_after_lost_anchors_is_recognised_by_its_text_as_stored_ledgers_have_it(visits, tamper, tmp_path):
    """Of all datasets, or of one of them; another finding that begins like it is not one."""

    def is_recognised() -> bool:
        return visits._look(partial(halts.is_halted_after_loss, name="visits"))

    assert not is_recognised()
    visits.share_anchors(tmp_path / "one", reason=REASON)
    shutil.rmtree(tmp_path / "one")
    visits.share_anchors(tmp_path / "two", reason=REASON, lost=True)
    text = "the shared anchors were lost, and another store was named: what was charged since a backup may be missing"
    assert visits._look(halts.open_halts) == {"": text}
    for change, expected in [
        ("dataset = ''", True),
        ("dataset = 'visits'", True),
        ("dataset = 'stays'", False),
        (f"dataset = '', finding = '{text} and more'", False),
        ("finding = 'the shared anchors were lost'", False),
        (f"finding = '{text}', cleared = 1", False),
    ]:
        tamper(f"UPDATE halts SET {change}")
        assert is_recognised() is expected, change


def test_a_ledger_that_cannot_be_looked_at_is_not_called_tampered_with(visits, another, charge):
    """A store that is closed, busy or away is a fault to be told, and no reason to stop everybody."""
    other = another()
    other.close()
    with pytest.raises(LedgerError, match=re.escape(faults.CLOSED)):
        other.verify()
    charge(visits)


def test_verifying_while_others_charge_and_anchor_raises_no_alarm(visits, another, charge):
    """The anchors that are compared are older than what is read of the store."""
    other, stop = another(), threading.Event()

    def spend() -> None:
        while not stop.is_set():
            charge(other, epsilon=Fraction(1, 10_000))
            other.anchor()

    spender = threading.Thread(target=spend)
    spender.start()
    try:
        for _ in range(25):
            clean(visits)
    finally:
        stop.set()
        spender.join()
