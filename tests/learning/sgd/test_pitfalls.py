"""Known faults of private training stacks, each as a test: three that were found in the field, and the twelve that
jax_privacy lists. Those that need a network are skipped where torch is not installed.
"""

import hashlib
import importlib
import os
import random
from dataclasses import replace
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest

import discreet as dp
from discreet.errors import ParameterError, UnsupportedError
from discreet.learning.core.rows import EncodedRows
from discreet.learning.sgd import sampled_sums
from discreet.learning.sgd.sampled_sums import ExactSampledSums
from discreet.learning.sgd.vectors import CLIP, clip_vectors
from discreet.mechanisms.poisson import poisson_sample
from learning.sgd.plain import CodeRule, NoiselessSums, rows_of, schedule, sums


def mean(people, plan=None):
    return sums([rows_of(people)], plan or schedule(), ExactSampledSums).mean_gradient(CodeRule())


def network_classifier(**changes):
    facts = {
        "features": {"age": dp.learning.linear_bins(0, 100, 3)},
        "classes": [0, 1],
        "size": 1_000,
        "budget": dp.learning.BudgetAccount(dp.Budget(epsilon=1, delta=1e-5)),
        "allow_float_gradients": True,
    }
    return dp.learning.TorchClassifier(**facts | changes)


def test_fault_the_normaliser_does_not_depend_on_the_number_of_people():
    assert mean(2000)[0] == 2 * mean(1000)[0] == 10 * mean(200)[0]


def test_fault_the_sampler_has_no_weights():
    """Everyone has one rate: over 2,000 samples each of 20 people stays within six deviations."""
    counts = np.bincount(np.concatenate([poisson_sample(20, Fraction(1, 4)) for _ in range(2000)]), minlength=20)
    assert (abs(counts - 500) < 6 * (2000 * 0.25 * 0.75) ** 0.5).all()


def test_fault_the_accountant_and_the_sampler_read_one_rate_and_one_noise(monkeypatch):
    drawn = []
    monkeypatch.setattr(sampled_sums, "poisson_sample", lambda _, rate: drawn.append(rate) or np.arange(0))
    plan = replace(schedule(), rate=Fraction(3, 17))
    sums([rows_of(5)], plan).mean_gradient(CodeRule())
    assert drawn == [plan.event.event.rate] == [Fraction(3, 17)]
    assert plan.event.event.variance == Fraction(plan.noise.sigma) ** 2


def test_pitfall_1_batch_size_division_is_by_the_public_expectation():
    plan = schedule()
    assert plan.expected_people == 100
    assert mean(1)[0] == pytest.approx(1 / 100)


def test_pitfall_2_sensitivity_is_that_of_the_vector_which_gets_the_noise():
    plan = schedule()
    exact = sums([rows_of(1, code=60_000)], plan, ExactSampledSums)._sum(CodeRule())
    assert int(exact @ exact) == CLIP**2 == plan.noise.squared_sensitivity


def test_pitfall_3_the_sampling_is_poisson_and_fresh_in_every_step():
    """Sizes of samples vary as those of a binomial; 400 samples of a fixed size would have no variance."""
    sizes = np.array([len(poisson_sample(400, Fraction(1, 4))) for _ in range(400)])
    assert 75 / 2 < sizes.var() < 75 * 2  # beyond six deviations: false alarms below 10^-8
    first, second = (poisson_sample(1000, Fraction(1, 2)).tolist() for _ in range(2))
    assert first != second


@pytest.mark.parametrize("name", ["size", "classes", "features"])
def test_pitfall_4_metadata_that_is_not_declared_is_refused_and_not_taken_from_rows(name):
    model = network_classifier(**{name: None})
    with pytest.raises(ParameterError, match="without"):
        model.fit([[1.0], [2.0], [3.0]], [0, 1, 0])
    assert model.budget.charges == 0


def test_pitfall_4_the_event_is_charged_before_rows_and_is_the_same_for_all_rows(monkeypatch):
    seen = []

    def read(*_):
        seen.append("read")
        raise ValueError("rows are not needed for this test")

    original = dp.learning.BudgetAccount.charge
    monkeypatch.setattr(
        dp.learning.BudgetAccount, "charge", lambda self, event: seen.append(event) or original(self, event)
    )
    monkeypatch.setattr(dp.learning.TorchClassifier, "_network", lambda *_: SimpleNamespace(length=4))
    monkeypatch.setattr(dp.learning.TorchClassifier, "_read_rows", read)
    for people in (3, 500):
        with pytest.raises(dp.Failure):
            network_classifier().fit(np.full((people, 1), 7.0), np.arange(people) % 2)
    assert seen[0] == seen[2]
    assert isinstance(seen[0], dp.events.RepeatedEvent)
    assert seen[1::2] == ["read", "read"]


def test_pitfall_5_neighbours_that_replace_a_person_are_refused():
    with pytest.raises(ParameterError, match="replace_one"):
        schedule(replace_one=True)


def test_pitfall_6_an_empty_batch_is_a_step_with_noise():
    training = sums([rows_of(0)])
    assert training.mean_gradient(CodeRule()).any()
    assert training.left == schedule().steps - 1


