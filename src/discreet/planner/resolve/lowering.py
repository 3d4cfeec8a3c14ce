"""The engine's query: scan with the columns that are read, predicate, keys, contribution bounds, measures."""

from discreet.catalog.privacy_unit import Caps
from discreet.plan import physical
from discreet.planner.resolve.binding import Bound, reads
from discreet.planner.resolve.relations import prune
from discreet.planner.resolve.time_slices import within


def lower_query(
    scope: Bound,
    public: physical.Keys,
    caps: Caps,
    measures: tuple[physical.Integers, ...],
    also: tuple[physical.Term, ...] = (),
) -> physical.Pushdown:
    """The engine's query of a resolved chain: public keys, contribution bounds, measures, other columns read."""
    terms = [*public.columns, *also, *(operand for measure in measures for operand in physical.operands(measure))]
    origin = scope.origin
    part = within(scope.table) if origin is None else None
    terms += [condition for condition in (scope.predicate, part) if condition is not None]
    unit = _unit(scope)
    used = dict.fromkeys([*unit, *(read for term in terms for read in reads(term))])
    columns = tuple(sorted(used, key=lambda read: read.column))
    scan = physical.Scan(
        table=scope.name,
        version=scope.table.version,
        columns=columns,
        unit=tuple(read.column for read in unit),
        missing_units=physical.MissingUnits(scope.table.missing_units),
        max_rows=None if origin is not None and origin.has_one_row_each else caps.max_rows,
        portable=scope.table.sampling == "portable",
        within=part,
        base=None if origin is None else prune(origin.base, frozenset(read.column for read in columns)),
    )
    return physical.Pushdown(scan, scope.predicate, public, caps, measures)


def _unit(scope: Bound) -> list[physical.Read]:
    """The columns that say whose a row is; in a joined relation they may have names that nobody else can use."""
    if scope.origin is None:
        return [physical.Read(name, scope.table.column(name).type) for name in scope.table.unit.columns]
    return [physical.Read(name, scope.origin.types[name]) for name in scope.origin.labels]
