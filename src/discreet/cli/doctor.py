"""`discreet doctor`: does this machine have what discreet needs, and if not, what to do."""

import os
import platform
import shutil
import sqlite3
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from dataclasses import asdict, dataclass
from enum import StrEnum
from importlib import import_module, metadata
from importlib.util import find_spec
from pathlib import Path

import typer
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from discreet.cli import exit_codes
from discreet.cli.output import AsJson, print_json
from discreet.cli.requirements import Requirement, requirements
from discreet.errors import Refusal
from discreet.home import VARIABLE, home
from discreet.version import __version__

LEAST_PYTHON = (3, 11)
TESTED_SQLITE = (3, 37)
LITTLE_SPACE = 5 * 10**9
NO_SPACE = 200 * 10**6
_TRYING_TO_READ = """
def answer(table):
    try:
        open("/proc/self/status")
    except PermissionError:
        return sum(table["x"].to_pylist())
    return 0
"""


class Status(StrEnum):
    """The outcome of a check, in the word that is printed."""

    OK = "OK"
    OPTIONAL = "optional"
    WARNING = "warning"
    PROBLEM = "problem"


_COLOURS = {Status.OK: "green", Status.OPTIONAL: "dim", Status.WARNING: "yellow", Status.PROBLEM: "bold red"}


@dataclass(frozen=True)
class Check:
    """What was looked at, how it is, what was found, and what to do about it."""

    name: str
    status: Status
    found: str
    remedy: str | None = None


def command(
    as_json: AsJson = False,
) -> None:
    """Check this machine, and say what to mend."""
    with Console(stderr=True).status("looking at this machine ..."):
        checks = list(examine())
    if as_json:
        print_json(_report(checks))
    else:
        _show(checks, Console(highlight=False))
    if _unhealthy(checks):
        raise typer.Exit(exit_codes.PROBLEM)


def examine() -> Iterator[Check]:
    """Every check, in the order in which things are needed."""
    yield python_version(sys.version_info[:3])
    yield from _dependencies()
    if find_spec("pyspark"):
        yield java(os.environ)
    yield entropy(os.urandom)
    yield from directory()
    yield duckdb_starts()
    yield sandbox_works()


def python_version(version: tuple[int, ...]) -> Check:
    """Whether this Python is one that discreet supports."""
    number = ".".join(map(str, version))
    if version >= LEAST_PYTHON:
        return Check("Python", Status.OK, f"{number} ({platform.python_implementation()})")
    least = ".".join(map(str, LEAST_PYTHON))
    return Check("Python", Status.PROBLEM, f"{number}, older than {least}", f"install Python {least} or newer")


def dependency(requirement: Requirement) -> Check:
    """Whether a distribution is there, in an accepted version, and can be imported."""
    name, version = requirement.distribution, requirement.installed_version()
    if version is None:
        status = Status.OPTIONAL if requirement.extra else Status.PROBLEM
        return Check(name, status, "not installed", requirement.command)
    if not requirement.accepts(version):
        return Check(name, Status.PROBLEM, f"{version}, outside {requirement.range}", requirement.command)
    try:
        import_module(requirement.module)
    except Exception as error:  # noqa: BLE001 - a broken installation may raise anything
        return Check(name, Status.PROBLEM, f"{version}, but {_first_line(error)}", requirement.command)
    return Check(name, Status.OK, version)


def java(environment: Mapping[str, str]) -> Check:
    """Whether there is a Java where PySpark looks for it; which one is not asked, because starting it takes long."""
    own = environment.get("JAVA_HOME")
    found = shutil.which("java", path=str(Path(own) / "bin") if own else environment.get("PATH", ""))
    if found is None:
        where = "JAVA_HOME" if own else "PATH"
        return Check(
            "Java", Status.WARNING, f"not on {where}; Spark needs it", "install Java 17, and set JAVA_HOME to it"
        )
    return Check("Java", Status.OK, found)


def entropy(draw: Callable[[int], bytes]) -> Check:
    """Whether the operating system gives random bytes, which all noise comes from."""
    try:
        draws = {draw(32) for _ in range(8)}
    except (OSError, NotImplementedError) as error:
        return Check("entropy", Status.PROBLEM, _first_line(error), "give this process a source of random bytes")
    if len(draws) < 8:
        return Check("entropy", Status.PROBLEM, "random bytes repeat", "use a machine whose random bytes differ")
    return Check("entropy", Status.OK, "random bytes from the operating system")


def directory() -> Iterator[Check]:
    """Whether the directory of discreet is private and can be written, and SQLite is durable there."""
    try:
        path = home()
        with tempfile.TemporaryFile(dir=path) as probe:
            probe.write(b"discreet")
    except Refusal as refusal:
        yield Check("directory", Status.PROBLEM, f"{refusal.what}: {refusal.because}", refusal.instead)
        return
    except OSError as error:
        remedy = f"allow writing there, or {VARIABLE}=/a/directory/of/your/own"
        yield Check("directory", Status.PROBLEM, f"cannot be written: {error.strerror}", remedy)
        return
    mode = ", mode 0700" if os.name == "posix" else ""
    yield Check("directory", Status.OK, f"{path}, writable{mode}")
    yield sqlite_is_durable(path)
    yield space(shutil.disk_usage(path).free)


