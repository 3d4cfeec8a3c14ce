"""`discreet ledger`: what owners and auditors do with a ledger, in a file or in PostgreSQL."""

import hashlib
import json
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Annotated, Any

import typer

from discreet.accounting.filters import Budget
from discreet.cli import address, ledger_health, receipt
from discreet.cli.examples import examples
from discreet.cli.ledger_findings import (
    conclude,
    health_of,
    next_lines,
    recovery_document,
    recovery_lines,
    schema_lines,
    waiting,
)
from discreet.cli.ledger_keys import keys
from discreet.cli.ledger_options import HOUSE, Anchors, KeyFile, Reason, Where
from discreet.cli.ledger_places import places
from discreet.cli.opening import open_file_ledger, open_ledger_at, refuse_ledger_file
from discreet.cli.output import AsJson, print_result
from discreet.errors import ParameterError
from discreet.exact.numbers import shown
from discreet.ledger import Entry, Ledger, Receipt, ReleaseKind
from discreet.ledger.integrity.verification import EVERY_DATASET
from discreet.ledger.ledger import OWNER
from discreet.ledger.records.quota import EVERYONE, NoChange
from discreet.ledger.records.receipt import cost_texts
from discreet.ledger.reporting.report import DELTAS, Overview
from discreet.ledger.reporting.spending import plain
from discreet.ledger.reporting.tables import WIDTH, with_commands_apart


def number(text: str) -> Decimal:
    """A number as it was typed, to the last digit."""
    try:
        return Decimal(text)
    except InvalidOperation:
        raise typer.BadParameter(f"{text!r} is not a number") from None


Name = Annotated[
    str, typer.Argument(metavar="DATASET", help="Name of the dataset.", parser=address.name, show_default=False)
]
AnyName = Annotated[
    str | None,
    typer.Argument(metavar="DATASET", help="Name of the dataset; all otherwise.", parser=address.name),
]
Receipts = Annotated[
    list[Path] | None,
    typer.Option("--receipt", metavar="FILE", help="A receipt, or a saved release, from outside; may be repeated."),
]
NewEpsilon = Annotated[
    Decimal | None,
    typer.Option("--epsilon", parser=number, metavar="NUMBER", help="The new epsilon; as it is otherwise."),
]
NewDelta = Annotated[
    Decimal | None, typer.Option("--delta", parser=number, metavar="NUMBER", help="The new delta; as it is otherwise.")
]

SURROUNDINGS = (
    "DISCREET_HOME names the directory that has the ledger, its key and its anchors where no option says otherwise;"
    " without it, it is ~/.discreet. DISCREET_ANCHORS says where this machine finds the anchors that all machines"
    " share; without it, they are where the ledger says."
)

app = typer.Typer(name="ledger", help="Look at a ledger, verify it, limit it, keep it.", epilog=SURROUNDINGS, **HOUSE)
app.add_typer(places)
app.add_typer(keys, name="key")


@app.command(epilog="Example: discreet ledger show visits")
def show(
    dataset: AnyName = None,
    deltas: Annotated[
        list[Decimal] | None,
        typer.Option("--delta", parser=number, metavar="NUMBER", help="Tell epsilon at this delta; may be repeated."),
    ] = None,
    analyst: Annotated[
        str | None, typer.Option(metavar="NAME", help="What this analyst spent.", parser=address.name)
    ] = None,
    fixed: Annotated[
        bool,
        typer.Option("--fixed-in-advance", help="You state: all was chosen before the first answer was seen."),
    ] = False,
    as_json: AsJson = False,
    where: Where = None,
    key: KeyFile = None,
    anchors: Anchors = None,
) -> None:
    """Tell what was spent and is left, of one dataset or of all."""
    options: dict[str, Any] = {"analyst": analyst, "deltas": deltas or DELTAS, "fixed_in_advance": fixed}
    if where is None:
        refuse_ledger_file(dataset, "show")
    with open_ledger_at(where, key, anchors) as ledger:
        names = [known.name for known in ledger.datasets()] if dataset is None else [dataset]
        reports = [ledger.report(name, **options) for name in names]
        stopped = _print_stops(ledger, names)
    shown = Overview(reports) if dataset is None else reports[0]
    reasons = {name or EVERY_DATASET: why for name, why in stopped.items()}
    print_result(shown.to_dict() | {"stopped": reasons}, shown, as_json=as_json)


