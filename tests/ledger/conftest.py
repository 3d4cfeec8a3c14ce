"""A ledger in a real file, a dataset in it, and a short way to charge it."""

import hashlib
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from discreet import events
from discreet.accounting.filters import EPSILON_UNITS, Budget
from discreet.ledger import Dataset, Receipt, SQLiteLedger

FACTS = '{"columns": {"ward": "text", "cost": "integer"}}'


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "ledger.sqlite"


@pytest.fixture
def ledger(path: Path) -> Iterator[SQLiteLedger]:
    with SQLiteLedger(path) as opened:
        yield opened


@pytest.fixture
def dataset() -> Callable[..., Dataset]:
    """What an owner declares, with any part replaced."""

    def declared(**changes: Any) -> Dataset:
        usual = {"name": "visits", "source": "visits.csv", "unit": "one patient_id", "facts": FACTS}
        return Dataset(**({"budget": Budget(epsilon=1)} | usual | changes))

    return declared


@pytest.fixture
def charge() -> Callable[..., Receipt]:
    """Charge epsilon (0.1 unless said) to 'visits' as one analyst would."""

    def charged(ledger: SQLiteLedger, **changes: Any) -> Receipt:
        epsilon = changes.pop("epsilon", Fraction(1, 10))
        usual = {
            "name": "visits",
            "version": 1,
            "analyst": "ann",
            "event": events.PureEvent(epsilon),
            "question": hashlib.sha256(b"how many").hexdigest(),
            "description": '{"plan":"count"}',
        }
        return ledger.charge(**(usual | changes))

    return charged


def units(epsilon: Fraction | float) -> int:
    """Whole units of epsilon."""
    return int(Fraction(str(epsilon)) * EPSILON_UNITS)
