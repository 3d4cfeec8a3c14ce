"""The SQL of the ledger, written once for every store: one function for each thing that is read or written.

Statements use `:name` for values; `{lock}` locks the rows that are read until the work is done, `{alone}` keeps other
work that asks for it waiting as long, and `{clock}` is the database's own time in milliseconds. All that belongs to a
dataset is changed under the lock on the dataset's row.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any, NoReturn

from discreet.accounting.costs import NOTHING, Cost
from discreet.accounting.filters import Budget
from discreet.errors import LedgerError, NameNotFoundError, suggestion
from discreet.ledger.records import faults, source_identity
from discreet.ledger.records.account import Account, account_of
from discreet.ledger.records.canonical_text import digest, label, parse_object
from discreet.ledger.records.chain import ChainLink, Kind, State, columns_of, cost_columns, link_of
from discreet.ledger.records.description import LONGEST_WORDS, query_of
from discreet.ledger.records.history import Entry
from discreet.ledger.records.quota import EVERYONE, Share, share_of
from discreet.ledger.records.receipt import ChargeReference, Receipt
from discreet.ledger.records.registration import Registration, budget_of
from discreet.ledger.transactions import steward
from discreet.ledger.transactions.store import Row, Statement, Transaction, Values, insert_statement, one

_NAMED = "COALESCE((SELECT dataset FROM aliases WHERE alias = :name), :name)"
_ACCOUNT = f"SELECT d.* FROM datasets AS d WHERE d.name = {_NAMED}"
# A statement of its own: what another transaction committed while the row's lock was waited for counts.
_STANDING = f"""SELECT (
  SELECT count(*) FROM halts WHERE dataset IN ({_NAMED}, '') AND cleared IS NULL) AS halts, (
  SELECT count(*) FROM keys) AS acts"""
_SHARES = f"SELECT * FROM analysts WHERE dataset = {_NAMED} AND analyst IN (:analyst, '{EVERYONE}')"
_NEAR_LIMIT = """SELECT * FROM analysts
WHERE analyst <> :everyone AND failures > 0 AND 10 * failures >= 9 * most_failures ORDER BY dataset, analyst"""
_VERSION = f"SELECT * FROM versions WHERE dataset = {_NAMED} AND version = :version"
_NEWEST = "SELECT * FROM versions WHERE dataset = :name ORDER BY version DESC LIMIT 1"
_SAME_SOURCE = """SELECT DISTINCT v.dataset, v.source FROM versions AS v JOIN datasets AS d ON d.name = v.dataset
WHERE (v.source = :source OR replace(v.source, :spelled, '') <> v.source OR replace(v.source, :server, '') <> v.source)
AND d.name <> :name AND (d.part_of IS NULL OR d.part_of <> :table) ORDER BY v.dataset"""
# The outcome is found by a partial index. SQLite uses one only where a statement repeats the index's own condition.
_CHARGED = """SELECT events.*, r.state, r.attempt, r.lease, {clock} AS clock, r.description,
  answers.payload, outcome.digest AS sealed, (
  SELECT count(*) FROM halts WHERE halts.dataset IN (r.dataset, '') AND cleared IS NULL) AS halts
FROM reservations AS r
JOIN events ON events.dataset = r.dataset AND events.sequence = r.sequence
LEFT JOIN answers ON answers.dataset = r.dataset AND answers.reservation = r.sequence
LEFT JOIN events AS outcome ON outcome.dataset = r.dataset AND outcome.reservation = r.sequence
  AND outcome.kind IN ('ANSWERED', 'FORFEITED') AND outcome.kind = 'ANSWERED'
