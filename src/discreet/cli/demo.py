"""`discreet demo`: the whole tour on generated data, with the real commands, in a directory of its own."""

import json
import os
import shlex
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer
from pyarrow import csv

from discreet import cli, datasets
from discreet.cli import exit_codes
from discreet.cli.apps import command_app
from discreet.errors import DiscreetError, ParameterError
from discreet.home import VARIABLE
from discreet.ledger.records.signatures import public_keys

PATIENTS = 20_000
PAUSE = 2.0
"""Seconds after each step, in a terminal only."""
CATALOG = f"""\
catalog: discreet.catalog/1
tables:
  visits:
    source: visits.csv
    privacy_unit: patient_id
    max_rows: 10
    rows: 65000
    budget: {{epsilon: 2}}
    columns:
      visit_id: {{type: integer}}
      patient_id: {{type: integer}}
      ward:
        type: text
        keys: [{", ".join(datasets.WARDS)}]
      age: {{type: integer, bounds: [0, 110], provenance: nobody is older}}
      cost: {{type: real, bounds: [0, 5000], provenance: price list}}
      day: {{type: date}}
      urgent: {{type: boolean}}
"""
STATEMENT = """\
SELECT ward, COUNT(*) AS visits, AVG(cost) AS cost
FROM visits
GROUP BY ward
"""
app = command_app("demo")


@app.command("demo", epilog="Example: discreet demo --keep tour")
def command(
    keep: Annotated[
        Path | None, typer.Option("--keep", help="Leave the files in this new directory.", metavar="DIRECTORY")
    ] = None,
) -> None:
    """Show the whole tour on generated data.

    It takes less than a minute, asks nothing, and leaves nothing behind unless --keep names a new directory.
    """
    with _directory(keep) as place, _working_in(place):
        tour = Tour(pause=PAUSE if sys.stdout.isatty() else 0)
        for step in STEPS:
            step(tour)
    if tour.has_failed:
        raise typer.Exit(exit_codes.PROBLEM)
    if keep is not None:
        print(f"\nThe files are in {keep}. Its ledger is in {keep / 'home'}: {VARIABLE}={keep / 'home'}")


class Tour:
    """Steps that print a heading, then each command before its output."""

    def __init__(self, pause: float) -> None:
        self._pause, self._number, self._is_terminal = pause, 0, pause > 0
        self.has_failed = False

    def heading(self, text: str) -> None:
        """Print what comes next, after a pause to read what was there."""
        if self._number:
            time.sleep(self._pause)
        self._number += 1
        print(self._bold(f"\n{self._number}. {text}"), flush=True)

    def run(self, *words: str, expected: int = 0) -> None:
        """Run a command of discreet, and print what it ends with where that is not 0."""
        print(self._bold(f"$ discreet {shlex.join(words)}"), flush=True)
        code = _call(words)
        sys.stdout.flush()
        sys.stderr.flush()
        self.has_failed = self.has_failed or code != expected
        if code:
            print(f"(it ends with {code})", flush=True)

    def show(self, path: str) -> None:
        """Print a file as `cat` does."""
        print(self._bold(f"$ cat {path}"))
        print(Path(path).read_text(encoding="utf-8"), end="", flush=True)

    def _bold(self, text: str) -> str:
        return typer.style(text, bold=True) if self._is_terminal and "NO_COLOR" not in os.environ else text


def _call(words: tuple[str, ...]) -> int:
    """Run a command as the shell would: its exit code, and a refusal on standard error."""
    try:
        ended: Any = cli.app(list(words), prog_name="discreet", standalone_mode=False)
    except DiscreetError as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        return exit_codes.PROBLEM
    return ended if isinstance(ended, int) else 0


def _invent(tour: Tour) -> None:
    tour.heading("A file of visits to a hospital. It is generated: nobody in it exists.")
    table = datasets.visits(PATIENTS)
    csv.write_csv(table, "visits.csv")
    print(f"wrote visits.csv: {table.num_rows:,} visits of {PATIENTS:,} patients")


def _draft(tour: Tour) -> None:
    tour.heading("A draft of the catalog, from the names of the columns. No row is read.")
    tour.run("init", "visits.csv")


def _decide(tour: Tour) -> None:
    tour.heading("The owner's decisions: privacy unit, budget, bounds and keys.")
    Path("catalog.yaml").write_text(CATALOG, encoding="utf-8")
    tour.show("catalog.yaml")
    tour.run("check")


def _ask(tour: Tour) -> None:
    tour.heading("A statement, and its answer on generated rows, for free.")
    Path("wards.sql").write_text(STATEMENT, encoding="utf-8")
    tour.show("wards.sql")
    tour.run("preview", "wards.sql", "--epsilon", "0.5")


def _plan(tour: Tour) -> None:
    tour.heading("Its cost and margins of error, before anything is charged.")
    tour.run("plan", "wards.sql", "--epsilon", "0.5")


def _release(tour: Tour) -> None:
    tour.heading("The answer. The charge is written down before the file is read.")
    tour.run("run", "wards.sql", "--epsilon", "0.5", "--out", "wards.json")


def _read(tour: Tour) -> None:
    tour.heading("What the saved file says of itself, for its readers.")
    tour.run("release", "show", "wards.json")


def _verify(tour: Tour) -> None:
    tour.heading("The check of every number. It ends with 3: column names are not signed.")
    tour.run("release", "verify", "wards.json", "--key", _public_key(), expected=3)


def _spent(tour: Tour) -> None:
    tour.heading("What is left of the budget. It never refills.")
    tour.run("ledger", "show", "visits")


def _report(tour: Tour) -> None:
    tour.heading("A report for a data protection officer.")
    tour.run("report", "wards.json", "--out", "report.html")


def _edit(tour: Tour) -> None:
    tour.heading("Somebody adds 1 to a number in the saved file. The check finds it.")
    Path("edited.json").write_text(_edited(Path("wards.json").read_text(encoding="utf-8")), encoding="utf-8")
    tour.run("release", "verify", "edited.json", "--key", _public_key(), expected=1)


STEPS = (_invent, _draft, _decide, _ask, _plan, _release, _read, _verify, _spent, _report, _edit)


def _public_key() -> str:
    return next(iter(public_keys(Path(os.environ[VARIABLE]) / "signing.key").values()))


def _edited(text: str) -> str:
    """The saved table with another number in its first cell."""
    data = json.loads(text)
    data["table"]["visits"][0] += 1
    return json.dumps(data, indent=1, ensure_ascii=False) + "\n"


@contextmanager
def _directory(keep: Path | None) -> Iterator[Path]:
    if keep is None:
        with tempfile.TemporaryDirectory(prefix="discreet-demo-") as name:
            yield Path(name)
        return
    try:
        keep.mkdir(mode=0o700)
    except OSError:
        raise ParameterError(
            f"--keep {str(keep)!r}",
            because="a directory of that name is there, or cannot be made",
            instead="--keep with a new name",
        ) from None
    yield keep.absolute()


@contextmanager
def _working_in(place: Path) -> Iterator[None]:
    """The directory as the current one, with a home of its own: the user's ledger is not touched."""
    before, home = Path.cwd(), os.environ.get(VARIABLE)
    os.chdir(place)
    os.environ[VARIABLE] = str(place / "home")
    try:
        yield
    finally:
        os.chdir(before)
        os.environ.pop(VARIABLE)
        if home is not None:
            os.environ[VARIABLE] = home
