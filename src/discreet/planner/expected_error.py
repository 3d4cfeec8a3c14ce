"""How wrong each group is expected to be, from public sizes alone: declared, guessed, or released earlier."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any

from discreet.errors import ParameterError, UnsupportedError
from discreet.exact.numbers import Number, positive, rational, shown
from discreet.planner.queries.aggregate import AggregatePlan
from discreet.planner.queries.private_plan import AnswerPlan
from discreet.release.expected_error import GUESSED, ErrorsByEpsilon, ExpectedError, ExpectedErrors
from discreet.release.release import Release
from discreet.release.result import DEFAULT_CONFIDENCE
from discreet.release.values.columns import Key

Sizes = Release | Mapping[Any, Number] | Number

_COUNTS = ("count", "count of units", "count of values")


def expected_errors(private: AnswerPlan, sizes: Sizes | None, confidence: Fraction) -> ExpectedErrors:
    """The expected relative error and the margin of every output in every group."""
    plan = _with_public_keys(private)
    keys = plan.keys(None)
    rows = _sizes(plan, keys, sizes)
    known = sizes if isinstance(sizes, Release) else None
    outputs = []
    for made in plan.recipes:
        answers = _answers(known, made.name, made.kind, keys)
        known_answers = answers or (None,) * len(rows)
        relative = tuple(plan.relative_error(made, *pair) for pair in zip(rows, known_answers, strict=True))
        margins = tuple(plan.margin(made, confidence, max(1, round(size))) for size in rows)
        shown_margins = tuple(None if margin is None else float(margin) for margin in margins)
        outputs.append(
            ExpectedError(made.name, relative, shown_margins, guessed=answers is None and made.bounds is not None)
        )
    return ExpectedErrors(keys, tuple(map(float, rows)), tuple(outputs), _basis(sizes))


def errors_by_group(
    planned_at: Callable[[Fraction], AnswerPlan], epsilons: Sequence[Number], sizes: Sizes | None, output: str | None
) -> ErrorsByEpsilon:
    """The expected relative error of one output in every group, at each epsilon."""
    prices = _prices(epsilons)
    tables = [expected_errors(planned_at(price), sizes, DEFAULT_CONFIDENCE) for price in prices]
    first = tables[0]
    names = [made.name for made in first.outputs]
    chosen = names[0] if output is None else output
    if chosen not in names:
        raise ParameterError(f"output={chosen!r}", because="the query has no such output", instead=f"one of {names}")
    place = names.index(chosen)
    errors = tuple(table.outputs[place].relative for table in tables)
    basis = f"{first.basis}, {GUESSED}" if first.outputs[place].guessed else first.basis
    return ErrorsByEpsilon(chosen, first.keys, first.sizes, tuple(map(float, prices)), errors, basis)


def _prices(epsilons: object) -> list[Fraction]:
    if isinstance(epsilons, str | bytes | Mapping) or not isinstance(epsilons, Iterable):
        number = positive(epsilons, "epsilons")
        raise ParameterError(
            f"epsilons={shown(number)}",
            because="errors are shown side by side for each of a list",
            instead=f"epsilons=[{shown(number)}]",
        )
    prices = [positive(epsilon, "epsilons") for epsilon in epsilons]
    if not prices:
        raise ParameterError("no epsilons", because="errors are shown for each", instead="epsilons=[0.1, 0.5, 1]")
    return prices


def _with_public_keys(private: AnswerPlan) -> AggregatePlan:
    if isinstance(private, AggregatePlan):
        return private
    raise UnsupportedError(
        "expected errors by group of this kind of query",
        because="they are known in advance for counts, sums and means by public keys",
        instead="session.explain(query, epsilon=0.5) without sizes",
    )


def _sizes(plan: AggregatePlan, keys: tuple[Key, ...], sizes: Sizes | None) -> list[Fraction]:
    groups = len(plan.pushdown.keys.rows)
    if sizes is None:
        if plan.declared_rows is None:
            raise ParameterError(
                "expected errors without sizes",
                because="they depend on how large each group is, which is private",
                instead='sizes={"A": 500, "B": 40}, an earlier release of counts, or rows=... in the catalog',
            )
        return [Fraction(plan.declared_rows, groups)] * groups
    if isinstance(sizes, Release):
        return _sizes_from_release(sizes, keys, groups)
    if isinstance(sizes, Mapping):
        return _sizes_from_mapping(sizes, keys, groups)
    return [positive(sizes, "sizes") / groups] * groups


def _sizes_from_mapping(sizes: Mapping[Any, Number], keys: tuple[Key, ...], groups: int) -> list[Fraction]:
    found = []
    for row in range(groups):
        group = tuple(key.values[row] for key in keys)
        asked = group[0] if len(group) == 1 else group
        if asked not in sizes:
            raise ParameterError(
                f"sizes without {asked!r}",
                because="every group needs a size; an estimate is enough",
                instead=f"sizes={{{asked!r}: 100, ...}}",
            )
        found.append(max(Fraction(0), rational(sizes[asked], "a size")))
    return found


def _sizes_from_release(release: Release, keys: tuple[Key, ...], groups: int) -> list[Fraction]:
    """Noisy counts as sizes; where they were released for coarser groups, spread evenly over the finer ones."""
    counts = next((output for output in release.outputs if output.kind in _COUNTS), None)
    names = [key.name for key in release.keys]
    if counts is None or any(name not in {key.name for key in keys} for name in names):
        raise ParameterError(
            "sizes from a release without counts by keys of this query",
            because="each group takes its size from the release",
            instead='session.release(table.group_by("ward").agg(n=dp.count()), epsilon=0.1)',
        )
    columns = [next(key.values for key in keys if key.name == name) for name in names]
    groups_of = [tuple(column[row] for column in columns) for row in range(groups)]
    rows = zip(*(key.values for key in release.keys), strict=True) if names else [()]
    known = dict(zip(rows, counts.values, strict=True))
    shared = {group: groups_of.count(group) for group in set(groups_of)}
    if missing := [group for group in shared if group not in known]:
        raise ParameterError(
            f"sizes from a release without {missing[0]!r}",
            because="every group of the query takes its size from it",
            instead="a release by the same keys",
        )
    return [max(Fraction(0), Fraction(known[group] or 0)) / shared[group] for group in groups_of]


def _answers(release: Release | None, name: str, kind: str, keys: tuple[Key, ...]) -> tuple[float, ...] | None:
    """What an earlier release says of the very output, where it has it by the same keys."""
    if release is None or release.keys != keys:
        return None
    same = (output for output in release.outputs if (output.name, output.kind) == (name, kind))
    found = next((output.values for output in same if output.is_found), None)
    return None if found is None else tuple(value for value in found if value is not None)


def _basis(sizes: Sizes | None) -> str:
    if sizes is None:
        return "if the declared rows are spread evenly over the groups"
    if isinstance(sizes, Release):
        return f"for sizes as released before from {sizes.dataset!r}"
    if isinstance(sizes, Mapping):
        return "for the sizes given"
    return f"if {shown(rational(sizes, 'sizes'))} rows are spread evenly over the groups"
