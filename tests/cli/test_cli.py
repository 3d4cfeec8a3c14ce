"""The command as a whole: how it starts, ends and reports refusals."""

import os
import subprocess
import sys
import time

import pytest

from discreet import __version__, cli
from discreet.errors import ParameterError


def _run(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "discreet", *arguments],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | environment,
    )


def test_the_module_runs_as_the_command():
    run = _run("--version")
    assert (run.returncode, run.stdout, run.stderr) == (0, f"discreet {__version__}\n", "")


def test_help_names_every_command_in_whole_sentences():
    run = _run("--help")
    assert run.returncode == 0
    assert "doctor       Check this machine, and say what to mend." in run.stdout
    assert "..." not in run.stdout.split("Commands:")[1]


def test_an_unknown_command_ends_with_2_and_says_so_on_standard_error():
    run = _run("docter")
    assert run.returncode == 2
    assert run.stdout == ""
    assert "docter" in run.stderr


def test_a_refusal_is_printed_without_a_traceback_and_ends_with_1(monkeypatch, capsys):
    def refuse() -> None:
        raise ParameterError("epsilon=0", because="epsilon must be above zero", instead="epsilon=0.1")

    monkeypatch.setattr(cli, "app", refuse)
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert ended.value.code == 1
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.splitlines() == [
        "ParameterError: epsilon=0",
        "  because  epsilon must be above zero",
        "  instead  epsilon=0.1",
    ]


def test_tracebacks_never_print_local_variables():
    assert cli.app.pretty_exceptions_enable is False


@pytest.mark.nightly
@pytest.mark.timing
def test_the_version_is_told_within_a_second_and_a_half():
    """The best of three, since other processes may share the machine."""
    seconds = []
    for _ in range(3):
        start = time.perf_counter()
        assert _run("version").returncode == 0
        seconds.append(time.perf_counter() - start)
    assert min(seconds) < 1.5
