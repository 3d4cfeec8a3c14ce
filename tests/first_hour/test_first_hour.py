"""The first hour: what people type first works, or is refused with advice that works when it is pasted.

The wheel is built once and installed by pip, by itself, into an environment that has nothing else. Two more stand on
it: one with pandas, and one with a Jupyter kernel without ipywidgets, in which DuckDB takes no setting of its progress
bar. The other Pythons that pyproject.toml names get the wheel too, where they are found: the README's query, `discreet
doctor` and some of the lines.
"""

import doctest
import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
import venv
from pathlib import Path

import pytest

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
sys.path.insert(0, str(HERE))

from lines import LINES, WITH_PANDAS, WITHOUT_PANDAS  # noqa: E402 - beside this file, as the environments find it

OWN = f"{sys.version_info.major}.{sys.version_info.minor}"
CLASSIFIERS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["classifiers"]
OTHERS = [version for version in re.findall(r"Python :: (3\.\d+)", "\n".join(CLASSIFIERS)) if version != OWN]

LARGEST_INSTALL = 400
"""Megabytes of a plain install."""

KERNEL = [
    "import importlib.util\nimport discreet as dp\nprint(importlib.util.find_spec('ipywidgets'), dp.__file__)",
    (
        'session = dp.protect(dp.datasets.visits(60, seed=1), name="visits", privacy_unit="patient_id", max_rows=10, '
        "budget=dp.Budget(epsilon=2))\nsession"
    ),
    'session.release(dp.table("visits").agg(n=dp.count()), epsilon=0.5)',
    'dp.protect("visits.csv", epsilon=1)',
    (
        f"import json, sys\nsys.path.insert(0, {str(HERE)!r})\nimport reader\n"
        f"print(json.dumps(reader.read({list(LINES)[:12]!r})))"
    ),
]


def _failed(lines: dict[str, str], reports: list[dict[str, str]]) -> list[str]:
    """The lines that were met with something else, or with advice that does not work."""
    failed = []
    for (line, expected), report in zip(lines.items(), reports, strict=True):
        met = report["met"]
        if met != expected or (met != "works" and not report["pasted"]):
            failed.append(f">>> {line}\n{met}, not {expected}: {report['text']}\ntried: {report.get('tried')}")
    return failed


def _printed(command: list[object], given: str, place: Path) -> str:
    """What a command prints in an environment that sees nothing of this one."""
    hidden = ("PYTHONPATH", "VIRTUAL_ENV", "JUPYTER_PATH")
    places = {"HOME": str(place), "DISCREET_HOME": str(place / "home"), "PYTHONNOUSERSITE": "1"}
    environment = {name: value for name, value in os.environ.items() if name not in hidden} | places
    done = subprocess.run(
        [*map(str, command)], input=given, capture_output=True, text=True, cwd=place, env=environment, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def _run(python: Path, script: str, given: object, place: Path) -> list[dict[str, str]]:
    """What a script says about lines or cells that it is given."""
    return json.loads(_printed([python, HERE / script], json.dumps(given), place).splitlines()[-1])


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built by the hatchling of the lock file, for the tests of this module that a worker has."""
    place = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", place, ROOT]
    subprocess.run(build, check=True, capture_output=True)
    (wheel,) = place.glob("*.whl")
    return wheel


def _interpreter(version: str) -> Path | None:
    """A Python of another version, from the path or from pyenv; a name on the path need not be one that starts."""
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    named = shutil.which(f"python{version}")
    for candidate in [*([Path(named)] if named else []), *pyenv.glob(f"{version}.*/bin/python{version}")]:
        code = "import sys, venv; print('%d.%d' % sys.version_info[:2])"
        done = subprocess.run([candidate, "-c", code], capture_output=True, text=True, check=False)
        if done.stdout.strip() == version:
            return candidate
    return None


def _megabytes(place: Path) -> float:
    """The size of what was installed, without pip itself and byte code."""
    (packages,) = (place / "lib").glob("python*/site-packages")
    files = (each for each in packages.rglob("*") if each.is_file() and each.suffix != ".pyc")
    return sum(each.stat().st_size for each in files if each.relative_to(packages).parts[0] != "pip") / 1e6


def _environment(place: Path, *packages: object, on: Path | None = None, of: Path | None = None) -> Path:
    """A new environment with packages, on top of another one's or of another Python where given; its Python."""
    if of is None:
        venv.create(place, symlinks=True)
    else:
        subprocess.run([of, "-m", "venv", "--without-pip", place], check=True, capture_output=True)
    python = place / "bin" / "python"
    if on is not None:
        (below,), (own,) = ((each / "lib").glob("python*/site-packages") for each in (on, place))
        (own / "below.pth").write_text(f"{below}\n", encoding="utf-8")
    pip = [sys.executable, "-m", "pip", "--python", python, "install", "--quiet", "--no-compile"]
    subprocess.run([*pip, *map(str, packages)], check=True, capture_output=True)
    return python


def test_there_are_lines_from_every_library_and_none_is_expected_to_end_in_a_bare_error():
    assert len(LINES) + len(WITH_PANDAS) + len(WITHOUT_PANDAS) >= 180
    assert all(expected == "works" or expected.endswith("Error") for expected in LINES.values())
    assert not any("." in expected for expected in (LINES | WITH_PANDAS | WITHOUT_PANDAS).values())


def test_some_of_the_lines_where_the_tests_run(tmp_path):
    """Every eighth line, in the environment of the tests; all of them are typed in fresh ones below."""
    some = dict(list(LINES.items())[::8])
    environment = os.environ | {"DISCREET_HOME": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, HERE / "reader.py"],
        input=json.dumps(list(some)),
        capture_output=True,
        text=True,
        env=environment,
        check=True,
    )
    assert _failed(some, json.loads(done.stdout)) == []


