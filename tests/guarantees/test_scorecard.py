"""The items of the scorecard that this release enforces, by the public interface: G2, G4 to G6, A8, B1 to B5 and D6."""

from fractions import Fraction

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import discreet as dp
from discreet.catalog.privacy_unit import ROW, unit_of
from discreet.errors import BudgetError, ComparisonError, UnitError

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
    with pytest.raises(BudgetError, match="must be far below 1/") as refused:
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
    with pytest.raises(UnitError, match="may be about many people"):
        opened(rows, privacy_unit=dp.ROW, max_rows=None)
    with opened(rows, fixed_schema=True) as session:
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


# B1: expected relative error per group before release; the smallest groups highlighted

WARDS = pa.table(
    {
        "id": [str(i) for i in range(600)],
        "w": ["a"] * 400 + ["b"] * 180 + ["c"] * 20,
        "x": [float(i % 50) for i in range(600)],
    }
)
SIZES = {"a": 400, "b": 180, "c": 20}
BY_WARD = T.group_by("w", keys={"w": ["a", "b", "c"]}).agg(n=dp.count(), x=dp.mean("x", bounds=(0, 30)))


def test_b1_expected_relative_errors_by_group_are_there_before_anything_is_spent_with_the_smallest_marked():
    with opened(WARDS, max_rows=1) as session:
        explained = session.explain(BY_WARD, epsilon=0.5, sizes=SIZES)
        assert session.remaining().epsilon == 1
    errors = explained.expected.outputs[0].relative
    assert errors[2] == pytest.approx(20 * errors[0])
    marked = [line for line in str(explained).splitlines() if "smallest group" in line]
    assert [line.split()[0] for line in marked] == ["c"]
    assert "&lt;- smallest group" in explained._repr_html_()


def test_b1_sizes_come_from_what_is_public_and_never_from_the_data():
    """Two tables whose groups are of very different sizes are explained by the same words."""
    other = WARDS.set_column(1, "w", pa.array(["c"] * 590 + ["a"] * 10))
    told = []
    for rows in (WARDS, other):
        with opened(rows, max_rows=1) as session:
            told.append(str(session.explain(BY_WARD, epsilon=0.5, sizes=SIZES)))
    assert told[0] == told[1]


def test_b1_an_earlier_release_gives_the_sizes():
    with opened(WARDS, max_rows=1) as session:
        earlier = session.release(BY_WARD, epsilon=0.4)
        explained = session.explain(BY_WARD, epsilon=0.5, sizes=earlier)
    assert explained.expected.sizes == tuple(max(0, size) for size in earlier["n"])


# B2: clipping bias estimated or bounded


def test_b2_a_histogram_bounds_and_estimates_what_clamping_took_away():
    """False alarm: noise of scale 1 would have to be below -60 in some bin, far below 1e-20."""
    true_loss = sum(max(0, i % 50 - 30) for i in range(600))
    with opened(WARDS, max_rows=1) as session:
        bins = session.release(T.histogram("x", bins=range(0, 60, 10)), epsilon=1)
    found = bins.clipping(bounds=(0, 30), lowest=0, highest=50)
    assert 0 <= true_loss <= found.high < 20 * true_loss
    assert found.low == 0
    assert "clamping to [0, 30] moves" in str(found)


# B3: post-processing by choice, listed, raw values kept


def test_b3_nothing_is_rounded_or_clamped_unless_asked_for_and_the_raw_values_stay_in_the_file(tmp_path):
    with opened(WARDS, max_rows=1) as session:
        released = session.release(T.group_by("w", keys={"w": ["a", "c"]}).agg(n=dp.count()), epsilon=0.5)
    assert released.post_processing == ()
    changed = released.clamped(at_least=0).rounded(to=10)
    changed.save(tmp_path / "n.json")
    loaded = dp.Release.load(tmp_path / "n.json")
    assert loaded.post_processing == ("n: clamped to at least 0", "n: rounded to multiples of 10")
    assert loaded.raw["n"] == released["n"]


# B4: an interval on every number whose interval is public; helpers to combine and simulate


def test_b4_every_number_of_a_release_has_a_margin_and_so_has_what_is_combined_or_simulated():
    with opened(WARDS, max_rows=1) as session:
        released = session.release(BY_WARD, epsilon=1)
    assert all(margin > 0 for output in released.outputs for margin in output.margins)
    for derived in (released.total("n"), released.share("n"), released.mean("x"), released.simultaneous().total("n")):
        assert all(low < high for low, high in zip(derived.lows, derived.highs, strict=True))
    simulated = released.simulate(lambda r: max(r["n"]) - min(r["n"]), draws=200)
    assert simulated.low < simulated.high


# B5: error by subgroup across epsilon


def test_b5_errors_by_group_across_epsilon_are_a_table_and_a_picture():
    with opened(WARDS, max_rows=1) as session:
        errors = session.expected_errors(BY_WARD, epsilons=[0.1, 0.5, 1], sizes=SIZES)
        assert session.remaining().epsilon == 1
    assert errors.to_pandas()["epsilon 0.1"].tolist() == sorted(errors.to_pandas()["epsilon 0.1"])
    assert all(a > b for a, b in zip(errors.relative[0], errors.relative[2], strict=True))
    assert "c (20)" in errors.plot().get_label()
