"""Keys that are not known: the lemma over all keys that ever occur, rare keys that stay hidden, engines that agree.

Worlds are stacked in one table, as in the lemma test; here the engine names the keys itself, so the answers of a world
are what it names there, and zero for every other key.
"""

import datetime as dt
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pyarrow as pa
import pytest
from corpus import DECLARED, KEY, Row, Whose, arranged, corpus, neighbours_of, stack
from scipy import stats

import discreet as dp
import opened
from discreet.accounting.filters import Budget
from discreet.catalog.catalog import Catalog, ColumnType
from discreet.catalog.privacy_unit import Neighbours
from discreet.engines.sql import aggregates, contribution_bounding
from discreet.plan.physical import KeyedTable, Keys, Pushdown, Read
from discreet.planner.queries.partition_selection import MANY, DiscoveryPlan, analyze_discovery
from discreet.planner.queries.tables import sensitivity
from discreet.query import frame
from opened import Opener, opener

PAIRS = 200
PAIRS_ELSEWHERE = {"postgres": 60, "spark": 15, "sqlite": 60}
HOW = ("add_remove", "replace_one")
T = frame.table("t")
BUDGET = Budget(epsilon=1, delta=Fraction(1, 10**6), reserved_delta=Fraction(1, 10**7))
MEASURES = {
    "n": frame.count(),
    "u": frame.count_units(),
    "s": frame.sum("y", bounds=(0, 10)),
    "m": frame.mean("x", bounds=(0, 5), grid=0.1),
}
FOUND = dp.discover(delta=1e-8)
KLR, K3 = {"max_rows": 5, "max_groups": 2, "max_rows_per_group": 3}, {"max_rows": 3}


@dataclass(frozen=True)
class Case:
    """A question with open keys under caps, and where the rows of a unit are to be put to fill them."""

    name: str
    whose: Whose
    facts: dict[str, Any]
    query: frame.Query
    place: Callable[[int, int], Row] = lambda group, _: {"g": f"key {group}"}

    def private(self, how: str) -> DiscoveryPlan:
        unit = list(self.whose.columns) or "dp.ROW"
        table = {"columns": DECLARED, "privacy_unit": unit, "neighbours": how, "missing_units": self.whose.missing}
        catalog = Catalog.model_validate({"tables": {"t": table | self.facts}})
        return analyze_discovery(self.query.plan, catalog, BUDGET, epsilon=1)


BY_ID, BY_TWO_OR_NONE, BY_ROW = Whose(("id",)), Whose(("id", "part"), "one_unit"), Whose(())
CASES = [
    Case("all caps", BY_ID, KLR, T.group_by("g", keys=FOUND).agg(**MEASURES)),
    Case("rows alone", BY_ID, K3, T.group_by("g", keys=FOUND).agg(**MEASURES)),
    Case("groups alone", BY_ID, {}, T.group_by("g", keys=FOUND, max_groups=2).agg(u=frame.count_units())),
    Case("two parts or none", BY_TWO_OR_NONE, KLR, T.group_by("g", keys=FOUND).agg(**MEASURES)),
    Case("each row", BY_ROW, {}, T.group_by("g", keys=FOUND).agg(**MEASURES)),
    Case(
        "two columns, one of them listed",
        BY_ID,
        KLR,
        T.where(T.y >= 0).group_by("h", "g", keys={"g": FOUND, "h": [0, 1]}).agg(**MEASURES),
        lambda group, _: {"g": f"key {group // 2}", "h": group % 2, "y": 1},
    ),
    Case(
        "days",
        BY_ID,
        KLR,
        T.group_by("d", keys=FOUND).agg(**MEASURES),
        lambda group, _: {"d": dt.date(2020, 1, 1 + group)},
    ),
]
EACH = [pytest.param(case, how, id=f"{case.name}-{how}") for case in CASES for how in HOW]


