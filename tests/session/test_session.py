"""A session: what is charged and when, what a repeat costs, and what survives threads, restarts and forks."""

import datetime as dt
import json
import logging
import re
from fractions import Fraction

import pyarrow as pa
import pytest

import discreet as dp
from discreet.accounting.costs import EPSILON_UNITS, Cost
from discreet.errors import (
    FAILURE,
    BudgetError,
    CatalogError,
    NameNotFoundError,
    ParameterError,
    SourceError,
    UnitError,
)
from discreet.ledger import Kind, Receipt, State

BUDGET = dp.Budget(epsilon=1)
TINY = Fraction(1, 10**12)
VISITS = dp.table("visits")
COUNT = VISITS.agg(n=dp.count())
THREADS = 8


def rows(people=20, each=3):
    return pa.table(
        {
            "person": [f"p{i % people}" for i in range(people * each)],
            "ward": ["AB"[i % 2] for i in range(people * each)],
            "cost": [i % 100 for i in range(people * each)],
        }
    )


def opened(protect=dp.protect, source=None, **words):
    facts = {"privacy_unit": "person", "max_rows": 3, "keys": {"ward": ["A", "B"]}, "budget": BUDGET}
    facts["fixed_schema"] = True
    return protect(rows() if source is None else source, **({"name": "visits"} | facts | words))


@pytest.fixture
def session():
    with opened() as private:
        yield private


def spent(session):
    return session.ledger.spent("visits")


# What a question costs


def test_a_repeated_question_returns_the_stored_answer_at_no_cost(session):
    """Two draws of scale 3 * 10^12 are equal with probability below 1e-12."""
    first = session.release(COUNT, epsilon=TINY)
    once = spent(session)
    second = session.release(dp.table("visits").agg(n=dp.count()), epsilon=TINY)
    assert second == first
    assert (first.repeated, second.repeated) == (False, True)
    assert "the stored answer is free" in str(second)
    assert "the stored answer is free" not in str(first)
    assert spent(session) == once
    assert len(session.history()) == 2


def test_a_fresh_question_is_charged_and_drawn_anew_and_then_is_the_stored_answer(session):
    """Two draws of scale 3 * 10^12 are equal with probability below 1e-12."""
    first = session.release(COUNT, epsilon=TINY)
    fresh = session.release(COUNT, epsilon=TINY, fresh=True)
    assert fresh["n"] != first["n"]
    assert not fresh.repeated
    assert fresh.receipt["hash"] != first.receipt["hash"]
    assert spent(session).epsilon == 2 * TINY * EPSILON_UNITS
    assert session.release(COUNT, epsilon=TINY) == fresh


@pytest.mark.parametrize(
    "changed",
    [
        lambda s: s.release(COUNT, epsilon=2 * TINY),
        lambda s: s.release(VISITS.where(VISITS.cost > 5).agg(n=dp.count()), epsilon=TINY),
        lambda s: s.release(VISITS.agg(m=dp.count()), epsilon=TINY),
        lambda s: s.release(VISITS.group_by("ward").agg(n=dp.count()), epsilon=TINY),
        lambda s: s.release(VISITS.agg(n=dp.count_units()), epsilon=TINY),
    ],
    ids=["epsilon", "predicate", "name", "grouping", "measure"],
)
def test_another_question_is_charged(session, changed):
    session.release(COUNT, epsilon=TINY)
    once = spent(session)
    changed(session)
    assert spent(session).epsilon > once.epsilon


