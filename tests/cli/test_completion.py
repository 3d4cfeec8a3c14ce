"""`discreet completion`: a real bash completes commands, subcommands and options; zsh and fish where they are."""

import os
import shutil
import subprocess
import sys

import pexpect
import pytest

TRY = """
set -u
source <(discreet completion bash)
try() {
    COMP_WORDS=("$@"); COMP_CWORD=$(( $# - 1 )); COMPREPLY=()
    _discreet_completion discreet
    echo "${COMPREPLY[*]}"
}
"""


@pytest.fixture
def commands(tmp_path, monkeypatch):
    """A directory on PATH with the command `discreet` of this source."""
    path = tmp_path / "bin" / "discreet"
    path.parent.mkdir()
    path.write_text(f"#!{sys.executable}\nimport sys\nfrom discreet.cli import main\nsys.exit(main())\n")
    path.chmod(0o755)
    monkeypatch.setenv("PATH", f"{path.parent}:{os.environ['PATH']}")
    return path.parent


def complete(*words):
    line = " ".join(f"'{word}'" for word in words)
    run = subprocess.run(["bash", "-c", f"{TRY}\ntry {line}"], capture_output=True, text=True, check=True)
    assert run.stderr == ""
    return run.stdout.split()


@pytest.mark.parametrize(
    ("words", "found"),
    [
        (("discreet", "led"), ["ledger"]),
        (("discreet", "pl"), ["plan"]),
        (("discreet", "ledger", "sho"), ["show"]),
        (("discreet", "run", "--ep"), ["--epsilon"]),
        (("discreet", "completion", "z"), ["zsh"]),
        (("discreet", "run", "q"), []),
    ],
    ids=" ".join,
)
def test_bash_completes_commands_that_are_not_loaded_yet(commands, words, found):
    assert complete(*words) == found


def test_all_commands_are_offered(commands):
    offered = complete("discreet", "")
    assert {"audit", "check", "demo", "doctor", "preview", "sql", "version"} <= set(offered)


def test_tab_in_a_real_bash(commands, tmp_path):
    child = pexpect.spawn("bash", ["--norc", "--noprofile"], encoding="utf-8", timeout=60, cwd=str(tmp_path))
    child.sendline("PS1='ready> '; source <(discreet completion bash); echo loaded")
    child.expect("loaded\r\n.*ready> ")
    child.send("discreet led\t")
    child.expect("ledger ")
    child.send("sho\t")
    child.expect("show ")
    child.close(force=True)


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_scripts_of_other_shells_are_syntax_of_their_shell(commands, shell):
    script = subprocess.run(["discreet", "completion", shell], capture_output=True, text=True, check=True).stdout
    assert f"_DISCREET_COMPLETE=complete_{shell}" in script
    if shutil.which(shell):
        subprocess.run([shell, "--no-execute"], input=script, text=True, check=True)


def test_an_unknown_shell_is_a_wrong_call(discreet):
    assert discreet("completion", "tcsh").exit_code == 2
