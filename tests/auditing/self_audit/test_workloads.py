"""Hierarchies, ranges and quantiles from a tree are audited as their plans draw, and half the noise is seen."""

from itertools import product

import numpy as np
import pytest

from discreet.auditing.self_audit import suite, workloads
from discreet.auditing.self_audit.workloads import audited_workload, ratios, workload
from discreet.planner.queries.hierarchy import HierarchyPlan
from discreet.planner.queries.quantiles import QuantilePlan
from discreet.planner.queries.ranges import RangePlan
from discreet.workloads.ranges import Levels, MatrixStrategy

QUESTIONS = {name: (query, cells) for name, query, cells in workloads._questions()}
RELATIONS, NOISES = ("add_remove", "replace_one"), ("laplace", "gaussian")
NAMES = [f"{each}, {noise}, {relation}" for each, relation, noise in product(QUESTIONS, RELATIONS, NOISES)]
STRETCHED = [name for name in NAMES if name.endswith("add_remove")]


def asked(name, **words):
    question, mechanism, neighbours = name.split(", ")
    return workload(*QUESTIONS[question], neighbours, mechanism, **words)


def test_every_plan_of_summed_counts_is_there_under_both_relations_and_both_noises():
    every = workloads.workloads()
    assert list(every) == NAMES
    assert {type(made.plan) for made in every.values()} == {HierarchyPlan, RangePlan, QuantilePlan}
    strategies = {type(made.plan.strategy) for made in every.values() if isinstance(made.plan, RangePlan)}
    assert strategies == {Levels, MatrixStrategy}
    assert {type(made.claim).__name__ for made in every.values()} == {"ApproximateDP", "ConcentratedDP"}


@pytest.mark.parametrize("name", NAMES)
def test_the_two_datasets_differ_in_the_rows_of_one_unit(name):
    made = asked(name)
    one, other = np.array(made.one), np.array(made.other)
    moved = [2] if name.endswith("add_remove") else [2, -2]
    assert [int(step) for step in one - other if step] == moved


@pytest.mark.parametrize("name", STRETCHED)
def test_where_a_unit_is_added_the_exact_sums_reach_the_claim(name):
    """Without noise the ratio of all parts is epsilon, or rho, of what is claimed."""
    made = asked(name)
    parts = ratios(made, [made.plan.combine([made.one])])[0]
    assert parts[-1] == pytest.approx(parts[:-1].sum())
    assert parts[-1] == pytest.approx(workloads.EPSILON if "laplace" in name else workloads.RHO, rel=1e-4)


@pytest.mark.statistical(false_alarm=2e-6)
def test_nothing_is_found_in_a_small_audit(samples):
    """Two alarms of 1e-6: one for the claim, one for the law of the noise."""
    many = samples(300)
    claimed, fitted = audited_workload("hierarchy", asked("hierarchy, laplace, add_remove"), many, 1e-6)
    assert not claimed.is_broken
    assert not fitted.is_broken
    assert claimed.samples == many
    assert fitted.samples == 2 * many * (1 + 2 + 4 + 6)


@pytest.mark.full
@pytest.mark.pitfall("B23")
@pytest.mark.parametrize("name", STRETCHED)
def test_a_third_of_the_noise_breaks_the_claim_with_the_samples_of_the_quick_audit(name):
    """Power, not false alarm: Gaussian ranges are the weakest.

    With a third of the noise the lower bound on rho was 1.25 to 1.51 in 8 audits of 1,000 draws, with a deviation of
    about 0.1, and 0.5 refutes: seven deviations below. With half of it, 1,000 draws see it in two audits of three.
    """
    assert audited_workload(name, asked(name, times=3), suite.QUICK.workloads, suite.ALARM)[0].is_broken


@pytest.mark.full
@pytest.mark.pitfall("B23")
@pytest.mark.parametrize("name", STRETCHED)
def test_a_part_without_noise_is_caught(name):
    """The ratio of a part that is exact is one number on each dataset."""
    made = asked(name)

    class Bare:
        event, combine = made.plan.event, made.plan.combine

        def randomize(self, exact):
            return [*made.plan.randomize(exact)[:-1], self.combine(exact)[-1]]

    assert audited_workload(name, made._replace(plan=Bare()), 500, suite.ALARM)[0].is_broken
