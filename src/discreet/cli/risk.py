"""`discreet risk`: how anonymous a file is, what generalisation costs, and what a private release gives instead."""

import os
import re
import shlex
import shutil
import sys
from pathlib import Path
from typing import Annotated

import typer

from discreet.anonymity.report.report import SIZES, RiskReport, risk_report
from discreet.cli.address import in_lower_case, is_address
from discreet.cli.apps import command_app
from discreet.cli.output import AsJson, print_json
from discreet.errors import Refusal

PIPE_WIDTH = 120
_LIST = "COLUMN,COLUMN"
_ARGUMENT = re.compile(r"\b(table|nulls|person)=(['\"])(.*?)\2")
_LISTS, _NAMES = re.compile(r"\b(quasi|sensitive)=\[(.*?)\]"), re.compile(r"[^'\", ]+")

app = command_app("risk")


@app.command(
    "risk", no_args_is_help=True, epilog="Example: discreet risk visits.csv --quasi ward,age,day --person patient_id"
)
def command(
    source: Annotated[
        str,
        typer.Argument(
            metavar="SOURCE",
            help="A CSV, Parquet, DuckDB or SQLite file, or postgresql://host/database.",
            show_default=False,
        ),
    ],
    quasi: Annotated[
        str, typer.Option("--quasi", metavar=_LIST, help="Columns that an attacker may know.", show_default=False)
    ],
    sensitive: Annotated[
        str,
        typer.Option("--sensitive", metavar=_LIST, help="Columns that an attacker wants to learn.", show_default=False),
    ] = "",
    person: Annotated[
        str | None,
        typer.Option("--person", metavar="COLUMN", help="Column that identifies a person. Default: each row is one."),
    ] = None,
    table: Annotated[
        str | None,
        typer.Option("--table", metavar="NAME", help="Table of a database. Default: the only one of a file."),
    ] = None,
    nulls: Annotated[
        str, typer.Option("--nulls", metavar="POLICY", help="What a missing cell is: value, wildcard or exclude.")
    ] = "value",
    k: Annotated[
        list[int] | None,
        typer.Option(
            "--k", metavar="NUMBER", help="Class size to generalise to; may be repeated. Default: 2, 5 and 10."
        ),
    ] = None,
    html: Annotated[
        Path | None, typer.Option("--html", metavar="FILE", help="Write the report as a page.", show_default=False)
    ] = None,
    plots: Annotated[
        Path | None,
        typer.Option("--plots", metavar="DIRECTORY", help="Write pictures; needs discreet[plots].", show_default=False),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Measure how anonymous a file without names is.

    It reads rows exactly and charges nothing: what it prints is for the owners of the data only.
    """
    place = in_lower_case(source) if is_address(source) else source
    try:
        report = risk_report(
            place,
            _names(quasi),
            sensitive=_names(sensitive),
            person=person,
            nulls=nulls,  # type: ignore[arg-type]  # other words are refused
            k=tuple(k or SIZES),
            table=table,
        )
    except Refusal as refusal:
        raise type(refusal)(refusal.what, because=refusal.because, instead=_as_options(refusal.instead)) from None
    # a place that is refused must leave standard output to the document of the error
    saved = _save(report, html, plots)
    if as_json:
        print_json(report.to_json())
    else:
        print(report.text(_width()))
    for path in saved:
        typer.echo(f"saved {path}", err=True)


def _width() -> int:
    """Columns of the terminal, or of the variable COLUMNS; in a pipe without one the width of documents."""
    is_stated = sys.stdout.isatty() or os.environ.get("COLUMNS", "").isdecimal()
    return shutil.get_terminal_size((PIPE_WIDTH, 24)).columns if is_stated else PIPE_WIDTH


def _as_options(advice: str) -> str:
    """Advice in the words of the command line, where it is an argument of the function."""
    lists = _LISTS.sub(lambda found: f"--{found[1]} {','.join(_NAMES.findall(found[2]))}", advice)
    return _ARGUMENT.sub(lambda found: f"--{found[1]} {shlex.quote(found[3])}", lists)


def _names(text: str) -> list[str]:
    """Names between commas."""
    return [name for name in (part.strip() for part in text.split(",")) if name]


def _save(report: RiskReport, html: Path | None, plots: Path | None) -> list[Path]:
    saved = [] if html is None else [report.save(html)]
    if plots is not None:
        plots.mkdir(parents=True, exist_ok=True)
        saved += report.save_plots(plots)
    return saved
