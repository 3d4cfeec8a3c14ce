"""Each tier holds the ones before it, servers are not in the fast one, and a tier that is late fails."""

from pathlib import Path

import pytest

import tiers

FILE = """
import pytest

@pytest.fixture
def spark():
    pass

def test_plain(): pass
@pytest.mark.full
def test_full(): pass
@pytest.mark.nightly
def test_nightly(): pass
def test_a_fixture(spark): pass
@pytest.mark.parametrize("engine", ["duckdb", "postgres"])
def test_engines(engine): pass
"""


@pytest.fixture
def suite(pytester: pytest.Pytester) -> pytest.Pytester:
    """A small suite of its own, with the same plugin."""
    pytester.makeini(f"[pytest]\npythonpath = {Path(tiers.__file__).parent}\nmarkers =\n  full\n  nightly\n")
    pytester.makeconftest('pytest_plugins = ("tiers",)')
    pytester.makepyfile(FILE)
    return pytester


@pytest.mark.parametrize(("tier", "tests"), [("fast", 2), ("full", 5), ("nightly", 6)])
def test_a_tier_holds_the_ones_before_it_and_servers_are_not_in_the_fast_one(suite, tier, tests):
    suite.runpytest("--tier", tier).assert_outcomes(passed=tests, deselected=6 - tests)


def test_plain_pytest_selects_everything(suite):
    suite.runpytest().assert_outcomes(passed=6)


def test_a_tier_that_is_late_fails_and_says_so(suite, monkeypatch):
    monkeypatch.setitem(tiers.LIMITS, "fast", 0)
    result = suite.runpytest("--tier", "fast")
    result.assert_outcomes(passed=2, deselected=4)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(["TOO LATE: * of at most 0 s"])


def test_all_of_spark_is_one_unit_a_slow_test_is_one_and_other_tests_of_a_file_stay_together():
    slow = min(tiers.slow_tests())
    assert tiers.unit_of("tests/contracts/test_engines.py::test_a[spark]") == "spark"
    assert tiers.unit_of(f"{slow}[1]") == f"{slow}[1]"
    assert tiers.unit_of("tests/test_tiers.py::test_b[1]") == "tests/test_tiers.py"


def test_slow_tests_are_there():
    """A renamed test would be in the fast tier again, whatever it takes."""
    root = Path(tiers.__file__).parent.parent
    for name in tiers.slow_tests():
        file, _, function = name.partition("::")
        assert f"def {function.rpartition('::')[2]}(" in (root / file).read_text(encoding="utf-8"), name
