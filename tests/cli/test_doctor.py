"""Each check, well and unwell, and how the whole is told to people and programs."""

import json
import os
import sqlite3
import sys

import pytest
from typer.testing import CliRunner

from discreet.cli import app, doctor
from discreet.cli.doctor import Check, Status
from discreet.cli.requirements import Requirement

posix_only = pytest.mark.skipif(os.name != "posix", reason="modes mean nothing here")


@pytest.fixture
def place(monkeypatch, tmp_path):
    monkeypatch.setenv("DISCREET_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


@pytest.fixture
def checks(monkeypatch):
    """Let the doctor find what a test gives it, and nothing else."""

    def give(*found: Check) -> None:
        monkeypatch.setattr(doctor, "examine", lambda: iter(found))

    return give


def _doctor(*arguments: str, **environment: str):
    return CliRunner().invoke(app, ["doctor", *arguments], env=environment)


def test_a_healthy_machine_has_everything(place):
    result = _doctor("--json")
    report = json.loads(result.stdout)
    assert result.exit_code == 0
    assert report["healthy"] is True
    assert {"Python", "duckdb", "numpy", "entropy", "directory", "SQLite", "disk space", "engine", "sandbox"} <= {
        check["name"] for check in report["checks"]
    }
    assert {check["status"] for check in report["checks"]} <= {"OK", "optional", "warning"}


def test_the_doctor_leaves_nothing_in_the_directory(place):
    assert [check.status for check in doctor.directory()][:2] == [Status.OK, Status.OK]
    assert list(place.iterdir()) == []


def test_a_problem_ends_with_1_and_the_remedy_in_full(checks):
    checks(Check("duckdb", Status.PROBLEM, "3.1, outside >=2.0,<3", 'pip install "duckdb>=2.0,<3" ' + "x" * 90))
    result = _doctor(COLUMNS="40")
    assert result.exit_code == 1
    assert "problem" in result.stdout
    assert "1 problem, no warnings" in result.stdout
    assert 'to mend duckdb: pip install "duckdb>=2.0,<3" ' + "x" * 90 in result.stdout


def test_a_warning_is_told_and_ends_with_0(checks):
    checks(Check("disk space", Status.WARNING, "1.0 GB free", "make room"))
    result = _doctor()
    assert result.exit_code == 0
    assert "no problems, 1 warning" in result.stdout


def test_an_absent_extra_is_neither_problem_nor_warning(checks):
    checks(Check("matplotlib", Status.OPTIONAL, "not installed", 'pip install "discreet[plots]"'))
    result = _doctor()
    assert result.exit_code == 0
    assert "discreet has everything it needs here" in result.stdout
    assert 'to add matplotlib: pip install "discreet[plots]"' in result.stdout


def test_a_narrow_page_cuts_nothing_off(checks):
    path = "/a/long/path/" + "deep/" * 20
    checks(Check("directory", Status.OK, path))
    told = _doctor(COLUMNS="60").stdout
    assert max(map(len, told.splitlines())) <= 60
    assert path in "".join(line.strip().removeprefix("directory       OK       ") for line in told.splitlines())


def test_there_is_no_colour_in_a_pipe(checks):
    checks(Check("Python", Status.OK, "3.11.7"), Check("engine", Status.PROBLEM, "does not start", "reinstall"))
    assert "\x1b" not in _doctor().stdout


def test_programs_are_told_of_problems_too(checks):
    checks(Check("engine", Status.PROBLEM, "does not start", "reinstall"))
    result = _doctor("--json")
    assert result.exit_code == 1
    report = json.loads(result.stdout)
    assert report["healthy"] is False
    assert report["checks"] == [
        {"name": "engine", "status": "problem", "found": "does not start", "remedy": "reinstall"}
    ]


@pytest.mark.parametrize(
    ("version", "status"),
    [((3, 11, 0), Status.OK), ((3, 14, 2), Status.OK), ((3, 10, 9), Status.PROBLEM), ((2, 7, 18), Status.PROBLEM)],
)
def test_python_must_be_new_enough(version, status):
    assert doctor.python_version(version).status is status


@pytest.mark.parametrize(
    ("requirement", "status"),
    [
        (Requirement("rich", ((">=", "1"),), None), Status.OK),
        (Requirement("rich", ((">=", "9999"),), None), Status.PROBLEM),
        (Requirement("no-such-distribution", (), None), Status.PROBLEM),
        (Requirement("no-such-distribution", (), "some"), Status.OPTIONAL),
    ],
)
def test_a_dependency_must_be_there_in_an_accepted_version(requirement, status):
    assert doctor.dependency(requirement).status is status


def test_a_dependency_that_is_installed_but_broken_is_a_problem(monkeypatch):
    def broken(name: str) -> None:
        raise ImportError(f"{name}: undefined symbol\nsecond line")

    monkeypatch.setattr(doctor, "import_module", broken)
    check = doctor.dependency(Requirement("rich", (), None))
    assert check.status is Status.PROBLEM
    assert check.found.endswith("but ImportError: rich: undefined symbol")


@posix_only
def test_java_is_found_where_pyspark_looks_for_it(tmp_path):
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "java").touch(mode=0o700)
    on_path, at_home = {"PATH": str(tmp_path / "bin")}, {"PATH": "", "JAVA_HOME": str(tmp_path)}
    assert [doctor.java(each).status for each in (on_path, at_home)] == [Status.OK, Status.OK]
    elsewhere = on_path | {"JAVA_HOME": str(tmp_path / "elsewhere")}
    assert [doctor.java(each).status for each in (elsewhere, {})] == [Status.WARNING, Status.WARNING]


