"""Collections of DAP: the integers of their reports, a file that is untouched before a charge, and refusals."""

import itertools
import json
import os
import threading
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest

import discreet as dp
from discreet.engines.backends import dap
from discreet.errors import Failure, ParameterError, SourceError, UnsupportedError
from discreet.planner.budget.price import Price
from discreet.session.arguments import request_of

BUDGET = dp.Budget(epsilon=10)


HOUR = (1_790_000_000, 3_600)


def _collection(path, kind="histogram", interval=HOUR, **facts):
    return dap.Collection(path / "votes.json", task="votes", kind=kind, interval=interval, **facts)


def _open(collection, *, exact=False, ledger=None, unit=None, **facts):
    unit = {"privacy_unit": dp.ROW} if unit is None else unit
    named = {"name": "votes", **unit, **facts, "budget": BUDGET}
    if exact:
        return dp.testing.protect(collection, **named)
    return dp.protect(collection, **named, ledger=ledger or ":memory:")


def _write(collection, reports):
    """The file that aggregators of DAP would give for these reports."""
    if collection.kind == "histogram":
        vector = [reports.count(place) for place in range(collection.length)]
    elif collection.kind == "sum":
        vector = [sum(reports)]
    else:
        vector = [sum(column) for column in zip(*reports, strict=True)] if reports else [0] * collection.length
    collection.write(vector, len(reports))


def _rows(collection, reports, clients=None):
    """The same reports as a table of rows."""
    names = [name for name in collection.columns if name != "client"]
    cells = [(each,) if isinstance(each, int) else each for each in reports]
    columns = {name: pa.array([cell[i] for cell in cells], pa.int64()) for i, name in enumerate(names)}
    if clients is not None:
        columns["client"] = pa.array(clients, pa.int64())
    return pa.table(columns)


VOTES = dp.table("votes")
QUERIES = {
    "histogram": [
        VOTES.group_by("bucket").agg(n=dp.count()),
        VOTES.agg(n=dp.count()),
        VOTES.agg(m=dp.mean("bucket", bounds=(0, 3))),
        VOTES.agg(n=dp.count(), s=dp.sum("bucket", bounds=(0, 5))),
    ],
    "sum": [VOTES.agg(s=dp.sum("value", bounds=(0, 9))), VOTES.agg(m=dp.mean("value", bounds=(0, 9)))],
    "vector": [VOTES.agg(a=dp.sum("v0", bounds=(0, 9)), b=dp.mean("v1", bounds=(0, 9)), n=dp.count())],
}
REPORTS = {
    "histogram": ([0, 1, 1, 3, 3, 3], {"length": 4}),
    "sum": ([0, 9, 4, 4, 7], {"largest": 9}),
    "vector": ([(0, 9), (1, 1), (9, 0)], {"length": 2, "largest": 9}),
}
KEYS = {"keys": {"bucket": [0, 1, 2, 3, 7]}}


@pytest.mark.parametrize("kind", REPORTS)
@pytest.mark.parametrize("relation", ["add_remove", "replace_one"])
def test_answers_are_those_of_a_table_with_a_row_for_each_report(tmp_path, kind, relation):
    reports, facts = REPORTS[kind]
    collection = _collection(tmp_path, kind, **facts)
    _write(collection, reports)
    keys = KEYS if kind == "histogram" else {}
    with (
        _open(collection, exact=True, neighbours=relation, **keys) as ours,
        _open(_rows(collection, reports), exact=True, neighbours=relation, fixed_schema=True, **keys) as rows,
    ):
        for query in QUERIES[kind]:
            one, other = (session.release(query, epsilon=1).to_arrow() for session in (ours, rows))
            assert one.equals(other)
            planned = [session._pipeline.plan(_request(session, query))[1] for session in (ours, rows)]
            assert planned[0].event == planned[1].event


def _request(session, query):
    return request_of(query, session._modules, Price(Fraction(1)), None, None)


def _integers(collection, query, reports, **facts):
    _write(collection, reports)
    with _open(collection, exact=True, **facts) as session:
        plan = session._pipeline.plan(_request(session, query))[1]
        engine = session._pipeline.engine("votes")
        return plan, engine.run(engine.prepare(plan.pushdown))


