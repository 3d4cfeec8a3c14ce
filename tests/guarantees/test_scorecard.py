"""The items of the scorecard that this release enforces, through the public interface: G2, G4, G5, G6, A8 and D6."""

from fractions import Fraction

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import discreet as dp
from discreet.errors import BudgetError, ComparisonError, UnitError
from discreet.unit import ROW, unit_of

ROWS = pa.table({"id": ["a", "b"], "x": [1, 2]})
T = dp.table("t")


def opened(rows=ROWS, **words):
    facts = {"name": "t", "privacy_unit": "id", "max_rows": 2, "budget": dp.Budget(epsilon=1)}
    return dp.protect(rows, **(facts | words))


# G2: an owner's ceiling on epsilon; above it a recorded reason


@pytest.mark.parametrize("reason", [None, "", "   "])
def test_g2_an_epsilon_above_the_ceiling_is_refused_without_a_reason(reason):
    with pytest.raises(BudgetError, match="ceiling of 10"):
        dp.Budget(epsilon=10.0001, reason=reason)
    with pytest.raises(BudgetError, match="ceiling of 1"):
        dp.Budget(epsilon=2, ceiling=1, reason=reason)
    dp.Budget(epsilon=10, reason=reason)


def test_g2_a_reason_is_recorded_for_good(tmp_path):
    path = tmp_path / "ledger.sqlite"
    opened(budget=dp.Budget(epsilon=20, reason="a teaching copy of public data"), ledger=path).close()
    with dp.SQLiteLedger(path) as ledger:
        assert ledger.budget("t").reason == "a teaching copy of public data"
        assert "a teaching copy of public data" in ledger.history("t")[0].detail


def test_g2_a_catalog_is_held_to_the_ceiling_too(tmp_path):
    text = "tables: {t: {privacy_unit: id, max_rows: 2, budget: {epsilon: 20}, columns: {id: {type: text}}}}"
    with pytest.raises(BudgetError, match="ceiling"):
        dp.Session(dp.Catalog.parse(text), sources={"t": ROWS})


def test_g2_raising_a_cap_above_the_ceiling_needs_a_reason_of_its_own():
    with opened() as session, pytest.raises(BudgetError, match="ceiling"):
        session.ledger.set_cap("t", dp.Budget(epsilon=11), reason="more questions")


# G4: delta refused at or above 1/n for the declared population


@pytest.mark.parametrize(
    ("population", "delta"), [(1_000, 1e-3), (1_000, 2e-3), (100, 0.5), (None, 1e-6), (None, 1e-3)]
)
def test_g4_a_delta_of_one_in_the_population_or_more_is_refused(population, delta):
    with pytest.raises(BudgetError, match="published outright") as refused:
        opened(budget=dp.Budget(epsilon=1, delta=delta), population=population)
    instead = refused.value.instead.split(",")[0].removeprefix("delta=")
    opened(budget=dp.Budget(epsilon=1, delta=float(instead)), population=population).close()


@pytest.mark.parametrize(("population", "delta"), [(1_000, 0.999e-3), (None, 0.999e-6), (10**9, 1e-12)])
def test_g4_a_delta_below_one_in_the_population_is_taken(population, delta):
    opened(budget=dp.Budget(epsilon=1, delta=delta), population=population).close()


def test_g4_a_cap_cannot_be_moved_past_the_population_later():
    with opened(population=1_000, budget=dp.Budget(epsilon=1, delta=1e-9)) as session, pytest.raises(BudgetError):
        session.ledger.set_cap("t", dp.Budget(epsilon=1, delta=1e-2), reason="more room")


# G5: the unit is mandatory; row-level must be said and is labelled


@pytest.mark.parametrize("unit", [None, "", [], ()])
def test_g5_a_promise_without_a_unit_is_refused(unit):
    with pytest.raises(UnitError) as refused:
        opened(privacy_unit=unit)
    assert "privacy_unit=" in refused.value.instead


def test_g5_a_row_level_promise_says_everywhere_that_it_protects_rows_and_not_people(tmp_path):
    warning = "protects rows, not people"
    with opened(privacy_unit=dp.ROW, max_rows=None) as session:
        query = T.agg(n=dp.count())
        release = session.release(query, epsilon=0.5)
        release.save(tmp_path / "release.json")
        for text in (
            str(session),
            str(session.remaining()),
            str(session.explain(query, epsilon=0.1)),
            str(release),
            release.unit,
            release.guarantee,
            (tmp_path / "release.json").read_text(),
            session.explain(query, epsilon=0.1)._repr_html_(),
            release._repr_html_(),
        ):
            assert warning in text


def test_g5_a_promise_for_people_names_them_and_carries_no_such_label():
    with opened() as session:
        release = session.release(T.agg(n=dp.count()), epsilon=0.5)
        assert "one id, added or removed" in release.guarantee
        assert "not people" not in str(session) + str(release)


# G6: comparing guarantees with different deltas or units is refused


def guarantee(epsilon=1, delta=0, unit="id", neighbours="add_remove"):
    return dp.Guarantee(Fraction(epsilon), Fraction(str(delta)), unit_of(unit, neighbours), "a release")


@pytest.mark.parametrize(
    "other",
    [
        guarantee(delta=1e-9),
        guarantee(unit="household"),
        guarantee(unit=ROW),
        guarantee(neighbours="replace_one"),
        guarantee(unit=["id", "day"]),
    ],
    ids=["delta", "unit", "row", "neighbours", "finer unit"],
)
def test_g6_guarantees_that_mean_different_things_do_not_compare(other):
    mine = guarantee()
    for compare in (
        lambda: mine < other,
        lambda: mine <= other,
        lambda: mine > other,
        lambda: mine >= other,
        lambda: max(mine, other),
        lambda: sorted([mine, other]),
    ):
        with pytest.raises(ComparisonError) as refused:
            compare()
        assert refused.value.instead


