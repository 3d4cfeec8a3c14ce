"""Queries whose answer is a table: a release with keys, outputs, margins and the noisy integers behind them."""

from dataclasses import replace
from fractions import Fraction
from typing import Any

from discreet.accounting.filters import Budget
from discreet.catalog.catalog import Catalog
from discreet.events import Event
from discreet.plan import logical
from discreet.plan.fingerprint import Question
from discreet.plan.wording import Lines
from discreet.planner import identity, wording
from discreet.planner.queries.aggregate import AggregatePlan
from discreet.planner.queries.private_plan import TablePlan
from discreet.planner.registry import plan_query
from discreet.query.frame import Query
from discreet.release.release import Release
from discreet.release.result import DEFAULT_CONFIDENCE
from discreet.session.kind import QuestionKind, Request
from discreet.session.stored import Stamp, header, is_charged_for, planned_otherwise


class Tables(QuestionKind[TablePlan]):
    """Aggregates by groups, quantiles, ranges, hierarchies, and keys that are found."""

    plans = (TablePlan,)

    def accepts(self, request: Request) -> bool:
        """A query without a method of its own."""
        return isinstance(request.question, Query) and request.method is None

    def source(self, request: Request) -> logical.Relation:
        """The rows of the query."""
        relation: logical.Relation = request.question.plan.source
        return relation

    def plan(self, request: Request, catalog: Catalog, budget: Budget) -> TablePlan:
        """By the first planner of the registry that the query asks for."""
        return plan_query(request.question.plan, catalog, budget, **request.price.arguments)

    def identity(self, request: Request, plan: TablePlan, catalog: Catalog, budget: Budget) -> Question:
        """Rows, outputs, groups and cost."""
        known = plan.pushdown.keys if isinstance(plan, AggregatePlan) else None
        return identity.table(request.question.plan, catalog, budget, request.price, known)

    def words(self, request: Request, plan: TablePlan, catalog: Catalog) -> tuple[Lines, ...]:
        """Rows, groups and outputs."""
        return (wording.table(request.question.plan, plan, catalog),)

    def body(self, plan: TablePlan, noisy: Any, stamp: Stamp) -> dict[str, Any]:
        """The release."""
        return Release(
            **header(plan, "release", stamp),
            keys=plan.keys(noisy),
            outputs=plan.outputs(noisy, DEFAULT_CONFIDENCE),
            measured=plan.measurements(noisy),
            unit=str(plan.unit),
            columns_read=plan.pushdown.columns_read,
            post_processing=plan.post_processing,
        ).to_json()

    def restore(
        self, data: dict[str, Any], plan: TablePlan, event: Event, confidence: Fraction, *, repeated: bool
    ) -> Release:
        """The release as it was stored; at another confidence, only where its noise is the one that is planned now."""
        release = replace(Release.from_json(data), repeated=repeated)
        if release.confidence == confidence:
            return release
        if not is_charged_for(release.receipt, event) or not _is_read_alike(release, plan):
            raise planned_otherwise(confidence)
        return replace(release, outputs=plan.outputs(plan.restore_noisy(release), confidence), confidence=confidence)


def _is_read_alike(release: Release, plan: TablePlan) -> bool:
    """Whether the plan would have measured just what the release holds, with the same noise."""
    try:
        return plan.measurements(plan.restore_noisy(release)) == release.measured
    except (IndexError, KeyError, TypeError, ValueError):  # other columns than this plan has
        return False
