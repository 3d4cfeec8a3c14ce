"""A rule of gradients without torch, and schedules for the tests of this folder."""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

import discreet as dp
from discreet.learning.core.rows import group_people
from discreet.learning.sgd.sampled_sums import SampledSums, sampled_schedule

BUDGET = dp.Budget(epsilon=1, delta=1e-5, reserved_delta=0)


@dataclass(frozen=True)
class CodeRule:
    """The gradient of a row is its first code in the place of its target."""

    length: int = 4
    factor: float = 1.0

    def gradients(self, codes, target):
        found = np.zeros((len(codes), self.length), dtype=np.float32)
        found[np.arange(len(codes)), target] = codes[:, 0] * self.factor
        return found


def rows_of(people, *, rows_each=1, code=1, target=0):
    codes = np.full((people * rows_each, 1), code, dtype=np.uint16)
    persons = None if rows_each == 1 else np.repeat(np.arange(people), rows_each)
    return group_people(codes, np.full(people * rows_each, target, dtype=np.int64), persons)


def schedule(**changes):
    facts = {
        "rate": Fraction(1, 10),
        "steps": 20,
        "size": 1000,
        "length": 4,
        "rho": BUDGET.rho(1),
        "orders": (BUDGET.order,),
    }
    return sampled_schedule(**facts | changes)


class NoiselessSums(SampledSums):
    """Samples are drawn, noise is not."""

    def _randomize(self, exact):
        return exact


def sums(blocks, plan=None, kind=SampledSums, **changes):
    return kind(blocks, plan or schedule(), **{"norm": 1.0, "rows_at_once": 64} | changes)
