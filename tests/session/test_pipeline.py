"""Every question goes through one pipeline: nothing is read before the charge, and nothing once it is closed."""

import json
import os
import time
from contextlib import nullcontext

import pyarrow as pa
import pytest

import discreet as dp
import golden_questions
from discreet.errors import Failure, ParameterError, SourceError
from discreet.ledger import SQLiteLedger
from discreet.ledger.integrity.results import verify_result
from discreet.sandbox import Limits
from discreet.session.arguments import table_name
from discreet.session.pipeline import Pipeline

T = dp.table("t")
ROWS = pa.table({"id": list(range(50)), "x": [i % 5 for i in range(50)]})
COUNT = T.agg(n=dp.count())
MEDIAN = T.agg(m=dp.median("x", bounds=(0, 5)))
CHOICE = T.choose(range(5), score=dp.score(by="x"))
WORDS = {"name": "t", "privacy_unit": "id", "max_rows": 1, "budget": dp.Budget(epsilon=1)}
LEASE = 0.1
LIMITS = Limits(seconds=2, workers=1, constant_time=False)


def how_many(table):
    return table.num_rows


def watched(session):
    with session.above_threshold(threshold=10**6, epsilon=0.1) as watch:
        return watch.ask(COUNT)


def ranged(session):
    with session.online_ranges(T, "x", edges=range(6), total=50, threshold=50, epsilon=0.1) as ranges:
        return ranges.ask(0, 5)


ASKED = {
    "table": lambda s, **words: s.release(COUNT, epsilon=0.1, **words),
    "choice": lambda s, **words: s.release(CHOICE, epsilon=0.1, **words),
    "batch": lambda s, **words: s.release([COUNT, CHOICE], epsilon=0.1, **words)[1],
    "sparse vector": watched,
    "online ranges": ranged,
    "method": lambda s, **words: s.release(MEDIAN, epsilon=0.1, method=dp.SmoothSensitivity(), **words),
    "function": lambda s, **words: s.release(
        T.apply(how_many, columns=["x"], blocks=2, bounds=(0, 50), limits=LIMITS), epsilon=0.1, **words
    ),
}


@pytest.fixture
def session():
    with dp.protect(ROWS, **WORDS) as opened:
        yield opened


@pytest.mark.parametrize("kind", ASKED)
@pytest.mark.guarantee("every question is charged before anything is read")
def test_nothing_is_read_before_the_charge_and_a_failure_after_it_says_one_sentence(session, kind, monkeypatch):
    engine = session._pipeline.engines["t"]
    spent = []

    def reading(*_):
        spent.append(float(session.remaining()))
        raise ValueError("alice, HIV+")

    monkeypatch.setattr(engine, "run", reading)
    monkeypatch.setattr(engine, "blocks", reading)
    with pytest.raises(Failure) as failed:
        ASKED[kind](session)
    assert str(failed.value) == dp.errors.FAILURE
    assert failed.value.__cause__ is failed.value.__context__ is None
    assert spent == [pytest.approx(0.9)]
    assert float(session.remaining()) == pytest.approx(0.9)
    (charge,) = [entry for entry in session.history() if entry.kind == "RESERVED"]
    assert str(charge.state) == "FORFEITED"


@pytest.mark.parametrize("kind", ASKED)
def test_a_session_that_was_closed_refuses_and_charges_nothing(session, kind):
    session.close()
    with pytest.raises(SourceError, match="engine is gone"):
        ASKED[kind](session)
    assert float(session.remaining()) == 1


@pytest.mark.parametrize("kind", [name for name in ASKED if name not in ("sparse vector", "online ranges")])
def test_a_repeat_is_free_a_fresh_one_is_not_and_a_request_is_charged_once(session, kind):
    first = ASKED[kind](session)
    again = ASKED[kind](session)
    assert (first.repeated, again.repeated) == (False, True)
    assert first.receipt == again.receipt
    ASKED[kind](session, fresh=True, idempotency_key="mine")
    ASKED[kind](session, fresh=True, idempotency_key="mine")
    assert float(session.remaining()) == pytest.approx(0.8)
    with pytest.raises(ParameterError, match="fresh"):
        ASKED[kind](session, fresh="yes")


class Sleeping(Pipeline):
    """A pipeline that once sleeps past its lease, while another attempt takes its charge over."""

    slept = 0.0

    def charge(self, *asked, fresh):
        self.asked = asked
        return super().charge(*asked, fresh=fresh)

    def randomize(self, plan, exact):
        if not self.slept:
            self.slept = 4 * LEASE
            time.sleep(self.slept)
            self.taken_over = super().charge(*self.asked, fresh=False)
        return super().randomize(plan, exact)


