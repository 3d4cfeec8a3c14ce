"""The page "From a CSV file to a published table", typed into a real terminal: a file of 200,000 visits to a report.

Every line with a `$` on the page is typed into a shell, in a new directory with a new home, and must print what the
page says, noisy digits aside. Between two of them the catalog is edited, by a script in the place of an editor; that is
the reader's work and no command of discreet. `python tests/first_hour/test_first_report.py` writes the transcript of
the page anew.
"""

import itertools
import os
import re
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pexpect
import pytest
import yaml
from pyarrow import csv

import discreet as dp
from test_docs import VARYING, without_noise

PAGE = Path(__file__).parent.parent.parent / "docs" / "first-report.md"
BLOCK = re.compile(r"^```console (?P<kind>transcript|report)\n(?P<code>.*?)^```\n", re.MULTILINE | re.DOTALL)
CATALOG = re.compile(r"^```yaml catalog\n(.*?)^```\n", re.MULTILINE | re.DOTALL)
CONTROL = re.compile(r"\x1b\[(?P<number>[0-9]*)(?P<rest>[0-9;?]*)(?P<what>[A-Za-z])|(?P<return>\r)|(?P<line>\n)")
PROMPT = "ready for the next line> "
STATEMENT = """\
SELECT ward, COUNT(*) AS visits, AVG(cost) AS mean_cost
FROM visits
WHERE urgent
GROUP BY ward
"""
ROWS, MOST_COMMANDS, MOST_SECONDS = 200_000, 8, 30.0
VARIES = ("discreet run", "discreet release", "discreet ledger", "discreet report")
EDITOR = """\
import sys, yaml
draft = yaml.safe_load(open("catalog.yaml", encoding="utf-8"))
decided = yaml.safe_load(open(sys.argv[1], encoding="utf-8"))
assert list(draft["tables"]) == list(decided["tables"])
assert [*draft["tables"]["visits"]["columns"]] == [*decided["tables"]["visits"]["columns"]]
open("catalog.yaml", "w", encoding="utf-8").write(open(sys.argv[1], encoding="utf-8").read())
"""