def test_pitfall_7_accumulation_clips_a_person_once_and_adds_noise_once(monkeypatch):
    plan, draws = schedule(rate=Fraction(1)), []
    original = type(plan.noise).draw
    monkeypatch.setattr(type(plan.noise), "draw", lambda noise, count: draws.append(count) or original(noise, count))
    training = sums([rows_of(50, rows_each=4), rows_of(9)], plan, rows_at_once=3)
    training.mean_gradient(CodeRule())
    assert draws == [4]
    exact = sums([rows_of(50, rows_each=4)], plan, ExactSampledSums, rows_at_once=3)._sum(CodeRule())
    assert exact[0] == 50 * CLIP


def test_pitfall_8_the_vector_of_a_person_does_not_depend_on_other_people():
    mine = rows_of(1, code=7, target=2)
    alone = sums([mine], kind=ExactSampledSums)._sum(CodeRule(factor=0.01))
    others = rows_of(40, code=9, target=1)
    together = EncodedRows(np.vstack([mine.codes, others.codes]), np.append(mine.target, others.target))
    difference = sums([together], kind=ExactSampledSums)._sum(CodeRule(factor=0.01)) - sums(
        [others], kind=ExactSampledSums
    )._sum(CodeRule(factor=0.01))
    assert (difference == alone).all()


def test_pitfall_8_batch_normalisation_is_refused():
    torch = pytest.importorskip("torch", reason="networks need discreet[torch]")
    pytest.importorskip("opacus", reason="networks need discreet[torch]")
    network = importlib.import_module("discreet.learning.sgd.network")
    with pytest.raises(UnsupportedError, match="BatchNorm1d"):
        network.describe(torch.nn.Sequential(torch.nn.Linear(4, 2), torch.nn.BatchNorm1d(2)))


def test_pitfall_9_no_auxiliary_output_leaves_a_step():
    training = sums([rows_of(5)])
    found = training.mean_gradient(CodeRule())
    assert found.shape == (4,)
    assert {name for name in dir(training) if not name.startswith("_")} == {"left", "mean_gradient"}


def test_pitfall_10_samples_and_noise_come_from_the_operating_system(monkeypatch):
    """They are a function of the bytes of the operating system: the same bytes repeat them, and nothing else does.

    A generator of numpy or Python would not repeat them with these bytes, or would with its own state.
    """

    def gradients(key):
        asked = []

        def stream(size):
            asked.append(size)
            return hashlib.shake_256(f"{key} {len(asked)}".encode()).digest(size)

        with monkeypatch.context() as patch:
            patch.setattr(os, "urandom", stream)
            training = sums([rows_of(800)], schedule(rate=Fraction(1, 2)))
            return training.mean_gradient(CodeRule()).tolist(), sum(asked)

    (first, asked), (again, _), (other, _) = gradients(1), gradients(1), gradients(2)
    assert first == again
    assert asked >= 800 // 8  # a bit for each person at least: not the seed of a generator
    assert all(one != two for one, two in zip(first, other, strict=True))
    np.random.seed(1)  # noqa: NPY002 - the fault that is looked for
    random.seed(1)
    assert gradients(1)[0] == first


def test_pitfall_11_floats_end_before_people_are_added():
    """The sum is that of the steps of each person, in any order and any parts; sums of floats are not."""
    codes = np.random.default_rng(4).integers(1, 900, 3_000).astype(np.uint16)
    rule = CodeRule(factor=0.001)
    each = rule.gradients(codes[:, None], np.zeros(len(codes), dtype=np.int64))[:, 0]
    expected = sum(int(Fraction(float(value)) * CLIP) for value in each)
    for order in (slice(None), slice(None, None, -1)):
        people = EncodedRows(codes[order, None], np.zeros(len(codes), dtype=np.int64))
        for rows_at_once in (1, 7, 4_096):
            found = sums([people], kind=ExactSampledSums, rows_at_once=rows_at_once)._sum(rule)
            assert found.dtype == np.int64
            assert found.tolist() == [expected, 0, 0, 0]
    whole = (each.sum() * CLIP, each.astype(np.float64).sum() * CLIP, np.trunc(each * CLIP).sum(dtype=np.float32))
    assert expected not in [int(faulty) for faulty in whole]


def test_pitfall_12_finite_precision_never_lengthens_a_vector():
    """A norm that floats round down to the clip is found in integers."""
    barely = np.array([[CLIP - 1, 1449]])  # squares add up to clip^2 + 1,450
    assert int(barely[0] @ barely[0]) > CLIP**2
    found = clip_vectors(barely)[0]
    assert int(found @ found) <= CLIP**2


def test_noise_is_the_only_difference_between_samples_with_and_without_it():
    plan = schedule(rate=Fraction(1))
    exact = sums([rows_of(30)], plan, NoiselessSums)._sum(CodeRule())
    assert exact.tolist() == [30 * CLIP, 0, 0, 0]
    assert isinstance(plan.event, dp.events.RepeatedEvent)
