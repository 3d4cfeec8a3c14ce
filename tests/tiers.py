"""Three tiers of tests with a time limit each: fast, full, nightly.

`scripts/test` runs the fast tier, `scripts/test --full` what CI runs, which holds the fast tier, and
`scripts/test --nightly` what CI leaves out, by hand: tests marked `nightly`, and those marked `timing` again on one
worker. A test is in the fast tier unless it is marked `full` or `nightly`, needs a server or is slow: what asks
PostgreSQL or Spark, and what `slow_tests.txt` names, is in the full tier without a mark. A tier that takes longer than
its limit fails. Plain `pytest` selects everything and has no limit.

`scripts/test --full --write-slow` writes `slow_tests.txt` anew: functions whose tests take 3 seconds or more together,
on workers that share two cores. Lemmas and contracts of engines are not listed, whatever they take.

Left to the nightly tier are cases that prove on another engine what others prove there too. A case on Spark takes 3
seconds of two cores, ten times what it takes elsewhere, so one in six cases of a contract runs there, and every second
one of random tables and of stored values. Lemmas hold on DuckDB in all cases. Each of them runs also on PostgreSQL or
SQLite, and a quarter on Spark, half of it for each relation. Also nightly are slow tests of nothing but speed.

Workers take tests in units: all of Spark on one worker, so that one JVM starts and warms up, then each slow test and
each case of a lemma or contract by itself, then the other tests of a file together, for the fixtures that they share;
files with many tests first, so that no worker ends long after the others. Slow tests of files whose fixtures are slow
themselves stay together.
"""

import gc
import time
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path, PurePosixPath
from typing import Any

import pytest
from xdist.scheduler import LoadScopeScheduling

TIERS = ("fast", "full", "nightly")
# The goal of the full tier is 25 minutes; it is not reached yet (CONTRIBUTING.md).
LIMITS = {"fast": 8 * 60, "full": 60 * 60, "nightly": 180 * 60}
SERVERS = {"postgres", "spark"}
SERVER_FIXTURES = {"postgres_installed", "spark"}
SHOWN = 12
SLOW_TESTS = Path(__file__).parent / "slow_tests.txt"
SLOW_SECONDS = 3.0
SHARES = {
    ("tests/anonymity/", "spark"): (2, {0}),
    ("tests/contracts/", "spark"): (6, {0}),
    ("tests/engines/test_same_value", "spark"): (2, {0}),
    ("tests/guarantees/", "spark"): (8, {0, 5}),
    ("tests/guarantees/", "sqlite"): (4, {0, 3}),
    ("tests/guarantees/", "postgres"): (4, {1, 2}),
}
"""Of so many cases of one test on an engine, those of the full tier. A lemma has two relations for each bound."""
OPENS_SPARK = (
    "tests/engines/test_marginal_tables.py::test_rows_of_a_unit_are_the_same_on_every_engine",
    "tests/guarantees/test_engines_agree.py",
    "tests/guarantees/test_joins_agree.py",
    "tests/guarantees/test_unknown_keys.py::test_keys_are_equal_on_every_engine_and_of_their_declared_types",
)
"""Tests that ask Spark among others and do not say so by their name: elsewhere they would start a JVM of their own."""
NAMES_SPARK = "tests/query/"  # statements in the SQL of Spark, which nothing runs
LEMMAS, EVERYWHERE = "tests/guarantees/test_lemma", "on_every_engine"
UNITS_OF_ONE_TEST = (LEMMAS, "tests/contracts/")
SLOW_FIXTURES = (
    "tests/cli/test_ledger.py",
    "tests/cli/test_materialise.py",
    "tests/ledger/stores/test_postgres.py",
    "tests/ledger/test_crashes.py",
    "tests/plan/test_fingerprint.py",
    "tests/test_servers.py",
)
"""Files whose slow tests share a server or a copy of the library: each worker would make one."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """The option that `scripts/test` gives."""
    parser.addoption("--tier", choices=TIERS, help="run the tests of this tier, within its limit")
    parser.addoption("--write-slow", action="store_true", help="write tests/slow_tests.txt from the times of this run")


def tier_of(item: pytest.Item) -> str:
    """The first tier that a test is in."""
    if item.get_closest_marker("nightly"):
        return "nightly"
    return "full" if item.get_closest_marker("full") or needs_server(item) or is_slow(item) else "fast"


@cache
def slow_tests() -> frozenset[str]:
    """The names in `slow_tests.txt`."""
    return frozenset(SLOW_TESTS.read_text(encoding="utf-8").split())


def is_slow(item: pytest.Item) -> bool:
    """Whether `slow_tests.txt` names a test."""
    return function_of(item.nodeid) in slow_tests()


def function_of(nodeid: str) -> str:
    """The file and the name of a test function, without parameters."""
    return nodeid.partition("[")[0]


def needs_server(item: pytest.Item) -> bool:
    """Whether a test starts PostgreSQL or Spark, by a fixture or by the engine that it is given."""
    fixtures = SERVER_FIXTURES & set(getattr(item, "fixturenames", ()))
    return bool(SERVERS & _engines(item) or fixtures) or item.nodeid.startswith(OPENS_SPARK)


def _engines(item: pytest.Item) -> set[str]:
    given = getattr(item, "callspec", None)
    return {value for value in given.params.values() if isinstance(value, str)} if given else set()


def _thin_out(items: list[pytest.Item]) -> None:
    """Of many cases that prove the same on one engine, leave most to the nightly tier."""
    cases: Counter[tuple[str, str]] = Counter()
    for item in items:
        function = function_of(item.nodeid)
        for (folder, engine), (every, share) in SHARES.items():
            if function.startswith(folder) and _is_many(function) and engine in _engines(item):
                if cases[function, engine] % every not in share:
                    item.add_marker("nightly")
                cases[function, engine] += 1


def _is_many(function: str) -> bool:
    """Whether the cases of a test prove one thing: all but those of guarantees that are no lemmas."""
    return not function.startswith("tests/guarantees/") or function.startswith(LEMMAS) or function.endswith(EVERYWHERE)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Collect without looking for garbage: 25,000 tests are none, and looking is a sixth of the time.

    They are never looked at again: with 1.7 million objects one full collection takes 0.6 s.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what belongs to a later tier, and put what takes longest first."""
    tier = config.getoption("tier")
    if tier is not None:
        _thin_out(items)
        _select(config, items, tier)
        sizes = Counter(unit_of(item.nodeid) for item in items)
        items.sort(key=lambda item: (_urgency(item.nodeid), -sizes[unit_of(item.nodeid)]))