@pytest.mark.full
def test_the_wheel_in_fresh_environments(wheel, tmp_path):
    """One test, so that the environments are built once however tests are shared out among workers."""
    place = tmp_path / "directory"
    place.mkdir()
    bare = _environment(tmp_path / "bare", wheel)
    assert _megabytes(tmp_path / "bare") <= LARGEST_INSTALL
    reports = _run(bare, "reader.py", [*LINES, *WITHOUT_PANDAS], place)
    assert _failed(LINES | WITHOUT_PANDAS, reports) == []

    with_pandas = _environment(tmp_path / "pandas", "pandas>=2", on=tmp_path / "bare")
    assert _failed(WITH_PANDAS, _run(with_pandas, "reader.py", list(WITH_PANDAS), place)) == []

    jupyter = _environment(tmp_path / "jupyter", "ipykernel>=6", "nbclient>=0.10", on=tmp_path / "bare")
    packages, opened, released, refused, some = _run(jupyter, "notebook.py", KERNEL, place)
    assert packages["text"].startswith(f"None {tmp_path / 'bare'}")
    assert "epsilon 2 left of epsilon 2" in opened["text"], opened
    assert "±" in released["text"], released
    assert refused["raised"].startswith("ArgumentsError: dp.protect('visits.csv', epsilon=1)")
    assert _failed(dict(list(LINES.items())[:12]), json.loads(some["text"])) == []


@pytest.mark.full
@pytest.mark.parametrize(
    "version", [*(pytest.param(each, marks=pytest.mark.nightly) for each in OTHERS[:-1]), *OTHERS[-1:]]
)
def test_the_wheel_on_other_pythons(wheel, tmp_path, version):
    """The newest in CI, the others nightly, a minute each; the fast tier there is run by hand (CONTRIBUTING.md)."""
    interpreter = _interpreter(version)
    if interpreter is None:
        pytest.skip(f"no Python {version} on the path or in pyenv")
    place = tmp_path / "directory"
    place.mkdir()
    python = _environment(tmp_path / "other", wheel, of=interpreter)
    assert _printed([python, "-c", "import sys; print(sys.version)"], "", place).startswith(f"{version}.")

    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    session = readme.partition("```pycon run\n")[2].partition("```\n")[0]
    typed = "".join(example.source for example in doctest.DocTestParser().get_examples(session))
    printed = _printed([python, "-W", "error", "-c", typed + "print(session.remaining())"], "", place)
    assert "n         count: ± 60" in printed
    assert "receipt  " in printed
    assert "epsilon 1 left of epsilon 2" in printed
    _printed([python, "-W", "error", "-m", "discreet", "doctor"], "", place)
    some = dict(list((LINES | WITHOUT_PANDAS).items())[::8])
    assert _failed(some, _run(python, "reader.py", list(some), place)) == []
