"""`discreet ledger`: where a ledger and its anchors are; making one in PostgreSQL, and moving one there."""

import shlex
from typing import Annotated, Any
from urllib.parse import quote

import typer

from discreet.cli import address
from discreet.cli.examples import examples
from discreet.cli.ledger_findings import conclude, next_lines, waiting
from discreet.cli.ledger_options import HOUSE, Anchors, KeyFile, Reason, Where
from discreet.cli.opening import existing_file, open_ledger_at, refuse_missing_key
from discreet.cli.output import AsJson, print_result
from discreet.errors import ParameterError
from discreet.ledger import PostgresLedger, move_to_postgres
from discreet.ledger.reporting.tables import WIDTH, with_commands_apart
from discreet.ledger.stores.anchor_places import public_place
from discreet.ledger.stores.postgres_schema import VERSION

NewAddress = Annotated[
    str, typer.Argument(metavar="ADDRESS", help="Where the owner of the database connects.", show_default=False)
]
ServiceRole = Annotated[
    str,
    typer.Option("--role", metavar="NAME", help="The role of the service that will charge.", show_default=False),
]
StewardRole = Annotated[
    str | None,
    typer.Option(
        "--steward", metavar="NAME", help="The role that will register, set budgets and recover.", show_default=False
    ),
]

_STOPPED = (
    "every dataset is stopped: run discreet ledger verify --ledger LEDGER on each machine, which writes to the new"
    " store what that machine knows; then, with --receipt FILE for each receipt, run discreet ledger recover --ledger"
    " LEDGER --reason TEXT"
)
CLOSED = "the file accepts nothing any more"

places = typer.Typer(**HOUSE)


@places.command(
    epilog=examples(
        "discreet ledger create postgresql://owner@db.example.org/records --role discreet_service"
        " --steward discreet_steward"
    )
)
def create(
    owner: NewAddress,
    role: ServiceRole,
    steward: StewardRole = None,
    shared_anchors: Annotated[
        str | None,
        typer.Option(metavar="PLACE", help="A directory or database of anchors for all machines.", show_default=False),
    ] = None,
    as_json: AsJson = False,
    key: KeyFile = None,
    anchors: Anchors = None,
) -> None:
    """Make a ledger in PostgreSQL, or migrate it.

    Run by the owner of the database. It can be repeated: it migrates an older ledger, and gives the named roles exactly
    their rights. The signing key of a new ledger's creator lists those of other machines.
    """
    if not address.is_address(owner):
        raise _no_address("create", "a ledger in a file needs no creation: the first session makes it")
    options: dict[str, Any] = {"key": key, "anchors": anchors, "shared_anchors": shared_anchors}
    PostgresLedger.create(address.in_lower_case(owner), role=role, steward=steward, **options)
    with PostgresLedger(address.in_lower_case(owner), key=key, anchors=anchors, read_only=True) as ledger:
        place = ledger.shared_anchors_place
    lines = [
        f"the ledger's schema is at version {VERSION}",
        f"  {role!r} has the rights of its service",
        *([] if steward is None else [f"  {steward!r} has those of its steward"]),
        f"  shared anchors: {place or 'not named'}",
        *([f"  {_finding(place)}"] if place is not None and address.is_address(place) else []),
    ]
    document = {"schema_version": VERSION, "role": role, "steward": steward, "shared_anchors": place}
    print_result(document, "\n".join(lines), as_json=as_json)


