"""Aggregates become integers on a public grid: default grids, bounds moved inwards, stand-ins for missing values."""

import math
from fractions import Fraction

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import discreet as dp
from discreet.catalog.catalog import Catalog, ColumnType
from discreet.errors import KeysError, ParameterError, Refusal, TypeMismatchError, UnboundedError, UnsupportedError
from discreet.plan import logical
from discreet.plan.physical import CountRows, CountUnits, CountValues, Read, SumSteps
from discreet.planner.resolve.binding import bind
from discreet.planner.resolve.grids import STEPS_OF_A_REAL
from discreet.planner.resolve.measures import LARGEST_STEP, Recipe, recipe, search_steps
from discreet.query.quantiles import interquartile_range, median

CATALOG = Catalog.parse("""
tables:
  t:
    privacy_unit: [country, id]
    columns:
      country: {type: text}
      id: {type: text}
      i: {type: integer, bounds: [0, 120]}
      r: {type: real, bounds: [0, 5000]}
      g: {type: real, bounds: [0, 5000], grid: 0.5}
      m: {type: real, bounds: [0, 100], grid: 1, missing: 7}
      out: {type: real, bounds: [0, 100], grid: 1, missing: -50}
      none: {type: real}
      s: {type: text, keys: [A, B, null]}
      free: {type: text}
      b: {type: boolean}
      d: {type: date}
      doc: {type: document}
""")
t = dp.table("t")


def _made(aggregate, frame=t) -> Recipe:
    query = frame.agg(x=aggregate).plan
    return recipe(query.outputs[0], bind(query.source, CATALOG))


def _steps(aggregate, frame=t) -> SumSteps:
    (part, *_) = _made(aggregate, frame).parts
    assert isinstance(part.measure, SumSteps)
    return part.measure


def _refused(aggregate, frame=t) -> Refusal:
    with pytest.raises(Refusal) as caught:
        _made(aggregate, frame)
    return caught.value


@pytest.mark.parametrize(
    ("aggregate", "kind"),
    [(median, "median"), (interquartile_range, "interquartile range")],
    ids=["median", "range"],
)
def test_what_no_public_noise_covers_is_refused_with_the_method_that_answers_it(aggregate, kind):
    for column in ("i", "none", "s"):
        refusal = _refused(aggregate(column, bounds=(0, 120)))
        assert isinstance(refusal, UnsupportedError)
        assert refusal.what == f"{kind} 'x' in a release"
        assert refusal.because == "no noise of a size that is public covers it"
        assert refusal.instead == "session.release(query, epsilon=1, method=dp.SmoothSensitivity())"


class TestCounts:
    def test_counts_are_counts(self):
        assert [part.measure for part in _made(dp.count()).parts] == [CountRows()]
        assert [part.measure for part in _made(dp.count_units()).parts] == [CountUnits()]

    def test_a_count_of_values_takes_the_declared_keys_without_the_missing_one(self):
        (part,) = _made(dp.count_distinct("s")).parts
        assert part.measure == CountValues(Read("s", ColumnType.TEXT), ("A", "B"))

    def test_a_domain_may_be_given(self):
        (part,) = _made(dp.count_distinct("free", domain=["x", "y", None])).parts
        assert part.measure.domain == ("x", "y")
        (part,) = _made(dp.count_distinct(t.r.cast("integer"), domain=range(3))).parts
        assert part.measure.domain == (0, 1, 2)

    def test_booleans_have_a_domain(self):
        (part,) = _made(dp.count_distinct(t.i > 3)).parts
        assert part.measure.domain == (False, True)

    @pytest.mark.pitfall("A11")
    def test_values_that_are_not_public_are_not_counted(self):
        assert isinstance(_refused(dp.count_distinct("free")), KeysError)

    @pytest.mark.pitfall("A8")
    def test_the_keys_of_a_column_do_not_outlive_its_redefinition(self):
        assert isinstance(_refused(dp.count_distinct("s"), t.derive(s=t.free)), KeysError)
        assert isinstance(_refused(dp.count_distinct("s"), t.derive(s=t.s)), KeysError)

    @pytest.mark.parametrize("column", ["r", "doc"])
    def test_values_that_cannot_be_listed_are_refused(self, column):
        assert isinstance(_refused(dp.count_distinct(column, domain=["x"])), TypeMismatchError)

    @pytest.mark.parametrize("domain", [[], [None], ["A", "A"], [1, 1]])
    def test_a_domain_has_values_each_once(self, domain):
        refusal = _refused(dp.count_distinct("free" if "A" in domain else "i", domain=domain))
        assert isinstance(refusal, KeysError)

    def test_a_domain_of_another_type_is_refused(self):
        assert isinstance(_refused(dp.count_distinct("i", domain=["A"])), TypeMismatchError)