@pytest.mark.parametrize("delta", [0, 1e-9], ids=["pure", "approximate"])
@pytest.mark.parametrize("mechanism", [None, "laplace"])
@pytest.mark.parametrize(
    "query",
    [
        COUNT,
        VISITS.group_by("ward").agg(n=dp.count(), u=dp.count_units(), s=dp.sum("cost", bounds=(0, 50))),
        VISITS.where(VISITS.cost > 3).group_by("ward", max_groups=1).agg(m=dp.mean("cost", bounds=(-5, 50.5))),
        VISITS.agg(w=dp.count_distinct("ward", weight=3), n=dp.count(weight=0.1)),
    ],
    ids=["count", "several", "mean", "weights"],
)
def test_what_is_explained_is_what_is_charged_to_the_last_unit(query, mechanism, delta):
    with opened(budget=dp.Budget(epsilon=1, delta=delta)) as session:
        explained = session.explain(query, epsilon=0.3, mechanism=mechanism)
        planned = Cost(**explained.units)
        assert spent(session) == Cost(0, 0, 0, 0)
        assert [entry.kind for entry in session.history()] == [Kind.REGISTERED]
        assert "epsilon 0.3" in explained.cost
        release = session.release(query, epsilon=0.3, mechanism=mechanism)
        assert spent(session) == session.history()[-1].cost == planned
        assert Receipt.from_json(json.dumps(release.receipt)).cost == planned
        if planned.epsilon is not None:
            assert planned.epsilon == Fraction(3, 10) * EPSILON_UNITS


def test_the_margins_explained_are_the_margins_released(session):
    query = VISITS.group_by("ward").agg(n=dp.count(), s=dp.sum("cost", bounds=(0, 50)))
    explained = session.explain(query, epsilon=0.3)
    release = session.release(query, epsilon=0.3)
    for told, made in zip(explained.outputs, release.outputs, strict=True):
        assert made.margins == (told.margin,) * 2


def test_an_explanation_says_whether_the_question_fits_and_is_right(session):
    session.release(COUNT, epsilon=0.6)
    assert session.explain(COUNT, epsilon=0.4).fits
    assert not session.explain(COUNT, epsilon=0.400001).fits
    assert "IT DOES NOT FIT" in str(session.explain(COUNT, epsilon=0.400001))
    with pytest.raises(BudgetError):
        session.release(COUNT, epsilon=0.400001)
    session.release(COUNT, epsilon=0.4)


def test_remaining_falls_by_what_was_spent_and_says_for_whom(session):
    assert session.remaining().epsilon == 1
    session.release(COUNT, epsilon=0.25)
    left = session.remaining()
    assert (left.epsilon, float(left), left.dataset) == (Fraction(3, 4), 0.75, "visits")
    assert str(left).startswith("epsilon 0.75 left of epsilon 1, for one person, added or removed")
    assert str(left) in str(session)
    assert "epsilon 0.75 left of epsilon 1" in session._repr_html_()