def test_g6_guarantees_of_one_meaning_do_compare():
    assert guarantee(1) < guarantee(2)
    assert max(guarantee(1), guarantee(3), guarantee(2)).epsilon == 3


# A8: free text and images refused without a declared unit


UNSTRUCTURED = {
    "images": pa.array([b"\x89PNG", b"\x89PNG"]),
    "lists": pa.array([["a"], ["b", "c"]]),
    "records": pa.array([{"who": "a"}, {"who": "b"}]),
}


@pytest.mark.parametrize("column", UNSTRUCTURED.values(), ids=UNSTRUCTURED)
def test_a8_documents_and_images_are_refused_by_row_and_taken_with_a_unit(column):
    rows = ROWS.append_column("content", column)
    with pytest.raises(UnitError, match="may speak of many people"):
        opened(rows, privacy_unit=dp.ROW, max_rows=None)
    with opened(rows) as session:
        assert session.release(T.where(T.content.is_present()).agg(n=dp.count()), epsilon=0.5).private


def test_a8_free_text_that_the_owner_declares_a_document_is_refused_by_row():
    rows = ROWS.append_column("note", pa.array(["a long story about Ann and Bob", "another"]))
    with pytest.raises(UnitError, match="the document column 'note'"):
        opened(rows, privacy_unit=dp.ROW, max_rows=None, types={"note": "document"})


@pytest.mark.parametrize(
    "ask",
    [
        lambda t: t.group_by("content", keys={"content": ["a"]}).agg(n=dp.count()),
        lambda t: t.where(t.content == "a").agg(n=dp.count()),
        lambda t: t.agg(s=dp.sum("content", bounds=(0, 1))),
        lambda t: t.agg(v=dp.count_distinct("content", domain=["a"])),
    ],
    ids=["group", "compare", "sum", "values"],
)
@pytest.mark.parametrize("column", UNSTRUCTURED.values(), ids=UNSTRUCTURED)
def test_a8_unstructured_values_are_only_tested_for_being_there(column, ask):
    with opened(ROWS.append_column("content", column)) as session, pytest.raises(dp.Refusal):
        session.release(ask(T), epsilon=0.5)


# D6: only referenced columns are read, and the report says which


def spoil(path, column):
    """Overwrite the stored cells of one column of a Parquet file, so that reading it must fail."""
    chunk = pq.ParquetFile(path).metadata.row_group(0).column(column)
    content = bytearray(path.read_bytes())
    start = chunk.data_page_offset
    content[start : start + chunk.total_compressed_size] = b"\xff" * chunk.total_compressed_size
    path.write_bytes(bytes(content))


def test_d6_columns_that_a_question_does_not_name_are_not_read(tmp_path):
    path = tmp_path / "t.parquet"
    columns = {"id": [f"u{i}" for i in range(500)], "age": list(range(500)), "diary": [f"s{i}" for i in range(500)]}
    pq.write_table(pa.table(columns), path, use_dictionary=False, compression="none")
    spoil(path, 2)
    with opened(path) as session:
        release = session.release(T.where(T.age > 3).agg(s=dp.sum("age", bounds=(0, 9))), epsilon=0.25)
        assert release.columns_read == ("age", "id")
        with pytest.raises(dp.Failure):
            session.release(T.where(T.diary == "s1").agg(n=dp.count()), epsilon=0.25)


@pytest.mark.parametrize(
    ("query", "read"),
    [
        (T.agg(n=dp.count()), ("id",)),
        (T.agg(s=dp.sum("x", bounds=(0, 1))), ("id", "x")),
        (T.where(T.y > 1).agg(u=dp.count_units()), ("id", "y")),
        (T.derive(z=T.x + T.y).agg(m=dp.mean("z", bounds=(0, 1))), ("id", "x", "y")),
        (T.derive(z=T.x + T.y).agg(n=dp.count()), ("id",)),
        (T.group_by("w", keys={"w": ["a"]}).agg(v=dp.count_distinct("w", domain=["a"])), ("id", "w")),
    ],
)
def test_d6_the_explanation_and_the_release_say_which_columns_are_read(query, read):
    rows = pa.table({"id": ["a"], "w": ["a"], "x": [1], "y": [2], "unread": ["?"]})
    with opened(rows) as session:
        assert session.explain(query, epsilon=0.1).columns_read == read
        release = session.release(query, epsilon=0.1)
        assert release.columns_read == read
        assert release.to_json()["columns_read"] == list(read)
        assert ", ".join(read) in str(session.explain(query, epsilon=0.1))


def test_d6_a_row_level_count_reads_no_column_at_all():
    with opened(privacy_unit=dp.ROW, max_rows=None) as session:
        assert session.release(T.agg(n=dp.count()), epsilon=0.1).columns_read == ()
        assert "no column" in str(session.explain(T.agg(n=dp.count()), epsilon=0.1))


def test_d6_a_column_that_the_source_lost_is_refused_before_anything_is_charged(tmp_path):
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"id": ["a"], "x": [1], "y": [2]}), path)
    with opened(path) as session:
        ledger = session.ledger
    pq.write_table(pa.table({"id": ["a"], "x": [1]}), path)
    with pytest.raises(dp.Refusal, match="column 'y'"):
        opened(path)
    assert ledger.spent("t").epsilon == 0
