"""Layer 1: on neighbours, exact answers differ by at most what was stated. No noise, no samples, no false alarms.

`audit_plan` takes a query through the analysis and the engine that answer it: the integers that would get noise are
computed on adversarial neighbours, and their distance is held against the sensitivity that the noise was calibrated to,
in every norm. `audit_function` does the same for any function of a dataset. Both are deterministic checks: what they
call broken is a counterexample, which the finding shows. It is made-up data, so its values may be shown.
"""

import copy
import itertools
import math
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np
import pyarrow as pa

from discreet.accounting.filters import Budget
from discreet.auditing.arguments import refuse_no_plan
from discreet.auditing.finding import Finding, Verdict
from discreet.auditing.sensitivity import names, neighbours
from discreet.auditing.sensitivity.distances import INFINITE, Incomparable, Norm, distance, materialize
from discreet.catalog.catalog import Catalog, Table
from discreet.engines import DuckDB, Engine, RegisteredSource, Workspace, source_of
from discreet.errors import ParameterError, short_traceback
from discreet.exact.numbers import Number, rational, shown, whole
from discreet.planner.queries.aggregate import NoisyMeasure
from discreet.planner.queries.tables import AggregatePlan, MechanismName, Sensitivity, analyze
from discreet.query.frame import Query
from discreet.session.arguments import table_name
from discreet.session.session import Session

LAYER = "sensitivity"
NORMS = ("l0", "l1", "l2_squared", "linf")
_PAIRS_AT_ONCE = 25
_SHOWN_ROWS = 5
_LONGEST = 200

Pair = tuple[pa.Table, pa.Table]
Opener = Callable[[Mapping[str, pa.Table], int, Path], Engine]
T = TypeVar("T")


def duckdb(tables: Mapping[str, pa.Table], key: int, place: Path) -> Engine:
    """DuckDB over tables by name, which all order their rows by one key, as neighbours do."""
    return DuckDB(
        {name: RegisteredSource(source_of(data), key) for name, data in tables.items()}, Workspace(place), threads=1
    )


@dataclass
class Examination:
    """What a plan did on neighbours: its finding, and the pair that its noise hides worst."""

    finding: Finding
    pair: Pair | None


@short_traceback
def audit_plan(
    query: Query,
    catalog: Catalog | Session,
    *,
    pairs: int = 200,
    epsilon: Number = 1,
    mechanism: MechanismName | None = None,
    generator: np.random.Generator | None = None,
    opened: Opener = duckdb,
) -> Finding:
    """Exact answers of a query on adversarial neighbours, held against its stated sensitivity.

    Args:
        query: The query.
        catalog: A catalog, or a session.
        pairs: Number of pairs of neighbours. Default 200.
        epsilon: Epsilon of the plan. Default 1.
        mechanism: The additive noise, as for `release`. Default: chosen by the budget.
        generator: Generator of the random choices. Default: a new one.
        opened: Function that opens an engine over made-up tables. Default: DuckDB.

    Returns:
        The finding; `found` is the largest distance as a part of the stated one.

    Raises:
        Refusal: If the query cannot be planned.

    Example:
        >>> import discreet as dp
        >>> facts = {"name": "visits", "privacy_unit": "patient_id", "max_rows": 3, "budget": dp.Budget(epsilon=2)}
        >>> session = dp.testing.protect(dp.datasets.visits(100), **facts)
        >>> dp.auditing.audit_plan(dp.table("visits").agg(n=dp.count()), session, pairs=5).is_broken
        False
    """
    return examine(
        query, catalog, pairs=pairs, epsilon=epsilon, mechanism=mechanism, generator=generator, opened=opened
    ).finding


