"""Registering datasets, their versions and their other names: what is written, and under which privacy budget."""

import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from discreet.errors import LedgerError, NameNotFoundError, ParameterError, suggestion
from discreet.ledger.records import faults, registration
from discreet.ledger.records.account import Account, new_account, order_text
from discreet.ledger.records.canonical_text import canonical, digest, label
from discreet.ledger.records.chain import Kind
from discreet.ledger.records.registration import (
    Dataset,
    Registration,
    budget_columns,
    slice_columns,
    slice_of,
    version_digest,
)
from discreet.ledger.transactions import statements, steward
from discreet.ledger.transactions.statements import LedgerWriter

_OTHER_PARTS = """SELECT name, part_of, slice_start, slice_end FROM datasets WHERE part_of = :table
ORDER BY slice_start"""
_FACTS_OF_PARTS = """SELECT d.name, d.unit, d.neighbours, v.facts
FROM datasets AS d JOIN versions AS v ON v.dataset = d.name
WHERE d.part_of = :table AND (d.name <> :name OR v.version <> :version) ORDER BY d.name, v.version"""
_VERSIONS = "SELECT * FROM versions WHERE dataset = :name ORDER BY version"


def register(writer: LedgerWriter, dataset: Dataset) -> Registration:
    """Register a dataset or its next version, or return what is registered."""
    known = statements.find_account(writer, dataset.name)
    if known is None or dataset.slice is not None:
        writer.rows(
            "SELECT {alone}"
        )  # what others register meanwhile may be a slice of the same rows, or this very name
        known = known or statements.find_account(writer, dataset.name)
    _refuse_another_time(writer, dataset)
    if known is None:
        with _naming_known_datasets(writer, dataset.name):
            return _first(writer, replace(dataset, budget=registration.divide_delta(dataset.budget, None)))
    newest = statements.registered_version(writer, known, None)
    stored = statements.registered_version(writer, known, dataset.version)
    if newest is None:
        raise LedgerError(faults.DAMAGED)
    if stored is None:
        registration.refuse_another_promise(dataset, newest)
        return _next(writer, known, newest, dataset)
    refusal = registration.refusal_of_a_change(dataset, stored, newest.version)
    if refusal is None and dataset.source == stored.source:
        return stored
    if refusal is None:  # the same table under another spelling, or without the server's numbers in an older ledger
        others = (*stored.same_source, *statements.others_over(writer, known, dataset.source))
        return replace(stored, same_source=tuple(sorted(set(others))))
    if known.is_charged or dataset.slice != known.slice:
        raise refusal
    return _again(
        writer, known, stored, replace(dataset, budget=registration.divide_delta(dataset.budget, known.budget))
    )


@contextmanager
def _naming_known_datasets(writer: LedgerWriter, name: str) -> Iterator[None]:
    """Refuse a name that is not known to a role that registers nothing with the datasets that it may have meant."""
    try:
        yield
    except LedgerError as error:
        known = statements.names(writer) if str(error) == faults.NOT_A_STEWARD else []
        if not known:
            raise
        nearest = suggestion(name, known)
        meant = f"name={nearest!r}" if nearest in known else nearest
        raise NameNotFoundError(
            f"dataset {name!r}",
            because="the ledger has no dataset of that name, and only its steward registers new ones",
            instead=f"{meant}; a new dataset has a budget of its own: open the ledger under its steward's role",
        ) from None


def rename(writer: LedgerWriter, name: str, to: str, reason: str) -> None:
    """Give a dataset another name; both lead to one privacy budget from then on."""
    known = statements.account(writer, name)
    writer.rows("SELECT {alone}")
    if statements.find_account(writer, label(to, "to"), lock=False) is not None:
        raise ParameterError(
            f"the name {to!r} for {name!r}",
            because="the name belongs to a dataset already",
            instead="a name that the ledger does not know yet",
        )
    registration.refuse_the_name_of_slices(to, [row["name"] for row in writer.rows(_OTHER_PARTS, table=to)])
    detail = canonical({"alias": to, "reason": reason})
    writer.append(known, known.link(Kind.RENAMED, version=statements.newest_number(writer, known.name), detail=detail))
    writer.write_as_steward(steward.ADD_ALIAS, {"alias": to, "dataset": known.name})