def test_bytes_that_repeat_are_no_entropy():
    assert doctor.entropy(lambda size: b"\0" * size).status is Status.PROBLEM
    assert doctor.entropy(os.urandom).status is Status.OK


def test_a_machine_without_entropy_has_a_problem():
    def none(size: int) -> bytes:
        raise NotImplementedError(size)

    assert doctor.entropy(none).status is Status.PROBLEM


@posix_only
def test_a_directory_open_to_others_is_a_problem_with_its_remedy(place):
    place.mkdir()
    place.chmod(0o755)
    (check,) = doctor.directory()
    assert check.status is Status.PROBLEM
    assert check.remedy is not None
    assert check.remedy.startswith(f"chmod 700 '{place}'")


@posix_only
@pytest.mark.skipif(os.name == "posix" and os.geteuid() == 0, reason="root may write everywhere")
def test_a_directory_that_cannot_be_written_is_a_problem(place):
    place.mkdir(mode=0o500)
    (check,) = doctor.directory()
    assert check.status is Status.PROBLEM


def test_a_file_in_place_of_the_directory_is_a_problem(place):
    place.write_text("")
    assert [check.status for check in doctor.directory()] == [Status.PROBLEM]


def test_sqlite_that_cannot_write_is_a_problem(tmp_path):
    assert doctor.sqlite_is_durable(tmp_path / "absent").status is Status.PROBLEM


def test_an_old_sqlite_is_a_warning(monkeypatch, tmp_path):
    monkeypatch.setattr(sqlite3, "sqlite_version_info", (3, 20, 0))
    assert doctor.sqlite_is_durable(tmp_path).status is Status.WARNING


@pytest.mark.parametrize(
    ("free", "status"), [(10**11, Status.OK), (10**9, Status.WARNING), (10**7, Status.PROBLEM), (0, Status.PROBLEM)]
)
def test_a_full_disk_is_a_problem_and_a_filling_one_a_warning(free, status):
    assert doctor.space(free).status is status


def test_the_engine_answers():
    assert doctor.duckdb_starts().status is Status.OK


def test_an_engine_that_does_not_start_is_a_problem(monkeypatch):
    def broken(name: str) -> None:
        raise OSError("cannot load library")

    monkeypatch.setattr(doctor, "import_module", broken)
    check = doctor.duckdb_starts()
    assert check.status is Status.PROBLEM
    assert "cannot load library" in check.found


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="there is a sandbox on Linux alone")
def test_the_sandbox_is_tried_and_its_isolation_is_named():
    check = doctor.sandbox_works()
    assert check.status is Status.OK
    assert "cut off from: system calls" in check.found


def test_a_machine_without_a_sandbox_has_a_warning_and_the_reason(script):
    """As on a processor for which no filter is known."""
    ran = script(
        "import os\nfrom discreet.cli import doctor\nfrom discreet.sandbox import worker\n"
        "worker._START = worker._START.replace('template.serve', "
        "'template.seccomp.MACHINES.clear(); template.serve')\n"
        "check = doctor.sandbox_works()\nprint(check.status, '|', check.found, '|', check.remedy)\n"
    )
    status, found, remedy = ran.stdout.strip().split(" | ")
    assert status == "warning", ran.stderr
    assert found.startswith("table.apply cannot run functions: the kernel has no system call filter")
    assert 'Limits(isolation="process")' in remedy


def test_a_python_that_does_not_start_is_told_plainly(monkeypatch):
    monkeypatch.setattr(sys, "executable", "/bin/false")
    check = doctor.sandbox_works()
    assert check.status is Status.WARNING
    assert "a new Python" in check.found


def test_a_broken_library_does_not_stop_the_doctor(monkeypatch):
    def broken(name: str) -> None:
        raise ImportError(f"{name}: undefined symbol")

    monkeypatch.setattr(doctor, "import_module", broken)
    assert doctor.sandbox_works().status is Status.WARNING


def test_what_several_extras_need_is_listed_once():
    names = [check.name for check in doctor._dependencies()]
    assert "dp-accounting" in names
    assert len(names) == len(set(names))
