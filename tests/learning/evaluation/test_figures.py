"""Figures of a table without noise are those of scikit-learn; intervals cover the figures of the exact table.

Coverage is measured over fresh noise. A test fails if fewer than 92.5% of 2,000 intervals of 95% cover: if they did so
with exactly 95%, that has a probability below 1e-6.
"""

import math
from fractions import Fraction

import numpy as np
import pytest
from sklearn.metrics import accuracy_score, roc_auc_score, roc_curve

from discreet.learning.core.features import linear_bins
from discreet.learning.core.lattice import ONE
from discreet.learning.core.rows import group_people
from discreet.learning.core.sums import people_sum
from discreet.learning.evaluation.figures import (
    ErrorTable,
    Figure,
    ScoreTable,
    figure_text,
    mean,
    normal_quantile,
    quotient,
    score_table,
)
from discreet.learning.evaluation.scores import UNIT, ScoreStep, score_edges
from discreet.learning.linear.linear_model import LinearModel
from discreet.mechanisms import Gaussian

GENERATOR = np.random.default_rng(88)
EDGES = score_edges()
DRAWS, LEAST = 2_000, 0.925


def scores_of(number, share, lead=2.3):
    labels = GENERATOR.random(number) < share
    scores = np.rint((GENERATOR.normal(0, 1.3, number) + np.where(labels, lead - 1.8, -1.8)) * ONE).astype(np.int64)
    return labels.astype(np.int64), scores


def counts_of(labels, scores):
    bins = np.searchsorted(np.asarray(EDGES), scores, side="left")
    table = np.zeros((1, 2, len(EDGES) + 1), dtype=np.int64)
    np.add.at(table, (0, labels, bins), UNIT)
    return table


def exact_table(labels, scores):
    return score_table(counts_of(labels, scores), EDGES, 1e-9)


@pytest.mark.parametrize(("number", "share"), [(4000, 0.25), (4000, 0.02), (200, 0.5)])
def test_the_auc_differs_from_that_of_scikit_learn_by_at_most_the_error_of_binning(number, share):
    labels, scores = scores_of(number, share)
    table = exact_table(labels, scores)
    assert abs(table.auc.value - roc_auc_score(labels, scores)) <= table.binning_error + 1e-12
    assert table.binning_error < 0.03


def test_the_auc_of_binned_scores_is_exactly_that_of_scikit_learn():
    labels, scores = scores_of(3000, 0.3)
    bins = np.searchsorted(np.asarray(EDGES), scores, side="left")
    assert exact_table(labels, scores).auc.value == pytest.approx(roc_auc_score(labels, bins), abs=1e-12)


def test_accuracy_and_base_rate_are_exactly_those_of_scikit_learn():
    labels, scores = scores_of(3000, 0.3)
    table = exact_table(labels, scores)
    assert table.accuracy.value == pytest.approx(accuracy_score(labels, scores > 0), abs=1e-12)
    assert table.base_rate.value == pytest.approx(labels.mean(), abs=1e-12)
    assert table.weight.value == 3000


@pytest.mark.parametrize(("labels", "weight"), [([1], 1), ([1] * 9, 1), ([0, 1], 2**0.5), ([0, 1] + [0] * 7, 2**0.5)])
def test_a_person_weighs_the_square_root_of_the_number_of_cells_of_the_rows(labels, weight):
    step = ScoreStep(LinearModel({"x": linear_bins(0, 1, 1)}, np.zeros((2, 1), dtype=np.int64)), 2, EDGES)
    codes = np.ones((len(labels), 1), dtype=np.uint16)
    block = group_people(codes, np.array(labels), np.zeros(len(labels), dtype=np.int64))
    found = score_table(people_sum(step, [block]), EDGES, 1e-9).weight
    assert found.value == pytest.approx(weight, abs=1e-3)


def test_weights_are_shown_as_whole_numbers_and_shares_with_digits():
    figure = Figure(0.8, -0.4, 999.6)
    assert figure_text("weight", figure) == "1 (0 to 1,000)"
    assert figure_text("base_rate", Figure(0.5, 0.25, 0.75), "yes") == "0.5000 (0.2500 to 0.7500) of 'yes'"
    assert (
        figure_text("auc", figure, "yes") == figure_text("auc", figure) == str(figure) == "0.8000 (-0.4000 to 999.6000)"
    )


