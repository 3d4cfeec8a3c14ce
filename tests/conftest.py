"""Every test has a home of its own, a way to run a real script in it, and the shared data where it is there."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

SHARED = Path(__file__).resolve().parents[2] / "shared" / "data"

Script = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(autouse=True)
def discreet_home(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """No test sees the ledger of another one, or of the person who runs the tests."""
    home = tmp_path_factory.mktemp("home")
    home.chmod(0o700)
    monkeypatch.setenv("DISCREET_HOME", str(home))
    return home


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
            timeout=120,
            check=False,
        )

    return run


@pytest.fixture(scope="session")
def adult() -> Path:
    """The UCI Adult census data, which the repository does not copy."""
    path = SHARED / "adult.csv"
    if not path.is_file():
        pytest.skip("the shared data is not beside the repository: ../shared/data/adult.csv")
    return path
