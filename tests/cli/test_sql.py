"""`discreet sql`: governed statements, in a real terminal and in a pipe."""

import json
import os
import re
import stat
import sys

import pexpect
import pytest

COUNT = "SELECT COUNT(*) AS n FROM visits"
BY_WARD = "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward"


@pytest.fixture
def terminal(visits_directory):
    """The command in a terminal of 100 columns."""
    opened = []

    def spawn(*words):
        child = pexpect.spawn(
            sys.executable,
            ["-m", "discreet", *words],
            cwd=str(visits_directory),
            env=os.environ | {"TERM": "xterm", "PROMPT_TOOLKIT_NO_CPR": "1"},
            encoding="utf-8",
            timeout=60,
            dimensions=(40, 100),
        )
        opened.append(child)
        return child

    yield spawn
    for child in opened:
        child.close(force=True)


def left(discreet):
    return json.loads(discreet("check", "--json").stdout)["visits"]["epsilon"]


def test_a_pipe_is_answered_without_prompts_and_a_refusal_does_not_stop_it(discreet):
    text = f"{COUNT}; SELECT MAX(age) FROM visits;\n.budget\n{BY_WARD}"
    found = discreet("sql", "--limit", "1", "--epsilon", "0.5", "--yes", text=text)
    assert found.exit_code == 1
    assert "cardiology" in found.stdout
    assert "this sitting has spent epsilon 0.5 of 1" in found.stdout
    assert "> " not in found.stdout
    assert "\x1b" not in found.output
    assert "costs     epsilon 0.5" in found.stderr
    assert re.search("SqlError: MAX.*\n  because  .*\n  instead  ", found.stderr)
    assert left(discreet) == 1


def test_a_pipe_needs_yes_and_every_sitting_a_limit(discreet):
    assert discreet("sql", "--limit", "1", "--epsilon", "0.5", text=COUNT).exit_code == 2
    assert discreet("sql", "--epsilon", "0.5", "--yes", text=COUNT).exit_code == 2
    for limit in ("0", "-1", "much", "nan"):
        assert discreet("sql", "--limit", limit, "--yes", text=COUNT).exit_code == 2
    assert left(discreet) == 2


def test_the_limit_holds_over_all_statements(discreet):
    found = discreet("sql", "--limit", "0.7", "--epsilon", "0.5", "--yes", text=f"{COUNT}; {BY_WARD}; {COUNT};")
    assert found.exit_code == 1
    assert "epsilon 0.2 is left of this sitting's limit of 0.7" in found.stderr
    assert "answered in this sitting, so free" in found.stderr
    assert left(discreet) == 1.5


def test_json_is_one_line_for_each_answer(discreet):
    found = discreet("sql", "--limit", "1", "--epsilon", "0.5", "--yes", "--json", text=f"{COUNT}; {BY_WARD};")
    assert [json.loads(line)["statement"] for line in found.stdout.splitlines()] == [COUNT, BY_WARD]


def test_an_error_of_a_statement_is_a_line_of_json_too(discreet):
    text = f"SELECT MAX(age) FROM visits;\n.budget\n{COUNT};"
    found = discreet("sql", "--limit", "1", "--epsilon", "0.5", "--yes", "--json", text=text)
    assert found.exit_code == 1
    refused, answered = map(json.loads, found.stdout.splitlines())
    assert refused["error"]["type"] == "SqlError"
    assert refused["error"]["because"] == "the largest or smallest value of a table is one person's"
    assert answered["statement"] == COUNT
    assert "SqlError" not in found.stderr
    assert "this sitting has spent epsilon 0 of 1" in found.stderr


def test_quit_ends_a_pipe(discreet):
    assert discreet("sql", "--limit", "1", "--epsilon", "0.5", "--yes", text=f".quit\n{COUNT};").exit_code == 0
    assert left(discreet) == 2


def test_a_sitting_in_a_terminal(terminal, discreet, visits_directory):
    child = terminal("sql", "--limit", "1", "--epsilon", "0.5")
    child.expect("this sitting may spend epsilon 1")
    child.expect("discreet>")
    child.send("SELECT wa\t")
    child.expect("rd")
    child.send(", COUNT(*) AS n\r")
    child.expect(r"\.\.\.>")
    child.send("FROM visits GROUP BY ward;\r")
    child.expect("costs     epsilon 0.5")
    child.expect(r"charge epsilon 0.5\? \[y/N\] ")
    child.send("\r")
    child.expect("not charged")
    child.expect("discreet>")
    child.send(f"{BY_WARD};\r")
    child.expect(r"\[y/N\] ")
    child.send("y\r")
    child.expect("cardiology .* ± 60")
    child.expect("receipt")
    child.expect("discreet>")
    child.send("SELECT MAX(age) FROM visits;\r")
    child.expect("because  the largest or smallest value of a table is one person's")
    child.expect("discreet>")
    child.send("SELECT this is not finished\x03")
    child.expect("discreet>")
    child.send(".budget\r")
    child.expect("spent epsilon 0.5 of 1")
    child.expect("discreet>")
    child.send("\x1b[A\x1b[A\x1b[A")  # up to the statement that was answered
    child.send("\r")
    child.expect("answered in this sitting, so free")
    child.expect("discreet>")
    child.send("\x04")
    child.expect("this sitting has spent epsilon 0.5 of 1")
    child.expect(pexpect.EOF)
    child.wait()
    assert child.exitstatus == 0
    assert left(discreet) == 1.5
    path = visits_directory / "home" / "sql_history"
    assert BY_WARD in path.read_text()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_ctrl_c_at_the_question_charges_nothing(terminal, discreet):
    child = terminal("sql", "--limit", "1", "--epsilon", "0.5")
    child.expect("discreet>")
    child.send(f"{COUNT};\r")
    child.expect(r"\[y/N\] ")
    child.send("\x03")
    child.expect("not charged")
    child.expect("discreet>")
    child.send(".quit\r")
    child.expect(pexpect.EOF)
    assert left(discreet) == 2
