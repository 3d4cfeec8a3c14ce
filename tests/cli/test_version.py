"""What a bug report needs."""

import platform
from importlib import metadata

from typer.testing import CliRunner

from discreet import __version__
from discreet.cli import app
from discreet.cli.requirements import Requirement


def _lines() -> dict[str, str]:
    result = CliRunner().invoke(app, ["version"])
    assert result.exit_code == 0
    return dict(line.split(maxsplit=1) for line in result.stdout.splitlines())


def test_it_tells_the_versions_of_discreet_and_python():
    lines = _lines()
    assert lines["discreet"] == __version__
    assert lines["Python"].startswith(platform.python_version())


def test_it_tells_the_version_of_everything_that_results_depend_on():
    lines = _lines()
    for name in ("duckdb", "numpy", "pyarrow"):
        assert lines[name] == metadata.version(name)


def test_it_tells_whether_the_drivers_of_other_engines_are_installed(monkeypatch):
    assert _lines()["psycopg"] == metadata.version("psycopg")
    monkeypatch.setattr(Requirement, "installed_version", lambda _: None)
    assert _lines()["psycopg"] == "not installed"


def test_the_version_in_the_code_is_that_of_the_package():
    assert metadata.version("discreet") == __version__