@pytest.mark.guarantee("engines.backends.dap")
@pytest.mark.parametrize("most", [None, 1, 3])
@pytest.mark.parametrize("kind", REPORTS)
def test_reports_of_one_unit_move_integers_by_the_stated_sensitivity_and_some_reach_it(tmp_path, kind, most):
    """The lemma test: removal of the unit's reports, over all that it may report."""
    reports, facts = REPORTS[kind]
    collection = _collection(tmp_path, kind, **facts, max_reports=most)
    unit = {"privacy_unit": "client", "max_rows": most} if most else {"privacy_unit": dp.ROW}
    values = sorted(set(reports))
    for query in QUERIES[kind][:2]:
        keys = KEYS if kind == "histogram" else {}
        plan, without = _integers(collection, query, reports, unit=unit, **keys)
        reached = [0] * len(without)
        stated = [int(noised.sensitivity.l1) for noised in plan.noisy_measures]
        for own in itertools.combinations_with_replacement(values, most or 1):
            _, with_unit = _integers(collection, query, [*reports, *own], unit=unit, **keys)
            pairs = zip(without, with_unit, strict=True)
            moved = [sum(abs(b - a) for a, b in zip(*columns, strict=True)) for columns in pairs]
            assert all(each <= bound for each, bound in zip(moved, stated, strict=True))
            reached = list(map(max, reached, moved))
        assert reached == stated


@pytest.mark.pitfall("B3")
def test_nothing_of_the_file_is_touched_before_a_charge(tmp_path):
    """A pipe that nobody writes to would block whoever opens it; a file that is missing would fail."""
    collection = _collection(tmp_path, length=4)
    with _open(collection, **KEYS) as session:
        for query in QUERIES["histogram"]:
            assert session.explain(query, epsilon=1).fits
            assert session.epsilon_for(VOTES.agg(n=dp.count()), margin=10) > 0
        os.mkfifo(collection.path)
        for query in QUERIES["histogram"]:
            assert session.explain(query, epsilon=1).fits
        assert float(session.remaining()) == 10


@pytest.mark.pitfall("A25")
@pytest.mark.guarantee("engines.backends.dap")
def test_a_new_batch_at_the_same_path_is_another_source_and_is_never_answered_by_stored_numbers(tmp_path):
    query, ledger = VOTES.group_by("bucket").agg(n=dp.count()), str(tmp_path / "ledger.sqlite")
    first, second = (_collection(tmp_path, length=2, interval=(start, 3_600)) for start in (0, 3_600))
    keys = {"keys": {"bucket": [0, 1]}}
    _write(first, [0] * 1_000)
    with _open(first, ledger=ledger, **keys) as session:
        stored = session.release(query, epsilon=1).to_arrow()["n"].to_pylist()
    _write(second, [1] * 9_000)
    with pytest.raises(SourceError, match="version=2"):
        _open(second, ledger=ledger, **keys)
    with _open(second, ledger=ledger, version=2, **keys) as session:
        fresh = session.release(query, epsilon=1).to_arrow()["n"].to_pylist()
        assert float(session.remaining()) == 8  # both versions share one budget
    assert (stored[0] > 500, fresh[0] < 500, fresh[1] > 8_000) == (True, True, True)
    with _open(first, ledger=ledger, **keys) as session, pytest.raises(Failure, match="its charge stands"):
        session.release(VOTES.agg(n=dp.count()), epsilon=1)


def test_an_interval_and_numbers_are_kept_as_plain_integers(tmp_path):
    sizes = {"length": np.int64(4), "max_reports": np.int64(2), "interval": [np.int64(5), np.int64(60)]}
    collection = _collection(tmp_path, **sizes)
    kept = (collection.length, collection.max_reports, *collection.interval)
    assert kept == (4, 2, 5, 60)
    assert {type(each) for each in kept} == {int}
    assert dap.source(collection, None).identity.endswith("/votes.json#votes@5+60")


@pytest.mark.parametrize("interval", [(0, 0), (-1, 60), (0, 60, 1), 60, None, (0, True), (0.5, 60), "ab"])
def test_an_interval_is_a_start_and_a_duration_in_seconds(tmp_path, interval):
    with pytest.raises(ParameterError, match="interval"):
        _collection(tmp_path, interval=interval)


@pytest.mark.parametrize(
    "damage", ["missing", "pipe", "text", "task", "sum", "negative", "boolean", "length", "reports", "interval"]
)
def test_a_failure_after_the_charge_says_one_sentence_and_stands_charged(tmp_path, damage):
    collection = _collection(tmp_path, length=4)
    _write(collection, [0, 1, 1, 3])
    fields = json.loads(collection.path.read_text())
    changes = {
        "task": {"task": "4242"},
        "sum": {"vector": [1, 2, 0, 4242]},
        "negative": {"vector": [1, 4, 0, -1]},
        "boolean": {"vector": [1, 2, False, True]},
        "length": {"vector": [1, 3]},
        "interval": {"interval": [HOUR[0] + HOUR[1], HOUR[1]]},
        "reports": {"reports": 2**60, "vector": [2**60, 0, 0, 0]},
    }
    collection.path.unlink()
    if damage == "pipe":
        os.mkfifo(collection.path)
    elif damage != "missing":
        collection.path.write_text("4242{" if damage == "text" else json.dumps(fields | changes[damage]))
    outcomes = []

    def ask():
        with _open(collection, **KEYS) as session:
            try:
                session.release(VOTES.agg(n=dp.count()), epsilon=1)
            except Failure as error:
                outcomes.append((str(error), session.remaining()))

    thread = threading.Thread(target=ask, daemon=True)
    thread.start()
    thread.join(timeout=60)
    assert [(text, float(left)) for text, left in outcomes] == [
        ("the query failed after its data was opened; its charge stands, and the owner's log has the details", 9.0)
    ]


