"""The interface of a kind of query: how it is planned, prepared and run, and how its answer is stored and restored.

The pipeline knows nothing else about a kind. All of them are listed in `discreet.session.kinds.KINDS`.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

from discreet.accounting.filters import Budget
from discreet.catalog.catalog import Catalog
from discreet.events import Event
from discreet.exact.numbers import Number
from discreet.plan import logical
from discreet.plan.fingerprint import Question
from discreet.plan.wording import Lines
from discreet.planner.budget.price import Price
from discreet.planner.queries.private_plan import AnswerPlan, PrivatePlan
from discreet.query.methods import Method
from discreet.session.stored import Stamp

if TYPE_CHECKING:
    from discreet.session.pipeline import Pipeline

Plan = TypeVar("Plan", bound=PrivatePlan)
Body = dict[str, Any]
Sign = Callable[[Body], tuple[Body, str]]
"""A result in plain data with its signature, and its text."""


@dataclass(frozen=True)
class Request:
    """One call of `explain` or `release`: the query, and its privacy parameters as they were given."""

    question: Any
    price: Price
    method: Method | None = None
    weights: Sequence[Number] | None = None


class QuestionKind(ABC, Generic[Plan]):
    """A kind of query that is answered once."""

    plans: ClassVar[tuple[type, ...]]
    """The classes of its plans."""

    @abstractmethod
    def accepts(self, request: Request) -> bool:
        """Whether a request is of this kind."""

    @abstractmethod
    def source(self, request: Request) -> logical.Relation:
        """The rows that the query reads; their base table is charged."""

    def require_private(self, request: Request) -> None:
        """Refuse, in a private session, what an exact result of `dp.testing` is part of."""

    @abstractmethod
    def plan(self, request: Request, catalog: Catalog, budget: Budget) -> Plan:
        """The private plan, from public facts alone, or an error."""

    @abstractmethod
    def identity(self, request: Request, plan: Plan, catalog: Catalog, budget: Budget) -> Question:
        """What was asked, for the fingerprint."""

    @abstractmethod
    def words(self, request: Request, plan: Plan, catalog: Catalog) -> tuple[Lines, ...]:
        """The query in words; of a batch, each of its queries."""

    def parts(self, plan: Plan) -> tuple[AnswerPlan, ...]:
        """The plan of each query; one, except for a batch."""
        return (plan,)  # type: ignore[return-value]

    @contextmanager
    def prepare(self, request: Request, plan: Plan, pipeline: "Pipeline") -> Iterator[Any]:  # noqa: ARG002
        """What is bound before the charge, without reading a row, and given back at the end."""
        yield pipeline.prepare(plan)

    def run(self, plan: Plan, prepared: Any, pipeline: "Pipeline") -> Any:
        """The exact answer."""
        return pipeline.exact(plan.dataset, prepared)

    def reads_inferred(self, plan: Plan, pipeline: "Pipeline") -> bool:  # noqa: ARG002 - most results do not say it
        """Whether the result has texts of an in-memory table whose column types were inferred, and says so."""
        return False

    @abstractmethod
    def body(self, plan: Plan, noisy: Any, stamp: Stamp) -> Body:
        """The answer as plain data: what is signed, stored and restored."""

    def sign(self, body: Body, signed: Sign) -> tuple[Body, str]:
        """The answer with its signature, and its text to store; of a batch, with one for each query."""
        return signed(body)

    @abstractmethod
    def restore(self, data: Body, plan: Plan, event: Event, confidence: Fraction, *, repeated: bool) -> Any:
        """The stored answer, with its margins at a confidence; `event` is the one that was charged."""
