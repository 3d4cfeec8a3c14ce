"""What an engine is asked: the scan with the columns that are read, predicate, keys, caps and measures."""

from discreet import pushdown
from discreet.analysis.binding import Bound, reads
from discreet.analysis.slicing import within
from discreet.unit import Caps


def pushed(
    scope: Bound,
    public: pushdown.Keys,
    caps: Caps,
    measures: tuple[pushdown.Integers, ...],
    also: tuple[pushdown.Term, ...] = (),
) -> pushdown.Pushdown:
    """The question of a resolved chain, over public keys, under caps, for measures; and for what else is read."""
    terms = [*public.columns, *also, *(m.operand for m in measures if getattr(m, "operand", None) is not None)]  # type: ignore[union-attr]
    part = within(scope.table)
    terms += [condition for condition in (scope.predicate, part) if condition is not None]
    unit = [pushdown.Read(name, scope.table.column(name).type) for name in scope.table.unit.columns]
    used = dict.fromkeys([*unit, *(read for term in terms for read in reads(term))])  # type: ignore[arg-type]
    scan = pushdown.Scan(
        table=scope.name,
        version=scope.table.version,
        columns=tuple(sorted(used, key=lambda read: read.column)),
        unit=scope.table.unit.columns,
        missing_units=pushdown.MissingUnits(scope.table.missing_units),
        max_rows=caps.max_rows,
        portable=scope.table.sampling == "portable",
        within=part,
    )
    return pushdown.Pushdown(scan, scope.predicate, public, caps, measures)
