"""A lease that beats while its holder works; what it means for a charge is in test_concluding.py."""

import logging
import subprocess
import sys
import threading
import time

import pytest

from discreet.errors import LedgerError, ParameterError
from discreet.ledger import SQLiteLedger
from discreet.ledger.records.lease import Lease, term

EVERY = 0.02


def _beats(outcomes):
    """A renewal that gives, or raises, one outcome after the other, and goes on with the last one."""
    told = []

    def renew() -> bool:
        told.append(time.monotonic())
        outcome = outcomes[min(len(told), len(outcomes)) - 1]
        if isinstance(outcome, BaseException):
            raise outcome
        return outcome

    return renew, told


def _wait_for(told: list[float], number: int) -> None:
    end = time.monotonic() + 10
    while len(told) < number and time.monotonic() < end:
        time.sleep(EVERY / 4)


def test_a_lease_is_renewed_while_the_block_runs_and_not_after_it():
    renew, told = _beats([True])
    with Lease(renew, EVERY):
        _wait_for(told, 3)
    beaten = len(told)
    time.sleep(5 * EVERY)
    assert beaten == len(told) >= 3


def test_a_lease_that_is_no_longer_ours_is_left_alone():
    renew, told = _beats([True, False])
    with Lease(renew, EVERY):
        _wait_for(told, 2)
        time.sleep(5 * EVERY)
    assert len(told) == 2


def test_a_renewal_that_fails_is_logged_without_its_words_and_tried_again(caplog):
    renew, told = _beats([LedgerError("a secret"), True])
    with caplog.at_level(logging.WARNING, logger="discreet"), Lease(renew, EVERY):
        _wait_for(told, 3)
    assert len(told) >= 3
    assert [record.getMessage() for record in caplog.records] == ["a lease could not be renewed: class LedgerError"]


def test_an_error_in_the_block_ends_the_lease_and_goes_on():
    renew, _ = _beats([True])
    with pytest.raises(KeyboardInterrupt), Lease(renew, EVERY):
        raise KeyboardInterrupt
    assert "discreet-lease" not in {thread.name for thread in threading.enumerate()}


@pytest.mark.timing
def test_a_short_block_is_not_held_up_by_a_long_lease():
    began = time.monotonic()
    with Lease(lambda: True, 60):
        pass
    assert time.monotonic() - began < 5


def test_a_lease_dies_with_its_process():
    """The thread that beats keeps no process alive whose work is over."""
    program = "from discreet.ledger.records.lease import Lease; Lease(lambda: True, 60).__enter__()"
    subprocess.run([sys.executable, "-c", program], check=True, timeout=30)


@pytest.mark.parametrize("lease", [0, -5, 0.01, 100_000, float("inf"), float("nan"), True, "30", None])
def test_a_lease_that_ends_at_once_or_never_is_refused(path, lease):
    """Beyond a day it would count as taken under another clock, and be taken over at once."""
    with pytest.raises(ParameterError, match=r"from 0\.05 to 86,400"):
        SQLiteLedger(path, lease=lease)


@pytest.mark.parametrize("lease", [0.05, 1, 86_400])
def test_a_lease_is_counted_in_milliseconds(lease):
    assert term(lease) == 1000 * lease