WHERE """
_BY_REQUEST = f"{_CHARGED} r.dataset = {_NAMED} AND r.analyst = :analyst AND r.request = :request"
# The place is found in an index alone: sorting whole charges would read the answer of every earlier one.
_BY_QUESTION = f"""{_CHARGED} r.dataset = {_NAMED} AND r.sequence = (
SELECT earlier.sequence FROM reservations AS earlier WHERE earlier.dataset = {_NAMED}
  AND earlier.question = :question AND earlier.state <> 'FORFEITED'
ORDER BY earlier.state, earlier.sequence DESC LIMIT 1)"""
_BY_PLACE = f"{_CHARGED} r.dataset = :dataset AND r.sequence = :sequence"
_HISTORY = f"""SELECT events.*, reservations.state, substr(reservations.description, 1, {LONGEST_WORDS}) AS description
FROM events
LEFT JOIN reservations ON reservations.dataset = events.dataset AND reservations.sequence = events.sequence
WHERE events.dataset = :name AND kind NOT IN ('ANSWERED', 'FORFEITED', 'RESUMED') ORDER BY events.sequence"""
_REPLACED = "SELECT detail FROM events WHERE dataset = :name AND kind IN ('CAPPED', 'RECOVERED') ORDER BY sequence"
_LARGE = ("events", "reservations", "answers")
# The names in a large table are found one after another in its index, as no store does for DISTINCT.
_IN_LARGE = ", ".join(
    f"""in_{table} AS (SELECT min(dataset) AS name FROM {table} UNION ALL
SELECT (SELECT min(dataset) FROM {table} WHERE dataset > in_{table}.name) FROM in_{table} WHERE name IS NOT NULL)"""
    for table in _LARGE
)
_NAMES = f"""WITH RECURSIVE {_IN_LARGE} SELECT name FROM datasets UNION SELECT dataset FROM versions
UNION SELECT dataset FROM analysts UNION SELECT dataset FROM aliases
{" ".join(f"UNION SELECT name FROM in_{table} WHERE name IS NOT NULL" for table in _LARGE)}"""

_ADVANCE = "UPDATE datasets SET sequence = :sequence, head = :hash WHERE name = :dataset AND head = :previous"
_CHARGE = """UPDATE datasets SET
  spent_epsilon = spent_epsilon + :epsilon, spent_rho = spent_rho + :rho, spent_delta = spent_delta + :delta,
  spent_renyi = spent_renyi + :renyi, sequence = :sequence, head = :head
WHERE name = :name AND head = :previous AND spent_delta + :delta <= cap_delta AND (
  (spent_epsilon IS NOT NULL AND spent_epsilon + :epsilon <= cap_epsilon) OR spent_renyi + :renyi <= cap_rho
)"""
_SPEND = """UPDATE analysts SET
  spent_epsilon = spent_epsilon + :epsilon, spent_rho = spent_rho + :rho, spent_delta = spent_delta + :delta,
  spent_renyi = spent_renyi + :renyi
WHERE dataset = :dataset AND analyst = :analyst"""
_FAIL = "UPDATE analysts SET failures = failures + 1 WHERE dataset = :dataset AND analyst = :analyst"
_RESERVE = """INSERT INTO reservations
  (dataset, sequence, analyst, request, question, description, state, attempt, lease)
