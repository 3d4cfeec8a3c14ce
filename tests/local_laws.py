"""Exact laws of oracles: the draws of a client, enumerated, and what a law must have."""

import itertools
from collections import Counter
from collections.abc import Callable, Iterator
from fractions import Fraction

import numpy as np

from discreet.exact.rounding import exp_up
from discreet.local.oracles import FrequencyOracle, LocalRandomizer

Below = Callable[[int], int]


def enumerated(draw: Callable[[Below], object]) -> dict[object, Fraction]:
    """The exact law of a draw: every sequence of numbers that `below` may return, with its probability."""
    law: Counter[object] = Counter()
    pending: list[tuple[int, ...]] = [()]
    while pending:
        path, sizes = pending.pop(), []

        def below(n: int, path: tuple[int, ...] = path, sizes: list[int] = sizes) -> int:
            sizes.append(n)
            return path[len(sizes) - 1] if len(sizes) <= len(path) else 0

        outcome = draw(below)
        chance = Fraction(1)
        for n in sizes:
            chance /= n
        law[outcome] += chance
        for place in range(len(path), len(sizes)):
            start = (*path, *(0,) * (place - len(path)))
            pending.extend((*start, other) for other in range(1, sizes[place]))
    return dict(law)


def draw_krr(o: dict, x: int, below: Below) -> int:
    (a, b), d = o["ratio"], o["size"]
    u = below(a + b * (d - 1))
    if u < a:
        return x
    other = (u - a) // b
    return other if other < x else other + 1


def draw_unary(o: dict, x: int, below: Below) -> tuple[int, ...]:
    pairs = (o["one"] if i == x else o["zero"] for i in range(o["size"]))
    return tuple(i for i, (num, den) in enumerate(pairs) if below(den) < num)


def draw_subset(o: dict, x: int, below: Below) -> tuple[int, ...]:
    (a, b), d, w = o["ratio"], o["size"], o["subset"]
    inside = below(w * a + (d - w) * b) < w * a
    m, taken = w - 1 if inside else w, set()
    for j in range(d - 1 - m, d - 1):
        t = below(j + 1)
        taken.add(j if t in taken else t)
    others = {slot if slot < x else slot + 1 for slot in taken}
    return tuple(sorted(others | ({x} if inside else set())))


def draw_hadamard(o: dict, x: int, below: Below) -> int:
    a, b = o["ratio"]
    j = below(o["order"])
    s = (j & (x + 1)).bit_count() % 2
    return 2 * j + (s if below(a + b) < a else 1 - s)


