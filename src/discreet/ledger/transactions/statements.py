"""The SQL of the ledger, written once for every store: one function for each thing that is read or written.

Statements use `:name` for values; `{lock}` locks the rows that are read until the work is done, `{alone}` keeps other
work that asks for it waiting as long, and `{clock}` is the database's own time in milliseconds. All that belongs to a
dataset is changed under the lock on the dataset's row.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, NoReturn

from discreet.accounting.costs import NOTHING, Cost
from discreet.accounting.filters import Budget
from discreet.errors import LedgerError, NameNotFoundError, suggestion
from discreet.ledger.records import faults, source_identity
from discreet.ledger.records.account import Account, account_of, end_of_acts_in
from discreet.ledger.records.canonical_text import label, parse_object
from discreet.ledger.records.chain import ChainLink, Kind, State, columns_of, cost_columns, link_of
from discreet.ledger.records.description import LONGEST_WORDS, query_of
from discreet.ledger.records.history import Entry
from discreet.ledger.records.quota import EVERYONE, Share, share_of
from discreet.ledger.records.registration import Registration, budget_of
from discreet.ledger.transactions import steward
from discreet.ledger.transactions.store import Row, Statement, Transaction, Values, insert_statement, one

NAMED = "COALESCE((SELECT dataset FROM aliases WHERE alias = :name), :name)"
_ACCOUNT = f"SELECT d.* FROM datasets AS d WHERE d.name = {NAMED}"
# A name leads to one dataset. A role that writes to the database without discreet can give the name of one to another.
SHADOWED = """EXISTS (SELECT 1 FROM aliases AS a JOIN datasets AS own ON own.name = a.alias
  WHERE a.alias = :name AND a.dataset <> a.alias)"""
_ACTS = """(SELECT count(*) FROM keys) AS acts, (
  SELECT document FROM keys ORDER BY sequence DESC LIMIT 1) AS last_act"""
# Asked after every row is locked: what another transaction committed while a lock was waited for counts.
_STANDING = f"""SELECT (
  SELECT count(*) FROM halts WHERE dataset IN ({NAMED}, '') AND cleared IS NULL) AS halts,
  {_ACTS}, {SHADOWED} AS shadowed"""
_TRUE_NAME = f"SELECT {NAMED} AS dataset, {SHADOWED} AS shadowed"
_SHARES = f"SELECT * FROM analysts WHERE dataset = {NAMED} AND analyst IN (:analyst, '{EVERYONE}')"
_NEAR_LIMIT = """SELECT * FROM analysts
WHERE analyst <> :everyone AND failures > 0 AND 10 * failures >= 9 * most_failures ORDER BY dataset, analyst"""
_VERSION = f"SELECT * FROM versions WHERE dataset = {NAMED} AND version = :version"
_NEWEST = "SELECT * FROM versions WHERE dataset = :name ORDER BY version DESC LIMIT 1"
_SAME_SOURCE = """SELECT DISTINCT v.dataset, v.source FROM versions AS v JOIN datasets AS d ON d.name = v.dataset
WHERE (v.source = :source OR replace(v.source, :spelled, '') <> v.source OR replace(v.source, :server, '') <> v.source)
AND d.name <> :name AND (d.part_of IS NULL OR d.part_of <> :table) ORDER BY v.dataset"""
_HISTORY = f"""SELECT events.*, reservations.state, substr(reservations.description, 1, {LONGEST_WORDS}) AS description
FROM events
LEFT JOIN reservations ON reservations.dataset = events.dataset AND reservations.sequence = events.sequence
WHERE events.dataset = :name AND kind NOT IN ('ANSWERED', 'FORFEITED', 'RESUMED') ORDER BY events.sequence"""
_REPLACED = "SELECT detail FROM events WHERE dataset = :name AND kind IN ('CAPPED', 'RECOVERED') ORDER BY sequence"
_CHARGED_TOTAL = """SELECT count(*) - count(cost_epsilon) AS infinite, COALESCE(sum(cost_epsilon), 0) AS epsilon,
  COALESCE(sum(cost_rho), 0) AS rho, COALESCE(sum(cost_delta), 0) AS delta, COALESCE(sum(cost_renyi), 0) AS renyi