def sqlite_is_durable(path: Path) -> Check:
    """Whether SQLite commits with synchronous=FULL in a directory, and reads back what it committed."""
    try:
        with tempfile.TemporaryDirectory(dir=path, prefix="doctor-") as place:
            kept = _commit_and_read(Path(place) / "probe.sqlite")
    except (sqlite3.Error, OSError) as error:
        return Check("SQLite", Status.PROBLEM, _first_line(error), f"{VARIABLE} on a local disk")
    found = f"{sqlite3.sqlite_version}, synchronous=FULL"
    if not kept:
        return Check("SQLite", Status.PROBLEM, f"{found} lost a commit", f"{VARIABLE} on a local disk")
    if sqlite3.sqlite_version_info < TESTED_SQLITE:
        return Check("SQLite", Status.WARNING, f"{found}; older than what is tested", "a Python with a newer SQLite")
    return Check("SQLite", Status.OK, found)


def space(free: int) -> Check:
    """Whether prepared tables have room on the disk."""
    found = f"{free / 10**9:,.1f} GB free"
    if free >= LITTLE_SPACE:
        return Check("disk space", Status.OK, found)
    status = Status.WARNING if free >= NO_SPACE else Status.PROBLEM
    return Check("disk space", status, found, f"make room, or {VARIABLE} on another disk")


def duckdb_starts() -> Check:
    """Whether the engine answers a query."""
    remedy = "reinstall it: pip install --force-reinstall duckdb"
    try:
        with import_module("duckdb").connect(":memory:") as connection:
            total = connection.execute("SELECT sum(i) FROM range(1000) AS numbers(i)").fetchone()[0]
    except Exception as error:  # noqa: BLE001 - a broken engine may raise anything
        return Check("engine", Status.PROBLEM, f"DuckDB does not start: {_first_line(error)}", remedy)
    if total != 499_500:
        return Check("engine", Status.PROBLEM, "DuckDB adds wrongly", remedy)
    return Check("engine", Status.OK, "DuckDB starts and answers")


def sandbox_works() -> Check:
    """Whether a function runs in a locked process, which isolation is in force, and that it holds."""
    text = "table.apply cannot run functions"
    try:
        sandbox, arrow = import_module("discreet.sandbox"), import_module("pyarrow")
        limits = sandbox.Limits(seconds=20, workers=1, constant_time=False)
        with sandbox.Sandbox(_TRYING_TO_READ, limits=limits) as tried:
            answers = tried.outputs([(0, arrow.table({"x": [20, 22]}))], default=-1)
            isolation = ", ".join(tried.isolation)
    except Refusal as refusal:
        return Check("sandbox", Status.WARNING, f"{text}: {refusal.because}", refusal.instead)
    except Exception as error:  # noqa: BLE001 - a broken installation may raise anything
        remedy = "let this process start others and write to its temporary directory"
        return Check("sandbox", Status.WARNING, f"{text}: {_first_line(error)}", remedy)
    if answers != [42]:
        remedy = "do not use table.apply here, and report this"
        return Check("sandbox", Status.PROBLEM, "a locked function gave a wrong answer, or opened a file", remedy)
    return Check("sandbox", Status.OK, f"a function ran in a process of its own, cut off from: {isolation}")


def _dependencies() -> Iterator[Check]:
    try:
        found = requirements()
    except metadata.PackageNotFoundError:
        yield Check("discreet", Status.PROBLEM, "not installed as a package", "pip install discreet")
        return
    needed: dict[object, Requirement] = {}
    for requirement in found:  # several extras may need the same, in the same versions
        needed.setdefault((requirement.distribution.lower(), requirement.bounds), requirement)
    yield from map(dependency, needed.values())


def _commit_and_read(file: Path) -> bool:
    with closing(sqlite3.connect(file, isolation_level=None)) as writer:
        writer.execute("PRAGMA synchronous=FULL")
        full = writer.execute("PRAGMA synchronous").fetchone() == (2,)
        writer.execute("CREATE TABLE probe (number INTEGER)")
        writer.execute("BEGIN IMMEDIATE")
        writer.execute("INSERT INTO probe VALUES (42)")
        writer.execute("COMMIT")
    with closing(sqlite3.connect(file)) as reader:
        return full and reader.execute("SELECT number FROM probe").fetchall() == [(42,)]


def _report(checks: list[Check]) -> dict[str, object]:
    return {"discreet": __version__, "healthy": not _unhealthy(checks), "checks": [asdict(c) for c in checks]}


def _show(checks: list[Check], console: Console) -> None:
    table = Table("check", "result", box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    table.add_column("found", overflow="fold")
    for check in checks:
        table.add_row(Text(check.name), Text(check.status, style=_COLOURS[check.status]), Text(check.found))
    console.print(table)
    console.print(Text(f"\n{_summary(checks)}"))
    for check in checks:
        if check.remedy:
            # outside the table and unwrapped, so that a command can be copied
            console.print(Text(_advice(check)), soft_wrap=True)


def _advice(check: Check) -> str:
    return f"to {'add' if check.status is Status.OPTIONAL else 'mend'} {check.name}: {check.remedy}"


def _summary(checks: list[Check]) -> str:
    problems = sum(check.status is Status.PROBLEM for check in checks)
    warnings = sum(check.status is Status.WARNING for check in checks)
    if not problems and not warnings:
        return "discreet has everything it needs here"
    return f"{_pluralize(problems, 'problem')}, {_pluralize(warnings, 'warning')}"


def _pluralize(number: int, noun: str) -> str:
    return f"{number or 'no'} {noun}{'' if number == 1 else 's'}"


def _unhealthy(checks: list[Check]) -> bool:
    return any(check.status is Status.PROBLEM for check in checks)


def _first_line(error: BaseException) -> str:
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0]}" if lines else type(error).__name__
