"""`discreet release`: what a saved release says, whether it was changed, and how two of them differ."""

import json
import shlex
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any

import typer

from discreet import accounting, events
from discreet.catalog.catalog import Value
from discreet.cli import exit_codes
from discreet.cli.output import AsJson, print_json, print_result
from discreet.cli.receipt import checked_key
from discreet.cli.terminal import print_fitting
from discreet.errors import UnsupportedError
from discreet.exact.numbers import shown
from discreet.ledger.integrity.results import ResultVerification, verify_result
from discreet.ledger.records.history import charge_text
from discreet.ledger.records.receipt import Receipt
from discreet.release.document import Lines, aligned
from discreet.release.forms import read_plain
from discreet.release.model import ModelRelease
from discreet.release.noisy_columns import formula
from discreet.release.release import Release
from discreet.release.result import Result
from discreet.release.saved import Saved, read_saved
from discreet.release.sql_release import SqlRelease
from discreet.release.values import rendering

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


@app.command(epilog="Example: discreet release show table.csv")
def show(
    file: File,
    accountants: Annotated[bool, typer.Option("--accountants", help="Show the epsilon of every accountant.")] = False,
    as_json: AsJson = False,
) -> None:
    """Print a release with what was asked and what it cost.

    It also says what its margins do not include.
    """
    found = read_saved(file)
    results = found.releases if isinstance(found, SqlRelease) else (found,)
    if as_json:
        stated = [
            [{"label": label, "text": text} for label, text in _lines(each, is_long=accountants)] for each in results
        ]
        print_json({"release": found.to_json(), "stated": stated})
        return
    print_fitting(str(found), sys.stdout)
    for result in results:
        above = result.card if isinstance(result, ModelRelease) else ()
        lines = tuple(line for line in _lines(result, is_long=accountants) if line not in above)
        print_fitting(f"\n{aligned(lines)}", sys.stdout)
    if isinstance(found, SqlRelease):
        lines = (("statement", " ".join(found.text.split())), ("dialect", found.dialect))
        print_fitting(f"\n{aligned(lines)}", sys.stdout)


@app.command(epilog='Example: discreet release verify release.json --key "$KEY"')
def verify(file: File, keys: Keys, as_json: AsJson = False) -> None:
    """Check that nothing in a saved release was changed.

    A key of the ledger must have signed it: one that is given, or one that a given key of the owner listed, as the
    certificate in the receipt shows.

    Ends with 0 if all of it is as it was signed, 1 if something is wrong or the key is not known, and 3 if no signature
    covers the numbers or the table.
    """
    publics = [checked_key(text) for text in keys]
    found = read_saved(file)
    documents = [each.to_json() for each in found.releases] if isinstance(found, SqlRelease) else [read_plain(file)]
    checks = [verify_result(each, publics) for each in documents]
    table = found if isinstance(found, SqlRelease) else None
    print_result(_plain_checks(checks, table), "\n".join(_check_lines(checks, table)), as_json=as_json)
    if code := _code(checks, table):
        raise typer.Exit(code)


def _code(checks: Sequence[ResultVerification], table: SqlRelease | None) -> int:
    """The exit code; the table of a statement has parts that no signature covers."""
    if any(check.faults for check in checks):
        return exit_codes.PROBLEM
    is_covered = table is None and all(check.ok for check in checks)
    return exit_codes.OK if is_covered else exit_codes.UNDECIDED


def _plain_checks(checks: Sequence[ResultVerification], table: SqlRelease | None) -> dict[str, Any]:
    """The result of a verification as plain data."""
    unknown = all(check.is_by_unknown_key for check in checks if check.faults)
    is_table_alone = table is not None and all(check.ok for check in checks)
    uncovered = "table not covered" if is_table_alone else "not covered"
    problem = "unknown key" if unknown else "wrong"
    words = {exit_codes.OK: "covered", exit_codes.PROBLEM: problem, exit_codes.UNDECIDED: uncovered}
    results = [
        {
            "receipt": json.loads(check.receipt.to_json()),
            "faults": list(check.faults),
            "numbers_covered": check.ok,
            "uncovered": check.uncovered,
        }
        for check in checks
    ]
    formulas = {} if table is None else {name: formula(column) for name, column in table.recipe.columns.items()}
    return {"verdict": words[_code(checks, table)], "results": results, "columns_not_signed": formulas}


def _check_lines(checks: Sequence[ResultVerification], table: SqlRelease | None) -> Iterator[str]:
    """The result of a verification in lines of text."""
    for check in checks:
        yield from _result_lines(check)
    if table is not None:
        for name, column in table.recipe.columns.items():
            yield f"column   {rendering.cell(name)} = {rendering.cell(formula(column))}"
        yield "table    computed again from these releases, and the same"
        yield "table    not signed: names and formulas of columns, the choice of rows, and the statement"


def _result_lines(found: ResultVerification) -> Iterator[str]:
    """What was found of one result."""
    receipt = found.receipt
    if found.is_by_unknown_key:
        yield f"UNKNOWN KEY  {ascii(receipt.key)[1:-1]} signed it, so nothing is known of the numbers"
        yield "             --key with that key, or with the owner's where the receipt has a certificate of its key"
        return
    if found.faults:
        yield from (f"WRONG  {fault}" for fault in found.faults)
        return
    yield f"charge   {charge_text(receipt)}"
    yield f"receipt  {receipt.id}, event {receipt.sequence}, by {receipt.analyst!r}, signed by key {receipt.key}"
    if found.uncovered is not None:
        yield f"numbers  not covered: {found.uncovered}"
        return
    yield f"ledger   {receipt.ledger}"
    yield "numbers  covered by the signature of that key, with the query and everything else in the file"


