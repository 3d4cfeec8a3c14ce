"""A private plan: its price is that of its event, its name is that of its question, its margins cover their noise."""

import dataclasses
import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom

import discreet as dp
from discreet import events
from discreet.accounting.costs import cost
from discreet.accounting.filters import Budget
from discreet.catalog.catalog import Catalog
from discreet.plan.physical import CountRows, CountUnits
from discreet.planner.queries.aggregate import _around, _nearest, _widest
from discreet.planner.queries.tables import AggregatePlan, analyze
from discreet.planner.resolve.measures import Recipe
from former import former

FACTS = """
tables:
  t:
    privacy_unit: id
    max_rows: 3
    version: {version}
    {more}
    columns:
      id: {{type: text}}
      ward: {{type: text, keys: [A, B]}}
      age: {{type: integer, bounds: [0, 120]}}
      cost: {{type: real, bounds: [-10, 30], grid: 0.5}}
      b: {{type: boolean}}
"""
PURE, MIXED = Budget(epsilon=10), Budget(epsilon=10, delta=1e-9)
LEVEL = Fraction(19, 20)
t = dp.table("t")
EVERY = {
    "n": dp.count(),
    "u": dp.count_units(),
    "v": dp.count_distinct("ward"),
    "s": dp.sum("cost"),
    "m": dp.mean("cost"),
}


def _catalog(version: int = 1, more: str = "") -> Catalog:
    return Catalog.parse(FACTS.format(version=version, more=more))


def _plan(query=None, budget=MIXED, catalog=None, **price) -> AggregatePlan:
    asked = query or t.group_by("ward").agg(**EVERY)
    return analyze(asked.plan, catalog or _catalog(), budget, **(price or {"epsilon": 1}))


class TestPrice:
    @pytest.mark.parametrize("budget", [PURE, MIXED])
    def test_the_price_is_that_of_the_event(self, budget):
        private = _plan(budget=budget)
        assert cost(private.event) == cost(events.from_json(events.to_json(private.event)))

    @pytest.mark.parametrize("epsilon", [0.001, 0.1, Fraction(1, 3), 1, 7.5, Fraction(9999, 1000)])
    def test_what_is_charged_is_what_was_asked_to_the_last_unit(self, epsilon):
        pure = _plan(budget=PURE, epsilon=epsilon)
        assert cost(pure.event).epsilon == pure.spending.amount * 10**12
        mixed = _plan(budget=MIXED, epsilon=epsilon)
        charged = MIXED.cost(mixed.event)
        is_gaussian = charged.epsilon is None and not mixed.has_other_noise  # other noise has an epsilon of nine digits
        rounding = charged.renyi // 10 ** (15 if is_gaussian else 6)
        assert 0 <= mixed.spending.amount * 10**15 - charged.renyi <= 1 + rounding
        assert MIXED.admits(charged)

    def test_a_measure_that_several_outputs_need_is_drawn_once_and_gets_all_their_shares(self):
        query = t.agg(m=dp.mean("cost"), again=dp.mean("cost"), n=dp.count())
        private = _plan(query, budget=PURE)
        assert len(private.noisy_measures) == 3
        epsilons = [float(noised.mechanism.epsilon) for noised in private.noisy_measures]
        assert epsilons == pytest.approx([2 * 3 / 5 / 3, 2 * 2 / 5 / 3, 1 / 3])

    def test_weights_move_budget_between_outputs(self):
        even, uneven = (_plan(t.agg(n=dp.count(weight=w), v=dp.count_distinct("ward")), PURE) for w in (1, 3))
        assert [float(n.mechanism.epsilon) for n in even.noisy_measures] == pytest.approx([0.5, 0.5])
        assert [float(n.mechanism.epsilon) for n in uneven.noisy_measures] == pytest.approx([0.75, 0.25])

    def test_noise_covers_the_sensitivity_of_its_measure(self):
        for noised in _plan(budget=PURE).noisy_measures:
            assert noised.mechanism.event().sensitivity == noised.sensitivity.l1
        for noised in _plan(budget=MIXED).noisy_measures:
            event = noised.mechanism.event()
            assert event.squared_sensitivity == noised.sensitivity.l2_squared
            assert event.dimension == noised.sensitivity.l0


