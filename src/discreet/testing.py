"""Tests need no noise: the same calls, exact answers, and a stamp that says so.

A testing session answers exactly, marks every release NOT PRIVATE, and cannot write to a real ledger: any ledger
is named, the budget is kept in memory and forgotten. Seeds exist only here, for data and never for noise.
"""

from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from discreet.errors import short_traceback
from discreet.ledger import Ledger, SQLiteLedger
from discreet.mechanisms.threshold import Above, AboveThreshold, Below, RepeatedAboveThreshold
from discreet.session import session
from discreet.session.pipeline import Pipeline

__all__ = ["Session", "generator", "protect"]


class ForgottenLedger(SQLiteLedger):
    """A ledger in memory: it charges like a real one, holds exact answers, and is gone with its process."""

    is_for_tests = True

    def __init__(self) -> None:
        super().__init__(":memory:")


class ExactPipeline(Pipeline):
    """A pipeline whose answers have no noise, with a ledger that is forgotten."""

    is_private = False

    @classmethod
    def session_ledger(cls, ledger: str | Path | Ledger | None) -> Ledger:
        """A ledger in memory, in place of the named one."""
        return ledger if isinstance(ledger, ForgottenLedger) else ForgottenLedger()

    def randomize(self, plan: Any, exact: Any) -> Any:
        """The exact answer."""
        return plan.combine(exact)

    def open_stream(self, mechanism: AboveThreshold | RepeatedAboveThreshold) -> "ExactStream":
        """The sparse vector technique without noise."""
        return ExactStream(mechanism)


class Session(session.Session):
    """A session with exact answers, marked NOT PRIVATE, for tests. It keeps its ledger in memory.

    Example:
        >>> import discreet as dp
        >>> facts = {"name": "visits", "privacy_unit": "patient_id", "max_rows": 10}
        >>> session = dp.testing.protect(dp.datasets.visits(100), **facts, budget=dp.Budget(epsilon=2))
        >>> session.release(dp.table("visits").agg(patients=dp.count_units()), epsilon=1).value()
        100
    """

    _pipeline_class = ExactPipeline


class ExactStream:
    """A sparse vector without noise: an answer is above where it is at the threshold or above it."""

    def __init__(self, mechanism: AboveThreshold | RepeatedAboveThreshold) -> None:
        self._mechanism = mechanism
        self.left = mechanism.answers

    def ask_many(self, values: Sequence[int | Fraction]) -> list[Above | Below]:
        """Whether each is above, until the last that may be."""
        told: list[Above | Below] = []
        for value in values:
            if not self.left:
                break
            told.append(self._reply(value))
            self.left -= told[-1].is_above
        return told

    def close(self) -> None:
        """Nothing is kept."""
        self.left = 0

    def _reply(self, value: int | Fraction) -> Above | Below:
        mechanism = self._mechanism
        if value < mechanism.threshold:
            return Below()
        gap = value - mechanism.threshold if mechanism.gap else None
        return Above(value if mechanism.with_answers else None, gap)


protect = Session.protect


@short_traceback
def generator(seed: int) -> np.random.Generator:
    """A seeded generator for test data. Noise never takes one.

    Args:
        seed: The seed.

    Returns:
        A numpy generator.

    Example:
        >>> import discreet as dp
        >>> bool(0 <= dp.testing.generator(1).random() < 1)
        True
    """
    return np.random.default_rng(seed)