@app.command(epilog="Example: discreet release compare june.json july.json")
def compare(file: File, other: Other, as_json: AsJson = False) -> None:
    """Print how two releases differ, and whether noise explains it.

    Of two models it prints their cards and scores.
    """
    first, second = (read_saved(path) for path in (file, other))
    rows: list[AnswerDifference] = []
    if isinstance(first, ModelRelease) and isinstance(second, ModelRelease):
        differences = tuple(_model_differences(first, second))
    else:
        one, another = _require_table(first, file), _require_table(second, other)
        differences, rows = tuple(_differences(one, another)), list(_rows(one, another))
    stated = [{"label": label, "text": text} for label, text in differences]
    if as_json:
        print_json({"differences": stated, "answers": [each.to_json() for each in rows]})
        return
    print_fitting("\n".join([aligned(differences), *([""] if rows else []), *map(str, rows)]), sys.stdout)


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


def _require_table(found: Saved, path: Path) -> Release:
    if not isinstance(found, Release):
        raise UnsupportedError(
            f"a comparison of {str(path)!r}",
            because="only two tables or two models are compared",
            instead=f"discreet release show {shlex.quote(str(path))}",
        )
    return found


def _header_differences(first: Result, second: Result) -> Iterator[tuple[str, str]]:
    names = {"dataset": "dataset", "version": "version", "guarantee": "guarantee", "library": "discreet"}
    for name, label in names.items():
        one, other = getattr(first, name), getattr(second, name)
        yield label, f"the same: {one}" if one == other else f"{one} | {other}"
    yield from _query_differences(first, second)


def _model_differences(first: ModelRelease, second: ModelRelease) -> Iterator[tuple[str, str]]:
    """How two models were trained, and the scores of their cards side by side."""
    yield from _header_differences(first, second)
    one, other = (dict(line for line in each.card if line not in _query(each)) for each in (first, second))
    yield from ((label, f"{one.get(label, '-')} | {other.get(label, '-')}") for label in one | other)
    yield "noise", "differs between any two models, also of the same query; intervals of scores are for their noise"


def _query(found: Result) -> Lines:
    return () if found.document is None else found.document.query


def _differences(first: Release, second: Release) -> Iterator[tuple[str, str]]:
    yield from _header_differences(first, second)
    level = max(Fraction(0), first.confidence + second.confidence - 1)
    yield (
        "noise",
        (
            "explains the difference of an answer up to the sum of both margins, "
            f"with probability at least {shown(100 * level)}% if the exact values are equal"
        ),
    )


def _query_differences(one: Result, other: Result) -> Iterator[tuple[str, str]]:
    first, second = one.document, other.document
    if first is None or second is None:
        yield "query", "not in a file of version 1"
        return
    if first.query == second.query:
        is_same = one.receipt.get("question") == other.receipt.get("question")
        yield "query", "the same" if is_same else "the same words, and another fingerprint: constants or costs differ"
    yield from (("only in the first", ": ".join(line)) for line in first.query if line not in second.query)
    yield from (("only in the second", ": ".join(line)) for line in second.query if line not in first.query)


@dataclass(frozen=True)
class AnswerDifference:
    """An answer of two releases: in words, and its numbers where both have it."""

    key: tuple[Value, ...]
    text: str
    output: str | None = None
    numbers: dict[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        name = "" if self.output is None else f"{self.output}  "
        return f"{_label(self.key)}{name}{self.text}"

    def to_json(self) -> dict[str, Any]:
        """The same as plain data."""
        return {"key": [*map(rendering.cell, self.key)], "output": self.output, "text": self.text} | self.numbers


def _rows(first: Release, second: Release) -> Iterator[AnswerDifference]:
    """Each answer that both have: the two values, their difference, and the sum of their margins."""
    places = {key: place for place, key in enumerate(_keys(second))}
    names = [output.name for output in first.outputs if output.name in {other.name for other in second.outputs}]
    for place, key in enumerate(_keys(first)):
        if key not in places:
            yield AnswerDifference(key, "only in the first")
            continue
        at = place, places.pop(key)
        for name in names:
            text, numbers = _difference(name, (first, second), at)
            yield AnswerDifference(key, text, name, numbers)
    yield from (AnswerDifference(key, "only in the second") for key in places)


def _difference(name: str, releases: tuple[Release, Release], at: tuple[int, int]) -> tuple[str, dict[str, Any]]:
    """The two values of an output, and whether noise explains their difference."""
    values = [release[name][place] for release, place in zip(releases, at, strict=True)]
    margins = [release.margin(name)[place] for release, place in zip(releases, at, strict=True)]
    if None in values or None in margins:
        return f"{values[0]} | {values[1]}", {}
    in_ranks = next(
        (output.margin_of for output in releases[0].outputs if output.name == name and output.margin_of), ""
    )
    if in_ranks:
        return f"{values[0]:,} | {values[1]:,}  not compared, because margins are in {in_ranks}", {}
    (one, other), allowed = map(float, values), sum(map(float, margins))  # type: ignore[arg-type]
    is_noise = abs(other - one) <= allowed
    verdict = "within the noise" if is_noise else "MORE THAN THE NOISE"
    text = f"{one:,.6g} | {other:,.6g}  difference {other - one:,.6g} of ± {allowed:,.6g}: {verdict}"
    return text, {"values": [one, other], "margins": allowed, "within_noise": is_noise}


def _keys(release: Release) -> list[tuple[Value, ...]]:
    return list(zip(*(key.values for key in release.keys), strict=True)) if release.keys else [()] * len(release)


def _label(key: tuple[Value, ...]) -> str:
    return f"{' / '.join(map(rendering.cell, key))}  " if key else ""
