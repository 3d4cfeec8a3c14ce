"""How much one unit can put into a grouped table, once its contribution bounds are enforced.

With k rows in all, L groups and R rows in each of d public groups, the rows of one unit form a vector of counts with
at most min(L, d, k) entries, each at most min(R, k), that sum to at most k. The vector that is largest in L1, L2 and
Linf at once fills groups to the brim: q full groups and one with the rest.
"""

from dataclasses import dataclass

from discreet.catalog.privacy_unit import Caps, Unit
from discreet.errors import UnboundedError


@dataclass(frozen=True)
class Spread:
    """The most that the rows of one unit can be over the groups, in each norm."""

    l0: int
    l1: int
    l2_squared: int
    linf: int
    groups: int


def spread(caps: Caps, groups: int, parts: int = 1) -> Spread:
    """The norms of the fullest vector under the bounds; rows per group must be bounded by `max_rows` or otherwise.

    Where a group has several parts, contribution bounds are for the whole of it: its rows may be in one part, or each
    in another.
    """
    rows, per_group = caps.max_rows, caps.max_rows_per_group
    if rows is None and per_group is None:
        raise ValueError("unbounded")
    touched = _least(caps.max_groups, groups, rows)
    height = _least(per_group, rows)
    full = touched if rows is None else min(touched, rows // height)
    rest = 0 if rows is None or full == touched else min(height, rows - full * height)
    most = full * height + rest
    widest = touched if parts == 1 else _widest(caps, groups, parts)
    return Spread(l0=widest, l1=most, l2_squared=full * height**2 + rest**2, linf=height, groups=groups * parts)


def _widest(caps: Caps, groups: int, parts: int) -> int:
    """The most parts that rows of one unit can be in: as many in each group as it has, or as rows are allowed there."""
    touched, in_each = _least(caps.max_groups, groups, caps.max_rows), _least(parts, caps.max_rows_per_group)
    return _least(touched * in_each, caps.max_rows)


def presence(caps: Caps, groups: int) -> Spread:
    """The norms of the vector of ones in the groups that a unit can be present in."""
    touched = _least(caps.max_groups, groups, caps.max_rows)
    return Spread(touched, touched, touched, 1, groups)


def effective(unit: Unit, declared: Caps, max_groups: int | None, max_rows_per_group: int | None) -> Caps:
    """The contribution bounds of a query: those of its grouping, else the owner's; a row is its own unit."""
    if unit.is_row:
        return Caps(1, 1, 1)
    return Caps(
        declared.max_rows,
        max_groups if max_groups is not None else declared.max_groups,
        max_rows_per_group if max_rows_per_group is not None else declared.max_rows_per_group,
    )


def caps_to_enforce(unit: Unit, caps: Caps, groups: int) -> Caps:
    """What an engine still has to enforce: contribution bounds that others do not imply already."""
    if unit.is_row:
        return Caps()
    rows, per_group = caps.max_rows, caps.max_rows_per_group
    reach = _least(groups, rows)
    needs_groups = caps.max_groups is not None and caps.max_groups < reach
    needs_per_group = per_group is not None and (rows is None or per_group < rows)
    return Caps(rows, caps.max_groups if needs_groups else None, per_group if needs_per_group else None)


def require_row_bound(what: str, unit: Unit, caps: Caps, *, by_group: bool = True) -> None:
    """Refuse an aggregate of rows where nothing limits how many rows one unit has; a grouping may limit them too."""
    if caps.max_rows is None and caps.max_rows_per_group is None:
        who = unit.columns[0] if unit.columns else "row"
        raise UnboundedError(
            what,
            because=f"the number of rows of one {who} is not bounded, so the sensitivity is infinite",
            instead="max_rows=10 in dp.protect(...) or in the catalog"
            + (", or max_rows_per_group=1 in group_by(...), histogram(...) or contingency(...)" if by_group else ""),
        )


def _least(*limits: int | None) -> int:
    return min(limit for limit in limits if limit is not None)
