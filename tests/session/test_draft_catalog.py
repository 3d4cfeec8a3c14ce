"""Drafting: the owner's words become a catalog, and types are read once and then frozen."""

import datetime as dt
from pathlib import Path

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import discreet as dp
from discreet.errors import BudgetError, CatalogError, NameNotFoundError, ParameterError, SourceError, UnitError
from discreet.ledger import RegisteredSlice
from discreet.session.draft_catalog import by_column, name_of, name_slice
from grids import over

WORDS = {"privacy_unit": "id", "max_rows": 2, "budget": dp.Budget(epsilon=1)}


def written(path, text="id,age,ward\na,30,A\nb,41,B\n"):
    path.write_text(text)
    return path


def types(session, name="visits"):
    return {column: str(facts.type) for column, facts in session.catalog.table(name).columns.items()}


@pytest.mark.parametrize(
    ("source", "given", "name"),
    [
        ("visits.csv", None, "visits"),
        (Path("/data/visits.2026.csv"), None, "visits"),
        ("visits/", None, "visits"),
        (Path("data/visits.parquet/"), None, "visits"),
        ("s3://key:secret@bucket/visits/?region=eu.north", None, "visits"),
        ("visits.csv", "people", "people"),
        (object(), "people", "people"),
        ("data/*.csv", "people", "people"),
    ],
)
def test_a_dataset_is_named_by_its_owner_or_by_the_stem_of_its_file(source, given, name):
    assert name_of(source, given) == name


@over(
    ("table", "given", "name"),
    [
        ("visits", None, "visits"),
        ("clinic.visits", None, "visits"),
        ('records.clinic."Big ""Visits"""', None, 'Big "Visits"'),
        ('clinic."big.visits"', None, "big.visits"),
        ("clinic.visits", "people", "people"),
        (None, None, "records"),
        ("", None, "records"),
    ],
)
@over("source", ["postgresql://reader@host/records", "records.sqlite", Path("records.duckdb")])
def test_a_dataset_in_a_database_is_named_by_its_table(source, table, given, name):
    assert name_of(source, given, table) == name


@pytest.mark.parametrize(
    ("source", "given"), [(object(), None), ("data/*.csv", None), ("part?.csv", None), ("a.csv", 3)]
)
def test_a_frame_or_a_glob_without_a_name_is_refused(source, given):
    with pytest.raises(ParameterError, match="without a name"):
        name_of(source, given)


def test_what_is_said_of_columns_is_gathered_by_column():
    words = {"keys": {"w": ("A",)}, "bounds": {"c": (0, 1)}, "types": {"c": "real"}, "missing": {"c": 0}}
    said = by_column(**words, bins={"c": {"log": 8}})
    assert said == {"w": {"keys": ["A"]}, "c": {"bounds": (0, 1), "type": "real", "missing": 0, "bins": {"log": 8}}}
    assert by_column(keys=None, bounds=None, types=None, missing=None, bins=None) == {}


@pytest.mark.parametrize(
    "words",
    [
        {"keys": {"ward": "ABC"}},
        {"keys": {"ward": 3}},
        {"keys": ["A", "B"]},
        {"bounds": (0, 1)},
        {"bounds": {"age": 5}},
        {"bounds": {"age": (1, 0)}},
        {"bounds": {"age": (0, float("inf"))}},
        {"bounds": {"age": (float("nan"), 1)}},
        {"bounds": {"age": ("0", 1)}},
        {"types": "integer"},
        {"missing": 0},
        {"name": 3},
    ],
)
def test_words_of_the_wrong_shape_are_refused(tmp_path, words):
    with pytest.raises(ParameterError) as refused:
        dp.protect(written(tmp_path / "visits.csv"), **(WORDS | words))
    assert refused.value.instead


