"""Half of the noise under a full price is caught in every family, with the samples of the quick audit or fewer.

Controls, so power and not false alarm. What catches is either of the two findings of a family: the claim, or the law
of the draws. The statistic of the law has a mean m and a deviation below sqrt(2 m). Estimated from one to five audits
of each family, m is so far above what chance allows that a control is missed with a chance below 1e-6, by the normal
tail: about 5 deviations for fitted noise with 500 runs. docs/audit-results.md has what each finding alone catches.
"""

from functools import cache
from itertools import product

import pytest

from discreet.auditing.self_audit import queries, suite
from discreet.auditing.self_audit import workloads as audited_workloads
from discreet.auditing.self_audit.mechanisms import audited_family, families
from discreet.auditing.self_audit.queries import MECHANISMS, cases
from discreet.auditing.self_audit.workloads import audited_workload
from discreet.auditing.statistical import goodness_of_fit
from discreet.mechanisms import Laplace, keys
from halved import halve

FAMILIES = list(families())
WORKLOADS = [
    f"{name}, {mechanism}, {neighbours}"
    for (name, *_), neighbours, mechanism in product(
        audited_workloads._questions(), ("add_remove", "replace_one"), ("laplace", "gaussian")
    )
]
workloads = cache(
    audited_workloads.workloads
)  # planned by the first test that needs them, not where tests are collected
SLOW = ("median,", "distance", "mean of blocks within", "stream")
ALIKE = [
    (alike[0].is_grouped, place) for grouped in (True, False) for place, alike in enumerate(cases(is_grouped=grouped))
]
QUARTER = 4


@pytest.fixture
def half_noise(monkeypatch):
    halve(monkeypatch)


def caught(findings):
    return any(finding.is_broken for finding in findings)


def test_halved_samplers_draw_with_half_of_what_they_are_called_with(draws, monkeypatch):
    halve(monkeypatch)
    mechanism = Laplace(sensitivity=2, epsilon=1)
    mechanism.release([0])
    assert [call.scale for call in draws.calls] == [1]
    assert mechanism.event().scale == 2


def test_halved_chances_of_keys_are_those_of_twice_the_epsilon_and_stated_ones_stay(draws, monkeypatch):
    halve(monkeypatch)
    rule, twice = (keys.Optimal(epsilon=epsilon, delta=0.001) for epsilon in (1, 2))
    between = int(2**256 * (rule.keep_probability(4) + twice.keep_probability(4)) / 2)
    draws.give_bits(between)
    assert rule.release([4]) == [0]
    assert rule.keep_probability(4) < twice.keep_probability(4)


def test_a_family_with_half_of_its_noise_is_caught(half_noise):
    """One in the fast tier: 500 draws on each dataset, of which half as many are enough."""
    assert caught(audited_family("mean of blocks", families()["mean of blocks"], 500, suite.ALARM))


@pytest.mark.full
@pytest.mark.pitfall("B23")
@pytest.mark.parametrize("name", FAMILIES)
def test_half_of_the_noise_is_caught_in_every_family(half_noise, name):
    samples = suite.QUICK.families // 2 if name.startswith(SLOW) else suite.QUICK.families
    assert caught(audited_family(name, families()[name], samples, suite.ALARM))


def test_every_workload_is_named():
    assert list(workloads()) == WORKLOADS


@pytest.mark.full
@pytest.mark.pitfall("B23")
@pytest.mark.parametrize("name", WORKLOADS)
def test_half_of_the_noise_is_caught_in_every_workload_under_both_relations(half_noise, name):
    """A tenth of the samples of the quick audit."""
    assert caught(audited_workload(name, workloads()[name], suite.QUICK.workloads // 10, suite.ALARM))


@pytest.mark.full
@pytest.mark.pitfall("B23")
@pytest.mark.parametrize(("is_grouped", "place"), ALIKE)
def test_half_of_the_noise_is_caught_in_releases_of_every_aggregate(half_noise, is_grouped, place):
    """A quarter of the samples of the quick audit."""
    alike = cases(is_grouped=is_grouped)[place]
    with queries.both(alike[0], suite.QUICK.blocks // QUARTER if is_grouped else 1) as sessions:
        for case in alike:
            if is_grouped:
                findings = queries.audited_keys(case, sessions, suite.ALARM)
            else:
                findings = queries.audited_redrawn(case, sessions, suite.QUICK.redrawn // QUARTER, suite.ALARM)
            assert caught(findings), case


@pytest.mark.full
@pytest.mark.pitfall("B23")
@pytest.mark.parametrize("case", suite._some("count", "laplace"), ids=str)
def test_half_of_the_noise_is_caught_in_whole_releases(half_noise, case):
    """In 4,000 simulated audits of 500 draws the statistic had mean 98 and deviation 12, and 36 is enough.

    Two keys give twice the draws of a release.
    """
    samples = suite.QUICK.whole * 3 // 5 if case.is_grouped else suite.QUICK.whole
    assert caught(queries.audited_whole(case, samples, suite.ALARM))


@pytest.mark.full
@pytest.mark.pitfall("B23")
@pytest.mark.parametrize("name", MECHANISMS)
def test_half_of_the_noise_is_caught_in_every_mechanism_alone(half_noise, name):
    samples = suite.QUICK.mechanism * suite.DRAWS_OF.get(name, 1)
    assert goodness_of_fit.check_fit(MECHANISMS[name][0], samples=samples, alarm=suite.ALARM, name=name).is_broken
