"""Shuffled tasks: what is claimed, and every condition under which nothing is."""

import itertools
from fractions import Fraction

import pytest

import discreet as dp
from discreet.accounting import shuffling
from discreet.errors import AccountingError, ParameterError
from discreet.exact.rounding import exp_down

ORACLE = dp.local.oracles.KaryResponse.two_coin()


def _task(**facts):
    return dp.local.Task(dp.local.SlotDomain(size=2), "1.0987", ORACLE, **{"trust": "shuffle"} | facts)


def _event(task=None, **facts):
    stated = {"honest_reports": 10_000, "reports_per_client": 1, "delta": 1e-6} | facts
    return dp.local.shuffled_event(_task() if task is None else task, **stated)


@pytest.mark.guarantee("local.amplification")
@pytest.mark.parametrize("n", [2, 6, 12])
def test_the_claim_is_never_below_what_reports_in_random_order_reveal(n):
    """By enumeration over the values of the others: two coins, so a report is kept three times in four."""
    true, false = Fraction(3, 4), Fraction(1, 4)

    def law(ones):
        """Of the number of ones among the reports."""
        chances = [Fraction(1)]
        for one in [true] * ones + [false] * (n - ones):
            pairs = itertools.zip_longest([*chances, 0], [0, *chances], fillvalue=Fraction(0))
            chances = [stay * (1 - one) + move * one for stay, move in pairs]
        return chances

    for delta in (Fraction(1, 10), Fraction(1, 1000)):
        event = _event(honest_reports=n, delta=delta)
        factor = exp_down(event.epsilon)
        for ones in range(n):
            for first, second in ((law(ones), law(ones + 1)), (law(ones + 1), law(ones))):
                revealed = sum(max(Fraction(0), a - factor * b) for a, b in zip(first, second, strict=True))
                assert revealed <= delta


@pytest.mark.guarantee("local.amplification")
def test_the_epsilon_is_the_bound_for_the_loss_of_the_oracle():
    event = _event()
    assert event == dp.events.ApproximateEvent(
        shuffling.epsilon(local_epsilon=ORACLE.epsilon, reports=10_000, delta=1e-6), Fraction(1, 10**6)
    )
    assert event.epsilon < Fraction(7, 100)
    assert _event(honest_reports=1).epsilon <= ORACLE.epsilon
    assert _event(honest_reports=100).epsilon > _event(honest_reports=1_000).epsilon > event.epsilon


@pytest.mark.parametrize(
    ("facts", "because"),
    [
        ({"trust": "local"}, "not declared to pass a shuffler"),
        ({"trust": "dap"}, "not declared to pass a shuffler"),
        ({"repeat": "memoised", "max_values": 4}, "links the reports of a client"),
        ({"repeat": "two_stage", "second": {"ratio": [3, 1]}, "epsilon_second": "1.0987"}, "links the reports"),
    ],
)
def test_other_tasks_keep_their_local_guarantee_alone(facts, because):
    with pytest.raises(AccountingError, match=because):
        _event(_task(**facts))


def test_several_reports_of_a_client_in_one_batch_are_not_covered():
    with pytest.raises(AccountingError, match="replacement of one report"):
        _event(reports_per_client=2)


@pytest.mark.pitfall("B8")
@pytest.mark.guarantee("local.amplification")
@pytest.mark.parametrize(
    ("cohorts", "reports", "honest", "instead"),
    [
        (1, 100, 101, "honest_reports=100"),
        (1, 100, 10**9, "honest_reports=100"),
        (7, 100, 15, "honest_reports=14"),
        (65_536, 10_000, 10_000, "a task with cohorts=1"),
        (65_536, 10_000, 1, "a task with cohorts=1"),
    ],
)
def test_no_more_honest_reports_are_claimed_than_the_task_expects_in_all_cohorts(cohorts, reports, honest, instead):
    task = _task(cohorts=cohorts, reports=reports)
    with pytest.raises(AccountingError, match="reports in all") as refused:
        _event(task, honest_reports=honest)
    assert instead in refused.value.instead
    least = reports // cohorts
    if least:
        assert _event(task, honest_reports=least).epsilon <= ORACLE.epsilon
    else:
        assert _event(_task(reports=reports), honest_reports=honest).epsilon <= ORACLE.epsilon


def test_more_reports_than_expected_are_refused_before_anything_else():
    with pytest.raises(AccountingError, match="reports in all"):
        _event(_task(trust="local", reports=9), honest_reports=10, reports_per_client=2)


@pytest.mark.parametrize("facts", [{"honest_reports": 0}, {"delta": 0}, {"honest_reports": 2.5}])
def test_numbers_outside_their_range_are_refused(facts):
    with pytest.raises(ParameterError):
        _event(**facts)
