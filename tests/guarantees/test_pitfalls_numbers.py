"""The failures of numbers and expressions that others had (PITFALLS, part A), held against a whole session.

Exact answers come from the testing session, which runs everything but the noise. Two datasets that must be treated
alike share one ledger, and with it the key by which a cap chooses rows.
"""

import math
from fractions import Fraction

import pandas as pd
import pyarrow as pa
import pytest
from pitfalls import T, analyzed, exact, opened, reals, total

import discreet as dp
from discreet.errors import KeysError, ParameterError, TypeMismatchError, UnboundedError


@pytest.mark.pitfall("A1")
@pytest.mark.parametrize("delta", [0, 1e-9], ids=["laplace", "gaussian"])
@pytest.mark.parametrize("grid", [Fraction(1, 10**4), Fraction(1, 4), Fraction(1, 3), Fraction(2)], ids=str)
def test_every_released_sum_is_a_multiple_of_the_public_grid(grid, delta):
    """Continuous noise would leave the grid with probability 1."""
    rows = pa.table({"g": list(range(200)), "x": [i / 7 for i in range(200)]})
    query = T.group_by("g", keys={"g": range(200)}).agg(n=dp.count(), s=dp.sum("x", bounds=(0, 30), grid=grid))
    with opened(rows, dp.protect, budget=dp.Budget(epsilon=1, delta=delta)) as session:
        release = session.release(query, epsilon=1)
    counts, sums = release.measured
    assert (counts.grid, sums.grid) == (1, grid)
    assert all(isinstance(step, int) for measured in (counts, sums) for step in measured.steps)
    assert release["n"] == counts.steps
    assert release["s"] == tuple(float(round(Fraction(value) / grid) * grid) for value in release["s"])
    assert len(set(sums.steps)) > 40


@pytest.mark.pitfall("A1")
def test_without_a_given_grid_a_sum_of_reals_still_has_a_public_one():
    with opened(reals([1 / 7]), dp.protect) as session:
        release = session.release(T.agg(s=dp.sum("x", bounds=(0, 30))), epsilon=1)
        assert release.measured[0].grid == Fraction(1, 10**4)
        assert round(release.value() * 10**4, 6) == release.measured[0].steps[0]


@pytest.mark.pitfall("A2")
def test_a_sum_does_not_depend_on_the_order_of_rows_nor_on_the_rounding_of_partial_sums():
    values = [2.0**52 + (i % 2) for i in range(65)]
    query = T.agg(s=dp.sum("x", bounds=(2**52, 2**52 + 1), grid=1))

    def summed(chosen):
        with opened(reals(chosen), budget=dp.Budget(epsilon=10)) as session:
            return session.release(query, epsilon=10).value()

    truth = sum(map(int, values))
    for order in (values, values[::-1], sorted(values), sorted(values, reverse=True)):
        assert summed(order) == truth
    assert summed(values[1:]) == truth - 2**52
    assert sum(values) != truth


@pytest.mark.pitfall("A2")
def test_sums_of_many_fractions_are_sums_of_their_rounded_steps():
    values = [0.1] * 1_000 + [1e15 / 7, -1e15 / 7, 0.3]
    steps = sum(math.floor(Fraction(v) * 10 + Fraction(1, 2)) for v in values if abs(v) < 1)
    with opened(reals(values)) as session:
        release = session.release(T.agg(s=dp.sum("x", bounds=(-100, 100), grid=0.1)), epsilon=1)
    assert release.measured[0].steps == (steps,)


@pytest.mark.pitfall("A3")
def test_whole_numbers_at_the_edge_of_64_bits_are_clamped_before_they_are_summed():
    edge = pa.table({"x": pa.array([2**63 - 1, 2**63 - 1, -(2**63)], pa.int64())})
    assert total(edge, bounds=(0, 2**48)) == 2 * 2**48
    assert total(edge, bounds=(-5, 7)) == 9


