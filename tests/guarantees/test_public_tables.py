"""Public tables in sessions: answers rest on the rows they are named after, and no protected row is public.

With them, what else must not pass the charge: plans that no call builds, and anything of an exception after it.
"""

import json
import traceback
from fractions import Fraction
from functools import partial

import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import parquet

import discreet as dp
from discreet.errors import FAILURE, CatalogError, Failure, Refusal
from discreet.ledger import Receipt
from discreet.ledger.records.canonical_text import digest
from discreet.ledger.records.description import plan_of
from discreet.plan import logical
from discreet.query.frame import Frame, Query
from discreet.sandbox import Limits
from servers import ENGINE

CATALOG = dp.Catalog.parse("""
tables:
  visits:
    privacy_unit: p
    max_rows: 1
    budget: {epsilon: 90, ceiling: 100, reason: tests}
    columns: {p: {type: integer}, w: {type: text}}
  wards:
    public: true
    columns: {w: {type: text}, beds: {type: integer, bounds: [0, 90]}}
""")
VISITS = pa.table({"p": range(100), "w": ["a"] * 100})
V, W = dp.table("visits"), dp.table("wards")
JOINED = V.join(W, on="w")
BEDS = JOINED.agg(n=dp.sum("beds"))
LIMITS = Limits(seconds=2, workers=1, constant_time=False)


class CSV:
    """A file that is written in place, with as many bytes as before."""

    def __init__(self, directory):
        self.source = directory / "wards.csv"
        self.write(10)

    def write(self, beds):
        self.source.write_text(f"w,beds\na,{beds}\n", encoding="utf-8")


class Parquet(CSV):
    """A file that another one is renamed to."""

    def __init__(self, directory):
        self.source = directory / "wards.parquet"
        self.write(10)

    def write(self, beds):
        parquet.write_table(pa.table({"w": ["a"], "beds": [beds]}), self.source.with_suffix(".new"))
        self.source.with_suffix(".new").replace(self.source)


class InPlace(CSV):
    """A frame whose cells are assigned to."""

    def __init__(self, directory):
        del directory
        self.source = pd.DataFrame({"w": ["a"], "beds": [10]})

    def write(self, beds):
        self.source.loc[0, "beds"] = beds


@pytest.fixture(params=[CSV, Parquet, InPlace])
def wards(request, tmp_path):
    return request.param(tmp_path)


def how_many_beds(table):
    return sum(table.column("beds").to_pylist())


def watched(session, threshold):
    with session.above_threshold(threshold=threshold, epsilon=1, sensitivity=90) as watch:
        return watch.ask(BEDS).is_above


def streamed(session):
    with session.online_ranges(JOINED, "beds", edges=[0, 20, 90], total=1, threshold=1, epsilon=1) as stream:
        return stream.ask(20, 90).value


def sampled(session):
    question = JOINED.apply(how_many_beds, columns=["beds"], blocks=2, bounds=(0, 9_000), limits=LIMITS)
    return 2 * session.release(question, epsilon=1).value


VERBS = {
    "release": lambda session: session.release(BEDS, epsilon=1).value("n"),
    "batch": lambda session: session.release([BEDS, JOINED.agg(n=dp.count())], epsilon=1)[0].value("n"),
    "choice": lambda session: (
        100 * session.release(JOINED.choose([10, 50], score=dp.score(by="beds")), epsilon=1).value
    ),
    "smooth sensitivity": lambda session: (
        100 * session.release(JOINED.agg(m=dp.median("beds")), epsilon=1, method=dp.SmoothSensitivity()).value
    ),
    "above threshold": lambda session: 5_000 if watched(session, 3_000) else 1_000,
    "online ranges": lambda session: 5_000 if streamed(session) > 50 else 1_000,
    "blocks": sampled,
}


@pytest.mark.pitfall("A25")
@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_answers_from_the_rows_that_a_public_table_has_now(verb, tmp_path):
    wards = CSV(tmp_path)
    with dp.testing.Session(CATALOG, sources={"visits": VISITS, "wards": wards.source}) as session:
        assert VERBS[verb](session) == 1_000
        wards.write(50)
        assert VERBS[verb](session) == 5_000


@pytest.mark.pitfall("A25")
def test_a_public_table_that_changed_is_charged_again_and_one_that_changed_back_is_free(wards):
    with dp.testing.Session(CATALOG, sources={"visits": VISITS, "wards": wards.source}) as session:
        seen = []
        for beds in (10, 50, 50, 10):
            wards.write(beds)
            release = session.release(BEDS, epsilon=1)
            seen.append((release.value("n"), release.repeated))
        assert seen == [(1_000, False), (5_000, False), (5_000, True), (1_000, True)]
        assert float(session.remaining("visits")) == 88