VALUES (:dataset, :sequence, :analyst, :request, :question, :description, 'RESERVED', 1, {clock} + :term)"""
_CONCLUDE = """UPDATE reservations SET state = :state
WHERE dataset = :dataset AND sequence = :sequence AND state = 'RESERVED' AND attempt = :attempt"""
_RESUME = """UPDATE reservations SET attempt = attempt + 1, lease = {clock} + :term
WHERE dataset = :dataset AND sequence = :sequence AND state = 'RESERVED' AND attempt = :attempt"""
_RENEW = """UPDATE reservations SET lease = {clock} + :term
WHERE dataset = :dataset AND sequence = :sequence AND state = 'RESERVED' AND attempt = :attempt"""


class LedgerWriter:
    """A transaction that also records the new head of each chain, for rollback detection."""

    def __init__(self, transaction: Transaction) -> None:
        self.read = transaction.read
        self.write = transaction.write
        self.write_as_steward = transaction.write_as_steward
        self.heads: dict[str, Account] = {}

    def rows(self, statement: str, **values: object) -> list[Row]:
        """The rows of one query."""
        return self.read((statement, values))[0]

    def row(self, statement: str, **values: object) -> Row | None:
        """The only row of one query, or None."""
        return one(self.rows(statement, **values))

    def insert(self, table: str, row: Values) -> None:
        """One row into one table."""
        self.write(*insert_statement(table, row))

    def append(self, account: Account, link: ChainLink) -> Account:
        """Write a link that charges nothing."""
        place = {"sequence": link.sequence, "hash": link.hash, "dataset": link.dataset, "previous": link.previous}
        self.write(_ADVANCE, place)
        self.record(link)
        return self._after(account, link, account)

    def charge(self, account: Account, link: ChainLink) -> Account:
        """The guarded update of the totals by a link that charges; its event is recorded once the share is updated."""
        place = {"name": account.name, "previous": account.head, "sequence": link.sequence, "head": link.hash}
        self.write(_CHARGE, vars(link.cost) | place)
        return self._after(account, link, replace(account, spent=account.spent + link.cost))

    def record(self, link: ChainLink) -> None:
        """The event of a link."""
        if link.kind in steward.EVENTS:
            self.write_as_steward(steward.ADD_EVENT, columns_of(link))
        else:
            self.insert("events", columns_of(link))

    def promise(self, account: Account, link: ChainLink, after: Account) -> Account:
        """Write a link that changes the privacy budget, or what is known to be spent of it."""
        place = {"sequence": link.sequence, "head": link.hash, "previous": account.head}
        columns = after.row() | place
        for name in ("hash_key", "part_of", "slice_start", "slice_end"):
            del columns[name]
        self.write_as_steward(steward.SET_BUDGET, columns)
        self.record(link)
        return self._after(account, link, after)

    def open(self, account: Account, link: ChainLink) -> Account:
        """Write the first link of a chain and the account it opens."""
        opened = replace(account, sequence=link.sequence, head=link.hash)
        self.write_as_steward(steward.ADD_DATASET, opened.row())
        self.record(link)
        return self._after(account, link, opened)

    def _after(self, account: Account, link: ChainLink, state: Account) -> Account:
        self.heads[account.name] = replace(state, sequence=link.sequence, head=link.hash)
        return self.heads[account.name]


Look = Callable[[Callable[[LedgerWriter], Any]], Any]
"""Runs work that reads in one consistent view of the database, and returns its result."""


def accounts(writer: LedgerWriter, names: Iterable[str], *, lock: bool = True) -> dict[str, Account]:
    """The accounts of datasets that must exist, locked in one order for everybody, by the name they were asked by."""
    wanted = sorted({label(name, "name") for name in names})
    found = writer.read(*(question for name in wanted for question in account_questions(name, lock=lock)))
    pairs = zip(found[::2], found[1::2], strict=True)
    return {name: account_in(writer, name, *pair) for name, pair in zip(wanted, pairs, strict=True)}


def account(writer: LedgerWriter, name: str, *, lock: bool = True) -> Account:
    """The account of a dataset that must exist."""
    return accounts(writer, [name], lock=lock)[name]


def find_account(writer: LedgerWriter, name: str, *, lock: bool = True) -> Account | None:
    """The account of a dataset, or None."""
    rows, standing = writer.read(*account_questions(label(name, "name"), lock=lock))
    return account_of(rows[0] | standing[0]) if rows else None


def account_questions(name: str, *, lock: bool) -> tuple[Statement, Statement]:
    """What to read for an account: its row, then what stops it."""
    values = {"name": name}
    return (_ACCOUNT + (" {lock}" if lock else ""), values), (_STANDING, values)


def account_in(writer: LedgerWriter, name: str, rows: list[Row], standing: list[Row]) -> Account:
    """The account in what was read; refused where there is none."""
    return account_of(rows[0] | standing[0]) if rows else _refuse_unknown(writer, name)


def _refuse_unknown(writer: LedgerWriter, name: str) -> NoReturn:
    known = names(writer)
    raise NameNotFoundError(
        f"dataset {name!r}",
        because="the ledger has no dataset of that name",
        instead=suggestion(name, known) if known else f"dp.protect(..., name={name!r}), which registers it",
    )


def ledger_id(writer: LedgerWriter) -> str:
    """The id of the ledger; there is exactly one."""
    rows = writer.rows("SELECT id FROM ledger")
    if len(rows) != 1:
        raise LedgerError(faults.DAMAGED)
    return str(rows[0]["id"])


def names(writer: LedgerWriter) -> list[str]:
    """Every dataset that any table mentions."""
    return sorted(row["name"] for row in writer.rows(_NAMES))


def name_of(writer: LedgerWriter, name: str) -> str:
    """The dataset that a name leads to, as long as any table mentions it; refused where none does."""
    row = writer.row("SELECT dataset FROM aliases WHERE alias = :name", name=label(name, "name"))
    found = name if row is None else str(row["dataset"])
    return found if found in names(writer) else _refuse_unknown(writer, name)


def true_names(writer: LedgerWriter, names: list[str]) -> list[str]:
    """The datasets that names lead to, in the order asked; a name that is no alias is its own."""
    found = writer.read(*(("SELECT dataset FROM aliases WHERE alias = :name", {"name": name}) for name in names))
    return [str(rows[0]["dataset"]) if rows else name for name, rows in zip(names, found, strict=True)]


def earlier_budgets(writer: LedgerWriter, known: Account) -> list[Budget]:
    """The budgets that were replaced after something was charged under them; an order that was fixed replaces none.

    The floor is what was spent when the last one was replaced. Where it is nothing, the events are not read.
    """
    if known.floor == NOTHING:
        return []
    details = [parse_object(row["detail"]) for row in writer.rows(_REPLACED, name=known.name)]
    replaced = [each["old"] | each for each in details if each["old"]["budget"] != each["new"]["budget"]]
    return [budget_of(each["old"]["budget"]) for each in replaced if each["spent"] != NOTHING.units()]


def shares_question(name: str, analyst: str) -> Statement:
    """What to read for an analyst's share."""
    return _SHARES, {"name": name, "analyst": analyst}


