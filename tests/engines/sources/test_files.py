import datetime as dt
import os
import shutil
from pathlib import Path

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from pyarrow import csv, fs

import discreet as dp
from discreet.accounting.filters import Budget
from discreet.catalog.catalog import Catalog
from discreet.engines import DuckDB, RegisteredSource, Source, Workspace, draft, source_of
from discreet.engines.sources.files import find_files, is_uri, public_location, resolve_location
from discreet.errors import Refusal, SourceError
from discreet.planner.queries.tables import analyze
from discreet.testing import protect

ROWS = pa.table({"id": ["a", "b", "c"], "cost": [1.5, 2.5, None], "day": [dt.date(2026, 1, 1)] * 3})
T = dp.table("t")


def _counts(source: Source, column: str, keys: list, place: Path, kind: str = "text") -> list[int]:
    """How many rows have each of some values of a column, each row its own unit."""
    table = {"columns": {column: {"type": kind}}, "privacy_unit": "dp.ROW"}
    catalog = Catalog.model_validate({"tables": {"t": table}})
    query = T.group_by(column, keys={column: keys}).agg(n=dp.count())
    engine = DuckDB({"t": RegisteredSource(source, 7)}, Workspace(place))
    try:
        return engine.run(engine.prepare(analyze(query.plan, catalog, Budget(epsilon=1), epsilon=1).pushdown))[0]
    finally:
        engine.close()


def _write(root: Path, *names: str, rows: pa.Table = ROWS) -> Path:
    """The same rows in each of some files below a directory."""
    for name in names:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(rows, root / name)
    return root


@pytest.fixture
def visits(tmp_path: Path) -> Path:
    return _write(tmp_path / "visits", "ward=A/part-0.parquet", "ward=A/part-1.parquet", "ward=B/part-0.pq")


def test_a_file_has_one_name_however_its_path_is_spelled(visits, tmp_path):
    """Two names for one file would be two promises about the same people without a word."""
    table = tmp_path / "visits.csv"
    table.write_text("id,cost\na,1\n")
    (tmp_path / "other").mkdir()
    for path in (table, visits):
        assert source_of(f"{tmp_path}/other/../{path.name}").identity == source_of(str(path)).identity


# directories


def test_a_directory_is_a_table_and_its_folders_are_a_column(visits, tmp_path):
    source = source_of(f"{visits}/")
    assert (source.kind, source.identity) == ("parquet", str(visits))
    assert (source.columns, source.folders) == (("id", "cost", "day", "ward"), ("ward",))
    assert _counts(source, "ward", ["A", "B", "C", None], tmp_path) == [6, 3, 0, 0]
    assert _counts(source, "id", ["a", None], tmp_path) == [3, 0]


def test_a_directory_without_such_folders_has_the_columns_of_its_files(tmp_path):
    root = _write(tmp_path / "visits", "part-0.parquet", "more/part-1.parquet")
    source = source_of(root)
    assert (source.columns, source.folders) == (tuple(ROWS.column_names), ())
    assert _counts(source, "id", ["a"], tmp_path) == [2]


def test_a_directory_may_be_called_like_a_file(tmp_path):
    root = _write(tmp_path / "visits.parquet", "part-0.parquet")
    assert _counts(source_of(root), "id", ["a"], tmp_path) == [1]


def test_folders_may_be_nested_and_are_columns_in_their_order(tmp_path):
    root = _write(
        tmp_path / "v", "year=2025/ward=A/x.parquet", "year=2026/ward=A/x.parquet", "year=2026/ward=B/x.parquet"
    )
    source = source_of(root)
    assert source.folders == ("year", "ward")
    assert _counts(source, "year", ["2025", "2026"], tmp_path) == [3, 6]
    assert _counts(source, "ward", ["A", "B"], tmp_path) == [6, 3]


def test_a_session_protects_a_directory_under_its_own_name(visits):
    facts = {"privacy_unit": "id", "max_rows": 10, "budget": dp.Budget(epsilon=1)}
    with protect(f"{visits}/", keys={"ward": ["A", "B", "C"]}, **facts) as session:
        query = dp.table("visits").group_by("ward").agg(n=dp.count(), s=dp.sum("cost", bounds=(0, 4), grid=0.5))
        release = session.release(query, epsilon=1)
    assert release.to_arrow().select(["ward", "n", "s"]).to_pydict() == {
        "ward": ["A", "B", "C"],
        "n": [6, 3, 0],
        "s": [8, 4, 0],
    }