@pytest.mark.pitfall("A25")
@pytest.mark.parametrize("verb", VERBS)
def test_a_public_table_that_changes_under_a_charge_gives_one_sentence_and_no_answer(verb, tmp_path, monkeypatch):
    wards = CSV(tmp_path)
    with dp.testing.Session(CATALOG, sources={"visits": VISITS, "wards": wards.source}) as session:
        engine = session._pipeline.engines["visits"]
        create = engine._create_rows

        def changed(*words):
            wards.write(50)
            create(*words)

        monkeypatch.setattr(engine, "_create_rows", changed)
        with pytest.raises(Failure) as failed:
            VERBS[verb](session)
        assert str(failed.value) == FAILURE
        assert failed.value.__cause__ is failed.value.__context__ is None
        assert float(session.remaining("visits")) == 89


@pytest.mark.pitfall("A25")
def test_the_description_behind_a_receipt_names_the_state_of_every_public_table(tmp_path):
    path = tmp_path / "ledger.sqlite"
    with dp.Session(CATALOG, sources={"visits": VISITS, "wards": CSV(tmp_path).source}, ledger=path) as session:
        receipt = Receipt.from_json(json.dumps(session.release(BEDS, epsilon=1).receipt))
        alone = Receipt.from_json(json.dumps(session.release(V.agg(n=dp.count()), epsilon=1).receipt))
        rows = session.ledger._look(lambda pen: pen.rows("SELECT sequence, description FROM reservations"))
        assert session.ledger.verify(receipts=[receipt, alone]).ok
    plans = [plan_of(row["description"]) for row in rows]
    described = {digest(plan): json.loads(plan) for plan in plans}
    ((table, state),) = described[receipt.description]["public"]
    assert table == "wards"
    assert state.startswith("1:")
    assert "public" not in described[alone.description]


@pytest.mark.pitfall("A25")
def test_a_public_table_of_postgresql_is_read_as_it_is_now(postgres):
    def write(beds):
        postgres.load("public_wards", pa.table({"w": ["a"], "beds": [beds]}))

    postgres.load("public_visits", VISITS)
    write(10)
    tables = {name: table.model_copy(update={"relation": f"public_{name}"}) for name, table in CATALOG.tables.items()}
    sources = dict.fromkeys(tables, postgres.engine_url)
    with dp.testing.Session(dp.Catalog(tables=tables), sources=sources) as session:
        assert session.release(BEDS, epsilon=1).value("n") == 1_000
        assert session.release(BEDS, epsilon=1).repeated
        write(50)
        assert session.release(BEDS, epsilon=1).value("n") == 5_000


@pytest.mark.pitfall("A26")
def test_a_protected_file_under_a_public_name_is_refused_and_nothing_is_spent(tmp_path):
    path = tmp_path / "visits.csv"
    path.write_text("p,w,d\n" + "".join(f"{i},{'ab'[i % 2]},{i % 7}\n" for i in range(20)), encoding="utf-8")
    columns = {"p": {"type": "integer"}, "w": {"type": "text"}, "d": {"type": "integer"}}
    visits = {"columns": columns, "privacy_unit": "p", "max_rows": 1, "budget": {"epsilon": 1}}
    catalog = dp.Catalog.model_validate({"tables": {"visits": visits, "lookup": {"public": True, "columns": columns}}})
    link = tmp_path / "lookup.csv"
    link.symlink_to(path)
    ledger = dp.SQLiteLedger(tmp_path / "ledger.sqlite")
    for public in (path, link, str(tmp_path / "v*.csv")):
        with pytest.raises(CatalogError, match="which are protected"):
            dp.Session(catalog, sources={"visits": path, "lookup": public}, ledger=ledger)
    assert ledger.datasets() == []
    ledger.close()


@pytest.mark.pitfall("A26")
def test_a_view_of_a_protected_postgresql_table_is_not_public(postgres):
    postgres.load("seen_visits", VISITS)
    postgres.execute("CREATE VIEW seen_wards AS SELECT w, 1 AS beds FROM seen_visits")
    postgres.execute(f"GRANT SELECT ON seen_wards TO {ENGINE}")
    tables = {name: table.model_copy(update={"relation": f"seen_{name}"}) for name, table in CATALOG.tables.items()}
    with pytest.raises(CatalogError, match="which are protected"):
        dp.testing.Session(dp.Catalog(tables=tables), sources=dict.fromkeys(tables, postgres.engine_url))


def _everything_in(error, found=None):
    """All text that an exception, its causes and the frames of its traceback hold, frames of this test left out."""
    found = [] if found is None else found
    if error is None:
        return found
    found += [repr(error), str(error), repr(error.args), "".join(traceback.format_exception(error))]
    for frame, _ in traceback.walk_tb(error.__traceback__):
        if frame.f_code.co_filename != __file__:
            found += [repr(value) for value in frame.f_locals.values()]
    for other in (error.__cause__, error.__context__):
        _everything_in(other, found)
    return found


class Hidden(BaseException):
    """Raised past every `except Exception`, as panics of some drivers are."""


RAISED = [(verb, kind) for verb in VERBS for kind in (SystemExit, KeyboardInterrupt)]
RAISED += [(verb, kind) for verb in ("release", "above threshold") for kind in (GeneratorExit, Hidden, RuntimeError)]


