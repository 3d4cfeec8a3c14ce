"""How a query's budget is divided over the integers that get noise, and which noise is the narrowest.

The reference is the plain way: every measure gets noise of its own, for shares that follow the weights of the outputs.
Other ways to measure the same are taken where they help: their shares make the largest ratio of an output's variance to
that of the reference as small as they can, so no output gets worse and all gain alike. A mean counts at both ends of
where it can lie. Floats choose the shares; what they choose is rounded to a few digits and judged in rationals.
"""

import operator
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from discreet.errors import ParameterError
from discreet.mechanisms import AdditiveNoise
from discreet.plan.physical import Integers
from discreet.planner.budget.allocation import Spending, mechanisms
from discreet.planner.budget.measurement_basis import Basis

WORTHWHILE = Fraction(49, 50)
_DIGITS = 4
_ROUNDS = 400
_NEAR = 1.001

Errors = Sequence[Mapping[Integers, int]]
Split = tuple[Basis, tuple[Fraction, ...]]


class Measured(NamedTuple):
    """A spending, what gets noise for it, the share of each, and the noise."""

    spent: Spending
    basis: Basis
    shares: tuple[Fraction, ...]
    noises: tuple[AdditiveNoise, ...]


def narrowest(
    spendings: Sequence[Spending], bases: Sequence[Basis], weights: Mapping[Integers, Fraction], errors: Errors
) -> Measured:
    """The first spending, or a later one whose expected error is no larger for any output; with its noise."""
    found = (_best_basis(spent, bases, weights, errors) for spent in spendings)
    return last_no_worse((each, _error_variances(each, errors)) for each in found)


Found = TypeVar("Found")


def last_no_worse(found: Iterable[tuple[Found, Iterable[float]]]) -> Found:
    """The first, or a later one none of whose errors is larger than that of the best before it."""
    (best, least), *others = ((each, list(errors)) for each, errors in found)
    for other, errors in others:
        if all(map(operator.le, errors, least)):
            best, least = other, errors
    return best


def _best_basis(
    spent: Spending, bases: Sequence[Basis], weights: Mapping[Integers, Fraction], errors: Errors
) -> Measured:
    """The best way to measure whose noise can be drawn; the plain one is refused if it cannot."""
    *others, (plain, asked) = balance_shares(bases, weights, errors, spent.kind)
    for basis, shares in others:
        with suppress(ParameterError):
            return Measured(spent, basis, shares, mechanisms(spent, shares, basis.sensitivities))
    return Measured(spent, plain, asked, mechanisms(spent, asked, plain.sensitivities))


def _error_variances(measured: Measured, errors: Errors) -> list[float]:
    """The variance of each error, in steps."""
    return [
        sum(
            weight * float(factor) ** 2 * measured.noises[place].variance
            for measure, weight in error.items()
            for place, factor in measured.basis.readings[measure]
        )
        for error in errors
    ]


def balance_shares(
    bases: Sequence[Basis], weights: Mapping[Integers, Fraction], errors: Errors, noise: type[AdditiveNoise]
) -> list[Split]:
    """Ways to measure with their shares, the best first and the plain one last."""
    plain, *others = bases
    shares = tuple(weights[measure] for measure in plain.readings)
    whole = sum(shares, Fraction(0))
    asked = tuple(share / whole for share in shares)
    reference = _variances(plain, asked, errors, noise) if others else []
    found: list[tuple[Fraction, Split]] = []
    for basis in others:
        needs = _needs(basis, errors, noise)
        ratios = tuple(
            tuple(float(part / all_) if part else 0.0 for part in row)
            for row, all_ in zip(needs, reference, strict=True)
        )
        split = _shares(ratios, noise.power)
        if split is not None:
            variances = _variances(basis, split, errors, noise)
            worst = max(now / before for now, before in zip(variances, reference, strict=True))
            found.append((worst, (basis, split)))
    better = sorted((one for one in found if one[0] <= WORTHWHILE), key=lambda one: one[0])
    return [*(split for _, split in better), (plain, asked)]


def _needs(basis: Basis, errors: Errors, noise: type[AdditiveNoise]) -> list[list[Fraction]]:
    """The variance that each drawn measure adds to each error, were all of the budget its own."""
    sizes = [noise.unit_variance(moved) for moved in basis.sensitivities]
    table = []
    for error in errors:
        row = [Fraction(0)] * len(sizes)
        for measure, weight in error.items():
            for place, factor in basis.readings[measure]:
                row[place] += weight * sizes[place] * factor**2
        table.append(row)
    return table


def _variances(basis: Basis, shares: Sequence[Fraction], errors: Errors, noise: type[AdditiveNoise]) -> list[Fraction]:
    return [
        sum((part / share**noise.power for part, share in zip(row, shares, strict=True) if part), Fraction(0))
        for row in _needs(basis, errors, noise)
    ]


@lru_cache(maxsize=1024)
@np.errstate(all="ignore")
def _shares(ratios: tuple[tuple[float, ...], ...], power: int) -> tuple[Fraction, ...] | None:
    """Shares s that make the largest sum of ratio/s^power over the rows about as small as it can be; they add to one.

    For weights on the rows the best shares are known in closed form, and their value is a lower bound for all shares;
    rows that come out large get more weight, until the largest row is next to the bound.
    """
    matrix = np.array(ratios)
    if not (np.isfinite(matrix).all() and (matrix.max(axis=0) > 0).all()):
        return None
    weights = np.full(len(matrix), 1 / len(matrix))
    best, least = None, np.inf
    for _ in range(_ROUNDS):
        roots = (matrix * weights[:, None]).sum(axis=0) ** (1 / (1 + power))
        shares = roots / roots.sum()
        rows = (matrix / shares**power).sum(axis=1)
        if rows.max() < least:
            best, least = shares, rows.max()
        if not np.isfinite(rows).all() or least <= _NEAR * roots.sum() ** (1 + power):
            break
        weights *= np.sqrt(rows / rows.max())
        weights /= weights.sum()
    return _round_shares(best)


def _round_shares(shares: NDArray[np.float64] | None) -> tuple[Fraction, ...] | None:
    """Shares of a few digits: another machine, whose floats end differently, comes to the same ones."""
    if shares is None:
        return None
    brief = [Fraction(f"{share:.{_DIGITS}g}") for share in shares]
    whole = sum(brief, Fraction(0))
    return tuple(share / whole for share in brief) if all(brief) else None