class TestGrids:
    @pytest.mark.parametrize(
        ("bounds", "grid"),
        [
            ((0, 5000), "0.01"),
            ((0, 1), "0.00001"),
            ((-1, 1), "0.00001"),
            ((0, 100_000), "1"),
            ((0, 99_999), "0.1"),
            ((0, 1e9), "10000"),
            ((0, 1e-6), "1e-11"),
            ((-3, -1), "0.00001"),
            ((1000, 1001), "0.01"),
            ((0, 1e-280), "1e-285"),
        ],
    )
    def test_reals_are_counted_in_the_power_of_ten_that_cuts_the_larger_bound_finely_enough(self, bounds, grid):
        assert _steps(dp.sum("none", bounds=bounds)).grid == Fraction(grid)

    @given(st.fractions(-(10**9), 10**9), st.fractions(-(10**9), 10**9))
    def test_the_default_grid_of_a_real_is_a_power_of_ten_with_100_000_to_a_million_steps(self, one, other):
        low, high = sorted((one, other))
        largest = max(abs(low), abs(high))
        assume(largest > Fraction(1, 10**9))
        try:
            grid = _steps(dp.sum("none", bounds=(low, high))).grid
        except ParameterError:
            assume(False)
        assert STEPS_OF_A_REAL <= largest / grid < 10 * STEPS_OF_A_REAL
        assert {grid.numerator, grid.denominator} & {1}
        assert set(str(max(grid.numerator, grid.denominator))) <= {"1", "0"}

    def test_whole_numbers_are_counted_one_by_one(self):
        assert _steps(dp.sum("i")).grid == 1
        assert _steps(dp.sum("i", bounds=(0, 10**9))).grid == 1
        assert _steps(dp.sum("i", bounds=(0, 10**9), grid=1000)).grid == 1000

    def test_the_grid_of_the_query_stands_before_that_of_the_catalog_and_the_default(self):
        assert _steps(dp.sum("g")).grid == Fraction(1, 2)
        assert _steps(dp.sum("g", grid=0.25)).grid == Fraction(1, 4)
        assert _steps(dp.sum("r")).grid == Fraction(1, 100)

    @pytest.mark.pitfall("A21")
    @given(
        st.fractions(-1000, 1000), st.fractions(0, 1000), st.fractions(Fraction(1, 100), 50), st.fractions(-2000, 2000)
    )
    def test_bounds_move_inwards_so_that_no_clamped_value_leaves_them(self, low, width, grid, value):
        assume(math.floor((low + width) / grid) >= math.ceil(low / grid))
        assume((math.ceil(low / grid), math.floor((low + width) / grid)) != (0, 0))
        steps = _steps(dp.sum("none", bounds=(low, low + width), grid=grid))
        rounded = math.floor(value / grid + Fraction(1, 2))
        clamped = max(steps.low, min(steps.high, rounded)) * grid
        assert low <= steps.low * grid <= clamped <= steps.high * grid <= low + width
        assert steps.low * grid - low < grid
        assert low + width - steps.high * grid < grid

    def test_bounds_between_two_steps_leave_nothing_to_measure(self):
        assert "no multiple" in _refused(dp.sum("i", bounds=(0.2, 0.8))).because
        assert "clamped to zero" in _refused(dp.sum("i", bounds=(0, 0))).because
        assert "clamped to zero" in _refused(dp.sum("i", bounds=(-0.5, 0.5))).because
        assert "is known" in _refused(dp.mean("i", bounds=(5, 5))).because
        assert _steps(dp.sum("i", bounds=(5, 5))).low == 5

    @pytest.mark.pitfall("A3")
    def test_steps_beyond_what_doubles_count_are_refused(self):
        assert _steps(dp.sum("i", bounds=(0, LARGEST_STEP))).high == LARGEST_STEP
        for low, high in ((0, LARGEST_STEP + 1), (-LARGEST_STEP - 1, 0), (0, 2**63 - 1)):
            assert "2**53" in _refused(dp.sum("i", bounds=(low, high))).because
        assert "2**53" in _refused(dp.mean("r", grid=1e-15)).because

    @pytest.mark.pitfall("D")
    @pytest.mark.parametrize(
        ("bounds", "grid"), [((0, 1e-310), 1e-320), ((0, 1e-300), None), ((0, 10**390), 10**380), ((0, 10**350), None)]
    )
    def test_grids_that_no_double_counts_in_are_refused(self, bounds, grid):
        assert "doubles" in _refused(dp.sum("none", bounds=bounds, grid=grid)).because


