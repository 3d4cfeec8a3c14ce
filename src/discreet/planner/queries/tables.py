"""From a logical plan to a private plan, by public facts alone.

The steps: check names, bound contributions, divide the privacy cost, calibrate noise.

private = analyze(plan, catalog, budget, epsilon=...)
"""

from collections import Counter
from fractions import Fraction

from discreet.accounting.filters import Budget
from discreet.catalog.catalog import Catalog
from discreet.catalog.privacy_unit import Caps, Unit
from discreet.errors import ParameterError
from discreet.exact.numbers import Number
from discreet.plan import logical, physical
from discreet.planner.budget import allocation, measurement_basis
from discreet.planner.budget import shares as budget_shares
from discreet.planner.budget.allocation import MechanismName
from discreet.planner.queries.aggregate import AggregatePlan, NoisyMeasure
from discreet.planner.resolve import keys
from discreet.planner.resolve.binding import bind
from discreet.planner.resolve.lowering import lower_query
from discreet.planner.resolve.measures import Recipe, recipe
from discreet.planner.sensitivity import contribution_bounds
from discreet.planner.sensitivity.sensitivity import Sensitivity, sensitivity
from discreet.release.release import MARGIN

LONGEST_NAME = 200

__all__ = ["AggregatePlan", "MechanismName", "Sensitivity", "analyze", "sensitivity"]


def analyze(
    query: logical.Aggregate,
    catalog: Catalog,
    budget: Budget,
    *,
    epsilon: Number | None = None,
    rho: Number | None = None,
    mechanism: MechanismName | None = None,
    share: Fraction = Fraction(1),
) -> AggregatePlan:
    """Resolve, bound and calibrate a query, or refuse it; nothing here depends on the data."""
    refuse_ambiguous_names(query)
    scope = bind(query.source, catalog)
    recipes = tuple(recipe(output, scope) for output in query.outputs)
    public = keys.resolve(query.grouping, scope)
    unit, groups = scope.table.unit, len(public.rows)
    caps = contribution_bounds.effective(
        unit, scope.table.caps, query.grouping.max_groups, query.grouping.max_rows_per_group
    )
    shares = shares_of(query, recipes, unit, caps)
    spendings = allocation.spendings(budget, epsilon=epsilon, rho=rho, mechanism=mechanism, share=share)
    bases = measurement_basis.bases(tuple(shares), caps, groups, unit.neighbours)
    errors = [error for made in recipes for error in made.errors]
    spent, basis, parts, noises = budget_shares.narrowest(spendings, bases, shares, errors)
    question = lower_query(
        scope, public, contribution_bounds.caps_to_enforce(unit, caps, groups), basis.engine_measures
    )
    return AggregatePlan(
        dataset=scope.name,
        unit=unit,
        caps=caps,
        pushdown=question,
        group_columns=query.grouping.columns,
        recipes=recipes,
        noisy_measures=tuple(map(NoisyMeasure, basis.drawn, basis.sensitivities, noises, parts)),
        readings=basis.readings,
        spending=spent,
        declared_rows=scope.table.rows,
        slice=scope.table.part,
        labels=query.grouping.labels,
    )


def refuse_ambiguous_names(query: logical.Aggregate) -> None:
    """Keys, answers and margins stand side by side in a release: each name is readable and means one column."""
    columns = [*query.grouping.columns, *(name for o in query.outputs for name in (o.name, o.name + MARGIN))]
    for name, times in Counter(columns).items():
        if times > 1 or not 0 < len(name) <= LONGEST_NAME or not name.isprintable():
            raise ParameterError(
                f"the name {name[:LONGEST_NAME]!r} in a release",
                because=f"names have 1 to {LONGEST_NAME} visible characters and do not end in {MARGIN!r}",
                instead="agg(total=...), or another name of its own",
            )


def shares_of(
    query: logical.Aggregate, recipes: tuple[Recipe, ...], unit: Unit, caps: Caps
) -> dict[physical.Integers, Fraction]:
    """The share of each measure; one that several outputs need is measured once and gets all their shares.

    Measures of rows are refused where nothing limits the rows of one unit.
    """
    shares: dict[physical.Integers, Fraction] = {}
    for output, made in zip(query.outputs, recipes, strict=True):
        for part in made.parts:
            shares[part.measure] = shares.get(part.measure, Fraction(0)) + output.weight * part.share
    for measure in shares:
        if isinstance(measure, physical.CountRows | physical.SumSteps):
            contribution_bounds.require_row_bound(_measure_name(measure, recipes), unit, caps)
    return shares


def _measure_name(measure: physical.Integers, recipes: tuple[Recipe, ...]) -> str:
    made = next(r for r in recipes if any(part.measure == measure for part in r.parts))
    return f"{made.kind} {made.name!r}"