def test_operating_points_lie_on_the_curve_of_scikit_learn():
    labels, scores = scores_of(3000, 0.3)
    curve = {threshold: (x, y) for x, y, threshold in zip(*roc_curve(labels, scores > 0), strict=True)}
    point = exact_table(labels, scores).operating_points()[EDGES.index(0)]
    assert point.threshold == 0
    assert (point.false_positive_rate.value, point.true_positive_rate.value) == pytest.approx(curve[1])


def test_calibration_rows_are_the_rates_between_their_edges():
    labels, scores = scores_of(3000, 0.3)
    rows = exact_table(labels, scores).calibration(groups=8)
    assert len(rows) == 8
    assert (rows[0].low, rows[-1].high) == (-math.inf, math.inf)
    assert sum(row.weight.value for row in rows) == 3000
    for row in rows:
        inside = (scores / ONE > row.low) & (scores / ONE <= row.high)
        assert row.weight.value == inside.sum()
        if inside.any():
            assert row.rate.value == pytest.approx(labels[inside].mean(), abs=1e-12)


def test_figures_of_several_classes_are_means_of_each_class_against_the_rest():
    tables = [counts_of(*scores_of(900, share)) for share in (0.2, 0.5)]
    several = score_table(np.concatenate(tables), EDGES, 1e-9)
    single = [score_table(table, EDGES, 1e-9).auc.value for table in tables]
    assert several.auc.value == pytest.approx(sum(single) / 2)
    right = sum(table[0, 1, EDGES.index(0) + 1 :].sum() for table in tables)
    assert several.accuracy.value == pytest.approx(right / UNIT / 900)


def coverage(figures, number, share, rho):
    """How often each interval covers its exact figure, and how often another noise would have."""
    labels, scores = scores_of(number, share)
    exact, clean = counts_of(labels, scores), exact_table(labels, scores)
    noise = Gaussian(squared_sensitivity=UNIT**2, rho=rho, dimension=exact.size)
    drawn = np.asarray(noise.draw(DRAWS * exact.size), dtype=np.int64).reshape(DRAWS, *exact.shape)
    covered = dict.fromkeys(figures, 0)
    for each in drawn:
        table = score_table(exact + each, EDGES, noise.sigma)
        for name, figure in figures.items():
            found, truth = figure(table), figure(clean).value
            covered[name] += found.low - 1e-12 <= truth <= found.high + 1e-12
    return {name: number / DRAWS for name, number in covered.items()}


FIGURES = {
    "AUC": lambda table: table.auc,
    "accuracy": lambda table: table.accuracy,
    "base rate": lambda table: table.base_rate,
    "weight": lambda table: table.weight,
}


@pytest.mark.parametrize(
    ("number", "share", "rho"),
    [(6000, 0.25, Fraction(3, 100)), (6000, 0.02, Fraction(3, 100)), (600, 0.4, Fraction(1, 1000))],
    ids=["usual", "rare class", "more noise than rows"],
)
def test_intervals_cover_the_figures_of_the_exact_table(number, share, rho):
    found = coverage(FIGURES, number, share, rho)
    assert min(found.values()) >= LEAST, found


def test_an_interval_without_its_noise_does_not_cover():
    labels, scores = scores_of(6000, 0.25)
    noise = GENERATOR.normal(0, 20, size=(DRAWS, 1, 2, len(EDGES) + 1))
    truth = exact_table(labels, scores).auc.value
    tables = [ScoreTable(counts_of(labels, scores) / UNIT + each, EDGES, 10.0) for each in noise]
    assert np.mean([table.auc.low <= truth <= table.auc.high for table in tables]) < LEAST