@pytest.mark.parametrize(
    ("words", "error"),
    [
        ({"types": {"agee": "integer"}}, NameNotFoundError),
        ({"keys": {"wardd": ["A"]}}, NameNotFoundError),
        ({"bounds": {"ages": (0, 1)}}, NameNotFoundError),
        ({"privacy_unit": "idd"}, NameNotFoundError),
        ({"privacy_unit": ["id", "agee"]}, NameNotFoundError),
        ({"types": {"age": "money"}}, ParameterError),
        ({"keys": {"age": ["A"]}}, CatalogError),
        ({"keys": {"ward": ["A", "A"]}}, CatalogError),
        ({"bounds": {"ward": (0, 1)}}, CatalogError),
        ({"version": 0}, CatalogError),
        ({"version": "2"}, CatalogError),
        ({"max_rows": 1.5}, CatalogError),
        ({"max_rows": True}, CatalogError),
        ({"privacy_unit": None}, UnitError),
        ({"privacy_unit": []}, UnitError),
        ({"budget": None}, BudgetError),
        ({"budget": 1.0}, BudgetError),
    ],
)
def test_words_that_contradict_the_table_are_refused(tmp_path, words, error):
    with pytest.raises(error) as refused:
        dp.protect(written(tmp_path / "visits.csv"), **(WORDS | words))
    assert refused.value.instead


def test_a_misspelt_column_is_refused_with_the_nearest_name(tmp_path):
    with pytest.raises(NameNotFoundError) as refused:
        dp.protect(written(tmp_path / "visits.csv"), **(WORDS | {"bounds": {"agee": (0, 120)}}))
    assert refused.value.instead == "'age'"


def test_a_refused_draft_registers_nothing(tmp_path, discreet_home):
    with pytest.raises(CatalogError):
        dp.protect(written(tmp_path / "visits.csv"), **(WORDS | {"version": 0}))
    with dp.SQLiteLedger(discreet_home / "ledger.sqlite") as ledger:
        assert ledger.datasets() == []


def test_types_are_read_from_the_source_unless_they_are_declared(tmp_path):
    path = written(
        tmp_path / "visits.csv",
        "id,age,cost,day,at,urgent,ward\n"
        "1,30,1.5,2026-01-31,2026-01-31 12:00:00,true,A\n"
        "2,41,2,2026-02-01,2026-02-01 00:00:00,false,B\n",
    )
    with dp.protect(path, **WORDS, types={"age": "text"}) as session:
        assert types(session) == {
            "id": "integer",
            "age": "text",
            "cost": "real",
            "day": "date",
            "at": "timestamp",
            "urgent": "boolean",
            "ward": "text",
        }


@pytest.mark.parametrize(
    "frame",
    [
        pa.table({"id": ["a"], "age": [30], "ward": ["A"]}),
        pd.DataFrame({"id": ["a"], "age": [30], "ward": ["A"]}),
        pl.DataFrame({"id": ["a"], "age": [30], "ward": ["A"]}),
        pl.LazyFrame({"id": ["a"], "age": [30], "ward": ["A"]}),
    ],
    ids=["arrow", "pandas", "polars", "lazy polars"],
)
def test_frames_of_every_kind_have_the_same_types_and_answers(frame):
    with dp.testing.protect(frame, name="visits", **WORDS) as session:
        assert types(session) == {"id": "text", "age": "integer", "ward": "text"}
        assert session.release(dp.table("visits").agg(s=dp.sum("age", bounds=(0, 99))), epsilon=1).value() == 30


def test_parquet_globs_are_one_table(tmp_path):
    for part in range(3):
        pq.write_table(pa.table({"id": [f"u{part}"], "age": [part]}), tmp_path / f"part{part}.parquet")
    with dp.testing.protect(str(tmp_path / "part*.parquet"), name="visits", **WORDS) as session:
        assert session.release(dp.table("visits").agg(s=dp.sum("age", bounds=(0, 9))), epsilon=1).value() == 3


@pytest.mark.pitfall("A22")
@pytest.mark.parametrize("cell", ["forty", "41.5", "2026-01-01", "", '""""', "true"])
def test_types_are_frozen_when_a_dataset_is_first_registered(tmp_path, cell):
    path = written(tmp_path / "visits.csv")
    with dp.protect(path, **WORDS) as session:
        before = types(session)
        explained = str(session.explain(dp.table("visits").agg(s=dp.sum("age", bounds=(0, 99))), epsilon=0.1))
    written(path, f"id,age,ward\na,30,A\nb,{cell},B\n")
    with dp.protect(path, **WORDS) as session:
        assert types(session) == before
        query = dp.table("visits").agg(s=dp.sum("age", bounds=(0, 99)))
        assert str(session.explain(query, epsilon=0.1)) == explained
        session.release(query, epsilon=0.1)


