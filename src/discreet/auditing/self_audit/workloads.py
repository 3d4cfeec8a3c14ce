"""Hierarchies, ranges and quantiles from a tree, as the plans that a session releases by, with neighbours and claims.

What is audited is `randomize` of a plan, on the integers that an engine would give: a unit fills its contribution
bounds in cells, bins or steps that share as few sums as they can. What is judged is the log-likelihood ratio of each
part of the strategy, and of all together: the best that an attacker could compute. Where a unit is added or removed it
reaches the claim, so half the noise is seen in a few thousand draws. Under replace-one no pair of units moves all parts
by their stated sensitivities, and a hierarchy with half the noise keeps its claim on them. So what was added to the
exact sums is held against the distribution of the stated noise as well, which half the noise breaks by a few hundred
draws.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from discreet.accounting.filters import Budget
from discreet.auditing.claims import Claim, claim
from discreet.auditing.finding import Finding
from discreet.auditing.self_audit.queries import (
    DELTA,
    EPSILON,
    REASON,
    RHO,
    Floats,
    Leaning,
    Name,
    Neighbours,
    audited_at_once,
)
from discreet.auditing.statistical import goodness_of_fit
from discreet.catalog.catalog import Catalog
from discreet.events import DiscreteGaussianEvent, DiscreteLaplaceEvent, leaves
from discreet.mechanisms import AdditiveNoise, Gaussian, Laplace
from discreet.planner.registry import plan_query
from discreet.query import frame
from discreet.query.frame import Query

Counts = Sequence[int]

ROWS_OF_UNIT = 2
CELLS = pa.table({"state": list("NNNSSS"), "county": list("aabccd"), "tract": list("123456")})
BINS = 12
MANY_BINS = 20
STEPS = 16


class Workload(NamedTuple):
    """The plan of a query, the counts that it reads on two neighbours, and what it claims."""

    plan: Any
    one: Counts
    other: Counts
    claim: Claim


def workloads() -> Mapping[str, Workload]:
    """Every workload under both relations and both kinds of noise, by name."""
    relations: tuple[Neighbours, ...] = ("add_remove", "replace_one")
    names: tuple[Name, ...] = ("laplace", "gaussian")
    return {
        f"{name}, {mechanism}, {neighbours}": workload(query, cells, neighbours, mechanism)
        for (name, query, cells), neighbours, mechanism in product(_questions(), relations, names)
    }


def workload(query: Query, cells: int, neighbours: Neighbours, mechanism: Name, times: int = 1) -> Workload:
    """A query about so many cells, at so many times its claimed privacy cost."""
    columns = {name: {"type": "text"} for name in ("unit", *CELLS.column_names)} | {"x": {"type": "integer"}}
    table = {"columns": columns, "privacy_unit": "unit", "max_rows": ROWS_OF_UNIT, "neighbours": neighbours}
    catalog = Catalog.model_validate({"tables": {"rows": table}})
    budget = Budget(epsilon=1_000, delta=0 if mechanism == "laplace" else DELTA, reason=REASON)
    price: dict[str, Any] = {"epsilon": EPSILON * times} if mechanism == "laplace" else {"rho": RHO * times**2}
    asked = plan_query(query.plan, catalog, budget, mechanism=mechanism, **price)
    one, other = [5] * cells, [5] * cells
    one[0] += ROWS_OF_UNIT
    if neighbours == "replace_one":
        other[-1] += ROWS_OF_UNIT
    return Workload(asked, one, other, claim(epsilon=EPSILON) if mechanism == "laplace" else claim(rho=RHO))


def audited_workload(name: str, made: Workload, samples: int, alarm: float) -> list[Finding]:
    """Draws by the plan itself: the log-likelihood ratio of each part and of all, and the distribution of each."""
    drawn = [[made.plan.randomize([each]) for _ in range(samples)] for each in (made.one, made.other)]
    claimed = audited_at_once(*(ratios(made, each) for each in drawn), claim=made.claim, alarm=alarm, name=name)
    return [claimed, goodness_of_fit.check_parts(_noises(made, drawn), alarm=alarm, name=name)]


def _noises(made: Workload, drawn: Sequence[Sequence[Sequence[Counts]]]) -> list[goodness_of_fit.BinCounts]:
    """The noise of each part of the strategy, of all its integers on both datasets."""
    exact = [made.plan.combine([each]) for each in (made.one, made.other)]
    found = []
    for place, part in enumerate(_parts(made)):
        both = [
            np.array([noisy[place] for noisy in each], float) - np.array(sums[place], float)
            for each, sums in zip(drawn, exact, strict=True)
        ]
        noise = _noise(part)
        found.append(goodness_of_fit.part_of_noise(np.concatenate(both), noise, noise.standard_deviation))
    return found


def _parts(made: Workload) -> list[object]:
    return [part for part, times in leaves(made.plan.event) for _ in range(times)]


def ratios(made: Workload, drawn: Sequence[Sequence[Counts]]) -> Floats:
    """How much likelier each part of noisy integers is on the one dataset, in its logarithm; and last all together."""
    columns = zip(_parts(made), *(made.plan.combine([each]) for each in (made.one, made.other)), strict=True)
    found = []
    for place, (part, one, other) in enumerate(columns):
        leaning = Leaning(np.array(one, float), np.array(other, float), [_noise(part)] * len(one))
        found.append(leaning.beside(np.array([noisy[place] for noisy in drawn], dtype=float))[:, -1])
    return np.column_stack([*found, sum(found)])


def _questions() -> Iterator[tuple[str, Query, int]]:
    """Queries by name, each with its number of cells, bins or steps."""
    rows = frame.table("rows")
    few = [(0, 4), (0, 8), (2, 6), (3, BINS)]
    every = [(low, high) for low in range(MANY_BINS) for high in range(low + 1, MANY_BINS + 1)]
    quantiles: Any = frame.quantiles("x", [part / 20 for part in range(1, 20)], bounds=(0, STEPS - 1))
    yield "hierarchy", rows.hierarchy("state", "county", "tract", keys=CELLS), len(CELLS)
    yield "ranges", rows.ranges("x", ranges=few), len({end for pair in few for end in pair}) - 1
    yield "all ranges", rows.ranges("x", ranges=every), MANY_BINS
    yield "quantiles", rows.agg(q=quantiles), STEPS


def _noise(part: object) -> AdditiveNoise:
    """The noise that an event says was drawn."""
    if isinstance(part, DiscreteLaplaceEvent):
        return Laplace.with_scale(scale=part.scale, sensitivity=1)
    assert isinstance(part, DiscreteGaussianEvent)  # noqa: S101 - a part has one noise or the other
    return Gaussian.with_sigma(sigma=math.sqrt(part.variance), sensitivity=1)
