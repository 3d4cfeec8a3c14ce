"""Histograms and contingency tables: bins are public, labels say what is in them, and caps hold for cells."""

import datetime as dt
from fractions import Fraction

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import discreet as dp
from discreet.catalog.catalog import Catalog
from discreet.errors import KeysError, ParameterError, Refusal
from discreet.plan import logical
from discreet.planner.registry import plan_query

T = dp.table("t")
TABLE = pa.table(
    {
        "id": [1, 1, 2, 3, 4, 5, 6],
        "sex": ["f", "f", "m", "f", "m", "m", "f"],
        "age": [19, 20, 29, 30, 90, 120, None],
        "share": [0.1, 0.2, 0.3, 0.30000000000000004, -1.0, 1.0, 0.7],
        "day": [dt.date(2026, 1, day) for day in range(1, 8)],
    }
)


@pytest.fixture
def session():
    words = {"name": "t", "privacy_unit": "id", "max_rows": 2, "keys": {"sex": ["f", "m"]}, "fixed_schema": True}
    with dp.testing.protect(TABLE, budget=dp.Budget(epsilon=9), **words) as opened:
        yield opened


def _rows(release):
    return {tuple(key.values[i] for key in release.keys): n for i, n in enumerate(release["n"])}


def test_a_histogram_counts_below_between_and_above_its_edges(session):
    release = session.release(T.histogram("age", bins=[20, 30, 90]), epsilon=1)
    assert _rows(release) == {("below 20",): 1, ("[20, 30)",): 2, ("[30, 90)",): 1, ("90 and above",): 2}


def test_rows_without_a_value_have_a_bin_of_their_own_if_asked_for(session):
    release = session.release(T.histogram("age", bins=range(0, 200, 100), missing=True), epsilon=1)
    assert _rows(release) == {("below 0",): 0, ("[0, 100)",): 5, ("100 and above",): 1, (None,): 1}
    assert "(missing)" in str(release)


def test_a_histogram_of_each_group_crosses_its_keys_with_the_bins(session):
    release = session.release(T.group_by("sex").histogram("age", bins=[30]), epsilon=1)
    assert _rows(release) == {
        ("f", "below 30"): 2,
        ("f", "30 and above"): 1,
        ("m", "below 30"): 1,
        ("m", "30 and above"): 2,
    }


def test_edges_of_regular_bins_are_the_numbers_that_are_written(session):
    release = session.release(T.histogram("share", bins=dp.bins(0, 1, 0.1)), epsilon=1)
    counts = {label: n for (label,), n in _rows(release).items() if n}
    assert counts == {
        "below 0": 1,
        "[0.1, 0.2)": 1,
        "[0.2, 0.3)": 1,
        "[0.3, 0.4)": 2,
        "[0.7, 0.8)": 1,
        "1 and above": 1,
    }


def test_days_are_bins_too(session):
    release = session.release(T.histogram("day", bins=[dt.date(2026, 1, 3), dt.date(2026, 1, 5)]), epsilon=1)
    assert list(_rows(release)) == [("below 2026-01-03",), ("[2026-01-03, 2026-01-05)",), ("2026-01-05 and above",)]
    assert release["n"] == (2, 2, 3)


@given(st.integers(-100, 100), st.integers(1, 50), st.sampled_from(["1", "0.1", "0.25", "1/3", "7"]))
def test_regular_bins_are_the_doubles_nearest_to_their_exact_places(low, number, width):
    step = Fraction(width)
    edges = dp.bins(low, low + number * step, step)
    assert edges == tuple(float(low + i * step) for i in range(number + 1))
    assert len(set(edges)) == number + 1


@pytest.mark.parametrize("words", [(0, 1, 0.3), (1, 0, 0.1), (0, 0, 1), (0, 10**9, 1)])
def test_bins_that_do_not_come_out_whole_are_refused_with_bins_that_do(words):
    with pytest.raises(ParameterError) as caught:
        dp.bins(*words)
    assert eval(caught.value.instead)  # noqa: S307 - the corrected call itself


def test_a_contingency_table_has_every_combination_in_one_release(session):
    query = T.contingency("sex", "age", bins={"age": [30]}, name="n")
    release = session.release(query, epsilon=1)
    assert _rows(release) == _rows(session.release(T.group_by("sex").histogram("age", bins=[30]), epsilon=1))
    assert len(session.history()) == 2


def test_a_contingency_table_takes_keys_and_caps_like_any_grouping():
    query = T.contingency("sex", "ward", keys={"sex": ["f"], "ward": ["A", "B"]}, max_groups=2, max_rows_per_group=1)
    grouped = T.group_by("sex", "ward", keys={"sex": ["f"], "ward": ["A", "B"]}, max_groups=2, max_rows_per_group=1)
    assert query.plan == grouped.agg(n=dp.count()).plan


