"""The optimal rule for keys: names alone, and no rule of the same epsilon and delta for each key keeps more.

Definition
    A key of n units is kept with probability p(n), independently of the others: p(0) = 0 and
    p(n+1) = min(a p(n) + d, 1 - (1 - p(n) - d)/a, 1), where one unit changes at most C keys, a is at most e^(epsilon/C)
    and d at most 1 - (1 - delta)^(1/C). a, d and each p(n) are rounded down to multiples of 2^-256. C is `groups` under
    add/remove and twice that under replace-one. With `at_least` = k a key of n units is kept with p(n - k + 1).

Guarantee
    Where one unit is in at most `groups` keys, the set of the kept keys is (epsilon, delta)-DP. For one key, no rule
    that is (epsilon/C, d)-DP and never keeps a key without units keeps any key more often, up to the rounding of a and
    p. Proof: docs/proofs/mechanisms/keys/optimal.md.

Exactness
    p(n) is a whole number of units of 2^-256 and is drawn with exactly that probability, from random bits. a and d are
    rounded down by less than one part in 10^30 for every delta that a ledger can hold, which only lowers p.

Not covered
    How many units a key has: it does not leave. Whether `groups` is true of the data: an engine has to
    bound it. Rules that treat the keys of one unit together may keep more than a rule for each key. The time a draw
    takes.

References
    Desfontaines, Voss, Gipson and Mandayam, Differentially Private Partition Selection, PoPETs 2022.
    Murtagh and Vadhan, The Complexity of Computing the Optimal Composition of Differential Privacy, TCC 2016.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from discreet.errors import ParameterError, short_traceback
from discreet.events import ApproximateEvent
from discreet.exact.numbers import Number, positive
from discreet.exact.rounding import exp_down
from discreet.mechanisms.keys.rule import LARGEST_COUNT, Relation, Rule, Units, counts_of
from discreet.samplers.entropy import random_bytes

BITS = 256
MOST_STEPS = 200_000

_ONE = 1 << BITS
_LEADING = 64
_BYTES = BITS // 8
_BLOCK = 1 << 16


@dataclass(frozen=True, init=False)
class Optimal(Rule):
    """Keys are kept one by one, as often as epsilon and delta allow."""

    epsilon: Fraction

    @short_traceback
    def __init__(
        self,
        *,
        epsilon: Number,
        delta: Number,
        groups: int = 1,
        neighbours: Relation = "add_remove",
        at_least: int = 1,
    ) -> None:
        super().__init__(delta, groups, neighbours, at_least)
        object.__setattr__(self, "epsilon", positive(epsilon, "epsilon"))
        self._chances()

    def event(self) -> ApproximateEvent:
        """What a release does."""
        return ApproximateEvent(self.epsilon, self.delta)

    def keep_probability(self, units: int) -> Fraction:
        """The probability that a key of so many units is kept: exact."""
        chances = self._chances()
        return Fraction(chances[min(self.effective_units(units), len(chances) - 1)], _ONE)

    @short_traceback
    def release(self, units: Units) -> list[int]:
        """The places of the keys that are kept, drawn afresh; one number of units for each key that is there."""
        chances = self._chances()
        counts = np.array(counts_of(units), dtype=np.int64)
        steps = np.clip(counts - min(self.at_least - 1, LARGEST_COUNT), 0, len(chances) - 1)
        leading = np.array([min(chance, _ONE - 1) >> (BITS - _LEADING) for chance in chances], dtype=np.uint64)
        return [
            start + place
            for start in range(0, len(steps), _BLOCK)
            for place in _draw_places(steps[start : start + _BLOCK], leading, chances)
        ]

    def _chances(self) -> tuple[int, ...]:
        return _table(self.epsilon / self.changed_keys, self.alone(self.changed_keys))


@lru_cache(maxsize=64)
def _table(epsilon: Fraction, delta: Fraction) -> tuple[int, ...]:
    """p(0), p(1), ... in units of 2^-256, up to the first that is 1."""
    growth, step = math.floor(exp_down(epsilon) * _ONE), math.floor(delta * _ONE)
    chances = [0]
    while chances[-1] < _ONE:
        if len(chances) > MOST_STEPS:
            raise ParameterError(
                f"a key that is sure to be kept only with more than {MOST_STEPS:,} units",
                because="epsilon is divided over the keys of a unit, and too little remains",
                instead="a larger epsilon, a smaller max_groups, or rule='gaussian'",
            )
        rare = (growth * chances[-1] >> BITS) + step
        often = _ONE - -(-(_ONE - chances[-1] - step << BITS) // growth)
        chances.append(min(rare, often, _ONE))
    return tuple(chances)


def _draw_places(steps: NDArray[np.int64], leading: NDArray[np.uint64], chances: tuple[int, ...]) -> list[int]:
    """Places where a fresh number of 256 bits is below the chance; 64 bits decide, unless they are the same."""
    random = random_bytes(_BYTES * len(steps))
    words = np.frombuffer(random, dtype=">u8")[:: BITS // _LEADING]
    limits = leading[steps]
    kept = words < limits
    for place in np.flatnonzero(words == limits):
        drawn = int.from_bytes(random[_BYTES * place : _BYTES * (place + 1)])
        kept[place] = drawn < chances[steps[place]]
    found: list[int] = np.flatnonzero(kept).tolist()
    return found
