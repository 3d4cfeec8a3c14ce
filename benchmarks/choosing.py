"""Figures and pictures of private selection in docs/benchmarks.md: what the applications gain and lose by epsilon.

    scripts/bench choosing [--runs 20] [--pictures docs/pictures]

Where a choice has an exact distribution (prices, lies), figures are expectations under it, and no run is needed. The
clipped mean is run, afresh each time.
"""

import argparse
import logging
import math
import sys
from pathlib import Path

import numpy as np

import discreet as dp
from discreet.attacks.pictures import Axis, Curve, curves

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))
from examples import auction, clipping, equilibrium, facility, truthful  # noqa: E402 - the folder beside this one

EPSILONS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0)
MOST, STEP = 10_000, 50
VALUES, PRICES = (10, 9, 9, 7, 6, 6, 5, 4, 3, 3, 2, 1), tuple(range(1, 11))
BOUNDS = tuple(2**power for power in range(12, 27))
EPSILON = 0.5


def bids() -> list[int]:
    return [min(int(bid), MOST) for bid in dp.testing.generator(3).lognormal(8, 0.6, 2_000)]


def auctions() -> tuple[list[Curve], list[str]]:
    """The revenue that a private price is expected to bring, as a share of the best, and what the theorem says."""
    offered, prices = bids(), auction.prices(MOST, STEP)
    best, brought = auction.best_revenue(offered), [auction.revenue(offered, price) for price in prices]
    expected, proved, lines = [], [], []
    for epsilon in EPSILONS:
        mechanism = dp.mechanisms.PermuteAndFlip(sensitivity=MOST, epsilon=epsilon, monotone=True)
        share = math.fsum(p * made for p, made in zip(mechanism.pmf(brought), brought, strict=True)) / best
        bound = 1 - auction.loss_bound(len(offered), most=MOST, step=STEP, epsilon=epsilon, beta=0.05) / best
        expected.append((epsilon, share))
        proved.append((epsilon, max(0.0, bound)))
        lines.append(
            f"auction, epsilon {epsilon}: {share:.1%} of the best revenue on average; at least {bound:.1%} in 95%"
        )
    return [
        Curve("expected revenue of the private price", tuple(expected)),
        Curve("the theorem: at least this in 95% of runs", tuple(proved), is_measured=False),
    ], lines


def lies() -> tuple[list[Curve], list[str]]:
    """What the best of all lies gains, and what the theorem allows."""
    gained, lines = [], []
    epsilons = [epsilon for epsilon in EPSILONS if epsilon >= 0.05]
    for epsilon in epsilons:
        lie = truthful.best_lie(truthful.Market(PRICES, epsilon), VALUES, (0,), (0, *PRICES))
        gained.append((epsilon, lie.gain))
        lines.append(f"lie, epsilon {epsilon}: gains {lie.gain:.4f}, {lie.factor:.4f} times the truth")
    return [
        Curve("the best lie of all", tuple(gained)),
        Curve("tanh(epsilon/2): no lie gains more", tuple((e, math.tanh(e / 2)) for e in epsilons), is_measured=False),
        Curve(
            "2 epsilon, as textbooks say it up to 1", tuple((e, 2 * e) for e in epsilons if e <= 1), is_measured=False
        ),
    ], lines


def means(runs: int) -> tuple[list[Curve], list[str]]:
    """How far off the mean of incomes is: by bounds that were guessed, and by one that is found on the way."""
    people = dp.datasets.people(20_000)
    incomes = np.array(people["income"].to_pylist())
    truth = incomes.mean()
    guessed = []
    for bound in BOUNDS:
        bias = truth - np.minimum(incomes, bound).mean()
        noise = dp.mechanisms.Laplace(sensitivity=bound, epsilon=EPSILON).standard_deviation / len(incomes)
        guessed.append((float(bound), math.hypot(bias, noise) / truth))
    found = [_found(people) for _ in range(runs)]
    off = math.sqrt(sum((each.mean - truth) ** 2 for each in found) / runs) / truth
    bound = float(np.median([each.bound for each in found]))
    least = min(guessed, key=lambda point: point[1])
    lines = [
        f"mean, bound found (median {bound:,.0f}): off by {off:.2%} (root mean square of {runs} runs)",
        f"mean, best guess {least[0]:,.0f}: off by {least[1]:.2%}",
        *(f"mean, bound {b:,.0f}: off by {e:.2%}" for b, e in guessed),
    ]
    return [
        Curve("a bound that was guessed: clipping and noise together", tuple(guessed), is_measured=False),
        Curve("a bound found on the way, all of it paid", ((bound, off),)),
    ], lines


def _found(people: object) -> clipping.Clipped:
    with dp.protect(
        people,
        name="people",
        privacy_unit="person_id",
        max_rows=1,
        budget=dp.Budget(epsilon=EPSILON),
        ledger=":memory:",
    ) as session:
        return clipping.clipped_mean(session, "people", "income", highest=2**30, epsilon=EPSILON)


def others() -> list[str]:
    """Facilities and roads: the bounds, beside what was found."""
    lines = []
    for people in (1_000, 10_000, 100_000, 1_000_000):
        town = facility.Town(10, facility.best_epsilon(people, 10))
        lines.append(
            f"facility, {people:,} people: epsilon {float(town.epsilon):.4f}, imposing {float(town.imposing):.1%}, "
            f"at most {town.loss_bound(people) / people:.3f} steps each above the best"
        )
    budget = dp.Budget(epsilon=1, delta=1e-9)
    for drivers, rounds in ((2_000, 50), (20_000, 150), (200_000, 600)):
        tastes = dp.testing.generator(1).random((drivers, 2))
        gain = equilibrium.gains(tastes, equilibrium.play(tastes, budget=budget, rounds=rounds)).max()
        alpha = equilibrium.bound(drivers, budget=budget, rounds=rounds, beta=0.01)
        lines.append(f"roads, {drivers:,} drivers, {rounds} rounds: gain {gain:.3f}, at most {alpha:.3f}")
    return lines


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--runs", type=int, default=20)
    options.add_argument("--pictures", default=None)
    given = options.parse_args()
    logging.disable(logging.WARNING)
    share, epsilon = Axis("share of the best revenue", limits=(0, 1.02), is_share=True), Axis("epsilon", "log")
    drawn = {
        "auction": (*auctions(), "A price chosen privately, for 2,000 bids", epsilon, share),
        "lies": (*lies(), "What lying to a private choice gains", epsilon, Axis("gain, of the highest price", "log")),
        "clipping": (
            *means(given.runs),
            "Mean income of 20,000 people at epsilon 0.5, by the bound",
            Axis("clipping bound", "log"),
            Axis("error, as a share of the mean", "log", is_share=True),
        ),
    }
    for name, (made, lines, title, x, y) in drawn.items():
        print(*lines, sep="\n", flush=True)
        if given.pictures:
            place = Path(given.pictures) / f"choosing-{name}.svg"
            curves(made, title=title, x=x, y=y).savefig(place, metadata={"Date": None})
    print(*others(), sep="\n")


if __name__ == "__main__":
    main()
