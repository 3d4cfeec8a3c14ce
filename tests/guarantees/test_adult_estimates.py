"""Estimates on the Adult census: how far off they are by the exact laws of their noise, and by real sessions.

Where a session is asked, what it may miss by is taken from the exact law on these very rows, at a chance of 1e-6.
"""

import math
import re
from fractions import Fraction
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from scipy import integrate, optimize, stats

import discreet as dp
from discreet.mechanisms.smooth.proposing import distance
from discreet.mechanisms.smooth.smoothing import smooth_sensitivity
from discreet.planner.queries.smooth_sensitivity import SmoothPlan, analyze_smooth
from discreet.planner.queries.tables import analyze

PEOPLE, YEARS, ALARM = 32_561, 1_256_257, 1e-6
TRUTH = YEARS / PEOPLE
BOUNDS = (0, 125)
DELTA = 1e-9
ADULT = dp.table("adult")
MEAN = ADULT.agg(age=dp.mean("Age", bounds=BOUNDS))
MEDIAN = ADULT.agg(age=dp.median("Age", bounds=BOUNDS))
HOURS = ADULT.agg(hours=dp.interquartile_range("Hours per week", bounds=(0, 100)))
PURE = dp.Budget(epsilon=10)
CONVERTED = dp.Budget(epsilon=20, delta=DELTA, ceiling=20, reason="public rows, and one question for a part of it")
RESERVED = dp.Budget(epsilon=10, delta=DELTA, reserved_delta=DELTA)
NOISES = {
    "pareto": (PURE, {"noise": "pareto"}),
    "student_t": (PURE, {"noise": "student_t"}),
    "laplace": (RESERVED, {"noise": "laplace", "delta": DELTA}),
    "laplace_log_normal": (CONVERTED, {"noise": "laplace_log_normal"}),
}
LABEL = {
    "pareto": "smooth, Pareto",
    "student_t": "smooth, Student's t",
    "laplace": "smooth, Laplace",
    "laplace_log_normal": "smooth, Laplace log-normal",
}
PAGE = Path(__file__).parents[2] / "docs" / "benchmarks.md"


@pytest.fixture(scope="module")
def facts(adult, tmp_path_factory):
    """The catalog, and the exact integers of each question; the home of a test is not there yet."""
    home = tmp_path_factory.mktemp("home")
    home.chmod(0o700)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DISCREET_HOME", str(home))
        return read(adult)


def read(adult):
    with dp.testing.protect(adult, privacy_unit=dp.ROW, budget=PURE) as session:
        engine = session._pipeline.engines["adult"]
        found = {}
        for query in (MEAN, MEDIAN, HOURS):
            asked = analyze_smooth(query.plan, session.catalog, PURE, epsilon=1)
            found[query] = engine.run(engine.prepare(asked.pushdown))
        return session.catalog, found


def fitted(facts, query, name, epsilon) -> tuple[SmoothPlan, float]:
    """The plan of a session, and the width of its noise on these rows, which only a test may know."""
    catalog, exact = facts
    budget, words = NOISES[name]
    asked = analyze_smooth(query.plan, catalog, budget, epsilon=epsilon, **words)
    sensitivity = smooth_sensitivity(asked.reading.local(exact[query]), asked.mechanism.beta)
    return asked, float(sensitivity / asked.mechanism.shift)


def tail(asked: SmoothPlan, name: str, size: float) -> float:
    """P[|Z| > size], by the law's own formula."""
    law = asked.mechanism.law
    match name:
        case "pareto":
            return (1 + size) ** -float(law.tail)
        case "student_t":
            return 2 * float(stats.t.sf(size, law.degrees))
        case "laplace":
            return math.exp(-size)
    sigma = float(law.sigma)
    area, _ = integrate.quad(lambda y: math.exp(-size * math.exp(-sigma * y)) * stats.norm.pdf(y), -12, 12)
    return area


def quantile(asked: SmoothPlan, name: str, chance: float) -> float:
    """The size that |Z| is beyond with that chance."""
    beyond = lambda z: math.log(tail(asked, name, math.exp(z)) or 1e-300) - math.log(chance)  # noqa: E731
    return math.exp(optimize.brentq(beyond, -20, 60))


def within(asked: SmoothPlan, name: str, width: float, chance: float) -> float:
    """How far noise of that width and rounding go, but for a chance."""
    return width * quantile(asked, name, chance) + float(asked.mechanism.grid)


@pytest.mark.parametrize("name", NOISES)
def test_the_smooth_sensitivity_of_the_mean_is_that_of_its_count(facts, name):
    """(hi - lo)/n: so many rows that looking at data near these adds nothing."""
    for epsilon in (0.1, 1, 10):
        asked, width = fitted(facts, MEAN, name, epsilon)
        assert width * float(asked.mechanism.shift) == pytest.approx(125 / PEOPLE, rel=1e-12)
        assert asked.combine(facts[1][MEAN]) == Fraction(YEARS, PEOPLE)


@pytest.mark.parametrize("name", NOISES)
def test_the_mean_is_off_by_what_the_benchmarks_say(facts, name):
    """Its figures are from 1,000 releases: up to a fifth from the law, or a step of the grid."""
    for epsilon, cell in zip((0.1, 1, 10), cells(LABEL[name]), strict=True):
        asked, width = fitted(facts, MEAN, name, epsilon)
        for told, chance in zip(re.findall(r"[\d.]+", cell), (0.5, 0.1), strict=True):
            law = width * quantile(asked, name, chance)
            assert float(told) == pytest.approx(law, rel=0.2, abs=float(asked.mechanism.grid))


