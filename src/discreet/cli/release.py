"""`discreet release`: what a saved release says, whether it was changed, and how two of them differ."""

import json
from collections.abc import Iterator, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any

import typer

from discreet import accounting, events
from discreet.catalog.catalog import Value
from discreet.cli.receipt import checked_key
from discreet.errors import UnsupportedError
from discreet.exact import shown
from discreet.ledger.integrity.results import verify_result
from discreet.ledger.records.history import charge_text
from discreet.ledger.records.receipt import Receipt
from discreet.release.document import aligned
from discreet.release.forms import read_plain
from discreet.release.noisy_columns import formula
from discreet.release.release import Release
from discreet.release.result import Result
from discreet.release.saved import read_result, require_same_csv
from discreet.release.sql_release import SCHEMA, SqlRelease
from discreet.release.values import rendering

UNCOVERED = 3
"""The exit code for a file whose charge is right, and whose numbers no signature covers."""
_DELTA = 1e-6
"""Where epsilons of accountants are compared: they hold at any delta, and one is shown."""

app = typer.Typer(
    name="release",
    help="Show, check and compare saved releases, without their ledger.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)
File = Annotated[Path, typer.Argument(metavar="FILE", help="A saved release, as JSON.", show_default=False)]
Other = Annotated[Path, typer.Argument(metavar="OTHER", help="Another saved release.", show_default=False)]
Keys = Annotated[
    list[str],
    typer.Option("--key", help="A public key of the ledger, ed25519:...; may be repeated.", metavar="PUBLIC"),
]


@app.callback()
def root() -> None:
    """Show, check and compare saved releases, without their ledger."""


@app.command()
def show(
    file: File,
    accountants: Annotated[bool, typer.Option("--accountants", help="Show the epsilon of every accountant.")] = False,
) -> None:
    """Print a release with what was asked, what it cost, and what its margins do not include."""
    found = _read(file)
    print(found)
    for result in found.releases if isinstance(found, SqlRelease) else (found,):
        print()
        print(aligned(tuple(_lines(result, is_long=accountants))))
    if isinstance(found, SqlRelease):
        print()
        print(aligned((("statement", " ".join(found.text.split())), ("dialect", found.dialect))))


@app.command()
def verify(file: File, keys: Keys) -> None:
    """Check that nothing in a saved release was changed, and that the ledger's key signed it.

    Ends with 0 if all of it is as it was signed, 1 if something is wrong, and 3 if no signature covers the numbers.
    """
    publics = [checked_key(text) for text in keys]
    found = _read(file)
    if not isinstance(found, SqlRelease):
        code = _verify(read_plain(file), publics)
    else:
        codes = [_verify(each.to_json(), publics) for each in found.releases]
        for name, column in found.recipe.columns.items():
            print(f"column   {rendering.cell(name)} = {rendering.cell(formula(column))}")
        print("table    computed again from these releases, and the same")
        print("table    not signed: names and formulas of columns, the choice of rows, and the statement")
        code = 1 if 1 in codes else UNCOVERED
    if code:
        raise typer.Exit(code)


def _read(file: Path) -> Result | SqlRelease:
    """What a file holds; beside a CSV file, its sidecar."""
    data = read_plain(file)
    found = SqlRelease.from_json(data) if data.get("schema") == SCHEMA else read_result(data, file)
    if isinstance(found, Release | SqlRelease):
        require_same_csv(file, found.to_arrow())
    return found


def _verify(data: dict[str, Any], publics: Sequence[str]) -> int:
    """Check one result, print what was found, and return the exit code."""
    found = verify_result(data, publics)
    receipt = found.receipt
    for fault in found.faults:
        print(f"WRONG  {fault}")
    if found.faults:
        return 1
    print(f"charge   {charge_text(receipt)}")
    print(f"receipt  {receipt.id}, event {receipt.sequence}, by {receipt.analyst!r}, signed by key {receipt.key}")
    if found.uncovered is not None:
        print(f"numbers  not covered: {found.uncovered}")
        return UNCOVERED
    print(f"ledger   {receipt.ledger}")
    print("numbers  covered by the signature of that key, with the query and everything else in the file")
    return 0


@app.command()
def compare(file: File, other: Other) -> None:
    """Print how two releases differ, and whether noise explains it."""
    first, second = (_table(path) for path in (file, other))
    print(aligned(tuple(_differences(first, second))))
    print()
    print("\n".join(_rows(first, second)))


def _lines(found: Result, *, is_long: bool) -> Iterator[tuple[str, str]]:
    """The document, the charge under each accountant, and whether there is a signature."""
    if found.document is None:
        yield "query", "not in the file, which is of version 1"
    else:
        yield from found.document.lines()
    yield from _charges(found, is_long=is_long)
    yield "signed", found.signature_text()


def _charges(found: Result, *, is_long: bool) -> Iterator[tuple[str, str]]:
    """The charge, and the tightest bound of the accountants or that of each."""
    receipt = Receipt.from_json(json.dumps(found.receipt))
    yield "charged", charge_text(receipt)
    compared = accounting.compare(events.from_canonical(receipt.event), delta=_DELTA)
    if not is_long:
        best = compared.tightest
        yield (
            "tightest bound",
            f"epsilon {best.epsilon:.6g} at delta {_DELTA:g}, {best.accountant} accountant, {best.note}",
        )
        return
    for row in compared.rows:
        stated = "-" if row.epsilon is None else f"epsilon {row.epsilon:.6g} at delta {_DELTA:g}"
        yield f"{row.accountant} accountant", f"{stated}, {row.note}"


def _table(path: Path) -> Release:
    found = _read(path)
    if not isinstance(found, Release):
        raise UnsupportedError(
            f"a comparison of {str(path)!r}",
            because="it holds one number, a selection or the table of a statement",
            instead="two releases with tables, or `discreet release show` for each",
        )
    return found


def _differences(first: Release, second: Release) -> Iterator[tuple[str, str]]:
    names = {"dataset": "dataset", "version": "version", "guarantee": "guarantee", "library": "discreet"}
    for name, label in names.items():
        one, other = getattr(first, name), getattr(second, name)
        yield label, f"the same: {one}" if one == other else f"{one} | {other}"
    yield from _query_differences(first, second)
    level = max(Fraction(0), first.confidence + second.confidence - 1)
    yield (
        "noise",
        (
            "explains the difference of an answer up to the sum of both margins, "
            f"with probability at least {shown(100 * level)}% if the exact values are equal"
        ),
    )


def _query_differences(one: Release, other: Release) -> Iterator[tuple[str, str]]:
    first, second = one.document, other.document
    if first is None or second is None:
        yield "query", "not in a file of version 1"
        return
    if first.query == second.query:
        is_same = one.receipt.get("question") == other.receipt.get("question")
        yield "query", "the same" if is_same else "the same words, and another fingerprint: constants or costs differ"
    yield from (("only in the first", ": ".join(line)) for line in first.query if line not in second.query)
    yield from (("only in the second", ": ".join(line)) for line in second.query if line not in first.query)


def _rows(first: Release, second: Release) -> Iterator[str]:
    """Each answer that both have: the two values, their difference, and the sum of their margins."""
    places = {key: place for place, key in enumerate(_keys(second))}
    names = [output.name for output in first.outputs if output.name in {other.name for other in second.outputs}]
    for place, key in enumerate(_keys(first)):
        if key not in places:
            yield f"{_label(key)}only in the first"
            continue
        at = place, places.pop(key)
        yield from (f"{_label(key)}{name}  {_difference(name, (first, second), at)}" for name in names)
    yield from (f"{_label(key)}only in the second" for key in places)


def _difference(name: str, releases: tuple[Release, Release], at: tuple[int, int]) -> str:
    """The two values of an output, and whether noise explains their difference."""
    values = [release[name][place] for release, place in zip(releases, at, strict=True)]
    margins = [release.margin(name)[place] for release, place in zip(releases, at, strict=True)]
    if None in values or None in margins:
        return f"{values[0]} | {values[1]}"
    in_ranks = next(
        (output.margin_of for output in releases[0].outputs if output.name == name and output.margin_of), ""
    )
    if in_ranks:
        return f"{values[0]:,} | {values[1]:,}  not compared, because margins are in {in_ranks}"
    (one, other), allowed = map(float, values), sum(map(float, margins))  # type: ignore[arg-type]
    verdict = "within the noise" if abs(other - one) <= allowed else "MORE THAN THE NOISE"
    return f"{one:,.6g} | {other:,.6g}  difference {other - one:,.6g} of ± {allowed:,.6g}: {verdict}"


def _keys(release: Release) -> list[tuple[Value, ...]]:
    return list(zip(*(key.values for key in release.keys), strict=True)) if release.keys else [()] * len(release)


def _label(key: tuple[Value, ...]) -> str:
    return f"{' / '.join(map(rendering.cell, key))}  " if key else ""
