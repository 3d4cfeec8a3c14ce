"""The contract of sessions: ours keep it for every aggregate, and each clause catches a session that breaks it.

False alarms: at most 1e-6 for each check with samples; all other clauses are exact.
"""

import json
import logging
import secrets
from dataclasses import replace
from itertools import cycle
from unittest import mock

import pyarrow as pa
import pytest

import discreet as dp
from discreet.auditing.contracts.clauses import require
from discreet.auditing.contracts.session import check_session
from discreet.auditing.finding import Verdict
from discreet.engines.sql import contribution_bounding
from discreet.errors import BudgetError, ParameterError, Refusal
from discreet.ledger import SQLiteLedger
from discreet.plan.fingerprint import Context
from discreet.planner.queries.tables import analyze
from discreet.release.release import Release
from discreet.session import draft_catalog
from discreet.session.pipeline import Pipeline
from discreet.session.session import Session
from discreet.session.stored import Stamp
from discreet.testing import generator

ROWS = pa.table({"id": ["p", "q"], "g": ["a", "b"], "h": [0, 1], "x": [1.0, 2.0]})
T = dp.table("t")
AGGREGATES = {
    "count": {"n": dp.count()},
    "count_units": {"u": dp.count_units()},
    "count_distinct": {"v": dp.count_distinct("h")},
    "sum": {"s": dp.sum("x", bounds=(-1, 2), grid=0.125)},
    "mean": {"m": dp.mean("x", bounds=(0, 2))},
}
EVERYTHING = {name: one for asked in AGGREGATES.values() for name, one in asked.items()}
COUNTED = T.group_by("g").agg(n=dp.count(), s=dp.sum("x", bounds=(0, 2), grid=0.5))
WAYS = [(how, mechanism) for how in ("add_remove", "replace_one") for mechanism in ("laplace", "gaussian")]
QUICK = [
    pytest.param(*case, *way, id="-".join((case[0], "grouped" if case[1] else "ungrouped", *way)))
    for case, way in zip(zip(AGGREGATES, cycle((True, False))), cycle(WAYS))
]
ALL = [
    pytest.param(name, grouped, *way, id="-".join((name, "grouped" if grouped else "ungrouped", *way)))
    for name in AGGREGATES
    for grouped in (True, False)
    for way in WAYS
]


@pytest.fixture(autouse=True)
def quiet():
    """Failures on purpose are logged for the owner, and not for whoever reads the tests."""
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(logging.NOTSET)


def opened(rows=ROWS, kind=Session, **words):
    said = {
        "name": "t",
        "privacy_unit": "id",
        "max_rows": 2,
        "keys": {"g": ["a", "b"], "h": [0, 1, 2]},
        "budget": dp.Budget(epsilon=4, delta=1e-9),
        "ledger": SQLiteLedger(":memory:"),
    }
    return kind.protect(rows, **(said | words))


def checked(kind=Session, query=COUNTED, **words):
    """The findings about a kind of session, without what takes samples unless it is asked for."""
    settings = {"pairs": 2, "samples": 0, "side_channels": False, "generator": generator(1)} | words
    with opened(kind=kind) as session:
        return check_session(session, query, **settings)


def hold(name, grouped, how, mechanism, **words):
    query = (T.group_by("g") if grouped else T).agg(**AGGREGATES[name])
    with opened(neighbours=how) as session:
        before = session.history()
        found = check_session(session, query, mechanism=mechanism, generator=generator(2), **words)
        assert session.history() == before
    require(found)
    assert all(finding.verdict is Verdict.NOTHING_FOUND for finding in found if finding.layer != "side channels")
    return found


@pytest.mark.parametrize(("name", "grouped", "how", "mechanism"), QUICK)
def test_sessions_keep_their_contract_for_every_aggregate(name, grouped, how, mechanism):
    assert len(hold(name, grouped, how, mechanism, pairs=4, samples=0, side_channels=False)) == 9


@pytest.mark.nightly
@pytest.mark.parametrize(("name", "grouped", "how", "mechanism"), ALL)
def test_sessions_keep_their_contract_for_every_aggregate_in_every_way(name, grouped, how, mechanism):
    hold(name, grouped, how, mechanism, pairs=10, samples=100, side_channels=False)


def test_a_session_keeps_its_contract_with_samples_and_side_channels():
    with opened() as session:
        found = check_session(session, T.agg(n=dp.count()), pairs=5, samples=100, generator=generator(3))
    require(found)
    assert {"contract", "sensitivity", "statistics", "side channels"} == {finding.layer for finding in found}


