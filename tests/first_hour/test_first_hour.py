"""The first hour: what people type first works, or is refused with advice that works when it is pasted.

The wheel is built once and installed by pip, by itself, into an environment that has nothing else. Two more stand on
it: one with pandas, and one with a Jupyter kernel without ipywidgets, in which DuckDB takes no setting of its progress
bar.
"""

import json
import os
import subprocess
import sys
import venv
from pathlib import Path

import pytest

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
sys.path.insert(0, str(HERE))

from lines import LINES, WITH_PANDAS, WITHOUT_PANDAS  # noqa: E402 - beside this file, as the environments find it

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


def _run(python: Path, script: str, given: object, place: Path) -> list[dict[str, str]]:
    """What a script says in an environment that sees nothing of this one."""
    hidden = ("PYTHONPATH", "VIRTUAL_ENV", "JUPYTER_PATH")
    places = {"HOME": str(place), "DISCREET_HOME": str(place / "home"), "PYTHONNOUSERSITE": "1"}
    environment = {name: value for name, value in os.environ.items() if name not in hidden} | places
    done = subprocess.run(
        [python, HERE / script],
        input=json.dumps(given),
        capture_output=True,
        text=True,
        cwd=place,
        env=environment,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def _wheel(place: Path) -> Path:
    subprocess.run([sys.executable, "-m", "build", "--wheel", "--outdir", place, ROOT], check=True, capture_output=True)
    (wheel,) = place.glob("*.whl")
    return wheel


def _environment(place: Path, *packages: object, on: Path | None = None) -> Path:
    """A new environment with packages, on top of another one's where that is given; its Python."""
    venv.create(place, symlinks=True)
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
def test_the_wheel_in_fresh_environments(tmp_path):
    """One test, so that the environments are built once however tests are shared out among workers."""
    place = tmp_path / "directory"
    place.mkdir()
    bare = _environment(tmp_path / "bare", _wheel(tmp_path))
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
