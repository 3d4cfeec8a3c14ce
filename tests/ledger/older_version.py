"""A program for tests, run with an older version of the package: makes a ledger, or charges until it is refused.

    python older_version.py create OWNER_ADDRESS ROLE
    python older_version.py charge SERVICE_ADDRESS

It says `charged` for each charge with its answer, and at its end the type and text of what refused the next one.
"""

import sys
import time
from fractions import Fraction

import discreet as dp
from discreet import events
from discreet.errors import DiscreetError
from discreet.ledger import Dataset, PostgresLedger


def create(owner: str, role: str) -> None:
    """A ledger without datasets."""
    PostgresLedger.create(owner, role=role)


def charge(address: str) -> None:
    """Charges, one every tenth of a second."""
    try:
        with PostgresLedger(address) as ledger:
            declared = {"name": "visits", "source": "visits.csv", "unit": "one patient_id", "facts": "{}"}
            ledger.register(Dataset(**declared, budget=dp.Budget(epsilon=1)))
            for number in range(10**4):
                asked = {"version": 1, "event": events.PureEvent(Fraction(1, 10**6)), "analyst": "ann"}
                held = ledger.charge("visits", question=f"{number:08x}", description="{}", **asked)
                ledger.answer(held, b"12")
                print("charged", flush=True)
                time.sleep(0.1)
    except DiscreetError as error:
        print(f"{type(error).__name__}: {error}", flush=True)


if __name__ == "__main__":
    {"create": create, "charge": charge}[sys.argv[1]](*sys.argv[2:])
