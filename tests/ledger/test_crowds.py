"""Many spenders at once, in real threads and real processes."""

import subprocess
import sys
import threading
from fractions import Fraction
from pathlib import Path

import pytest

from discreet.accounting.filters import Budget
from discreet.errors import BudgetError
from discreet.ledger import Receipt, SQLiteLedger

SPENDER = Path(__file__).with_name("spender.py")
UNIT = Fraction(1, 10**12)


@pytest.mark.pitfall("B5")
@pytest.mark.guarantee("ledger")
def test_forty_spenders_in_eight_processes_spend_exactly_the_cap(path):
    """8 processes of 5 threads, 10 attempts each, one unit a charge: 400 attempts against a cap of 100."""
    arguments = ["10", str(UNIT), str(100 * UNIT), "5"]
    crowd = [
        subprocess.Popen([sys.executable, str(SPENDER), path, f"p{i}", *arguments], stdout=subprocess.PIPE, text=True)
        for i in range(8)
    ]
    lines = [line for process in crowd for line in process.communicate(timeout=120)[0].splitlines()]
    receipts = [Receipt.from_json(line) for line in lines if line != "refused"]
    assert [process.returncode for process in crowd] == [0] * 8
    assert (len(lines), len(receipts)) == (400, 100)
    with SQLiteLedger(path) as ledger:
        assert ledger.spent("visits").epsilon == 100
        report = ledger.verify(receipts=receipts)
        assert report, str(report)


@pytest.mark.pitfall("B5")
def test_eight_threads_on_one_ledger_spend_exactly_the_cap(ledger, dataset, charge):
    ledger.register(dataset(budget=Budget(epsilon=50 * UNIT)))
    gate, accepted = threading.Barrier(8), []

    def spend() -> None:
        gate.wait()
        for _ in range(10):
            try:
                receipt = charge(ledger, epsilon=UNIT)
                accepted.append(ledger.answer(receipt, receipt.hash.encode()) == receipt.hash.encode())
            except BudgetError:
                pass

    threads = [threading.Thread(target=spend) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert accepted == [True] * 50
    assert ledger.spent("visits").epsilon == 50
    assert ledger.verify()