def draw_pgr(o: dict, x: int, below: Below) -> int:
    (a, b), q, t = o["ratio"], o["field"], o["dimension"]
    points = list(canonical_points(q, t))
    number = {point: i for i, point in enumerate(points)}
    v, cs = points[x], (q ** (t - 1) - 1) // (q - 1)
    lead = next(i for i in range(t) if v[i])
    inside = below((a - b) * cs + b * len(points)) < a * cs
    # w is zero only inside with r = 0, where r alone is drawn again: until then it is uniform from 1 on
    r = 1 + below(q ** (t - 1) - 1) if inside else below(q ** (t - 1))
    digits = [r // q**k % q for k in range(t - 2, -1, -1)]
    w = [*digits[:lead], 0, *digits[lead:]]
    z = 0 if inside else 1 + below(q - 1)
    w[lead] = (z - sum(one * other for one, other in zip(w, v, strict=True))) % q
    scale = pow(next(c for c in w if c), -1, q)
    return number[tuple(c * scale % q for c in w)]


def canonical_points(q: int, t: int) -> Iterator[tuple[int, ...]]:
    for lead in range(t - 1, -1, -1):
        for tail in itertools.product(range(q), repeat=t - 1 - lead):
            yield (0,) * lead + (1, *tail)


def draw_duchi(o: dict, x: int, below: Below) -> int:
    (a, b), m = o["ratio"], o["steps"]
    return int(below((a + b) * m) < b * m + (a - b) * x)


def draw_hybrid(o: dict, x: int, below: Below) -> int:
    (a, b), m, s, window = o["ratio"], o["steps"], o["step"], o["window"]
    outputs, (num, den) = window + s * m, o["piecewise"]
    if below(den) >= num:
        return outputs + draw_duchi(o, x, below)
    u = below(a * window + b * (outputs - window))
    if u < a * window:
        return s * x + u // a
    outside = [output for output in range(outputs) if not s * x <= output < s * x + window]
    return outside[(u - a * window) // b]


DRAWS = {
    "krr": draw_krr,
    "unary": draw_unary,
    "subset": draw_subset,
    "hadamard": draw_hadamard,
    "pgr": draw_pgr,
    "duchi": draw_duchi,
    "hybrid": draw_hybrid,
}


def law_of(oracle: LocalRandomizer, slot: int) -> dict[object, Fraction]:
    """The law of the draw of a client."""
    fields = oracle.to_json()
    return enumerated(lambda below: DRAWS[oracle.kind](fields, slot, below))


def assert_exact_loss(oracle: LocalRandomizer, epsilon: Fraction | None = None, **cohort: int) -> None:
    """Probabilities add up to one, and the largest ratio over all reports and pairs of slots is the stated one."""
    laws = [oracle.pmf(slot, **cohort) for slot in range(oracle.size)]
    assert {sum(law.values()) for law in laws} == {1}
    worst = Fraction(0)
    for outcome in laws[0]:
        masses = [law[outcome] for law in laws]
        assert all(oracle.probability(outcome, s, **cohort) == masses[s] for s in range(0, oracle.size, 7))
        if max(masses):
            assert min(masses) > 0
            worst = max(worst, max(masses) / min(masses))
    assert worst == oracle.ratio
    assert exp_up(oracle.epsilon) >= worst
    if epsilon is not None:
        assert oracle.ratio < exp_up(epsilon)
        assert oracle.epsilon <= epsilon


def assert_draws_fit(oracle: LocalRandomizer) -> None:
    """The law of the draw equals the probabilities in code, exactly, for every slot."""
    for slot in range(oracle.size):
        stated = {outcome: mass for outcome, mass in oracle.pmf(slot).items() if mass}
        assert law_of(oracle, slot) == stated


def column(oracle: FrequencyOracle, outcome: object) -> np.ndarray:
    """The counts of one report."""
    counts = np.zeros(oracle.symbols or oracle.size, dtype=np.int64)
    counts[list(outcome) if isinstance(outcome, tuple) else outcome] = 1
    return counts


def assert_rates_and_unbiased(oracle: FrequencyOracle) -> None:
    """Supporting probabilities are the stated ones, and expected estimates of one report are one and zero."""
    for slot in range(oracle.size):
        law = oracle.pmf(slot)
        columns = {outcome: column(oracle, outcome) for outcome in law}
        support = {outcome: oracle.support(counts) for outcome, counts in columns.items()}
        for other in {slot, 0, oracle.size - 1}:
            rate = sum(mass for outcome, mass in law.items() if support[outcome][other])
            assert rate == (oracle.true_rate if other == slot else oracle.false_rate)
        mean = sum(float(mass) * oracle.estimate(columns[outcome], 1) for outcome, mass in law.items())
        assert np.allclose(mean, np.eye(oracle.size)[slot], atol=1e-9)


def assert_variance(oracle: FrequencyOracle) -> None:
    """The variance of the estimate of one report is the stated one, for the own slot and another."""
    law = oracle.pmf(0)
    for slot, frequency in ((0, 1.0), (oracle.size - 1, 0.0)):
        squares = sum(float(m) * oracle.estimate(column(oracle, y), 1)[slot] ** 2 for y, m in law.items())
        assert np.isclose(squares - frequency, oracle.variance(frequency))


def assert_payloads(oracle: LocalRandomizer) -> None:
    """Every outcome has a payload of the stated length, and comes back from it."""
    outcomes = list(oracle.pmf(0))
    payloads = [oracle.payload(outcome) for outcome in outcomes]
    assert {len(payload) for payload in payloads} == {oracle.payload_bytes}
    assert [oracle.outcome(payload) for payload in payloads] == outcomes
    assert len(set(payloads)) == len(outcomes)