def test_the_history_names_analysts_costs_and_states_in_order(session):
    session.release(COUNT, epsilon=0.25)
    with opened(analyst="ana") as other:
        other.release(COUNT, epsilon=0.5)
        with pytest.raises(BudgetError):
            other.release(COUNT, epsilon=0.5, fresh=True)
    entries = session.history()
    assert [entry.kind for entry in entries] == [Kind.REGISTERED, Kind.RESERVED, Kind.RESERVED, Kind.REJECTED]
    assert [entry.analyst for entry in entries[1:]] == ["owner", "ana", "ana"]
    assert [entry.state for entry in entries[1:]] == [State.ANSWERED, State.ANSWERED, State.REJECTED]
    assert [entry.cost.epsilon for entry in entries[1:]] == [EPSILON_UNITS // 4, EPSILON_UNITS // 2, 0]
    assert session.ledger.verify().ok


def test_receipts_verify_alone_and_against_the_ledger(session):
    receipts = [
        Receipt.from_json(json.dumps(session.release(COUNT, epsilon=0.1, fresh=True).receipt)) for _ in range(3)
    ]
    assert all(receipt.verify() for receipt in receipts)
    assert session.ledger.verify(receipts=receipts).ok


# Accuracy


@pytest.mark.parametrize("delta", [0, 1e-9], ids=["laplace", "gaussian"])
@pytest.mark.parametrize("margin", [3, 50, 4321, 0.5])
def test_epsilon_for_meets_its_margin_and_is_minimal_to_three_digits(margin, delta):
    with opened(budget=dp.Budget(epsilon=1, delta=delta)) as session:
        query = VISITS.group_by("ward").agg(n=dp.count(), u=dp.count_units())
        epsilon = session.epsilon_for(query, margin=margin)
        digits = f"{epsilon:.2e}"
        assert float(digits) == epsilon
        step = Fraction(10) ** (int(digits.split("e")[1]) - 2)
        assert max(output.margin for output in session.explain(query, epsilon=epsilon).outputs) <= margin
        less = session.explain(query, epsilon=Fraction(repr(epsilon)) - step)
        assert max(output.margin for output in less.outputs) > margin
        assert spent(session) == Cost(0, 0, 0, 0)


def test_epsilon_for_one_output_leaves_the_others_as_they_come(session):
    query = VISITS.agg(n=dp.count(), s=dp.sum("cost", bounds=(0, 100)))
    alone = session.epsilon_for(query, margin=20, output="n")
    assert alone < session.epsilon_for(query, margin=20)
    with pytest.raises(ParameterError, match="no such output"):
        session.epsilon_for(query, margin=20, output="m")


def test_epsilon_for_a_mean_needs_a_declared_size():
    query = VISITS.agg(m=dp.mean("cost", bounds=(0, 100)))
    with opened() as session, pytest.raises(ParameterError, match="private"):
        session.epsilon_for(query, margin=5)
    with opened(name="sized", rows=60) as session:
        epsilon = session.epsilon_for(dp.table("sized").agg(m=dp.mean("cost", bounds=(0, 100))), margin=20)
        explained = session.explain(dp.table("sized").agg(m=dp.mean("cost", bounds=(0, 100))), epsilon=epsilon)
        assert explained.outputs[0].margin <= 20


def test_a_margin_that_no_epsilon_reaches_is_refused(session):
    with pytest.raises(ParameterError, match="no epsilon up to"):
        session.epsilon_for(VISITS.agg(s=dp.sum("cost", bounds=(0, 2**50))), margin=1)


def test_another_confidence_changes_margins_and_neither_values_nor_spending(session):
    query = VISITS.group_by("ward").agg(n=dp.count(), m=dp.mean("cost", bounds=(0, 100)))
    usual = session.release(query, epsilon=0.5)
    once = spent(session)
    narrow, wide = (session.release(query, epsilon=0.5, confidence=level) for level in (0.5, 0.999))
    assert spent(session) == once
    assert narrow["n"] == usual["n"] == wide["n"]
    assert narrow["m"] == usual["m"] == wide["m"]
    assert narrow.margin("n") < usual.margin("n") < wide.margin("n")
    assert (narrow.confidence, wide.confidence) == (Fraction(1, 2), Fraction(999, 1000))
    assert "holds 50% of the time" in str(narrow)


@pytest.mark.parametrize("confidence", [0, 1, 1.5, float("nan"), True, "0.95", -0.1])
def test_a_confidence_that_is_none_is_refused_before_anything_is_charged(session, confidence):
    with pytest.raises(ParameterError):
        session.release(COUNT, epsilon=0.1, confidence=confidence)
    assert spent(session) == Cost(0, 0, 0, 0)


def test_a_release_saves_loads_and_reads_the_same(session, tmp_path):
    release = session.release(VISITS.group_by("ward").agg(n=dp.count()), epsilon=0.5)
    release.save(tmp_path / "release.json")
    assert dp.Release.load(tmp_path / "release.json") == release
    assert release.to_arrow().column_names == ["ward", "n", "n_margin"]


# Ledgers, versions, names


def test_the_default_ledger_is_under_the_home_and_its_path_is_printed(capsys, discreet_home):
    with opened():
        pass
    assert capsys.readouterr().err == f"discreet: the budget is kept in {discreet_home / 'ledger.sqlite'}\n"
    with opened(ledger=discreet_home / "other.sqlite"), opened(ledger=":memory:"):
        pass
    assert capsys.readouterr().err == ""
    assert (discreet_home / "other.sqlite").is_file()


def test_a_name_belongs_to_one_source(tmp_path):
    for name in ("one.csv", "two.csv"):
        (tmp_path / name).write_text("person,ward,cost\na,A,1\n")
    with opened(source=tmp_path / "one.csv") as session:
        session.release(COUNT, epsilon=TINY)
    with pytest.raises(SourceError, match="over another source") as refused:
        opened(source=tmp_path / "two.csv")
    assert "version=2" in refused.value.instead
    with opened(source=tmp_path / "two.csv", version=2):
        pass


def test_two_projects_with_a_file_of_the_same_name_are_told_apart_before_their_columns_are_compared(tmp_path):
    for folder, columns in (("first", "person,cost"), ("second", "user,amount")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "data.csv").write_text(f"{columns}\na,1\nb,2\n")
    words = {"max_rows": 1, "budget": dp.Budget(epsilon=1)}
    with dp.protect(tmp_path / "first" / "data.csv", privacy_unit="person", **words) as session:
        session.release(dp.table("data").agg(n=dp.count()), epsilon=0.1)
    with pytest.raises(SourceError, match="over another source") as refused:
        dp.protect(tmp_path / "second" / "data.csv", privacy_unit="user", **words)
    name = re.match(r'name="(\w+)"', refused.value.instead)[1]
    assert name == "second_data"
    with dp.protect(tmp_path / "second" / "data.csv", privacy_unit="user", name=name, **words) as other:
        assert other.release(dp.table(name).agg(n=dp.count()), epsilon=0.1).private


def test_corrected_data_under_the_same_name_is_told_to_be_a_repeat_and_how_it_is_asked_anew(tmp_path):
    file = tmp_path / "data.csv"
    words = {"privacy_unit": "person", "max_rows": 1, "budget": dp.Budget(epsilon=1)}
    query = dp.table("data").agg(n=dp.count())
    for rows in ("a\n", "a\nb\n"):
        file.write_text(f"person\n{rows}")
        with dp.protect(file, **words) as session:
            release = session.release(query, epsilon=0.1)
    assert release.repeated
    stored = release.receipt["time"][:16].replace("T", " ")
    assert f"answered before, on {stored} UTC; the stored answer is free" in str(release)
    assert "dp.protect(..., version=2) answers from it, charged to the same budget" in str(release)
    with dp.protect(file, version=2, **words) as session:
        assert not session.release(query, epsilon=0.1).repeated
        assert session.remaining().epsilon == Fraction(8, 10)


def test_versions_share_one_cap_and_have_answers_of_their_own():
    """Two draws of scale 3 * 10^12 are equal with probability below 1e-12."""
    with opened() as first, opened(version=2) as second:
        old, new = (s.release(COUNT, epsilon=TINY) for s in (first, second))
        assert (old.version, new.version) == (1, 2)
        assert old["n"] != new["n"]
        assert spent(first) == spent(second) == Cost(2, spent(first).rho, 0, spent(first).rho)
        with pytest.raises(BudgetError):
            second.release(COUNT, epsilon=1)
    with opened(version=1) as again:
        assert again.release(COUNT, epsilon=TINY) == old


def test_versions_are_numbered_upwards():
    opened(version=2).close()
    opened(version=5).close()
    opened(version=2).close()
    with pytest.raises(SourceError, match="version 5 already is"):
        opened(version=3)


@pytest.mark.parametrize(
    ("words", "error", "text"),
    [
        ({"budget": dp.Budget(epsilon=2)}, BudgetError, "only set_cap changes a budget"),
        ({"budget": dp.Budget(epsilon=1, delta=1e-9)}, BudgetError, "only set_cap changes a budget"),
        ({"privacy_unit": "ward"}, UnitError, "it is registered for"),
        ({"privacy_unit": dp.ROW, "max_rows": None}, UnitError, "it is registered for"),
        ({"neighbours": "replace_one"}, UnitError, "it is registered for"),
        ({"missing_units": "one_unit"}, CatalogError, "missing_units is registered as 'drop', not 'one_unit'"),
        ({"types": {"cost": "text"}}, CatalogError, "column 'cost' is registered as 'integer', not 'text'"),
    ],
    ids=["epsilon", "delta", "unit", "row", "neighbours", "missing units", "types"],
)
def test_a_registered_name_keeps_its_promise_from_the_first_charge_on(words, error, text):
    opened(**words).close()
    with opened(types={"cost": "integer"}) as session:
        session.release(COUNT, epsilon=TINY)
    with pytest.raises(error, match=text):
        opened(**words)


def test_a_wrong_unit_is_corrected_by_saying_it_right_while_nothing_was_charged(tmp_path):
    path = tmp_path / "visits.csv"
    path.write_text("person,ward,cost\n" + "".join(f"p{i % 5},A,{i}\n" for i in range(20)))
    rows = dp.protect(path, privacy_unit=dp.ROW, budget=BUDGET)
    with rows as wrong, dp.protect(path, privacy_unit="person", max_rows=3, budget=BUDGET) as right:
        assert [entry.kind for entry in right.history()] == [Kind.REGISTERED, Kind.REGISTERED]
        with pytest.raises(SourceError, match="earlier registration of 'visits'"):
            wrong.release(COUNT, epsilon=0.5)
        assert spent(right) == Cost(0, 0, 0, 0)
        assert "one person" in right.release(COUNT, epsilon=0.5).guarantee
        assert right.ledger.verify().ok
    with pytest.raises(UnitError, match="registered for one person"):
        dp.protect(path, privacy_unit=dp.ROW, budget=BUDGET)


def test_a_correction_needs_a_source_with_the_declared_columns(tmp_path):
    (tmp_path / "catalog.yaml").write_text(CATALOG.partition("  people:")[0])
    (tmp_path / "visits.csv").write_text("person,ward,cost\na,A,1\n")
    with dp.Session(tmp_path / "catalog.yaml") as session:
        kept = session.ledger.registration("visits")
    (tmp_path / "catalog.yaml").write_text(CATALOG.partition("  people:")[0].replace("cost:", "costs:"))
    with pytest.raises(SourceError, match="column 'costs'"):
        dp.Session(tmp_path / "catalog.yaml")
    with session.ledger as ledger:
        assert ledger.registration("visits") == kept


def test_raising_a_cap_is_a_new_promise_that_the_open_session_follows(session):
    session.release(COUNT, epsilon=1)
    session.ledger.set_cap("visits", dp.Budget(epsilon=2), reason="the yearly review")
    assert session.remaining().epsilon == 1
    session.release(COUNT, epsilon=1, fresh=True)
    assert [entry.kind for entry in session.history()][2] == Kind.CAPPED


def test_another_promise_over_the_same_source_is_said_to_add_up(tmp_path, caplog):
    path = tmp_path / "visits.csv"
    path.write_text("person,ward,cost\na,A,1\n")
    with opened(source=path), opened(source=path, name="copy"):
        assert "'copy' and 'visits' have the same source: their privacy budgets add up" in caplog.text


# The whole catalog


CATALOG = """
catalog: discreet.catalog/1
tables:
  visits:
    source: visits.csv
    privacy_unit: person
    max_rows: 3
    budget: {epsilon: 1}
    columns:
      person: {type: text}
      ward: {type: text, keys: [A, B]}
      cost: {type: integer, bounds: [0, 50]}
  people:
    source: people.csv
    privacy_unit: dp.ROW
    budget: {epsilon: 2, delta: 1e-9}
    columns: {age: {type: integer}}
"""


def test_a_session_over_a_written_catalog_has_a_promise_for_each_table(tmp_path):
    (tmp_path / "catalog.yaml").write_text(CATALOG)
    (tmp_path / "visits.csv").write_text("person,ward,cost\n" + "".join(f"p{i},A,{i}\n" for i in range(60)))
    (tmp_path / "people.csv").write_text("age\n30\n40\n")
    with dp.testing.Session(tmp_path / "catalog.yaml") as session:
        query = VISITS.group_by("ward").agg(n=dp.count(), s=dp.sum("cost"))
        release = session.release(query, epsilon=1)
        assert (release["n"], release["s"]) == ((60, 0), (sum(min(i, 50) for i in range(60)), 0))
        assert session.release(dp.table("people").agg(n=dp.count()), epsilon=1).value() == 2
        assert session.remaining("visits").epsilon == 0
        assert 0 < session.remaining("people").epsilon < 2
        with pytest.raises(ParameterError, match="the session has several"):
            session.remaining()
        assert "'visits'" in str(session)
        assert "'people'" in str(session)


def test_a_table_without_a_source_or_without_a_budget_is_refused():
    catalog = dp.Catalog.parse(CATALOG.replace("    source: visits.csv\n", ""))
    with pytest.raises(SourceError, match="without a source"):
        dp.Session(catalog)
    catalog = dp.Catalog.parse(CATALOG.replace("    budget: {epsilon: 1}\n", ""))
    with pytest.raises(BudgetError, match="without a budget"):
        dp.Session(catalog, sources={"visits": rows(), "people": pa.table({"age": [1]})})


# After closing, and failing


def test_a_closed_session_refuses_before_it_charges():
    session = opened()
    session.release(COUNT, epsilon=0.1)
    once = spent(session)
    session.close()
    for ask in (session.release, session.explain):
        with pytest.raises(SourceError, match="engine is gone"):
            ask(COUNT, epsilon=0.1)
    assert spent(session) == once
    assert session.remaining().epsilon == Fraction(9, 10)


@pytest.mark.pitfall("B3")
def test_a_failure_after_the_charge_says_one_sentence_and_the_charge_stands(tmp_path, caplog):
    path = tmp_path / "visits.csv"
    path.write_text("person,ward,cost\na,A,1\n")
    with opened(source=path) as session, caplog.at_level(logging.DEBUG):
        path.unlink()
        caplog.clear()
        with pytest.raises(dp.Failure) as failed:
            session.release(COUNT, epsilon=0.25)
        assert str(failed.value) == FAILURE
        assert failed.value.__cause__ is None
        assert failed.value.__context__ is None
        assert session.remaining().epsilon == Fraction(3, 4)
        assert session.history()[-1].state == State.FORFEITED
        (record,) = caplog.records
        assert record.getMessage().startswith("a query failed after its charge: class ")
        assert "visits.csv" not in record.getMessage()
        path.write_text("person,ward,cost\na,A,1\n")
        session.release(COUNT, epsilon=0.25)
        assert session.remaining().epsilon == Fraction(1, 2)


def test_an_interrupt_after_the_charge_is_passed_on_and_the_charge_stands(session, monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(session._pipeline, "randomize", interrupted)
    with pytest.raises(KeyboardInterrupt):
        session.release(COUNT, epsilon=0.25)
    assert session.remaining().epsilon == Fraction(3, 4)
    assert session.history()[-1].state == State.FORFEITED


def test_a_forfeit_that_cannot_be_recorded_still_says_the_one_sentence(session, monkeypatch, caplog):
    def broken(*_):
        raise RuntimeError("CANARY")

    monkeypatch.setattr(session._pipeline, "randomize", broken)
    monkeypatch.setattr(session.ledger, "forfeit", broken)
    with pytest.raises(dp.Failure):
        session.release(COUNT, epsilon=0.25)
    assert "CANARY" not in caplog.text
    assert session.history()[-1].state == State.RESERVED


@pytest.mark.parametrize("thing", [None, "SELECT 1", VISITS, dp.count(), 3])
def test_only_queries_are_answered(session, thing):
    for ask in (
        lambda: session.release(thing, epsilon=0.1),
        lambda: session.explain(thing, epsilon=0.1),
        lambda: session.epsilon_for(thing, margin=10),
    ):
        with pytest.raises(ParameterError, match="only aggregates are released"):
            ask()


# Slices: a new budget for new data only

MONTHS = ("2026-10-01", "2026-11-01", "2026-12-01")
SUM = "in several slices is protected by each budget, and over all of them by their sum"


def month(number):
    return dp.Slice("seen", MONTHS[number], MONTHS[number + 1])


def monthly(path, months=(0, 1)):
    """A catalog of slices of one file, by month; one person has rows in all months, and one row has no time."""
    (path / "visits.csv").write_text(
        "person,seen,cost\n"
        + "".join(f"p{i % 7},2026-{9 + i % 4:02}-{1 + i % 28:02} 12:00,{i}\n" for i in range(84))
        + "p1,,1\np1,soon,1\nlone,2026-10-31 23:59:59.999999,1\nlone,2026-11-01,2\n"
    )
    facts = {
        "source": "visits.csv",
        "privacy_unit": "person",
        "max_rows": 4,
        "budget": {"epsilon": 1},
        "columns": {"person": {"type": "text"}, "seen": {"type": "timestamp"}, "cost": {"type": "integer"}},
    }
    tables = {
        f"visits-2026-{10 + n}": facts
        | {"slice": {"of": "visits", "column": "seen", "start": MONTHS[n], "end": MONTHS[n + 1]}}
        for n in months
    }
    catalog = path / "catalog.yaml"
    catalog.write_text(dp.Catalog.model_validate({"tables": tables}).to_yaml())
    return catalog


def asked(name):
    return dp.table(name).agg(n=dp.count(), u=dp.count_units(), s=dp.sum("cost", bounds=(0, 100)))


def test_several_slices_of_one_file_have_rows_and_a_budget_each(tmp_path):
    with dp.testing.Session(monthly(tmp_path)) as session:
        found = {name: session.release(asked(name), epsilon=0.5) for name in session.catalog.tables}
        lone = dp.table("visits-2026-10").where(dp.table("visits-2026-10").person == "lone").agg(n=dp.count())
        assert session.release(lone, epsilon=0.1).value() == 1
        assert [release.value("u") for release in found.values()] == [8, 8]
        assert [release.value("n") for release in found.values()] == [7 * 3 + 1, 7 * 3 + 1]
        assert found["visits-2026-10"].receipt["question"] != found["visits-2026-11"].receipt["question"]
        assert session.remaining("visits-2026-10").epsilon == Fraction(4, 10)
        assert session.remaining("visits-2026-11").epsilon == Fraction(1, 2)


@pytest.mark.pitfall("A8")
def test_no_query_reads_a_row_outside_the_slice(tmp_path):
    with dp.testing.Session(monthly(tmp_path, months=(0,))) as session:
        table = dp.table("visits-2026-10")
        outside = table.where((table.seen < "2026-10-01") | (table.seen >= "2026-11-01") | table.seen.is_missing())
        redefined = table.derive(seen=table.cost)
        assert session.release(outside.agg(n=dp.count()), epsilon=0.1).value() == 0
        everybody = session.release(table.agg(n=dp.count()), epsilon=0.1).value()
        assert session.release(redefined.where(table.seen >= 0).agg(n=dp.count()), epsilon=0.1).value() == everybody
        assert "seen" in session.explain(table.agg(n=dp.count()), epsilon=0.1).columns_read


def test_every_text_about_a_slice_says_which_rows_and_that_promises_add_up(tmp_path):
    with dp.Session(monthly(tmp_path)) as session:
        query = asked("visits-2026-10")
        release = session.release(query, epsilon=0.5)
        texts = {
            "explanation": str(session.explain(query, epsilon=0.5)),
            "explanation in HTML": session.explain(query, epsilon=0.5)._repr_html_().replace("&#x27;", "'"),
            "remaining": str(session.remaining("visits-2026-10")),
            "session": str(session),
            "release": str(release),
            "repeat": str(session.release(query, epsilon=0.5)),
            "saved": dp.Release.from_json(json.loads(json.dumps(release.to_json()))).guarantee,
        }
        for what, text in texts.items():
            assert "the rows of 'visits' from 2026-10-01 until before 2026-11-01 by 'seen'" in text, what
            assert f"one person {SUM}" in text, what


def test_the_table_that_slices_are_of_is_refused_by_name_and_its_slices_are_named(tmp_path):
    with dp.Session(monthly(tmp_path)) as session:
        for ask in (
            lambda: session.explain(COUNT, epsilon=0.1),
            lambda: session.release(COUNT, epsilon=0.1),
            lambda: session.remaining("visits"),
            lambda: session.history("visits"),
        ):
            with pytest.raises(NameNotFoundError, match=r"slices of it.*\n.*visits-2026-11"):
                ask()


def test_slices_of_one_table_are_no_surprise_and_other_promises_over_their_source_are(tmp_path, caplog):
    path = monthly(tmp_path)
    with dp.Session(path):
        assert "add up" not in caplog.text
    words = {"privacy_unit": "person", "max_rows": 4, "budget": BUDGET}
    dp.protect(tmp_path / "visits.csv", name="mine", **words).close()
    assert "'mine' and 'visits-2026-10' have the same source: their privacy budgets add up" in caplog.text
    caplog.clear()
    dp.protect(tmp_path / "visits.csv", name="stays", slice=month(0), types={"seen": "timestamp"}, **words).close()
    assert "'stays-2026-10' and 'visits-2026-10' have the same source: their privacy budgets add up" in caplog.text


def test_the_same_rows_get_no_second_budget(tmp_path):
    with dp.Session(monthly(tmp_path)):
        pass
    path = tmp_path / "visits.csv"
    words = {"privacy_unit": "person", "max_rows": 4, "budget": BUDGET, "types": {"seen": "timestamp"}}
    for refused, match in (
        ({"slice": dp.Slice("seen", "2026-10-15", "2026-10-20")}, "it overlaps 'visits-2026-10'"),
        ({"slice": dp.Slice("seen", "2026-09-01", "2027-01-01")}, "it overlaps 'visits-2026-10'"),
        ({}, "has a privacy budget of its own"),
    ):
        with pytest.raises(BudgetError, match=match):
            dp.protect(path, **words, **refused)
    with pytest.raises(BudgetError, match="goes by 'seen' as timestamp, and a row could be in both"):
        dp.protect(path, slice=dp.Slice("seen", "2027-01-01", "2027-02-01"), **words | {"types": {"seen": "date"}})
    with pytest.raises(UnitError, match="a slice of the same table, protects"):
        dp.protect(path, slice=dp.Slice("seen", "2027-01-01", "2027-02-01"), **words | {"privacy_unit": dp.ROW})
    with dp.protect(path, slice=dp.Slice("seen", "2027-01-01", "2027-02-01"), **words) as session:
        assert session.remaining().epsilon == 1


@pytest.mark.parametrize("charged", [False, True])
def test_a_registered_slice_keeps_its_period(tmp_path, charged):
    catalog = monthly(tmp_path, months=(0,))
    with dp.Session(catalog) as session:
        if charged:
            session.release(asked("visits-2026-10"), epsilon=0.1)
    catalog.write_text(catalog.read_text().replace("2026-11-01", "2026-11-02"))
    with pytest.raises(BudgetError, match="as another part of a table"):
        dp.Session(catalog)
    catalog.write_text(catalog.read_text().replace("2026-11-02", "2026-11-01"))
    with dp.Session(catalog) as session:
        assert session.remaining().epsilon == (Fraction(9, 10) if charged else 1)


def test_a_slice_goes_by_another_column_only_before_its_first_charge(tmp_path):
    frame = rows().append_column("seen", pa.array([dt.date(2026, 10, 1)] * 60))
    frame = frame.append_column("paid", pa.array([dt.date(2026, 11, 1)] * 60))
    by_payment = dp.Slice("paid", *MONTHS[:2])
    with opened(dp.testing.protect, frame, slice=by_payment) as session:
        ledger = session.ledger
    with opened(dp.testing.protect, frame, slice=month(0), ledger=ledger) as session:
        assert session.release(dp.table("visits-2026-10").agg(n=dp.count()), epsilon=0.1).value() == 60
    with pytest.raises(CatalogError, match=r"slice is registered as {'column': 'seen'"):
        opened(dp.testing.protect, frame, slice=by_payment, ledger=ledger)
    with pytest.raises(BudgetError, match="goes by 'seen' as date"):
        opened(dp.testing.protect, frame, slice=by_payment, ledger=ledger, version=2)