def test_a_session_over_rows_without_people_keeps_its_contract():
    with opened(privacy_unit=dp.ROW, max_rows=None) as session:
        require(check_session(session, COUNTED, pairs=3, samples=0, side_channels=False, generator=generator(4)))


def test_sessions_are_made_as_their_owner_makes_them():
    made = []

    def make(rows):
        made.append(rows)
        return opened(rows)

    require(checked(make_session=make))
    assert made


def test_a_ledger_of_the_sessions_own_is_refused_and_not_charged():
    with opened() as session, pytest.raises(ParameterError, match="own ledger"):
        check_session(session, COUNTED, make_session=lambda rows: opened(rows, ledger=session.ledger))


def test_a_ledger_that_all_share_is_told_and_not_taken_for_a_broken_promise(tmp_path):
    found = checked(make_session=lambda rows: opened(rows, ledger=tmp_path / "ledger.sqlite"), samples=100)
    skipped = [finding for finding in found if finding.verdict is Verdict.SKIPPED]
    assert {finding.evidence for finding in skipped} == {"make_session names a ledger that was charged before"}
    assert "releases of neighbours keep the claim" in [finding.claim for finding in skipped]


def test_the_home_of_the_owner_is_left_alone(discreet_home, capfd):
    require(checked(make_session=lambda rows: opened(rows, ledger=None)))
    assert list(discreet_home.rglob("ledger.sqlite")) == []
    assert "the budget is kept" not in capfd.readouterr().err


def test_a_query_that_is_refused_is_refused_here_too():
    with pytest.raises(Refusal):
        checked(query=T.agg(s=dp.sum("nothing", bounds=(0, 1))))


def test_what_cannot_be_noticed_is_skipped():
    found = {finding.claim: finding for finding in checked(make_session=lambda rows: opened(rows.to_pandas()))}
    skipped = [claim for claim, finding in found.items() if finding.verdict is Verdict.SKIPPED]
    assert skipped == ["a charge comes before data", "a failure says one sentence, and its charge stands"]


class Priced(Session):
    """Explaining is charged."""

    def explain(self, query, **words):
        self.release(query, **words, fresh=True)
        return super().explain(query, **words)


class Curious(Session):
    """Explaining looks at the data."""

    def explain(self, query, **words):
        explanation = super().explain(query, **words)
        plan = analyze(query.plan, self.catalog, self.ledger.budget("t"), **words)
        self._pipeline.engines["t"].run(self._pipeline.prepare(plan))
        return explanation


class Hasty(Pipeline):
    """Data is read before the charge."""

    def charge(self, plan, prepared, *asked, **words):
        self.engines[plan.dataset].run(prepared)
        return super().charge(plan, prepared, *asked, **words)


class Generous(Pipeline):
    """Nothing is charged."""

    def answer(self, *asked, **words):
        other = SQLiteLedger(":memory:")
        kept, self.ledger = self.ledger, other
        try:
            other.register(draft_catalog.dataset_of("t", self.catalog.table("t"), "memory"))
            return super().answer(*asked, **words)
        finally:
            self.ledger = kept


class Talkative(Pipeline):
    """A failure tells what the driver said."""

    def _make_answer(self, kind, plan, prepared, reservation, documents):
        noisy = self.randomize(plan, kind.run(plan, prepared, self))
        body = kind.body(plan, noisy, Stamp(reservation.receipt, is_private=True, documents=documents))
        return body, json.dumps(body).encode()


class Forgetful(Pipeline):
    """Every question is a new one."""

    def context(self, *_, **__):
        return Context((("t", secrets.randbits(64)),), is_private=True)


class Altering(Pipeline):
    """Somebody alters releases before they are stored."""

    def _make_answer(self, *asked):
        body, _ = super()._make_answer(*asked)
        altered = self._altered(Release.from_json(body)).to_json()
        return altered, json.dumps(altered).encode()


class Sparse(Altering):
    """Keys without rows are left out."""

    def randomize(self, plan, exact):
        self._kept = [i for i, rows in enumerate(exact[0]) if rows]
        return super().randomize(plan, exact)

    def _altered(self, release):
        def part(values):
            return tuple(values[i] for i in self._kept)

        return replace(
            release,
            keys=tuple(replace(key, values=part(key.values)) for key in release.keys),
            outputs=tuple(replace(o, values=part(o.values), margins=part(o.margins)) for o in release.outputs),
            measured=tuple(replace(m, steps=part(m.steps)) for m in release.measured),
        )


