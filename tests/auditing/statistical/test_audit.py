"""The audit: broken claims are caught and true ones are not, whatever outcomes look like.

Each test that wants nothing found has a false-alarm rate of at most 1e-6, the audit's own alarm. Tests that want a
break use effects so large that a miss has a chance far below 1e-5.
"""

import json
import math
import time

import numpy as np
import pytest

import discreet as dp
from discreet.auditing.claims import claim
from discreet.auditing.finding import Verdict
from discreet.auditing.statistical import audit as statistical
from discreet.auditing.statistical import e_values, evidence, features
from discreet.auditing.statistical.audit import audit, block_sizes, half_of
from discreet.errors import ParameterError
from discreet.testing import generator

RARE = 1e-6


def discrete_laplace(rng, epsilon):
    stop = 1 - math.exp(-epsilon)
    return lambda answer, count: answer + rng.geometric(stop, count) - rng.geometric(stop, count)


def response(rng, epsilon, delta=0.0):
    """Randomized response, but with probability delta the bit and that it is true: exactly at (epsilon, delta)."""
    honest = math.exp(epsilon) / (1 + math.exp(epsilon))

    def answers(bit, count):
        said = np.where(rng.random(count) < honest, bit, 1 - bit)
        return np.where(rng.random(count) < delta, bit + 2, said)

    return answers


TRUE = {
    "discrete Laplace": (lambda rng: discrete_laplace(rng, 1), claim(epsilon=1)),
    "randomized response": (lambda rng: response(rng, 1), claim(epsilon=1)),
    "delta": (lambda rng: response(rng, 1, 0.05), claim(epsilon=1, delta=0.05)),
    "Gaussian on a grid, mu": (lambda rng: lambda x, n: (1024 * (x + rng.normal(size=n))).round(), claim(mu=1)),
    "Gaussian on a grid, rho": (lambda rng: lambda x, n: (1024 * (x + rng.normal(size=n))).round(), claim(rho=0.5)),
}


@pytest.mark.guarantee("auditing.statistical.audit")
@pytest.mark.parametrize("name", TRUE)
@pytest.mark.parametrize("stop", [True, False], ids=["stops", "goes on"])
def test_a_mechanism_exactly_at_its_claim_is_not_called_broken(name, stop):
    made, promise = TRUE[name]
    finding = audit(made(generator(1)), 0, 1, claim=promise, samples=6_000, alarm=RARE, many=True, stop=stop)
    assert finding.verdict is Verdict.NOTHING_FOUND
    assert finding.samples == 6_000
    assert 0 < finding.found <= finding.stated


@pytest.mark.parametrize("name", TRUE)
def test_twice_what_is_claimed_is_caught(name):
    made, promise = TRUE[name]
    less = {
        "epsilon": claim(epsilon=0.5, delta=getattr(promise, "delta", 0)),
        "rho": claim(rho=0.125),
        "mu": claim(mu=0.5),
    }
    finding = audit(made(generator(2)), 0, 1, claim=less[promise.parameter], samples=20_000, many=True)
    assert finding.is_broken
    assert finding.samples < 20_000
    assert finding.stated <= finding.found <= 2.2**2 * finding.stated


@pytest.mark.pitfall("A1")
def test_the_float_noise_of_numpy_is_caught_with_few_samples():
    rng = generator(3)
    finding = audit(lambda answer: answer + rng.laplace(), 0.0, 1.0, epsilon=1, samples=2_000)
    assert finding.is_broken
    assert finding.samples <= 1_000
    assert "lowest bit" in finding.evidence or "likelihood score" in finding.evidence


@pytest.mark.statistical(false_alarm=1e-6)
def test_our_own_laplace_is_not_called_broken_and_much_of_its_epsilon_is_found(samples):
    """What is found has a mean of 0.92 and a deviation of 0.013: below 0.75 with a probability below 1e-12."""
    mechanism, how = dp.mechanisms.Laplace(sensitivity=1, epsilon=1), {"alarm": RARE, "many": True, "stop": False}
    finding = audit(lambda x, n: mechanism.release([x] * n), 0, 1, epsilon=1, samples=samples(20_000), **how)
    assert finding.verdict is Verdict.NOTHING_FOUND
    assert 0.75 < finding.found <= 1


def test_with_all_samples_more_is_found_than_what_is_needed_to_refute():
    soon = audit(discrete_laplace(generator(4), 3), 0, 1, epsilon=1, many=True)
    late = audit(discrete_laplace(generator(4), 3), 0, 1, epsilon=1, many=True, stop=False)
    assert soon.samples < late.samples == 10_000
    assert 1 < soon.found < late.found < 3
    assert late.found > 2.5


@pytest.mark.parametrize("order", [1, -1])
def test_either_dataset_may_be_the_one_that_tells(order):
    rng = generator(5)
    one, other = (0, 1)[::order]
    finding = audit(lambda x: x and rng.random() < 0.5, one, other, epsilon=1, samples=2_000)
    assert finding.is_broken


