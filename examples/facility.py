"""Two facilities on a line, placed so that lying never pays: a private choice, mixed with one that punishes liars.

People live at places 0, 1, ..., D (D >= 2) and say where. Two facilities are built at different places, and everybody
walks to the nearer one. By the exponential mechanism on the total distance walked, a lie gains little
(examples/truthful.py); it is made to gain nothing at all by a chance q of *imposing*: two neighbouring places j, j + 1
are drawn, whatever was said, the facilities are built there, and everybody must use the one that is nearer to where
they said that they live.

Theorem. With q = epsilon D/(2 + epsilon D), telling the truth costs nobody more, in expectation, than any lie, whatever
the others say. With N = D (D + 1)/2 pairs of places, the expected distance walked by n truthful people is at most

    OPT + (2 (D - 1)/epsilon) ln N + q n (D - 1)/2.

Proof. A lie by d places moves the walk to any two facilities by at most d, so with sensitivity D - 1 all chances stay
within e^(epsilon d/(D - 1)); a walk is at most D - 1; so the lie saves at most (D - 1) tanh(epsilon d/(2 (D - 1))) <=
epsilon d/2. When imposed, it sends its teller to the wrong one of j, j + 1 for exactly d of the D draws, each time one
step farther: it costs d/D. And q d/D = (1 - q) epsilon d/2. For the second part, weights e^(-cost/t) cost at most
t ln N more than the least in expectation, here with t = 2 (D - 1)/epsilon, and an imposed walk is (D - 1)/2 on average
at most. At epsilon = sqrt(8 ln N/(n D)) both losses are at most (D - 1) sqrt(2 n D ln N) together: per person, they
vanish as people become many.

The two places are epsilon-DP under replace_one, drawn places being nobody's. Reference: Nissim, Smorodinsky and
Tennenholtz, Approximately Optimal Mechanism Design via Differential Privacy, ITCS 2012, Sections 4 and 5; the mixture
over neighbouring places, and its constants, are proved here.
"""

import itertools
import math
import secrets
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import discreet as dp

Pair = tuple[int, int]


@dataclass(frozen=True)
class Town:
    """Places 0, 1, ..., length, and the epsilon of choosing among them."""

    length: int
    epsilon: Fraction

    @property
    def pairs(self) -> list[Pair]:
        """Where two facilities may be."""
        return list(itertools.combinations(range(self.length + 1), 2))

    @property
    def imposing(self) -> Fraction:
        """q: how often facilities are drawn, and imposed."""
        weight = self.epsilon * self.length
        return weight / (2 + weight)

    @property
    def mechanism(self) -> dp.mechanisms.Exponential:
        """How facilities are chosen otherwise; one walk of another length moves a total by at most length - 1."""
        return dp.mechanisms.Exponential(sensitivity=self.length - 1, epsilon=self.epsilon)

    def scores(self, reports: Sequence[int]) -> list[int]:
        """Minus the total distance walked, by pair."""
        homes = Counter(reports)
        return [-sum(count * walk(place, pair) for place, count in homes.items()) for pair in self.pairs]

    def imposed_walk(self, place: int, report: int) -> Fraction:
        """How far somebody at a place walks on average where facilities are drawn and imposed by their report."""
        walks = (abs(place - nearer(report, (left, left + 1))) for left in range(self.length))
        return Fraction(sum(walks), self.length)

    def loss_bound(self, people: int) -> float:
        """How far above the least total the expected total of truthful people may be."""
        chosen = 2 * (self.length - 1) / float(self.epsilon) * math.log(len(self.pairs))
        return chosen + float(self.imposing) * people * (self.length - 1) / 2


@dataclass(frozen=True)
class Placed:
    """Where the facilities are, and which one each person must use, if that was imposed."""

    pair: Pair
    imposed: tuple[int, ...] | None


def walk(place: int, pair: Pair) -> int:
    """The distance to the nearer facility."""
    return abs(place - nearer(place, pair))


def nearer(place: int, pair: Pair) -> int:
    """The facility nearer to a place; the left one of two as near."""
    return min(pair, key=lambda facility: abs(place - facility))


def place_facilities(town: Town, reports: Sequence[int]) -> Placed:
    """The mixture: exact coins, exact weights."""
    chance = town.imposing
    if secrets.randbelow(chance.denominator) < chance.numerator:
        left = secrets.randbelow(town.length)
        pair = (left, left + 1)
        return Placed(pair, tuple(nearer(report, pair) for report in reports))
    return Placed(town.pairs[town.mechanism.release(town.scores(reports))], None)


def best_epsilon(people: int, length: int) -> Fraction:
    """The epsilon at which the two losses balance."""
    pairs = length * (length + 1) // 2
    return Fraction(str(round(math.sqrt(8 * math.log(pairs) / (people * length)), 6)))


def main() -> None:
    """A street of eleven places, and ever more people."""
    length, rng = 10, dp.testing.generator(5)
    for people in (1_000, 10_000, 100_000):
        town = Town(length, best_epsilon(people, length))
        homes = [int(home) for home in rng.choice([0, 1, 2, 7, 8, 9, 10], size=people)]
        least = -max(town.scores(homes))
        built = place_facilities(town, homes)
        print(
            f"{people:,} people, epsilon {float(town.epsilon):.4f}, imposing {float(town.imposing):.1%}: built at "
            f"{built.pair}; the best walk is {least / people:.3f} each, the bound "
            f"{(least + town.loss_bound(people)) / people:.3f}"
        )


if __name__ == "__main__":
    main()
