"""A program for tests: spends from a ledger, printing each receipt once it is acknowledged.

python spender.py PATH ANALYST TIMES EPSILON [CAP [THREADS]]
"""

import sys
import threading
from fractions import Fraction

from discreet import events
from discreet.accounting.filters import Budget
from discreet.errors import BudgetError
from discreet.ledger import Dataset, SQLiteLedger


def spend(ledger: SQLiteLedger, analyst: str, times: int, epsilon: Fraction) -> None:
    for _ in range(times):
        try:
            receipt = ledger.charge(
                "visits",
                version=1,
                analyst=analyst,
                event=events.PureEvent(epsilon),
                question="ab",
                description="{}",
            )
            sys.stdout.write(receipt.to_json() + "\n")
            sys.stdout.flush()
        except BudgetError:
            sys.stdout.write("refused\n")


def main(path: str, analyst: str, times: str, epsilon: str, cap: str = "1", threads: str = "1") -> None:
    ledger = SQLiteLedger(path)
    budget = Budget(epsilon=Fraction(cap))
    ledger.register(Dataset(name="visits", source="visits.csv", unit="one patient_id", facts="{}", budget=budget))
    crowd = [
        threading.Thread(target=spend, args=(ledger, f"{analyst}-{i}", int(times), Fraction(epsilon)))
        for i in range(int(threads))
    ]
    for thread in crowd:
        thread.start()
    for thread in crowd:
        thread.join()


if __name__ == "__main__":
    main(*sys.argv[1:])