class SleepingSession(dp.Session):
    """A session with that pipeline."""

    _pipeline_class = Sleeping


@pytest.mark.parametrize("kind", ["table", "choice", "batch"])
@pytest.mark.parametrize("fresh", [False, True])
def test_an_answer_that_was_superseded_is_not_charged_again(tmp_path, monkeypatch, kind, fresh):
    """A fresh question whose charge was taken over is the same question from then on, and not fresh once more."""
    with (
        dp.SQLiteLedger(tmp_path / "ledger.sqlite", lease=LEASE) as ledger,
        SleepingSession.protect(ROWS, ledger=ledger, **WORDS) as session,
    ):
        monkeypatch.setattr(ledger, "holding", lambda _: nullcontext())
        answer = ASKED[kind](session, fresh=fresh)
        charged = [entry for entry in session.history() if entry.kind == "RESERVED"]
        assert session._pipeline.taken_over.attempt == 2
        assert [str(entry.state) for entry in charged] == ["ANSWERED"]
        assert float(session.remaining()) == pytest.approx(0.9)
        assert not answer.repeated
        assert ASKED[kind](session) == answer
        assert ledger.verify().ok


class Trusting(Pipeline):
    """A pipeline that takes any ledger, the ledger of a test included."""

    @classmethod
    def session_ledger(cls, ledger):
        return ledger


class TrustingSession(dp.Session):
    """A session with that pipeline."""

    _pipeline_class = Trusting


@pytest.mark.parametrize("kind", ["table", "choice", "method", "batch"])
def test_an_exact_answer_is_never_that_of_a_private_question(kind):
    """The ledger of a test is refused; were it taken, its answers would not be found."""
    with dp.testing.protect(ROWS, **WORDS) as exact:
        assert not ASKED[kind](exact).private
        with TrustingSession.protect(ROWS, ledger=exact.ledger, **WORDS) as session:
            private = ASKED[kind](session)
            assert session._pipeline.registrations == exact._pipeline.registrations
        assert ASKED[kind](exact).repeated
    assert private.private
    assert not private.repeated


def test_the_table_of_a_query_is_the_one_at_the_bottom_of_its_chain():
    assert table_name(T.where(T.x > 1).derive(y=T.x * 2).agg(n=dp.count())) == "t"


JOINED = dp.Catalog.parse("""
tables:
  visits:
    privacy_unit: p
    max_rows: 2
    version: 2
    budget: {epsilon: 1}
    columns: {p: {type: integer}, v: {type: integer}, w: {type: text}}
  notes:
    privacy_unit: {through: visits, on: v}
    max_rows: 2
    budget: {epsilon: 0.25}
    columns: {v: {type: integer}, k: {type: integer}}
  wards:
    public: true
    columns: {w: {type: text}, beds: {type: integer, bounds: [0, 9]}}
""")
TABLES = {
    "visits": pa.table({"p": [1, 1, 2, 3], "v": [1, 2, 3, 4], "w": ["a", "b", "a", "c"]}),
    "notes": pa.table({"v": [1, 1, 2, 3, 9], "k": [1, 2, 3, 4, 5]}),
    "wards": pa.table({"w": ["a", "b", "b"], "beds": [1, 2, 3]}),
}
VISITS, NOTES, WARDS = map(dp.table, ("visits", "notes", "wards"))


@pytest.fixture
def joined():
    with dp.Session(JOINED, sources=TABLES) as opened:
        yield opened


def _left(session: dp.Session) -> dict[str, float]:
    return {name: float(session.remaining(name)) for name in ("visits", "notes")}


def test_a_join_charges_every_protected_table_that_it_reads_and_no_public_one(joined):
    joined.release(VISITS.join(WARDS, on="w").agg(n=dp.count()), epsilon=0.125)
    assert _left(joined) == {"visits": 0.875, "notes": 0.25}
    release = joined.release(NOTES.agg(n=dp.count()), epsilon=0.125)
    assert _left(joined) == {"visits": 0.75, "notes": 0.125}
    assert release.dataset == release.receipt["dataset"] == "notes"
    assert "'notes', version 1, and 'visits', version 2" in release.guarantee
    assert release.columns_read == ("notes.v", "visits.p", "visits.v")


def test_all_tables_of_a_join_are_charged_or_none(joined):
    with pytest.raises(dp.errors.BudgetError):
        joined.release(NOTES.agg(n=dp.count()), epsilon=0.5)
    assert _left(joined) == {"visits": 1.0, "notes": 0.25}


