"""Ranges that are not known in advance: what is read once, how far one unit moves it, and what a stream of them costs.

The engine counts the rows of every bin once, after the charge. One unit has at most so many rows, in any bins, so it
moves the count of any range by at most as many, whether it is added, removed or replaced. Everything after is one
sparse vector ([proof](docs/proofs/workloads/stream.md)), charged as a whole when it opens.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from discreet import events
from discreet.accounting.filters import Budget
from discreet.catalog.catalog import Catalog
from discreet.errors import ParameterError, UnsupportedError
from discreet.exact.numbers import Number, whole
from discreet.plan import logical, physical
from discreet.plan.fingerprint import canonical
from discreet.plan.physical import CountRows, Pushdown
from discreet.plan.wording import Lines, relation
from discreet.planner.budget import allocation
from discreet.planner.queries.private_plan import PrivatePlan
from discreet.planner.resolve.binding import bind
from discreet.planner.resolve.lowering import lower_query
from discreet.planner.sensitivity import contribution_bounds
from discreet.workloads.stream import Online


@dataclass(frozen=True, kw_only=True)
class OnlineRangesPlan(PrivatePlan):
    """Everything about a stream of ranges that is public before it opens."""

    version: int
    pushdown: Pushdown
    edges: tuple[logical.Scalar, ...]
    mechanism: Online
    words: Lines
    """What was asked, for people."""

    @property
    def event(self) -> events.Event:
        """What the whole stream does, for the accountants."""
        return self.mechanism.event()

    @property
    def description(self) -> str:
        """The mechanism, as the ledger keeps it."""
        return canonical(("stream", self.dataset, self.version, self.unit, self.pushdown, self.mechanism))

    def places(self, start: object, end: object) -> tuple[int, int]:
        """The bins of a range from one edge up to another, or an error."""
        for at in (start, end):
            if at not in self.edges:
                raise ParameterError(
                    f"a range that ends at {at!r}",
                    because="rows were counted between the edges that the stream was opened with",
                    instead=f"ask({self.edges[0]!r}, {self.edges[-1]!r}), or edges=[..., {at!r}, ...]",
                )
        return self.edges.index(start), self.edges.index(end)


def analyze_online_ranges(
    source: logical.Relation,
    column: str,
    edges: Sequence[logical.Scalar],
    catalog: Catalog,
    budget: Budget,
    *,
    total: int,
    threshold: Number,
    corrections: int,
    epsilon: Number | None = None,
    rho: Number | None = None,
) -> OnlineRangesPlan:
    """Plan a stream of ranges of a column, or refuse it; nothing here depends on the data."""
    scope = bind(source, catalog)
    unit, known = scope.table.unit, tuple(edges)
    if len(known) < 2:
        raise ParameterError(
            f"{len(known)} edges", because="a bin lies between two of them", instead="edges=range(0, 121, 10)"
        )
    binned = scope.term(logical.Bin(logical.ColumnRef(column), known))
    public = physical.Keys((binned,), tuple((place,) for place in range(1, len(known))), inner=1)
    caps = contribution_bounds.effective(unit, scope.table.caps, None, None)
    contribution_bounds.require_row_bound(f"ranges of {column!r}", unit, caps)
    asked = lower_query(scope, public, contribution_bounds.caps_to_enforce(unit, caps, 1), (CountRows(),))
    if len(asked.scan.datasets) > 1:
        raise UnsupportedError(
            "a stream over several protected tables",
            because="it is charged to one dataset",
            instead="table.ranges(...) in session.release, which charges all of them",
        )
    spent, pure = allocation.largest_pure(budget, epsilon=epsilon, rho=rho)
    return OnlineRangesPlan(
        dataset=scope.name,
        version=scope.table.version,
        unit=unit,
        pushdown=asked,
        edges=known,
        mechanism=Online(
            bins=len(known) - 1,
            total=whole(total, "total"),
            threshold=threshold,
            epsilon=pure,
            corrections=corrections,
            rows=contribution_bounds.spread(caps, 1).l1,
        ),
        spending=spent,
        slice=scope.table.part,
        words=(*relation(source), ("online ranges", f"of {column} between {len(known):,} edges from the query")),
    )
