"""A test that may be looked at after every block and stopped at any time: bets against a claim.

Runs come in pairs, one on each dataset. Under the claim p <= slope q + intercept for every event A, so the payoff

    1[the run here is in A] - slope 1[the run there is in A] - intercept

has a mean of at most 0 for every A. A player who stakes a part of the wealth on it, the event and the part chosen
from earlier pairs alone, has a wealth that is a supermartingale while the claim is true, so the chance that it ever
reaches 1/alarm is at most alarm (Ville). Players with different ways of choosing are averaged. Proof:
docs/proofs/auditing/statistical/e_values.md.

The same bets are settled against every claim of a fixed ladder of parameters, the stated one among them. What is
found is the last rung up to which all are refuted.
"""

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from discreet.auditing.claims import Claim
from discreet.auditing.statistical.outcomes import Floats

_STEPS = ((0.15, 0.001), (0.6, 0.005), (5.0, 0.02))
_PARAMETER_WITHOUT_A_STATED_ONE = 0.1
_LARGEST_STAKE = 0.9
_DOUBT = 2.0


class Stake(NamedTuple):
    """What a player believes of an event before a block: its probability here and there, from so many pairs."""

    here: float
    there: float
    pairs: int

    @classmethod
    def from_counts(cls, hits_here: int, hits_there: int, count: int) -> "Stake":
        """From counts among earlier pairs, a little towards the middle."""
        return cls((hits_here + 0.5) / (count + 1), (hits_there + 0.5) / (count + 1), count)


class PairCounts(NamedTuple):
    """How many pairs of a block had the event in both runs, here alone, there alone, and in neither."""

    both: int
    here: int
    there: int
    neither: int


@dataclass
class Wealth:
    """The logarithms of the wealth of several players against each rung of the ladder."""

    claim: Claim
    alarm: float
    horizon: int
    weights: tuple[float, ...]
    rungs: Floats = field(init=False)
    logs: Floats = field(init=False)
    highest: Floats = field(init=False)

    def __post_init__(self) -> None:
        self.rungs = ladder(self.claim.value)
        self.logs = np.zeros((len(self.weights), len(self.rungs)))
        self.highest = np.zeros(len(self.rungs))

    def settle(self, player: int, stake: Stake, block: PairCounts) -> None:
        """Multiply a player's wealth by what a block of pairs pays."""
        slopes, intercepts = self.claim.lines(self.rungs, stake.there)
        payoffs = np.stack([1 - slopes - intercepts, 1 - intercepts, -slopes - intercepts, -intercepts])
        part = self._part(stake, payoffs)
        self.logs[player] += np.array(block, dtype=float) @ np.log1p(part * payoffs)

    def _part(self, stake: Stake, payoffs: Floats) -> Floats:
        """The part of the wealth that earns most if the belief is true, to second order; never so much as to lose all.

        Where the belief leaves it open whether there is anything to earn, the stake is the one that would just reach
        1/alarm at the horizon: a smaller one could not.
        """
        here, there, pairs = stake
        chances = np.array([here * there, here * (1 - there), (1 - here) * there, (1 - here) * (1 - there)])
        mean, square = chances @ payoffs, chances @ payoffs**2
        just_enough = np.sqrt(-2 * np.log(self.alarm) / (self.horizon * square))
        doubt = _DOUBT * np.sqrt(square / pairs)
        part: Floats = np.maximum((mean - doubt) / square, np.where(mean > -doubt, just_enough, 0.0))
        return part.clip(0.0, _LARGEST_STAKE / -payoffs[2])

    def close_block(self) -> None:
        """Look at the wealth of all together, as often as one likes."""
        self.highest = np.maximum(self.highest, np.logaddexp.reduce(self._shares, axis=0))

    @property
    def refutes(self) -> bool:
        """Whether the claim as stated is refuted."""
        return bool(self._refutations[: self._claimed_rung + 1].all())

    @property
    def lower_bound(self) -> float:
        """The highest rung up to which every claim is refuted; 0 where the lowest is not."""
        standing = np.flatnonzero(~self._refutations)
        first = int(standing[0]) if len(standing) else len(self.rungs)
        return float(self.rungs[first - 1]) if first else 0.0

    @property
    def evidence(self) -> float:
        """The logarithm of the highest wealth against the claim as stated."""
        return float(self.highest[self._claimed_rung])

    @property
    def leader(self) -> int:
        """The player who holds most of the wealth against what was found."""
        return int(np.argmax(self._shares[:, np.argmin(np.abs(self.rungs - self.lower_bound))]))

    @property
    def _shares(self) -> Floats:
        return np.asarray(self.logs + np.log(np.array(self.weights))[:, None])

    @property
    def _refutations(self) -> NDArray[np.bool_]:
        return np.asarray(self.highest >= -np.log(self.alarm))

    @property
    def _claimed_rung(self) -> int:
        return int(np.argmin(np.abs(self.rungs - self.claim.value)))


def ladder(stated: float) -> Floats:
    """Parameters in rising order, the stated one among them: close together near it and wider apart farther away."""
    starts = [0.0, *(end for end, _ in _STEPS)]
    rises = [np.arange(start, end, step) for start, (end, step) in zip(starts, _STEPS, strict=False)]
    up = np.concatenate(rises)
    middle = stated if stated > 0 else _PARAMETER_WITHOUT_A_STATED_ONE
    rungs: Floats = middle * np.exp(np.concatenate([-up[:0:-1], up]))
    return rungs if stated > 0 else np.concatenate([[0.0], rungs])