def share_in(rows: list[Row], dataset: str, analyst: str) -> tuple[Share, bool]:
    """The analyst's share in what was read, and whether it has a row of its own yet."""
    found = {row["analyst"]: share_of(row) for row in rows}
    if analyst in found:
        return found[analyst], True
    general = found.get(EVERYONE, Share(dataset=dataset, analyst=EVERYONE))
    new = Share(dataset=dataset, analyst=analyst, quota=general.quota, most_failures=general.most_failures)
    return new, False


def share(writer: LedgerWriter, dataset: str, analyst: str) -> tuple[Share, bool]:
    """An analyst's share of a dataset, and whether it has a row of its own yet."""
    return share_in(writer.read(shares_question(dataset, analyst))[0], dataset, analyst)


def shares(writer: LedgerWriter, dataset: str) -> list[Share]:
    """Every share of a dataset that has a row."""
    return [
        share_of(row) for row in writer.rows("SELECT * FROM analysts WHERE dataset = :d ORDER BY analyst", d=dataset)
    ]


def shares_near_limit(writer: LedgerWriter) -> list[Share]:
    """The shares of analysts with nine tenths of the failures that they may have, or more."""
    return [share_of(row) for row in writer.rows(_NEAR_LIMIT, everyone=EVERYONE)]


def schema_version(writer: LedgerWriter) -> int:
    """The version of the store's schema."""
    rows = writer.rows("SELECT max(version) AS version FROM schema_versions")
    return int(rows[0]["version"] or 0)


