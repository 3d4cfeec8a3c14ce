"""What may fail by chance is run again with four times the samples; what is exact is not; all rates are stated."""

from pathlib import Path

import pytest

import retries

LARGEST_TOTAL = 1e-6


@pytest.fixture
def suite(pytester: pytest.Pytester) -> pytest.Pytester:
    """A small suite of its own, with the same plugin."""
    pytester.makeini(f"[pytest]\npythonpath = {Path(retries.__file__).parent}\nmarkers =\n  statistical\n  timing\n")
    pytester.makeconftest('pytest_plugins = ("retries",)')
    return pytester


def test_a_run_of_this_suite_fails_by_chance_less_than_once_in_a_million(request):
    assert request.config.stash[retries.TOTAL] < LARGEST_TOTAL


def test_a_statistical_test_is_run_again_with_four_times_the_samples_and_both_results_are_printed(suite):
    suite.makepyfile("""
        import pytest
        @pytest.mark.statistical(false_alarm=1e-6)
        def test_luck(samples): assert samples(10) == 40
    """)
    result = suite.runpytest()
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["statistical test run again: *test_luck: the first time: assert 10 == 40*passed"])


def test_a_broken_mechanism_fails_both_runs(suite):
    suite.makepyfile("""
        import pytest
        @pytest.mark.statistical(false_alarm=1e-6)
        def test_broken(samples): assert samples(10) == 0
    """)
    result = suite.runpytest()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*assert 40 == 0*", "*a statistical test that failed twice; *assert 10 == 0*"])


def test_a_timing_test_is_run_again_once_and_an_exact_test_never(suite):
    suite.makepyfile("""
        import itertools, pytest
        exact, timing = itertools.count(), itertools.count()
        @pytest.mark.timing
        def test_slow_once(): assert next(timing) == 1
        def test_exact(): assert next(exact) == 1
    """)
    suite.runpytest().assert_outcomes(passed=1, failed=1)


@pytest.mark.parametrize("mark", ["", "1e-6", "false_alarm=0", "false_alarm=0.01", "false_alarm=1e-6, miss=0.1"])
def test_a_statistical_test_states_a_small_rate(suite, mark):
    suite.makepyfile(f"import pytest\n@pytest.mark.statistical({mark})\ndef test_luck(samples): pass")
    result = suite.runpytest()
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*statistical(false_alarm=p) with p at most*"])


def test_a_statistical_test_takes_its_samples_from_the_fixture(suite):
    suite.makepyfile("import pytest\n@pytest.mark.statistical(false_alarm=1e-6)\ndef test_luck(): pass")
    result = suite.runpytest()
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*takes its numbers of samples from `samples`"])
