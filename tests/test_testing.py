"""The testing session: the same calls, exact answers, a stamp, and no way to a real ledger."""

import inspect

import pyarrow as pa
import pytest

import discreet as dp
from discreet.errors import BudgetError, KeysError, Refusal

ROWS = pa.table({"person": ["a", "a", "b"], "ward": ["A", "B", "A"], "cost": [5, 7, 90]})
VISITS = dp.table("visits")
WORDS = {"name": "visits", "privacy_unit": "person", "max_rows": 2, "budget": dp.Budget(epsilon=1)}


def test_it_takes_the_same_arguments():
    names = [name for name, _ in inspect.getmembers(dp.Session, callable) if not name.startswith("_")]
    assert {"release", "explain", "epsilon_for", "expected_errors", "above_threshold", "online_ranges"} <= set(names)
    for name in names:
        assert inspect.signature(getattr(dp.testing.Session, name)) == inspect.signature(getattr(dp.Session, name))
    assert inspect.signature(dp.testing.Session) == inspect.signature(dp.Session)
    assert inspect.signature(dp.testing.protect) == inspect.signature(dp.protect)


def test_its_answers_are_exact_and_stamped(tmp_path):
    with dp.testing.protect(ROWS, **WORDS) as session:
        query = VISITS.group_by("ward", keys={"ward": ["A", "B", "C"]}).agg(
            n=dp.count(), u=dp.count_units(), s=dp.sum("cost", bounds=(0, 50)), m=dp.mean("cost", bounds=(0, 100))
        )
        release = session.release(query, epsilon=0.1)
        assert release["n"] == (2, 1, 0)
        assert release["u"] == (2, 1, 0)
        assert release["s"] == (55, 7, 0)
        assert release["m"][:2] == (47.5, 7)
        assert not release.private
        assert str(release).startswith("NOT PRIVATE")
        assert "NOT PRIVATE" in release._repr_html_()
        assert str(session).startswith("NOT PRIVATE")
        release.save(tmp_path / "release.json")
        assert str(dp.Release.load(tmp_path / "release.json")).startswith("NOT PRIVATE")


def test_a_private_release_has_no_stamp():
    with dp.protect(ROWS, **WORDS) as session:
        release = session.release(VISITS.agg(n=dp.count()), epsilon=0.1)
        assert release.private
        assert "NOT PRIVATE" not in str(release) + str(session) + release._repr_html_()


@pytest.mark.parametrize("kind", [lambda path: path, str, dp.SQLiteLedger], ids=["path", "text", "object"])
def test_it_never_touches_a_real_ledger(tmp_path, kind):
    path = tmp_path / "ledger.sqlite"
    with dp.protect(ROWS, ledger=path, **WORDS) as session:
        session.release(VISITS.agg(n=dp.count()), epsilon=0.25)
        real = session.ledger
        before = real.history("visits")
    named = kind(path)
    with dp.testing.protect(ROWS, ledger=named, **WORDS) as session:
        session.release(VISITS.agg(n=dp.count()), epsilon=1)
        assert session.remaining().epsilon == 0
        assert session.ledger is not named
    assert real.history("visits") == before
    assert real.budget("visits").epsilon_left(real.spent("visits")) * 4 == 3


def test_it_makes_no_ledger_where_none_is(tmp_path, discreet_home, capsys):
    with dp.testing.protect(ROWS, ledger=tmp_path / "ledger.sqlite", **WORDS) as session:
        session.release(VISITS.agg(n=dp.count()), epsilon=1)
    with dp.testing.protect(ROWS, **WORDS):
        pass
    assert list(tmp_path.iterdir()) == []
    assert [path.name for path in discreet_home.iterdir()] == ["private"]
    assert capsys.readouterr().err == ""


def test_it_charges_and_refuses_as_a_private_session_does():
    for protect in (dp.protect, dp.testing.protect):
        with protect(ROWS, **WORDS) as session:
            query = VISITS.agg(n=dp.count())
            session.release(query, epsilon=0.7)
            session.release(query, epsilon=0.7)
            assert session.remaining().epsilon * 10 == 3
            with pytest.raises(BudgetError) as refused:
                session.release(query, epsilon=0.7, fresh=True)
            assert refused.value.instead == "session.release(query, epsilon=0.3)"
            with pytest.raises(KeysError):
                session.release(VISITS.group_by("ward").agg(n=dp.count()), epsilon=0.1)


