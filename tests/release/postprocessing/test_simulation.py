"""Noise drawn again around a release tells how far a function of it moves."""

from dataclasses import replace

import pytest
from scipy.stats import binom

from discreet.errors import ParameterError, TypeMismatchError, UnsupportedError
from discreet.release.postprocessing.simulation import redrawn
from discreet.release.values.columns import OutputColumn
from released import NOISES, measured, noisy, release

FALSE_ALARM = 1e-6


@pytest.mark.statistical(false_alarm=1e-6)
@pytest.mark.parametrize("mechanism", NOISES)
def test_noise_is_drawn_again_with_the_size_it_had(mechanism, samples):
    """8,000 draws: a fifth is 8 deviations of the mean square of Laplace noise, and more of Gaussian noise."""
    many = samples(2_000)
    drawn = [step for steps in redrawn([measured([5, 5, 5, 5], mechanism)], {0}, many) for step in steps[0]]
    square = sum((step - 5) ** 2 for step in drawn) / len(drawn)
    assert square == pytest.approx(NOISES[mechanism].variance, rel=0.2)


@pytest.mark.statistical(false_alarm=1e-6)
def test_a_simulated_interval_of_a_total_is_near_the_proved_one(samples):
    """2,000 draws: a fifth is over 7 deviations of the interval's width, 15% are 8 of the deviation that is told."""
    made = release([1000, 2000, 3000, 4000])
    simulated, proved = made.simulate(lambda r: sum(r["n"]), draws=samples(2_000)), made.total("n")
    assert simulated.value == proved.value
    assert simulated.high - simulated.low == pytest.approx(proved.high - proved.low, rel=0.2)
    assert simulated.deviation == pytest.approx(2 * NOISES["discrete Laplace"].standard_deviation, rel=0.15)


@pytest.mark.statistical(false_alarm=1e-6)
def test_a_difference_of_two_groups_is_covered_about_as_often_as_it_says(samples):
    """400 releases of 200 draws each, which makes the 95% just above 94%. False alarm: below 1e-6."""
    truth, inside, many = (400, 300, 200, 100), 0, samples(400)
    for _ in range(many):
        found = release(noisy(truth)).simulate(lambda r: r["n"][0] - r["n"][1], draws=200)
        inside += found.low <= 100 <= found.high
    assert inside >= binom.ppf(FALSE_ALARM, many, 0.94)


def test_the_bias_of_the_largest_of_many_is_told():
    simulated = release([100] * 4).simulate(lambda r: max(r["n"]), draws=500)
    assert simulated.bias > 5
    assert simulated.high < 100 + simulated.bias + 40
    assert f"{simulated.bias:,.3g}" in str(simulated)


def test_means_are_computed_again_and_stay_in_their_bounds():
    made = release([1000, 2000, 3000, 4000], [50_000, 60_000, 90_000, 80_000])
    without = replace(made, outputs=made.outputs[:3])
    assert without.simulate(lambda r: r["mean"][0], draws=100).value == 50
    with pytest.raises(UnsupportedError, match="median"):
        made.simulate(lambda r: r["n"][0], draws=10)


def test_other_noise_is_not_drawn_and_one_draw_is_too_few():
    made = release([1, 2, 3, 4])
    with pytest.raises(UnsupportedError, match="drawn again"):
        replace(made, measured=(replace(made.measured[0], mechanism="other"),)).simulate(lambda r: r["n"][0])
    with pytest.raises(ParameterError, match="draws=1"):
        made.simulate(lambda r: r["n"][0], draws=1)


def test_it_says_that_it_takes_the_noisy_answers_for_the_truth():
    simulated = release([1, 2, 3, 4], private=False).simulate(lambda r: r["n"][0], draws=20)
    assert str(simulated).startswith("NOT PRIVATE")
    assert "taken as if they were the truth" in simulated._repr_html_()
    assert float(simulated) == 1.0


def test_what_is_known_without_noise_stays_as_it_is():
    made = release([100, 200, 300, 400])
    bound = OutputColumn("high", "upper bound", (64,) * 4, (0,) * 4)
    scale = measured([3, 9], mechanism="discrete Laplace", places="bounds")
    both = replace(made, outputs=(*made.outputs, bound), measured=(*made.measured, scale))
    simulated = both.simulate(lambda r: r["high"][0], draws=20)
    assert (simulated.low, simulated.value, simulated.high) == (64, 64, 64)
    assert both.simultaneous().margin("high") == (0,) * 4


@pytest.mark.parametrize("function", [5, None, "n", (1, 2)])
def test_what_cannot_be_asked_is_refused(function):
    with pytest.raises(TypeMismatchError, match="must be a function"):
        release([1, 2, 3, 4]).simulate(function)


@pytest.mark.parametrize("answer", [None, (1, 2), "many", float("nan"), float("inf"), 10**400])
def test_a_function_that_gives_no_finite_number_is_refused(answer):
    with pytest.raises(ParameterError, match="a function whose answer is"):
        release([1, 2, 3, 4]).simulate(lambda _: answer)


def test_an_answer_that_only_some_draws_lack_is_refused_too():
    made = release([0, 2, 3, 4])
    with pytest.raises(ParameterError, match="answer is nan"):
        made.simulate(lambda r: float("nan") if r["n"][0] < 0 else 1.0, draws=200)


def test_outputs_that_can_be_drawn_again_are_simulated_beside_one_that_cannot():
    made = release([1000, 2000, 3000, 4000], [50_000, 60_000, 90_000, 80_000])
    with pytest.raises(UnsupportedError, match=r"outputs=\['n', 'total', 'mean'\]"):
        made.simulate(lambda r: r["n"][0], draws=10)
    assert made.simulate(lambda r: r["n"][0], draws=10, outputs=["n"]).value == 1000
    with pytest.raises(ParameterError, match="no output of that name"):
        made.simulate(lambda r: r["total"][0], draws=10, outputs="n")