class Blurred(Altering):
    """Somebody smooths the answers by a float of their own."""

    def _altered(self, release):
        moved = tuple(replace(o, values=tuple(v + 0.1 for v in o.values)) for o in release.outputs)
        return replace(release, outputs=moved)


class Bottomless(Pipeline):
    """A question that does not fit is answered anyway."""

    def answer(self, request, confidence, **words):
        try:
            return super().answer(request, confidence, **words)
        except BudgetError:
            kind, plan, _ = self.plan(request)
            noisy = self.randomize(plan, self.exact("t", self.prepare(plan)))
            documents = tuple(self._document(plan, lines, "{}") for lines in kind.words(request, plan, self.catalog))
            body = kind.body(plan, noisy, Stamp(NoReceipt(), is_private=True, documents=documents))
            return kind.restore(body, plan, plan.event, confidence, repeated=False)


class NoReceipt:
    def to_json(self):
        return "{}"


def over(pipeline):
    """The class of sessions over such a pipeline."""
    for name in vars(pipeline).keys() - {"__module__", "__doc__", "_altered"}:
        assert hasattr(Pipeline, name), f"{name} breaks nothing: the pipeline has no such step"
    return type(pipeline.__name__, (Session,), {"_pipeline_class": pipeline})


BREAKS = {
    Priced: {"explaining is free"},
    Curious: {"a charge comes before data"},
    over(Hasty): {"a charge comes before data"},
    over(Generous): {"a charge comes before data", "a spent budget refuses"},
    over(Talkative): {"a failure says one sentence, and its charge stands"},
    over(Forgetful): {"a repeated query gets its stored answer at no cost"},
    over(Sparse): {"keys are complete, for any data"},
    over(Blurred): {"releases stand on the public grid"},
    over(Bottomless): {"a spent budget refuses"},
}


@pytest.mark.parametrize("kind", BREAKS, ids=lambda kind: kind.__name__)
def test_each_clause_catches_a_session_that_breaks_it(kind):
    found = [finding for finding in checked(kind) if finding.is_broken]
    assert BREAKS[kind] <= {finding.claim for finding in found}, found
    assert not any("the check ended in" in finding.evidence for finding in found)
    with pytest.raises(AssertionError, match="breaks its contract"):
        require(found)


def test_a_cap_that_is_off_by_one_is_caught():
    capped = contribution_bounding.rows_of_one_answer_sql

    def off_by_one(asked, *rest):
        return capped(replace(asked, scan=replace(asked.scan, max_rows=asked.scan.max_rows + 1)), *rest)

    with mock.patch.object(contribution_bounding, "rows_of_one_answer_sql", off_by_one):
        broken = [finding for finding in checked(pairs=10) if finding.is_broken]
    assert [finding.layer for finding in broken] == ["sensitivity"]


def test_a_session_that_adds_no_noise_is_caught_by_samples():
    class Exact(Pipeline):
        def randomize(self, plan, exact):
            return plan.combine(exact)

    found = checked(over(Exact), T.agg(n=dp.count()), pairs=4, samples=100)
    broken = [finding for finding in found if finding.is_broken]
    assert [finding.layer for finding in broken] == ["statistics"]


def test_a_session_that_names_its_data_is_caught_by_its_side_channels():
    class Naming(Session):
        def __str__(self):
            rows = self._pipeline.engines["t"]._sources["t"].source.frame.num_rows
            return f"session over {rows} rows"

    broken = [finding for finding in checked(Naming, T.agg(n=dp.count()), side_channels=True) if finding.is_broken]
    assert {finding.layer for finding in broken} == {"side channels"}


def test_a_session_and_a_query_in_the_wrong_order_are_refused():
    with opened() as session, pytest.raises(ParameterError, match="a session, then a query"):
        check_session(COUNTED, session)


def test_too_few_samples_are_refused_before_anything_runs():
    with opened() as session, pytest.raises(ParameterError, match="refute nothing"):
        check_session(session, COUNTED, samples=50)


def test_a_make_session_with_other_caps_is_told():
    with opened() as session:
        made = check_session(
            session,
            COUNTED,
            make_session=lambda rows: opened(rows, max_rows=60),
            pairs=5,
            samples=0,
            side_channels=False,
        )
    told = [finding for finding in made if "public facts" in finding.claim]
    assert [(finding.verdict, "max_rows" in finding.evidence) for finding in told] == [(Verdict.BROKEN, True)]
