"""Hierarchies through a session: consistent whole numbers, what is stored, what is refused, and how it reads."""

import math
from collections import Counter
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest

import discreet as dp
from discreet.accounting.costs import cost
from discreet.accounting.filters import Budget
from discreet.catalog.catalog import Catalog
from discreet.errors import KeysError, ParameterError, UnboundedError, UnsupportedError
from discreet.plan import logical
from discreet.planner.queries import hierarchy
from discreet.planner.queries.hierarchy import HierarchyPlan, build_hierarchy
from discreet.planner.registry import plan_query
from discreet.release.release import Release

T = dp.table("t")
COLUMNS = ("state", "county", "tract", "zip")
CELLS = [
    (f"S{s}", f"C{c}", f"T{t}", f"Z{(s * 7 + c * 3 + t) % 5}") for s in range(3) for c in range(3) for t in range(4)
]
CELLS += [(state, county, tract, "Z9") for state, county, tract, _ in CELLS[::3]]
AREAS = pa.table(dict(zip(COLUMNS, map(list, zip(*CELLS, strict=True)), strict=True)))
NESTED = T.hierarchy("state", "county", "tract", keys=AREAS)
CROSSED = T.hierarchy("state", "county", "tract", keys=AREAS, crossing=["zip"])
BOTH = pytest.mark.parametrize("query", [NESTED, CROSSED], ids=["nested", "crossed"])
PAIR = Budget(epsilon=2, delta=Fraction(1, 10**9))


def catalog(**facts):
    columns = {"id": {"type": "text"}} | {name: {"type": "text"} for name in COLUMNS}
    table = {"columns": columns, "privacy_unit": "id", "max_rows": 2} | facts
    return Catalog.model_validate({"tables": {"t": table}})


def plan_of(query, budget=None, **facts):
    return plan_query(query.plan, catalog(**facts), budget or Budget(epsilon=2), epsilon=1)


def people(number=3000):
    random = np.random.default_rng(0)
    lives = (random.beta(1, 3, number) * len(CELLS)).astype(int)
    columns = {name: [CELLS[i][place] for i in lives] for place, name in enumerate(COLUMNS)}
    return pa.table({"id": [f"p{i // 2}" for i in range(number)]} | columns)


def opened(make=dp.protect, budget=None, **words):
    facts = {"name": "t", "privacy_unit": "id", "max_rows": 2, "ledger": ":memory:"} | words
    return make(people(), budget=budget or dp.Budget(epsilon=10), **facts)


def by_level(release):
    levels = {}
    for row in release:
        levels.setdefault(row["level"], {})[row["area"]] = row["n"]
    return levels


@BOTH
@pytest.mark.parametrize("budget", [None, dp.Budget(epsilon=10, delta=1e-9)], ids=["pure", "delta"])
@pytest.mark.parametrize("epsilon", [0.02, 1])
def test_every_area_is_whole_not_negative_and_the_sum_of_what_lies_in_it(query, budget, epsilon):
    with opened(budget=budget) as session:
        levels = by_level(session.release(query, epsilon=epsilon))
    assert all(isinstance(n, int) and n >= 0 for areas in levels.values() for n in areas.values())
    finest = levels.get("tract x zip", levels["tract"])
    for level, depth in {"all": 0, "state": 1, "county": 2, "tract": 3}.items():
        sums = Counter()
        for area, n in finest.items():
            sums[" / ".join(area.split(" / ")[:depth]) or "all"] += n
        assert levels[level] == sums
    if "zip" in levels:
        sums = Counter()
        for area, n in finest.items():
            sums[area.split(" / ")[-1]] += n
        assert levels["zip"] == sums


@BOTH
def test_a_testing_session_answers_every_area_exactly(query):
    with opened(dp.testing.protect) as session:
        levels = by_level(session.release(query, epsilon=1))
    table = people()
    assert levels["all"]["all"] == 3000
    for level in ("state", "zip") if "zip" in levels else ("state",):
        counted = Counter(table[level].to_pylist())
        assert levels[level] == {area: counted[area] for area in levels[level]}


@pytest.mark.parametrize("how", ["add_remove", "replace_one"])
@pytest.mark.parametrize("budget", [None, PAIR], ids=["pure", "delta"])
@BOTH
def test_the_price_is_what_was_asked_for_and_never_more(query, budget, how):
    private = plan_of(query, budget, neighbours=how)
    spent = private.spending
    charged = cost(private.event, spent.orders[0] if spent.orders else None)
    price = charged.epsilon if spent.is_pure else charged.renyi
    assert 0.999 * spent.amount * spent.units <= price <= spent.amount * spent.units


def test_the_engine_counts_cells_as_parts_of_one_group():
    private = plan_of(CROSSED)
    assert isinstance(private, HierarchyPlan)
    assert private.pushdown.keys.inner == 4
    assert set(private.pushdown.keys.groups) == {0}
    assert [len(part.areas) for part in private.hierarchy.parts] == [48, 36, 9, 3, 1, 6]


