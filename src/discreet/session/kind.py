"""The interface of a kind of query: how it is planned, prepared and run, and how its answer is stored and restored.

The pipeline knows nothing else about a kind. All of them are listed in `discreet.session.kinds.KINDS`.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

from discreet.accounting.filters import Budget
from discreet.catalog.catalog import Catalog
from discreet.events import Event
from discreet.exact import Number
from discreet.ledger import Receipt
from discreet.plan import logical
from discreet.plan.fingerprint import Question
from discreet.planner.budget.price import Price
from discreet.planner.queries.private_plan import PrivatePlan
from discreet.query.methods import Method

if TYPE_CHECKING:
    from discreet.session.pipeline import Pipeline

Plan = TypeVar("Plan", bound=PrivatePlan)


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

    @abstractmethod
    def plan(self, request: Request, catalog: Catalog, budget: Budget) -> Plan:
        """The private plan, from public facts alone, or an error."""

    @abstractmethod
    def identity(self, request: Request, plan: Plan, catalog: Catalog, budget: Budget) -> Question:
        """What was asked, for the fingerprint."""

    @contextmanager
    def prepare(self, request: Request, plan: Plan, pipeline: "Pipeline") -> Iterator[Any]:  # noqa: ARG002
        """What is bound before the charge, without reading a row, and given back at the end."""
        yield pipeline.prepare(plan)

    def run(self, plan: Plan, prepared: Any, pipeline: "Pipeline") -> Any:
        """The exact answer."""
        return pipeline.exact(plan.dataset, prepared)

    @abstractmethod
    def body(self, plan: Plan, noisy: Any, receipt: Receipt, *, is_private: bool) -> dict[str, Any]:
        """The answer as plain data: what is stored, and restored."""

    @abstractmethod
    def restore(self, data: dict[str, Any], plan: Plan, event: Event, confidence: Fraction, *, repeated: bool) -> Any:
        """The stored answer, with its margins at a confidence; `event` is the one that was charged."""
