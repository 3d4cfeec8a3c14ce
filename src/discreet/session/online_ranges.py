"""An open stream of ranges: answered from a public histogram, which is corrected only where it is wrong.

with session.online_ranges(visits, "age", edges=range(0, 121), total=30_000, threshold=500, epsilon=1) as ranges:
    print(ranges.ask(21, 33))

The rows of every bin are counted once, when it opens, after the charge; the counts stay in this process.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self

from discreet.engines import PreparedQuery
from discreet.errors import public_class, short_traceback
from discreet.plan.fingerprint import Question
from discreet.planner import identity
from discreet.planner.budget.price import Price
from discreet.planner.queries.online_ranges import OnlineRangesPlan, analyze_online_ranges
from discreet.session.arguments import bottom, checked_relation
from discreet.session.interactive import Interactive
from discreet.workloads.stream import OnlineAnswer, OnlineStream

if TYPE_CHECKING:
    from discreet.session.pipeline import Pipeline


@public_class
class OnlineRanges(Interactive):
    """Open online range queries: `with session.online_ranges(...) as ranges`. Threads may share it.

    Example:
        >>> import discreet as dp
        >>> facts = {"name": "visits", "privacy_unit": "patient_id", "max_rows": 10}
        >>> session = dp.testing.protect(dp.datasets.visits(100), **facts, budget=dp.Budget(epsilon=2))
        >>> options = {"edges": range(0, 101, 10), "total": 300, "threshold": 100}
        >>> with session.online_ranges(dp.table("visits"), "age", **options, epsilon=0.5) as ranges:
        ...     answer = ranges.ask(20, 40)
        >>> ranges.asked
        1
    """

    what = "stream"
    example = "with session.online_ranges(...) as ranges: ..."

    def __init__(self, pipeline: "Pipeline", asked: OnlineRangesPlan, question: Question) -> None:
        super().__init__(pipeline, asked, question)
        self._plan = asked
        self._answers: list[tuple[int, int, int, bool]] = []

    @classmethod
    def build(
        cls, pipeline: "Pipeline", table: object, column: str, edges: tuple[Any, ...], price: Price, **options: Any
    ) -> Self:
        """Plan it from public facts; nothing is charged before it is opened."""
        source, catalog = checked_relation(table), pipeline.catalog
        budget = pipeline.ledger.budget(pipeline.table_name(bottom(source)))
        cost: dict[str, Any] = {"epsilon": price.epsilon, "rho": price.rho}
        plan = analyze_online_ranges(source, column, edges, catalog, budget, **options, **cost)
        return cls(pipeline, plan, identity.online_ranges(source, column, edges, catalog, budget, price, **options))

    @property
    def left(self) -> int:
        """How many more corrections there may be before the stream ends."""
        return self._plan.mechanism.above_threshold.answers - sum(corrected for *_, corrected in self._answers)

    @property
    def asked(self) -> int:
        """How many ranges were answered."""
        return len(self._answers)

    @short_traceback
    def ask(self, start: object, end: object) -> OnlineAnswer:
        """Number of rows from one edge up to another, which is not in the range.

        Args:
            start: The first edge.
            end: The edge before which the range ends.

        Returns:
            The noisy number, and whether it was corrected.

        Raises:
            Refusal: If an end is not an edge, or the mechanism is not open.
            Failure: If it fails after data was read.
        """
        with self._lock:
            lo, hi = self._plan.places(start, end)
            if self._stream is None:
                raise self._not_open("a stream that is not open" if self.left else "a stream out of corrections")
            stream: OnlineStream = self._stream
            stream.public(lo, hi)
            told = self._read(lambda: stream.ask(lo, hi))
            self._answers.append((lo, hi, told.value, told.corrected))
            if not self.left:
                self._end()
        return told

    def __repr__(self) -> str:
        state = "open" if self._stream is not None else "not opened" if self._turn is None else "ended"
        stamp = "" if self._pipeline.is_private else "NOT PRIVATE "
        said = f"{self.asked:,} asked, {self.left:,} corrections left"
        return f"{stamp}stream of {self._plan.dataset!r}, {state}: {said}; {self.guarantee}"

    def _ready(self) -> PreparedQuery:
        return self._pipeline.prepare(self._plan)

    def _begin(self, ready: PreparedQuery) -> OnlineStream:
        return self._read(lambda: self._open_stream(ready))

    def _open_stream(self, ready: PreparedQuery) -> OnlineStream:
        (counts,) = self._pipeline.exact(self._plan.dataset, ready)
        return OnlineStream(
            self._plan.mechanism, counts, self._pipeline.open_stream(self._plan.mechanism.above_threshold)
        )

    def _record(self) -> Mapping[str, Any]:
        return {"answers": self._answers, "guarantee": self.guarantee}
