"""The full tier holds the fast one, the nightly tier what CI leaves out, and a tier that is late fails."""

from pathlib import Path

import pytest

import tiers

FILE = """
import pytest

@pytest.fixture
def spark():
    pass

def test_plain(): pass
@pytest.mark.timing
def test_timing(): pass
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
    pytester.makeini(f"[pytest]\npythonpath = {Path(tiers.__file__).parent}\nmarkers =\n  full\n  nightly\n  timing\n")
    pytester.makeconftest('pytest_plugins = ("tiers",)')
    pytester.makepyfile(FILE)
    return pytester


@pytest.mark.parametrize(("tier", "tests"), [("fast", 3), ("full", 6), ("nightly", 2)])
def test_full_holds_fast_servers_are_not_in_fast_and_nightly_holds_the_rest_and_timing(suite, tier, tests):
    suite.runpytest("--tier", tier).assert_outcomes(passed=tests, deselected=7 - tests)


def test_plain_pytest_selects_everything(suite):
    suite.runpytest().assert_outcomes(passed=7)


def test_a_tier_that_is_late_fails_and_says_so(suite, monkeypatch):
    monkeypatch.setitem(tiers.LIMITS, "fast", 0)
    result = suite.runpytest("--tier", "fast")
    result.assert_outcomes(passed=3, deselected=4)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(["TOO LATE: * of at most 0 s"])


def test_all_of_spark_is_one_unit_a_slow_test_is_one_and_other_tests_of_a_file_stay_together():
    slow = min(tiers.slow_tests())
    assert tiers.unit_of("tests/contracts/test_engines.py::test_a[spark]") == "spark"
    assert tiers.unit_of("tests/query/sql/test_golden.py::test_a[spark]") == "tests/query/sql/test_golden.py"
    assert tiers.unit_of(f"{slow}[1]") == f"{slow}[1]"
    assert tiers.unit_of("tests/test_tiers.py::test_b[1]") == "tests/test_tiers.py"


@pytest.mark.parametrize("file", tiers.SLOW_FIXTURES)
def test_slow_tests_that_share_a_slow_fixture_are_one_unit(file):
    alone = [name for name in tiers.slow_tests() if name.startswith(f"{file}::")]
    assert alone
    assert {tiers.unit_of(name) for name in alone} - {"spark"} == {file}


def test_files_with_many_tests_come_first(suite):
    suite.makepyfile(test_a="def test_one(): pass", test_z="def test_1(): pass\ndef test_2(): pass")
    result = suite.runpytest("--tier", "fast", "-v", "test_a.py", "test_z.py")
    ran = [line.partition("::")[0] for line in result.outlines if "PASSED" in line]
    assert ran == ["test_z.py", "test_z.py", "test_a.py"]


def test_slow_tests_are_there():
    """A renamed test would be in the fast tier again, whatever it takes."""
    root = Path(tiers.__file__).parent.parent
    for name in {*tiers.slow_tests(), *(each for each in tiers.OPENS_SPARK if "::" in each)}:
        file, _, function = name.partition("::")
        assert f"def {function.rpartition('::')[2]}(" in (root / file).read_text(encoding="utf-8"), name


LEMMA = """
import pytest

@pytest.mark.parametrize("engine", ["spark", "sqlite", "postgres"])
@pytest.mark.parametrize("how", ["add_remove", "replace_one"])
@pytest.mark.parametrize("bound", ["rows", "groups", "both", "none"])
def test_it_holds_on_every_engine(bound, how, engine): pass
"""


def test_lemmas_take_turns_between_engines_and_relations(suite):
    """Of both relations of each bound, one runs on SQLite and the other on PostgreSQL; of four bounds two on Spark."""
    folder = suite.mkpydir("tests").joinpath("guarantees")
    folder.mkdir()
    folder.joinpath("test_lemma.py").write_text(LEMMA)
    result = suite.runpytest("--tier", "full", "-v", "tests/guarantees")
    result.assert_outcomes(passed=10, deselected=14)
    kept = [line.partition("[")[2].partition("]")[0] for line in result.outlines if "PASSED" in line]
    assert sorted(kept) == [
        "both-add_remove-sqlite",
        "both-replace_one-postgres",
        "both-replace_one-spark",
        "groups-add_remove-postgres",
        "groups-replace_one-sqlite",
        "none-add_remove-postgres",
        "none-replace_one-sqlite",
        "rows-add_remove-spark",
        "rows-add_remove-sqlite",
        "rows-replace_one-postgres",
    ]