def unknown_version_error(writer: LedgerWriter, known: Account, version: int) -> NameNotFoundError:
    """Error for a version that its owner has not registered."""
    return NameNotFoundError(
        f"version {version} of dataset {known.name!r}",
        because="its owner has not registered it",
        instead=f"version={statements.newest_number(writer, known.name)}",
    )


def promise(known: Account) -> dict[str, Any]:
    """What the chain records of a privacy budget."""
    return {
        "unit": known.unit,
        "neighbours": str(known.neighbours),
        "hash_key": digest(known.hash_key),
        "slice": slice_columns(known.slice),
        "budget": budget_columns(known.budget),
        "caps": known.caps.units(),
        "order": order_text(known.order),
    }


def _first(writer: LedgerWriter, dataset: Dataset) -> Registration:
    """Open an account and draw the key that orders rows."""
    if dataset.facts is None:
        raise registration.no_facts(dataset.name)
    dataset.budget.check_population(dataset.population)
    _refuse_old_data(writer, dataset)
    new = new_account(dataset, secrets.token_hex(8))
    row = _version_row(dataset)
    (ledger,) = writer.rows("SELECT min(id) AS id FROM ledger")
    detail = canonical(promise(new) | {"ledger": ledger["id"]})
    link = new.link(Kind.REGISTERED, version=dataset.version, digest=version_digest(row), detail=detail)
    writer.open(new, link)
    row["registered"] = link.sequence
    writer.write_as_steward(steward.ADD_VERSION, row)
    return statements.registration_of(writer, new, row, is_new=True)


def _refuse_old_data(writer: LedgerWriter, dataset: Dataset) -> None:
    table = dataset.name if dataset.slice is None else dataset.slice.of
    others = [
        (row["name"], part) for row in writer.rows(_OTHER_PARTS, table=table) if (part := slice_of(row)) is not None
    ]
    whole_table = dataset.slice is not None and statements.find_account(writer, table, lock=False) is not None
    registration.refuse_old_data(dataset, whole_table, others)


def _refuse_another_time(writer: LedgerWriter, dataset: Dataset) -> None:
    if dataset.slice is not None:
        place = {"table": dataset.slice.of, "name": dataset.name, "version": dataset.version}
        registration.refuse_another_time(dataset, writer.rows(_FACTS_OF_PARTS, **place))


def _again(writer: LedgerWriter, known: Account, stored: Registration, dataset: Dataset) -> Registration:
    """Replace what is registered, as long as nothing was charged; the event keeps the old and the new."""
    after = known.with_declaration(dataset)
    old, new = _version_row(stored), _version_row(dataset, stored)
    others = [row for row in writer.rows(_VERSIONS, name=known.name) if row["version"] != dataset.version]
    for row in (new, *others):
        after.budget.check_population(row["population"])
    detail = canonical({"old": promise(known) | old, "new": promise(after) | new})
    link = known.link(Kind.REGISTERED, version=dataset.version, digest=version_digest(new), detail=detail)
    writer.set_budget(known, link, after)
    new["registered"] = link.sequence
    writer.write_as_steward(steward.CORRECT_VERSION, new)
    for row in others:
        place = {"dataset": known.name, "version": row["version"], "registered": link.sequence}
        writer.write_as_steward(steward.REGISTER_AGAIN, place)
    return statements.registration_of(writer, after, new, is_new=True)


def _next(writer: LedgerWriter, known: Account, newest: Registration, dataset: Dataset) -> Registration:
    """Add a version to a lineage: the same cap, the same total, the same key."""
    registration.refuse_an_older_version(dataset, newest.version)
    row = _version_row(dataset, newest)
    known.budget.check_population(row["population"])
    link = known.link(Kind.VERSIONED, version=dataset.version, digest=version_digest(row))
    writer.append(known, link)
    row["registered"] = link.sequence
    writer.write_as_steward(steward.ADD_VERSION, row)
    return statements.registration_of(writer, known, row, is_new=True)


def _version_row(declared: Dataset | Registration, known: Registration | None = None) -> dict[str, Any]:
    """The columns that a version declares; what is not declared is as in a version that is known."""
    facts, population = declared.facts, declared.population
    if known is not None:
        facts = facts or known.facts
        population = known.population if population is None else population
    name = declared.name if known is None else known.name
    place = {"dataset": name, "version": declared.version}
    return place | {"source": declared.source, "facts": facts, "population": population}