@contextmanager
def one_world_at_a_time() -> Iterator[None]:
    """Keep the world out of the keyed hash, and rows without an id in their own world."""
    owner, keyed = contribution_bounding.owner, contribution_bounding.keyed_hash

    def owner_in_a_world(scan: Any, dialect: Any) -> tuple[str, ...]:
        return (dialect.identifier("world"), *owner(replace(scan, unit=scan.unit[1:]), dialect))

    def keyed_without_world(columns: Any, key: int, scan: Any, dialect: Any) -> str:
        worldly = (dialect.identifier("world"), f"{aggregates.GROUP}0")
        return keyed({name: kind for name, kind in columns.items() if name not in worldly}, key, scan, dialect)

    with mock.patch.multiple(contribution_bounding, owner=owner_in_a_world, keyed_hash=keyed_without_world):
        yield


def stacked(question: Pushdown) -> Pushdown:
    """The same question of every world: the world stands before the unit and before the key."""
    world = Read("world", ColumnType.INTEGER)
    columns = tuple(sorted((*question.scan.columns, world), key=lambda read: read.column))
    unit = ("world", *question.scan.unit) if question.scan.unit else ()
    keys = Keys((world, *question.keys.columns), (), at_least=question.keys.at_least)
    return replace(question, scan=replace(question.scan, columns=columns, unit=unit), keys=keys)


def answered(question: Pushdown, table: pa.Table, place: Path, opened: Opener) -> KeyedTable:
    engine = opened({question.scan.table: table}, place, key=KEY)
    try:
        found = engine.run(engine.prepare(question))
    finally:
        engine.close()
    assert isinstance(found, KeyedTable)
    return found


def by_world(found: KeyedTable) -> dict[int, dict[tuple, tuple[int, ...]]]:
    worlds: dict[int, dict[tuple, tuple[int, ...]]] = defaultdict(dict)
    for key, row in zip(found.keys, zip(*found.columns, strict=True), strict=True):
        worlds[key[0]][key[1:]] = row
    return worlds


def moved(one: dict, other: dict, width: int) -> list[list[int]]:
    """How far two worlds are apart, for each measure, over every key that either names."""
    nothing = (0,) * width
    rows = [
        [abs(a - b) for a, b in zip(one.get(key, nothing), other.get(key, nothing), strict=True)]
        for key in one.keys() | other.keys()
    ]
    return [list(column) for column in zip(*rows, strict=True)] if rows else [[] for _ in range(width)]


def full_units(private: DiscoveryPlan, case: Case, how: str, rows: int) -> tuple:
    """Neighbours whose moved unit has rows in more keys than its caps allow; replaced, in other keys."""
    reach = 4
    first, second = (rows,) * reach + (0,) * reach, (0,) * reach + (rows,) * reach
    if private.unit.is_row:
        first, second = (1, 0), (0, 1)
    return arranged(case.place, (first, second if how == "replace_one" else (0,) * len(first)))


def _hold(case: Case, how: str, pairs: int, place: Path, opened: Opener) -> None:
    private = case.private(how)
    question = private.pushdown
    best = [full_units(private, case, how, rows) for rows in (1, 4)]
    table = pa.concat_tables([corpus(case.whose, how, pairs, 7), stack(best, 2 * pairs)])
    with one_world_at_a_time():
        worlds = by_world(answered(stacked(question), table, place, opened))
    width = len(question.measures)
    rules = [sensitivity(one, private.caps, MANY, Neighbours(how)) for one in question.measures]
    most = [[0, 0, 0, 0] for _ in rules]
    for pair in range(pairs + len(best)):
        for i, column in enumerate(moved(worlds[2 * pair], worlds[2 * pair + 1], width)):
            norms = (sum(map(bool, column)), sum(column), sum(x * x for x in column), max(column, default=0))
            rule = rules[i]
            assert all(map(int.__le__, norms, (rule.l0, rule.l1, rule.l2_squared, rule.linf))), (case.name, how, i)
            most[i] = list(map(max, most[i], norms))
    units = question.measures.index(aggregates.CountUnits())
    rule = rules[units]
    assert most[units] == [rule.l0, rule.l1, rule.l2_squared, 1], (case.name, how)
    assert private.rule.groups * (2 if how == "replace_one" else 1) == rule.l0


@pytest.fixture
def duckdb(request: pytest.FixtureRequest) -> Opener:
    return opener("duckdb", request)


@pytest.mark.guarantee("planner.sensitivity.contribution_bounds")
@pytest.mark.guarantee("planner.sensitivity.sensitivity")
@pytest.mark.pitfall("A15")
@pytest.mark.parametrize(("case", "how"), EACH)
def test_neighbours_differ_by_at_most_the_sensitivity_over_all_keys_and_units_reach_it(case, how, tmp_path, duckdb):
    _hold(case, how, PAIRS, tmp_path, duckdb)