@pytest.mark.pitfall("A22")
@pytest.mark.parametrize(
    "folder", ["year=x", "year=", "year=2026-01-01", "year=__HIVE_DEFAULT_PARTITION__", "year=%FF"]
)
def test_one_folder_more_changes_no_type_and_no_other_row(tmp_path, folder):
    root = _write(tmp_path / "v", "year=2025/x.parquet", "year=0026/x.parquet")
    before = source_of(root)
    assert str(draft(before)["year"]) == "text"
    counts = [_counts(before, "year", [2025, 26], tmp_path, "integer")]
    _write(root, f"{folder}/x.parquet")
    after = source_of(root)
    assert (after.schema, after.frame.schema, draft(after)) == (before.schema, before.frame.schema, draft(before))
    counts.append(_counts(after, "year", [2025, 26], tmp_path, "integer"))
    assert counts == [[3, 3], [3, 3]]


def test_folder_values_are_text_and_are_cast_to_what_is_declared(tmp_path):
    root = _write(tmp_path / "v", "k=007/x.parquet", "k=7/x.parquet", "k=2026-01-31/x.parquet")
    assert _counts(source_of(root), "k", ["7", "007"], tmp_path) == [3, 3]
    assert _counts(source_of(root), "k", [7, None], tmp_path, "integer") == [6, 3]
    assert _counts(source_of(root), "k", ["2026-01-31", None], tmp_path, "date") == [3, 6]


def test_what_hive_encodes_is_decoded_and_what_is_no_text_is_missing(tmp_path):
    names = ["A%2FB", "a%3Db", "x=y", "%C3%A9t%C3%A9", "%FF", "__HIVE_DEFAULT_PARTITION__", "null", "100%", ""]
    root = _write(tmp_path / "v", *(f"the%20ward={name}/x.parquet" for name in names))
    source = source_of(root)
    assert source.folders == ("the ward",)
    keys = ["A/B", "a=b", "x=y", "été", None, "null", "100%", ""]
    assert _counts(source, "the ward", keys, tmp_path) == [3, 3, 3, 3, 6, 3, 3, 3]


def test_what_writers_leave_beside_their_data_is_skipped(visits, tmp_path):
    left = ["_SUCCESS", "_metadata", "_common_metadata", ".part-0.parquet.crc", "ward=A/.part-0.parquet.crc"]
    left += ["_temporary/0/part-9.parquet", ".hidden/part-9.parquet", "ward=B/_committed_7"]
    for name in left:
        (visits / name).parent.mkdir(parents=True, exist_ok=True)
        (visits / name).write_bytes(b"not parquet")
    assert _counts(source_of(visits), "ward", ["A", "B"], tmp_path) == [6, 3]
    (visits / "ward=C").mkdir()
    assert len(source_of(visits).paths) == 3


def test_a_column_whose_name_begins_with_an_underscore_is_not_hidden(tmp_path):
    assert source_of(_write(tmp_path / "v", "_year=2026/x.parquet")).folders == ("_year",)


def test_the_files_are_listed_when_the_source_is_opened(visits, tmp_path):
    source = source_of(visits)
    _write(visits, "ward=C/part-0.parquet")
    assert _counts(source, "ward", ["A", "C"], tmp_path) == [6, 0]


# refusals, none of which says what a listing found

