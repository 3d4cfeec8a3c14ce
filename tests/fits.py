"""How well draws fit a law, with a rate of false alarms that is proved for every number of draws and every law."""

import math
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence

FEWEST = 10


def fit(draws: Iterable[Hashable], law: Mapping[Hashable, float]) -> float:
    """An upper bound on the probability that as many draws of the law fit it as badly as these.

    The draws' number times the relative entropy of their shares to a law of k outcomes is at least t with probability
    at most e^-t (e t / (k - 1))^(k - 1), for t above k - 1 (Agrawal, Finite-sample concentration of the multinomial in
    relative entropy, 2020). Unlike that of a chi-square, the bound does not need many draws in each cell. Outcomes
    expected fewer than 10 times, and what the law leaves out, are one cell.
    """
    seen = Counter(draws)
    many = seen.total()
    kept = [outcome for outcome, share in law.items() if many * share >= FEWEST]
    cells = [(seen[outcome], law[outcome]) for outcome in kept]
    cells.append((many - sum(number for number, _ in cells), max(0.0, 1 - math.fsum(law[outcome] for outcome in kept))))
    return bound(cells)


def bound(cells: Iterable[tuple[int, float]]) -> float:
    """The same for cells: how often each was seen, and its share."""
    counted = [(number, share) for number, share in cells if number or share > 0]
    many, free = sum(number for number, _ in counted), len(counted) - 1
    if any(share <= 0 for _, share in counted):
        return 0.0
    return _tail(math.fsum(number * math.log(number / (many * share)) for number, share in counted if number), free)


def alike(one: Sequence[Hashable], other: Sequence[Hashable], outcomes: int) -> float:
    """The same for two samples of one unknown law, of at most so many outcomes.

    Of all laws, that of both samples together is the one to which their relative entropies have the least sum. The sum
    to the true law has the bound of twice as many free cells.
    """
    both, many = Counter(one) + Counter(other), len(one) + len(other)
    away = math.fsum(
        number * math.log(number * many / (len(sample) * both[outcome]))
        for sample in (one, other)
        for outcome, number in Counter(sample).items()
    )
    return _tail(away, 2 * (outcomes - 1))


def _tail(away: float, free: int) -> float:
    return min(1.0, math.exp(free - away + free * math.log(away / free))) if away > free > 0 else 1.0
