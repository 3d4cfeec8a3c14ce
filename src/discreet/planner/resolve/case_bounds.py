"""Clipping bounds of a conditional number: from the lowest to the highest bound of its branches.

They are public: constants stand in the query, and bounds of columns in the catalog. Values are clipped to them as to
any bounds, so they decide how accurate a sum is, not how private.
"""

from collections.abc import Callable
from fractions import Fraction

from discreet.catalog.catalog import NUMERIC, ColumnType
from discreet.exact.numbers import rational
from discreet.plan.physical import Apply, Constant, Read, Term, case_parts

Bounds = tuple[Fraction, Fraction]


def case_bounds(term: Term, declared: Callable[[Read], Bounds | None]) -> Bounds | None:
    """The hull of the bounds of all branches; None if it is not a numeric case, or a branch has no bounds."""
    if not isinstance(term, Apply) or term.operator != "case" or term.type not in NUMERIC:
        return None
    branches, otherwise = case_parts(term)
    values = [value for _, value in branches] + ([] if otherwise is None else [otherwise])
    known = [_bounds(value, declared) for value in values]
    found = [each for each in known if each is not None]
    if len(found) < len(known):
        return None
    return min(low for low, _ in found), max(high for _, high in found)


def _bounds(term: Term, declared: Callable[[Read], Bounds | None]) -> Bounds | None:
    match term:
        case Constant(int() | float() as value):
            exact = rational(value, "a constant")
            return exact, exact
        case Read():
            return declared(term)
        case Apply("to_real", (whole,)) if whole.type is ColumnType.INTEGER:
            return _bounds(whole, declared)
    return case_bounds(term, declared)