app.command("health", cls=ledger_health.HealthCommand, epilog=ledger_health.EXAMPLE)(ledger_health.health)


@app.command(epilog="Example: discreet ledger history visits")
def history(
    dataset: Name, as_json: AsJson = False, where: Where = None, key: KeyFile = None, anchors: Anchors = None
) -> None:
    """List what happened to a dataset, in order."""
    if where is None:
        refuse_ledger_file(dataset, "history")
    with open_ledger_at(where, key, anchors) as ledger:
        entries = ledger.history(dataset)
        stopped = _print_stops(ledger, [dataset])
    reasons = {name or EVERY_DATASET: why for name, why in stopped.items()}
    document: dict[str, Any] = {"schema": "discreet.history/1", "dataset": dataset, "stopped": reasons}
    document["entries"] = [_plain(entry) for entry in entries]
    print_result(document, "\n".join(map(str, entries)), as_json=as_json)


@app.command(
    epilog=examples(
        "discreet ledger verify",
        "discreet ledger verify --full --ledger postgresql://discreet_service@db.example.org/records",
    )
)
def verify(
    dataset: AnyName = None,
    receipts: Receipts = None,
    full: Annotated[
        bool, typer.Option("--full", help="Read everything again, also what an earlier run has verified.")
    ] = False,
    as_json: AsJson = False,
    where: Where = None,
    key: KeyFile = None,
    anchors: Anchors = None,
) -> None:
    """Recompute every chain and compare; findings end with 1.

    It goes on from the last event that was verified. Only --full finds changes of rows before that event.
    A dataset with a finding is not served any more, by anybody, until `recover`. Until then it is named, and ends with
    1.
    """
    given = _read(receipts)
    if where is None:
        refuse_ledger_file(dataset, "verify")
    with open_ledger_at(where, key, anchors) as ledger, waiting("verifying ..."):
        anchored = ledger.anchors()  # before: a verification without a finding is anchored
        found = ledger.verify(dataset, receipts=given, full=full)
    if not anchored:
        typer.echo("there were no anchors to compare with, so an older copy would look like this one", err=True)
    conclude(found, as_json=as_json, has_anchors=bool(anchored), lines=next_lines(found))


@app.command(
    epilog=examples(
        'discreet ledger recover --reason "an older copy was put back"',
        'discreet ledger recover --reason "the disk failed" --receipt today.json'
        " --ledger postgresql://discreet_steward@db.example.org/records",
    )
)
def recover(
    reason: Reason,
    receipts: Receipts = None,
    as_json: AsJson = False,
    where: Where = None,
    key: KeyFile = None,
    anchors: Anchors = None,
) -> None:
    """Serve again after damage or an old copy.

    What was spent becomes the most that any evidence shows; nothing is ever lowered.
    """
    given = _read(receipts)
    with open_ledger_at(where, key, anchors, as_owner=True) as ledger, waiting("recovering ..."):
        before = health_of(ledger)
        left = ledger.recover(reason=reason, receipts=given)
        anchored, after = ledger.anchors(), health_of(ledger)
    lines = [*recovery_lines(before, after), *schema_lines(left)]
    recovered = recovery_document(before, after)
    conclude(left, as_json=as_json, has_anchors=bool(anchored), lines=lines, recovered=recovered)


@app.command(epilog="Example: discreet ledger anchor")
def anchor(as_json: AsJson = False, where: Where = None, key: KeyFile = None, anchors: Anchors = None) -> None:
    """Write down, outside the ledger, where every chain stands."""
    with open_ledger_at(where, key, anchors) as ledger:
        ledger.anchor()
        number_of = len(ledger.datasets())
    print_result({"datasets": number_of}, f"{_pluralize(number_of, 'dataset')} anchored", as_json=as_json)