FROM events WHERE dataset = :name"""
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


class LedgerWriter:
    """A transaction that also records accounts, for rollback detection.

    `held` are those that were read under their locks, as they were then; `heads` those whose chains got a new head.
    """

    def __init__(self, transaction: Transaction) -> None:
        self.read = transaction.read
        self.write = transaction.write
        self.write_as_steward = transaction.write_as_steward
        self.held: dict[str, Account] = {}
        self.heads: dict[str, Account] = {}

    @property
    def new(self) -> set[str]:
        """The datasets that were not there before."""
        return self.heads.keys() - self.held.keys()

    @property
    def positions(self) -> dict[str, Account]:
        """Where the chains of all accounts stand once this is committed."""
        return self.held | self.heads

    def hold(self, account: Account) -> Account:
        """Record an account that was read under its lock."""
        self.held.setdefault(account.name, account)
        return account

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

    def set_budget(self, account: Account, link: ChainLink, after: Account) -> Account:
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
    found = writer.read(*account_questions(wanted, lock=lock))
    return {name: account_in(writer, name, found, place, lock=lock) for place, name in enumerate(wanted)}


def readable_accounts(writer: LedgerWriter) -> list[Account]:
    """The accounts whose rows can be read, by name; a damaged row is left out."""
    found = []
    for row in writer.rows("SELECT * FROM datasets ORDER BY name"):
        with suppress(LedgerError):
            found.append(account_of(row | {"halts": 0}))
    return found


def account(writer: LedgerWriter, name: str, *, lock: bool = True) -> Account:
    """The account of a dataset that must exist."""
    return accounts(writer, [name], lock=lock)[name]


def find_account(writer: LedgerWriter, name: str, *, lock: bool = True) -> Account | None:
    """The account of a dataset, or None."""
    found = writer.read(*account_questions([label(name, "name")], lock=lock))
    _refuse_shadow(found[1])
    return account_in(writer, name, found, 0, lock=lock) if found[0] else None


def account_questions(names: Sequence[str], *, lock: bool) -> list[Statement]:
    """What to read for accounts: the row of each, which is locked, then what stops each."""
    rows = [(_ACCOUNT + (" {lock}" if lock else ""), {"name": name}) for name in names]
    return [*rows, *((_STANDING, {"name": name}) for name in names)]


def account_in(writer: LedgerWriter, name: str, found: Sequence[list[Row]], place: int, *, lock: bool) -> Account:
    """The account at a place of what was read for several; refused where there is none, or its name leads to two."""
    number = len(found) // 2
    _refuse_shadow(found[number + place])
    if not found[place]:
        return _refuse_unknown(writer, name)
    account = account_of(found[place][0] | found[number + place][0])
    return writer.hold(account) if lock else account


def _refuse_shadow(rows: list[Row]) -> None:
    """Refuse a name that is that of a dataset and leads to another: it would have a second budget."""
    if rows[0]["shadowed"]:
        raise LedgerError(faults.DAMAGED)


def _refuse_unknown(writer: LedgerWriter, name: str) -> NoReturn:
    known = names(writer)
    raise NameNotFoundError(
        f"dataset {name!r}",
        because="the ledger has no dataset of that name",
        instead=suggestion(name, known) if known else f"dp.protect(..., name={name!r}), which registers it",
    )


def charged_total(writer: LedgerWriter, name: str) -> Cost:
    """The sum of the costs of a dataset's events, which its row's total must be."""
    row = writer.rows(_CHARGED_TOTAL, name=name)[0]
    epsilon = None if row["infinite"] else int(row["epsilon"])
    return Cost(epsilon, *(int(row[part]) for part in ("rho", "delta", "renyi")))


def ledger_id(writer: LedgerWriter) -> str:
    """The id of the ledger; there is exactly one."""
    rows = writer.rows("SELECT id FROM ledger")
    if len(rows) != 1:
        raise LedgerError(faults.DAMAGED)
    return str(rows[0]["id"])


def end_of_acts(writer: LedgerWriter) -> tuple[int, str]:
    """How many acts on keys the ledger holds now, and the last one."""
    (row,) = writer.rows(f"SELECT {_ACTS}")
    return end_of_acts_in(row)


def names(writer: LedgerWriter) -> list[str]:
    """Every dataset that any table mentions."""
    return sorted(row["name"] for row in writer.rows(_NAMES))


def name_of(writer: LedgerWriter, name: str) -> str:
    """The dataset that a name leads to, as long as any table mentions it; refused where none does."""
    (found,) = true_names(writer, [label(name, "name")])
    return found if found in names(writer) else _refuse_unknown(writer, name)


def true_names(writer: LedgerWriter, names: list[str]) -> list[str]:
    """The datasets that names lead to, in the order asked; a name that is no alias is its own."""
    found = writer.read(*((_TRUE_NAME, {"name": name}) for name in names))
    for rows in found:
        _refuse_shadow(rows)
    return [str(rows[0]["dataset"]) for rows in found]


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