@pytest.mark.pitfall("A22")
def test_without_the_freeze_one_cell_would_flip_a_type(tmp_path):
    """The control: the same cell, in a dataset that is registered for the first time."""
    with dp.protect(written(tmp_path / "visits.csv", "id,age,ward\na,30,A\nb,forty,B\n"), **WORDS) as session:
        assert types(session)["age"] == "text"


@pytest.mark.pitfall("A22")
def test_the_next_version_may_have_other_types_and_says_so_itself(tmp_path):
    path = written(tmp_path / "visits.csv")
    dp.protect(path, **WORDS).close()
    written(path, "id,age,ward\na,thirty,A\n")
    with dp.protect(path, version=2, **WORDS) as session:
        assert types(session)["age"] == "text"


def test_another_path_or_delimiter_before_the_first_charge_is_drafted_anew(tmp_path):
    one = written(tmp_path / "one.csv", "id;age\na;30\n")
    two = written(tmp_path / "two.csv", "id,age,ward\na,old,A\n")
    rows = {"privacy_unit": dp.ROW, "budget": dp.Budget(epsilon=1), "name": "visits"}
    with dp.protect(one, delimiter=",", **rows) as session:
        assert types(session) == {"id;age": "text"}
    with dp.protect(one, delimiter=";", **WORDS, name="visits") as session:
        assert types(session) == {"id": "text", "age": "integer"}
    with dp.protect(two, **WORDS, name="visits") as session:
        assert types(session) == {"id": "text", "age": "text", "ward": "text"}
        session.release(dp.table("visits").agg(n=dp.count()), epsilon=0.1)
    with pytest.raises(SourceError, match="over another source"):
        dp.protect(one, delimiter=";", **WORDS, name="visits")


@pytest.mark.pitfall("A22")
def test_declared_types_need_no_look_at_the_cells(tmp_path):
    path = written(tmp_path / "visits.csv", "id,age,ward\na,old,A\nb,41,B\n")
    declared = {"id": "text", "age": "integer", "ward": "text"}
    with dp.testing.protect(path, **WORDS, types=declared) as session:
        assert types(session) == declared
        assert session.release(dp.table("visits").agg(s=dp.sum("age", bounds=(0, 99))), epsilon=1).value() == 41


def test_a_file_that_is_not_there_or_not_of_its_kind_is_refused(tmp_path):
    with pytest.raises(SourceError, match="nothing is there"):
        dp.protect(tmp_path / "visits.csv", **WORDS)
    with pytest.raises(SourceError, match=r"\.parquet, DuckDB \(\.duckdb, \.db\) and SQLite"):
        dp.protect(written(tmp_path / "visits.xlsx"), **WORDS)
    with pytest.raises(SourceError, match="cannot be opened"):
        dp.protect(written(tmp_path / "visits.parquet"), **WORDS)


OCTOBER = dp.Slice("seen", "2026-10-01", "2026-11-01")
SEEN = "id,seen,ward\na,2026-10-01,A\nb,2026-10-31,B\nc,2026-11-01,B\nd,,A\n"


@pytest.mark.parametrize(
    ("name", "of", "dataset", "table"),
    [
        ("visits", None, "visits-2026-10", "visits"),
        ("visits-2026-10", None, "visits-2026-10", "visits"),
        ("visits", "visits", "visits-2026-10", "visits"),
        ("october", "visits", "october", "visits"),
        ("2026-10", None, "2026-10-2026-10", "2026-10"),
    ],
)
def test_a_slice_is_named_after_its_table_and_its_period(name, of, dataset, table):
    given = dp.Slice("seen", "2026-10-01", "2026-11-01", of=of)
    assert name_slice(name, given) == (dataset, dp.Slice("seen", "2026-10-01", "2026-11-01", of=table))
    assert name_slice(name, None) == (name, None)


@pytest.mark.parametrize("given", [("seen", "2026-10-01", "2026-11-01"), "2026-10", slice(1, 2), {}])
def test_a_slice_of_another_type_is_refused(given):
    with pytest.raises(ParameterError, match=r'instead  slice=dp.Slice\("visited", "2026-10-01", "2026-11-01"\)'):
        name_slice("visits", given)