class TestNames:
    def test_the_same_question_has_the_same_name_however_it_was_built(self):
        first = _plan(t.where(t.age > 1, t.b).agg(n=dp.count()))
        again = _plan(t.where(t.age > 1).where(t.b).agg(n=dp.count()))
        derived = _plan(t.derive(x=t.age).where(t.x > 1).where(t.b).agg(n=dp.count()))
        assert len({former(private) for private in (first, again, derived)}) == 1

    def test_whatever_changes_the_answer_changes_the_name(self):
        query = t.where(t.age > 1).group_by("ward").agg(n=dp.count())
        plans = [
            _plan(query),
            _plan(query, epsilon=2),
            _plan(query, rho=0.01),
            _plan(query, mechanism="laplace", epsilon=1),
            _plan(query, catalog=_catalog(version=2)),
            _plan(query, catalog=_catalog(more="neighbours: replace_one")),
            _plan(query, catalog=_catalog(more="missing_units: one_unit")),
            _plan(t.where(t.age > 2).group_by("ward").agg(n=dp.count())),
            _plan(t.where(t.age >= 1).group_by("ward").agg(n=dp.count())),
            _plan(t.where(t.age > 1.0).group_by("ward").agg(n=dp.count())),
            _plan(t.where(t.age > 1).group_by("ward", keys={"ward": ["B", "A"]}).agg(n=dp.count())),
            _plan(t.where(t.age > 1).group_by("ward", keys={"ward": ["A"]}).agg(n=dp.count())),
            _plan(t.where(t.age > 1).group_by("ward", max_rows_per_group=1).agg(n=dp.count())),
            _plan(t.where(t.age > 1).group_by("ward", max_groups=1).agg(n=dp.count())),
            _plan(t.where(t.age > 1).group_by("ward").agg(m=dp.count())),
            _plan(t.where(t.age > 1).group_by("ward").agg(n=dp.count_units())),
            _plan(t.where(t.age > 1).group_by("ward").agg(n=dp.count(), u=dp.count_units())),
            _plan(t.where(t.age > 1).group_by("ward").agg(n=dp.sum("age"))),
            _plan(t.where(t.age > 1).group_by("ward").agg(n=dp.sum("age", bounds=(0, 121)))),
            _plan(t.where(t.age > 1).group_by("ward").agg(n=dp.sum("age", grid=2))),
            _plan(t.where(t.age > 1).agg(n=dp.count())),
        ]
        names = [former(private) for private in plans] + [former(plans[0], 2)]
        assert len(set(names)) == len(names)

    def test_names_of_columns_in_the_answer_are_part_of_the_question(self):
        one = _plan(t.derive(x=t.ward).group_by("x", keys={"x": ["A"]}).agg(n=dp.count()))
        other = _plan(t.derive(y=t.ward).group_by("y", keys={"y": ["A"]}).agg(n=dp.count()))
        assert one.pushdown == other.pushdown
        assert former(one) != former(other)

    def test_a_plan_is_a_value(self):
        assert _plan() == _plan()
        with pytest.raises(dataclasses.FrozenInstanceError):
            _plan().dataset = "other"