@pytest.mark.full
@pytest.mark.parametrize("engine", PAIRS_ELSEWHERE)
@pytest.mark.parametrize(("case", "how"), EACH)
def test_neighbours_differ_by_at_most_the_sensitivity_over_all_keys_on_every_engine(
    case, how, engine, tmp_path, request
):
    _hold(case, how, PAIRS_ELSEWHERE[engine], tmp_path, opener(engine, request))


@pytest.mark.parametrize(("case", "how"), EACH[::3])
def test_stacked_worlds_answer_as_tables_of_their_own(case, how, tmp_path, duckdb):
    """What was found on stacks holds for datasets: the same keys and integers from a table for each."""
    question = case.private(how).pushdown
    pairs = neighbours_of(case.whose, how, 5, 11)
    with one_world_at_a_time():
        together = by_world(answered(stacked(question), stack(pairs), tmp_path, duckdb))
    for number, world in enumerate(world for pair in pairs for world in pair):
        table = stack([(world, [])]).drop_columns(["world"])
        alone = answered(question, table, tmp_path, duckdb)
        assert dict(zip(alone.keys, zip(*alone.columns, strict=True), strict=True)) == together[number]


@pytest.mark.pitfall("A15")
def test_keys_that_are_numbered_by_what_is_there_would_be_caught(tmp_path, duckdb):
    """A hash of a key's rank among all keys of the table depends on other units: removing one changes what is kept."""
    within = contribution_bounding.within_groups

    def by_rank(scan: Any, caps: Any, rows: str, key: int, dialect: Any, types: Any) -> str:
        names = ", ".join(types)
        ranked = f"SELECT *, dense_rank() OVER (ORDER BY {names}) AS discreet_rank FROM ({rows}) AS named"
        return within(scan, caps, ranked, key, dialect, types={"discreet_rank": ColumnType.INTEGER})

    case = replace(CASES[0], facts={"max_groups": 1, "max_rows_per_group": 1})
    with mock.patch.object(contribution_bounding, "within_groups", by_rank), pytest.raises(AssertionError):
        _hold(case, "add_remove", PAIRS, tmp_path, duckdb)


MIXED = pa.table(
    {
        "id": pa.array([1, 1, 1, 2, 2, 3, 3, 4, 5, 6, 6, 6, 7, 8, 9, 9], pa.int64()),
        "i": pa.array([5, -3, 5, 5, None, 2**62, 5, -3, None, 5, -3, 7, 5, 5, -3, 5], pa.int64()),
        "t": pa.array(["b", "a ", "Ä", "b", None, "", "b", "a", "b", "b", "a ", "x|y", None, "b", "''", "😀"]),
        "b": pa.array([True, False, None, True] * 4),
        "d": pa.array([dt.date(2020, 2, 29), dt.date(1, 1, 1), None, dt.date(9999, 12, 31)] * 4, pa.date32()),
        "m": pa.array(
            [dt.datetime(2020, 2, 29, 1, 2, 3, 456_789), dt.datetime(1999, 1, 1), None, dt.datetime(1999, 1, 1)] * 4,  # noqa: DTZ001
            pa.timestamp("us"),
        ),
    }
)
TYPES = {"id": "integer", "i": "integer", "t": "text", "b": "boolean", "d": "date", "m": "timestamp"}
GROUPINGS = [("i",), ("t",), ("b",), ("d",), ("m",), ("t", "b"), ("d", "i")]


def _mixed(columns: tuple[str, ...], at_least: int = 1, max_groups: int = 1) -> Pushdown:
    table = {"columns": {name: {"type": kind} for name, kind in TYPES.items()}, "privacy_unit": "id"}
    table |= {"max_groups": max_groups, "max_rows_per_group": 1, "sampling": "portable"}
    catalog = Catalog.model_validate({"tables": {"t": table}})
    found = dp.discover(delta=1e-8, at_least=at_least)
    query = frame.table("t").group_by(*columns, keys=found).agg(n=frame.count(), s=frame.sum("i", bounds=(-9, 9)))
    return analyze_discovery(query.plan, catalog, BUDGET, epsilon=1).pushdown


