"""Reading what discreet needs, and whether a version will do."""

import tomllib
from importlib import import_module
from pathlib import Path

import pytest

from discreet.cli.requirements import Requirement, requirements

PROJECT = Path(__file__).parents[2] / "pyproject.toml"


def _named(name: str) -> Requirement:
    return next(r for r in requirements() if r.distribution.lower() == name)


@pytest.mark.skipif(not PROJECT.exists(), reason="the source tree is not here")
def test_everything_in_the_project_file_is_needed():
    project = tomllib.loads(PROJECT.read_text())["project"]
    extras = [line for lines in project["optional-dependencies"].values() for line in lines]
    assert len(requirements()) == len(project["dependencies"]) + len(extras)
    assert {r.extra for r in requirements()} == {None, *project["optional-dependencies"]}


def test_extras_come_last():
    extras = [r.extra is not None for r in requirements()]
    assert extras == sorted(extras)


@pytest.mark.parametrize("requirement", [r for r in requirements() if r.extra is None], ids=lambda r: r.distribution)
def test_each_is_installed_in_a_version_that_will_do_under_the_name_of_its_module(requirement):
    assert requirement.accepts(requirement.installed_version())
    assert import_module(requirement.module)


@pytest.mark.parametrize(
    ("version", "accepted"),
    [("2.0.0", True), ("2", True), ("2.9.1rc1", True), ("1.9.9", False), ("3.0", False), ("3", False), ("10.1", False)],
)
def test_versions_are_compared_as_numbers(version, accepted):
    requirement = Requirement("duckdb", ((">=", "2.0"), ("<", "3")), None)
    assert requirement.accepts(version) is accepted


def test_what_installs_it_is_one_command():
    assert _named("matplotlib").command == 'pip install "discreet[plots]"'
    assert _named("duckdb").command == f'pip install "duckdb{_named("duckdb").range}"'


def test_a_distribution_that_is_absent_has_no_version():
    assert Requirement("no-such-distribution", (), None).installed_version() is None
