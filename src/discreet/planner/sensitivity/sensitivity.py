"""One lemma per measure: how far one unit can move the exact integer table, in L0, L1, L2 and Linf.

Both neighbour relations are covered. A unit that is added or removed moves the table by its own vector; a unit that is
replaced moves it by the difference of two such vectors. L2 is kept squared, because its square is a whole number.
An offset is a measure less what is usual for each unit, or for each row, so that one unit moves it less.
The lemma test (tests/guarantees) holds every rule against the engines, from both sides.
"""

from dataclasses import dataclass

from discreet.catalog.privacy_unit import Caps, Neighbours
from discreet.plan.fingerprint import FORMS, Form, Forms
from discreet.plan.physical import CountRows, CountUnits, CountValues, Integers, SumProducts, SumSteps
from discreet.planner.sensitivity.contribution_bounds import Spread, presence, spread


@dataclass(frozen=True)
class Sensitivity:
    """The most that one unit moves a vector of integers, in four norms."""

    l0: int
    l1: int
    l2_squared: int
    linf: int


@dataclass(frozen=True)
class Offset:
    """So many times a measure, less so much for each unit or row that the carrier counts."""

    measure: CountRows | SumSteps
    carrier: CountUnits | CountRows
    factor: int
    offset: int


Drawn = Integers | Offset

DRAWN_FORMS: Forms = {**FORMS, Offset: Form("offset", "Offset", "measure carrier factor offset")}
"""How measures are written in releases and in format 0."""


def sensitivity(measure: Drawn, caps: Caps, groups: int, neighbours: Neighbours, parts: int = 1) -> Sensitivity:
    """The sensitivity of a measure over all public groups at once; of rows also where groups have several parts."""
    if parts > 1 and not isinstance(measure, CountRows | SumSteps | SumProducts):
        raise TypeError(f"{type(measure).__name__} over parts of groups")
    match measure:
        case CountRows():
            return _vector_sensitivity(spread(caps, groups, parts), 1, 0, neighbours)
        case CountUnits():
            return _vector_sensitivity(presence(caps, groups), 1, 0, neighbours)
        case CountValues(_, domain):
            return _vector_sensitivity(spread(_within(caps, len(domain)), groups), 1, 0, neighbours)
        case SumSteps():
            return _vector_sensitivity(spread(caps, groups, parts), *_reach(measure), neighbours)
        case SumProducts():
            return _vector_sensitivity(spread(caps, groups, parts), *_product_reach(measure), neighbours)
        case Offset():
            low, high = _worth(measure, spread(caps, groups).linf)
            up, down = max(0, high - measure.offset), max(0, measure.offset - low)
            counts = presence if isinstance(measure.carrier, CountUnits) else spread
            return _vector_sensitivity(counts(caps, groups), up, down, neighbours)


def _reach(total: SumSteps) -> tuple[int, int]:
    """SumSteps: the most that one row adds and takes away; an even power only adds."""
    up, down = max(0, total.high - total.centre), max(0, total.centre - total.low)
    if total.power % 2:
        return up**total.power, down**total.power
    return max(up, down) ** total.power, 0


def _product_reach(product: SumProducts) -> tuple[int, int]:
    """SumProducts: the most that one row adds and takes away; the product of a number with itself only adds."""
    ends = [(side.low - side.centre, side.high - side.centre) for side in product.sides]
    corners = [one * other for one in ends[0] for other in ends[1]]
    lowest = min(corners) if product.left != product.right else 0
    return max(0, *corners), max(0, -lowest)


def _worth(offset: Offset, height: int) -> tuple[int, int]:
    """Offset: the least and the most that the measure is of one unit in a group where it has rows, or of one row."""
    match offset:
        case Offset(CountRows(None), CountUnits(), factor):
            return factor, factor * height
        case Offset(CountRows(), CountUnits(), factor):
            return 0, factor * height
        case Offset(SumSteps(centre=0, power=1) as total, CountUnits() | CountRows(None) as carrier, factor):
            rows = height if isinstance(carrier, CountUnits) else 1
            return factor * rows * min(0, total.low), factor * rows * max(0, total.high)
    raise TypeError(type(offset.measure).__name__)


def _within(caps: Caps, values: int) -> Caps:
    """CountValues: in one group a unit brings at most as many values as the domain has."""
    per_group = values if caps.max_rows_per_group is None else min(values, caps.max_rows_per_group)
    return Caps(caps.max_rows, caps.max_groups, per_group)


def _vector_sensitivity(rows: Spread, up: int, down: int, neighbours: Neighbours) -> Sensitivity:
    """A unit whose rows spread so, each worth between -down and up."""
    largest = max(up, down)
    alone = Sensitivity(rows.l0, largest * rows.l1, largest**2 * rows.l2_squared, largest * rows.linf)
    if neighbours is Neighbours.ADD_REMOVE or largest == 0:
        return alone
    return _replacement_sensitivity(alone, rows, up, down)


def _replacement_sensitivity(alone: Sensitivity, rows: Spread, up: int, down: int) -> Sensitivity:
    """The difference of two vectors: disjoint ones add, and ones of opposite sign add in the same place.

    In one group the two differ by at most (up + down) rows' worth, which bounds every norm by the number of groups.
    With a rows of one and b of the other in a group, they differ there by at most up a + down b or down a + up b, whose
    square is at most (up^2 + down^2)(a^2 + b^2) by Cauchy and Schwarz; summed over the groups, that is at most
    2 (up^2 + down^2) times the largest sum of squares of rows.
    """
    height = (up + down) * rows.linf
    l0 = min(2 * rows.l0, rows.groups)
    return Sensitivity(
        l0=l0,
        l1=min(2 * alone.l1, l0 * height),
        l2_squared=min(2 * (up**2 + down**2) * rows.l2_squared, l0 * height**2),
        linf=height,
    )
