"""The SQL of the ledger on SQLite: one function for each thing that is read or written inside a transaction."""

import secrets
import sqlite3
from collections.abc import Iterator, Mapping
from typing import Any

from discreet.errors import Failure, LedgerError, NameNotFoundError, ParameterError, suggestion
from discreet.ledger import admission, faults, registration, schema
from discreet.ledger.account import Account, account_of, opened
from discreet.ledger.chain import Kind, Link, State, columns_of, link_of
from discreet.ledger.history import Entry
from discreet.ledger.receipt import Receipt, Reservation, receipt_of
from discreet.ledger.registration import Dataset, Registration, budget_columns, version_digest
from discreet.ledger.text import canonical, digest, label
from discreet.ledger.verification import Evidence, Finding

_CHARGE = """UPDATE datasets SET
  spent_epsilon = spent_epsilon + :epsilon, spent_rho = spent_rho + :rho, spent_delta = spent_delta + :delta,
  sequence = :sequence, head = :head
WHERE name = :name AND head = :previous AND spent_delta + :delta <= cap_delta AND (
  (spent_epsilon IS NOT NULL AND spent_epsilon + :epsilon <= cap_epsilon) OR spent_rho + :rho <= cap_rho
)"""
_PROMISE = """
  epsilon = :epsilon, delta = :delta, reserved_delta = :reserved_delta, ceiling = :ceiling, reason = :reason,
  cap_epsilon = :cap_epsilon, cap_rho = :cap_rho, cap_delta = :cap_delta,
  floor_epsilon = :floor_epsilon, floor_rho = :floor_rho, floor_delta = :floor_delta,
  sequence = :sequence, head = :head
WHERE name = :name AND head = :previous"""
_CAP = "UPDATE datasets SET" + _PROMISE
_REGISTER_AGAIN = "UPDATE datasets SET unit = :unit, neighbours = :neighbours," + _PROMISE
_CORRECT = """UPDATE versions SET source = :source, facts = :facts, population = :population
WHERE dataset = :dataset AND version = :version"""
_ADVANCE = "UPDATE datasets SET sequence = :sequence, head = :hash WHERE name = :dataset AND head = :previous"
_CONCLUDE = "UPDATE reservations SET state = ? WHERE dataset = ? AND sequence = ? AND state = 'RESERVED'"
_VERSION = "SELECT * FROM versions WHERE dataset = ? AND version = ?"
_NEWEST = "SELECT * FROM versions WHERE dataset = ? ORDER BY version DESC LIMIT 1"
_REGISTERED_BY = """SELECT max(sequence) FROM events INDEXED BY registrations
WHERE dataset = ? AND kind IN ('REGISTERED', 'VERSIONED') AND (kind = 'REGISTERED' OR version = ?)"""
_SAME_SOURCE = "SELECT DISTINCT dataset FROM versions WHERE source = ? AND dataset <> ? ORDER BY dataset"
_CHARGED = """SELECT events.*, reservations.state FROM reservations JOIN events USING (dataset, sequence)
WHERE reservations.dataset = ? AND """
_SAME_QUESTION = """SELECT sequence FROM reservations WHERE dataset = ? AND question = ? AND state = 'ANSWERED'
ORDER BY sequence DESC LIMIT 1"""
_PAYLOAD = """SELECT payload, digest FROM answers LEFT JOIN events USING (dataset, reservation)
WHERE answers.dataset = ? AND answers.reservation = ?"""
_HISTORY = """SELECT events.*, reservations.state FROM events LEFT JOIN reservations USING (dataset, sequence)
WHERE events.dataset = ? AND kind NOT IN ('ANSWERED', 'FORFEITED') ORDER BY sequence"""
_NAMES = """SELECT name FROM datasets UNION SELECT dataset FROM versions UNION SELECT dataset FROM events
UNION SELECT dataset FROM reservations UNION SELECT dataset FROM answers"""


def find_account(connection: sqlite3.Connection, name: str) -> Account | None:
    """The account of a dataset, or None."""
    row = connection.execute("SELECT * FROM datasets WHERE name = ?", (label(name, "name"),)).fetchone()
    return None if row is None else account_of(dict(row))


def account(connection: sqlite3.Connection, name: str) -> Account:
    """The account of a dataset that must exist."""
    found = find_account(connection, name)
    if found is None:
        known = names(connection)
        raise NameNotFoundError(
            f"dataset {name!r}",
            because="the ledger has no dataset of that name",
            instead=suggestion(name, known) if known else f"dp.protect(..., name={name!r}), which registers it",
        )
    return found