CHOICE = VISITS.choose(["A", "B"], score=dp.score(by="ward"))
MEDIAN = VISITS.agg(m=dp.median("cost", bounds=(0, 9)))
ASKED = [
    lambda s: s.release(VISITS.agg(n=dp.count()), epsilon=0.5),
    lambda s: s.release(VISITS.group_by("ward").agg(m=dp.mean("cost", bounds=(0, 9))), epsilon=0.3),
    lambda s: s.release(VISITS.agg(s=dp.sum("cost")), rho=0.001, fresh=True),
    lambda s: s.explain(VISITS.agg(u=dp.count_units()), epsilon=0.5, confidence=0.9),
    lambda s: s.epsilon_for(VISITS.agg(u=dp.count_units()), margin=9, mechanism="laplace"),
    lambda s: s.release(CHOICE, epsilon=0.01),
    lambda s: s.release([VISITS.agg(n=dp.count()), CHOICE], epsilon=0.01),
    lambda s: s.release([VISITS.agg(n=dp.count()), CHOICE], epsilon=0.01, mechanism="laplace"),
    lambda s: s.release(MEDIAN, epsilon=0.01, method=dp.SmoothSensitivity()),
    lambda s: s.release(MEDIAN, epsilon=0.01, method=dp.ProposedBound(bound=1, delta=1e-10)),
    lambda s: s.explain(CHOICE, epsilon=0.01, confidence=0.9),
    lambda s: s.epsilon_for(CHOICE, margin=9),
    lambda s: s.expected_errors(VISITS.agg(u=dp.count_units()), epsilons=[0.1, 1], sizes=30),
    lambda s: s.above_threshold(threshold=10, epsilon=0.01),
    lambda s: s.online_ranges(VISITS, "cost", edges=[0, 5, 10], total=3, threshold=2, epsilon=0.01),
    lambda s: s.remaining(),
    lambda s: len(s.history()),
]


def outcome(call, *arguments):
    """What a call ends in, without the numbers that noise touches."""
    try:
        return type(call(*arguments)).__name__
    except Refusal as refusal:
        return str(refusal)


def outcomes(protect, words):
    try:
        with protect(ROWS, **(WORDS | words)) as session:
            return [outcome(ask, session) for ask in ASKED]
    except Refusal as refusal:
        return [str(refusal)]


@pytest.mark.parametrize(
    "words",
    [
        {},
        {"budget": dp.Budget(epsilon=1, delta=1e-9)},
        {"neighbours": "replace_one"},
        {"privacy_unit": dp.ROW, "max_rows": None},
        {"max_rows": None, "max_groups": 1, "max_rows_per_group": 1},
        {"max_rows": None},
        {"keys": {"ward": ["A"]}, "bounds": {"cost": (0, 10)}, "missing": {"cost": 3}, "rows": 3},
        {"version": 3, "analyst": "ana", "population": 100, "threads": 1, "memory_limit": "1GB"},
        {"missing_units": "one_unit", "types": {"cost": "real"}},
        {"budget": dp.Budget(epsilon=1, delta=0.5)},
        {"privacy_unit": "persona"},
    ],
    ids=lambda words: " ".join(words) or "usual",
)
def test_it_accepts_what_a_private_session_accepts_and_refuses_what_it_refuses(words):
    assert outcomes(dp.testing.protect, words) == outcomes(dp.protect, words)


def test_the_ledger_of_a_testing_session_is_no_ledger_for_a_real_one():
    with dp.testing.protect(ROWS, **WORDS) as session:
        session.release(VISITS.agg(n=dp.count()), epsilon=0.1)
        with pytest.raises(dp.Refusal, match="exact answers"):
            dp.protect(ROWS, ledger=session.ledger, **WORDS)


def test_a_seed_exists_for_data_alone():
    first, second = (dp.testing.generator(7).integers(0, 10**9, 5).tolist() for _ in range(2))
    assert first == second
    for call in (dp.protect, dp.Session.release, dp.mechanisms.Laplace, dp.mechanisms.Gaussian):
        assert "seed" not in inspect.signature(call).parameters


def test_the_ledger_of_a_testing_session_takes_no_place_of_a_real_one(tmp_path):
    with pytest.raises((TypeError, dp.Refusal)):
        dp.testing.ForgottenLedger(tmp_path / "real.sqlite")
    assert not (tmp_path / "real.sqlite").exists()