LEAKS = {
    "an exception": lambda rng, x: 1 / (x or rng.random() < 0.7),
    "the text of an exception": lambda rng, x: float("a" if x or rng.random() < 0.7 else "b"),
    "None": lambda rng, x: None if x and rng.random() < 0.3 else 0.5,
    "a NaN": lambda rng, x: math.nan if x and rng.random() < 0.3 else 0.5,
    "an infinity": lambda rng, x: math.inf if x and rng.random() < 0.3 else 0.5,
    "a text": lambda rng, x: "flu" if x and rng.random() < 0.3 else "well",
    "a key": lambda rng, x: {"A": 1, **({"B": 1} if x and rng.random() < 0.3 else {})},
    "a value beside a key": lambda rng, x: {"A": rng.integers(9), "B": int(x and rng.random() < 0.3)},
    "a length": lambda rng, x: [0] * (3 + int(x and rng.random() < 0.3)),
    "a type": lambda rng, x: 1.0 if x and rng.random() < 0.3 else 1,
    "a grid": lambda rng, x: rng.integers(100) / (200 if x else 100),
    "a bit": lambda rng, x: rng.integers(10**6) + (0.5 if x and rng.random() < 0.3 else 0.0),
    "a coordinate": lambda rng, x: (rng.normal(size=30) + 3 * x * (np.arange(30) == 17)).round(2).tolist(),
    "all coordinates": lambda rng, x: (rng.normal(size=30) + 0.6 * x * (-1) ** np.arange(30)).round(2),
    "a set": lambda rng, x: {"A", "B"} if x and rng.random() < 0.3 else {"A"},
}


@pytest.mark.parametrize("leak", LEAKS)
def test_whatever_gives_a_dataset_away_is_seen(leak):
    rng = generator(6)
    finding = audit(lambda x: LEAKS[leak](rng, x), 0, 1, epsilon=0.5, samples=3_000, name=leak)
    assert finding.is_broken, finding
    assert finding.subject == leak


def test_the_same_outcomes_on_both_datasets_find_nothing():
    rng = generator(7)
    for leak, mechanism in LEAKS.items():
        finding = audit(lambda _, made=mechanism: made(rng, 1), 0, 1, epsilon=0.01, samples=1_000, alarm=RARE)
        assert not finding.is_broken, leak


@pytest.mark.pitfall("A17")
def test_a_release_of_another_size_is_seen_in_its_keys():
    rng = generator(8)
    finding = audit(lambda wards: {w: int(rng.integers(9)) for w in wards}, ["A", "B"], ["A"], epsilon=1, samples=1_000)
    assert finding.is_broken
    assert "value['B'] " in finding.evidence


def test_run_times_are_outcomes_only_where_they_are_asked_for():
    def slow(data):
        time.sleep(0.002 * data)

    assert not audit(slow, 0, 1, epsilon=1, samples=100, alarm=RARE).is_broken
    timed = audit(slow, 0, 1, epsilon=1, samples=1_000, times=True)
    assert timed.is_broken
    assert timed.evidence.startswith("seconds ")


def test_a_mechanism_that_always_fails_is_no_evidence_of_anything():
    finding = audit(lambda data: data.typo, 0, 1, epsilon=1, samples=200)
    assert finding.verdict is Verdict.VOID
    assert "every run on both datasets raised AttributeError" in finding.evidence


def test_outcomes_that_show_nothing_of_themselves_are_void_and_parts_that_do_are_named():
    wholly = audit(lambda _: object(), 0, 1, epsilon=1, samples=200)
    assert wholly.verdict is Verdict.VOID
    assert "show nothing of themselves (object)" in wholly.evidence
    partly = audit(lambda data: [1, iter([data])], 0, 1, epsilon=1, samples=200)
    assert partly.verdict is Verdict.NOTHING_FOUND
    assert partly.evidence.endswith("not looked into: list_iterator")


def test_an_error_whose_text_leaks_is_named_in_the_evidence():
    finding = audit(lambda data: int(f"x{data}"), 0, 1, epsilon=1, samples=400)
    assert finding.is_broken
    assert finding.evidence.startswith("error text ")


def test_a_mechanism_without_noise_is_caught_and_pointed_out():
    finding = audit(lambda data: data, 3, 4, epsilon=8, samples=60_000)
    assert finding.is_broken
    assert finding.evidence.endswith("there is no noise, or a remembered answer came again")


def test_a_finding_says_what_came_how_often_and_how_sure_it_is():
    finding = audit(discrete_laplace(generator(9), 3), 0, 1, epsilon=1, many=True, name="too little noise")
    assert finding.layer == "statistics"
    assert finding.claim == "epsilon 1"
    assert (finding.stated, finding.alarm) == (1.0, 1e-3)
    assert "with `one`, " in finding.evidence
    assert finding.evidence.endswith("(99.9% sure)")
    assert f"epsilon above {finding.found:.4g}" in finding.evidence
    assert finding.seconds > 0


def test_a_finding_has_what_a_figure_needs_in_json():
    finding = audit(discrete_laplace(generator(10), 1), 0, 1, epsilon=1, samples=2_000, many=True)
    detail = json.loads(json.dumps(dict(finding.detail), allow_nan=False))
    assert detail["histogram"]["one"]
    assert detail["trade_off"]
    assert set(detail["statements"]) == {"epsilon", "rho", "mu", "delta"}
    assert detail["found_by_bounds"] <= finding.found
    assert detail["found_by_bets"] <= finding.found