PERSON = "alice-hiv"


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ([f"ward={PERSON}/x.parquet", f"year={PERSON}/x.parquet"], "name different columns"),
        ([f"ward={PERSON}/x.parquet", "x.parquet"], "name different columns"),
        ([f"ward={PERSON}/year=1/x.parquet", f"year=1/ward={PERSON}/x.parquet"], "name different columns"),
        ([f"ward={PERSON}/ward=1/x.parquet"], "not distinct"),
        ([f"id={PERSON}/x.parquet"], "column 'id', in the files and in the names of their folders"),
        ([f"ID={PERSON}/x.parquet"], "column 'ID', in the files and in the names of their folders"),
        ([f"ward={PERSON}/x.parquet", f"ward={PERSON}/x.csv"], "other files than Parquet"),
        ([f"ward={PERSON}/000000_0"], "other files than Parquet"),
        ([f"{PERSON}.csv"], "other files than Parquet"),
        ([f"_{PERSON}.parquet"], "no Parquet file is in that directory"),
        ([f"ward={PERSON}/x[1].parquet"], "one of the characters"),
    ],
)
def test_directories_that_are_not_one_table_are_refused(tmp_path, files, said):
    with pytest.raises(SourceError, match=said) as refused:
        source_of(_write(tmp_path / "v", *files))
    assert PERSON not in str(refused.value)


def test_files_in_folders_must_share_one_schema(tmp_path):
    root = _write(tmp_path / "v", "ward=A/x.parquet")
    _write(root, f"ward={PERSON}/x.parquet", rows=ROWS.set_column(1, "cost", pa.array([1, 2, 3], pa.int8())))
    with pytest.raises(SourceError, match="different schemas") as refused:
        source_of(root)
    (root / f"ward={PERSON}" / "x.parquet").write_bytes(b"garbage")
    with pytest.raises(SourceError, match="cannot be opened") as spoilt:
        source_of(root)
    assert PERSON not in str(refused.value) + str(spoilt.value)


def test_an_empty_directory_is_refused(tmp_path):
    with pytest.raises(SourceError, match="no Parquet file is in that directory"):
        source_of(tmp_path)


def test_a_name_that_is_not_utf8_is_refused(tmp_path):
    root = _write(tmp_path / "v", "x.parquet")
    shutil.copy(root / "x.parquet", os.fsencode(root) + b"/\xff.parquet")
    for location in (root, f"{root}/*"):
        with pytest.raises(SourceError, match="cannot be listed"):
            source_of(location)


@pytest.mark.pitfall("A15")
@pytest.mark.parametrize("link", ["ward=A/loop", "again.parquet"])
def test_a_link_that_would_make_rows_count_twice_is_refused(visits, link):
    target = visits if link.endswith("loop") else visits / "ward=A" / "part-0.parquet"
    (visits / link).symlink_to(target)
    for location in (visits, f"{visits}/**/*.parquet"):
        with pytest.raises(SourceError, match="the same file twice"):
            source_of(location)


def test_a_link_to_files_elsewhere_is_followed(visits, tmp_path):
    elsewhere = _write(tmp_path / "elsewhere", "x.parquet")
    (visits / "ward=C").symlink_to(elsewhere)
    assert _counts(source_of(visits), "ward", ["A", "C"], tmp_path) == [6, 3]


# globs


@pytest.mark.parametrize(
    ("pattern", "folders", "rows"),
    [
        ("ward=*/part-0.*", ("ward",), [3, 3]),
        ("ward=*", ("ward",), [6, 3]),
        ("*/", ("ward",), [6, 3]),
        ("**/*.parquet", ("ward",), [6, 0]),
        ("**", ("ward",), [6, 3]),
        ("ward=[B-Z]/*", ("ward",), [0, 3]),
    ],
)
def test_a_glob_has_the_columns_of_the_folders_below_its_fixed_part(visits, tmp_path, pattern, folders, rows):
    (visits / "_SUCCESS").touch()
    source = source_of(str(visits / pattern) + ("/" if pattern.endswith("/") else ""))
    assert source.folders == folders
    assert _counts(source, "ward", ["A", "B"], tmp_path) == rows


def test_the_fixed_part_of_a_path_names_no_column(visits):
    for location in (visits / "ward=A", visits / "ward=A" / "*.parquet", visits / "ward=A" / "part-0.parquet"):
        assert source_of(str(location)).folders == ()


def test_a_glob_over_files_of_several_kinds_is_refused(tmp_path):
    _write(tmp_path, "t.parquet")
    csv.write_csv(ROWS, tmp_path / "t.csv")
    with pytest.raises(SourceError, match="more than one kind"):
        source_of(str(tmp_path / "t.*"))


# URIs


