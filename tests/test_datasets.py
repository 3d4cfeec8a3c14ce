"""The invented tables: determinism, shape, the correlations that docs rely on, and memory."""

import subprocess
import sys
from collections.abc import Callable
from datetime import date

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from discreet import datasets
from discreet.errors import ParameterError
from grids import over

GENERATORS: dict[str, Callable[..., pa.Table]] = {
    "people": lambda **seed: datasets.people(500, **seed),
    "visits": lambda **seed: datasets.visits(500, **seed),
    "expenditure": lambda **seed: datasets.expenditure(500, **seed),
    "skewed": lambda **seed: datasets.skewed_table(500, 50, 7, **seed),
}

every_generator = pytest.mark.parametrize("generate", GENERATORS.values(), ids=GENERATORS)


def _numbers(table: pa.Table, column: str) -> np.ndarray:
    return table[column].to_numpy()


def _distinct(table: pa.Table, column: str) -> set[object]:
    return set(pc.unique(table[column]).to_pylist())


def _rows_per(table: pa.Table, column: str) -> np.ndarray:
    return table.group_by(column).aggregate([([], "count_all")])["count_all"].to_numpy()


def _mean_by(table: pa.Table, group: str, column: str) -> dict[object, float]:
    means = table.group_by(group).aggregate([(column, "mean")])
    return dict(zip(means[group].to_pylist(), means[f"{column}_mean"].to_pylist(), strict=True))


@every_generator
def test_the_same_seed_gives_the_same_table(generate):
    assert generate(seed=3).equals(generate(seed=3))


@every_generator
def test_the_default_seed_is_zero(generate):
    assert generate().equals(generate(seed=0))


@every_generator
def test_another_seed_gives_another_table(generate):
    assert not generate(seed=3).equals(generate(seed=4))


@every_generator
@over("seed", [-1, 1.0, True, "0", None])
def test_a_seed_that_is_not_a_whole_number_is_refused(generate, seed):
    with pytest.raises(ParameterError, match="seed"):
        generate(seed=seed)


@pytest.mark.parametrize("generate", [datasets.people, datasets.visits, datasets.expenditure])
def test_a_table_of_nobody_has_the_same_columns(generate):
    assert generate(0).num_rows == 0
    assert generate(0).schema == generate(10).schema


@pytest.mark.parametrize("generate", [datasets.people, datasets.visits, datasets.expenditure])
@pytest.mark.parametrize("size", [-1, 2.5, "10", True])
def test_a_size_that_is_not_a_whole_number_is_refused(generate, size):
    with pytest.raises(ParameterError):
        generate(size)


def test_people_have_the_declared_columns_and_types():
    text, number = pa.string(), pa.int64()
    assert datasets.people(10).schema == pa.schema(
        {
            "person_id": number,
            "first_name": text,
            "last_name": text,
            "birth_date": pa.date32(),
            "sex": text,
            "zip_code": text,
            "state": text,
            "education": text,
            "education_years": number,
            "occupation": text,
            "marital_status": text,
            "hours_per_week": number,
            "income": number,
        }
    )


@pytest.mark.parametrize(
    ("column", "keys"),
    [
        ("sex", datasets.SEXES),
        ("state", datasets.STATES),
        ("education", datasets.EDUCATIONS),
        ("occupation", datasets.OCCUPATIONS),
        ("marital_status", datasets.MARITAL_STATUSES),
    ],
)
def test_the_public_keys_of_people_are_those_that_occur(column, keys):
    assert _distinct(datasets.people(20_000), column) == set(keys)


def test_birth_date_and_zip_code_single_out_almost_everyone():
    table = datasets.people(10_000)
    classes = table.group_by(["birth_date", "zip_code"]).aggregate([([], "count_all")])["count_all"].to_numpy()
    assert (classes == 1).sum() / table.num_rows > 0.95


def test_birth_date_or_zip_code_alone_does_not():
    table = datasets.people(10_000)
    assert (_rows_per(table, "zip_code") == 1).sum() < 0.05 * table.num_rows
    assert (_rows_per(table, "birth_date") == 1).sum() < 0.90 * table.num_rows


