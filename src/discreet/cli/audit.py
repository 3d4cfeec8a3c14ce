"""`discreet audit`: look for an event that breaks the claim of a mechanism, or run the audit of discreet itself."""

import importlib
import json
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from discreet.auditing import suite
from discreet.auditing.claims import claim
from discreet.auditing.report import Report
from discreet.auditing.statistical import audit
from discreet.errors import ParameterError, SourceError

OURSELVES = {"controls": suite.run_controls, "discreet": suite.audit_everything}


app = typer.Typer(name="audit", add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)


@app.command("audit", no_args_is_help=True)
def command(
    target: Annotated[
        str,
        typer.Argument(
            metavar="MODULE:CALLABLE",
            help="A mechanism: a callable of one dataset. Or `controls`, mechanisms known to be broken, all of which "
            "must be caught; or `discreet`, every mechanism and aggregate of this library.",
            show_default=False,
        ),
    ],
    epsilon: Annotated[float | None, typer.Option(help="The epsilon it claims.", show_default=False)] = None,
    delta: Annotated[float, typer.Option(help="The delta it claims with it.")] = 0.0,
    rho: Annotated[float | None, typer.Option(help="Or the rho of concentrated privacy.", show_default=False)] = None,
    mu: Annotated[float | None, typer.Option(help="Or the mu of Gaussian privacy.", show_default=False)] = None,
    one: Annotated[str, typer.Option(help="A dataset: JSON, or MODULE:NAME.")] = "0",
    other: Annotated[str, typer.Option(help="Its neighbour.")] = "1",
    samples: Annotated[int, typer.Option(help="Runs on each dataset, at most.")] = 10_000,
    alarm: Annotated[float, typer.Option(help="The chance of calling a true claim broken.")] = 1e-3,
    many: Annotated[bool, typer.Option("--many", help="It is called with a count, and returns so many.")] = False,
    long: Annotated[bool, typer.Option("--long", help="The long suite; for `controls` and `discreet`.")] = False,
    save: Annotated[
        list[Path] | None, typer.Option(help="Write the report, .html or .json; may be repeated.", show_default=False)
    ] = None,
) -> None:
    """Look for an event that breaks a claim of privacy. Ends with 1 where one is found."""
    if target in OURSELVES:
        report = Report.of(OURSELVES[target](quick=not long), f"audit of {target}")
    else:
        asked = claim(epsilon=epsilon, delta=delta, rho=rho, mu=mu)
        datasets = dataset(one), dataset(other)
        found = audit(named(target), *datasets, claim=asked, samples=samples, alarm=alarm, name=target, many=many)
        report = Report.of([found], f"audit of {target}")
    for path in save or ():
        report.save(path)
    print(report)
    raise typer.Exit(0 if report.ok else 1)


def dataset(text: str) -> Any:
    """A dataset said on the command line: JSON, or the name of a value in a module."""
    try:
        return json.loads(text)
    except ValueError:
        return named(text)


def named(text: str) -> Any:
    """The value that MODULE:NAME names; modules of the current directory come first."""
    module, colon, name = text.partition(":")
    if not colon or not module or not name:
        raise ParameterError(
            f"{text!r}",
            because="it is neither JSON nor the name of a value in a module",
            instead="mine:mechanism, for `mechanism` in mine.py",
        )
    if "" not in sys.path:
        sys.path.insert(0, "")
    try:
        value: Any = importlib.import_module(module)
        for part in name.split("."):
            value = getattr(value, part)
    except (ImportError, AttributeError) as error:
        instead = "a module in this directory or installed, and a name in it"
        raise SourceError(f"{text!r}", because=str(error), instead=instead) from None
    return value
