"""Why nobody gains much by lying to a private choice, alone or with others.

The price of examples/auction.py is chosen from what people bid, so a bidder might try to lower it by bidding less than
the goods are worth to them. If the choice is epsilon-DP where one bid is *replaced*, no lie does much: the chances of
all outcomes stay about the same.

Theorem. Let a choice be epsilon-DP under replace_one, and let what each outcome is worth to somebody lie in [0, 1].
Whatever they report, and whatever the others do, their expected worth under a lie is

    at most e^epsilon times that under the truth, and at most tanh(epsilon/2) <= epsilon/2 above it.

(Textbooks say 2 epsilon above it, for epsilon <= 1: e^epsilon - 1 <= 2 epsilon.) If k people lie together, what the
outcome is worth to any of them, and to all of them together, is at most e^(k epsilon) times as much, and for values
that sum to at most 1, at most tanh(k epsilon/2) above. Under add_remove a lie is two steps, one bid taken away and
another put in its place, and epsilon becomes 2 epsilon.

A buyer's worth depends on their own bid too: they must buy where it reaches the price. This only helps: at any price,
nothing is better than to buy exactly if the price is at most what the goods are worth, which the truth does.

References: McSherry and Talwar, Mechanism Design via Differential Privacy, FOCS 2007, Section 2.1. That two
distributions within e^epsilon of one another differ by tanh(epsilon/2) at most: Kairouz, Oh and Viswanath, The
Composition Theorem for Differential Privacy, ICML 2015.
"""

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache

import discreet as dp
from examples import auction


@dataclass(frozen=True)
class Market:
    """Prices that may be chosen, at what epsilon, and how: by exponential weights, or by permute and flip."""

    prices: tuple[int, ...]
    epsilon: float
    by: type[dp.mechanisms.Exponential | dp.mechanisms.PermuteAndFlip] = dp.mechanisms.PermuteAndFlip

    @property
    def highest(self) -> int:
        """The highest price: how far one replaced bid can move the revenue of any price."""
        return max(self.prices)

    def chances(self, bids: Sequence[int]) -> list[float]:
        """The probability of each price; who bids what plays no part, and a raised bid lowers no revenue."""
        return _chances(self, tuple(sorted(bids)))

    def worth(self, values: Sequence[int], bids: Sequence[int], who: Sequence[int]) -> float:
        """What the auction is expected to be worth to these people together, in units of the highest price each."""
        chances = self.chances(bids)
        return math.fsum(
            chance * sum(values[person] - price for person in who if bids[person] >= price) / self.highest
            for price, chance in zip(self.prices, chances, strict=True)
        )


@dataclass(frozen=True)
class Lie:
    """What to bid instead of the truth, and what it is worth against what the truth is."""

    bids: tuple[int, ...]
    worth: float
    honest: float

    @property
    def gain(self) -> float:
        """How much more the lie is worth; zero or below where the truth is best."""
        return self.worth - self.honest

    @property
    def factor(self) -> float:
        """How many times as much."""
        return self.worth / self.honest


def best_lie(market: Market, values: Sequence[int], who: Sequence[int], reports: Sequence[int]) -> Lie:
    """The joint report of these people, of all that there are, that is worth most to them together."""
    honest = market.worth(values, values, who)
    found = max(
        (market.worth(values, _reported(values, dict(zip(who, told, strict=True))), who), told)
        for told in itertools.product(reports, repeat=len(who))
    )
    return Lie(found[1], found[0], honest)


@cache
def _chances(market: Market, bids: tuple[int, ...]) -> list[float]:
    mechanism = market.by(sensitivity=market.highest, epsilon=market.epsilon, monotone=True)
    return mechanism.pmf([auction.revenue(bids, price) for price in market.prices])


def _reported(values: Sequence[int], told: Mapping[int, int]) -> list[int]:
    return [told.get(person, value) for person, value in enumerate(values)]


def main() -> None:
    """Twelve bidders, prices 1 to 10: the best lie of each size of coalition, of all lies that there are."""
    values, prices = (10, 9, 9, 7, 6, 6, 5, 4, 3, 3, 2, 1), tuple(range(1, 11))
    for epsilon in (0.1, 0.5, 1.0):
        market = Market(prices, epsilon)
        for liars in (1, 2, 3):
            lie = best_lie(market, values, range(liars), (0, *prices))
            print(
                f"epsilon {epsilon}, {liars} lying: {lie.factor:.4f} times the truth, at most "
                f"{math.exp(liars * epsilon):.4f}; gain {lie.gain / liars:.4f} each, "
                f"at most {math.tanh(liars * epsilon / 2):.4f}"
            )


if __name__ == "__main__":
    main()
