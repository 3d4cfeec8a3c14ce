"""The comparison of three models of trust: its bounds hold, and simulated errors are those that theory expects."""

from fractions import Fraction

import pytest

import discreet as dp
from discreet.accounting import shuffling
from discreet.errors import ParameterError
from discreet.local.demo import compare_trust, local_epsilon

DELTA = Fraction(1, 10**6)


def test_the_epsilon_of_shuffled_reports_keeps_the_central_guarantee_and_a_larger_one_does_not():
    found = local_epsilon(epsilon=Fraction(1), delta=DELTA, reports=100_000)
    assert shuffling.delta(local_epsilon=found, reports=100_000, epsilon=1) <= DELTA
    assert shuffling.delta(local_epsilon=found + Fraction(1, 100), reports=100_000, epsilon=1) > DELTA


def test_without_amplification_reports_have_the_central_epsilon():
    assert local_epsilon(epsilon=Fraction(7, 3), delta=DELTA, reports=1) == Fraction(7, 3)


# Observed is a root mean square over 1,024 counts. Of the first and the third the counts are so many, and no count so
# frequent, that it is within 20% but with a chance below 1e-6; frequent values dominate the second one.
@pytest.mark.statistical(false_alarm=1e-6)
def test_simulated_errors_are_those_that_theory_expects(samples):
    found = compare_trust(clients=samples(200_000), size=1_024)
    local, shuffled, aggregated = found.errors
    assert local.observed == pytest.approx(local.expected, rel=0.2)
    assert aggregated.observed == pytest.approx(aggregated.expected, rel=0.4)
    assert shuffled.observed < 10 * shuffled.expected
    assert local.expected > 50 * shuffled.expected > 50 * aggregated.expected


def test_the_expected_errors_are_those_of_the_task_and_of_central_noise():
    found = compare_trust(clients=1_000_000)
    task = dp.local.Task.choose(domain=1_024, epsilon=1, n=1_000_000)
    assert found.errors[0].expected == pytest.approx(task.expected_error, rel=0.01)
    assert found.errors[2].expected == task.central_error("replace_one")


def test_the_text_and_the_plot_say_that_clients_are_simulated():
    found = compare_trust(clients=10_000, size=16)
    assert "simulated" in str(found)
    assert found.to_json()["is_simulated"] is True
    figure = found.plot()
    assert "simulated" in figure.get_label()
    assert len(figure.axes[0].patches) == 3


def test_more_clients_or_values_than_fit_are_refused():
    for wrong in ({"clients": 10**9}, {"size": 1}, {"size": 10**6}):
        with pytest.raises(ParameterError):
            compare_trust(**wrong)