@pytest.mark.parametrize(("verb", "kind"), RAISED)
@pytest.mark.guarantee("nothing of an exception after the charge goes on")
def test_nothing_of_what_an_engine_raises_goes_on_whatever_kind_it_is(verb, kind, monkeypatch):
    wards = pa.table({"w": ["a"], "beds": [10]})
    with dp.testing.Session(CATALOG, sources={"visits": VISITS, "wards": wards}) as session:
        engine = session._pipeline.engines["visits"]

        def failing(*_):
            cell = "alice, HIV+"
            raise kind(cell)

        monkeypatch.setattr(engine, "_create_rows", failing)
        with pytest.raises(KeyboardInterrupt if kind is KeyboardInterrupt else Failure) as failed:
            VERBS[verb](session)
        assert not [text for text in _everything_in(failed.value) if "alice" in text]
        assert "its charge stands" in str(failed.value) or "the charge of the" in str(failed.value)
        assert float(session.remaining("visits")) == 89


C, Out, A, G, TABLE = logical.ColumnRef, logical.Output, logical.Aggregate, logical.Grouping, logical.TableRef("t")
N = (Out("n", logical.Count()),)
HANDMADE = {
    "zero weight": A(TABLE, (Out("a", logical.Count()), Out("b", logical.CountDistinctUnits(), Fraction(0)))),
    "negative weight": A(
        TABLE, (Out("a", logical.Count(), Fraction(2)), Out("b", logical.CountDistinctUnits(), Fraction(-1)))
    ),
    "reversed bounds": A(TABLE, (Out("a", logical.Sum(C("x"), (Fraction(10), Fraction(0)))),)),
    "negative grid": A(TABLE, (Out("a", logical.Sum(C("x"), (Fraction(0), Fraction(10)), Fraction(-1))),)),
    "cap of half a row": A(TABLE, N, G(("g",), (None,), None, 0.5)),
    "the same key twice": A(TABLE, N, G(("g",), (("a", "a"),))),
    "an unhashable key": A(TABLE, N, G(("g",), ((["a"],),))),
    "a key that is no number": A(TABLE, N, G(("x",), ((float("nan"),),))),
    "quantile 2": A(
        TABLE, (Out("a", logical.QuantileMeasure(C("x"), Fraction(2), (Fraction(0), Fraction(9)), Fraction(1))),)
    ),
    "labels without bins": A(TABLE, N, G(("g",), (("a", "b"),), labels=(("p", "q"),))),
    "ranges backwards": A(TABLE, (Out("a", logical.Ranges(C("x"), (1, 2, 3), ((2, 0),))),)),
    "ranges out of range": A(TABLE, (Out("a", logical.Ranges(C("x"), (1, 2, 3), ((0, 9),))),)),
    "edges that are no numbers": A(TABLE, (Out("a", logical.Ranges(C("x"), (1.0, float("nan")), ((0, 1),))),)),
    "an operator": A(logical.Where(TABLE, logical.Compare("= 1 OR 1 =", C("x"), logical.Literal(1.0))), N),
    "an infinite constant": A(logical.Where(TABLE, logical.Compare("<", C("x"), logical.Literal(float("inf")))), N),
    "a constant of 65 bits": A(logical.Where(TABLE, logical.Compare("<", C("x"), logical.Literal(2**64))), N),
    "a hierarchy of one level twice": A(
        TABLE, (Out("a", logical.HierarchyCounts(("g", "g"))),), G(("g",), (("a", "b"),))
    ),
    "no aggregate": TABLE,
}


@pytest.mark.parametrize("name", HANDMADE)
@pytest.mark.pitfall("B3")
def test_a_plan_that_no_call_builds_is_refused_before_it_is_charged(name):
    rows = pa.table({"id": [1, 2], "g": ["a", "b"], "x": [1.0, 2.0]})
    words = {"keys": {"g": ["a", "b"]}, "bounds": {"x": (0, 50)}, "budget": dp.Budget(epsilon=1)}
    with dp.testing.protect(rows, name="t", privacy_unit="id", max_rows=5, **words) as session:
        query = Query(HANDMADE[name])
        with session.above_threshold(threshold=1, epsilon=0.1, sensitivity=9) as watch:
            smooth = partial(session.release, method=dp.SmoothSensitivity())
            for verb in (session.release, session.explain, smooth, lambda query, **_: watch.ask(query)):
                with pytest.raises(Refusal):
                    verb(query, epsilon=0.5)
        with pytest.raises(Refusal):
            session.release([query, dp.table("t").agg(n=dp.count())], epsilon=0.5)
        table = Frame(logical.Where(TABLE, logical.Not("x")))
        with pytest.raises(Refusal):
            session.online_ranges(table, "x", edges=[0, 1], total=1, threshold=1, epsilon=0.5)
        with pytest.raises(Refusal):
            session.release(table.choose(["a"], score=dp.score(by="g")), epsilon=0.5)
        assert float(session.remaining()) == pytest.approx(0.9)