REFUSED = {
    "a condition": VOTES.where(VOTES.bucket == 1).agg(n=dp.count()),
    "another group": VOTES.derive(low=VOTES.bucket < 2).group_by("low", keys={"low": [True, False]}).agg(n=dp.count()),
    "a median": VOTES.agg(m=dp.median("bucket", bounds=(0, 3))),
    "narrow bounds": VOTES.agg(s=dp.sum("bucket", bounds=(0, 2))),
    "a sum in groups": VOTES.group_by("bucket").agg(s=dp.sum("bucket", bounds=(0, 3))),
    "a variance": VOTES.agg(v=dp.variance("bucket", bounds=(0, 3))),
    "another grid": VOTES.agg(s=dp.sum("bucket", bounds=(0, 3), grid=0.5)),
}


@pytest.mark.parametrize("what", REFUSED)
def test_a_query_that_one_vector_does_not_answer_is_refused_and_costs_nothing(tmp_path, what):
    collection = _collection(tmp_path, length=4)
    with _open(collection, **KEYS) as session:
        with pytest.raises(UnsupportedError, match="no single report"):
            session.release(REFUSED[what], epsilon=1)
        assert float(session.remaining()) == 10


def test_clients_are_a_unit_only_where_their_reports_are_bounded_upstream(tmp_path):
    with pytest.raises(dp.Refusal, match="client"):
        _open(_collection(tmp_path, length=4), unit={"privacy_unit": "client", "max_rows": 3})
    bounded = _collection(tmp_path, length=4, max_reports=3)
    with (
        _open(bounded, unit={"privacy_unit": "client", "max_rows": 2}, **KEYS) as session,
        pytest.raises(UnsupportedError, match="none of a client can be left out"),
    ):
        session.explain(VOTES.agg(n=dp.count()), epsilon=1)
    narrow = {"privacy_unit": "client", "max_rows": 3, "max_groups": 1}
    with (
        _open(bounded, unit=narrow, **KEYS) as session,
        pytest.raises(UnsupportedError, match="none of a client can be left out"),
    ):
        session.explain(VOTES.group_by("bucket").agg(n=dp.count()), epsilon=1)
    with (
        _open(bounded, unit={"privacy_unit": "bucket", "max_rows": 3}, **KEYS) as session,
        pytest.raises(UnsupportedError, match="none of a client can be left out"),
    ):
        session.explain(VOTES.agg(n=dp.count()), epsilon=1)
    with _open(bounded, unit={"privacy_unit": "client", "max_rows": 3}, **KEYS) as session:
        assert "one client" in str(session.explain(VOTES.agg(n=dp.count()), epsilon=1))


def test_a_report_is_what_is_protected_where_nothing_bounds_clients(tmp_path):
    with _open(_collection(tmp_path, length=4), **KEYS) as session:
        assert "protects rows, not people" in str(session.explain(VOTES.agg(n=dp.count()), epsilon=1))


def test_columns_and_types_that_reports_do_not_have_are_refused(tmp_path):
    with pytest.raises(SourceError, match="whole numbers"):
        _open(_collection(tmp_path, length=4), types={"bucket": "text"})
    with _open(_collection(tmp_path, length=4), **KEYS) as session, pytest.raises(dp.Refusal):
        session.explain(VOTES.agg(s=dp.sum("value", bounds=(0, 1))), epsilon=1)


@pytest.mark.parametrize(
    "facts",
    [
        {"kind": "sum", "length": 2},
        {"kind": "histogram", "largest": 2},
        {"kind": "median"},
        {"kind": "vector", "length": 2**21},
        {"kind": "vector", "length": 0},
        {"kind": "histogram", "length": 2, "max_reports": 0},
    ],
)
def test_declarations_that_no_aggregate_has_are_refused(tmp_path, facts):
    with pytest.raises(ParameterError):
        _collection(tmp_path, **facts)


def test_a_file_of_a_collection_is_readable_by_its_owner_alone(tmp_path):
    collection = _collection(tmp_path, length=2)
    for _ in range(2):
        _write(collection, [0, 1])
        assert collection.path.stat().st_mode & 0o077 == 0
        assert list(tmp_path.iterdir()) == [collection.path]
        collection.path.chmod(0o644)  # a file that was there before, which others may read