def test_explaining_a_join_says_whom_it_is_charged_to_and_whether_all_have_room(joined):
    told = joined.explain(NOTES.agg(n=dp.count()), epsilon=0.25)
    assert told.fits
    assert "of 'notes' and 'visits' each" in str(told)
    joined.release(VISITS.agg(n=dp.count()), epsilon=0.875)
    assert not joined.explain(NOTES.agg(n=dp.count()), epsilon=0.25).fits


def test_a_join_that_was_asked_before_is_answered_from_the_ledger_at_no_cost(joined):
    query = NOTES.join(VISITS, on="v").where(VISITS.w == "a").agg(n=dp.count())
    first = joined.release(query, epsilon=0.125)
    again = joined.release(query, epsilon=0.125)
    assert again.repeated
    assert again.to_arrow() == first.to_arrow()
    assert _left(joined) == {"visits": 0.875, "notes": 0.125}


def test_a_batch_charges_the_tables_of_all_its_questions(joined):
    joined.release([NOTES.agg(n=dp.count()), NOTES.per_unit(n=dp.count()).agg(n=dp.count())], epsilon=0.125)
    assert _left(joined) == {"visits": 0.875, "notes": 0.125}


def test_a_join_that_fails_after_its_charge_is_charged_to_all_tables_and_says_one_sentence(joined, monkeypatch):
    def failing(*_):
        raise ValueError("alice, HIV+")

    monkeypatch.setattr(joined._pipeline.engines["notes"], "run", failing)
    with pytest.raises(Failure) as failed:
        joined.release(NOTES.agg(n=dp.count()), epsilon=0.125)
    assert str(failed.value) == dp.errors.FAILURE
    assert _left(joined) == {"visits": 0.875, "notes": 0.125}


def test_a_watch_is_charged_to_one_table_and_takes_no_question_that_reads_another(joined):
    with pytest.raises(dp.errors.UnsupportedError, match="charged to one dataset"):
        joined.above_threshold("notes", threshold=10, epsilon=0.125, sensitivity=2)
    with (
        joined.above_threshold("visits", threshold=10, epsilon=0.125, sensitivity=2) as watch,
        pytest.raises(dp.errors.UnsupportedError, match="charged to one dataset"),
    ):
        watch.ask(NOTES.join(VISITS, on="v").agg(n=dp.count()))
    with joined.above_threshold("visits", threshold=10**6, epsilon=0.125, sensitivity=2) as watch:
        assert not watch.ask(VISITS.join(WARDS, on="w").agg(n=dp.count())).is_above


def test_a_public_table_has_nothing_to_spend_and_answers_nothing_by_itself(joined):
    for call in (lambda: joined.remaining("wards"), lambda: joined.release(WARDS.agg(n=dp.count()), epsilon=0.1)):
        with pytest.raises(ParameterError, match="public table 'wards'"):
            call()
    assert "wards" not in str(joined)


def test_a_table_that_has_a_promise_cannot_become_public(tmp_path):
    ledger = tmp_path / "ledger.sqlite"
    with dp.Session(JOINED, sources=TABLES, ledger=ledger):
        pass
    public = "tables: {visits: {public: true, columns: {p: {type: integer}}}}"
    with pytest.raises(dp.errors.CatalogError, match="has a privacy budget"):
        dp.Session(dp.Catalog.parse(public), sources=TABLES, ledger=ledger)


def test_a_block_holds_joined_rows_of_whole_units(joined):
    joined_rows = VISITS.join(WARDS, on="w")
    estimate = joined.release(
        joined_rows.apply(how_many, columns=["beds"], blocks=2, bounds=(0, 9), limits=LIMITS), epsilon=0.125
    )
    assert estimate.dataset == "visits"


@pytest.mark.nightly
@pytest.mark.timing
def test_a_fresh_answer_costs_as_much_after_many_earlier_ones_as_after_few():
    """Finding an earlier answer to a question once read all of them."""
    rows = pa.table({"id": range(20)})
    budget = dp.Budget(epsilon=1000, ceiling=1000)
    with dp.protect(rows, name="t", privacy_unit="id", max_rows=1, budget=budget, ledger=":memory:") as session:

        def seconds(times):
            start = time.process_time()
            for _ in range(times):
                session.release(COUNT, epsilon=0.5, fresh=True)
            return time.process_time() - start

        seconds(50)
        few = min(seconds(25) for _ in range(4))
        seconds(450)
        assert min(seconds(25) for _ in range(4)) < 3 * few


class Recorded(Pipeline):
    """Keeps what is made and what of it is stored."""

    def _make_answer(self, *asked):
        made = super()._make_answer(*asked)
        self.__dict__.setdefault("made", []).append(made)
        return made