class TestBounds:
    @pytest.mark.pitfall("C1")
    @pytest.mark.parametrize("aggregate", [dp.sum, dp.mean])
    def test_a_number_without_bounds_is_refused_with_the_unit_that_could_move_it(self, aggregate):
        for operand, frame in (("none", t), (t.i + 1, t), ("i", t.derive(i=t.none)), ("i", t.derive(i=t.i))):
            refusal = _refused(aggregate(operand), frame)
            assert isinstance(refusal, UnboundedError)
            assert "one country and id" in refusal.because
            assert refusal.instead.startswith(f"dp.{aggregate.__name__}(")

    @pytest.mark.pitfall("A8")
    def test_bounds_grid_and_missing_values_of_a_column_do_not_outlive_its_redefinition(self):
        redefined = t.derive(m=t.none)
        steps = _steps(dp.sum("m", bounds=(0, 5000)), redefined)
        assert (steps.grid, steps.missing) == (Fraction(1, 100), None)
        assert steps.operand == Read("none", ColumnType.REAL)

    def test_the_bounds_of_the_query_stand_before_those_of_the_catalog(self):
        assert _steps(dp.sum("i")).high == 120
        assert _steps(dp.sum("i", bounds=(18, 65))).low == 18
        assert _steps(dp.sum("i", bounds=(0, 10**6))).high == 10**6

    @pytest.mark.parametrize("column", ["s", "b", "d", "doc"])
    def test_only_numbers_have_sums_and_means(self, column):
        for aggregate in (dp.sum, dp.mean):
            refusal = _refused(aggregate(column, bounds=(0, 1)))
            assert isinstance(refusal, TypeMismatchError)
            assert "only numbers" in refusal.because
        if column == "s":
            assert "table['s'].cast(\"real\")" in refusal.instead


class TestMissing:
    def test_missing_values_are_skipped_or_stand_for_a_declared_number(self):
        assert _steps(dp.sum("r")).missing is None
        assert _steps(dp.sum("m")).missing == 7
        assert _steps(dp.sum("m", grid=0.5)).missing == 14
        assert _steps(dp.sum("m", grid=2, bounds=(0, 100))).missing == 4

    def test_what_stands_for_a_missing_value_is_clamped_like_any_other(self):
        assert _steps(dp.sum("out")).missing == 0
        assert _steps(dp.sum("m", bounds=(10, 20))).missing == 10


class TestMeans:
    def test_a_mean_is_a_centred_sum_over_a_count_with_shares_of_three_and_two_fifths(self):
        made = _made(dp.mean("i"))
        total, present = made.parts
        assert total.measure == SumSteps(Read("i", ColumnType.INTEGER), Fraction(1), 0, 120, 60)
        assert present.measure == CountRows(Read("i", ColumnType.INTEGER))
        assert (total.share, present.share) == (Fraction(3, 5), Fraction(2, 5))
        assert (made.centre, made.grid, made.bounds) == (60, 1, (0, 120))

    def test_a_mean_with_a_value_for_missing_cells_is_over_all_rows(self):
        total, present = _made(dp.mean("m")).parts
        assert total.measure.missing == 7
        assert present.measure == CountRows()

    @given(st.integers(-1000, 1000), st.integers(1, 1000), st.sampled_from(["1", "0.5", "0.01"]))
    def test_the_centre_is_the_middle_step_of_the_bounds(self, low, width, grid):
        made = _made(dp.mean("none", bounds=(low, low + width), grid=Fraction(grid)))
        measure = made.parts[0].measure
        assert 0 <= (measure.high - measure.centre) - (measure.centre - measure.low) <= 1
        assert made.centre == measure.centre * measure.grid
        assert made.bounds == (measure.low * measure.grid, measure.high * measure.grid)

    def test_a_mean_of_an_expression_reads_what_it_is_made_of(self):
        total, present = _made(dp.mean(t.i / t.r, bounds=(0, 1))).parts
        assert total.measure.operand == present.measure.operand
        assert total.measure.operand.operator == "divide"


