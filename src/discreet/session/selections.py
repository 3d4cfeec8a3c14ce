"""Private selection: places in a list of candidates, or keys that were found; how they are stored and restored."""

import datetime as dt
from dataclasses import replace
from fractions import Fraction
from typing import Any

from discreet.accounting.filters import Budget
from discreet.catalog.catalog import Catalog, ColumnType, Value
from discreet.events import Event
from discreet.plan import logical
from discreet.plan.fingerprint import Question
from discreet.plan.wording import Lines
from discreet.planner import identity, wording
from discreet.planner.queries.selection import MECHANISM_NAMES, SelectionPlan
from discreet.planner.queries.top_keys import TopKeysPlan
from discreet.planner.registry import plan_selection
from discreet.query.scores import Choice
from discreet.release.result import DEFAULT_CONFIDENCE
from discreet.release.selection import Selection
from discreet.session.kind import QuestionKind, Request
from discreet.session.stored import Stamp, header, is_charged_for, planned_otherwise

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

    def words(self, request: Request, plan: Selected, catalog: Catalog) -> tuple[Lines, ...]:
        """Candidates and score."""
        return (wording.selection(request.question.plan, request.question.top, plan, catalog),)

    def body(self, plan: Selected, noisy: list[Any], stamp: Stamp) -> dict[str, Any]:
        """The selection."""
        candidates = plan.query.candidates if isinstance(plan, SelectionPlan) else None
        return Selection(
            **header(plan, "selection", stamp),
            values=tuple(noisy if candidates is None else (candidates[place] for place in noisy)),
            candidates=None if candidates is None else len(candidates),
            within=plan.within(DEFAULT_CONFIDENCE),
        ).to_json()

    def restore(
        self, data: dict[str, Any], plan: Selected, event: Event, confidence: Fraction, *, repeated: bool
    ) -> Selection:
        """The selection as it was stored; at another confidence, only where its noise is the one planned now."""
        if "schema" not in data:
            return self._restore_former(data, plan, event, confidence, repeated=repeated)
        stored = replace(Selection.from_json(data), repeated=repeated)
        if stored.confidence == confidence:
            return stored
        if not is_charged_for(stored.receipt, event) or plan.within(stored.confidence) != stored.within:
            raise planned_otherwise(confidence)
        return replace(stored, within=plan.within(confidence), confidence=confidence)

    def _restore_former(
        self, data: dict[str, Any], plan: Selected, event: Event, confidence: Fraction, *, repeated: bool
    ) -> Selection:
        """A selection that was stored by the places of its candidates, or by keys, as earlier versions did."""
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