def examine(
    query: Query,
    catalog: Catalog | Session,
    *,
    pairs: int = 200,
    epsilon: Number = 1,
    mechanism: MechanismName | None = None,
    generator: np.random.Generator | None = None,
    opened: Opener = duckdb,
    typed: bool = False,
) -> Examination:
    """The same, with the pair of neighbours that were the farthest apart."""
    refuse_no_plan(query, catalog)
    started = time.perf_counter()
    random = generator or np.random.default_rng()
    facts, budget = _facts_and_budget(catalog, query, epsilon)
    private = analyze(query.plan, facts, budget, epsilon=epsilon, mechanism=mechanism)
    table = facts.table(private.dataset)
    likely = names.values_of(private.pushdown, table)
    made = neighbours.pairs(table, whole(pairs, "pairs"), random, likely=likely, typed=typed)
    worst = _Worst(private)
    with tempfile.TemporaryDirectory(prefix="discreet-audit-") as place:
        for batch in _batches(made, _PAIRS_AT_ONCE):
            worst.see(batch, _answers(private, batch, int(random.integers(2**62)), Path(place), opened))
    finding = worst.finding(table, seconds=time.perf_counter() - started)
    return Examination(finding, worst.pair)


@short_traceback
def audit_function(
    function: Callable[[Any], object],
    pairs: Iterable[tuple[Any, Any]],
    *,
    sensitivity: Number,
    norm: Norm = "l1",
    name: str | None = None,
) -> Finding:
    """Any function of a dataset, held against a claimed sensitivity on pairs of neighbours.

    Distances are exact. NaN, infinities, another length, other keys, or an error on one side only are infinitely far.
    Answers that cannot be compared make the audit void.

    Args:
        function: The function.
        pairs: Pairs of neighbouring datasets, such as those of `neighbouring_lists`.
        sensitivity: The claimed sensitivity.
        norm: "l1", "l2" or "linf". Default "l1".
        name: Name of the subject in the finding. Default: that of the object.

    Returns:
        The finding.

    Raises:
        ParameterError: If an argument is outside its range or of another kind.

    Example:
        >>> import discreet as dp
        >>> pairs = dp.auditing.neighbouring_lists(count=20)
        >>> dp.auditing.audit_function(len, pairs, sensitivity=1).is_broken
        False
    """
    started = time.perf_counter()
    claimed = rational(sensitivity, "sensitivity")
    if claimed < 0 or norm not in ("l1", "l2", "linf"):
        raise ParameterError(
            f"sensitivity={sensitivity!r}, norm={norm!r}",
            because="a sensitivity is at least zero, in one of the norms l1, l2 and linf",
            instead='sensitivity=1, norm="l1"',
        )
    limit = claimed**2 if norm == "l2" else claimed
    far = _farthest(function, pairs, norm)
    broken, found = far.moved > limit, _as_float(far.moved, norm)
    told = f"{norm} distance {_number(found)}, and {shown(claimed)} is claimed"
    kept = f"{far.seen:,} pairs; the largest {told}"
    return Finding(
        subject=name or str(getattr(function, "__name__", type(function).__name__)),
        layer=LAYER,
        claim=f"neighbours differ by at most {shown(claimed)} in {norm}",
        verdict=Verdict.BROKEN if broken else Verdict.VOID if far.void or not far.seen else Verdict.NOTHING_FOUND,
        evidence=f"{told}: {_pair_text(*far.behind)}" if broken else far.void or kept,
        stated=float(claimed),
        found=found,
        samples=far.seen,
        seconds=time.perf_counter() - started,
    )


class _Farthest(NamedTuple):
    """The largest distance, squared for l2, with its two datasets and their answers; `void` says what had none."""

    moved: Fraction | float
    behind: tuple[object, ...]
    seen: int
    void: str


def _farthest(function: Callable[[Any], object], pairs: Iterable[tuple[Any, Any]], norm: Norm) -> _Farthest:
    far = _Farthest(Fraction(0), (), 0, "")
    for one, other in pairs:
        far = far._replace(seen=far.seen + 1)
        try:
            here, there = _call(function, one), _call(function, other)
            moved = _distance(here, there, norm)
        except Incomparable as reason:
            far = far._replace(void=str(reason))
            continue
        if not far.behind or moved > far.moved:
            far = far._replace(moved=moved, behind=(one, other, here, there))
    return far


def _as_float(distance: Fraction | float, norm: Norm) -> float:
    try:
        return math.sqrt(distance) if norm == "l2" else float(distance)
    except OverflowError:
        return math.inf


@dataclass(frozen=True)
class _Error:
    """An error is an outcome: two of one class are alike."""

    kind: str

    def __str__(self) -> str:
        return f"raises {self.kind}"