@dataclass
class Terminal:
    """A shell in a terminal of 120 columns, in an empty directory of somebody who never used discreet."""

    place: Path
    lines: list[tuple[str, str]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.work.mkdir()
        hidden = ("DISCREET_HOME", "NO_COLOR", "COLUMNS", "LINES")
        environment = {name: value for name, value in os.environ.items() if name not in hidden}
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        environment |= {"HOME": str(self.home), "PATH": path, "PS1": PROMPT, "TERM": "xterm", "PYTHONUTF8": "1"}
        self.home.mkdir(mode=0o700)
        self.shell = pexpect.spawn(
            "/bin/bash",
            ["--norc", "--noprofile", "-i"],
            cwd=str(self.work),
            env=environment,
            dimensions=(50, 120),
            encoding="utf-8",
            timeout=180,
        )
        self.shell.expect_exact(PROMPT)
        self.type("bind 'set enable-bracketed-paste off'")

    @property
    def work(self) -> Path:
        return self.place / "hospital"

    @property
    def home(self) -> Path:
        return self.place / "person"

    def type(self, line: str) -> str:
        """Type a line, and return what the terminal shows until the next prompt."""
        self.shell.sendline(line)
        self.shell.expect_exact(PROMPT)
        return screen(self.shell.before or "").partition("\n")[2].replace(str(self.home), "~")

    def code(self) -> int:
        """The exit code of the last line."""
        return int(self.type("echo $?"))

    def seconds(self) -> float:
        """Processor time of everything that was run so far."""
        times = re.findall(r"(\d+)m([\d.]+)s", self.type("times").splitlines()[1])
        return sum(60 * int(minutes) + float(seconds) for minutes, seconds in times)


def screen(text: str) -> str:
    """What a terminal shows after a text: moves up, returns and erased lines, as a progress bar makes them."""
    lines, row, column, place = [""], 0, 0, 0
    for control in [*CONTROL.finditer(text), None]:
        new = text[place : control.start() if control else len(text)]
        lines[row] = lines[row][:column].ljust(column) + new + lines[row][column + len(new) :]
        column += len(new)
        if control is None:
            break
        place = control.end()
        if control["return"]:
            column = 0
        elif control["line"]:
            row += 1
            lines += [""] if row == len(lines) else []
        elif control["what"] == "A":
            row = max(0, row - int(control["number"] or 1))
        elif control["what"] == "K":
            lines[row] = "" if control["number"] == "2" else lines[row][:column]
    return "\n".join(line.rstrip() for line in lines)


def steps(page: str) -> Iterator[tuple[str, str, str]]:
    """The kind of a block, a line to type, and what the page says is shown."""
    for block in BLOCK.finditer(page):
        for part in re.split(r"^\$ ", block["code"], flags=re.MULTILINE)[1:]:
            line, _, shown = part.partition("\n")
            yield block["kind"], line, shown


def walk(place: Path) -> tuple[list[tuple[str, str, str]], float, float]:
    """Type all lines of the page; what was shown for each, the processor time and the time on the clock."""
    page = PAGE.read_text(encoding="utf-8")
    terminal = Terminal(place)
    csv.write_csv(dp.datasets.visits(62_000).slice(0, ROWS), terminal.work / "visits.csv")
    (terminal.work / "wards.sql").write_text(STATEMENT, encoding="utf-8")
    catalog, editor = place / "decided.yaml", place / "editor.py"
    catalog.write_text(CATALOG.findall(page)[0], encoding="utf-8")
    editor.write_text(EDITOR, encoding="utf-8")
    shown, start, before = [], time.perf_counter(), terminal.seconds()
    for _, line, expected in steps(page):
        if line == "discreet check":
            assert terminal.type(f"python {editor} {catalog}") == ""
        shown.append((line, expected, terminal.type(line)))
        assert terminal.code() == 0, shown[-1]
    seconds, elapsed = terminal.seconds() - before, time.perf_counter() - start
    terminal.shell.close()
    return shown, seconds, elapsed


def comparable(line: str, text: str) -> str:
    """What has to be the same in every run: everything but noise, times, receipts and keys.

    Where a run goes past an hour or past midnight, `ledger show` has a row more; rows that are alike count once.
    """
    if not line.startswith(VARIES):
        return text
    blotted = without_noise(re.sub("[█░]+", "bar", VARYING.sub("#", text)))
    return "\n".join(each for each, _ in itertools.groupby(blotted.split("\n")))


def test_a_progress_bar_that_is_erased_is_not_on_the_screen():
    assert screen("one\r\nbar 10%\rbar 90%\x1b[2K\r\x1b[1A\x1b[2K\rtwo\x1b[0m\r\n") == "two\n"
    assert screen("abc\rx") == "xbc"


@pytest.mark.full
def test_a_file_of_200_000_visits_becomes_a_report_as_the_page_says(tmp_path, capsys):
    shown, seconds, elapsed = walk(tmp_path)
    commands = [line for line, _, _ in shown if line.startswith("discreet ")]
    with capsys.disabled():
        print(f"\n{len(commands)} commands, {seconds:.1f} s of processor time, {elapsed:.1f} s on the clock")
    for line, expected, text in shown:
        assert expected == "" or comparable(line, text) == comparable(line, expected), line
    assert len(commands) <= MOST_COMMANDS
    # processor time, because other processes may share the machine; twice the bar, because some have half the speed
    assert seconds < 2 * MOST_SECONDS
    assert len((tmp_path / "hospital" / "wards.csv").read_text(encoding="utf-8").splitlines()) == 7
    report = (tmp_path / "hospital" / "report.html").read_text(encoding="utf-8")
    assert report.casefold().startswith("<!doctype html")


def test_the_page_has_a_transcript_of_every_line_and_few_enough_commands():
    found = [(kind, line, shown) for kind, line, shown in steps(PAGE.read_text(encoding="utf-8"))]
    assert [line for kind, line, shown in found if kind == "transcript" and not shown] == []
    assert sum(line.startswith("discreet ") for _, line, _ in found) <= MOST_COMMANDS


def test_the_catalog_of_the_page_states_where_every_bound_comes_from():
    catalog = yaml.safe_load(CATALOG.findall(PAGE.read_text(encoding="utf-8"))[0])
    columns = catalog["tables"]["visits"]["columns"].values()
    assert all("provenance" in column for column in columns if "bounds" in column or "keys" in column)


def test_the_page_is_the_first_that_readers_are_led_to():
    index = (PAGE.parent / "index.md").read_text(encoding="utf-8")
    readme = (PAGE.parent.parent / "README.md").read_text(encoding="utf-8")
    assert index.index("](") == index.index("](first-report.md)")
    assert "](docs/first-report.md)" in readme.partition("\n## ")[0]
    assert readme.index("](docs/first-report.md)") < readme.index("](docs/quickstart.md)")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as directory:
        transcript = {line: text for line, _, text in walk(Path(directory))[0]}
    text = PAGE.read_text(encoding="utf-8")
    for kind, line, _ in list(steps(text)):
        new = f"```console {kind}\n$ {line}\n{transcript.get(line, '')}```\n"
        block = re.compile(rf"^```console {kind}\n\$ {re.escape(line)}\n.*?^```\n", re.MULTILINE | re.DOTALL)
        text = block.sub(lambda _, new=new: new, text)
    PAGE.write_text(text, encoding="utf-8")