@pytest.mark.pitfall("A3")
def test_a_sum_beyond_64_bits_is_exact():
    rows = pa.table({"x": pa.array([2**62] * 40_000, pa.int64())})
    assert total(rows, bounds=(0, 2**48)) == 40_000 * 2**48 > 2**63
    with opened(rows, dp.protect) as session:
        value = session.release(T.agg(s=dp.sum("x", bounds=(0, 2**48))), epsilon=1).value()
        assert abs(value - 40_000 * 2**48) < 100 * 2**48


@pytest.mark.pitfall("A3")
def test_bounds_that_cannot_be_rounded_exactly_are_refused():
    with opened(reals([1.0])) as session, pytest.raises(ParameterError, match="2\\*\\*53"):
        session.release(T.agg(s=dp.sum("x", bounds=(0, 2**60), grid=1)), epsilon=1)


NOT_NUMBERS = [math.nan, math.inf, -math.inf, None]


@pytest.mark.pitfall("A4")
def test_one_nan_row_changes_no_mean():
    mean = T.agg(m=dp.mean("x", bounds=(0, 10)))
    assert exact(reals([2.0, 4.0, *NOT_NUMBERS]), mean) == exact(reals([2.0, 4.0]), mean) == ((3,),)


@pytest.mark.pitfall("A4")
def test_what_is_no_number_is_missing_everywhere_and_follows_the_declared_policy():
    rows = reals([2.0, *NOT_NUMBERS, -0.0])
    assert exact(rows, T.where(T.x.is_missing()).agg(n=dp.count())) == ((4,),)
    assert exact(rows, T.where(T.x > -1).agg(n=dp.count())) == ((2,),)
    assert exact(rows, T.where(~(T.x > -1)).agg(n=dp.count())) == ((0,),)
    assert total(rows) == 2
    assert total(rows, missing={"x": 7}) == 2 + 4 * 7
    assert total(rows, missing={"x": 700}) == 2 + 4 * 100