def test_each_zip_code_is_five_digits_of_text_in_one_state():
    table = datasets.people(20_000)
    codes = _distinct(table, "zip_code")
    assert all(isinstance(code, str) and len(code) == 5 and code.isdigit() for code in codes)
    assert any(str(code).startswith("0") for code in codes)
    states = table.group_by("zip_code").aggregate([("state", "count_distinct")])["state_count_distinct"]
    assert set(states.to_pylist()) == {1}


def test_more_education_earns_more():
    means = _mean_by(datasets.people(20_000), "education", "income")
    ordered = [means[level] for level in datasets.EDUCATIONS]
    assert ordered == sorted(ordered)


def test_years_of_education_follow_its_level():
    table = datasets.people(5_000)
    pairs = set(zip(table["education"].to_pylist(), table["education_years"].to_pylist(), strict=True))
    assert pairs == set(datasets.EDUCATION_YEARS.items())


def test_the_never_married_are_younger_and_the_widowed_older():
    table = datasets.people(20_000)
    days = table.append_column("born", pc.cast(table["birth_date"], pa.int32()))
    born = _mean_by(days, "marital_status", "born")
    assert born["never married"] > born["married"] > born["widowed"]


def test_everyone_is_between_17_and_91_and_nobody_earns_nothing():
    table = datasets.people(20_000)
    born = _numbers(table, "birth_date").astype("datetime64[D]").astype(date)
    ages = np.array([(datasets.TODAY - day).days / 365.25 for day in born])
    assert 17 <= ages.min() <= ages.max() < 91
    assert _numbers(table, "income").min() > 0


def test_those_who_do_not_work_have_no_hours():
    table = datasets.people(5_000)
    idle = np.isin(table["occupation"].to_numpy(zero_copy_only=False), ["retired", "not working"])
    assert ((_numbers(table, "hours_per_week") == 0) == idle).all()


def test_visits_have_the_declared_columns_and_types():
    number = pa.int64()
    assert datasets.visits(10).schema == pa.schema(
        {
            "visit_id": number,
            "patient_id": number,
            "ward": pa.string(),
            "age": number,
            "cost": pa.float64(),
            "day": pa.date32(),
            "urgent": pa.bool_(),
        }
    )


def test_every_patient_visits_and_a_few_visit_often():
    table = datasets.visits(5_000)
    assert _distinct(table, "patient_id") == set(range(1, 5_001))
    visits = _rows_per(table, "patient_id")
    assert np.median(visits) <= 3
    assert 15 < visits.max() <= 60


def test_the_wards_that_occur_are_the_public_ones():
    assert _distinct(datasets.visits(2_000), "ward") == set(datasets.WARDS)


def test_costs_are_skewed_cents_with_a_few_nulls():
    cost = datasets.visits(5_000)["cost"]
    known = cost.drop_null().to_numpy()
    assert 0 < cost.null_count < 0.03 * len(cost)
    assert (known > 0).all()
    assert (np.round(known, 2) == known).all()
    assert known.mean() > 1.3 * np.median(known)


def test_children_are_in_paediatrics_and_nobody_else_is():
    table = datasets.visits(5_000)
    ages = _numbers(table.filter(pc.equal(table["ward"], "paediatrics")), "age")
    assert ages.max() < 16


def test_visits_are_in_order_of_day():
    days = _numbers(datasets.visits(2_000), "day")
    assert (np.sort(days) == days).all()
    assert str(days.min()) >= "2024-01-01"
    assert str(days.max()) <= "2024-12-31"


def test_expenditure_has_the_declared_columns_and_public_keys():
    table = datasets.expenditure(2_000)
    assert table.column_names == ["household_id", "month", "income", "spending", "category", "area", "members"]
    for column, keys in [("month", datasets.MONTHS), ("category", datasets.CATEGORIES), ("area", datasets.AREAS)]:
        assert _distinct(table, column) == set(keys)


