"""An approximate correlated equilibrium of a large game, by private no-regret play: who takes which of two roads.

Each of n drivers has a private taste: how much either road costs them beside the crowd, in [0, 1]. A road costs a
driver half its taste and half the share of all drivers who are others on it. They play for T rounds: everybody's
chance of road 0 follows multiplicative weights over what the roads have cost so far, as a public board tells it; after
each round the board gains the sum of these chances, with exact Gaussian noise. Then a round is drawn for all, and
everybody is told, alone, a road by their own chance in that round.

Privacy. Chances are whole multiples of 2^-20, and a taste decides its driver's chances alone: replacing one taste moves
each sum by at most 1, so the board costs T rho for rho a round, however players follow it. What others are told is made
of the board and their own tastes: all of them together learn no more of anybody than the board shows.

Equilibrium. If no noise exceeds B, which has probability at least 1 - beta, then no driver gains more than

    alpha = 2 ((1 + B/n) sqrt(ln 2/(2 T)) + B/n + 2^-21)

on average by any rule for swapping the road they are told. Proof: weights with rate sqrt(8 ln 2/T)/(1 + B/n) on costs
that differ by at most 1 + B/n lose, each round, the first term against "always road 0" and against "always road 1"; the
costs on the board are off by B/n between roads, and rounding a chance costs 2^-21. With two roads, "always 1" is "1 for
0", and to swap both gains the sum of the two.

References: Kearns, Pai, Roth and Ullman, Mechanism Design in Large Games: Incentives and Privacy, ITCS 2014; Freund and
Schapire, Adaptive Game Playing Using Multiplicative Weights, 1999.
"""

import math
import secrets
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

import discreet as dp

STEPS = 2**20

Tastes = NDArray[np.float64]


@dataclass(frozen=True)
class Play:
    """What was played: the chance of road 0 by round and driver, in steps, and the board that all could read."""

    chances: NDArray[np.int64]
    board: tuple[Fraction, ...]

    def advice(self) -> list[int]:
        """A road for each driver, by a round that is drawn for all of them."""
        drawn = self.chances[secrets.randbelow(len(self.chances))]
        return [0 if secrets.randbelow(STEPS) < chance else 1 for chance in drawn.tolist()]


def noise(budget: dp.Budget, rounds: int) -> dp.mechanisms.Gaussian:
    """The noise of one round, such that all rounds together spend the budget."""
    return dp.mechanisms.Gaussian(sensitivity=1, rho=budget.rho(budget.epsilon) / rounds, grid=Fraction(1, STEPS))


def farthest(budget: dp.Budget, rounds: int, beta: float) -> float:
    """B: no noise of any round exceeds it, with probability at least 1 - beta."""
    return float(noise(budget, rounds).simultaneous_margin(rounds, 1 - Fraction(str(beta))))


def play(tastes: Tastes, *, budget: dp.Budget, rounds: int, beta: float = 0.01) -> Play:
    """Private no-regret play; beta sets the rate of learning alone."""
    drivers, mechanism = len(tastes), noise(budget, rounds)
    rate = math.sqrt(8 * math.log(2) / rounds) / (1 + farthest(budget, rounds, beta) / drivers)
    lead = np.zeros(drivers)
    chances = np.empty((rounds, drivers), dtype=np.int64)
    board: list[Fraction] = []
    for now in range(rounds):
        chances[now] = following(lead, rate)
        told = mechanism.release(Fraction(int(chances[now].sum()), STEPS))
        board.append(Fraction(told))
        lead += difference(tastes, chances[now], float(told))
    return Play(chances, tuple(board))


def following(lead: NDArray[np.float64], rate: float) -> NDArray[np.int64]:
    """Chances of road 0 by multiplicative weights, where so far it has cost each driver so much more than road 1."""
    return np.rint(STEPS / (1 + np.exp(rate * lead))).astype(np.int64)


def difference(tastes: Tastes, chances: NDArray[np.int64], total: float) -> NDArray[np.float64]:
    """How much more road 0 costs each driver than road 1, where the chances of all drivers sum to the total."""
    drivers, own = len(tastes), chances / STEPS
    others = total - own
    extra: NDArray[np.float64] = ((2 * others - (drivers - 1)) / drivers + tastes[:, 0] - tastes[:, 1]) / 2
    return extra


def gains(tastes: Tastes, played: Play) -> NDArray[np.float64]:
    """What each driver gains on average by (1 for 0, 0 for 1, both): known to somebody who knows every taste."""
    extra = np.array([difference(tastes, row, row.sum() / STEPS) for row in played.chances])
    own = played.chances / STEPS
    one_for_zero, zero_for_one = (own * extra).mean(axis=0), ((1 - own) * -extra).mean(axis=0)
    return np.column_stack([one_for_zero, zero_for_one, one_for_zero + zero_for_one])


def bound(drivers: int, *, budget: dp.Budget, rounds: int, beta: float) -> float:
    """alpha: with probability at least 1 - beta, nobody gains more by swapping."""
    off = farthest(budget, rounds, beta) / drivers
    return 2 * ((1 + off) * math.sqrt(math.log(2) / (2 * rounds)) + off + 2.0**-21)


def main() -> None:
    """Twenty thousand drivers, a hundred and fifty rounds."""
    drivers, rounds, budget = 20_000, 150, dp.Budget(epsilon=1, delta=1e-9)
    tastes = dp.testing.generator(1).random((drivers, 2))
    played = play(tastes, budget=budget, rounds=rounds)
    found, alpha = float(gains(tastes, played).max()), bound(drivers, budget=budget, rounds=rounds, beta=0.01)
    print(f"{drivers:,} drivers, {rounds} rounds, {budget} for the taste of each")
    print(f"nobody gains more than {found:.3f} of a road's cost by ignoring advice; the theorem says {alpha:.3f}")
    print(f"advised to take road 0: {played.advice().count(0):,}")


if __name__ == "__main__":
    main()