def test_a_slice_is_drafted_registered_and_read_as_its_owner_says(tmp_path):
    path = written(tmp_path / "visits.csv", SEEN)
    with dp.testing.protect(path, slice=OCTOBER, **WORDS) as session:
        facts = session.catalog.table("visits-2026-10")
        assert facts.part == dp.Slice("seen", "2026-10-01", "2026-11-01", of="visits")
        kept = session.ledger.registration("visits-2026-10")
        assert kept.slice == RegisteredSlice("visits", "2026-10-01", "2026-11-01")
        assert '"slice":{"column":"seen","end":"2026-11-01","of":"visits","start":"2026-10-01"}' in kept.facts
        assert session.release(dp.table("visits-2026-10").agg(n=dp.count()), epsilon=1).value() == 2
        copy = dp.Catalog.parse(session.catalog.to_yaml())
    assert copy.table("visits-2026-10") == facts


def test_a_frame_is_sliced_under_the_name_of_its_table():
    times = [pd.Timestamp("2026-10-31 23:59:59.999999"), pd.Timestamp("2026-11-01")]
    frame = pd.DataFrame({"id": ["a", "b"], "seen": times})
    with dp.testing.protect(frame, name="visits", slice=OCTOBER, fixed_schema=True, **WORDS) as session:
        assert session.release(dp.table("visits-2026-10").agg(n=dp.count()), epsilon=1).value() == 1


@pytest.mark.parametrize(
    ("column", "refusal", "words"),
    [
        ("sen", NameNotFoundError, "column 'sen'\n  because  the source has no column of that name\n  instead  'seen'"),
        ("ward", CatalogError, "a slice by 'ward' of type text"),
    ],
)
def test_a_slice_by_a_column_that_holds_no_time_is_refused(tmp_path, column, refusal, words):
    path = written(tmp_path / "visits.csv", SEEN)
    with pytest.raises(refusal, match=words):
        dp.protect(path, slice=dp.Slice(column, "2026-10-01", "2026-11-01"), **WORDS)


def test_text_that_is_declared_a_time_can_be_sliced(tmp_path):
    path = written(tmp_path / "visits.csv", SEEN.replace("2026-10-31", "soon"))
    with pytest.raises(CatalogError, match=r'instead  types={"seen": "timestamp"}'):
        dp.testing.protect(path, slice=OCTOBER, **WORDS)
    with dp.testing.protect(path, slice=OCTOBER, types={"seen": "timestamp"}, **WORDS) as session:
        assert session.release(dp.table("visits-2026-10").agg(n=dp.count()), epsilon=1).value() == 1


def test_bounds_of_dates_name_the_column_and_the_query_that_takes_them():
    dates = (dt.date(2020, 1, 1), dt.date(2024, 12, 31))
    wanted = r"bounds={'day': \(dt.date\(2020, 1, 1\), dt.date\(2024, 12, 31\)\)}"
    for given in (dates, ("2020-01-01", "2024-12-31")):
        with pytest.raises(ParameterError, match=f"'day' that are dates.*\n.*\n.*{wanted}"):
            by_column(keys=None, bounds={"day": given}, types=None, missing=None, bins=None)
    with pytest.raises(ParameterError, match=r"of 'cost'\n.*\n.*bounds=\{'cost': \(0, 5\)\}"):
        by_column(keys=None, bounds={"cost": (5, 0)}, types=None, missing=None, bins=None)


def test_columns_keep_the_order_of_the_source_so_that_a_synthetic_table_is_charged_once(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("people.csv").write_text("id,sex,age\n" + "".join(f"{i},{'fm'[i % 2]},{i % 90}\n" for i in range(100)))
    facts = {"privacy_unit": "id", "max_rows": 1, "budget": dp.Budget(epsilon=4, delta=1e-9)}
    facts |= {"bounds": {"age": (0, 90)}, "keys": {"sex": ["f", "m"]}, "ledger": "ledger.sqlite"}
    query, tables = dp.table("people").synthesize(dp.synthesis.IndependentSynthesizer()), []
    for _ in range(2):
        with dp.protect("people.csv", **facts) as session:
            tables.append(session.release(query, epsilon=1))
            text = session.catalog.to_yaml()
    Path("catalog.yaml").write_text(text)
    with dp.Session("catalog.yaml", ledger="ledger.sqlite") as session:
        assert list(session.catalog.table("people").columns) == ["id", "sex", "age"]
        tables.append(session.release(query, epsilon=1))
    assert [table.repeated for table in tables] == [False, True, True]
    assert len({table.columns for table in tables}) == 1