def test_a_household_has_several_rows_but_one_per_month_and_category():
    table = datasets.expenditure(2_000)
    assert np.median(_rows_per(table, "household_id")) > 5
    cells = table.group_by(["household_id", "month", "category"]).aggregate([([], "count_all")])
    assert cells.num_rows == table.num_rows


def test_larger_incomes_spend_more():
    table = datasets.expenditure(3_000)
    assert np.corrcoef(_numbers(table, "income"), _numbers(table, "spending"))[0, 1] > 0.3


@pytest.mark.parametrize(("rows", "units", "keys"), [(1, 1, 1), (10, 10, 3), (5_000, 700, 40), (99_999, 12_345, 6)])
def test_a_skewed_table_has_exactly_the_rows_and_units_that_were_asked_for(rows, units, keys):
    table = datasets.skewed_table(rows, units, keys)
    assert table.num_rows == rows
    assert _distinct(table, "unit") == set(range(units))
    assert _distinct(table, "key") <= set(datasets.skewed_keys(keys))


def test_a_skewed_table_has_the_declared_types():
    assert datasets.skewed_table(10, 5, 2).schema == pa.schema(
        {
            "unit": pa.int64(),
            "key": pa.string(),
            "value": pa.float64(),
            "day": pa.date32(),
            "channel": pa.string(),
        }
    )


def test_rows_are_skewed_over_units_and_keys():
    table = datasets.skewed_table(200_000, 10_000, 50)
    rows = _rows_per(table, "unit")
    assert rows.max() > 10 * np.median(rows)
    assert _rows_per(table, "key").max() > 10 * np.median(_rows_per(table, "key"))
    assert len(_distinct(table, "key")) == 50


def test_the_rows_of_a_unit_lie_scattered():
    units = _numbers(datasets.skewed_table(50_000, 500, 5), "unit")
    assert (units[1:] == units[:-1]).mean() < 0.02


def test_fewer_rows_than_units_are_refused_before_the_first_batch():
    with pytest.raises(ParameterError, match="rows=5 for units=10"):
        datasets.skewed_batches(5, 10, 2)


def test_keys_beyond_four_digits_stay_distinct():
    keys = datasets.skewed_keys(12_000)
    assert keys[0] == "key_0000"
    assert keys[-1] == "key_11999"
    assert len(set(keys)) == 12_000


def test_batches_are_the_table_in_pieces_of_at_most_a_block(monkeypatch):
    monkeypatch.setattr(datasets, "BLOCK_ROWS", 1_000)
    batches = list(datasets.skewed_batches(10_500, 800, 9, seed=1))
    assert len(batches) == 11
    assert max(batch.num_rows for batch in batches) <= 1_000
    assert pa.Table.from_batches(batches).equals(datasets.skewed_table(10_500, 800, 9, seed=1))
    assert _distinct(pa.Table.from_batches(batches), "unit") == set(range(800))


def test_written_batches_read_back_the_same(tmp_path):
    path = datasets.write_parquet(datasets.skewed_batches(20_000, 900, 30), tmp_path / "skewed.parquet")
    assert pq.read_table(path).equals(datasets.skewed_table(20_000, 900, 30))


def test_a_file_without_batches_is_refused_and_not_made(tmp_path):
    with pytest.raises(ParameterError, match="without batches"):
        datasets.write_parquet([], tmp_path / "nothing.parquet")
    assert not (tmp_path / "nothing.parquet").exists()


def test_writing_ten_million_rows_needs_less_memory_than_holding_them(tmp_path):
    """Held, the rows would take over 450 MB."""
    script = f"""
import resource
from discreet import datasets
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
batches = datasets.skewed_batches(10_000_000, 500_000, 100)
datasets.write_parquet(batches, {str(tmp_path / "big.parquet")!r})
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024)
"""
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert int(run.stdout) < 250
    assert pq.ParquetFile(tmp_path / "big.parquet").metadata.num_rows == 10_000_000
