"""Visits are measured for what is left of their cost, and each of their columns has at most one parent."""

from fractions import Fraction

import numpy as np
import pytest

from discreet.synthesis.core.domain import Domain
from discreet.synthesis.core.measurement import Measurement
from discreet.synthesis.core.model import CountEstimate
from discreet.synthesis.core.private_counts import Contribution, ExactCounts, PrivateCounts
from discreet.synthesis.tree.model import TreeColumn, TreeModel
from discreet.synthesis.two_level.fitting import VisitShares, fit_visits, measure_visits, visit_total

SIZES = {"visits": 4, "sex": 2, "ward": 3, "cost": 5}
SHARES = VisitShares(Fraction(2, 5), Fraction(1, 20))
RHO = Fraction(1, 2)


def rows_of(number=6_000):
    """The ward follows the sex, and costs follow the ward."""
    rng = np.random.default_rng(2)
    visits, sex = rng.integers(0, 3, number), rng.integers(0, 2, number)
    ward = np.where(rng.random(number) < 0.8, sex, 2)
    return {"visits": visits, "sex": sex, "ward": ward, "cost": np.where(rng.random(number) < 0.7, ward, 4)}


def counted(rows, columns):
    counts = np.zeros([SIZES[name] for name in columns], dtype=np.int64)
    np.add.at(counts, tuple(rows[name] for name in columns), 1)
    return counts


def counts_of(rows, kind=ExactCounts, rho=RHO):
    names = list(SIZES)
    pairs = [(one, other) for i, other in enumerate(names) for one in names[:i] if other in ("ward", "cost")]
    counts = {columns: counted(rows, columns) for columns in [("ward",), ("cost",), *pairs]}
    return kind(Domain(SIZES), counts, Contribution(3, replace_one=False), rho)


def persons_of(rows):
    joint = counted(rows, ("visits", "sex")) / len(rows["sex"])
    columns = {
        name: TreeColumn(tuple(range(SIZES[name])), np.ones(SIZES[name]), joint.sum(axis=1 - axis))
        for axis, name in enumerate(("visits", "sex"))
    }
    return TreeModel(float(len(rows["sex"])), columns, {("visits", "sex"): joint})


def test_the_number_of_visits_is_the_mean_of_both_levels_by_inverse_variances():
    ward = Measurement(("ward",), np.array([100, 200, 300]), 2.0)
    pair = Measurement(("sex", "ward"), np.full((2, 3), 90), 1.0)
    found = visit_total([ward, pair], CountEstimate(np.asarray(660.0), 4.0))
    assert found == pytest.approx((660 / 4 + 600 / 12 + 540 / 6) / (1 / 4 + 1 / 12 + 1 / 6))


def test_pairs_that_belong_together_are_chosen_and_persons_are_one_node():
    rows = rows_of()
    answers = measure_visits(counts_of(rows), persons_of(rows), SHARES)
    assert [each.columns for each in answers.measurements] == [("ward",), ("cost",), ("ward", "cost"), ("sex", "ward")]


def test_the_whole_cost_is_spent_and_no_more():
    rows = rows_of()
    private = counts_of(rows, PrivateCounts)
    measure_visits(private, persons_of(rows), SHARES)
    assert 0 <= private.left < RHO / 1000


def test_fitted_tables_are_those_of_the_rows_and_persons_stay_as_they_are():
    rows = rows_of()
    persons = persons_of(rows)
    answers = measure_visits(counts_of(rows), persons, SHARES)
    model = fit_visits(answers, persons, persons.total)
    assert list(model.columns) == list(SIZES)
    for columns in [("visits", "sex"), ("sex",), ("visits",)]:
        assert model.marginal(columns) == pytest.approx(persons.marginal(columns))
    for columns in [("sex", "ward"), ("ward", "cost")]:
        assert np.abs(model.marginal(columns) - counted(rows, columns)).sum() < 0.02 * 6_000


@pytest.mark.parametrize("kind", [ExactCounts, PrivateCounts])
def test_columns_without_a_parent_and_merged_persons_are_fitted(kind):
    """So few rows that slots are merged and no pair is worth its noise."""
    rows = {name: values[:40] for name, values in rows_of().items()}
    persons = persons_of(rows)
    answers = measure_visits(counts_of(rows, kind, Fraction(1, 1000)), persons, SHARES)
    assert len(set(answers.groups["visits"])) < SIZES["visits"]
    model = fit_visits(answers, persons, persons.total)
    assert model.marginal(("visits", "sex", "cost")).sum() == pytest.approx(40)
    assert model.rows(11, np.random.default_rng(1)).shape == (11, 4)


def test_tables_of_merged_columns_of_persons_agree_with_the_persons():
    rows = rows_of(900)
    rows["sex"][:5] = 0
    persons = persons_of(rows)
    answers = measure_visits(counts_of(rows, rho=Fraction(1, 20)), persons, SHARES)
    model = fit_visits(answers, persons, persons.total)
    for (one, other), table in model.tables.items():
        assert table.sum(axis=1) == pytest.approx(model.columns[one].probabilities, abs=1e-6)
        assert table.sum(axis=0) == pytest.approx(model.columns[other].probabilities, abs=1e-6)
