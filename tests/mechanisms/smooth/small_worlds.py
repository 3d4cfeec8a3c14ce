"""Worlds so small that all datasets and all their neighbours can be listed, and the contract read off them exactly."""

from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import combinations, combinations_with_replacement

from discreet.exact.rounding import exp_down
from discreet.mechanisms.smooth import Local
from discreet.mechanisms.smooth.smoothing import smooth_sensitivity

Rows = tuple[int, ...]
Made = Callable[[Rows], Local]


def datasets(values: range, most: int) -> Iterator[Rows]:
    """All multisets of up to `most` rows."""
    for count in range(most + 1):
        yield from combinations_with_replacement(values, count)


def neighbours(rows: Rows, values: range, max_rows: int, relation: str) -> set[Rows]:
    """All that one unit of up to `max_rows` rows can make of a dataset; where one is replaced, by one of any size."""
    found: set[Rows] = set()
    for leaving in range(min(max_rows, len(rows)) + 1):
        for kept in set(_without(rows, leaving)):
            for coming in range(max_rows + 1):
                if relation == "replace_one" or leaving * coming == 0:
                    found.update(_with(kept, values, coming))
    return found - {rows}


def check_contract(made: Made, values: range, most: int, max_rows: int, relation: str) -> float:
    """Assert what a local object promises, exactly, for all small datasets; say how often A_0 is reached."""
    depth, known = most + 2, {}

    def seen(rows: Rows) -> tuple[Fraction, list[Fraction]]:
        if rows not in known:
            local = made(rows)
            known[rows] = local.value(), [local.at(k) for k in range(depth + 1)]
            assert local.at(local.reach) == local.at(local.reach + 1) == local.at(10**9) <= local.largest
            assert 0 < local.at(local.reach) == known[rows][1][-1]
        return known[rows]

    reached = total = 0
    for rows in datasets(values, most):
        (value, bounds), around = seen(rows), [seen(r) for r in neighbours(rows, values, max_rows, relation)]
        farthest = max(abs(value - other) for other, _ in around)
        assert farthest <= bounds[0]
        assert bounds == sorted(bounds)
        for _, others in around:
            assert all(bound <= other for bound, other in zip(bounds, others[1:], strict=False))
        reached, total = reached + (farthest == bounds[0]), total + 1
    return reached / total


def check_smoothness(made: Made, values: range, most: int, max_rows: int, relation: str, beta: Fraction) -> float:
    """Assert |f(x) - f(x')| <= S(x) <= e^beta S(x') exactly for all small datasets; say how near e^beta it comes."""
    known: dict[Rows, tuple[Fraction, Fraction]] = {}

    def answer(rows: Rows) -> tuple[Fraction, Fraction]:
        if rows not in known:
            local = made(rows)
            known[rows] = local.value(), smooth_sensitivity(local, beta)
        return known[rows]

    nearest = Fraction(0)
    for rows in datasets(values, most):
        value, width = answer(rows)
        for other in neighbours(rows, values, max_rows, relation):
            other_value, other_width = answer(other)
            assert abs(value - other_value) <= min(width, other_width)
            assert width <= exp_down(beta) * other_width
            nearest = max(nearest, width / other_width)
    return float(nearest / exp_down(beta))


def _without(rows: Rows, count: int) -> Iterator[Rows]:
    for gone in combinations(range(len(rows)), count):
        yield tuple(value for place, value in enumerate(rows) if place not in gone)


def _with(rows: Rows, values: range, count: int) -> Iterator[Rows]:
    for more in combinations_with_replacement(values, count):
        yield tuple(sorted(rows + more))