def spend(writer: LedgerWriter, known: Share, cost: Cost, *, is_there: bool) -> None:
    """Add a charge to what an analyst has spent."""
    if is_there:
        writer.write(_SPEND, vars(cost) | {"dataset": known.dataset, "analyst": known.analyst})
    else:
        writer.insert("analysts", replace(known, spent=known.spent + cost).row())


def limit(writer: LedgerWriter, known: Share, *, is_there: bool) -> None:
    """Write the limits of a share."""
    if not is_there:
        writer.write_as_steward(steward.ADD_SHARE, known.row())
        return
    spent = {"failures", *cost_columns("spent", NOTHING)}
    writer.write_as_steward(
        steward.SET_LIMITS, {name: value for name, value in known.row().items() if name not in spent}
    )


def restate_share(writer: LedgerWriter, known: Share) -> None:
    """Write what an analyst has spent in the terms of another order."""
    columns = cost_columns("floor", known.floor) | {"spent_renyi": known.spent.renyi}
    writer.write_as_steward(steward.RESTATE_SHARE, columns | {"dataset": known.dataset, "analyst": known.analyst})


def fail(writer: LedgerWriter, dataset: str, analyst: str) -> None:
    """Count a failure after data was read."""
    writer.write(_FAIL, {"dataset": dataset, "analyst": analyst})


def version_question(name: str, version: int) -> Statement:
    """What to read for one version of a dataset."""
    return _VERSION, {"name": name, "version": version}


def newest_number(writer: LedgerWriter, name: str) -> int:
    """The newest version of a dataset; there is no dataset without one."""
    row = writer.row(_NEWEST, name=name)
    if row is None:
        raise LedgerError(faults.DAMAGED)
    return int(row["version"])


def registered_version(writer: LedgerWriter, known: Account, version: int | None) -> Registration | None:
    """One version of a dataset, the newest unless a number is given; None where it is not registered."""
    statement = (_NEWEST, {"name": known.name}) if version is None else version_question(known.name, version)
    row = one(writer.read(statement)[0])
    return None if row is None else registration_of(writer, known, row)


def registration_of(
    writer: LedgerWriter, known: Account, row: Mapping[str, Any], *, is_new: bool = False
) -> Registration:
    """What the ledger holds for one version."""
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
        sequence=row["registered"],
        hash_key=int(known.hash_key, 16),
        slice=known.slice,
        same_source=others_over(writer, known, row["source"]),
        is_new=is_new,
    )


def others_over(writer: LedgerWriter, known: Account, source: str) -> tuple[str, ...]:
    """The other datasets over what a source reads, by name; other slices of the same table are not among them."""
    table = "" if known.slice is None else known.slice.of
    rows = writer.rows(_SAME_SOURCE, source=source, name=known.name, table=table, **source_identity.likely(source))
    return tuple(dict.fromkeys(row["dataset"] for row in rows if source_identity.overlap(source, row["source"])))


def newest_versions(writer: LedgerWriter) -> Iterator[Registration]:
    """The newest version of every dataset, by name."""
    for row in writer.rows("SELECT datasets.*, 0 AS halts FROM datasets ORDER BY name"):
        newest = registered_version(writer, account_of(row), None)
        if newest is not None:
            yield newest


class StoredCharge:
    """A charge as the store holds it: its link, where it stands, whose attempt holds it, and its answer if any."""

    def __init__(self, row: Row, *, longest_lease: int) -> None:
        self.link = link_of(row)
        if self.link.hash != row["hash"]:  # what is read here is signed, and answered from
            raise LedgerError(faults.DAMAGED)
        self.state = State(row["state"])
        self.attempt = int(row["attempt"])
        left = row["lease"] - row["clock"]
        self.is_expired = not 0 < left <= longest_lease
        self.is_halted = bool(row["halts"])
        self._payload, self._sealed = row["payload"], row["sealed"]

    @property
    def payload(self) -> bytes | None:
        """The stored answer as its event sealed it; an empty one is an answer."""
        if self.state is not State.ANSWERED:
            return None
        if self._payload is None or digest(self._payload) != self._sealed:
            raise LedgerError(faults.DAMAGED)
        return bytes(self._payload)


