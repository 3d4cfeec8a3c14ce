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
        (["A", "B", "C"], dp.score(by="ward"), "B"),
        (["C", "A"], dp.score(by="ward"), "C"),
        (["A", "B", "C"], dp.score(by="ward", of=dp.sum("bid", bounds=(0, 10))), "B"),
        (DAYS, dp.score(by="day", of=dp.count_units()), DAYS[1]),
        ([1, 4, 6, 8], dp.score(by="bid", side="or above", times=lambda price: price), 4),
        ([1, 4, 6, 8], dp.score(by="bid", side="or above", times=[1, 4, 6, 8]), 4),
        ([8, 1, 6, 4], dp.score(by="bid", side="or above", times=lambda price: price), 4),
        ([0.5, 3.5, 5, 100], dp.score(by="cost", side="below", near=4.6), 5),
        (["A", "B", "C"], dp.score(by="ward", times=[10, 1, 1]), "A"),
        (["A", "B", "C"], dp.score(by="ward", times=[-1, -2, -1]), "A"),
    ],
    ids=["category", "order", "sum", "date", "price", "listed", "any order", "bound", "factors", "least"],
)
def test_without_noise_the_best_candidate_is_chosen(exact, candidates, score, best):
    chosen = exact.release(T.choose(candidates, score=score), epsilon=0.1)
    assert chosen.value == best
    assert not chosen.private
    assert "NOT PRIVATE" in str(chosen)


def test_only_rows_of_the_condition_count(exact):
    chosen = exact.release(T.where(T.bid > 7).choose(["A", "B", "C"], score=dp.score(by="ward")), epsilon=0.1)
    assert chosen.value == "C"


def test_the_best_so_many_come_in_order(exact):
    chosen = exact.release(T.choose(["A", "B", "C"], score=dp.score(by="ward"), top=2), epsilon=0.1)
    assert chosen.values == ("B", "C")


def test_a_selection_is_charged_once_and_a_repeat_is_free(session):
    choice = T.choose(["A", "B", "C"], score=dp.score(by="ward"))
    first = session.release(choice, epsilon=0.5)
    again = session.release(choice, epsilon=0.5)
    assert (first.value, first.repeated, again.repeated) == (again.value, False, True)
    assert float(session.remaining()) == 1.5
    assert first.receipt == again.receipt
    assert "epsilon 0.5, for one id" in first.guarantee
    session.release(choice, epsilon=0.5, fresh=True)
    assert float(session.remaining()) == 1


def test_a_far_better_candidate_is_all_but_sure(session):
    """The other is 40 noise scales below: it is chosen in fewer than 1e-5 of runs."""
    score = dp.score(by="ward", times=[1, 1])
    chosen = session.release(T.choose(["B", "nobody"], score=score), epsilon=2, fresh=True)
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
        ([], dp.score(by="ward"), KeysError),
        ("ABC", dp.score(by="ward"), ParameterError),
        (["A", "A"], dp.score(by="ward"), KeysError),
        ([1, "B"], dp.score(by="bid", side="or above"), ParameterError),
        ([1, 1], dp.score(by="bid", side="or above"), ParameterError),
        (range(10_001), dp.score(by="bid", side="or above"), KeysError),
        (["A", "B"], dp.score(by="ward", times=[1]), ParameterError),
        (["A", "B"], dp.score(by="ward", times=[0, 0]), ParameterError),
        (["A", "B"], dp.score(by="ward", of=dp.mean("bid", bounds=(0, 5))), UnsupportedError),
        ([1, 2], dp.score(by="bid", side="below", of=dp.count_units()), UnsupportedError),
        (["A", "B"], dp.score(by="town"), Refusal),
        (["A", "B"], T.agg(n=dp.count()), ParameterError),
    ],
)
def test_what_cannot_be_selected_is_refused_before_anything_is_charged(session, candidates, score, error):
    with pytest.raises(error):
        session.release(T.choose(candidates, score=score), epsilon=0.1)
    assert float(session.remaining()) == 2


def test_a_score_of_rows_needs_a_cap_and_one_of_units_does_not():
    words = {"name": "t", "privacy_unit": "id", "budget": dp.Budget(epsilon=1)}
    with dp.protect(ROWS, **words) as session:
        with pytest.raises(UnboundedError):
            session.release(T.choose(["A", "B"], score=dp.score(by="ward")), epsilon=0.1)
        session.release(T.choose(["A", "B"], score=dp.score(by="ward", of=dp.count_units())), epsilon=0.1)


def test_how_good_a_selection_would_be_is_free_and_what_it_says_later(session):
    choice = T.choose(["A", "B", "C"], score=dp.score(by="ward"))
    explained = session.explain(choice, epsilon=0.5)
    (before,) = explained.outputs
    assert float(session.remaining()) == 2
    assert (before.name, before.note) == ("choice", "below the best score")
    assert before.margin == session.release(choice, epsilon=0.5).within
    assert before.margin > session.explain(choice, epsilon=1).outputs[0].margin
    assert before.margin < session.explain(choice, epsilon=0.5, confidence=0.99).outputs[0].margin


def test_what_is_explained_is_what_is_charged(session):
    choice = T.choose(["A", "B", "C"], score=dp.score(by="ward"), top=2)
    explained = session.explain(choice, epsilon=0.5)
    assert explained.fits
    assert "epsilon 0.5" in explained.cost
    assert explained.columns_read == ("id", "ward")
    session.release(choice, epsilon=0.5)
    assert vars(session.ledger.spent("t")) == explained.units
    assert not session.explain(choice, epsilon=1.6).fits


def test_the_least_epsilon_for_a_margin_meets_it(session):
    choice = T.choose(["A", "B", "C"], score=dp.score(by="ward"))
    epsilon = session.epsilon_for(choice, margin=20)
    assert session.explain(choice, epsilon=epsilon).outputs[0].margin <= 20
    assert session.explain(choice, epsilon=0.99 * epsilon).outputs[0].margin > 20
    assert epsilon == session.epsilon_for(choice, margin=20, output="choice")
    with pytest.raises(ParameterError, match="no such output"):
        session.epsilon_for(choice, margin=20, output="ward")
    assert float(session.remaining()) == 2


def test_keys_that_are_found_are_explained_and_restored():
    budget = dp.Budget(epsilon=4, delta=2e-8, reserved_delta=1e-8)
    rows = pa.table({"id": [f"{i}" for i in range(400)], "day": [DAYS[i % 2] for i in range(400)]})
    with dp.protect(rows, budget=budget, **WORDS | {"max_rows": 1}) as session:
        choice = T.choose(dp.discover(delta=1e-8), score=dp.score(by="day", of=dp.count_units()), top=2)
        margin = session.explain(choice, epsilon=4).outputs[0].margin
        first, again = (session.release(choice, epsilon=4) for _ in range(2))
    assert margin == first.within
    assert (again.repeated, again) == (True, first)
    assert set(first.values) == set(DAYS[:2])  # each has 200 people, where noise has a scale of about one
    assert first.candidates is None