def _call(function: Callable[[Any], object], dataset: Any) -> object:
    """What a function answers, on a copy that it may spoil; warnings are not answers."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            return materialize(function(copy.copy(dataset)))
        except Incomparable:
            raise
        except Exception as error:  # noqa: BLE001 - any exception of a user's function is an outcome
            return _Error(type(error).__name__)


def _distance(here: object, there: object, norm: Norm) -> Fraction | float:
    if isinstance(here, _Error) != isinstance(there, _Error):
        return INFINITE
    return distance(here, there, norm)


def _pair_text(one: object, other: object, here: object, there: object) -> str:
    return f"{_cut(here)} on {_cut(one)}, {_cut(there)} on {_cut(other)}"


def _cut(thing: object) -> str:
    text = str(thing) if isinstance(thing, _Error) else repr(thing)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."


def _number(value: float) -> str:
    return "infinity" if math.isinf(value) else f"{value:.6g}"


def _facts_and_budget(catalog: Catalog | Session, query: Query, epsilon: Number) -> tuple[Catalog, Budget]:
    """The public facts, and the budget, which decides the noise of a query."""
    name = table_name(query)
    if isinstance(catalog, Session):
        return catalog.catalog, catalog.ledger.budget(name)
    promise = catalog.table(name).budget
    return catalog, Budget(epsilon=epsilon) if promise is None else Budget(**vars(promise))


def _answers(
    private: AggregatePlan, batch: Sequence[Pair], key: int, place: Path, opened: Opener
) -> list[tuple[object, object]]:
    """The integers that would get noise, for both datasets of each pair; an error stands for itself."""
    tables = {f"w{i}": data for i, data in enumerate(itertools.chain.from_iterable(batch))}
    with closing(opened(tables, key, place)) as engine:
        found = [_exact(private, engine, name) for name in tables]
    return list(zip(found[0::2], found[1::2], strict=True))


def _exact(private: AggregatePlan, engine: Engine, name: str) -> object:
    asked = private.pushdown
    prepared = engine.prepare(replace(asked, scan=replace(asked.scan, table=name)))
    try:
        return private.combine(engine.run(prepared))  # type: ignore[arg-type]  # its keys are public
    except Exception as error:  # noqa: BLE001 - no cell may make an engine fail, and if one does, that is the finding
        return _Error(type(error).__name__)


class _Comparison(NamedTuple):
    """One measure in one norm: whether it is farther than stated, by exact comparison, how far, and in words."""

    is_over: bool
    ratio: float
    told: str
    is_of_the_noise: bool = True

    def rank(self) -> tuple[bool, float, bool]:
        return self.is_over, self.ratio, self.is_of_the_noise


@dataclass
class _Worst:
    """The largest distances so far, and two pairs: the one behind the largest, and the one that noise hides worst."""

    private: AggregatePlan
    seen: int = 0
    worst: _Comparison = field(default_factory=lambda: _Comparison(False, -1.0, ""))
    behind: Pair | None = None
    pair: Pair | None = None
    score: float = -1.0
    ratios: dict[str, dict[str, float]] = field(default_factory=dict)

    def see(self, batch: Sequence[Pair], answers: Sequence[tuple[object, object]]) -> None:
        for pair, (one, other) in zip(batch, answers, strict=True):
            self.seen += 1
            compared = list(self._comparisons(one, other))
            worst = max(compared, key=_Comparison.rank, default=self.worst)
            if worst.rank() > self.worst.rank():
                self.worst, self.behind = worst, pair
            score = sum(each.ratio for each in compared if each.is_of_the_noise)
            if score > self.score:
                self.score, self.pair = score, pair

    def _comparisons(self, one: object, other: object) -> Iterator[_Comparison]:
        if isinstance(one, _Error) or isinstance(other, _Error):
            raised = one if isinstance(one, _Error) else other
            yield _Comparison(True, math.inf, f"the engine {raised} on one of the datasets")
            return
        for noised, here, there in zip(self.private.noisy_measures, one, other, strict=True):  # type: ignore[call-overload]
            name, most = names.description(noised.measure), sensitivity_bounds(noised)
            known = self.ratios.setdefault(name, {})
            for norm, far in apart(here, there).items():
                ratio = _part(far, most[norm], norm)
                known[norm] = max(known.get(norm, 0.0), ratio)
                told = f"{norm} of {name} is {far}, and {most[norm]} is stated"
                yield _Comparison(far > most[norm], ratio, told, norm in noised.mechanism.norms)

    def finding(self, table: Table, *, seconds: float) -> Finding:
        why = [told for told in map(_uncovered_noise, self.private.noisy_measures) if told]
        why += [f"{self.worst.told} ({_shape(self.behind)})"] if self.worst.is_over and self.behind else []
        kept = f"{self.seen:,} pairs; the farthest reach {max(self.worst.ratio, 0):.4g} of what is stated"
        return Finding(
            subject=f"plan over {self.private.dataset!r}",
            layer=LAYER,
            claim=f"{table.unit} moves the exact answers by at most the stated sensitivity",
            verdict=Verdict.BROKEN if why else Verdict.NOTHING_FOUND,
            evidence="; ".join(why) or kept,
            stated=1.0,
            found=max(self.worst.ratio, 0.0),
            samples=self.seen,
            seconds=seconds,
            detail={"ratios": self.ratios, "pair": _pair_detail(self.behind) if self.worst.is_over else None},
        )


def apart(one: Sequence[int], other: Sequence[int]) -> dict[str, int | float]:
    """How far two exact columns are apart in each norm; infinitely where they have different lengths."""
    if len(one) != len(other):
        return dict.fromkeys(NORMS, math.inf)
    moved = [abs(here - there) for here, there in zip(one, other, strict=True)]
    return {
        "l0": sum(1 for step in moved if step),
        "l1": sum(moved),
        "l2_squared": sum(step**2 for step in moved),
        "linf": max(moved, default=0),
    }


def sensitivity_bounds(noised: NoisyMeasure) -> dict[str, int]:
    """What analysis says of a measure, in each norm."""
    said: Sensitivity = noised.sensitivity
    return {norm: getattr(said, norm) for norm in NORMS}


def _uncovered_noise(noised: NoisyMeasure) -> str:
    """Why the noise does not cover the sensitivity, or nothing where it does."""
    if noised.mechanism.covers(noised.sensitivity):
        return ""
    norm, _ = noised.mechanism.calibration
    return f"the noise of {names.description(noised.measure)} covers less than its {norm} sensitivity"


def _part(far: float, most: int, norm: str) -> float:
    if not far:
        return 0.0
    if not most or math.isinf(far):
        return math.inf
    ratio = float(Fraction(int(far), most))
    return math.sqrt(ratio) if norm == "l2_squared" else ratio


def _shape(pair: Pair) -> str:
    return f"neighbours of {pair[0].num_rows} and {pair[1].num_rows} rows"


def moved_alone(pair: Pair) -> Pair:
    """The rows that only one of the two neighbours has: two datasets that are neighbours too, without anybody else."""
    one, other = pair
    here, there = _row_texts(one), _row_texts(other)
    return one.take(_only(here, there)), other.take(_only(there, here))


def _pair_detail(pair: Pair | None) -> dict[str, Any] | None:
    """The pair in words that JSON can say: its sizes, and the rows that only one of the two has."""
    if pair is None:
        return None
    sides = [[_cut(row) for row in side.slice(0, _SHOWN_ROWS).to_pylist()] for side in moved_alone(pair)]
    sizes = [data.num_rows for data in pair]
    return {"rows": sizes, "only in one": sides[0], "only in the other": sides[1]}


def _row_texts(data: pa.Table) -> list[str]:
    return [repr(row) for row in data.to_pylist()]


def _only(these: Sequence[str], those: Sequence[str]) -> pa.Array:
    """Where the rows stand of which there are more here than there."""
    left, found = Counter(those), list[int]()
    for number, row in enumerate(these):
        if left[row]:
            left[row] -= 1
        else:
            found.append(number)
    return pa.array(found, pa.int64())


def _batches(items: Iterable[T], size: int) -> Iterator[list[T]]:
    left = iter(items)
    while batch := list(itertools.islice(left, size)):
        yield batch
