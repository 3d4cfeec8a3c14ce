"""The audit of ourselves asks every aggregate, on neighbours as far apart as caps allow, and would see a fault."""

from typing import get_args

import numpy as np
import pytest
from scipy.stats import binomtest

import discreet as dp
from discreet import testing
from discreet.auditing.claims import claim
from discreet.auditing.finding import Verdict
from discreet.auditing.self_audit import queries
from discreet.auditing.self_audit.queries import (
    AGGREGATES,
    ALL,
    MECHANISMS,
    Case,
    Leaning,
    Recording,
    RecordingSession,
    audited_at_once,
    cases,
)
from discreet.errors import UnsupportedError
from discreet.plan import logical
from grids import over

COUNT = Case("count", "add_remove", "laplace", is_grouped=True)
EVERYTHING = [case for is_grouped in (True, False) for alike in cases(is_grouped=is_grouped) for case in alike]


class Averaging(Recording):
    """A pipeline that spends more than it says: it shows the mean of 16 answers, each with the noise for one."""

    def redrawn(self, plan, exact):
        drawn = [plan.randomize(exact) for _ in range(16)]
        return [
            [round(sum(all_of) / 16) for all_of in zip(*columns, strict=True)] for columns in zip(*drawn, strict=True)
        ]


class Averaged(RecordingSession):
    _pipeline_class = Averaging


def test_every_aggregate_that_a_session_releases_is_among_the_cases():
    """The others are chosen, found or fitted to the data: their mechanisms are audited in auditing.families.

    Ranges, hierarchies and quantiles from a tree are audited in auditing.workloads. A deviation is the root of a
    variance, bounds are found by noisy counts, and moments are sums on a lattice: what is drawn for them is the noise
    that is audited here.
    """
    made = {type(aggregation.measure) for aggregation in AGGREGATES[ALL]().values()}
    chosen = {logical.MedianMeasure, logical.QuantileMeasure, logical.InterquartileRangeMeasure}
    drawn_alike = {
        logical.Deviation,
        logical.Ranges,
        logical.HierarchyCounts,
        logical.AutoBoundsAggregate,
        logical.ClippingBounds,
        logical.UnitExtreme,
        logical.MomentsMeasure,
    }
    assert made.isdisjoint(chosen | drawn_alike)
    assert made | chosen | drawn_alike >= set(get_args(logical.Measure))
    with queries.open_session(COUNT, 1, is_one=True) as session, pytest.raises(UnsupportedError, match="in a release"):
        session.release(dp.table("rows").agg(s=dp.interquartile_range("x")), epsilon=1)
    assert {(c.aggregate, c.neighbours, c.mechanism, c.is_grouped) for c in EVERYTHING} == {
        (a, n, m, g)
        for a in AGGREGATES
        for n in ("add_remove", "replace_one")
        for m in ("laplace", "gaussian")
        for g in (True, False)
    }


def test_every_additive_noise_is_audited_as_scalars_and_as_vectors():
    kinds = {(type(mechanism), len(one) > 1) for mechanism, _, one, _ in MECHANISMS.values()}
    assert kinds == {(kind, is_vector) for kind in dp.mechanisms.NOISES for is_vector in (True, False)}


@pytest.mark.parametrize("name", MECHANISMS)
def test_the_answers_of_a_mechanism_are_as_far_apart_as_its_sensitivity(name):
    mechanism, _, one, other = MECHANISMS[name]
    moved = [abs(a - b) for a, b in zip(one, other, strict=True)]
    match mechanism:
        case dp.mechanisms.Laplace():
            assert sum(moved) == mechanism.sensitivity
        case dp.mechanisms.Gaussian():
            assert sum(step**2 for step in moved) == mechanism.squared_sensitivity
        case dp.mechanisms.Staircase():
            assert sum(map(bool, moved)) == mechanism.coordinates
            assert max(moved) in (mechanism.step, 1)  # a shift of one crosses a stair too


@over("case", EVERYTHING)
def test_the_two_datasets_differ_in_one_unit_of_each_block(case):
    one, other = (queries.rows(case, 3, is_one=is_one).to_pylist() for is_one in (True, False))
    kept = {row["unit"] for row in one if row in other}
    changed = {row["unit"] for rows, others in ((one, other), (other, one)) for row in rows if row not in others}
    assert changed == {0, 1, 2}
    assert kept - changed == {3, 4, 5, 6, 7, 8}


@pytest.mark.parametrize("aggregate", ["count", "count_units", "sum"])
@pytest.mark.parametrize("neighbours", ["add_remove", "replace_one"])
def test_the_unit_of_a_block_moves_an_aggregate_by_all_of_its_sensitivity(aggregate, neighbours):
    case = Case(aggregate, neighbours, "laplace", is_grouped=True)
    with queries.both(case, 2) as sessions:
        leaning, _, _ = queries.release_both(case, sessions)
    assert np.sum(np.abs(leaning.one - leaning.other) / [noise.width for noise in leaning.noises]) == queries.EPSILON


def test_the_leaning_of_laplace_noise_is_its_log_likelihood_ratio():
    mechanism = dp.mechanisms.Laplace(sensitivity=3, epsilon=1)
    leaning = Leaning(np.array([0.0]), np.array([3.0]), [mechanism])
    for y, ratio in leaning.beside(np.arange(-5.0, 9.0)[:, None]):
        assert ratio == pytest.approx(np.log(mechanism.pmf(int(y)) / mechanism.pmf(int(y) - 3)))