@pytest.mark.parametrize("words", [{"epsilon": 1, "delta": 0.01}, {"rho": 0.5}, {"mu": 1}], ids=str)
def test_a_finding_has_what_a_claim_of_any_kind_allows_beside_what_was_seen(words):
    noise = generator(10)
    mechanism = lambda data, count: data + noise.normal(0, 1, count)  # noqa: E731 - its low bits break every claim
    finding = audit(mechanism, 0, 1, samples=2_000, many=True, stop=False, **words)
    assert finding.detail["trade_off"]
    assert finding.detail["allowed"] == evidence.allowed_trade_off(claim(**words))


def test_points_of_the_curve_are_within_what_the_claim_allows():
    finding = audit(discrete_laplace(generator(11), 1), 0, 1, epsilon=1, many=True, alarm=RARE)
    for point in finding.detail["trade_off"]:
        assert 1 - point["false_negative"] <= math.e * point["false_positive"]


def test_drift_in_time_is_no_leak():
    calls = iter(range(10**9))
    finding = audit(lambda _: next(calls) // 10, 0, 1, epsilon=0.1, samples=2_000, alarm=RARE)
    assert not finding.is_broken


def test_events_are_chosen_before_the_runs_that_they_are_tested_on(monkeypatch):
    """What happened, in order: how many runs there were when something was run, chosen, learned, bet on or bounded."""
    happened, ran = [], 0

    def watched(owner, name, what, seen):
        kept = getattr(owner, name)

        def call(*arguments, **words):
            happened.append((what, seen(*arguments)))
            return kept(*arguments, **words)

        monkeypatch.setattr(owner, name, call)

    def drawn(data, count):
        nonlocal ran
        ran += count * data
        happened.append(("ran", ran))
        return generator(ran).integers(0, 9, count)

    watched(statistical.Candidates, "among", "chose", lambda sides: sides.one.count)
    watched(features.Vocabulary, "learn", "learned", lambda one, _: len(one))
    watched(e_values.Wealth, "settle", "bet", lambda *_: ran)
    watched(statistical.bounds, "probabilities", "bounded", lambda *given: given[2])
    audit(drawn, 0, 1, epsilon=1, samples=4_000, many=True, stop=False, alarm=RARE)

    last_choice = 0
    for what, seen in happened:
        if what == "chose":
            last_choice = seen
        if what == "bet":
            assert last_choice < seen
    ends = np.cumsum(block_sizes(4_000)).tolist()
    bets = [seen for what, seen in happened if what == "bet"]
    assert sorted(set(bets)) == ends[1:]
    assert max(seen for what, seen in happened if what == "learned") <= 2_000
    assert happened[-1] == ("bounded", 2_000)


@pytest.mark.parametrize("samples", [100, 101, 102, 103, 999, 10_000, 123_456])
def test_blocks_are_even_and_meet_at_half_of_the_samples(samples):
    sizes = block_sizes(samples)
    assert sum(sizes) == samples
    assert all(size > 0 and size % 2 == 0 for size in sizes[:-1])
    assert half_of(samples) in np.cumsum(sizes)


@pytest.mark.parametrize(
    "words",
    [
        {"samples": 99},
        {"samples": 1e4},
        {"alarm": 0},
        {"alarm": 1},
        {"alarm": math.nan},
        {"epsilon": None},
        {"epsilon": -1},
        {"rho": 1},
        {"claim": claim(epsilon=1)},
        {"times": True, "many": True},
    ],
    ids=str,
)
def test_words_that_make_no_sense_are_refused_before_anything_runs(words):
    ran = []
    with pytest.raises(ParameterError):
        audit(ran.append, 0, 1, **({"epsilon": 1} | words))
    assert not ran


def test_a_mechanism_is_called_what_it_is_called():
    class Mechanism:
        def __call__(self, data):  # noqa: ARG002
            return 0

    def named(data):
        return 0

    assert audit(named, 0, 1, epsilon=1, samples=100).subject == "named"
    assert audit(Mechanism(), 0, 1, epsilon=1, samples=100).subject == "Mechanism"


@pytest.mark.parametrize("data", [[1, 2], {"a": 1}, np.array([1, 2])])
def test_a_mechanism_that_changes_its_dataset_makes_the_audit_void(data):
    def mechanism(given):
        if isinstance(given, list):
            given.append(1)
        else:
            given["a" if isinstance(given, dict) else 0] += 1
        return len(given)

    finding = audit(mechanism, data, [1], epsilon=1, samples=100)
    assert finding.verdict is Verdict.VOID
    assert "changes its dataset" in finding.evidence


def test_what_is_found_within_the_claim_is_said_to_be():
    drawn = generator(5)
    finding = audit(lambda x, n: x + drawn.integers(0, 4, n), 0, 0, epsilon=1, many=True, samples=200)
    assert finding.evidence.endswith(", within the 1 claimed")