def names(connection: sqlite3.Connection) -> list[str]:
    """Every name that any table mentions."""
    return [row[0] for row in connection.execute(_NAMES)]


def register_first(connection: sqlite3.Connection, dataset: Dataset) -> Registration:
    """Open an account and draw the key that orders rows."""
    if dataset.facts is None:
        raise registration.no_facts(dataset.name)
    dataset.budget.check_population(dataset.population)
    new = opened(dataset, secrets.token_hex(8))
    facts = _version_row(dataset)
    detail = canonical(_promise(new))
    link = new.link(Kind.REGISTERED, version=dataset.version, digest=version_digest(facts), detail=detail)
    insert(connection, "datasets", new.row() | {"sequence": link.sequence, "head": link.hash})
    insert(connection, "events", columns_of(link))
    insert(connection, "versions", facts)
    return _registration(connection, new, facts, is_new=True)


def register_again(
    connection: sqlite3.Connection, known: Account, stored: Registration, dataset: Dataset
) -> Registration:
    """Replace what is registered, as long as nothing was charged; the event keeps the old and the new."""
    after = known.registered_again(dataset)
    old, new = _version_row(stored), _version_row(dataset, stored)
    for row in (new, *_rows(connection, "versions", known.name, "version")):
        if row is new or row["version"] != dataset.version:
            after.budget.check_population(row["population"])
    detail = canonical({"old": _promise(known) | old, "new": _promise(after) | new})
    link = known.link(Kind.REGISTERED, version=dataset.version, digest=version_digest(new), detail=detail)
    place = {"sequence": link.sequence, "head": link.hash, "previous": known.head}
    _must_change_one(connection, _REGISTER_AGAIN, after.row() | place)
    insert(connection, "events", columns_of(link))
    _must_change_one(connection, _CORRECT, new)
    return _registration(connection, after, new, is_new=True)


def register_version(
    connection: sqlite3.Connection, known: Account, newest: Registration, dataset: Dataset
) -> Registration:
    """Add a version to a lineage: the same cap, the same total, the same key."""
    registration.refuse_an_older_version(dataset, newest.version)
    facts = _version_row(dataset, newest)
    known.budget.check_population(facts["population"])
    append(connection, known.link(Kind.VERSIONED, version=dataset.version, digest=version_digest(facts)))
    insert(connection, "versions", facts)
    return _registration(connection, known, facts, is_new=True)


def registered_version(connection: sqlite3.Connection, known: Account, version: int | None) -> Registration | None:
    """One version of a dataset, the newest unless a number is given; None where it is not registered."""
    by_number = (_NEWEST, (known.name,)) if version is None else (_VERSION, (known.name, version))
    row = connection.execute(*by_number).fetchone()
    return None if row is None else _registration(connection, known, dict(row))


def newest_version(connection: sqlite3.Connection, known: Account) -> Registration:
    """The newest version of a dataset; there is no dataset without one."""
    newest = registered_version(connection, known, None)
    if newest is None:
        raise LedgerError(faults.DAMAGED)
    return newest


def newest_versions(connection: sqlite3.Connection) -> Iterator[Registration]:
    """The newest version of every dataset, by name."""
    for row in connection.execute("SELECT * FROM datasets ORDER BY name").fetchall():
        newest = registered_version(connection, account_of(dict(row)), None)
        if newest is not None:
            yield newest


def refuse_unknown_version(connection: sqlite3.Connection, link: Link) -> None:
    """A charge names a version that its owner registered."""
    if connection.execute(_VERSION, (link.dataset, link.version)).fetchone() is None:
        newest = connection.execute(_NEWEST, (link.dataset,)).fetchone()
        raise NameNotFoundError(
            f"version {link.version} of dataset {link.dataset!r}",
            because="its owner has not registered it",
            instead=f"version={newest['version']}",
        )


def refuse_a_replaced_registration(connection: sqlite3.Connection, link: Link, registered_by: int | None) -> None:
    """A charge under a registration goes with it: its question was made from the facts that were registered then."""
    if registered_by not in (None, _registered_by(connection, link.dataset, link.version)):
        raise registration.replaced(link.dataset)


