"""Models: which columns a training reads, what it may spend, and the event that is charged before a row is read.

A training asks for sums over people of clipped vectors, with discrete Gaussian noise, under a schedule that is public.
The rows of a unit are in one block, so they are added before they are clipped: one unit moves a sum by the clip at
most, and by twice the clip where it is replaced, however many rows it has.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from discreet.accounting.filters import Budget
from discreet.catalog.catalog import Catalog, Column, ColumnType
from discreet.catalog.privacy_unit import Neighbours
from discreet.errors import ParameterError
from discreet.events import Event
from discreet.exact.numbers import Number
from discreet.plan import logical
from discreet.plan.models import (
    Holdout,
    ModelFacts,
    ModelTraining,
    SearchOptions,
    TrainableModel,
    estimator_tag,
    held_out_training,
    holdout_of,
    longest_text,
    number_of_blocks,
    search_training,
)
from discreet.plan.physical import CountRows, Keys, Pushdown, Read, Term, leaves
from discreet.planner.budget import allocation
from discreet.planner.budget.allocation import Spending
from discreet.planner.queries.private_plan import AnswerPlan, HiddenMargin
from discreet.planner.resolve.binding import Bound, bind
from discreet.planner.resolve.lowering import lower_query
from discreet.planner.sensitivity import contribution_bounds
from discreet.release.explanation import ExplainedOutput
from discreet.release.model import score_advice
from discreet.release.result import DEFAULT_CONFIDENCE

UNIT = "discreet_unit_{}"
_PRIVATE = "depends on the rows, which are private"
_AT_AN_EPSILON = "session.release(query, epsilon=1)"
_TABLE_NOISE = "discrete Gaussian noise on a table of scores"
LONGEST_OWNER = 192
"""Bytes of the digest of a long name of a unit."""


@dataclass(frozen=True, kw_only=True)
class ModelPlan(AnswerPlan):
    """Everything about the training of a model that is public before it runs."""

    tag: str
    training: ModelTraining
    target: str | None
    columns: Mapping[str, Term]
    unit_columns: tuple[str, ...]
    longest: Mapping[str, int]
    blocks: int

    @property
    def clamps_values(self) -> bool:
        """Values outside the declared bins count as the nearest, and vectors of people are clipped."""
        return True

    @property
    def missing_cells(self) -> str:
        """Codes of features have a slot for missing values; a row without a target is not encoded."""
        return "have a slot of their own or count as the middle of the bounds; rows without a target are left out"

    @property
    def event(self) -> Event:
        """What a training does, for the accountants."""
        return self.training.event

    @property
    def caveat(self) -> str:
        """What the guarantee does not cover of the training."""
        return self.training.caveat

    def guarantee(self, span: str, version: int, *, rest: str = "") -> str:
        """What the model reveals, in words, with what the proof does not cover; then its epsilon by itself."""
        stated = super().guarantee(span, version, rest=rest)
        sentences = [text for text in (self.caveat, self.training.own_epsilon) if text]
        return f"{stated}. {' '.join(sentences)}" if sentences else stated

    def randomize(self, people: Any) -> dict[str, Any]:
        """The model, trained on noisy sums of people."""
        return self.training.train(people, is_private=True)

    def combine(self, people: Any) -> dict[str, Any]:
        """The model, trained on exact sums."""
        return self.training.train(people, is_private=False)

    @property
    def noise(self) -> str:
        """The mechanism, in words."""
        return "discrete Gaussian noise on clipped sums of people"

    @property
    def details(self) -> tuple[tuple[str, str], ...]:
        """What is trained: the lines of the model card, without the model itself."""
        return tuple((label, text) for label, text in self.training.words if label != "model")

    def explain_outputs(self, confidence: Fraction) -> tuple[ExplainedOutput, ...]:
        """The model; how well it predicts is not public in advance, and is measured where people are held out."""
        figures = self.training.planned_figures(confidence)
        advice = score_advice(self.training.name, self.target)
        others = "scores on the people held out come with it" if figures else advice
        model = ExplainedOutput(
            "model", self.training.name, self.noise, None, ": ".join(filter(None, (_PRIVATE, others)))
        )
        found = (ExplainedOutput(name, kind, _TABLE_NOISE, margin, note) for name, kind, margin, note in figures)
        return (model, *found)

    def hidden_margin(self, output: ExplainedOutput) -> HiddenMargin:  # noqa: ARG002 - of every output it is the same
        """How well a model predicts depends on the rows."""
        figures = self.training.planned_figures(DEFAULT_CONFIDENCE)
        known = [figure.name for figure in figures if figure.margin is not None]
        if self.target is None:
            return HiddenMargin("margins of means and deviations depend on the rows, which are private", _AT_AN_EPSILON)
        advice = f"{_AT_AN_EPSILON}; {score_advice(self.training.name, self.target)}"
        if figures:
            advice = f"output={known[0]!r}" if known else "session.release(query, epsilon=1), which has noisy scores"
        return HiddenMargin("how well a model predicts depends on the rows, which are private", advice)


def analyze_model(
    source: logical.Relation,
    catalog: Catalog,
    budget: Budget,
    *,
    model: TrainableModel,
    target: str | None,
    features: Sequence[str] | None,
    holdout: Fraction | None = None,
    search: SearchOptions | None = None,
    epsilon: Number | None = None,
    rho: Number | None = None,
    share: Fraction = Fraction(1),
) -> ModelPlan:
    """Plan a training from public facts alone, or refuse it."""
    scope = bind(source, catalog)
    unit = scope.table.unit
    _refuse_unit_as_target(scope, target, model)
    spent = allocation.gaussian_spending("a model", budget, epsilon=epsilon, rho=rho, share=share)
    facts = ModelFacts(
        target=target,
        columns=_candidates(scope, target, features),
        target_column=None if target is None else _column(scope, target),
        has_feature_list=features is not None,
        size=_size(scope),
        rho=spent.amount,
        replace_one=unit.neighbours is Neighbours.REPLACE_ONE,
        orders=tuple(spent.orders),
        delta=spent.delta,
        allow_float_gradients=_allows_float_gradients(scope, catalog),
    )
    tag = estimator_tag(model)
    training = _training(model, facts, None if holdout is None else holdout_of(holdout, scope.name), search, spent)
    if training.rho > spent.amount:
        raise RuntimeError("a training of a larger cost than the one that was asked for")
    names = training.features if target is None else (*training.features, target)
    read = {name: scope.term(logical.ColumnRef(name)) for name in names}
    pushdown, units = _pushdown(scope, tuple(read.values()))
    texts = [name for name, term in read.items() if term.type is ColumnType.TEXT]
    people = max(training.size, facts.size or 0)
    longest = {name: longest_text(training.categories.get(name, ())) for name in texts}
    return ModelPlan(
        dataset=scope.name,
        unit=unit,
        spending=replace(spent, reason=training.reason),
        slice=scope.table.part,
        pushdown=pushdown,
        tag=tag,
        training=training,
        target=target,
        columns=read | units,
        unit_columns=tuple(units),
        longest=longest,
        blocks=number_of_blocks(people, _most_rows(scope), _row_bytes(read, units, longest)),
    )


def _training(
    model: TrainableModel, facts: ModelFacts, holdout: Holdout | None, search: SearchOptions | None, spent: Spending
) -> ModelTraining:
    """The training, by the methods of the class of the model; a search costs the amount at the orders of the spending.

    Where a rho was asked for there are none, and the search has that rho at every order.
    """
    if holdout is None:
        return type(model).training(model, facts)
    if search is None:
        return held_out_training(model, facts, holdout)
    return search_training(model, facts, holdout, search, spent.orders)


def _pushdown(scope: Bound, terms: tuple[Term, ...]) -> tuple[Pushdown, dict[str, Read]]:
    """The engine's rows, and the columns that say whose each of them is."""
    unit = scope.table.unit
    caps = contribution_bounds.effective(unit, scope.table.caps, None, None)
    enforced = contribution_bounds.caps_to_enforce(unit, caps, 1)
    pushdown = lower_query(scope, Keys(), enforced, (CountRows(),), terms)
    types = {read.column: read for read in pushdown.scan.columns}
    return pushdown, {UNIT.format(i): types[name] for i, name in enumerate(pushdown.scan.unit)}


