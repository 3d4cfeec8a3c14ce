"""Answers for keys that are not known: which keys may be named, what that costs, and the answers for those alone.

A part of the spending selects keys by how many units each has; the rest pays for the answers, whose noise covers a unit
wherever its keys are, so it does not matter how many keys there are. A threshold adds noise to the numbers of units,
and where those are asked for they are the same: one privacy cost for both.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import get_args

from discreet import events
from discreet.accounting.filters import Budget, readable
from discreet.catalog.catalog import Catalog
from discreet.catalog.privacy_unit import Caps, Unit
from discreet.errors import BudgetError, ParameterError, UnboundedError, UnsupportedError
from discreet.exact.numbers import Number, shown
from discreet.mechanisms.keys import GaussianThreshold, LaplaceThreshold, Optimal
from discreet.plan import logical, physical
from discreet.plan.physical import CountUnits, KeyedTable
from discreet.planner.budget import allocation, measurement_basis
from discreet.planner.budget import shares as budget_shares
from discreet.planner.budget.allocation import MechanismName, Spending
from discreet.planner.queries.aggregate import AggregatePlan, NoisyMeasure
from discreet.planner.queries.private_plan import HiddenMargin, TablePlan
from discreet.planner.queries.tables import refuse_ambiguous_names, shares_of
from discreet.planner.resolve import keys
from discreet.planner.resolve.binding import Bound, bind
from discreet.planner.resolve.lowering import lower_query
from discreet.planner.resolve.measures import Recipe, recipe
from discreet.planner.sensitivity import contribution_bounds
from discreet.release.explanation import ExplainedOutput
from discreet.release.release import Key, MeasuredColumn, OutputColumn, Release
from discreet.release.result import DEFAULT_CONFIDENCE

MANY = 10**15
"""More groups than any table has: what one unit can do is then what its contribution bounds allow."""

KeyRule = Optimal | LaplaceThreshold | GaussianThreshold

_WORDS: dict[type, str] = {
    Optimal: "the optimal rule, which shows names alone",
    LaplaceThreshold: "a threshold on numbers of units with Laplace noise",
    GaussianThreshold: "a threshold on numbers of units with Gaussian noise",
}
_ANSWERED = (
    logical.Count
    | logical.CountDistinctUnits
    | logical.CountDistinct
    | logical.Sum
    | logical.Mean
    | logical.Variance
    | logical.Deviation
)
_NEAR = "depends on how near to the threshold a key is"
_LEAST_CHANCE = Fraction(1, 10**12)
ABOVE = " above a threshold"
"""What the noise of a number that had to pass a threshold is called: given that it passed, it is not even."""


@dataclass(frozen=True, kw_only=True)
class DiscoveryPlan(TablePlan):
    """Everything that is public about answers for keys that are to be found."""

    answers: AggregatePlan
    rule: KeyRule
    share: Fraction

    @property
    def noise(self) -> str:
        """The kinds of noise of the answers, in words."""
        return self.answers.noise

    @property
    def event(self) -> events.Event:
        """What a release does: a selection of keys, and noise on all of their outputs."""
        others = [noised for noised in self.answers.noisy_measures if not self._is_shared(noised)]
        return events.ComposedEvent((self.rule.event(), *(noised.mechanism.event() for noised in others)))

    @property
    def post_processing(self) -> tuple[str, ...]:
        """What is done to noisy integers before they are shown, in words."""
        return (*self.answers.post_processing, "keys: only those that were selected, in their own order")

    @property
    def key_selection(self) -> str:
        """How keys are found, in words."""
        often, half = self.rule.least_units(DEFAULT_CONFIDENCE), self.rule.least_units(Fraction(1, 2))
        price = f"{shown(100 * self.share, 3)}% of the privacy cost and delta {shown(self.rule.delta)}"
        least = f", and one of fewer than {self.rule.at_least:,} never" if self.rule.at_least > 1 else ""
        return (
            f"not known; kept by {_WORDS[type(self.rule)]}, for {price}: a key of {half:,} units "
            f"is kept half of the time, one of {often:,} in 95%{least}"
        )

    def randomize(self, exact: KeyedTable) -> KeyedTable:
        """The keys that are kept, with fresh noise on their integers."""
        units = exact.columns[self.pushdown.measures.index(CountUnits())]
        if isinstance(self.rule, Optimal):
            chosen = exact.at(self.rule.release(units))
            return KeyedTable(chosen.keys, self.answers.randomize(chosen.columns))
        passed = self.rule.release(units)
        chosen = exact.at([one.place for one in passed])
        return KeyedTable(chosen.keys, list(self._beside(chosen, [one.units for one in passed])))

    def combine(self, exact: KeyedTable) -> KeyedTable:
        """The keys that are kept more often than not, without noise."""
        units = exact.columns[self.pushdown.measures.index(CountUnits())]
        enough = self.rule.least_units(Fraction(1, 2))
        chosen = exact.at([place for place, count in enumerate(units) if count >= enough])
        return KeyedTable(chosen.keys, self.answers.combine(chosen.columns))

    def keys(self, noisy: KeyedTable) -> tuple[Key, ...]:
        """The keys that were found, one column for each of the grouping."""
        columns = zip(self.answers.group_columns, self.pushdown.keys.columns, strict=True)
        return tuple(
            Key(name, term.type, tuple(row[i] for row in noisy.keys)) for i, (name, term) in enumerate(columns)
        )

    def measurements(self, noisy: KeyedTable) -> tuple[MeasuredColumn, ...]:
        """The raw noisy integers, with what a reader needs to reuse them."""
        made = zip(self.answers.noisy_measures, self.answers.measurements(noisy.columns), strict=True)
        return tuple(
            replace(each, mechanism=f"{each.mechanism}{ABOVE}") if self._is_shared(noised) else each
            for noised, each in made
        )

    def outputs(self, noisy: KeyedTable, confidence: Fraction) -> tuple[OutputColumn, ...]:
        """Values and margins, from the noisy integers alone."""
        outputs = self.answers.outputs(noisy.columns, confidence)
        if isinstance(self.rule, Optimal):
            return outputs
        made = zip(outputs, self.answers.recipes, strict=True)
        return tuple(
            _with_threshold_margins(output, self.rule, confidence)
            if recipe.parts[0].measure == CountUnits()
            else output
            for output, recipe in made
        )

    def restore_noisy(self, release: Release) -> KeyedTable:
        """What is noisy, as a stored release holds it."""
        rows = tuple(zip(*(key.values for key in release.keys), strict=True))
        return KeyedTable(rows, [list(measured.steps) for measured in release.measured])

    def explain_outputs(self, confidence: Fraction) -> tuple[ExplainedOutput, ...]:
        """Each output in words, with its margin where it is public in advance: not where it had to pass a threshold."""
        told = zip(self.answers.explain_outputs(confidence), self.answers.recipes, strict=True)
        is_shared = not isinstance(self.rule, Optimal)
        return tuple(
            replace(each, margin=None, note=_NEAR) if is_shared and recipe.parts[0].measure == CountUnits() else each
            for each, recipe in told
        )

    def hidden_margin(self, output: ExplainedOutput) -> HiddenMargin:
        """Of the number of units by which keys were kept, it follows the distance from the threshold."""
        if output.note != _NEAR:
            return super().hidden_margin(output)
        return HiddenMargin(
            "its margin depends on how near to the threshold a key is, which is private",
            "output=... with the name of a sum or of a count of rows",
        )

    def _is_shared(self, noised: NoisyMeasure) -> bool:
        """Whether the noise of the threshold is the noise of this measure."""
        return not isinstance(self.rule, Optimal) and noised.measure == CountUnits()

    def _beside(self, chosen: KeyedTable, units: list[int]) -> Iterator[list[int]]:
        """Fresh noise on everything but the numbers of units, which have the noise that they passed with."""
        combined = self.answers.combine(chosen.columns)
        for noised, column in zip(self.answers.noisy_measures, combined, strict=True):
            yield units if self._is_shared(noised) else list(map(int, noised.mechanism.release(column)))


@dataclass(frozen=True)
class _ResolvedQuery:
    """What is the same for every rule: resolved columns, recipes, contribution bounds."""

    query: logical.Aggregate
    discovery: logical.Discovery
    scope: Bound
    recipes: tuple[Recipe, ...]
    caps: Caps
    shares: dict[physical.Integers, Fraction]

    @property
    def groups(self) -> int:
        """How many keys one unit can be in."""
        return contribution_bounds.presence(self.caps, MANY).l0

    def noisy_basis(self, spent: Spending, shares: dict[physical.Integers, Fraction]) -> budget_shares.Measured:
        """The integers that get noise for a spending, and the noise."""
        ways = measurement_basis.bases(tuple(shares), self.caps, MANY, self.scope.table.unit.neighbours)
        if CountUnits() in shares and shares is not self.shares:  # what passed a threshold carries nothing else
            ways = ways[:1]
        errors = [error for made in self.recipes for error in made.errors]
        errors += [{CountUnits(): 1}] if CountUnits() in shares else []
        return budget_shares.narrowest((spent,), ways, shares, errors)

    def answers(self, measured: budget_shares.Measured) -> AggregatePlan:
        """The plan of the answers, over keys that are open."""
        table, (spent, basis, parts, noises) = self.scope.table, measured
        scope, found = keys.resolve_unknown(self.query.grouping, self.scope)
        asked = tuple(dict.fromkeys((*basis.engine_measures, CountUnits())))
        return AggregatePlan(
            dataset=scope.name,
            unit=table.unit,
            caps=self.caps,
            pushdown=lower_query(scope, found, contribution_bounds.caps_to_enforce(table.unit, self.caps, MANY), asked),
            group_columns=self.query.grouping.columns,
            recipes=self.recipes,
            noisy_measures=tuple(map(NoisyMeasure, basis.drawn, basis.sensitivities, noises, parts)),
            readings=basis.readings,
            spending=spent,
            declared_rows=None,
            slice=table.part,
        )


def analyze_discovery(
    query: logical.Aggregate,
    catalog: Catalog,
    budget: Budget,
    *,
    epsilon: Number | None = None,
    rho: Number | None = None,
    mechanism: MechanismName | None = None,
    share: Fraction = Fraction(1),
) -> DiscoveryPlan:
    """Plan a query with partition selection, or refuse it."""
    refuse_ambiguous_names(query)
    asked = _resolve_query(query, bind(query.source, catalog))
    require_reserved_delta(asked.discovery.delta, budget)
    spendings = allocation.spendings(budget, epsilon=epsilon, rho=rho, mechanism=mechanism, share=share)
    plans, refusal = [], None
    for spent in spendings:
        for name in _rules(asked.discovery.rule, spent):
            try:
                plans.append(_plan(asked, name, spent))
            except ParameterError as error:
                refusal = error
    if not plans:
        raise refusal or _no_rule(asked.discovery.rule)
    return min(plans, key=lambda made: made.rule.least_units(Fraction(1, 2)))


def require_reserved_delta(delta: Fraction, budget: Budget) -> None:
    """Refuse a delta that the privacy budget has not reserved: it could never be charged."""
    if delta > budget.reserve:
        has = f"reserves {shown(budget.reserve)} of its delta" if budget.reserve else "reserves no delta"
        smaller = f"dp.discover(delta={shown(readable(budget.reserve))}), or " if budget.reserve else ""
        raise BudgetError(
            f"keys that are discovered at delta {shown(delta)}",
            because=f"partition selection spends that delta, and the privacy budget {has}",
            instead=f"{smaller}budget=dp.Budget(epsilon={shown(budget.epsilon)}, "
            f"delta={shown(max(2 * delta, budget.delta))}, reserved_delta={shown(delta)}) until the first charge",
        )


def require_group_bound(columns: Sequence[str], unit: Unit, caps: Caps) -> None:
    """Refuse keys where nothing limits how many of them one unit has."""
    if caps.max_groups is None and caps.max_rows is None:
        named = ", ".join(map(repr, columns))
        raise UnboundedError(
            f"keys of {named} that are discovered",
            because=f"the number of keys of one {' and '.join(unit.columns)} is not bounded",
            instead=f"group_by({named}, keys=dp.discover(...), max_groups=3), or max_groups in the catalog",
        )


def _resolve_query(query: logical.Aggregate, scope: Bound) -> _ResolvedQuery:
    grouping, unit = query.grouping, scope.table.unit
    assert grouping.discovery is not None  # noqa: S101 - planning sees to it
    caps = contribution_bounds.effective(unit, scope.table.caps, grouping.max_groups, grouping.max_rows_per_group)
    require_group_bound(grouping.discovery.columns, unit, caps)
    _refuse_what_needs_known_keys(query)
    recipes = tuple(recipe(output, scope) for output in query.outputs)
    return _ResolvedQuery(query, grouping.discovery, scope, recipes, caps, shares_of(query, recipes, unit, caps))


def _refuse_what_needs_known_keys(query: logical.Aggregate) -> None:
    """Refuse outputs that are made of counts of parts of each group, and bins, which are always answered."""
    for output in query.outputs:
        if not isinstance(output.measure, _ANSWERED):
            quartiles = isinstance(output.measure, logical.InterquartileRangeMeasure)
            raise UnsupportedError(
                f"{output.name!r} for keys that are discovered",
                because="with unknown keys only counts, sums, means and variances with bounds are released",
                instead=f"found = session.release(table.{_first(query.grouping)}.agg(n=dp.count()), epsilon=0.5), "
                "then keys=found.to_arrow()" + (" and dp.quantiles(..., [0.25, 0.75])" if quartiles else ""),
            )
    if query.grouping.labels:
        raise UnsupportedError(
            "bins for keys that are discovered",
            because="bins are public, so partition selection does not apply",
            instead='keys={"ward": ["A", "B"]}, with keys that are public or that an earlier release found',
        )


def _first(grouping: logical.Grouping) -> str:
    """The grouping that finds keys, as it is typed."""
    assert grouping.discovery is not None  # noqa: S101 - planning sees to it
    named = ", ".join(f'"{name}"' for name in grouping.columns)
    cap = "" if grouping.max_groups is None else f", max_groups={grouping.max_groups}"
    return f"group_by({named}, keys=dp.discover(delta={shown(grouping.discovery.delta)}){cap})"


def _rules(wanted: logical.KeyRule | None, spent: Spending) -> list[logical.KeyRule]:
    """The rules that a spending can pay for: a threshold has the noise of the numbers of units."""
    rules: tuple[logical.KeyRule, ...] = get_args(logical.KeyRule)
    payable = ("optimal", *(kind.tag for kind in spent.kinds))
    return [name for name in rules if name in payable and wanted in (None, name)]


def _plan(asked: _ResolvedQuery, name: logical.KeyRule, spent: Spending) -> DiscoveryPlan:
    discovery, unit = asked.discovery, asked.scope.table.unit
    whole = sum(asked.shares.values(), discovery.weight)
    if name == "optimal":
        share = discovery.weight / whole
        measured = asked.noisy_basis(spent.part(1 - share), asked.shares)
        part = spent.part(share).pure_epsilon
    else:
        shares = asked.shares | {CountUnits(): asked.shares.get(CountUnits(), Fraction(0)) + discovery.weight}
        share = shares[CountUnits()] / whole
        kind = next(kind for kind in spent.kinds if kind.tag == name)
        measured = asked.noisy_basis(spent.only(kind), shares)
        part = measured.noises[measured.basis.drawn.index(CountUnits())].amount
    rule = _rule(name, part, discovery, asked.groups, str(unit.neighbours))
    answers = asked.answers(measured)
    return DiscoveryPlan(
        dataset=answers.dataset,
        unit=unit,
        spending=spent,
        slice=answers.slice,
        pushdown=answers.pushdown,
        caps=answers.caps,
        answers=answers,
        rule=rule,
        share=share,
    )


def _with_threshold_margins(
    output: OutputColumn, rule: LaplaceThreshold | GaussianThreshold, confidence: Fraction
) -> OutputColumn:
    """Numbers that passed a threshold with the noise that they are shown with, and margins that hold for those.

    Farther above the threshold than the margin, few units are ruled out; nearer to it, any number of them from the
    least on may be there. Proof: docs/proofs/mechanisms/keys/laplace.md.
    """
    above_zero = Fraction(rule.noise.tail(0)) / 2
    wide = int(rule.noise.margin(1 - (1 - confidence) * max(above_zero, _LEAST_CHANCE)))
    threshold = rule.threshold + rule.at_least - 1
    margins = tuple(
        wide if value - threshold > wide else max(wide, int(value) - rule.at_least)
        for value in output.values
        if value is not None
    )
    return replace(output, margins=margins, parts=())


def _rule(
    name: logical.KeyRule, price: Fraction, discovery: logical.Discovery, groups: int, neighbours: str
) -> KeyRule:
    told = {"delta": discovery.delta, "groups": groups, "neighbours": neighbours, "at_least": discovery.at_least}
    if name == "gaussian":
        return GaussianThreshold(rho=price, **told)  # type: ignore[arg-type]
    kind = Optimal if name == "optimal" else LaplaceThreshold
    return kind(epsilon=price, **told)  # type: ignore[arg-type]


def _no_rule(wanted: logical.KeyRule | None) -> ParameterError:
    other = "mechanism='laplace'" if wanted == "laplace" else "a budget whose delta is not all reserved"
    return ParameterError(
        f"rule={wanted!r} beside answers with another noise",
        because="the threshold uses the noise of the answers",
        instead=f"rule='optimal', or {other}",
    )
