"""One unit moves no score by more than the selection is calibrated for, and one way where it says so."""

from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest

import discreet as dp
from discreet.mechanisms.selection import Exponential, PermuteAndFlip, TopK
from discreet.planner.queries.selection import analyze_selection
from discreet.query.frame import relation_of
from former import former

T = dp.table("t")
ROWS = pa.table(
    {
        "id": list("aabbcdde"),
        "ward": list("ABBCBBBC"),
        "bid": [1, 2, 3, 4, 5, 6, 7, 8],
        "cost": [0.5 + i for i in range(8)],
    }
)
WORDS = {"name": "t", "privacy_unit": "id", "max_rows": 2}


@pytest.fixture
def exact():
    with dp.testing.protect(ROWS, budget=dp.Budget(epsilon=2), **WORDS) as opened:
        yield opened


def plan_of(session, candidates, score, **price):
    selection = score.selection(relation_of(T), candidates)
    return analyze_selection(selection, session.catalog, session.ledger.budget("t"), **(price or {"epsilon": 1}))


@pytest.mark.parametrize(
    ("neighbours", "score", "moved", "one_way"),
    [
        ("add_remove", dp.score(by="ward"), 2, True),
        ("replace_one", dp.score(by="ward"), 2, False),
        ("add_remove", dp.score(by="ward", max_rows_per_group=1), 1, True),
        ("add_remove", dp.score(by="ward", of=dp.count_units()), 1, True),
        ("replace_one", dp.score(by="ward", of=dp.count_units()), 1, False),
        ("add_remove", dp.score(by="ward", times=[1, 3, 2]), 6, True),
        ("add_remove", dp.score(by="ward", times=[1, -3, 2]), 6, False),
        ("add_remove", dp.score(by="ward", of=dp.sum("bid", bounds=(-1, 5))), 10, False),
        ("replace_one", dp.score(by="ward", of=dp.sum("bid", bounds=(-1, 5))), 12, False),
        ("add_remove", dp.score(by="bid", side="or above"), 2, True),
        ("replace_one", dp.score(by="bid", side="or above"), 2, False),
        ("add_remove", dp.score(by="bid", side="below", near=3), 2, False),
    ],
)
def test_one_unit_moves_a_score_by_what_its_caps_allow(neighbours, score, moved, one_way):
    candidates = ["A", "B", "C"] if score.by == "ward" else [1, 2, 3]
    with dp.testing.protect(ROWS, budget=dp.Budget(epsilon=2), neighbours=neighbours, **WORDS) as session:
        mechanism = plan_of(session, candidates, score).mechanism
    assert (mechanism.sensitivity, mechanism.monotone) == (moved, one_way)


SCORES = (
    (dp.score(by="ward"), ["A", "B", "C"]),
    (dp.score(by="ward", times=[2, 1, Fraction(1, 2)]), ["A", "B", "C"]),
    (dp.score(by="bid", side="or above", times=lambda price: price), [1, 4, 6]),
    (dp.score(by="bid", side="below", near=2.5), [1, 4, 6]),
    (dp.score(by="ward", of=dp.sum("bid", bounds=(-2, 5))), ["A", "B", "C"]),
)


@pytest.mark.guarantee("one unit moves no score by more than the selection is calibrated for")
@pytest.mark.parametrize("neighbours", ["add_remove", "replace_one"])
def test_scores_of_neighbours_differ_by_at_most_the_sensitivity_and_some_reach_it(neighbours):
    draws = dp.testing.generator(6)
    reached = [Fraction(0)] * len(SCORES)
    for _ in range(25):
        pair = [_scores(rows, neighbours) for rows in _neighbours(draws, neighbours)]
        for number, ((one, asked), (other, _)) in enumerate(zip(*pair, strict=True)):
            moves = [b - a for a, b in zip(one, other, strict=True)]
            far = Fraction(max(map(abs, moves))) / asked.mechanism.sensitivity
            assert far <= 1
            assert not asked.mechanism.monotone or min(moves) >= 0 or max(moves) <= 0
            reached[number] = max(reached[number], far)
    assert min(reached) >= Fraction(1, 2)