def test_a_file_uri_is_the_path_that_it_names(visits, tmp_path):
    for location in (visits, visits / "ward=A" / "part-0.parquet", visits / "*" / "*.parquet"):
        by_path, by_uri = source_of(location), source_of(f"file://{location}")
        assert (by_uri.identity, by_uri.paths, by_uri.columns) == (by_path.identity, by_path.paths, by_path.columns)
    assert _counts(source_of(f"file://{visits}/"), "ward", ["A", "B"], tmp_path) == [6, 3]
    csv.write_csv(ROWS, tmp_path / "a b.csv")
    assert source_of(f"FILE://{tmp_path}/a%20b.csv").columns == tuple(ROWS.column_names)


@pytest.mark.parametrize(
    ("location", "public"),
    [
        ("s3://bucket/visits/", "s3://bucket/visits/"),
        ("S3://KEY:SECRET@bucket/visits?region=eu&secret_key=SECRET#SECRET", "s3://bucket/visits"),
        ("s3://KEY:SEC@RET@bucket", "s3://bucket"),
        ("visits/x?.parquet", "visits/x?.parquet"),
        ("C:\\visits", "C:\\visits"),
    ],
)
def test_a_location_is_shown_without_what_is_secret_in_it(location, public):
    assert public_location(location) == public


@pytest.mark.parametrize(
    "location",
    [
        "s3://KEY:SEC/RET@bucket/visits",
        "s3://KEY:12/RET@bucket/visits",
        "s3://KEY:SECRET@bucket/*.parquet?region=eu-north-1",
        "s3://KEY:SECRET@",
        "gs://KEY:SECRET@bucket/x?SECRET=1",
        "file://KEY:SECRET@host/x",
        "hdfs://KEY:SECRET@host/x",
        "https://KEY:SECRET@host/x.parquet",
        "s3://[SECRET]/x",
        "file:///nowhere/x.parquet?SECRET",
    ],
)
def test_a_refused_uri_keeps_its_secrets(location):
    with pytest.raises(Refusal) as refused:
        find_files(location)
    assert "SEC" not in str(refused.value)
    assert "RET" not in str(refused.value)
    assert refused.value.__suppress_context__ or refused.value.__context__ is None


def test_a_catalog_names_uris_as_they_are_and_paths_beside_it():
    assert resolve_location("s3://bucket/visits/", Path("catalogs")) == "s3://bucket/visits/"
    assert resolve_location("visits", Path("catalogs")) == str(Path("catalogs") / "visits")
    assert [is_uri(each) for each in ("s3://b", "C:/x", "a/b://c", "postgresql://x/y")] == [True, False, False, True]


# pyarrow datasets


def test_a_dataset_of_parquet_files_is_read_like_its_directory(visits, tmp_path):
    source, by_path = source_of(ds.dataset(visits, partitioning="hive")), source_of(visits)
    assert (source.kind, source.identity, source.folders) == ("parquet", "memory", ("ward",))
    assert (source.schema, source.frame.schema) == (by_path.schema, by_path.frame.schema)
    assert _counts(source, "ward", ["A", "B"], tmp_path) == [6, 3]


@pytest.mark.pitfall("A22")
def test_numbers_that_arrow_makes_of_folders_are_text_again(tmp_path):
    root = _write(tmp_path / "v", "k=007/x.parquet", "k=7/x.parquet", "k=__HIVE_DEFAULT_PARTITION__/x.parquet")
    given = ds.dataset(root, partitioning="hive")
    assert given.schema.field("k").type == pa.int32()
    assert _counts(source_of(given), "k", ["007", "7", None], tmp_path) == [3, 3, 3]


def test_other_partitionings_of_a_dataset_are_text_too(tmp_path):
    root = _write(tmp_path / "v", "2025/A/x.parquet", "2026/B/x.parquet")
    by_directory = ds.partitioning(pa.schema([("year", pa.int16()), ("ward", pa.string())]))
    source = source_of(ds.dataset(root, partitioning=by_directory))
    assert source.folders == ("year", "ward")
    assert _counts(source, "year", ["2025", "2026"], tmp_path) == [3, 3]


