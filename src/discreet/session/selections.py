"""Private selection: places in a list of candidates, or keys that were found; how they are stored and restored."""

import datetime as dt
from fractions import Fraction
from typing import Any

from discreet.accounting.filters import Budget
from discreet.catalog.catalog import Catalog, ColumnType, Value
from discreet.events import Event
from discreet.ledger import Receipt
from discreet.plan import logical
from discreet.plan.fingerprint import Question
from discreet.planner import identity
from discreet.planner.queries.selection import MECHANISM_NAMES, SelectionPlan
from discreet.planner.queries.top_keys import TopKeysPlan
from discreet.planner.registry import plan_selection
from discreet.query.scores import Choice
from discreet.release.result import DEFAULT_CONFIDENCE
from discreet.release.selection import Selection
from discreet.session.kind import QuestionKind, Request
from discreet.session.stored import header, is_charged_for, planned_otherwise

PLACES = "places"
KEYS = "keys"
_SAME = ("receipt", "private", "library")

Selected = SelectionPlan | TopKeysPlan


class Selections(QuestionKind[Selected]):
    """Which candidates have high scores."""

    plans = (SelectionPlan, TopKeysPlan)

    def accepts(self, request: Request) -> bool:
        """A choice among candidates."""
        return isinstance(request.question, Choice)

    def source(self, request: Request) -> logical.Relation:
        """The rows that are scored."""
        relation: logical.Relation = request.question.plan.source
        return relation

    def plan(self, request: Request, catalog: Catalog, budget: Budget) -> Selected:
        """By public candidates, or by keys that are found."""
        choice, price = request.question, request.price
        cost: dict[str, Any] = {"epsilon": price.epsilon, "rho": price.rho, "share": price.share}
        return plan_selection(choice.plan, catalog, budget, **cost, top=choice.top)

    def identity(self, request: Request, plan: Selected, catalog: Catalog, budget: Budget) -> Question:
        """Candidates, score and cost."""
        choice: Choice = request.question
        is_listed = isinstance(plan, SelectionPlan) and choice.plan.side == "equal"
        known = plan.pushdown.keys if is_listed else None
        return identity.selection(choice.plan, catalog, budget, request.price, choice.top, known)

    def body(self, plan: Selected, noisy: list[Any], receipt: Receipt, *, is_private: bool) -> dict[str, Any]:
        """The places of the chosen, or the keys that were found, and what the selection says of itself."""
        plain = [value.isoformat() if isinstance(value, dt.date) else value for value in noisy]
        common = header(plan, "selection", receipt, is_private=is_private)
        return {
            PLACES if isinstance(plan, SelectionPlan) else KEYS: plain,
            "mechanism": MECHANISM_NAMES[type(plan.mechanism)],
            "within": str(plan.within(DEFAULT_CONFIDENCE)),
            "confidence": str(DEFAULT_CONFIDENCE),
            **{name: common[name] for name in ("guarantee", *_SAME)},
        }

    def restore(
        self, data: dict[str, Any], plan: Selected, event: Event, confidence: Fraction, *, repeated: bool
    ) -> Selection:
        """The stored selection among the candidates of the query, which are public, or of keys that were found."""
        version = plan.pushdown.scan.version
        return Selection(
            dataset=plan.dataset,
            version=version,
            values=_values(data, plan),
            candidates=len(plan.query.candidates) if isinstance(plan, SelectionPlan) else None,
            within=_within(data, plan, event, confidence),
            confidence=confidence,
            guarantee=data.get("guarantee") or plan.guarantee("this selection from", version),
            repeated=repeated,
            **{name: data[name] for name in _SAME},
        )


def _within(stored: dict[str, Any], plan: Selected, event: Event, confidence: Fraction) -> Fraction:
    """How far below the best the first is, at most; 0.1.0 stored no such thing, and is found by its very plan."""
    if "within" not in stored:
        return plan.within(confidence)
    if Fraction(stored["confidence"]) == confidence:
        return Fraction(stored["within"])
    is_alike = stored["mechanism"] == MECHANISM_NAMES[type(plan.mechanism)]
    is_alike = is_alike and plan.within(Fraction(stored["confidence"])) == Fraction(stored["within"])
    if not is_alike or not is_charged_for(stored["receipt"], event):
        raise planned_otherwise(confidence)
    return plan.within(confidence)


def _values(stored: dict[str, Any], plan: Selected) -> tuple[Value | float, ...]:
    if isinstance(plan, SelectionPlan):
        return tuple(plan.query.candidates[place] for place in stored[PLACES])
    kind = plan.pushdown.keys.columns[0].type
    parse = {ColumnType.DATE: dt.date.fromisoformat, ColumnType.TIMESTAMP: dt.datetime.fromisoformat}.get(kind)
    return tuple(parse(value) if parse and value is not None else value for value in stored[KEYS])
