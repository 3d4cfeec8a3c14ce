"""Neighbour tests start where owners start: raw lines, a reader that infers types, declared types, a question.

A few pairs of each reader run always, 500 in the full tier and 3,000 in the nightly one; by hand any number, from any
seed:

    DISCREET_RAW_PAIRS=50000 DISCREET_RAW_SEED=7 pytest tests/guarantees/test_raw_neighbours.py -k more_neighbours -s

A failing pair is printed with its seed, its reader and both raw texts; `raw_neighbours.again(reader, seed, path)` is
that pair alone. Seeds are fixed, so these tests do not fail by chance.
"""

import os
from pathlib import Path

import pytest

import raw_neighbours
from raw_neighbours import READERS, Reader, again, changed_readings, tally

PAIRS = int(os.environ.get("DISCREET_RAW_PAIRS", "500"))
MORE_PAIRS = 2_500
FIRST_SEED = int(os.environ.get("DISCREET_RAW_SEED", "1"))
FEW_PAIRS = 6
WIDE_PAIRS = 12
SPARK_PAIRS = int(os.environ.get("DISCREET_RAW_SPARK_PAIRS", "10"))
INFERRED = [name for name, reader in READERS.items() if not reader.is_typed]
SHOWN = 3


def _hold(reader, pairs, seed, place, readers=READERS):
    found = tally(reader, pairs, seed, place, readers)
    print(f"\n{found}")
    assert not found.violations, "\n=====\n".join([str(found), *found.violations[:SHOWN]])
    assert found.judged >= pairs
    assert found.answered >= found.judged / 3


@pytest.mark.pitfall("A23")
@pytest.mark.pitfall("A24")
@pytest.mark.parametrize("reader", READERS)
def test_neighbours_through_a_reader_differ_by_at_most_the_sensitivity(reader, tmp_path):
    _hold(reader, FEW_PAIRS, FIRST_SEED + 10_000_000, tmp_path)


@pytest.mark.full
@pytest.mark.parametrize("reader", READERS)
def test_more_neighbours_through_readers_in_the_full_tier(reader, tmp_path):
    _hold(reader, -(-PAIRS // len(READERS)), FIRST_SEED, tmp_path)


@pytest.mark.nightly
@pytest.mark.parametrize("reader", READERS)
def test_most_neighbours_through_readers_in_the_nightly_tier(reader, tmp_path):
    _hold(reader, -(-MORE_PAIRS // len(READERS)), FIRST_SEED + 1_000_000, tmp_path)


def _changed(reader, seeds, place):
    found = [changed_readings(reader, seed, place) for seed in seeds]
    return [line for lines in found for line in lines or ()], sum(lines is not None for lines in found)


@pytest.mark.pitfall("A23")
@pytest.mark.parametrize("reader", INFERRED)
def test_no_cell_of_another_person_reads_otherwise_because_of_one_row(reader, tmp_path):
    """Several columns at once, each cell under every declared type."""
    changed, read = _changed(reader, [1], tmp_path)
    assert not changed, "\n".join(changed[:SHOWN])
    assert read, "the reader failed"


@pytest.mark.nightly
@pytest.mark.parametrize("reader", INFERRED)
def test_no_cell_of_another_person_reads_otherwise_in_many_datasets(reader, tmp_path):
    changed, read = _changed(reader, range(100, 100 + WIDE_PAIRS), tmp_path)
    assert not changed, "\n".join(changed[:SHOWN])
    assert read


def test_a_pair_is_the_same_again_and_shows_its_seed_and_both_texts(tmp_path):
    one, other = (again("pandas.read_csv", 3, tmp_path) for _ in range(2))
    assert one == other
    assert one.startswith("pandas.read_csv, seed 3: ")
    assert "\n--- one:\nid," in one
    assert "\n--- the other:\nid," in one


@pytest.mark.pitfall("A23")
def test_a_reader_that_reads_by_other_peoples_cells_is_found_out(tmp_path):
    """The check itself: where column types are called fixed and are not, neighbours differ by far more."""

    def called_fixed(pair, facts=raw_neighbours._facts):
        return facts(pair) | {"fixed_schema": True}

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(raw_neighbours, "_facts", called_fixed)
        assert tally("pandas.read_csv", 16, 1, tmp_path).violations


def _spark_readers(spark):
    def csv(_, text, path: Path):
        path.with_suffix(".csv").write_bytes(text.encode())
        return spark.read.csv(str(path.with_suffix(".csv")), header=True, inferSchema=True)

    def lines(_, text, path: Path):
        path.with_suffix(".json").write_bytes(text.encode())
        return spark.read.json(str(path.with_suffix(".json")))

    return {"spark.read.csv": Reader("csv", csv), "spark.read.json": Reader("json", lines)}


@pytest.mark.full
@pytest.mark.pitfall("A23")
@pytest.mark.parametrize("reader", ["spark.read.csv", "spark.read.json"])
def test_neighbours_through_readers_of_spark_differ_by_at_most_the_sensitivity(reader, spark, tmp_path):
    """They may be refused, with and without one person alike, or re-read as text."""
    found = tally(reader, SPARK_PAIRS, FIRST_SEED, tmp_path, _spark_readers(spark))
    assert not found.violations, "\n=====\n".join([str(found), *found.violations[:SHOWN]])
    assert found.judged >= SPARK_PAIRS