def test_the_leaning_of_gaussian_noise_is_its_log_likelihood_ratio():
    mechanism = dp.mechanisms.Gaussian(sensitivity=3, rho=0.5)
    leaning = Leaning(np.array([0.0]), np.array([3.0]), [mechanism])
    for y, ratio in leaning.beside(np.arange(-5.0, 9.0)[:, None]):
        assert ratio == pytest.approx(np.log(mechanism.pmf(int(y)) / mechanism.pmf(int(y) - 3)))


def test_outcomes_that_came_at_once_are_handed_out_once_each_and_in_order():
    dealt = queries._Dealt(np.arange(10))
    assert [dealt.next(count).tolist() for count in (3, 0, 7)] == [[0, 1, 2], [], [3, 4, 5, 6, 7, 8, 9]]


@pytest.mark.parametrize("blocks", [4_000, 16_000])
def test_a_claim_of_a_quarter_of_the_epsilon_is_refuted_by_one_release_of_many_keys(blocks):
    """Power, not false alarm: in 20 audits of 4,000 runs the log of the wealth had mean 126 and deviation 12.

    14.5 is enough to refute, nine deviations below: missed with less than 1e-15. With 1,000 runs, one in twenty misses.
    """
    with queries.both(COUNT, blocks) as sessions:
        leaning, *noisy = queries.release_both(COUNT, sessions)
    assert audited_at_once(*map(leaning.beside, noisy), claim=claim(epsilon=0.25), alarm=1e-6, name="count").is_broken


@pytest.mark.parametrize("blocks", [1_000, 4_000])
def test_a_session_with_too_little_noise_is_caught(blocks):
    """The mean of 16 draws is nearly Gaussian, with mu above 2.

    In 40 audits the log of the wealth had mean 80 and deviation 10, and 14.5 is enough: missed with less than 1e-9.
    """
    with queries.both(COUNT, blocks, kind=Averaged) as sessions:
        assert queries.audited_keys(COUNT, sessions, 1e-6)[0].is_broken


class ByPlace(Recording):
    """A pipeline whose exact answers depend on the place of a key."""

    def redrawn(self, plan, exact):
        self.exact_steps[0][-1] += 1
        return super().redrawn(plan, exact)


class Uneven(RecordingSession):
    _pipeline_class = ByPlace


def test_blocks_with_different_exact_answers_void_the_audit():
    with queries.both(COUNT, 100, kind=Uneven) as sessions:
        (finding,) = queries.audited_keys(COUNT, sessions, 1e-6)
    assert finding.verdict is Verdict.VOID
    assert "different exact answers" in finding.evidence


def test_a_watched_session_is_stamped_not_private_and_its_ledger_is_forgotten():
    with queries.open_session(COUNT, 2, is_one=True, kind=RecordingSession) as session:
        release = COUNT.release(session)
    assert isinstance(session, testing.Session)
    assert session.ledger.is_for_tests
    assert not release.private
    assert str(release).startswith("NOT PRIVATE")


@pytest.mark.statistical(false_alarm=1e-6)
@pytest.mark.parametrize("is_grouped", [True, False])
def test_what_is_audited_of_a_watched_session_has_the_noise_of_a_private_one(is_grouped, samples):
    """4,000 draws are 0 as often as they should. False-alarm rate 1e-6."""
    blocks, times = (samples(2_000), 1) if is_grouped else (1, samples(4_000))
    case = Case("count", "add_remove", "laplace", is_grouped=is_grouped)
    with queries.both(case, blocks) as sessions:
        leaning, noisy, _ = queries.release_both(case, sessions, times)
    noise = (noisy - leaning.one).ravel()
    mechanism = dp.mechanisms.Laplace(sensitivity=int(leaning.noises[0].width), epsilon=1)
    assert mechanism.scale == leaning.noises[0].width
    assert len(noise) == samples(4_000)
    assert binomtest(int(np.sum(noise == 0)), len(noise), float(mechanism.pmf(0))).pvalue > 1e-6


def test_redrawn_noise_is_drawn_as_often_as_asked_and_stands_on_the_same_integers():
    case = Case("all of them", "add_remove", "laplace", is_grouped=False)
    with queries.both(case, 1) as sessions:
        leaning, one, other = queries.release_both(case, sessions, 50)
    assert one.shape == other.shape == (50, len(leaning.one))
    assert len({tuple(row) for row in one}) > 40


@pytest.mark.statistical(false_alarm=6e-6)
@pytest.mark.parametrize("mechanism", ["laplace", "gaussian"])
def test_nothing_is_found_in_a_small_audit_of_each_kind(mechanism, samples):
    """Six findings with an alarm of 1e-6 each."""
    by_key = Case("mean", "replace_one", mechanism, is_grouped=True)
    over_all = Case("sum", "add_remove", mechanism, is_grouped=False)
    with queries.both(by_key, samples(200)) as sessions:
        findings = queries.audited_keys(by_key, sessions, 1e-6)
    with queries.both(over_all, 1) as sessions:
        findings += queries.audited_redrawn(over_all, sessions, samples(400), 1e-6)
    findings += [
        queries.audited_canaries(Case("count", "add_remove", mechanism, is_grouped=True), samples(100), 1e-6),
        queries.audited_mechanism(
            next(name for name in MECHANISMS if name.lower().startswith(mechanism)), samples(500), 1e-6
        ),
    ]
    assert {finding.verdict for finding in findings} == {"nothing found"}
    assert sum(finding.alarm for finding in findings) == pytest.approx(6e-6)
