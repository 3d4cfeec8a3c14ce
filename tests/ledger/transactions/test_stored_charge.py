"""What becomes of a charge: one outcome, by the attempt that holds it."""

import time
from functools import partial

import pytest

from discreet.ledger import State
from discreet.ledger.transactions import stored_charge
from tampering import tampering

SHORT = 0.1


@pytest.mark.guarantee("ledger")
def test_the_updates_of_a_reservation_change_a_row_only_for_the_attempt_that_holds_it(another, dataset, turn, tamperer):
    ledger = another(lease=SHORT)
    ledger.register(dataset())
    receipt = turn(ledger).receipt
    superseded = ledger._look(lambda writer: stored_charge.find_charge(writer, receipt))
    time.sleep(1.5 * SHORT)
    assert turn(ledger).attempt == 2
    holding = ledger._look(lambda writer: stored_charge.find_charge(writer, receipt))
    for act in (
        partial(stored_charge.conclude, state=State.ANSWERED),
        partial(stored_charge.conclude, state=State.FORFEITED),
        partial(stored_charge.resume, term=1000),
        partial(stored_charge.renew, term=1000),
    ):
        for charged, rows in ((superseded, [0]), (holding, [1])):
            with tampering(tamperer, is_kept=False) as hand:
                assert hand.changed(partial(act, charge=charged)) == rows
