"""Functions that tests of the sandbox share are beside them; a Python of a test's own is here."""

import os
import subprocess
import sys
import venv
from collections.abc import Callable
from contextlib import suppress
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement

sys.path.insert(0, str(Path(__file__).parent))

SOURCE = Path(__file__).parents[2] / "src"


def _needed(distribution: str, found: set[str]) -> set[str]:
    """A distribution and what it depends on, by its own words, without extras."""
    if distribution not in found and (known := _known(distribution)):
        found.add(distribution)
        for line in known.requires or ():
            requirement = Requirement(line)
            if requirement.marker is None or requirement.marker.evaluate({"extra": ""}):
                _needed(requirement.name, found)
    return found


def _known(distribution: str) -> metadata.Distribution | None:
    with suppress(metadata.PackageNotFoundError):
        return metadata.distribution(distribution)
    return None


@pytest.fixture
def own_python(tmp_path: Path) -> Path:
    """A Python with what discreet depends on and nothing else, but for a package that leaves a file when imported."""
    venv.create(tmp_path / "own", with_pip=False)
    (packages,) = (tmp_path / "own").glob("lib/python*/site-packages")
    for distribution in _needed("discreet", set()) - {"discreet"}:
        known = metadata.distribution(distribution)
        for top in {file.parts[0] for file in known.files or ()} - {"..", "__pycache__"}:
            if not (packages / top).exists():
                (packages / top).symlink_to(Path(str(known.locate_file(top))))
    left = f"from pathlib import Path\nPath({str(tmp_path)!r}, 'left-by-' + __name__).touch()\npart = 1\n"
    (packages / "leaving").mkdir()
    for name in ("__init__", "__main__", "notes"):
        (packages / "leaving" / f"{name}.py").write_text(left, encoding="utf-8")
    return tmp_path / "own" / "bin" / "python"


@pytest.fixture
def printed(own_python: Path, tmp_path: Path) -> Callable[[str], str]:
    """What a script prints in that Python, with the discreet that is tested."""

    def run(code: str) -> str:
        ran = subprocess.run(
            [own_python, "-c", code],
            env=os.environ | {"PYTHONPATH": os.environ.get("PYTHONPATH", str(SOURCE))},
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=100,
            check=False,
        )
        assert ran.returncode == 0, ran.stderr
        return ran.stdout

    return run
