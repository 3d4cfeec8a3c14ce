"""A price for digital goods: chosen privately by the revenue that it would bring, then posted for everybody.

Copies cost nothing, so any number can be sold, and whoever bids at least the price buys at it. The revenue of a price p
is p times the number of bids of at least p; which price is best depends on what people bid, which is theirs to keep.

Theorem. Let n bids lie in [0, most], and let the prices be step, 2 step, ..., most: m of them. A bidder who comes or
goes moves the revenue of every price by at most `most`, all one way. The price that a selection of epsilon chooses is
epsilon-DP, and in at least 1 - beta of runs

    revenue >= OPT - (1/epsilon) most (ln m + ln 1/beta) - n step,

where OPT is the revenue of the best single price of all numbers, on the grid or not. (A bid that is replaced moves all
revenues one way too, but a session does not use it: under replace_one 1/epsilon becomes 2/epsilon, as textbooks have it
for bids in [0, 1].) Proof of the last term: the best price is somebody's bid b; the highest price of the grid up to b
sells to no fewer people, each for less than a step less; and if b is below the grid, OPT is below n step.

Reference: McSherry and Talwar, Mechanism Design via Differential Privacy, FOCS 2007, Section 5.1.
"""

import math
from collections.abc import Sequence
from typing import Literal

import pyarrow as pa

import discreet as dp

Neighbours = Literal["add_remove", "replace_one"]


def prices(most: int, step: int) -> list[int]:
    """The prices that may be chosen: public, and the same whatever people bid."""
    return list(range(step, most + 1, step))


def revenue(bids: Sequence[int], price: int) -> int:
    """What a price brings."""
    return price * sum(bid >= price for bid in bids)


def best_revenue(bids: Sequence[int]) -> int:
    """OPT: what the best single price brings; it is somebody's bid."""
    return max((bid * rank for rank, bid in enumerate(sorted(bids, reverse=True), start=1)), default=0)


def loss_bound(
    people: int, *, most: int, step: int, epsilon: float, beta: float, neighbours: Neighbours = "add_remove"
) -> float:
    """How far below OPT the revenue may be, but for a probability of beta."""
    factor = 1 if neighbours == "add_remove" else 2
    candidates = len(prices(most, step))
    return factor * most / epsilon * (math.log(candidates) + math.log(1 / beta)) + people * step


def sell(
    bids: Sequence[int], *, most: int, step: int, epsilon: float, neighbours: Neighbours = "add_remove"
) -> dp.Selection:
    """Choose a price: one selection, whose epsilon protects every bid."""
    table = pa.table({"bidder": range(len(bids)), "bid": pa.array(bids, pa.int64())})
    with dp.protect(
        table,
        name="bids",
        privacy_unit="bidder",
        max_rows=1,
        neighbours=neighbours,
        budget=dp.Budget(epsilon=epsilon),
        ledger=":memory:",
    ) as session:
        score = dp.score(by="bid", side="or above", times=lambda price: price)
        return session.release(dp.table("bids").choose(prices(most, step), score=score), epsilon=epsilon)


def main() -> None:
    """Two thousand bids in cents, up to 100."""
    most, step, beta = 10_000, 50, 0.05
    drawn = dp.testing.generator(3).lognormal(8, 0.6, 2_000)
    bids = [min(int(bid), most) for bid in drawn]
    best = best_revenue(bids)
    print(f"{len(bids):,} bids; the best single price would bring {best / 100:,.2f}")
    for epsilon in (0.1, 0.5, 2.0):
        price = int(sell(bids, most=most, step=step, epsilon=epsilon).value)
        least = best - loss_bound(len(bids), most=most, step=step, epsilon=epsilon, beta=beta)
        made = revenue(bids, price)
        print(
            f"epsilon {epsilon}: price {price / 100:.2f} brings {made / 100:,.2f}, at least {least / 100:,.2f} in 95%"
        )


if __name__ == "__main__":
    main()
