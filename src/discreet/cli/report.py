"""`discreet report`: a report of saved releases that anybody can read, and that reviewers can check."""

from pathlib import Path
from typing import Annotated

import typer

from discreet.cli.output import print_json
from discreet.release.report.report import report

OUT = Path("report.html")

app = typer.Typer(name="report", add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)


@app.command("report", no_args_is_help=True, epilog="Example: discreet report table.csv --out report.html")
def command(
    files: Annotated[
        list[Path], typer.Argument(metavar="FILE", help="Saved releases, as JSON or CSV.", show_default=False)
    ],
    out: Annotated[
        Path | None,
        typer.Option("--out", help="Where to write the report. Default: report.html.", metavar="FILE"),
    ] = None,
    about: Annotated[
        Path | None,
        typer.Option("--about", help="Facts that releases cannot know, as YAML: curator, purpose.", metavar="FILE"),
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the report as JSON; write files only with --out.")
    ] = False,
) -> None:
    """Write a report of saved releases.

    Beside the HTML file it writes JSON and a registry entry. It needs neither ledger nor data, and costs nothing.
    """
    found = report(files, about=about)
    # a place that is refused must leave standard output to the document of the error
    saved = found.save(out or OUT) if out is not None or not as_json else []
    if as_json:
        print_json(found.to_json())
    else:
        print(found)
    for path in saved:
        typer.echo(f"saved {path}", err=True)
    missing = found.facts.about.missing()
    if missing:
        typer.echo(f"not stated: {', '.join(missing)} (--about)", err=True)
