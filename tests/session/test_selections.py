"""A selection is one charge for any number of candidates; the engine scores all of them in one query."""

import datetime as dt

import pyarrow as pa
import pytest

import discreet as dp
from discreet.errors import KeysError, ParameterError, Refusal, UnboundedError, UnsupportedError

T = dp.table("t")
DAYS = [dt.date(2026, 11, day) for day in (16, 17, 18)]
ROWS = pa.table(
    {
        "id": ["a", "a", "b", "b", "c", "d", "d", "e"],
        "ward": ["A", "B", "B", "C", "B", "B", "B", "C"],
        "bid": [1, 2, 3, 4, 5, 6, 7, 8],
        "day": [DAYS[0], DAYS[1], DAYS[1], DAYS[2], DAYS[1], DAYS[1], DAYS[0], DAYS[2]],
        "cost": [0.5, 1.5, 2.5, 3.5, 4.5, 5.5, 6.5, 7.5],
    }
)
WORDS = {"name": "t", "privacy_unit": "id", "max_rows": 2, "fixed_schema": True}


@pytest.fixture
def exact():
    with dp.testing.protect(ROWS, budget=dp.Budget(epsilon=2), **WORDS) as opened:
        yield opened


@pytest.fixture
def session():
    with dp.protect(ROWS, budget=dp.Budget(epsilon=2), **WORDS) as opened:
        yield opened


@pytest.mark.parametrize(
    ("candidates", "score", "best"),
    [
        (["A", "B", "C"], dp.score(T, by="ward"), "B"),
        (["C", "A"], dp.score(T, by="ward"), "C"),
        (["A", "B", "C"], dp.score(T, by="ward", of=dp.sum("bid", bounds=(0, 10))), "B"),
        (["A", "B", "C"], dp.score(T.where(T.bid > 7), by="ward"), "C"),
        (DAYS, dp.score(T, by="day", of=dp.count_units()), DAYS[1]),
        ([1, 4, 6, 8], dp.score(T, by="bid", side="or above", times=lambda price: price), 4),
        ([1, 4, 6, 8], dp.score(T, by="bid", side="or above", times=[1, 4, 6, 8]), 4),
        ([8, 1, 6, 4], dp.score(T, by="bid", side="or above", times=lambda price: price), 4),
        ([0.5, 3.5, 5, 100], dp.score(T, by="cost", side="below", near=4.6), 5),
        (["A", "B", "C"], dp.score(T, by="ward", times=[10, 1, 1]), "A"),
        (["A", "B", "C"], dp.score(T, by="ward", times=[-1, -2, -1]), "A"),
    ],
    ids=["category", "order", "sum", "where", "date", "price", "listed", "any order", "bound", "factors", "least"],
)
def test_without_noise_the_best_candidate_is_chosen(exact, candidates, score, best):
    chosen = exact.select(candidates, score, epsilon=0.1)
    assert chosen.value == best
    assert not chosen.private
    assert "NOT PRIVATE" in str(chosen)


def test_the_best_so_many_come_in_order(exact):
    chosen = exact.release(T.choose(["A", "B", "C"], score=dp.score(by="ward"), top=2), epsilon=0.1)
    assert chosen.values == ("B", "C")


def test_a_selection_is_charged_once_and_a_repeat_is_free(session):
    score = dp.score(T, by="ward")
    first = session.select(["A", "B", "C"], score, epsilon=0.5)
    again = session.select(["A", "B", "C"], score, epsilon=0.5)
    assert (first.value, first.repeated, again.repeated) == (again.value, False, True)
    assert float(session.remaining()) == 1.5
    assert first.receipt == again.receipt
    assert "epsilon 0.5, for one id" in first.guarantee
    session.select(["A", "B", "C"], score, epsilon=0.5, fresh=True)
    assert float(session.remaining()) == 1


def test_a_far_better_candidate_is_all_but_sure(session):
    """The other is 40 noise scales below: it is chosen in fewer than 1e-5 of runs."""
    score = dp.score(T, by="ward", times=[1, 1])
    chosen = session.select(["B", "nobody"], score, epsilon=2, fresh=True)
    assert chosen.within > 0
    with dp.protect(
        pa.table({"id": [f"{i}" for i in range(100)], "ward": ["B"] * 100}),
        budget=dp.Budget(epsilon=2),
        **WORDS | {"name": "u", "max_rows": 1},
    ) as other:
        assert other.release(dp.table("u").choose(["nobody", "B"], score=dp.score(by="ward")), epsilon=1).value == "B"


@pytest.mark.parametrize(
    ("candidates", "score", "error"),
    [
        ([], dp.score(T, by="ward"), KeysError),
        ("ABC", dp.score(T, by="ward"), ParameterError),
        (["A", "A"], dp.score(T, by="ward"), KeysError),
        ([1, "B"], dp.score(T, by="bid", side="or above"), ParameterError),
        ([1, 1], dp.score(T, by="bid", side="or above"), ParameterError),
        (range(10_001), dp.score(T, by="bid", side="or above"), KeysError),
        (["A", "B"], dp.score(T, by="ward", times=[1]), ParameterError),
        (["A", "B"], dp.score(T, by="ward", times=[0, 0]), ParameterError),
        (["A", "B"], dp.score(T, by="ward", of=dp.mean("bid", bounds=(0, 5))), UnsupportedError),
        ([1, 2], dp.score(T, by="bid", side="below", of=dp.count_units()), UnsupportedError),
        (["A", "B"], dp.score(T, by="town"), Refusal),
        (["A", "B"], T.agg(n=dp.count()), ParameterError),
    ],
)
def test_what_cannot_be_selected_is_refused_before_anything_is_charged(session, candidates, score, error):
    with pytest.raises(error):
        session.select(candidates, score, epsilon=0.1)
    assert float(session.remaining()) == 2


def test_a_score_of_rows_needs_a_cap_and_one_of_units_does_not():
    words = {"name": "t", "privacy_unit": "id", "budget": dp.Budget(epsilon=1)}
    with dp.protect(ROWS, **words) as session:
        with pytest.raises(UnboundedError):
            session.release(T.choose(["A", "B"], score=dp.score(by="ward")), epsilon=0.1)
        session.release(T.choose(["A", "B"], score=dp.score(by="ward", of=dp.count_units())), epsilon=0.1)


def test_how_good_a_selection_would_be_is_free_and_what_it_says_later(session):
    score = dp.score(T, by="ward")
    before = session.within(["A", "B", "C"], score, epsilon=0.5)
    assert float(session.remaining()) == 2
    assert before == float(session.select(["A", "B", "C"], score, epsilon=0.5).within)
    assert before > session.within(["A", "B", "C"], score, epsilon=1)