@pytest.mark.pitfall("A22")
def test_no_cell_of_a_dataset_makes_reading_fail(tmp_path):
    spoilt = pa.StringArray.from_buffers(2, pa.py_buffer(b"\0\0\0\0\4\0\0\0\5\0\0\0"), pa.py_buffer(b"fine\xff"))
    times = pa.array([0, 2**63 - 1], pa.timestamp("ms"))
    pq.write_table(pa.table({"g": spoilt, "t": times}), tmp_path / "x.parquet")
    source = source_of(ds.dataset(tmp_path / "x.parquet"))
    assert _counts(source, "g", ["fine", None], tmp_path) == [1, 1]
    assert _counts(source, "t", ["1970-01-01 00:00", None], tmp_path, "timestamp") == [1, 1]


def test_a_dataset_shows_the_columns_that_its_own_schema_has(visits, tmp_path):
    schema = pa.schema([("cost", pa.float64()), ("id", pa.string()), ("later", pa.int64())])
    source = source_of(ds.dataset(visits, schema=schema, partitioning="hive"))
    assert (source.columns, source.folders) == (("id", "cost"), ())
    assert source.unreadable == {"later": "no file has a column of that name"}
    assert _counts(source, "id", ["a"], tmp_path) == [3]


def test_a_dataset_on_any_file_system_is_read_through_it(visits, tmp_path):
    below = fs.SubTreeFileSystem(str(visits.parent), fs.LocalFileSystem())
    source = source_of(ds.dataset("visits", filesystem=below, partitioning="hive"))
    assert source.paths == ()
    assert _counts(source, "ward", ["A", "B"], tmp_path) == [6, 3]


def test_a_dataset_of_some_row_groups_stays_one_of_these(tmp_path):
    pq.write_table(ROWS, tmp_path / "x.parquet", row_group_size=1)
    given = ds.dataset(tmp_path / "x.parquet")
    parts = [fragment.subset(row_group_ids=[0, 2]) for fragment in given.get_fragments()]
    some = ds.FileSystemDataset(parts, given.schema, given.format, given.filesystem)
    assert _counts(source_of(some), "id", ["a", "b", "c"], tmp_path) == [1, 0, 1]


def test_datasets_that_cannot_be_read_so_that_no_cell_fails_are_refused(visits, tmp_path):
    csv.write_csv(ROWS, tmp_path / "t.csv")
    given = ds.dataset(visits, partitioning="hive")
    content = pa.py_buffer((visits / "ward=A" / "part-0.parquet").read_bytes())
    in_memory = ds.FileSystemDataset([given.format.make_fragment(content)], ROWS.schema, given.format)
    refused = {
        "not of Parquet files alone": [ds.dataset(tmp_path / "t.csv", format="csv"), ds.dataset([given, given])],
        "cannot be read anew": [
            given.filter(ds.field("id") == PERSON),
            ds.FileSystemDataset([], ROWS.schema, given.format),
            in_memory,
        ],
        "gives its rows once": [ROWS.to_reader(), ds.Scanner.from_dataset(given).to_reader()],
    }
    for said, datasets in refused.items():
        for each in datasets:
            with pytest.raises(SourceError, match=said) as error:
                source_of(each)
            assert PERSON not in str(error.value)


def test_tables_in_a_dataset_and_batches_are_frames(tmp_path):
    for given in (
        ds.dataset(ROWS),
        ROWS.to_batches()[0],
        ds.dataset(ROWS.to_reader()),
    ):
        source = source_of(given)
        assert (source.kind, source.identity) == ("frame", "memory")
        assert _counts(source, "id", ["a"], tmp_path) == [1]
    only = ds.dataset(ROWS).filter(ds.field("id") == "b")
    assert _counts(source_of(only), "id", ["a", "b"], tmp_path) == [0, 1]


def test_a_file_that_goes_away_under_an_open_session_is_the_one_sentence(visits):
    with dp.protect(visits, privacy_unit="id", max_rows=5, budget=dp.Budget(epsilon=1), ledger=":memory:") as session:
        shutil.rmtree(visits / "ward=A")
        with pytest.raises(dp.Failure) as failed:
            session.release(dp.table("visits").agg(n=dp.count()), epsilon=0.5)
    assert str(failed.value) == dp.errors.FAILURE
