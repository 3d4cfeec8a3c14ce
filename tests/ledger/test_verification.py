"""What a verification leaves outside the store."""

import re

import pytest

from discreet.errors import LedgerError
from discreet.ledger.integrity import halts
from discreet.ledger.records import faults


@pytest.mark.pitfall("B18")
def test_what_was_verified_is_anchored_so_that_an_older_copy_is_refused(visits, charge, another, put_back):
    """The process is killed before it anchored what it charged, and all of it was verified."""
    for _ in range(5):
        charge(visits)
    assert visits.verify()
    visits._detector.close_without_anchoring()
    visits._store.close()
    put_back(3)
    with pytest.raises(LedgerError, match=re.escape(faults.BEHIND)):
        charge(another())


def test_a_verification_is_false_while_every_dataset_is_stopped_and_true_after_the_recovery(visits, charge):
    charge(visits)
    assert visits.verify().stopped == {}
    halts.halt_after_lost_anchors(visits._commit)
    found = visits.verify("visits")
    assert not found
    assert found.findings == ()
    assert found.stopped[""].endswith(f": {halts.LOST_ANCHORS}")
    assert str(found).splitlines()[1].startswith("  every dataset is stopped since 20")
    assert visits.recover(reason="they are there again")
    assert visits.verify()
