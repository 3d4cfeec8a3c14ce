"""What a task says about itself."""

from discreet.local import Task
from discreet.local.explanation import explanation


def test_an_explanation_says_why_what_error_and_when_not_to_use_the_local_model():
    task = Task.choose(domain=1024, epsilon=1, n=1_000_000, name="emoji", question="Which emoji?")
    text = explanation(task)
    assert str(task) == text == task.explain()
    for part in (
        "task emoji: Which emoji? (1,024 slots, epsilon 1)",
        "projective-geometry response, 33 bytes a report",
        "is 3.761; others: subset 3.674 (159 bytes, which do not fit)",
        "krr 347.1",
        "a standard deviation of 1,939",
        "fewer than 0.38% of clients",
        "1.4 (add/remove; 2.8 replace-one), 1,429 times less",
        "only where nobody may be trusted with sums",
    ):
        assert part in text


def test_an_explanation_of_sums_that_aggregators_open_has_the_central_error_and_the_guarantee_of_the_session():
    task = Task.choose(domain=1024, epsilon=1, n=1_000_000, trust="dap")
    text = str(task)
    for part in (
        "a count that a session opens with this epsilon has a standard deviation of 1.4 (add/remove; 2.8 replace-one)",
        "one aggregator is honest",
        "guarantee that of the session, for one report; for one client if max_reports is enforced",
        "dp.local.collection_of",
    ):
        assert part in text
    for part in ("1,939", "local model", "bytes a report", "others:"):
        assert part not in text
    assert task.expected_error == task.central_error()
    mean = Task.choose(domain={"low": 0, "high": 100, "steps": 100}, epsilon=1, n=1_000, trust="dap")
    assert "a mean of 1,000 reports that a session opens" in str(mean)


def test_an_explanation_of_a_mean_is_in_the_units_of_its_domain():
    text = str(Task.choose(domain={"low": 0, "high": 100, "steps": 256}, epsilon=1, n=1_000_000))
    assert "a mean, in squared half ranges, for each report, is 4.289; others: duchi 4.683" in text
    assert "a mean with a standard deviation of 0.104 at most" in text


def test_an_explanation_states_both_losses_and_the_bias_of_the_default():
    task = Task.choose(domain=100, epsilon=2, n=10**5, repeat="two_stage", epsilon_second=1, max_values=4)
    assert "loses 2 for each value, and a fresh stage 1 for each report; after 4 different values" in str(task)
    memoised = Task.choose(domain=100, epsilon=2, n=10**5, repeat="memoised")
    assert "show when its value changed" in str(memoised)