@places.command(
    epilog=examples(
        "discreet ledger move postgresql://owner@db.example.org/records --role discreet_service"
        " --steward discreet_steward --ledger ledger.sqlite"
    )
)
def move(
    owner: NewAddress,
    role: ServiceRole,
    steward: StewardRole = None,
    as_json: AsJson = False,
    where: Where = None,
    key: KeyFile = None,
    anchors: Anchors = None,
) -> None:
    """Move a ledger from a file to PostgreSQL.

    Everything is kept: budgets, spending, answers, receipts, keys. The file accepts nothing afterwards. Run by the
    owner of the database; a move that was interrupted is run again.
    """
    refuse_missing_key(key)
    is_remote = where is not None and address.is_address(where)  # which the move refuses with its own advice
    file = where if where is not None and is_remote else existing_file(where)
    if not address.is_address(owner):
        because = "a ledger moves to a database, and this is not an address of one"
        raise _no_address("move", because, f" --ledger {shlex.quote(str(file))}")
    with waiting("moving and verifying ..."):
        to = address.in_lower_case(owner)
        found = move_to_postgres(file, to, role=role, steward=steward, key=key, anchors=anchors)
    with PostgresLedger(to, key=key, anchors=anchors, read_only=True) as ledger:
        place = ledger.shared_anchors_place
    next_address = _address_of(to, role)
    lines = _next_lines(next_address, place) if found.ok else [CLOSED, *next_lines(found)]
    conclude(found, as_json=as_json, has_anchors=True, lines=lines, moved_to=next_address)


@places.command(
    "share-anchors",
    epilog=examples(
        "discreet ledger share-anchors /mnt/anchors --reason growth"
        " --ledger postgresql://ledger_owner@db.example.org/records"
    ),
)
def share_anchors(
    place: Annotated[
        str,
        typer.Argument(metavar="PLACE", help="A directory, or the address of another database.", show_default=False),
    ],
    reason: Reason,
    lost: Annotated[
        bool, typer.Option("--lost", help="The present store is lost for good: nothing is charged before recover.")
    ] = False,
    as_json: AsJson = False,
    where: Where = None,
    key: KeyFile = None,
    anchors: Anchors = None,
) -> None:
    """Name the store of anchors that all machines share.

    Run where the owner's key is, in DISCREET_HOME or named by an option. The ledger keeps a path, and of an address the
    host, the port and the database. On each machine DISCREET_ANCHORS says where it finds the store, if at another path,
    and with which role, if in a database.
    """
    with open_ledger_at(where, key, anchors, as_owner=True) as ledger:
        ledger.share_anchors(place, reason=reason, lost=lost)
        named = ledger.shared_anchors_place
        is_stopped = lost and "" in ledger.stopped_datasets()
    lines = [f"the machines of this ledger share their anchors at {named}", f"  {_finding(named or place)}"]
    lines += [f"  {line}" for line in with_commands_apart(_STOPPED, WIDTH - 2)] if is_stopped else []
    document = {"shared": True, "shared_anchors": named, "every_dataset_is_stopped": is_stopped}
    print_result(document, "\n".join(lines), as_json=as_json)


def _finding(named: str) -> str:
    """How each machine finds the shared anchors: an address is kept without the role, which none can do without."""
    if not address.is_address(named):
        return "each finds them there, or where DISCREET_ANCHORS says"
    variable = f"DISCREET_ANCHORS={_address_of(named, 'ROLE')}"
    return f"each machine sets, with the role that its processes use:\n    {variable}"


def _next_lines(moved_to: str, shared_anchors: str | None) -> list[str]:
    """What comes after a move."""
    share = f"discreet ledger share-anchors PLACE --reason TEXT --ledger {_address_of(moved_to, 'OWNER')}"
    anchors = f"several machines share their anchors first: {share}"
    return [
        CLOSED,
        f'sessions go on with ledger="{moved_to}"',
        anchors if shared_anchors is None else f"shared anchors: {shared_anchors}",
    ]


def _no_address(command: str, because: str, rest: str = "") -> ParameterError:
    call = f"discreet ledger {command} postgresql://owner@db.example.org/records --role discreet_service"
    instead = f"{call} --steward discreet_steward{rest}"
    return ParameterError("an address that is not one of PostgreSQL", because=because, instead=instead)


def _address_of(where: str, role: str) -> str:
    """An address for another role: host, port and database, without password and options."""
    return public_place(address.in_lower_case(where)).replace("//", f"//{quote(role, safe='')}@", 1)
