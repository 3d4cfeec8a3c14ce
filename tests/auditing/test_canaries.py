"""One-run audits: what the arithmetic says is what the worst pipeline reaches, and what real pipelines stay below.

Coins and the noise of stand-ins are seeded; the noise of sessions is not, and each such test states how often it fails.
"""

import itertools
import math

import numpy as np
import pyarrow as pa
import pytest
from scipy.optimize import linprog
from scipy.sparse import coo_matrix
from scipy.special import ndtr
from scipy.stats import binom

import discreet as dp
from discreet.auditing.canaries import SHARES, bound, chance, choose_guesses, one_run, session_canaries
from discreet.auditing.claims import claim
from discreet.auditing.finding import Verdict
from discreet.errors import ParameterError

ONE = claim(epsilon=1)
T = dp.table("visits")

# What the arithmetic says


@pytest.mark.parametrize(
    ("correct", "guesses", "epsilon"),
    [(100, 100, 3.49), (1_000, 1_000, 5.81), (731, 1_000, 0.88), (7_311, 10_000, 0.96)],
)
def test_right_guesses_bound_epsilon_by_the_binomial_tail(correct, guesses, epsilon):
    found = bound(correct, guesses=guesses, canaries=guesses, claim=ONE, alarm=0.05)
    assert found == pytest.approx(epsilon, abs=0.005)
    right = 1 / (1 + math.exp(-found))
    assert binom.sf(correct - 1, guesses, right) == pytest.approx(0.05, rel=0.01)


def test_delta_costs_little_and_a_claim_of_more_delta_allows_more():
    figures = [
        bound(731, guesses=1_000, canaries=10_000, claim=claim(epsilon=1, delta=delta), alarm=0.05)
        for delta in (0, 1e-5, 1e-4, 1e-2)
    ]
    assert figures == sorted(figures, reverse=True)
    assert figures[1] == pytest.approx(0.8799, abs=2e-4)
    assert figures[-1] == 0


def worst_pipeline(canaries, guesses, correct, epsilon, delta):
    """The most that P[W >= correct] can be over all pipelines that are (epsilon, delta)-DP: a linear program."""
    inputs = list(itertools.product((0, 1), repeat=canaries))
    outputs = [t for t in itertools.product((0, 1, None), repeat=canaries) if t.count(None) == canaries - guesses]
    place, size = {s: i for i, s in enumerate(inputs)}, len(outputs)
    pairs = [(i, place[(*s[:j], 1 - s[j], *s[j + 1 :])]) for i, s in enumerate(inputs) for j in range(canaries)]
    first = len(inputs) * size
    cells, limits = [], []
    for pair, (here, there) in enumerate(pairs):
        for t in range(size):
            row, excess = len(limits), first + pair * size + t
            cells += [(row, here * size + t, 1), (row, there * size + t, -math.exp(epsilon)), (row, excess, -1)]
            limits.append(0)
        cells += [(len(limits), first + pair * size + t, 1) for t in range(size)]
        limits.append(delta)
    rows, columns, values = zip(*cells, strict=True)
    width = first + len(pairs) * size
    sums = coo_matrix(
        (np.ones(first), (np.repeat(np.arange(len(inputs)), size), np.arange(first))), (len(inputs), width)
    )
    gains = [sum(a == b for a, b in zip(s, t, strict=True)) >= correct for s in inputs for t in outputs]
    solved = linprog(
        np.append(-np.array(gains, float) / len(inputs), np.zeros(width - first)),
        A_ub=coo_matrix((values, (rows, columns)), (len(limits), width)).tocsr(),
        b_ub=limits,
        A_eq=sums.tocsr(),
        b_eq=np.ones(len(inputs)),
    )
    return -solved.fun


@pytest.mark.guarantee("auditing.canaries")
@pytest.mark.parametrize(("canaries", "guesses"), [(1, 1), (2, 1), (2, 2), (3, 2), (3, 3)])
def test_no_pipeline_lets_more_guesses_be_right_and_one_lets_as_many(canaries, guesses):
    """Over all pipelines, by linear programming: (c) and (d) of the proof."""
    for correct in range(1, guesses + 1):
        for epsilon, delta in ((0.5, 0.02), (1, 0.001), (1, 0.2), (2, 0)):
            stated = chance(correct, guesses=guesses, canaries=canaries, claim=claim(epsilon=epsilon, delta=delta))
            assert stated == pytest.approx(worst_pipeline(canaries, guesses, correct, epsilon, delta), abs=1e-7)