@pytest.mark.pitfall("A4")
def test_nan_in_text_and_infinite_results_are_missing_too(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("x\nnan\ninf\n-Infinity\n1e999\n3\n")
    assert total(path, types={"x": "real"}) == 3
    overflowing = T.derive(y=T.x * 1e140 * 1e140)
    rows = reals([1.0, 0.0])
    assert exact(rows, overflowing.where(overflowing.y.is_missing()).agg(n=dp.count())) == ((1,),)


@pytest.mark.pitfall("A5")
def test_a_missing_value_is_not_taken_for_a_bound():
    """LEAST(NULL, 150) is 150 on DuckDB: a clamp by LEAST would count each missing value as 150."""
    rows = pa.table({"x": pa.array([10, None, None], pa.int64())})
    assert total(rows, bounds=(0, 150)) == 10
    assert total(rows, bounds=(20, 150)) == 20
    assert exact(rows, T.agg(m=dp.mean("x", bounds=(0, 150)))) == ((10,),)


@pytest.mark.pitfall("A6")
def test_text_in_a_number_column_is_missing_and_raises_nothing(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("x\n41\nHIV+ alice\n1\n")
    assert total(path, types={"x": "integer"}) == 42
    query = T.agg(s=dp.sum(T.x.cast("integer"), bounds=(0, 100)))
    assert exact(path, query, types={"x": "text"}, name="t") == ((42,),)
    for kind in ("date", "timestamp", "real"):
        predicate = T.x.cast(kind).is_missing()
        assert exact(path, T.where(predicate).agg(n=dp.count()), types={"x": "text"})[0][0] in (1, 3)


ROW_WISE = [
    lambda t: t.x > 5,
    lambda t: (t.x + 1) / (t.x - 3) > t.x * 2,
    lambda t: t.w.is_in(["a", "c"]) | t.x.is_missing(),
    lambda t: ~((t.w == "a") & (t.x <= 7)),
    lambda t: t.x.cast("integer").between(2, 8),
    lambda t: t.w.cast("real").is_present(),
    lambda t: t.w.cast("date") > "2020-01-01",
]


@pytest.mark.pitfall("A7")
@pytest.mark.parametrize("predicate", ROW_WISE, ids=range(len(ROW_WISE)))
def test_an_expression_depends_on_its_own_row_alone(predicate):
    texts = ["a", "b", "c", None, "2021-05-05", "7", "", "é", "a", "b", "zz"]
    numbers = [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, math.nan, None, 3.0]
    table = pa.table({"row": list(range(11)), "x": pa.array(numbers, pa.float64()), "w": texts})
    query = T.where(predicate(T)).group_by("row", keys={"row": range(11)}).agg(n=dp.count())
    whole = exact(table, query)[0]
    assert set(whole) <= {0, 1}
    assert exact(table.take(list(range(11))[::-1]), query)[0] == whole
    for start in (0, 5, 10):
        part = exact(table.slice(start, 5), query)[0]
        assert part[start : start + 5] == whole[start : start + 5]


@pytest.mark.pitfall("A7")
@pytest.mark.parametrize(
    "build",
    [
        lambda: T.derive(x=dp.count()),
        lambda: T.where(lambda row: row.x > 1),
        lambda: T.where("rank() OVER () > 1"),
        lambda: T.derive(x="ntile(4) OVER (ORDER BY x)"),
        lambda: T.agg(n=T.x),
        lambda: T.agg(n="count(*)"),
        lambda: dp.sum(dp.count(), bounds=(0, 1)),
        lambda: T.where(T.x == T),
        lambda: T.x.cast("decimal"),
    ],
)
def test_nothing_but_the_listed_row_wise_operators_can_be_written(build):
    with pytest.raises((TypeMismatchError, ParameterError)):
        build()


@pytest.mark.pitfall("A7")
def test_expressions_have_no_methods_that_look_at_other_rows():
    for name in ("rank", "shift", "cumsum", "quantile", "cut", "max", "map", "apply", "sum", "fillna", "sql"):
        assert not hasattr(T.x, name)


@pytest.mark.pitfall("A7")
@pytest.mark.parametrize("cells", [[2.5, 4.5, 6.5], [True, False, True], [1, 2.5, "3"]], ids=str)
def test_one_strange_cell_of_a_pandas_column_of_objects_changes_no_other_row(cells):
    clean = total(pd.DataFrame({"x": pd.Series(cells, dtype=object)}), types={"x": "integer"})
    assert total(pd.DataFrame({"x": pd.Series([*cells, "a"], dtype=object)}), types={"x": "integer"}) == clean


@pytest.mark.pitfall("A8")
def test_caps_are_enforced_on_the_final_grouping_not_on_a_redefined_key():
    """Ten people with five rows in five groups each; the key is redefined to a constant after the fact."""
    rows = pa.table({"id": [i // 5 for i in range(50)], "g": [i % 5 for i in range(50)]})
    constant = T.derive(g=(T.g * 0).cast("integer"))
    grouped = constant.group_by("g", keys={"g": [0]}, max_rows_per_group=1).agg(n=dp.count())
    assert exact(rows, grouped, privacy_unit="id") == ((10,),)
    with opened(rows, privacy_unit="id") as session:
        private = analyzed(session, grouped, epsilon=1)
        assert private.noisy_measures[0].sensitivity.l1 == 1


@pytest.mark.pitfall("A8")
def test_bounds_and_keys_of_the_catalog_do_not_pass_to_a_redefined_column():
    rows = pa.table({"g": ["a", "b"], "x": [1.0, 2.0]})
    with opened(rows, keys={"g": ["a", "b"]}, bounds={"x": (0, 10)}) as session:
        assert session.release(T.group_by("g").agg(s=dp.sum("x")), epsilon=0.1)["s"] == (1, 2)
        wider = T.derive(x=T.x * 1_000_000)
        with pytest.raises(UnboundedError):
            session.release(wider.agg(s=dp.sum("x")), epsilon=0.1)
        with pytest.raises(KeysError):
            session.release(T.derive(g=T.x.cast("integer").cast("text")).group_by("g").agg(n=dp.count()), epsilon=0.1)


@pytest.mark.pitfall("A9")
@pytest.mark.parametrize(
    ("query", "added", "replaced"),
    [
        (T.agg(s=dp.sum("x", bounds=(-10, 10))), 10, 20),
        (T.agg(s=dp.sum("x", bounds=(0, 10))), 10, 10),
        (T.agg(s=dp.sum("x", bounds=(-3, 10))), 10, 13),
        (T.group_by("g", keys={"g": [0, 1]}).agg(n=dp.count()), 1, 2),
        (T.agg(n=dp.count()), 1, 1),
        (T.agg(m=dp.mean("x", bounds=(-10, 10))), 10, 20),
    ],
    ids=["both signs", "one sign", "unequal", "groups", "count", "mean"],
)
def test_replacing_one_unit_costs_what_it_can_move(query, added, replaced):
    rows = pa.table({"g": [0], "x": [1.0]})
    grid = Fraction(1, 10**4)
    for neighbours, expected in (("add_remove", added), ("replace_one", replaced)):
        with opened(rows, neighbours=neighbours) as session:
            release = session.release(query, epsilon=1)
            measured = release.measured[0]
            assert measured.l1 * (grid if "SumSteps" in measured.measure else 1) == expected
            assert release.unit.endswith("added or removed" if neighbours == "add_remove" else "replaced by another")


@pytest.mark.pitfall("A9")
def test_three_rows_that_turn_from_plus_ten_to_minus_ten_move_the_sum_by_the_stated_sensitivity():
    rows = {"id": ["a"] * 3 + ["b"], "x": [10, 10, 10, 4]}
    swapped = rows | {"x": [-10, -10, -10, 4]}
    words = {"privacy_unit": "id", "max_rows": 3, "neighbours": "replace_one"}
    moved = total(pa.table(rows), bounds=(-10, 10), **words) - total(pa.table(swapped), bounds=(-10, 10), **words)
    with opened(pa.table(rows), **words) as session:
        stated = analyzed(session, T.agg(s=dp.sum("x", bounds=(-10, 10))), epsilon=1).noisy_measures[0].sensitivity.l1
    assert moved == stated == 60


@pytest.mark.pitfall("A18")
def test_halves_are_rounded_upwards_and_division_is_total():
    halves = {0.5: 1, 1.5: 2, 2.5: 3, 3.5: 4, -0.5: 0, -1.5: -1, -2.5: -2}
    table = pa.table({"row": range(7), "x": list(halves)})
    rounded = T.group_by("row", keys={"row": range(7)}).agg(
        grid=dp.sum("x", bounds=(-10, 10), grid=1), cast=dp.sum(T.x.cast("integer"), bounds=(-10, 10))
    )
    assert exact(table, rounded) == (tuple(halves.values()), tuple(halves.values()))
    inverse = 1 / (T.x - 30)
    rows = reals([30.0, 31.0, 29.0])
    assert exact(rows, T.where(inverse.is_missing()).agg(n=dp.count())) == ((1,),)
    assert exact(rows, T.where(inverse > 0).agg(n=dp.count())) == ((1,),)
    assert exact(rows, T.agg(s=dp.sum(inverse, bounds=(-5, 5)))) == ((0,),)


@pytest.mark.pitfall("A21")
def test_rounding_never_leaves_the_bounds():
    query = T.agg(s=dp.sum("x", bounds=(-0.25, 0.25), grid=0.1))
    for value in (0.25, 0.249, 1e9, math.nextafter(0.25, 1)):
        assert exact(reals([value]), query) == ((0.2,),)
        assert exact(reals([-value]), query) == ((-0.2,),)
    with opened(reals([1.0])) as session:
        assert analyzed(session, query, epsilon=1).noisy_measures[0].sensitivity.l1 == 2