def test_keys_are_equal_on_every_engine_and_of_their_declared_types(request, tmp_path):
    """Missing keys, spaces, quotes, letters beyond ASCII, days and times at the ends of the calendar, and caps."""
    answers: dict[str, list[KeyedTable]] = {}
    for kind in opened.ENGINES:
        engine = opener(kind, request)({"t": MIXED}, tmp_path)
        try:
            answers[kind] = [engine.run(engine.prepare(_mixed(columns))) for columns in GROUPINGS]
            answers[kind].append(engine.run(engine.prepare(_mixed(("t",), at_least=2, max_groups=3))))
        finally:
            engine.close()
    for columns, found in zip(GROUPINGS, answers["duckdb"], strict=False):
        python = {"i": int, "t": str, "b": bool, "d": dt.date, "m": dt.datetime}
        for key in found.keys:
            assert [type(v) for v in key if v is not None] == [
                python[n] for n, v in zip(columns, key, strict=True) if v is not None
            ]
        assert sum(found.columns[_mixed(columns).measures.index(aggregates.CountUnits())]) == 9
        assert found.keys == tuple(
            sorted(found.keys, key=lambda key: [(v is None, "" if v is None else v) for v in key])
        )
    assert {key for (key,) in answers["duckdb"][-1].keys} <= {"b", "a ", None}
    for kind in opened.ENGINES:
        assert answers[kind] == answers["duckdb"], kind


@pytest.mark.pitfall("A11")
def test_keys_of_too_few_units_do_not_leave_the_engine(tmp_path, duckdb):
    everything = answered(_mixed(("t",), max_groups=3), MIXED, tmp_path, duckdb)
    some = answered(_mixed(("t",), at_least=3, max_groups=3), MIXED, tmp_path, duckdb)
    units = _mixed(("t",)).measures.index(aggregates.CountUnits())
    assert some == everything.at([i for i, count in enumerate(everything.columns[units]) if count >= 3])
    assert 0 < len(some.keys) < len(everything.keys)


def _singletons(number: int, **words: Any) -> dp.Session:
    rare = pa.table({"id": np.arange(number), "drug": [f"drug {i}" for i in range(number)]})
    delta = Fraction(49, 10_000)
    budget = dp.Budget(epsilon=5, delta=2 * delta, reserved_delta=delta)
    facts = {"privacy_unit": "id", "max_rows": 1, "population": 100, "budget": budget, "ledger": ":memory:"}
    return dp.protect(rare, name="visits", **(facts | words))


@pytest.mark.pitfall("A11")
@pytest.mark.pitfall("A12")
@pytest.mark.pitfall("C4")
@pytest.mark.statistical(false_alarm=1e-6)
@pytest.mark.parametrize(("rule", "mechanism"), [("optimal", "laplace"), ("laplace", "laplace"), ("gaussian", None)])
@pytest.mark.parametrize("neighbours", HOW)
def test_a_hundred_thousand_singleton_keys_stay_within_the_claimed_delta(rule, mechanism, neighbours, samples):
    """Each is somebody's own: one shows with at most delta, so at most so many of them do. False alarm: 1e-6."""
    found, many = dp.discover(delta=Fraction(49, 10_000), rule=rule), samples(100_000)
    query = dp.table("visits").group_by("drug", keys=found).agg(patients=dp.count_units())
    with _singletons(many, neighbours=neighbours) as session:
        release = session.release(query, epsilon=2, mechanism=mechanism)
    assert len(release) <= stats.binom.isf(1e-6, many, 0.0049)
    assert [*release.keys[0].values] == sorted(release.keys[0].values)


@pytest.mark.pitfall("A11")
@pytest.mark.pitfall("C4")
def test_the_top_keys_of_singletons_name_nobody():
    """Any one of the 10,000 candidates is named with at most delta. False alarm: 1e-13."""
    found = dp.discover(delta=1e-17)
    question = dp.table("visits").choose(found, score=dp.score(by="drug", of=dp.count_units()), top=3)
    with _singletons(20_000) as session:
        chosen = session.release(question, epsilon=2)
    assert chosen.values == ()
    assert str(chosen).startswith("none, of keys that were not known")