def _neighbours(draws, neighbours):
    def unit(name):
        count = int(draws.integers(1, 5))
        return [
            (name, "ABC"[i], int(b))
            for i, b in zip(draws.integers(0, 3, count), draws.integers(-3, 9, count), strict=True)
        ]

    others = [row for name in "pqr" for row in unit(name)]
    one = others + unit("x")
    other = others + (unit("x") if neighbours == "replace_one" else [])
    return [
        pa.table(dict(zip(("id", "ward", "bid"), map(list, zip(*rows, strict=True)), strict=True)))
        for rows in (one, other)
    ]


def _scores(rows, neighbours):
    words = WORDS | {"types": {"id": "text", "ward": "text", "bid": "integer"}, "neighbours": neighbours}
    with dp.testing.protect(rows, budget=dp.Budget(epsilon=2), **words) as session:
        session._pipeline.engines["t"].adopt("t", 12345)
        asked = [plan_of(session, candidates, score) for score, candidates in SCORES]
        pipeline = session._pipeline
        return [(each.scores(pipeline.exact("t", pipeline.prepare(each))), each) for each in asked]


def test_a_pure_promise_permutes_and_flips_and_one_with_delta_has_an_exponential_mechanism_of_the_same_cost():
    score = dp.score(by="ward")
    with dp.testing.protect(ROWS, budget=dp.Budget(epsilon=2), **WORDS) as session:
        assert isinstance(plan_of(session, ["A", "B"], score).mechanism, PermuteAndFlip)
    with dp.testing.protect(ROWS, budget=dp.Budget(epsilon=2, delta=1e-9), **WORDS) as session:
        asked = plan_of(session, ["A", "B"], score, epsilon=0.5)
        promise = session.ledger.budget("t")
        assert isinstance(asked.mechanism, Exponential)
        assert 0.999 * promise.rho(0.5) * 10**15 <= promise.cost(asked.event).renyi <= promise.rho(0.5) * 10**15
        assert asked.mechanism.epsilon**2 / 8 > promise.rho(0.5)
        assert plan_of(session, ["A", "B"], score, epsilon=2).mechanism.epsilon == 2


def test_a_mean_as_a_score_is_refused_with_the_ways_to_compare_groups():
    score = dp.score(by="ward", of=dp.mean("cost", bounds=(0, 10)))
    rows = pa.table({"id": [1], "ward": ["A"], "cost": [1.0]})
    facts = {"name": "t", "privacy_unit": "id", "max_rows": 1, "budget": dp.Budget(epsilon=1), "fixed_schema": True}
    with (
        dp.protect(rows, **facts, ledger=":memory:") as session,
        pytest.raises(dp.errors.UnsupportedError, match="a mean as a score") as refusal,
    ):
        session.explain(dp.table("t").choose(["A", "B"], score=score), epsilon=1)
    assert 'table.group_by("ward").agg(...)' in refusal.value.instead


def test_scores_on_one_side_are_those_of_all_rows_there(exact):
    bids = np.array(ROWS["bid"])
    for side, held in (("or above", np.greater_equal), ("below", np.less)):
        prices = [2, 5, 9, -1]
        asked = plan_of(exact, prices, dp.score(by="bid", side=side))
        exactly = exact._pipeline.exact("t", exact._pipeline.prepare(asked))
        assert asked.scores(exactly) == [int(held(bids, price).sum()) for price in prices]


def test_several_at_once_share_the_price():
    score = dp.score(by="ward")
    with dp.testing.protect(ROWS, budget=dp.Budget(epsilon=2, delta=1e-9), **WORDS) as session:
        asked = plan_of(session, ["A", "B", "C"], score, epsilon=0.5, top=2)
        assert isinstance(asked.mechanism, TopK)
        promise = session.ledger.budget("t")
        assert promise.cost(asked.event).renyi <= promise.rho(0.5) * 10**15
        assert former(asked) != former(plan_of(session, ["A", "B", "C"], score, epsilon=0.5))


def test_two_selections_are_the_same_question_only_where_everything_is(exact):
    def name(candidates, **words):
        return former(plan_of(exact, candidates, dp.score(**words)))

    first = name(["A", "B"], by="ward")
    assert first == name(["A", "B"], by="ward")
    others = [
        name(["B", "A"], by="ward"),
        name(["A", "B"], by="ward", times=[1, 2]),
        name(["A", "B"], by="ward", near=3),
        name(["A", "B"], by="ward", of=dp.count_units()),
        name([1, 2], by="bid"),
        name([1, 2], by="bid", side="or above"),
        name([1, 2], by="bid", side="below"),
        name([2, 1], by="bid", side="below"),
    ]
    assert len({first, *others}) == 1 + len(others)