class TestVariances:
    def test_a_variance_needs_the_squares_around_the_centre_too(self):
        made = _made(dp.variance("i"))
        total, squares, present = made.parts
        assert total.measure == SumSteps(Read("i", ColumnType.INTEGER), Fraction(1), 0, 120, 60)
        assert squares.measure == SumSteps(Read("i", ColumnType.INTEGER), Fraction(1), 0, 120, 60, power=2)
        assert present.measure == CountRows(Read("i", ColumnType.INTEGER))
        assert (total.share, squares.share, present.share) == (Fraction(3, 10), Fraction(1, 2), Fraction(1, 5))
        assert made.kind == "variance"

    def test_a_deviation_needs_what_a_variance_needs(self):
        assert _made(dp.std("i")).parts == _made(dp.variance("i")).parts
        assert _made(dp.std("i")).kind == "standard deviation"

    def test_a_default_grid_is_made_coarser_until_squares_are_easy(self):
        assert _steps(dp.variance("i", bounds=(0, 10**9))).grid == 1000
        assert _steps(dp.mean("i", bounds=(0, 10**9))).grid == 1

    @pytest.mark.pitfall("A3")
    def test_squares_that_engines_could_not_tell_apart_are_refused(self):
        most = 2 * math.isqrt(LARGEST_STEP)
        assert _steps(dp.std("i", bounds=(0, most), grid=1)).high == most
        assert "2**53" in _refused(dp.std("i", bounds=(0, most + 1), grid=1)).because

    def test_a_variance_of_what_is_no_number_or_has_no_bounds_is_refused(self):
        assert "dp.std('none', bounds=(lo, hi))" in _refused(dp.std("none")).instead
        assert "only numbers have a variance" in _refused(dp.variance("s")).because
        assert "the variance is known" in _refused(dp.variance("i", bounds=(3, 3))).because

    def test_errors_weigh_each_measure_at_the_ends_of_what_can_be(self):
        made = _made(dp.variance("none", bounds=(-3, 3), grid=1))
        total, squares, present = (part.measure for part in made.parts)
        assert made.errors == (
            {squares: 1},
            {squares: 1, total: 36},
            {squares: 1, present: 81},
            {squares: 1, total: 36, present: 81},
        )


class TestSoughtBounds:
    def _sought(self, column, grid=None):
        return search_steps(logical.ColumnRef(column), grid, bind(t.agg(n=dp.count()).plan.source, CATALOG))

    def test_whole_numbers_are_their_own_steps_as_far_as_they_are_declared(self):
        assert self._sought("i") == SumSteps(Read("i", ColumnType.INTEGER), Fraction(1), 0, 120)

    def test_reals_become_whole_steps_of_a_fine_grid_on_both_sides_of_zero(self):
        steps = self._sought("none")
        assert (steps.grid, steps.low, steps.high) == (Fraction(1, 10_000), -(10**15), 10**15)
        assert (steps.operand.operator, steps.operand.type) == ("to_integer", ColumnType.INTEGER)
        assert self._sought("none", Fraction(1, 4)).grid == Fraction(1, 4)
        assert self._sought("g").grid == Fraction(1, 2)

    def test_what_has_no_size_or_counts_missing_values_is_refused(self):
        for column, words in {"s": "only numbers", "m": "taken for rows of that size"}.items():
            with pytest.raises(Refusal) as caught:
                self._sought(column)
            assert words in caught.value.because

    def test_bounds_that_are_found_first_are_refused_where_a_question_is_about_more(self):
        assert "table.bounds" in _refused(dp.sum("i", bounds="auto")).instead


def test_recipes_are_made_for_every_measure_of_a_plan():
    aggregates = [dp.count(), dp.count_units(), dp.count_distinct("s"), dp.sum("i"), dp.mean("i")]
    aggregates += [dp.variance("i"), dp.std("i")]
    elsewhere = {
        logical.QuantileMeasure,
        logical.Ranges,
        logical.HierarchyCounts,
        logical.AutoBoundsAggregate,
        logical.ClippingBounds,
        logical.MomentsMeasure,
    }
    refused = {logical.MedianMeasure, logical.InterquartileRangeMeasure} | elsewhere
    assert {type(a.measure) for a in aggregates} == set(logical.Measure.__args__) - refused
    kinds = ["count", "count of units", "count of values", "sum", "mean", "variance", "standard deviation"]
    assert [_made(a).kind for a in aggregates] == kinds