def test_a_county_of_two_states_is_two_counties():
    levels = by_level_of_keys(plan_of(NESTED))
    assert levels["county"][:2] == ["S0 / C0", "S0 / C1"]
    assert len(levels["county"]) == 9


def by_level_of_keys(private):
    level, area = private.keys(None)
    found = {}
    for one, other in zip(level.values, area.values, strict=True):
        found.setdefault(one, []).append(other)
    return found


@BOTH
@pytest.mark.parametrize("budget", [None, PAIR], ids=["pure", "delta"])
def test_every_level_errs_at_most_m_times_as_much_as_alone_and_by_consistency_less(query, budget):
    """Before rounding, in closed form: m times for Laplace noise, sqrt(m) times for Gaussian."""
    private = plan_of(query, budget)
    power = 1 if budget else 2
    alone = [each.l2_squared if budget else each.l1**2 for each in private.sensitivities]
    amount = float(private.spending.amount)
    whole = [size / (2 * amount) if budget else size / amount**2 for size in alone]
    levels = len(private.noises)
    for variances, single in zip(private.hierarchy.variances(private.squares), whole, strict=True):
        assert variances.mean() <= 0.95 * levels**power * single


@pytest.mark.statistical(false_alarm=1e-5)
@BOTH
@pytest.mark.parametrize("budget", [None, PAIR], ids=["pure", "delta"])
def test_noisy_areas_are_within_their_margins_as_often_as_they_say(query, budget, samples):
    """False alarm: at most 1e-5 for all areas together (Hoeffding); margins are proved for 95%."""
    private = plan_of(query, budget)
    counts = [3 * (i % 7) for i in range(len(private.pushdown.keys.rows))]
    exact = private.outputs(private.combine([counts]), Fraction(19, 20))[0].values
    draws, inside = samples(150), np.zeros(len(exact))
    for _ in range(draws):
        (output,) = private.outputs(private.randomize([counts]), Fraction(19, 20))
        inside += np.abs(np.array(output.values) - exact) <= output.margins
    assert (inside / draws >= 0.95 - math.sqrt(math.log(len(exact) / 1e-5) / (2 * draws))).all()


@BOTH
@pytest.mark.parametrize("budget", [None, PAIR], ids=["pure", "delta"])
def test_margins_of_very_many_areas_are_hardly_wider_where_nothing_crosses_the_chain(query, budget, monkeypatch):
    few, many = plan_of(query, budget), plan_of(query, budget)
    exact = np.concatenate(few.margins(Fraction(19, 20)))
    monkeypatch.setattr(hierarchy, "_DENSE_CHAIN", 0)
    monkeypatch.setattr(hierarchy, "_DENSE_CROSSING", 0)
    bound = np.concatenate(many.margins(Fraction(19, 20)))
    assert (exact <= 1.001 * bound).all()
    assert (bound <= (1.1 if query is NESTED else 2.2) * exact).all()


@BOTH
def test_a_stored_release_is_read_back_as_it_was_and_keeps_the_raw_integers(query):
    with opened() as session:
        first = session.release(query, epsilon=1)
        again = session.release(query, epsilon=1)
        assert again.repeated
        assert list(again) == list(first)
        assert Release.from_json(first.to_json()) == first
        assert first.measured[0].places == f"areas of {'tract x zip' if 'zip' in str(query.plan) else 'tract'!r}"
        assert [words.split(": ")[1].split()[0] for words in first.post_processing] == ["made", "clamped", "rounded"]


def test_explain_tells_each_level():
    with opened() as session:
        told = str(session.explain(NESTED, epsilon=1))
        for level in ("all", "state", "county", "tract"):
            assert f"n by {level}" in told
        assert "before clamping and rounding" in told


@pytest.mark.parametrize("name", ["level", "area"])
def test_names_of_the_columns_of_the_release_are_taken(name):
    with pytest.raises(ParameterError, match=name):
        plan_of(T.hierarchy("state", keys=AREAS, name=name))


def test_the_name_of_the_top_level_is_taken():
    with pytest.raises(KeysError, match="'all'"):
        plan_of(T.hierarchy("all", keys=pa.table({"all": ["x"]})))


def test_a_hierarchy_is_refused_where_nothing_limits_the_rows_of_a_unit():
    with pytest.raises(UnboundedError, match="hierarchy 'n'"):
        plan_of(NESTED, max_rows=None)
    capped = T.hierarchy("state", keys=AREAS, max_rows_per_group=3)
    assert [each.l1 for each in plan_of(capped, max_rows=None).sensitivities] == [3, 3]


def test_a_hierarchy_is_no_question_for_noise_that_fits():
    with opened() as session, pytest.raises(UnsupportedError):
        session.release(NESTED, epsilon=1, method=dp.SmoothSensitivity())


def test_areas_are_named_by_their_own_values_whatever_was_asked_before():
    """1 and True are one key of a dictionary, and two names."""
    measure = logical.HierarchyCounts(("k",), ())
    numbers, flags = (build_hierarchy(measure, ((low,), (high,))) for low, high in ((0, 1), (False, True)))
    assert numbers.chain[0].areas == ("0", "1")
    assert flags.chain[0].areas == ("False", "True")
