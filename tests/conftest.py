"""Every test has a home of its own, real scripts in it, real servers, and the shared data if it is there."""

import itertools
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from clocks import ABSENT, clock_library
from draws import Recorder
from servers import PostgresServer, postgres_binaries, start_spark

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytest_plugins = ("pytester", "retries", "tiers")

SHARED = Path(__file__).resolve().parents[2] / "shared" / "data"

# Tests ask small questions: the second compiler and a concurrent collector cost half of the time. All that start a
# Spark have this, also those in a process of its own, and the process that finds out how to start it.
QUICK_JVM = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
os.environ |= {"SPARK_SUBMIT_OPTS": QUICK_JVM, "SPARK_LAUNCHER_OPTS": QUICK_JVM}

Script = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="session")
def homes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Directories that are not there yet, numbered here: pytest looks through all earlier ones for the next number."""
    place = tmp_path_factory.mktemp("homes")
    return (place / str(number) for number in itertools.count())


@pytest.fixture(autouse=True)
def discreet_home(homes: Iterator[Path], monkeypatch: pytest.MonkeyPatch) -> Path:
    """No test sees the ledger of another one, or of the person who runs the tests."""
    home = next(homes)
    home.mkdir(mode=0o700)
    monkeypatch.setenv("DISCREET_HOME", str(home))
    return home


@pytest.fixture
def draws(monkeypatch: pytest.MonkeyPatch) -> Recorder:
    """Samplers that record what they are called with, in the place of random ones."""
    return Recorder(monkeypatch)


@pytest.fixture
def script(discreet_home: Path, tmp_path: Path) -> Script:
    """Run Python code as a file of its own in another process, with the same home."""

    def run(code: str, *arguments: object, **environment: str) -> subprocess.CompletedProcess[str]:
        path = tmp_path / "script.py"
        path.write_text(code, encoding="utf-8")
        return subprocess.run(
            [sys.executable, path, *map(str, arguments)],
            env=os.environ | {"DISCREET_HOME": str(discreet_home)} | environment,
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )

    return run


def _absent(reason: str) -> None:
    """Skip where a person lacks the software; fail where CI, which installs it, does."""
    (pytest.fail if os.environ.get("CI") else pytest.skip)(reason)


@pytest.fixture(scope="session")
def postgres_installed() -> None:
    """For tests that start PostgreSQL in their own way."""
    if postgres_binaries() is None:
        _absent("no PostgreSQL server is installed: apt-get install postgresql (scripts/setup does it)")


@pytest.fixture(scope="session")
def postgres(postgres_installed: None) -> Iterator[PostgresServer]:
    """A PostgreSQL of this worker's own; tests load the tables they need, each under its own name."""
    with PostgresServer() as server:
        yield server


@pytest.fixture(scope="module")
def durable_postgres(postgres_installed: None) -> Iterator[PostgresServer]:
    """A PostgreSQL of one module's own that keeps what it acknowledged; a test that harms it leaves it running."""
    with PostgresServer(durable=True) as server:
        yield server


@pytest.fixture(scope="session")
def other_clocks() -> None:
    """For tests that put a process under another clock."""
    if clock_library() is None:
        _absent(ABSENT)


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator["SparkSession"]:
    """A local Spark of this worker's own."""
    if shutil.which("java") is None:
        _absent("Spark needs Java 17: apt-get install openjdk-17-jre-headless (scripts/setup does it)")
    session = start_spark(tmp_path_factory.mktemp("spark"))
    yield session
    session.stop()


@pytest.fixture(scope="session")
def adult() -> Path:
    """The UCI Adult census data, which the repository does not copy."""
    path = SHARED / "adult.csv"
    if not path.is_file():
        pytest.skip("the shared data is not beside the repository: ../shared/data/adult.csv")
    return path
