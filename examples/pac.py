"""Private learning over a finite class: the rule with few errors, chosen by minus the number of its errors.

Theorem. Let C be a finite class of rules, and let m examples be drawn from any distribution, each the data of one
person, with

    m >= 8 ln(4 |C|/beta)/alpha^2    and    m >= 4 ln(2 |C|/beta)/(alpha epsilon).

The rule chosen at epsilon, by a score that one person more or less moves by at most 1, has with probability at least
1 - beta an error within alpha of the best rule of C, labels wrong or not, and the choice is epsilon-DP. The second
number is the price of privacy; where alpha <= 2 epsilon, the first is the larger, and privacy needs no more examples.

Proof. By Hoeffding's inequality for each rule and both sides, all errors in the sample are within alpha/4 of the true
ones but for beta/2. The chosen rule makes at most (2/epsilon) ln(2 |C|/beta) <= alpha m/2 errors more than the best in
the sample, but for beta/2. Together: alpha/4 + alpha/2 + alpha/4.

A threshold c says yes from c on. Its errors are the no at or above c and the yes below it, which is, but for a number
that is the same for all c, the sum over examples below c of +1 for a yes and -1 for a no. So an engine scores all
thresholds in one query, and a session selects. Conjunctions are scored here in Python.

Reference: Kasiviswanathan, Lee, Nissim, Raskhodnikova and Smith, What Can We Learn Privately?, SIAM J. Comput. 40(3),
2011, Theorem 3.4 (the constants are those of the proof above).
"""

import itertools
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa

import discreet as dp


def sample_size(rules: int, *, alpha: float, beta: float, epsilon: float) -> int:
    """How many examples make the error of the chosen rule at most alpha above the best, but for beta."""
    for_chance = 8 * math.log(4 * rules / beta) / alpha**2
    for_privacy = 4 * math.log(2 * rules / beta) / (alpha * epsilon)
    return math.ceil(max(for_chance, for_privacy))


def learn_threshold(values: Sequence[int], labels: Sequence[bool], thresholds: Sequence[int], epsilon: float) -> int:
    """A threshold with few errors among examples, each of one person."""
    table = pa.table({"person": range(len(values)), "value": pa.array(values), "yes": pa.array(map(int, labels))})
    with dp.protect(
        table,
        name="examples",
        privacy_unit="person",
        max_rows=1,
        budget=dp.Budget(epsilon=epsilon),
        ledger=":memory:",
    ) as session:
        rows = dp.table("examples")
        right_to_say_no = rows.derive(spared=1 - 2 * rows.yes)
        score = dp.score(by="value", of=dp.sum("spared", bounds=(-1, 1)), side="below")
        return int(session.release(right_to_say_no.choose(thresholds, score=score), epsilon=epsilon).value)


@dataclass(frozen=True)
class Conjunction:
    """Yes where every attribute that is named is as it says."""

    wanted: tuple[bool | None, ...]

    def __call__(self, attributes: Sequence[bool]) -> bool:
        return all(want is None or want == has for want, has in zip(self.wanted, attributes, strict=True))


def conjunctions(attributes: int) -> list[Conjunction]:
    """All 3^d conjunctions of d attributes: each must be there, must not be there, or does not matter."""
    return [Conjunction(wanted) for wanted in itertools.product((True, False, None), repeat=attributes)]


def learn_conjunction(
    examples: Sequence[tuple[tuple[bool, ...], bool]], rules: Sequence[Conjunction], epsilon: float
) -> Conjunction:
    """A conjunction with few errors among examples."""
    seen = Counter(examples).items()
    scores = [-sum(n for (attributes, label), n in seen if rule(attributes) != label) for rule in rules]
    return rules[dp.mechanisms.PermuteAndFlip(sensitivity=1, epsilon=epsilon, monotone=True).release(scores)]


def main() -> None:
    """A threshold at 600 of 1,000, with one label in ten wrong."""
    thresholds, alpha, beta, epsilon = list(range(0, 1_001, 10)), 0.05, 0.05, 0.5
    needed = sample_size(len(thresholds), alpha=alpha, beta=beta, epsilon=epsilon)
    rng = dp.testing.generator(2)
    values = rng.integers(0, 1_000, needed)
    labels = (values >= 600) ^ (rng.random(needed) < 0.1)
    learned = learn_threshold(values.tolist(), labels.tolist(), thresholds, epsilon)
    print(f"{needed:,} examples for {len(thresholds)} thresholds, epsilon {epsilon}")
    print(f"learned {learned}: its error is {0.1 + 0.8 * abs(learned - 600) / 1_000:.3f}, the best rule's 0.1")


if __name__ == "__main__":
    main()
