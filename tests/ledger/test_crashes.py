"""SIGKILL at every step of T1 and T2, and at any moment: charged exactly once, never forgotten, never given back."""

import importlib.util
import secrets
import signal
import subprocess
import sys
import time
from fractions import Fraction
from pathlib import Path

import pytest

from discreet.ledger import Receipt, SQLiteLedger

KILLED = Path(__file__).with_name("killed.py")
SPENDER = Path(__file__).with_name("spender.py")
_spec = importlib.util.spec_from_file_location("killed", KILLED)
_killed = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(_killed)

CHARGED_ALREADY = {
    step: step not in ("before_the_update", "before_the_event", "before_the_reservation", "before_the_first_commit")
    for step in _killed.STEPS
}
TENTH = 10**11


def _ask(path: Path, request: str, *step: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(KILLED), path, request, *step]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


@pytest.mark.pitfall("B3")
@pytest.mark.guarantee("ledger")
@pytest.mark.parametrize("step", _killed.STEPS)
def test_a_kill_at_any_step_charges_once_and_gives_nothing_back(path, step):
    assert _ask(path, "r-1", step).returncode == -signal.SIGKILL
    with SQLiteLedger(path) as ledger:
        assert ledger.spent("visits").epsilon == (TENTH if CHARGED_ALREADY[step] else 0)
        assert ledger.verify()
    retry = _ask(path, "r-1")
    assert retry.returncode == 0, retry.stderr
    with SQLiteLedger(path) as ledger:
        assert ledger.stored("visits", "ab") == retry.stdout.strip().encode()
        again = ledger.charge(
            "visits",
            version=1,
            analyst="ann",
            event=_killed.events.PureEvent(Fraction(1, 10)),
            question="ab",
            request="r-1",
            description="{}",
        )
        assert ledger.answer(again, b"another draw") == retry.stdout.strip().encode()
        assert ledger.spent("visits").epsilon == TENTH
        assert ledger.verify(receipts=[again])


@pytest.mark.guarantee("ledger")
def test_no_acknowledged_charge_is_lost_to_kills_at_random_moments(path):
    """Spenders are killed mid-flight; what they had printed is in the ledger, and at most one more each."""
    acknowledged: list[Receipt] = []
    kills = 8
    for _ in range(kills):
        command = [sys.executable, str(SPENDER), path, "ann", "1000000", "1/1000000"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            first = process.stdout.readline()
            time.sleep(secrets.randbelow(200) / 1000)
            process.send_signal(signal.SIGKILL)
            lines = [first, *process.stdout.read().splitlines(keepends=True)]
        acknowledged += [Receipt.from_json(line) for line in lines if line.endswith("\n")]
    with SQLiteLedger(path) as ledger:
        report = ledger.verify(receipts=acknowledged)
        assert report, str(report)
        charged = ledger.spent("visits").epsilon // 10**6
        assert len(acknowledged) <= charged <= len(acknowledged) + kills