class TestAnswers:
    def test_noise_is_whole_fresh_and_as_wide_as_it_says(self):
        """False alarms: draws equal others by chance with probability below 1e-12 at these scales."""
        private = _plan(epsilon=1e-5)
        exact = [[0] * 2 for _ in private.pushdown.measures]
        one, other = private.randomize(exact), private.randomize(exact)
        assert all(type(value) is int for column in one for value in column)
        assert [len(column) for column in one] == [2] * len(private.noisy_measures)
        assert one != other

    def test_exact_tables_of_another_shape_are_not_released(self):
        private = _plan()
        with pytest.raises(ValueError, match="zip"):
            private.randomize([[0, 0]])

    def test_the_raw_integers_travel_with_what_a_reader_needs_to_reuse_them(self):
        for budget, name in ((PURE, "discrete Laplace"), (MIXED, "discrete Gaussian")):
            private = _plan(budget=budget)
            noisy = [[i, -i] for i in range(len(private.noisy_measures))]
            for noised, measured, column in zip(
                private.noisy_measures, private.measurements(noisy), noisy, strict=True
            ):
                assert measured.mechanism == name
                assert measured.steps == tuple(column)
                assert (measured.l1, measured.l2_squared) == (noised.sensitivity.l1, noised.sensitivity.l2_squared)
                assert measured.grid == (Fraction(1, 2) if "SumSteps" in measured.measure else 1)

    def test_outputs_come_in_the_order_of_the_query_and_in_its_own_numbers(self):
        private = _plan(t.agg(s=dp.sum("cost"), v=dp.count_distinct("ward"), a=dp.sum("age")))
        outputs = private.outputs([[7], [5], [100]], LEVEL)
        assert [output.name for output in outputs] == ["s", "v", "a"]
        assert [output.values for output in outputs] == [(3.5,), (5,), (100,)]
        assert [type(output.values[0]) for output in outputs] == [float, int, int]
        for output, noised in zip(outputs, private.noisy_measures, strict=True):
            grid = Fraction(1, 2) if output.name == "s" else 1
            assert output.margins == (noised.mechanism.margin(LEVEL) * grid,)

    def test_what_several_outputs_share_is_read_off_the_noisy_integers_to_the_nearest_step(self):
        private = _plan(t.group_by("ward", max_groups=2, max_rows_per_group=2).agg(**EVERY | {"a": dp.sum("age")}))
        columns = {measure: [i, 7 * i] for i, measure in enumerate(private.pushdown.measures, 10)}
        combined = private.combine(list(columns.values()))
        assert len(private.noisy_measures) == len(combined) < 7
        named = {output.name: output.values for output in private.outputs(combined, LEVEL)}
        assert named["n"] == tuple(columns[CountRows()])
        assert named["u"] == tuple(columns[CountUnits()])
        off_by_one = [[step + (i == 0) for step in column] for i, column in enumerate(combined)]
        for output in private.outputs(off_by_one, LEVEL):
            assert all(isinstance(value, int) for value in output.values) or output.name in "sm"

    def test_halves_go_to_the_even_number(self):
        assert [_nearest(numerator, 2) for numerator in (-5, -4, -3, -1, 0, 1, 3, 5, 7)] == [
            -2,
            -2,
            -2,
            0,
            0,
            0,
            2,
            2,
            4,
        ]
        assert [_nearest(numerator, 4) for numerator in (-6, -5, -3, 1, 2, 3, 6)] == [-2, -1, -1, 0, 0, 1, 2]

    def test_margins_grow_with_confidence_and_are_planned_as_they_are_published(self):
        private = _plan(t.group_by("ward").agg(n=dp.count(), s=dp.sum("cost")))
        for level in (Fraction(1, 2), LEVEL, Fraction(999, 1000)):
            planned = [private.margin(made, level) for made in private.recipes]
            published = [output.margins[0] for output in private.outputs([[0, 0], [0, 0]], level)]
            assert [float(p) for p in planned] == [float(p) for p in published]
        assert private.margin(private.recipes[0], Fraction(1, 2)) < private.margin(private.recipes[0], LEVEL)

    def test_the_margin_of_a_mean_is_planned_only_for_a_declared_size(self):
        private = _plan(t.agg(m=dp.mean("cost")))
        (made,) = private.recipes
        assert private.margin(made, LEVEL) is None
        assert private.margin(made, LEVEL, 10**9) < private.margin(made, LEVEL, 10**6)
        assert private.margin(made, LEVEL, 0) == private.margin(made, LEVEL, 1) == 40

    def test_means_are_read_off_a_centred_sum_and_a_count(self):
        private = _plan(t.agg(m=dp.mean("cost")))
        centre = private.recipes[0].centre
        assert centre == 10
        (output,) = private.outputs([[200], [100]], LEVEL)
        assert output.values == (11.0,)
        for total, count in ((10**9, 5), (0, -50), (10**9, -50)):
            (output,) = private.outputs([[total], [count]], LEVEL)
            assert -10 <= output.values[0] <= 30

    @pytest.mark.statistical(false_alarm=1e-6)
    def test_published_margins_cover_the_noise_as_often_as_they_say(self, samples):
        """6,000 means of known sums and counts. False alarm: 1e-6."""
        private = _plan(t.agg(m=dp.mean("cost")), epsilon=0.5)
        rows, draws = 4_000, samples(6_000)
        exact = [[int(0.7 * 40 * rows)] * draws, [rows] * draws]
        noisy = private.randomize(exact)
        output = private.outputs(noisy, LEVEL)[0]
        truth = float(private.recipes[0].centre) + 0.5 * exact[0][0] / rows
        inside = sum(abs(v - truth) <= m for v, m in zip(output.values, output.margins, strict=True))
        assert inside >= binom.ppf(1e-6, draws, 0.95)