def _allows_float_gradients(scope: Bound, catalog: Catalog) -> bool:
    """Whether the owners of all protected tables that are read allow it; a joined table has no say for another."""
    read = [] if scope.origin is None else [leaf.table for leaf in leaves(scope.origin.base) if not leaf.is_public]
    return scope.table.allow_float_gradients and all(catalog.table(name).allow_float_gradients for name in read)


def _most_rows(scope: Bound) -> int:
    """The most rows of a person that are read; 1 where no bound is declared, for planning alone."""
    return contribution_bounds.effective(scope.table.unit, scope.table.caps, None, None).max_rows or 1


def _row_bytes(read: Mapping[str, Term], units: Mapping[str, Read], longest: Mapping[str, int]) -> int:
    """The most bytes of a row, where longer texts are missing."""
    return sum(8 + longest.get(name, 0) for name in read) + len(units) * (8 + LONGEST_OWNER)


def _candidates(scope: Bound, target: str | None, features: Sequence[str] | None) -> dict[str, Column]:
    """The columns that may be features: those that the query names, or all but the target and the unit."""
    unit = scope.table.unit.columns
    if features is None:
        names = dict.fromkeys([*scope.table.columns, *scope.derived])
        return {name: _column(scope, name) for name in names if name != target and name not in unit}
    for name in features:
        if name in unit:
            others = [other for other in features if other not in unit] or _declared_columns(scope, target)
            raise ParameterError(
                f"the privacy unit {name!r} among the features",
                because="a name of a person is of no use for anybody else",
                instead=f"features={others}" if others else "fit without features, which then are all other columns",
            )
    return {name: _column(scope, name) for name in features}


def _refuse_unit_as_target(scope: Bound, target: str | None, model: TrainableModel) -> None:
    """Names of units are not classes, and a number that names a person is not an amount."""
    if target in scope.table.unit.columns:
        has_classes, declared = hasattr(model, "classes"), scope.table.columns
        others = [name for name in _declared_columns(scope, target) if bool(declared[name].bounds) is not has_classes]
        raise ParameterError(
            f"the privacy unit {target!r} as the target",
            because="a name of a person is of no use for anybody else",
            instead=f"target={others[0]!r}" if others else "a target with bounds or keys in the catalog",
        )


def _declared_columns(scope: Bound, target: str | None) -> list[str]:
    """The columns beside the target and the unit that can be features by what the catalog declares."""
    known = ((name, scope.table.columns[name]) for name in scope.table.columns if name not in scope.table.unit.columns)
    able = [(name, column.bounds or column.keys or column.type is ColumnType.BOOLEAN) for name, column in known]
    return [name for name, is_declared in able if is_declared and name != target]


def _column(scope: Bound, name: str) -> Column:
    """What is declared of a column; of one that the query derives, its type and the bounds that follow."""
    found = scope.declared_column(logical.ColumnRef(name))
    return Column(type=scope.term(logical.ColumnRef(name)).type) if found is None else found


def _size(scope: Bound) -> int | None:
    """The public number of people, or of rows where each is a unit."""
    table = scope.table
    return (table.rows or table.population) if table.unit.is_row else (table.population or table.rows)