LONGEST_LEASE = 86_400_000
"""A lease that ends later than this, in milliseconds, was taken under another clock, and counts as expired."""


def request_question(name: str, analyst: str, request: str) -> Statement:
    """What to read for an earlier charge under a request key."""
    return _BY_REQUEST, {"name": name, "analyst": analyst, "request": request}


def same_question(name: str, question: str) -> Statement:
    """The statement for an earlier charge of the same query: an answered one if there is any."""
    return _BY_QUESTION, {"name": name, "question": question}


def place_question(reference: ChargeReference) -> Statement:
    """What to read for the charge behind a receipt, or behind (dataset, sequence)."""
    dataset, sequence = (reference.dataset, reference.sequence) if isinstance(reference, Receipt) else reference
    return _BY_PLACE, {"dataset": dataset, "sequence": sequence}


def charge_in(rows: list[Row]) -> StoredCharge | None:
    """The charge in what was read, or None."""
    return StoredCharge(rows[0], longest_lease=LONGEST_LEASE) if rows else None


def find_charge(writer: LedgerWriter, reference: ChargeReference) -> StoredCharge:
    """The charge behind a receipt, or behind (dataset, sequence)."""
    return charge_of(reference, writer.read(place_question(reference))[0])


def charge_of(reference: ChargeReference, rows: list[Row]) -> StoredCharge:
    """The charge in what was read for a receipt; one of another ledger is refused."""
    found = charge_in(rows)
    if found is None or (isinstance(reference, Receipt) and reference.hash != found.link.hash):
        raise LedgerError(faults.FOREIGN_RECEIPT)
    return found


def reserve(writer: LedgerWriter, link: ChainLink, description: str, term: int) -> None:
    """The reservation that goes with a charge, leased for `term` milliseconds."""
    columns = {name: getattr(link, name) for name in ("dataset", "sequence", "analyst", "request", "question")}
    writer.write(_RESERVE, columns | {"description": description, "term": term})


def _place(charge: StoredCharge) -> dict[str, object]:
    return {"dataset": charge.link.dataset, "sequence": charge.link.sequence, "attempt": charge.attempt}


def conclude(writer: LedgerWriter, charge: StoredCharge, state: State) -> None:
    """Set what became of a charge: one outcome, once, by its holder."""
    writer.write(_CONCLUDE, _place(charge) | {"state": str(state)})


def resume(writer: LedgerWriter, charge: StoredCharge, term: int) -> None:
    """Take an expired charge over: the next attempt holds it."""
    writer.write(_RESUME, _place(charge) | {"term": term})


def renew(writer: LedgerWriter, charge: StoredCharge, term: int) -> None:
    """Extend the lease of a charge."""
    writer.write(_RENEW, _place(charge) | {"term": term})


def outcome_of(account: Account, charge: StoredCharge, kind: Kind, **columns: Any) -> ChainLink:
    """The link that says what became of a charge."""
    return account.link(
        kind,
        version=charge.link.version,
        analyst=charge.link.analyst,
        question=charge.link.question,
        reservation=charge.link.sequence,
        **columns,
    )


def entries(writer: LedgerWriter, name: str) -> Iterator[Entry]:
    """The history of a dataset, in the order of its chain."""
    for row in writer.rows(_HISTORY, name=name):
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
            query=None if row["description"] is None else query_of(row["description"]),
            sha256=link.digest if link.kind == Kind.PUBLISHED else None,
        )


def total(costs: Iterable[Cost]) -> Cost:
    """The sum of costs."""
    return sum(costs, NOTHING)
