"""`discreet audit`: look for an event that breaks the claim of a mechanism, or run the audit of discreet itself."""

import contextlib
import importlib
import json
import shlex
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from discreet.cli import exit_codes
from discreet.cli.address import without_addresses
from discreet.cli.apps import command_app
from discreet.cli.examples import examples
from discreet.cli.output import AsJson
from discreet.errors import ParameterError, SourceError

OURSELVES = {"controls": "run_controls", "discreet": "audit_everything"}

app = command_app("audit")


@app.command(
    "audit",
    no_args_is_help=True,
    epilog=examples("discreet audit mine:noisy_count --epsilon 1 --one '[1, 2, 3]' --other '[1, 2]'"),
)
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
    epsilon: Annotated[
        float | None, typer.Option(metavar="NUMBER", help="The epsilon it claims.", show_default=False)
    ] = None,
    delta: Annotated[float, typer.Option(metavar="NUMBER", help="The delta it claims with it.")] = 0.0,
    rho: Annotated[
        float | None, typer.Option(metavar="NUMBER", help="Or the rho of concentrated privacy.", show_default=False)
    ] = None,
    mu: Annotated[
        float | None, typer.Option(metavar="NUMBER", help="Or the mu of Gaussian privacy.", show_default=False)
    ] = None,
    one: Annotated[str, typer.Option(metavar="DATASET", help="A dataset: JSON, or MODULE:NAME.")] = "0",
    other: Annotated[str, typer.Option(metavar="DATASET", help="Its neighbour.")] = "1",
    samples: Annotated[int, typer.Option(metavar="NUMBER", help="Runs on each dataset, at most.")] = 10_000,
    alarm: Annotated[float, typer.Option(metavar="NUMBER", help="The chance of calling a true claim broken.")] = 1e-3,
    many: Annotated[bool, typer.Option("--many", help="It is called with a count, and returns so many.")] = False,
    long: Annotated[bool, typer.Option("--long", help="The long suite; for `controls` and `discreet`.")] = False,
    save: Annotated[
        list[Path] | None,
        typer.Option(metavar="FILE", help="Write the report, .html or .json; may be repeated.", show_default=False),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Look for an event that breaks a claim of privacy.

    Ends with 0 if nothing is found, 1 if a claim is broken or the audit is refused, and 3 if the audit is void.
    """
    auditing, reports = (importlib.import_module(name) for name in ("discreet.auditing", "discreet.auditing.report"))
    for path in save or ():
        reports.writable(path)
    # the mechanism may print, and standard output is for one document
    with contextlib.redirect_stdout(sys.stderr) if as_json else contextlib.nullcontext():
        if target in OURSELVES:
            _refuse_beside(target, epsilon=epsilon, rho=rho, mu=mu)
            findings = getattr(auditing, OURSELVES[target])(quick=not long)
        else:
            asked = auditing.claim(epsilon=epsilon, delta=delta, rho=rho, mu=mu)
            datasets = dataset(one), dataset(other)
            words: dict[str, Any] = {"samples": samples, "alarm": alarm, "name": target, "many": many}
            findings = [auditing.audit(import_value(target), *datasets, claim=asked, **words)]
    about = without_addresses(f"discreet {shlex.join(sys.argv[1:])}")
    report = reports.Report.of(findings, f"audit of {target}", about)
    for path in save or ():
        report.save(path)
    print(report.to_json() if as_json else report)
    is_broken = any(each.is_broken for each in findings)
    raise typer.Exit(exit_codes.PROBLEM if is_broken else exit_codes.OK if report.ok else exit_codes.UNDECIDED)


def _refuse_beside(target: str, **claimed: float | None) -> None:
    given = [name for name, value in claimed.items() if value is not None]
    if given:
        raise ParameterError(
            f"--{given[0]} beside {target!r}", because="each of them has a claim of its own", instead=f"audit {target}"
        )


def dataset(text: str) -> Any:
    """A dataset given on the command line: JSON, or the name of a value in a module."""
    try:
        return json.loads(text)
    except ValueError:
        if ":" in text and not text.startswith(("[", "{", '"')):
            return import_value(text)
    raise ParameterError(
        f"the dataset {text!r}", because="it is neither JSON nor MODULE:NAME", instead="'[1, 2, 3]', or mine:PEOPLE"
    )


def import_value(text: str) -> Any:
    """The value that MODULE:NAME names; modules of the current directory come first."""
    module, colon, name = text.partition(":")
    if not colon or not module or not name:
        raise ParameterError(
            f"{text!r}",
            because="it names no value in a module",
            instead=f"{' or '.join(OURSELVES)}, or mine:mechanism, for `mechanism` in mine.py",
        )
    module = module.removesuffix(".py")
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