def _recipe(low: int, high: int, grid: Fraction) -> Recipe:
    centre = (low + high) // 2
    return Recipe("m", "mean", (), grid, centre * grid, (low * grid, high * grid))


class TestMarginsOfMeans:
    @settings(deadline=None, max_examples=150)
    @given(
        st.integers(-20, 20),
        st.integers(1, 20),
        st.sampled_from([Fraction(1), Fraction(1, 10), Fraction(5)]),
        st.integers(-60, 60),
        st.integers(-5, 12),
        st.integers(0, 12),
        st.integers(0, 6),
    )
    def test_the_margin_of_a_mean_covers_every_sum_and_count_in_the_box(
        self, low, width, grid, total, count, wide, deep
    ):
        made = _recipe(low, low + width, grid)
        ((value, margin),) = _around(made, [total], [count], margins=(wide, deep))
        farthest = 0.0
        for top, bottom in itertools.product(
            range(total - wide, total + wide + 1), range(count - deep, count + deep + 1)
        ):
            if bottom >= 1:
                mean = made.centre + grid * Fraction(top, bottom)
                if made.bounds[0] <= mean <= made.bounds[1]:
                    farthest = max(farthest, abs(float(mean) - value))
        assert farthest <= margin + 1e-9
        assert margin <= float(made.bounds[1] - made.bounds[0]) + 1e-9

    @settings(deadline=None, max_examples=150)
    @given(
        st.integers(-20, 20), st.integers(1, 20), st.integers(1, 40), st.integers(0, 40), st.integers(0, 50), st.data()
    )
    def test_the_planned_margin_of_a_mean_is_at_least_the_published_one(self, low, width, rows, wide, deep, data):
        made = _recipe(low, low + width, Fraction(1, 2))
        centre = (low + low + width) // 2
        total = data.draw(st.integers(rows * (low - centre), rows * (low + width - centre)))
        ((_, published),) = _around(made, [total], [rows], margins=(wide, deep))
        assert published <= float(_widest(made, rows, (wide, deep))) + 1e-9

    def test_some_mean_reaches_its_planned_margin(self):
        made = _recipe(0, 100, Fraction(1))
        rows, wide, deep = 1_000, 500, 20
        planned = float(_widest(made, rows, (wide, deep)))
        totals = list(range(-50 * rows, 50 * rows + 1, 10))
        published = [margin for _, margin in _around(made, totals, [rows] * len(totals), margins=(wide, deep))]
        assert np.max(published) == pytest.approx(planned, rel=1e-3)