def same_request(connection: sqlite3.Connection, link: Link) -> Receipt | None:
    """The receipt of an earlier charge under the same request key; the key of another question is refused."""
    if link.request is None:
        return None
    matching = "reservations.analyst = ? AND reservations.request = ?"
    row = connection.execute(_CHARGED + matching, (link.dataset, link.analyst, link.request)).fetchone()
    if row is None:
        return None
    earlier = link_of(row)
    if any(getattr(earlier, c) != getattr(link, c) for c in ("version", "event", "question", "digest")):
        raise ParameterError(
            f"request {link.request!r} for another question",
            because="a request key stands for one question, so that a retry is answered and not charged again",
            instead="a request key of its own for each question, or request=None",
        )
    if row["state"] == State.FORFEITED:
        raise Failure
    return receipt_of(earlier)


def reserve(connection: sqlite3.Connection, known: Account, link: Link, description: str) -> bool:
    """The guarded update and, where it held, the event and the reservation; False where the charge does not fit."""
    if not admission.is_countable(known.spent + link.cost):
        raise admission.beyond_counting()
    place = {"name": known.name, "previous": known.head, "sequence": link.sequence, "head": link.hash}
    if connection.execute(_CHARGE, vars(link.cost) | place).rowcount != 1:
        return False
    insert(connection, "events", columns_of(link))
    kept = {name: getattr(link, name) for name in ("dataset", "sequence", "analyst", "request", "question")}
    insert(connection, "reservations", kept | {"description": description, "state": str(State.RESERVED)})
    return True


def set_cap(connection: sqlite3.Connection, known: Account, after: Account, reason: str) -> None:
    """The new promise and the event that says why."""
    caps = {name: [a.caps.epsilon, a.caps.rho, a.caps.delta] for name, a in (("old", known), ("new", after))}
    detail = {
        "reason": reason,
        "old": {"budget": budget_columns(known.budget), "caps": caps["old"]},
        "new": {"budget": budget_columns(after.budget), "caps": caps["new"]},
        "spent": [known.spent.epsilon, known.spent.rho, known.spent.delta],
    }
    version = connection.execute(_NEWEST, (known.name,)).fetchone()["version"]
    link = known.link(Kind.CAPPED, version=version, detail=canonical(detail))
    _must_change_one(
        connection, _CAP, after.row() | {"sequence": link.sequence, "head": link.hash, "previous": known.head}
    )
    insert(connection, "events", columns_of(link))


def reservation(connection: sqlite3.Connection, named: Reservation) -> tuple[Link, State]:
    """The charge behind a receipt, or behind (dataset, sequence), and where it stands."""
    place = (named.dataset, named.sequence) if isinstance(named, Receipt) else named
    row = connection.execute(_CHARGED + "reservations.sequence = ?", place).fetchone()
    if row is None or (isinstance(named, Receipt) and named.hash != row["hash"]):
        raise LedgerError(faults.FOREIGN_RECEIPT)
    return link_of(row), State(row["state"])


def conclude(connection: sqlite3.Connection, charge: Link, state: State, **columns: Any) -> None:
    """Record what became of a charge: one outcome, once."""
    link = account(connection, charge.dataset).link(
        Kind(state),
        version=charge.version,
        analyst=charge.analyst,
        question=charge.question,
        reservation=charge.sequence,
        **columns,
    )
    append(connection, link)
    _must_change_one(connection, _CONCLUDE, (str(state), charge.dataset, charge.sequence))


def append(connection: sqlite3.Connection, link: Link) -> None:
    """Write a link that charges nothing."""
    columns = columns_of(link)
    _must_change_one(connection, _ADVANCE, columns)
    insert(connection, "events", columns)


def same_question(connection: sqlite3.Connection, name: str, question: str) -> bytes | None:
    """The latest stored answer to a question, or None."""
    row = connection.execute(_SAME_QUESTION, (name, question)).fetchone()
    return None if row is None else payload(connection, name, row["sequence"])


def payload(connection: sqlite3.Connection, name: str, sequence: int) -> bytes:
    """The stored answer of a charge, as its event sealed it."""
    row = connection.execute(_PAYLOAD, (name, sequence)).fetchone()
    if row is None or digest(row["payload"]) != row["digest"]:
        raise LedgerError(faults.DAMAGED)
    return bytes(row["payload"])