def papers_tail(canaries, guesses, correct, epsilon, delta):
    """The bound of Steinke, Nasr and Jagielski for delta > 0."""
    right, fewer = 1 / (1 + math.exp(-epsilon)), np.arange(1, correct + 1)
    tail = binom.sf(correct - 1, guesses, right)
    return tail + 2 * canaries * delta * np.max((binom.sf(correct - fewer - 1, guesses, right) - tail) / fewer)


def test_the_bound_for_delta_is_at_most_the_papers_above_the_mean_and_the_papers_fails_below_it():
    for guesses, share, epsilon, delta in itertools.product((5, 50, 400), (1, 4), (0.1, 1, 3), (1e-6, 1e-3)):
        promised = claim(epsilon=epsilon, delta=delta)
        for correct in range(math.ceil(guesses / (1 + math.exp(-epsilon))), guesses + 1, max(1, guesses // 25)):
            ours = chance(correct, guesses=guesses, canaries=share * guesses, claim=promised)
            assert ours <= papers_tail(share * guesses, guesses, correct, epsilon, delta) * (1 + 1e-9)
    assert papers_tail(2, 2, 1, 1, 0.001) < worst_pipeline(2, 2, 1, 1, 0.001) - 1e-5


def worst_curve(canaries, guesses, correct, mu, lines=40):
    """The most that P[W >= correct] can be under (a) of the proof, with tangents of the curve of mu."""
    losses = np.linspace(-4, 8, lines) * max(mu, 0.3)
    slopes, places = np.exp(losses), -losses / mu - mu / 2
    intercepts = ndtr(places + mu) - slopes * ndtr(places)
    size, cells, limits = guesses + 1, [], []
    for line in range(lines):
        for right in range(1, size):
            excess = size + line * guesses + right - 1
            here, there = right / canaries, -slopes[line] * (guesses - right + 1) / canaries
            cells += [(len(limits), right, here), (len(limits), right - 1, there), (len(limits), excess, -1)]
            limits.append(0)
        cells += [(len(limits), size + line * guesses + k, 1) for k in range(guesses)]
        limits.append(intercepts[line])
    rows, columns, values = zip(*cells, strict=True)
    width = size + lines * guesses
    gains, sums = np.zeros(width), np.zeros((1, width))
    gains[correct:size], sums[0, :size] = -1, 1
    bounded = coo_matrix((values, (rows, columns)), (len(limits), width)).tocsr()
    return -linprog(gains, A_ub=bounded, b_ub=limits, A_eq=sums, b_eq=[1]).fun


@pytest.mark.parametrize(
    ("canaries", "guesses", "correct", "mu"), [(20, 20, 15, 0.5), (20, 20, 17, 1), (40, 20, 17, 0.5)]
)
def test_the_recursion_for_curves_is_above_the_best_bound_and_near_it(canaries, guesses, correct, mu):
    best = worst_curve(canaries, guesses, correct, mu)
    assert best <= chance(correct, guesses=guesses, canaries=canaries, claim=claim(mu=mu)) < 4 / 3 * best


@pytest.mark.parametrize(
    "stated", [claim(epsilon=1), claim(epsilon=1, delta=1e-3), claim(mu=1), claim(rho=0.5)], ids=str
)
def test_chance_and_bound_are_one_test_seen_from_two_sides(stated):
    for correct in (0, 30, 45, 55, 60):
        asked = {"guesses": 60, "canaries": 80}
        likely = chance(correct, **asked, claim=stated)
        for alarm in (0.2, 0.01, 1e-5):
            if abs(likely / alarm - 1) > 0.05:
                assert (bound(correct, **asked, claim=stated, alarm=alarm) >= stated.value) == (likely <= alarm)


def test_more_right_guesses_are_less_likely_and_imply_more():
    for stated in (claim(epsilon=0.5, delta=1e-4), claim(mu=0.5), claim(rho=0.1)):
        chances = [chance(v, guesses=50, canaries=50, claim=stated) for v in range(0, 51, 5)]
        bounds = [bound(v, guesses=50, canaries=50, claim=stated, alarm=0.05) for v in range(0, 51, 5)]
        assert chances == sorted(chances, reverse=True)
        assert bounds == sorted(bounds)
        assert chances[-1] < 0.05 < chances[0]


# Which guesses are made


def test_the_most_extreme_scores_are_guessed_and_ties_go_by_position():
    scores = np.array([0.0, 5.0, 1.0, 4.0, 2.0, 2.0])
    about, is_in = choose_guesses(scores, 4)
    assert about.tolist() == [True, True, True, True, False, False]
    assert (about & is_in).tolist() == [False, True, False, True, False, False]
    about, is_in = choose_guesses(scores, 3, middle=1.9)
    assert about.tolist() == [True, True, False, True, False, False]
    assert is_in.tolist() == [False, True, False, True, True, True]
    for guesses, middle in itertools.product(range(7), (None, 2.0, 9.0)):
        assert choose_guesses(np.zeros((3, 6)), guesses, middle)[0].sum(axis=1).tolist() == [guesses] * 3


# False alarms


def alarms(scores, is_in, stated, level, shares, middle=None):
    """In which repeats any number of guesses makes the claim look broken, as `one_run` decides; a repeat a row."""
    size = is_in.shape[1]
    alarmed = np.zeros(len(is_in), bool)
    for guesses in {round(share * size) for share in shares}:
        about, is_called_in = choose_guesses(scores, guesses, middle)
        correct = (about & (is_called_in == is_in)).sum(axis=1)
        asked = {"guesses": guesses, "canaries": size, "claim": stated}
        rejected = [v for v in np.unique(correct) if chance(int(v), **asked) <= level / len(shares)]
        alarmed |= np.isin(correct, rejected)
    return alarmed.mean()


def test_randomized_response_at_exactly_epsilon_is_called_broken_no_more_often_than_said():
    """20,000 runs: 1,000 alarms are allowed, at most 1,154 in all but 1e-6 of the cases; and the test has its size."""
    coins = dp.testing.generator(1)
    is_in = coins.integers(0, 2, (20_000, 200)) == 1
    told = is_in == (coins.random(is_in.shape) < 1 / (1 + math.exp(-1)))
    assert 0.02 < alarms(told.astype(float), is_in, ONE, 0.05, (1,), middle=0.5) < 1_154 / 20_000
    assert alarms(told.astype(float), is_in, ONE, 0.05, SHARES, middle=0.5) < 1_154 / 20_000
    assert alarms(told.astype(float), is_in, claim(epsilon=0.8), 0.05, SHARES, middle=0.5) > 0.1


@pytest.mark.parametrize("stated", [claim(mu=1), claim(rho=0.5)], ids=str)
def test_gaussian_noise_at_exactly_its_claim_is_called_broken_no_more_often_than_said(stated):
    """5,000 runs: 250 alarms are allowed, at most 328 in all but 1e-6 of the cases; noise a fifth as wide is caught."""
    noise = dp.testing.generator(2)
    is_in = noise.integers(0, 2, (5_000, 100)) == 1
    drawn = noise.normal(size=is_in.shape)
    assert alarms(is_in + drawn, is_in, stated, 0.05, (1, 1 / 2, 1 / 10)) < 328 / 5_000
    assert alarms(is_in + drawn / 5, is_in, stated, 0.05, (1, 1 / 2, 1 / 10), middle=0.5) > 0.5


def test_the_worst_pipeline_for_delta_is_called_broken_as_often_as_the_bound_says():
    """(d) of the proof, drawn 200,000 times; the rate is within 5 standard errors, missed once in 1e6."""
    size, v, epsilon, delta = 40, 34, 1.0, 0.004
    draw = dp.testing.generator(3)
    right = 1 / (1 + math.exp(-epsilon))
    tail, mass = binom.sf(v - 1, size, right), binom.pmf(np.arange(size + 1), size, right)
    high = size * delta / (v * mass[v])
    weights = mass * np.where(np.arange(size + 1) < v, 1 - high * tail, 1 - high * tail + high)
    assert weights.min() >= 0
    correct = draw.choice(size + 1, 200_000, p=weights / weights.sum())
    stated = chance(v, guesses=size, canaries=size, claim=claim(epsilon=epsilon, delta=delta))
    assert np.mean(correct >= v) == pytest.approx(stated, abs=5 * math.sqrt(stated / 200_000))
    assert stated > tail + 0.8 * delta


# Runs of pipelines


def randomized_response(epsilon, noise):
    """The names of all canaries, each with a bit that is right with probability e^epsilon/(1 + e^epsilon)."""

    def pipeline(included):
        is_in = np.isin(np.arange(1_000), included)
        return is_in == (noise.random(1_000) < 1 / (1 + math.exp(-epsilon)))

    return pipeline


def test_an_undercharging_pipeline_is_caught_in_one_run_and_an_honest_one_passes():
    finding = {
        epsilon: one_run(
            randomized_response(epsilon, dp.testing.generator(4)),
            range(1_000),
            score=lambda told, canary: told[canary],
            claim=ONE,
            middle=0.5,
            generator=dp.testing.generator(5),
        )
        for epsilon in (1, 2)
    }
    assert finding[1].verdict is Verdict.NOTHING_FOUND
    assert finding[2].verdict is Verdict.BROKEN
    assert 0.5 < finding[1].found < 1 < finding[2].found < 2
    assert (finding[2].layer, finding[2].claim, finding[2].stated, finding[2].samples) == ("one run", "epsilon 1", 1, 1)
    assert f"guesses about {1_000} canaries were right" in finding[2].evidence
    detail = finding[2].detail
    assert detail["canaries"] == sum(detail["scores_of_included"]) + sum(detail["scores_of_others"]) == 1_000
    assert {each["guesses"] for each in detail["tried"]} == {round(share * 1_000) for share in SHARES}


def test_coins_come_from_the_operating_system_unless_a_test_brings_its_own():
    """Two runs with the same 1,000 coins have probability 2^-1000."""
    seen = []
    for generator in (None, None, dp.testing.generator(6), dp.testing.generator(6)):
        one_run(seen.append, range(1_000), score=lambda _, canary: canary, claim=ONE, generator=generator)
    assert seen[0] != seen[1]
    assert seen[2] == seen[3]
    assert all(350 < len(included) < 650 for included in seen)


def test_a_pipeline_that_tells_everything_and_one_that_tells_nothing():
    asked = {"canaries": range(200), "claim": claim(epsilon=3), "generator": dp.testing.generator(7)}
    everything = one_run(set, score=lambda told, canary: canary in told, middle=0.5, **asked)
    assert everything.is_broken
    assert everything.found > 3
    nothing = one_run(lambda _: None, score=lambda *_: 0.0, **asked)
    assert nothing.verdict is Verdict.NOTHING_FOUND
    assert nothing.found < 0.5


def test_a_pipeline_that_raises_is_void_and_what_cannot_be_judged_is_refused():
    def failing(included):
        raise ValueError(f"{len(included)} rows")

    void = one_run(failing, range(10), score=lambda *_: 0.0, claim=ONE)
    assert void.verdict is Verdict.VOID
    assert void.evidence == "the pipeline raised ValueError, so there was nothing to score"
    for guesses in (0, 11, -1):
        with pytest.raises(ParameterError, match="10 canaries"):
            one_run(list, range(10), score=lambda *_: 0.0, claim=ONE, guesses=guesses)
    with pytest.raises(ParameterError, match="a score that is NaN"):
        one_run(list, range(10), score=lambda *_: math.nan, claim=ONE)


# Sessions

VISITS = pa.table({"patient": [f"p{i}" for i in range(300)], "ward": ["A", "B", "C"] * 100, "age": list(range(300))})


def pipeline_of(planted, epsilon, mechanism=None, **promise):
    """Everything from a table to a release, under the promise; `epsilon` is what is really spent."""

    def pipeline(included):
        words = {"privacy_unit": "patient", "max_rows": 1, "keys": {"ward": planted.keys}, "ledger": ":memory:"}
        budget = dp.Budget(epsilon=epsilon, **promise)
        with dp.protect(planted.table_with(included), name="visits", budget=budget, **words) as session:
            return session.release(T.group_by("ward").agg(n=dp.count()), epsilon=epsilon, mechanism=mechanism)

    return pipeline


def test_canaries_of_a_session_have_ids_and_keys_that_nobody_has():
    table = pa.table(
        {"id": [1, 2**60, None], "ward": ["canary group 1", None, "B"], "age": pa.array([1, 2, 3], pa.int8())}
    )
    planted = session_canaries(table, 3, privacy_unit="id", group="ward", values={"age": 5})
    assert [canary.unit for canary in planted.canaries] == [2, 3, 4]
    assert planted.keys == ["canary group 0", "canary group 2", "canary group 3"]
    with_two = planted.table_with([planted.canaries[0], planted.canaries[2]])
    assert with_two.schema == table.schema
    assert with_two.to_pylist()[3:] == [
        {"id": 2, "ward": "canary group 0", "age": 5},
        {"id": 4, "ward": "canary group 3", "age": 5},
    ]
    assert planted.table_with([]).equals(table)
    with pytest.raises(ParameterError, match="one of"):
        session_canaries(table, 3, privacy_unit="name", group="ward")


@pytest.mark.statistical(false_alarm=1e-5)
def test_a_session_keeps_its_epsilon_in_one_run_and_half_the_claim_is_caught(samples):
    """1,000 canaries: a bound above the truth in 4e-6 of runs for each of both, one outside 0.55 to 1.3 in 4e-7.

    Half of the claim is missed with a probability below 1e-15: 881 guesses are right, with a deviation of 10, not 794.
    """
    many = samples(1_000)
    planted = session_canaries(VISITS, many, privacy_unit="patient", group="ward")
    asked = {"score": planted.score, "middle": 0.5, "alarm": 4e-6, "guesses": many}
    honest = one_run(pipeline_of(planted, 1), planted.canaries, claim=ONE, **asked)
    assert honest.verdict is Verdict.NOTHING_FOUND
    assert honest.found <= 1
    (tried,) = honest.detail["tried"]
    assert 0.55 < bound(tried["correct"], guesses=many, canaries=many, claim=ONE, alarm=0.05) < 1.3
    undercharged = one_run(pipeline_of(planted, 2), planted.canaries, claim=ONE, **asked)
    assert undercharged.is_broken
    assert 1 < undercharged.found <= 2


@pytest.mark.statistical(false_alarm=1e-5)
def test_a_session_with_gaussian_noise_keeps_its_rho_and_its_epsilon_and_delta(samples):
    """False alarms in 5e-6 of runs for each of the two claims."""
    planted = session_canaries(VISITS, samples(500), privacy_unit="patient", group="ward")
    pipeline = pipeline_of(planted, 2, mechanism="gaussian", delta=1e-9)
    release = pipeline(planted.canaries)
    (measured,) = release.measured
    assert measured.mechanism == "discrete Gaussian"
    for stated in (claim(epsilon=2, delta=1e-9), claim(rho=1 / (2 * measured.scale**2))):
        finding = one_run(pipeline, planted.canaries, score=planted.score, middle=0.5, claim=stated, alarm=5e-6)
        assert finding.verdict is Verdict.NOTHING_FOUND
        assert finding.found <= stated.value


def test_scores_find_their_canary_wherever_its_key_stands():
    planted = session_canaries(VISITS, 3, privacy_unit="patient", group="ward")
    words = {"name": "visits", "privacy_unit": "patient", "max_rows": 1, "budget": dp.Budget(epsilon=1)}
    keys = {"ward": ["A", *reversed(planted.keys)]}
    with dp.testing.protect(planted.table_with(planted.canaries[1:2]), keys=keys, **words) as session:
        release = session.release(T.group_by("ward").agg(n=dp.count()), epsilon=1)
    assert [planted.score(release, canary) for canary in planted.canaries] == [0, 1, 0]
