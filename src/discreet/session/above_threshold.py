"""The sparse vector technique: which of many queries are above a threshold, for one charge when it opens.

with session.above_threshold(threshold=1_000, epsilon=0.5, answers=3) as vector:
    for ward in wards:
        if vector.ask(visits.where(visits.ward == ward).agg(n=dp.count())):
            print(ward)

The noise of the threshold exists only in this process: a sparse vector that ended by a crash cannot be continued, and
its cost stays spent.
"""

from collections.abc import Mapping
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Self

from discreet.catalog.catalog import Value
from discreet.errors import ParameterError, public_class, short_traceback
from discreet.mechanisms.lattice import Scalar
from discreet.mechanisms.threshold import Above, Below
from discreet.plan.fingerprint import Question
from discreet.planner import identity
from discreet.planner.budget.price import Price
from discreet.planner.queries.sparse_vector import (
    SparseVectorPlan,
    SparseVectorQueryPlan,
    Threshold,
    analyze_sparse_vector,
    analyze_sparse_vector_query,
)
from discreet.query.frame import Frame, Query
from discreet.session.arguments import bottom, checked_relation, validate_query
from discreet.session.interactive import Interactive
from discreet.workloads.stream import ThresholdStream

if TYPE_CHECKING:
    from discreet.session.pipeline import Pipeline

Reply = Above | Below


@public_class
class SparseVector(Interactive):
    """Open sparse vector technique: `with session.above_threshold(...) as vector`. Threads may share it.

    Example:
        >>> import discreet as dp
        >>> facts = {"name": "visits", "privacy_unit": "patient_id", "max_rows": 10}
        >>> session = dp.testing.protect(dp.datasets.visits(100), **facts, budget=dp.Budget(epsilon=2))
        >>> with session.above_threshold(threshold=100, sensitivity=10, epsilon=0.5) as vector:
        ...     reply = vector.ask(dp.table("visits").agg(n=dp.count()))
        >>> bool(reply), vector.left
        (True, 0)
    """

    def __init__(self, pipeline: "Pipeline", asked: SparseVectorPlan, question: Question) -> None:
        super().__init__(pipeline, asked, question)
        self._plan = asked
        self._asked = 0
        self._above: list[int] = []

    @classmethod
    def build(cls, pipeline: "Pipeline", table: str | Frame | None, options: Threshold, price: Price) -> Self:
        """Plan it from public facts; nothing is charged before it is opened."""
        name = pipeline.table_name(bottom(checked_relation(table)) if isinstance(table, Frame) else table)
        budget, catalog = pipeline.ledger.budget(name), pipeline.catalog
        plan = analyze_sparse_vector(name, catalog, budget, options, epsilon=price.epsilon, rho=price.rho)
        return cls(pipeline, plan, identity.sparse_vector(name, catalog, budget, price, options))

    @property
    def left(self) -> int:
        """How many more answers may be above before it ends."""
        return self._plan.mechanism.answers - len(self._above)

    @property
    def asked(self) -> int:
        """How many queries were answered."""
        return self._asked

    def accuracy(self, queries: int, confidence: float = 0.95) -> Scalar:
        """Distance from the threshold within which replies may be wrong, over so many queries together.

        Args:
            queries: Number of queries.
            confidence: Probability with which no reply farther away is wrong. Default 0.95.

        Returns:
            The distance, in the unit of the answers.
        """
        return self._plan.mechanism.accuracy(queries, 1 - Fraction(str(confidence)))

    def margin(self, confidence: float = 0.95) -> Scalar:
        """Margin of error of an answer that is shown, `with_answers`.

        Args:
            confidence: Probability with which the margin holds. Default 0.95.

        Returns:
            The margin, in the unit of the answers.
        """
        return self._plan.mechanism.margin(confidence)

    @short_traceback
    def check(self, query: Query) -> None:
        """Raise the error that `ask` would raise; free, also before it is opened.

        Args:
            query: A query of one aggregate.

        Raises:
            Refusal: If the query cannot be asked.
        """
        self._pipeline.prepare(self._analyze(query))

    @short_traceback
    def ask(self, query: Query) -> Reply | dict[Any, Reply]:
        """Whether the noisy answer to a query is above the threshold.

        Args:
            query: A query of one aggregate.

        Returns:
            A reply that is true or false, with `answer` and `gap` if requested; for groups, a dict with one for each
            key.

        Raises:
            Refusal: If the query cannot be asked, or the mechanism is not open.
            Failure: If it fails after data was read.
        """
        with self._lock:
            stream: ThresholdStream = self._still_open()
            asked = self._analyze(query)
            replies = self._replies(asked, stream)
            if not self.left:
                self._end()
        if not asked.pushdown.keys.columns:
            return replies[0]
        return dict(zip(map(_key, asked.pushdown.keys.rows), replies, strict=False))

    def __repr__(self) -> str:
        state = "open" if self._stream is not None else "not opened" if self._turn is None else "ended"
        said = f"{self._asked:,} asked, {len(self._above):,} above, {self.left:,} left"
        stamp = "" if self._pipeline.is_private else "NOT PRIVATE "
        return f"{stamp}sparse vector of {self._plan.dataset!r}, {state}: {said}; {self.guarantee}"

    def _begin(self, ready: Any) -> ThresholdStream:  # noqa: ARG002 - nothing is bound before it is asked
        return self._pipeline.open_stream(self._plan.mechanism)

    def _analyze(self, query: object) -> SparseVectorQueryPlan:
        if not isinstance(query, Query):
            raise ParameterError(
                f"a query of type {type(query).__name__}",
                because="a sparse vector takes aggregates",
                instead='vector.ask(dp.table("visits").agg(n=dp.count()))',
            )
        return analyze_sparse_vector_query(validate_query(query).plan, self._pipeline.catalog, self._plan)

    def _still_open(self) -> ThresholdStream:
        if self._stream is None:
            raise self._not_open(
                "a sparse vector that is not open" if self.left else "a sparse vector that has given all its answers"
            )
        stream: ThresholdStream = self._stream
        return stream

    def _replies(self, asked: SparseVectorQueryPlan, stream: ThresholdStream) -> list[Reply]:
        """Read and compare."""
        prepared = self._pipeline.prepare(asked)

        def compare() -> list[Reply]:
            (steps,) = self._pipeline.exact(asked.dataset, prepared)
            return stream.ask_many([step * asked.grid for step in steps])

        replies = self._read(compare)
        self._above += [self._asked + place for place, reply in enumerate(replies) if reply]
        self._asked += len(replies)
        return replies

    def _record(self) -> Mapping[str, Any]:
        return {"asked": self._asked, "above": self._above, "guarantee": self.guarantee}


def _key(row: tuple[Value, ...]) -> Value | tuple[Value, ...]:
    return row[0] if len(row) == 1 else row