@app.command(epilog=examples('discreet ledger cap visits --epsilon 3 --reason "decided by the board"'))
def cap(
    dataset: Name,
    reason: Reason,
    epsilon: NewEpsilon = None,
    delta: NewDelta = None,
    as_json: AsJson = False,
    where: Where = None,
    key: KeyFile = None,
    anchors: Anchors = None,
) -> None:
    """Set a new privacy budget for a dataset.

    What is not given stays as it is, and what was spent stays spent.
    """
    with open_ledger_at(where, key, anchors, as_owner=True) as ledger:
        budget = _budget(ledger.budget(dataset), epsilon, delta, reason)
        ledger.set_cap(dataset, budget, reason=reason)
        now = ledger.budget(dataset)
    text = f"the privacy budget of {dataset!r} is {now} now; what was spent stays spent"
    print_result({"dataset": dataset, "budget": _plain_budget(now)}, text, as_json=as_json)


@app.command(epilog='Example: discreet ledger quota visits ann --epsilon 0.5 --reason "a trial"')
def quota(
    dataset: Name,
    reason: Reason,
    analyst: Annotated[
        str,
        typer.Argument(metavar="ANALYST", help="Name; everyone otherwise.", parser=address.name, show_default=False),
    ] = EVERYONE,
    epsilon: NewEpsilon = None,
    delta: NewDelta = None,
    failures: Annotated[
        int | None,
        typer.Option(metavar="NUMBER", help="How many queries may fail after data was read.", show_default=False),
    ] = None,
    lift: Annotated[bool, typer.Option("--lift", help="No quota any more; the cap stays.")] = False,
    as_json: AsJson = False,
    where: Where = None,
    key: KeyFile = None,
    anchors: Anchors = None,
) -> None:
    """Limit what an analyst may spend, and how often fail.

    What is not given stays as it is. Without an analyst it holds for everyone who has no quota of their own.
    """
    given = (epsilon, delta) != (None, None)
    if lift and given:
        raise _both()
    with open_ledger_at(where, key, anchors, as_owner=True) as ledger:
        budget: Budget | NoChange | None = None if lift else NoChange.QUOTA
        if given:
            budget = _budget(ledger.share(dataset, analyst).quota, epsilon, delta, reason)
        ledger.set_quota(dataset, analyst, budget, failures=failures, reason=reason)
        share = ledger.share(dataset, analyst)
    whose = "everyone without a quota of their own" if analyst == EVERYONE else repr(analyst)
    allowed = "what is left of the cap" if share.quota is None else str(share.quota)
    text = f"{whose} may spend {allowed} of {dataset!r}, and fail {_pluralize(share.most_failures, 'time')}"
    quota_now = None if share.quota is None else _plain_budget(share.quota)
    given_to = {"dataset": dataset, "analyst": None if analyst == EVERYONE else analyst}
    print_result(given_to | {"quota": quota_now, "failures": share.most_failures}, text, as_json=as_json)


@app.command(epilog='Example: discreet ledger rename visits stays --reason "as the register has it"')
def rename(
    dataset: Name,
    to: Annotated[str, typer.Argument(metavar="NEW", help="The new name.", parser=address.name, show_default=False)],
    reason: Reason,
    as_json: AsJson = False,
    where: Where = None,
    key: KeyFile = None,
    anchors: Anchors = None,
) -> None:
    """Give a dataset another name, with the same budget."""
    with open_ledger_at(where, key, anchors, as_owner=True) as ledger:
        ledger.rename(dataset, to, reason=reason)
    text = f"{to!r} and {dataset!r} are one dataset, with one privacy budget"
    print_result({"dataset": to, "alias": dataset}, text, as_json=as_json)


@app.command(
    "other-release", epilog=examples('discreet ledger other-release visits "ages in tens" --file published.csv')
)
def other_release(
    dataset: Name,
    what: Annotated[
        str,
        typer.Argument(metavar="WHAT", help="The release in words; later ones repeat them.", show_default=False),
    ],
    kind: Annotated[ReleaseKind, typer.Option(help="What it consists of.")] = ReleaseKind.GENERALISED,
    file: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Record the SHA-256 of this file.", show_default=False)
    ] = None,
    author: Annotated[
        str, typer.Option(metavar="NAME", help="Name of the person who records it.", parser=address.name)
    ] = OWNER,
    as_json: AsJson = False,
    where: Where = None,
    key: KeyFile = None,
    anchors: Anchors = None,
) -> None:
    """Record a release that was not charged.

    It costs nothing. Receipts and documents of later releases list it.
    """
    sha256 = None if file is None else _digest_of(file)
    with open_ledger_at(where, key, anchors) as ledger:
        found = ledger.add_other_release(dataset, what, kind=kind, sha256=sha256, author=author)
    text = f"recorded for {found.dataset!r}, and nothing was charged: {found.text}"
    print_result({"schema": "discreet.other-release/1"} | vars(found), text, as_json=as_json)