def test_the_interval_of_a_mean_squared_error_covers():
    noise = Gaussian(squared_sensitivity=2 * UNIT**2, rho=Fraction(1, 100), dimension=2)
    drawn = np.asarray(noise.draw(2 * DRAWS), dtype=np.int64).reshape(DRAWS, 2) / UNIT
    tables = [ErrorTable(800 + one, 120 + other, 5.0, noise.sigma / UNIT) for one, other in drawn]
    covered = [table.mean_squared_error.low <= 0.15 * 25 <= table.mean_squared_error.high for table in tables]
    assert np.mean(covered) >= LEAST
    assert tables[0].root_mean_squared_error.value == pytest.approx(math.sqrt(tables[0].mean_squared_error.value))


def test_a_table_of_noise_alone_says_nothing():
    table = ScoreTable(-np.ones((1, 2, len(EDGES) + 1)), EDGES, 5.0)
    assert table.auc == Figure(0.5, 0.0, 1.0)
    assert table.accuracy == Figure(0.5, 0.0, 1.0)
    assert table.binning_error == 0.5
    assert ErrorTable(-3.0, 5.0, 1.0, 2.0).mean_squared_error == Figure(0.5, 0.0, 1.0)


def test_a_quotient_solves_the_equation_of_fieller():
    found = quotient(30.0, 100.0, (4.0, -4.0, 8.0), normal_quantile(0.95))
    for end in (found.low, found.high):
        assert (30 - end * 100) ** 2 == pytest.approx(normal_quantile(0.95) ** 2 * (4 - 4 * end + 8 * end**2))
    assert str(Figure(0.5, 0.25, 0.75)) == "0.5000 (0.2500 to 0.7500)"
    assert str(Figure(4014.7, 3943.4, 4086.1)) == "4,015 (3,943 to 4,086)"


def test_a_mean_of_figures_is_narrower_than_each():
    found = mean([Figure(0.8, 0.7, 0.9), Figure(0.6, 0.5, 0.7)])
    assert found == pytest.approx((0.7, 0.7 - math.sqrt(0.02) / 2, 0.7 + math.sqrt(0.02) / 2))


def three_classes(number=4000):
    """Labels of three classes, and for each row and class its score less the largest of the others."""
    labels = GENERATOR.choice(3, number, p=[0.5, 0.3, 0.2])
    scores = GENERATOR.normal(0, 1, (number, 3)) + 1.5 * (labels[:, None] == np.arange(3))
    steps = np.rint(scores * ONE).astype(np.int64)
    others = np.stack([np.delete(steps, column, axis=1).max(axis=1) for column in range(3)], axis=1)
    return labels, steps - others


def test_calibration_of_several_classes_is_that_of_each_class_against_the_rest():
    labels, leads = three_classes()
    tables = [counts_of((labels == column).astype(np.int64), leads[:, column]) for column in range(3)]
    table = score_table(np.concatenate(tables), EDGES, 1e-9)
    for column in range(3):
        rows = table.calibration(groups=8, column=column)
        assert sum(row.weight.value for row in rows) == len(labels)
        rates = [row.rate.value for row in rows]
        assert rates[0] < 0.2
        assert rates[-1] > 0.8
        for row in rows:
            inside = (leads[:, column] / ONE > row.low) & (leads[:, column] / ONE <= row.high)
            assert row.weight.value == inside.sum()
            assert row.rate.value == pytest.approx((labels == column)[inside].mean(), abs=1e-12)


def test_intervals_of_the_calibration_of_several_classes_cover():
    labels, leads = three_classes()
    exact = np.concatenate([counts_of((labels == column).astype(np.int64), leads[:, column]) for column in range(3)])
    clean = score_table(exact, EDGES, 1e-9)
    noise = Gaussian(squared_sensitivity=3 * UNIT**2, rho=Fraction(3, 100), dimension=exact.size)
    drawn = np.asarray(noise.draw(DRAWS * exact.size), dtype=np.int64).reshape(DRAWS, *exact.shape)
    tables = [score_table(exact + each, EDGES, noise.sigma) for each in drawn]
    for column in range(3):
        truth = clean.calibration(groups=4, column=column)[2].rate.value
        found = [table.calibration(groups=4, column=column)[2].rate for table in tables]
        assert np.mean([each.low <= truth <= each.high for each in found]) >= LEAST