@pytest.mark.parametrize("caps", [{}, {"max_groups": 2}, {"max_groups": 1, "max_rows_per_group": 3}])
def test_cells_are_composed_in_parallel_as_far_as_the_caps_say(caps):
    """One unit is in as many cells as its caps allow, however many cells there are."""
    columns = {"id": {"type": "integer"}, "a": {"type": "integer"}, "b": {"type": "boolean"}}
    table = {"columns": columns, "privacy_unit": "id", "max_rows": 4}
    catalog = Catalog.model_validate({"tables": {"t": table}})
    noises = set()
    for cells in (10, 1000):
        query = T.contingency("a", "b", keys={"a": range(cells)}, **caps)
        private = plan_query(query.plan, catalog, dp.Budget(epsilon=1), epsilon=1)
        noises.add(private.noisy_measures[0].sensitivity.l1)
    assert noises == {3 if "max_rows_per_group" in caps else 4}


@pytest.mark.pitfall("C1")
def test_bins_that_would_have_to_come_from_the_data_are_refused():
    with pytest.raises(ParameterError) as caught:
        T.histogram("age", bins=10)
    assert "edges from the data" in caught.value.because


def test_a_table_with_too_many_cells_says_how_many():
    columns = {name: {"type": "integer", "keys": list(range(200))} for name in "abc"}
    catalog = Catalog.model_validate({"tables": {"t": {"columns": columns, "privacy_unit": "dp.ROW"}}})
    with pytest.raises(KeysError) as caught:
        plan_query(T.contingency("a", "b", "c").plan, catalog, dp.Budget(epsilon=1), epsilon=1)
    assert "8,000,000" in caught.value.what


@pytest.mark.parametrize(
    "ask",
    [
        T.contingency,
        lambda: T.contingency("a", "a"),
        lambda: T.contingency("a", bins={"b": [1]}),
        lambda: T.histogram(T.age, bins=[1]),
        lambda: T.histogram("age", bins="abc"),
        lambda: T.group_by("age").histogram("age", bins=[1]),
        lambda: T.group_by("g", keys=pa.table({"g": [1]})).histogram("age", bins=[1]),
        lambda: T.histogram("n", bins=[1]),
    ],
)
def test_what_is_no_table_of_cells_is_refused(ask):
    with pytest.raises(Refusal):
        ask()


def test_labels_do_not_change_what_is_asked_of_an_engine():
    cut = T.histogram("age", bins=[20, 30]).plan
    assert cut.source == logical.Derive(logical.TableRef("t"), "age", logical.Bin(logical.ColumnRef("age"), (20, 30)))
    assert cut.grouping.labels == (("below 20", "[20, 30)", "30 and above"),)
    assert cut.grouping.values == ((0, 1, 2),)


@pytest.mark.parametrize("source", [T, T.group_by("sex", keys={"sex": ["f", "m"]})])
def test_a_histogram_without_bins_is_refused_with_some(source):
    with pytest.raises(ParameterError) as caught:
        source.histogram("age")
    assert caught.value.instead == 'histogram("age", bins=range(0, 101, 10))'
    with pytest.raises(ParameterError, match="without a width"):
        dp.bins(0, 100)


@pytest.mark.parametrize("bins", ["10", {"age": [1]}, {1, 2}, [], [40, 10], range(20_000), T.age])
def test_bins_that_are_not_increasing_edges_are_refused_as_bins_of_a_histogram(bins):
    with pytest.raises(ParameterError) as caught:
        T.histogram("age", bins=bins)
    assert "bins" in caught.value.what
    assert caught.value.instead.startswith("bins=")


def test_a_cap_of_a_histogram_within_groups_is_that_of_its_cells():
    grouped = {"keys": {"sex": ["f", "m"]}}
    capped = T.group_by("sex", **grouped).histogram("age", bins=[40], max_rows_per_group=1)
    assert capped == T.group_by("sex", **grouped, max_rows_per_group=1).histogram("age", bins=[40])
    with pytest.raises(ParameterError, match="the same cells"):
        T.group_by("sex", **grouped, max_rows_per_group=2).histogram("age", bins=[40], max_rows_per_group=1)


def test_bins_are_not_searched_for():
    with pytest.raises(Refusal, match="discovered") as caught:
        T.group_by("sex", keys=dp.discover(delta=1e-9)).histogram("age", bins=[40])
    assert 'group_by("sex", keys={"sex": ["A", "B"]})' in caught.value.instead
    for keys in (dp.discover(delta=1e-9), {"sex": dp.discover(delta=1e-9)}):
        with pytest.raises(Refusal, match="discovered"):
            T.contingency("sex", keys=keys)
    with pytest.raises(ParameterError, match="keys of type list"):
        T.contingency("sex", keys=["f", "m"])


@pytest.mark.parametrize(
    ("columns", "bins", "instead"),
    [
        (("sex", "age"), [18, 40], 'bins={"age": [18, 40]}'),
        ((["sex", "age"],), None, 'contingency("sex", "age")'),
        (("sex", "sex", "age"), None, 'contingency("sex", "age")'),
        ((), None, 'contingency("sex", "race")'),
    ],
)
def test_what_is_wrong_with_a_contingency_table_is_said_one_by_one(columns, bins, instead):
    with pytest.raises(ParameterError) as caught:
        T.contingency(*columns, bins=bins)
    assert caught.value.instead == instead


def test_counts_named_like_a_column_are_refused_with_another_name():
    with pytest.raises(ParameterError) as caught:
        T.per_unit(n=dp.count()).histogram("n", bins=[1, 2])
    assert caught.value.instead == 'name="rows"'
    T.per_unit(n=dp.count()).histogram("n", bins=[1, 2], name="rows")