def cells(way: str) -> list[str]:
    """The errors of a way in the table of mean ages, from the smallest epsilon."""
    row = re.search(rf"^\| {re.escape(way)} \| [^|]+ \|(.+)\|$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    assert row, way
    return [cell.strip() for cell in row[1].split("|")]


def test_for_a_mean_noise_that_fits_is_about_as_wide_as_that_of_sum_over_count(facts):
    """A standard deviation within a factor of two at every epsilon: hardly worth a margin that cannot be told."""
    catalog, _ = facts
    for epsilon in (0.1, 1, 10):
        private = analyze(MEAN.plan, catalog, PURE, epsilon=epsilon)
        (made,) = private.recipes
        of_sum, of_count = (reading.deviation for reading in private.read(made))
        ratio = math.hypot(of_sum, of_count * (TRUTH - float(made.centre))) / PEOPLE
        asked, width = fitted(facts, MEAN, "pareto", epsilon)
        power = float(asked.mechanism.law.tail)
        assert 0.5 < width * math.sqrt(2 / ((power - 1) * (power - 2))) / ratio < 2


@pytest.mark.parametrize(("query", "answer"), [(MEDIAN, 37), (HOURS, 5)], ids=["age", "hours"])
@pytest.mark.parametrize("name", NOISES)
def test_at_epsilon_1_a_median_comes_back_as_it_is(facts, query, answer, name):
    """Hundreds of rows would have to change before it moves at all; any noise is far below the grid."""
    asked, width = fitted(facts, query, name, 1)
    assert asked.combine(facts[1][query]) == answer
    assert within(asked, name, width, ALARM) < 2 * float(asked.mechanism.grid)


@pytest.mark.parametrize(
    ("name", "most"), [("pareto", 0.001), ("student_t", 0.001), ("laplace", 5), ("laplace_log_normal", 17)]
)
def test_at_epsilon_a_tenth_the_pure_noises_still_find_the_median_age(facts, name, most):
    asked, width = fitted(facts, MEDIAN, name, 0.1)
    assert within(asked, name, width, 0.1) < most


@pytest.mark.statistical(false_alarm=4e-6)
@pytest.mark.parametrize("name", NOISES)
def test_a_session_says_the_mean_age_within_the_law_of_its_noise(adult, facts, name, samples):
    """False alarms: 1e-6, and 4e-6 for four releases."""
    budget, words = NOISES[name]
    asked, width = fitted(facts, MEAN, name, 1)
    for _ in range(samples(1)):
        with dp.protect(adult, privacy_unit=dp.ROW, budget=budget, ledger=":memory:") as session:
            made = session.release(MEAN, epsilon=1, method=dp.SmoothSensitivity(**words))
        assert abs(made.value - TRUTH) <= within(asked, name, width, ALARM)
        assert made.margin is None


def test_a_session_says_the_median_age_exactly(adult):
    """At epsilon 1 any other answer has a chance below 1e-100."""
    with dp.protect(adult, privacy_unit=dp.ROW, budget=PURE, ledger=":memory:") as session:
        assert session.release(MEDIAN, epsilon=1, method=dp.SmoothSensitivity()).value == 37
        assert session.remaining().epsilon == 9


def test_a_proposed_bound_of_a_hundredth_passes_and_one_below_the_truth_does_not(adult, facts):
    """One row moves the mean by up to 0.00384 here. False alarms: e^-10000, 1e-13 and a tenth of delta."""
    catalog, exact = facts
    asked = analyze_smooth(MEAN.plan, catalog, RESERVED, epsilon=1, bound=0.01, delta=DELTA / 10)
    far = distance(asked.reading.local(exact[MEAN]), asked.mechanism.bound)
    assert asked.mechanism.chance(far) == 1
    with dp.protect(adult, privacy_unit=dp.ROW, budget=RESERVED, ledger=":memory:") as session:
        made = session.release(MEAN, epsilon=1, method=dp.ProposedBound(bound=0.01, delta=DELTA / 10))
        assert abs(made.value - TRUTH) <= 0.02 * math.log(1e13) + float(asked.mechanism.grid)
        assert session.release(MEAN, epsilon=1, method=dp.ProposedBound(bound=0.0038, delta=DELTA / 10)).value is None
        assert session.remaining().epsilon == 8


def mean_age(table: pa.Table) -> float:
    return float(np.mean(table["Age"].to_numpy()))


def test_sample_and_aggregate_with_30_chunks_says_the_mean_age_within_the_law_of_its_noise(adult):
    """Noise of scale 125/30/10 = 0.42 goes beyond 13 with a chance of 3e-14; the mean of 30 means is off by 0.1.

    That of ages between 17 and 90 has a deviation of 0.003 over splits (chunks of about 1,085 rows each).
    """
    limits = dp.sandbox.Limits(seconds=30, constant_time=False)
    with dp.protect(adult, privacy_unit=dp.ROW, budget=PURE, ledger=":memory:") as session:
        made = session.release(
            ADULT.apply(mean_age, columns=["Age"], blocks=30, bounds=BOUNDS, default=0, limits=limits), epsilon=10
        )
        assert session.remaining().epsilon == 0
    assert abs(made.value - TRUTH) <= 13.1
    assert made.margin == pytest.approx(125 / 300 * math.log(20), rel=0.01)
