"""Three tiers of tests with a time limit each: fast, full, nightly.

`scripts/test` runs the fast tier, `scripts/test --full` what CI runs, `scripts/test --nightly` everything, by hand. A
tier holds the tiers before it. A test is in the fast tier unless it is marked `full` or `nightly` or needs a server:
what asks PostgreSQL or Spark is in the full tier without a mark. A tier that takes longer than its limit fails. Plain
`pytest` selects everything and has no limit.
"""

import time
from collections import Counter
from collections.abc import Iterator
from pathlib import PurePosixPath

import pytest

TIERS = ("fast", "full", "nightly")
# The goal of the full tier is 25 minutes; it is not reached yet (CONTRIBUTING.md).
LIMITS = {"fast": 8 * 60, "full": 60 * 60, "nightly": 180 * 60}
SERVERS = {"postgres", "spark"}
SERVER_FIXTURES = {"postgres_installed", "spark"}
SHOWN = 12


def pytest_addoption(parser: pytest.Parser) -> None:
    """The option that `scripts/test` gives."""
    parser.addoption("--tier", choices=TIERS, help="run the tests of this tier and the ones before, within its limit")


def tier_of(item: pytest.Item) -> str:
    """The first tier that a test is in."""
    if item.get_closest_marker("nightly"):
        return "nightly"
    return "full" if item.get_closest_marker("full") or needs_server(item) else "fast"


def needs_server(item: pytest.Item) -> bool:
    """Whether a test starts PostgreSQL or Spark, by a fixture or by the engine that it is given."""
    given = getattr(item, "callspec", None)
    engines = {value for value in given.params.values() if isinstance(value, str)} if given else set()
    return bool(SERVERS & engines or SERVER_FIXTURES & set(getattr(item, "fixturenames", ())))


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what belongs to a later tier."""
    tier = config.getoption("tier")
    if tier is None:
        return
    places = {item: TIERS.index(tier_of(item)) <= TIERS.index(tier) for item in items}
    config.hook.pytest_deselected(items=[item for item, is_in in places.items() if not is_in])
    items[:] = [item for item, is_in in places.items() if is_in]


class Clock:
    """How long the run takes, and which files take it; in the process that a person started."""

    def __init__(self, tier: str, limit: float) -> None:
        self.tier, self.limit = tier, limit
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
        if self.is_late and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED
        return (yield)

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
        config.pluginmanager.register(Clock(tier, LIMITS[tier]), "clock of the tier")