class RecordedSession(dp.Session):
    _pipeline_class = Recorded


def _types(data):
    parts = data.values() if isinstance(data, dict) else data if isinstance(data, list) else ()
    return {type(data)}.union(*map(_types, parts))


FEW = ("a condition", "unknown keys", "a selection", "a batch with weights", "a smooth mean", "a hierarchy")


@pytest.mark.parametrize(
    "names", [FEW, pytest.param(tuple(golden_questions.QUESTIONS), marks=pytest.mark.full)], ids=["few", "all"]
)
def test_a_fresh_answer_is_the_plain_data_that_is_stored(names):
    """It is read off that data, and a repeated one off the stored text."""
    ledger = SQLiteLedger(":memory:")
    with ledger, golden_questions.opened(ledger, kind=RecordedSession) as session:
        for name in names:
            golden_questions.QUESTIONS[name](session)
        made = session._pipeline.made
    assert len(made) == len(names)
    for body, payload in made:
        assert json.loads(payload) == body
        assert _types(body) <= {dict, list, str, int, float, bool, type(None)}


# Releases that were not charged


@pytest.mark.parametrize("kind", ["table", "choice", "batch", "method", "function"])
def test_a_document_lists_the_other_releases_before_its_charge_and_a_repeat_does_not_change(session, kind):
    ask = ASKED[kind]
    first = session.ledger.add_other_release("t", "ages in tens", kind="generalised", sha256="ab" * 32)
    made = ask(session)
    assert made.document.others == (first.text,) == tuple(made.receipt["others"])
    session.ledger.add_other_release("t", "one more", kind="exact")
    again = ask(session)
    assert again.document.others == (first.text,)
    assert json.dumps(again.to_json()) == json.dumps(made.to_json())


def test_other_releases_do_not_change_which_query_was_asked_before(session):
    made = session.release(COUNT, epsilon=0.1)
    assert made.document.others == ()
    assert "others" not in made.receipt
    session.ledger.add_other_release("t", "one", kind="exact")
    assert session.release(COUNT, epsilon=0.1).to_json() == made.to_json()
    later = session.release(COUNT, epsilon=0.1, fresh=True)
    assert later.document.others == tuple(each.text for each in session.ledger.other_releases("t"))
    assert ("other releases", later.document.others[0]) in later.document.lines()


def test_what_the_catalog_declares_stands_before_what_the_ledger_lists():
    table = JOINED.tables["visits"].model_copy(update={"other_releases": ("a poster",)})
    catalog = JOINED.model_copy(update={"tables": dict(JOINED.tables) | {"visits": table}})
    with dp.Session(catalog, sources=TABLES) as session:
        found = session.ledger.add_other_release("visits", "one", kind="exact")
        assert session.release(VISITS.agg(n=dp.count()), epsilon=0.125).document.others == ("a poster", found.text)


def test_a_join_lists_the_other_releases_of_every_table_with_its_name(joined):
    far = joined.ledger.add_other_release("visits", "one", kind="exact")
    own = joined.ledger.add_other_release("notes", "two", kind="exact")
    release = joined.release(NOTES.agg(n=dp.count()), epsilon=0.125)
    assert release.document.others == (own.text, f"visits: {far.text}")
    assert release.receipt["others"] == [own.text]


def test_the_signature_of_a_release_covers_its_other_releases(tmp_path):
    with dp.protect(ROWS, **WORDS, ledger=tmp_path / "ledger.sqlite") as session:
        session.ledger.add_other_release("t", "one", kind="exact")
        plain = session.release(COUNT, epsilon=0.1).to_json()
        publics = list(session.ledger._public_keys().values())
    assert verify_result(plain, publics).ok
    cut = json.loads(json.dumps(plain))
    cut["document"]["others"] = []
    assert verify_result(cut, publics).faults == (
        "the numbers: they, or what the file says of them, were changed after they were signed",
    )
    cut = json.loads(json.dumps(plain))
    del cut["receipt"]["others"]
    cut["receipt"]["format"] = "discreet.receipt/2"
    assert any("its signature is not that of the key" in fault for fault in verify_result(cut, publics).faults)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this platform")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_process_that_has_the_number_of_the_first_has_no_engine_and_closes_none(monkeypatch):
    number = os.getpid()
    monkeypatch.setattr(os, "getpid", lambda: number)
    with dp.protect(ROWS, **WORDS, ledger=":memory:") as session:
        child = os.fork()
        if not child:
            code = 0
            try:
                session._pipeline.engine("t")
            except SourceError:
                code = 7
            session._pipeline.close()
            os._exit(code)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
        assert session.release(COUNT, epsilon=0.5)["n"]
