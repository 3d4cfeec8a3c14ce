import time
from pathlib import Path

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

import discreet as dp
from discreet.engines import source_of
from discreet.engines.sources import parquet_scan
from discreet.engines.sources.parquet_scan import Piecewise
from discreet.testing import protect

ROWS = pa.table({"id": pa.array(range(1_000)), "ward": ["A", "B", None, "C"] * 250, "cost": [0.5] * 1_000})


def _piecewise(*paths: Path) -> Piecewise:
    files = ds.dataset([str(path) for path in paths])
    return Piecewise(list(files.get_fragments()), files.schema, files.format, files.filesystem)


@pytest.mark.parametrize("rows_in_a_piece", [1, 25, 100, 2**18])
@pytest.mark.parametrize("rows_in_a_group", [7, 100, 1_000])
def test_pieces_hold_the_rows_of_the_files_in_their_order(tmp_path, monkeypatch, rows_in_a_piece, rows_in_a_group):
    monkeypatch.setattr(parquet_scan, "ROWS_IN_A_PIECE", rows_in_a_piece)
    for name in ("a", "b"):
        pq.write_table(ROWS, tmp_path / f"{name}.parquet", row_group_size=rows_in_a_group)
    pq.write_table(ROWS.schema.empty_table(), tmp_path / "c.parquet")
    pieces = _piecewise(*(tmp_path / f"{name}.parquet" for name in ("c", "a", "b")))
    assert pieces.to_table() == pa.concat_tables([ROWS, ROWS])
    some = pieces.to_table(columns=["ward"], filter=ds.field("ward").is_valid())
    assert some == pa.concat_tables([ROWS, ROWS]).select(["ward"]).drop_null()


def test_a_dataset_of_some_row_groups_stays_one(tmp_path):
    pq.write_table(ROWS, tmp_path / "a.parquet", row_group_size=100)
    (file,) = ds.dataset(tmp_path / "a.parquet").get_fragments()
    some = ds.FileSystemDataset([file.subset(row_group_ids=[1, 4])], ROWS.schema, file.format, file.filesystem)
    read = source_of(some).frame.to_table()
    assert read["id"].to_pylist() == [*range(100, 200), *range(400, 500)]


def test_what_is_read_ahead_does_not_grow_with_the_file(tmp_path, monkeypatch):
    """A whole scan would have read all 32 MB by then, whoever waits; pieces stop after a few of 0.5 MB each."""
    monkeypatch.setattr(parquet_scan, "ROWS_IN_A_PIECE", 2**16)
    path, groups, group = tmp_path / "large.parquet", 64, pa.table({"id": pa.array(range(2**16), pa.int64())})
    with pq.ParquetWriter(path, group.schema) as writer:
        for _ in range(groups):
            writer.write_table(group)
    before = pa.total_allocated_bytes()
    reader = _piecewise(path).scanner().to_reader()
    reader.read_next_batch()
    time.sleep(0.3)
    assert pa.total_allocated_bytes() - before < 2 * (parquet_scan.MOST_PIECES + 1) * group.nbytes
    assert sum(batch.num_rows for batch in reader) == (groups - 1) * 2**16


def test_duckdb_takes_parquet_piece_by_piece_and_only_the_columns_of_the_question(tmp_path, monkeypatch):
    asked: list[list[str]] = []
    scanner = Piecewise.scanner

    def noted(files: Piecewise, **given):
        asked.append(given["columns"])
        return scanner(files, **given)

    monkeypatch.setattr(Piecewise, "scanner", noted)
    pq.write_table(ROWS, tmp_path / "visits.parquet", row_group_size=100)
    declared = {"privacy_unit": "id", "max_rows": 1, "keys": {"ward": ["A", "B"]}, "budget": dp.Budget(epsilon=1)}
    with protect(tmp_path / "visits.parquet", **declared) as session:
        release = session.release(dp.table("visits").group_by("ward").agg(n=dp.count()), epsilon=1)
    assert release.to_arrow()["n"].to_pylist() == [250, 250]
    assert asked == [["id", "ward"]]
