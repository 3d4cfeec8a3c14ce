"""Pages of a dataset read from a store: each in one transaction that ends with it, so that nobody waits for the rest.

Events are never changed, so a page that was read stays true. Memory holds one page: a thousand events, and answers of
some megabytes together, or a single one that is larger.
"""

from collections.abc import Iterable, Iterator

from discreet.ledger.integrity.evidence import MOST, Charges, CurrentTables, Ending, Page
from discreet.ledger.records.canonical_text import digest
from discreet.ledger.records.chain import Kind
from discreet.ledger.transactions.statements import LedgerWriter, Look
from discreet.ledger.transactions.store import Row

PAGE = 1_000
LARGEST_BATCH = 16 * 2**20

_EVENTS = "SELECT * FROM events WHERE dataset = :name AND sequence >= :first ORDER BY sequence LIMIT :most"
_RESERVATIONS = """SELECT * FROM reservations WHERE dataset = :name AND sequence BETWEEN :first AND :last
ORDER BY sequence"""
# The condition of the partial index is repeated: only then does SQLite use it.
_OUTCOMES = """SELECT sequence, reservation, kind, digest FROM events WHERE dataset = :name
AND kind IN ('ANSWERED', 'FORFEITED') AND reservation BETWEEN :first AND :last ORDER BY sequence"""
_CONCLUDED = """SELECT c.sequence, c.analyst, c.question, c.version FROM events AS o
JOIN events AS c ON c.dataset = o.dataset AND c.sequence = o.reservation
WHERE o.dataset = :name AND o.sequence BETWEEN :first AND :last AND o.kind IN ('ANSWERED', 'FORFEITED', 'RESUMED')
AND c.kind = 'RESERVED'"""
_SIZES = """SELECT reservation, length(payload) AS size FROM answers
WHERE dataset = :name AND reservation BETWEEN :first AND :last ORDER BY reservation"""
_ANSWERS = """SELECT reservation, payload FROM answers
WHERE dataset = :name AND reservation BETWEEN :first AND :last"""
_AT_PLACE = (
    "SELECT * FROM events WHERE dataset = :name AND sequence = :first",
    "SELECT * FROM reservations WHERE dataset = :name AND sequence = :first",
    _OUTCOMES.replace("BETWEEN :first AND :last", "= :first"),
)
_TABLES = (
    "SELECT * FROM datasets WHERE name = :name",
    "SELECT * FROM versions WHERE dataset = :name ORDER BY version",
    "SELECT * FROM analysts WHERE dataset = :name ORDER BY analyst",
    "SELECT alias FROM aliases WHERE dataset = :name ORDER BY alias",
    "SELECT min(id) AS id FROM ledger",
    "SELECT dataset FROM aliases WHERE alias = :name AND dataset <> alias",
)


class StorePages:
    """Reads the pages of one dataset of a store."""

    def __init__(self, look: Look, name: str, *, most: int = PAGE) -> None:
        self._look = look
        self._name = name
        self._most = most

    def read(self, first: int, doubtful: frozenset[int]) -> Page:
        """The page that begins at a sequence number; with the doubtful charges where it is the last."""
        page: Page = self._look(lambda writer: self._read(writer, first, doubtful))
        return page

    def _read(self, writer: LedgerWriter, first: int, doubtful: frozenset[int]) -> Page:
        events = writer.rows(_EVENTS, name=self._name, first=first, most=self._most)
        is_last = len(events) < self._most
        last = MOST if is_last else events[-1]["sequence"]
        place = {"name": self._name, "first": first, "last": last}
        reservations, outcomes, concluded = writer.read((_RESERVATIONS, place), (_OUTCOMES, place), (_CONCLUDED, place))
        charges = Charges(
            events={row["sequence"]: row for row in events if row["kind"] == Kind.RESERVED},
            reservations={row["sequence"]: row for row in reservations},
            outcomes=outcomes,
            answers=answer_digests(writer, self._name, first, last),
        )
        return Page(
            events=events,
            charges=charges,
            concluded={row["sequence"]: row for row in concluded},
            ending=self._ending(writer, doubtful) if is_last else None,
        )

    def _ending(self, writer: LedgerWriter, doubtful: frozenset[int]) -> Ending:
        tables = read_tables(writer, self._name)
        return Ending(tables=tables, doubtful=_charges_at(writer, self._name, sorted(doubtful)))


def read_tables(writer: LedgerWriter, name: str) -> CurrentTables:
    """Where a dataset stands."""
    datasets, versions, shares, aliases, ledgers, others = writer.read(*((text, {"name": name}) for text in _TABLES))
    return CurrentTables(
        dataset=datasets[0] if datasets else None,
        versions=versions,
        shares=shares,
        aliases=[row["alias"] for row in aliases],
        ledger=ledgers[0]["id"],
        leads_to=[row["dataset"] for row in others],
    )


def answer_digests(writer: LedgerWriter, name: str, first: int, last: int) -> dict[int, str]:
    """The digests of stored answers by the places of their charges; answers are read some megabytes at a time."""
    sizes = writer.rows(_SIZES, name=name, first=first, last=last)
    digests = {}
    for begin, end in _batches(sizes):
        for row in writer.rows(_ANSWERS, name=name, first=begin, last=end):
            digests[row["reservation"]] = digest(bytes(row["payload"]))
    return digests


def _batches(sizes: Iterable[Row]) -> Iterator[tuple[int, int]]:
    """Ranges of places whose answers fit into a batch, or hold one answer."""
    places: list[int] = []
    total = 0
    for row in sizes:
        if places and total + row["size"] > LARGEST_BATCH:
            yield places[0], places[-1]
            places, total = [], 0
        places.append(row["reservation"])
        total += row["size"]
    if places:
        yield places[0], places[-1]


def _charges_at(writer: LedgerWriter, name: str, places: list[int]) -> Charges:
    """The rows of single charges."""
    found = writer.read(*((text, {"name": name, "first": place}) for place in places for text in _AT_PLACE))
    events = [row for rows in found[::3] for row in rows if row["kind"] == Kind.RESERVED]
    answers: dict[int, str] = {}
    for place in places:
        answers |= answer_digests(writer, name, place, place)
    return Charges(
        events={row["sequence"]: row for row in events},
        reservations={row["sequence"]: row for rows in found[1::3] for row in rows},
        outcomes=[row for rows in found[2::3] for row in rows],
        answers=answers,
    )
