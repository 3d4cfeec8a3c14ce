"""Tests need no noise: the same calls, exact answers, and a stamp that says so.

A testing session answers exactly, marks every release NOT PRIVATE, and cannot write to a real ledger: whatever ledger
is named, the budget is kept in memory and forgotten. Seeds exist only here, for data and never for noise.
"""

from pathlib import Path

import numpy as np

from discreet import session
from discreet.analysis import PrivatePlan
from discreet.ledger import Ledger, SQLiteLedger

__all__ = ["Session", "generator", "protect"]


class ForgottenLedger(SQLiteLedger):
    """A ledger in memory: it charges like a real one, holds exact answers, and is gone with its process."""

    is_for_tests = True


class Session(session.Session):
    """A session that answers exactly and says so."""

    _is_private = False

    @classmethod
    def _open_ledger(cls, ledger: str | Path | Ledger | None) -> Ledger:
        return ledger if isinstance(ledger, ForgottenLedger) else ForgottenLedger(":memory:")

    def _noisy(self, private: PrivatePlan, exact: list[list[int]]) -> list[list[int]]:
        return private.combined(exact)


protect = Session.protect


def generator(seed: int) -> np.random.Generator:
    """A seeded generator for test data; noise never takes one."""
    return np.random.default_rng(seed)