@app.command(epilog="Example: discreet ledger expire")
def expire(
    grace: Annotated[int, typer.Option(metavar="SECONDS", help="Whole seconds after a lease.", min=0)] = 86_400,
    as_json: AsJson = False,
    where: Where = None,
    key: KeyFile = None,
    anchors: Anchors = None,
) -> None:
    """Forfeit charges that were left behind.

    Their holder went silent, and nobody asked the query again.
    """
    with open_ledger_at(where, key, anchors) as ledger:
        number_of = ledger.forfeit_expired(grace=grace)
    print_result({"forfeited": number_of}, f"{_pluralize(number_of, 'charge')} forfeited", as_json=as_json)


@app.command(epilog="Example: discreet ledger backup copy.sqlite")
def backup(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A path where nothing is yet.", show_default=False)],
    as_json: AsJson = False,
    where: Where = None,
    key: KeyFile = None,
    anchors: Anchors = None,
) -> None:
    """Copy a ledger in a file, while it is in use."""
    with open_file_ledger(where, key, anchors) as ledger:
        ledger.backup(file)
        number_of = len(ledger.datasets())
    text = f"{_pluralize(number_of, 'dataset')} copied to {str(file)!r}"
    print_result({"datasets": number_of, "file": str(file)}, text, as_json=as_json)


def _print_stops(ledger: Ledger, names: list[str]) -> dict[str, str]:
    """Reasons of the datasets that are stopped, which are printed on standard error."""
    stopped = {name: why for name, why in ledger.stopped_datasets().items() if name in ("", *names)}
    for name, why in stopped.items():
        sentence = f"{repr(name) if name else EVERY_DATASET} is stopped: {why}"
        typer.echo("\n".join(with_commands_apart(sentence, WIDTH)), err=True)
    return stopped


def _budget(current: Budget | None, epsilon: Decimal | None, delta: Decimal | None, reason: str) -> Budget:
    """A budget with the current value of what is not given; the division of delta is never changed here."""
    if epsilon is None and current is None:
        raise ParameterError(
            f"a quota with delta {delta} and no epsilon", because="there is none to keep", instead="--epsilon 0.5"
        )
    if current is not None and delta is not None and delta < current.reserve:
        raise ParameterError(
            f"a budget with --delta {delta}",
            because=f"{shown(current.reserve)} of its delta is reserved, and the division of delta stays as it is",
            instead=f"--delta {shown(current.reserve)}, or more",
        )
    old = {} if current is None else current.arguments
    new = {name: value for name, value in {"epsilon": epsilon, "delta": delta}.items() if value is not None}
    return Budget(**old | new | {"reason": reason})


def _both() -> ParameterError:
    return ParameterError(
        "a quota that is set and lifted at once",
        because="--lift takes away what --epsilon and --delta would set",
        instead="either of them",
    )


def _read(files: list[Path] | None) -> list[Receipt]:
    return [receipt.read(file)[0] for file in files or ()]


def _plain_budget(budget: Budget) -> dict[str, Any]:
    return {"epsilon": plain(budget.epsilon), "delta": plain(budget.delta)}


def _plain(entry: Entry) -> dict[str, Any]:
    """An entry as plain JSON; costs are whole units as text."""
    texts = {"event": entry.event, "detail": entry.detail}
    documents = {name: None if text is None else json.loads(text) for name, text in texts.items()}
    return vars(entry) | {"cost": cost_texts(entry.cost)} | documents


def _digest_of(file: Path) -> str:
    """The SHA-256 of a file, read in pieces."""
    try:
        with file.open("rb") as content:
            return hashlib.file_digest(content, "sha256").hexdigest()
    except OSError:
        raise ParameterError(
            f"the file {str(file)!r}",
            because="it is not there, or cannot be read",
            instead="--file with the path of the file that was published",
        ) from None


def _pluralize(number_of: int, noun: str) -> str:
    return f"{number_of:,} {noun}{'' if number_of == 1 else 's'}"