def entries(connection: sqlite3.Connection, name: str) -> Iterator[Entry]:
    """The history of a dataset, in the order of its chain."""
    for row in connection.execute(_HISTORY, (name,)):
        link = link_of(row)
        state = row["state"] or (State.REJECTED if link.kind == Kind.REJECTED else None)
        yield Entry(
            sequence=link.sequence,
            time=link.time,
            analyst=link.analyst,
            kind=Kind(link.kind),
            version=link.version,
            cost=link.cost,
            question=link.question,
            state=None if state is None else State(state),
            event=link.event,
            detail=link.detail,
        )


def evidence(connection: sqlite3.Connection, name: str) -> Evidence:
    """Everything that the store holds about a dataset, unread."""
    row = connection.execute("SELECT * FROM datasets WHERE name = ?", (name,)).fetchone()
    answers = connection.execute("SELECT reservation, payload FROM answers WHERE dataset = ?", (name,))
    return Evidence(
        name=name,
        dataset=None if row is None else dict(row),
        versions=_rows(connection, "versions", name, "version"),
        events=_rows(connection, "events", name, "sequence"),
        reservations=_rows(connection, "reservations", name, "sequence"),
        answers={row["reservation"]: digest(row["payload"]) for row in answers},
    )


def file_findings(connection: sqlite3.Connection) -> Iterator[Finding]:
    """What is wrong with the file itself: its pages, its constraints, its rules, its schema's version."""
    for row in connection.execute("PRAGMA integrity_check"):
        if row[0] != "ok":
            yield Finding("SQLite's integrity check failed")
    for row in connection.execute("PRAGMA foreign_key_check"):
        yield Finding(f"a row of {row[0]!r} refers to a row of {row[2]!r} that is not there")
    for rule in schema.changed_rules(connection):
        yield Finding(f"the table, index or trigger {rule!r} is not as discreet wrote it")
    if not schema.is_recorded(connection):
        yield Finding("the schema's version is not the one that was recorded")


def insert(connection: sqlite3.Connection, table: str, row: Mapping[str, object]) -> None:
    """One row into one table."""
    columns = ", ".join(row)
    marks = ", ".join(f":{name}" for name in row)
    connection.execute(f"INSERT INTO {table} ({columns}) VALUES ({marks})", row)


def _promise(known: Account) -> dict[str, Any]:
    return {
        "unit": known.unit,
        "neighbours": str(known.neighbours),
        "hash_key": digest(known.hash_key),
        "budget": budget_columns(known.budget),
        "caps": [known.caps.epsilon, known.caps.rho, known.caps.delta],
    }


def _version_row(declared: Dataset | Registration, known: Registration | None = None) -> dict[str, Any]:
    """The columns of the table `versions`; what is not declared is as in a version that is known."""
    facts, population = declared.facts, declared.population
    if known is not None:
        facts = facts or known.facts
        population = known.population if population is None else population
    place = {"dataset": declared.name, "version": declared.version}
    return place | {"source": declared.source, "facts": facts, "population": population}


def _registered_by(connection: sqlite3.Connection, name: str, version: int) -> int:
    """The event that last registered a version: a new version changes nothing for the others, a correction may."""
    found = connection.execute(_REGISTERED_BY, (name, version)).fetchone()[0]
    if found is None:
        raise LedgerError(faults.DAMAGED)
    return int(found)


def _registration(
    connection: sqlite3.Connection, known: Account, row: Mapping[str, Any], *, is_new: bool = False
) -> Registration:
    others = connection.execute(_SAME_SOURCE, (row["source"], known.name))
    return Registration(
        name=known.name,
        version=row["version"],
        source=row["source"],
        facts=row["facts"],
        unit=known.unit,
        neighbours=known.neighbours,
        budget=known.budget,
        population=row["population"],
        spent=known.spent,
        sequence=_registered_by(connection, known.name, row["version"]),
        hash_key=int(known.hash_key, 16),
        same_source=tuple(other[0] for other in others),
        is_new=is_new,
    )


def _rows(connection: sqlite3.Connection, table: str, name: str, order: str) -> list[dict[str, Any]]:
    found = connection.execute(f"SELECT * FROM {table} WHERE dataset = ? ORDER BY {order}", (name,))
    return [dict(row) for row in found]


def _must_change_one(connection: sqlite3.Connection, statement: str, values: Any) -> None:
    if connection.execute(statement, values).rowcount != 1:
        raise LedgerError(faults.DAMAGED)