def unit_of(nodeid: str) -> str:
    """The unit that a worker takes a test with: Spark, the test itself where it is slow, or its file."""
    if nodeid.startswith(OPENS_SPARK) or ("spark" in nodeid.lower() and not nodeid.startswith(NAMES_SPARK)):
        return "spark"
    is_alone = function_of(nodeid) in slow_tests() or nodeid.startswith(UNITS_OF_ONE_TEST)
    file = nodeid.partition("::")[0]
    return nodeid if is_alone and file not in SLOW_FIXTURES else file


def _urgency(nodeid: str) -> int:
    unit = unit_of(nodeid)
    return 0 if unit == "spark" else 1 if unit == nodeid or unit in SLOW_FIXTURES else 2


class Units(LoadScopeScheduling):
    """Hands whole units to workers, in the order of the tests."""

    def _split_scope(self, nodeid: str) -> str:
        return unit_of(nodeid)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Units | None:
    """Schedule a tier by units."""
    return None if config.getoption("tier") is None else Units(config, log)


def _select(config: pytest.Config, items: list[pytest.Item], tier: str) -> None:
    places = {item: _is_in(item, tier) for item in items}
    config.hook.pytest_deselected(items=[item for item, is_in in places.items() if not is_in])
    items[:] = [item for item, is_in in places.items() if is_in]


def _is_in(item: pytest.Item, tier: str) -> bool:
    if tier == "nightly":
        return tier_of(item) == tier or item.get_closest_marker("timing") is not None
    return TIERS.index(tier_of(item)) <= TIERS.index(tier)


class Clock:
    """How long the run takes, and which files take it; in the process that a person started."""

    def __init__(self, tier: str, limit: float, *, writes_slow: bool = False) -> None:
        self.tier, self.limit, self._writes_slow = tier, limit, writes_slow
        self._start = time.monotonic()
        self._taken: Counter[str] = Counter()
        self._tests: Counter[str] = Counter()

    @property
    def is_late(self) -> bool:
        """Whether the limit has passed."""
        return time.monotonic() - self._start > self.limit

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Add up what each file and each test takes, fixtures included."""
        self._taken[report.nodeid.partition("::")[0]] += report.duration
        self._tests[report.nodeid] += report.duration

    @pytest.hookimpl(wrapper=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> Iterator[None]:
        """Fail a run that is late."""
        if self._writes_slow:
            self._write_slow()
        if self.is_late and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED
        return (yield)

    def _write_slow(self) -> None:
        functions: Counter[str] = Counter()
        for nodeid, seconds in self._tests.items():
            functions[function_of(nodeid)] += seconds
        slow = [name for name, seconds in functions.items() if seconds >= SLOW_SECONDS]
        names = sorted(name for name in slow if not name.startswith(UNITS_OF_ONE_TEST))
        SLOW_TESTS.write_text("\n".join(names) + "\n", encoding="utf-8")

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Folders, files and tests that take longest, and the limit."""
        folders: Counter[str] = Counter()
        for path, seconds in self._taken.items():
            folders["/".join(PurePosixPath(path).parts[:2])] += seconds
        terminalreporter.section(f"time of the {self.tier} tier")
        for taken, shown in ((folders, SHOWN), (self._taken, 2 * SHOWN), (self._tests, 2 * SHOWN)):
            for path, seconds in taken.most_common(shown):
                terminalreporter.write_line(f"{seconds:8.1f} s  {path}")
        spent = f"{time.monotonic() - self._start:.0f} s of at most {self.limit:.0f} s"
        terminalreporter.write_line(f"{'TOO LATE: ' if self.is_late else ''}{spent}")


def pytest_configure(config: pytest.Config) -> None:
    """The clock runs in the controller only, not in its workers."""
    tier = config.getoption("tier")
    if tier is not None and not hasattr(config, "workerinput"):
        clock = Clock(tier, LIMITS[tier], writes_slow=config.getoption("write_slow"))
        config.pluginmanager.register(clock, "clock of the tier")
