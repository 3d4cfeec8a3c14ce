"""Tests that may fail by chance, and how often: `statistical` and `timing`. All other tests are exact.

A test marked `statistical(false_alarm=p)` fails with probability at most p although the code is right. Where it fails,
it is run once more with four times the samples, which it gets from the fixture `samples`; both results are printed, and
it fails where both do: with probability at most p squared. The code is at fault where both fail. A test marked `timing`
compares durations within one run. It is run once more where it fails, and named apart from the others.
"""

from collections.abc import Iterator
from typing import Any

import pytest

LARGEST_RATE = 1e-4
MORE = 4
TOTAL = pytest.StashKey[float]()


class Samples:
    """How many samples to draw: the number that a test states, or four times as many when it is run again."""

    factor = 1

    def __call__(self, number: int) -> int:
        return self.factor * number


@pytest.fixture
def samples() -> Samples:
    """`samples(2_000)` is 2,000, and 8,000 when the test is run again."""
    return Samples()


def rate_of(item: pytest.Item) -> float | None:
    """The stated false-alarm rate of one run of a test; none where it is exact."""
    mark = item.get_closest_marker("statistical")
    if mark is None:
        return None
    rate = mark.kwargs.get("false_alarm")
    if mark.args or set(mark.kwargs) != {"false_alarm"} or not 0 < rate <= LARGEST_RATE:
        raise pytest.UsageError(f"{item.nodeid}: statistical(false_alarm=p) with p at most {LARGEST_RATE}")
    if "samples" not in getattr(item, "fixturenames", ()):
        raise pytest.UsageError(f"{item.nodeid}: a statistical test takes its numbers of samples from `samples`")
    return float(rate)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Add up how often a run fails by chance, after the retries."""
    config.stash[TOTAL] = sum(rate**2 for rate in map(rate_of, items) if rate is not None)


@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> Iterator[None]:
    """Run a test that failed once more, if it may fail by chance."""
    try:
        return (yield)
    except AssertionError as first:
        kind = next((word for word in ("statistical", "timing") if pyfuncitem.get_closest_marker(word)), None)
        if kind is None:
            raise
        _run_again(pyfuncitem, kind, str(first).partition("\n")[0])
        return True


def _run_again(item: pytest.Function, kind: str, first: str) -> None:
    arguments: dict[str, Any] = {name: item.funcargs[name] for name in item._fixtureinfo.argnames}
    if kind == "statistical":
        arguments.get("samples", item.funcargs["samples"]).factor = MORE
    try:
        item.obj(**arguments)
    except AssertionError as second:
        second.add_note(f"a {kind} test that failed twice; the first time: {first}")
        raise
    item.user_properties.append((f"{kind} test run again", f"the first time: {first}; the second time: passed"))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Tests that passed at the second try."""
    for report in terminalreporter.getreports("passed"):
        for kind, text in report.user_properties:
            if kind.endswith("test run again"):
                terminalreporter.write_line(f"{kind}: {report.nodeid}: {text}")
