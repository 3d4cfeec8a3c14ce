"""The one way to an answer: prepare without reading, charge durably, read, make it, store it, read it back.

Every verb of a session goes through here. What is asked is a value made by analysis from public facts: it names its
dataset, what is pushed down to the engine, the event that is charged, and itself.
"""

import json
import logging
import os
import sys
import weakref
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, Protocol, Self

from discreet.accounting.filters import Budget, Cost
from discreet.catalog.catalog import Catalog, Table
from discreet.engines import Engine, PreparedChunks, PreparedQuery, Source, States, engines_of
from discreet.errors import CatalogError, Failure, ParameterError, SourceError, public_class, short_traceback
from discreet.events import Event
from discreet.exact import whole
from discreet.home import home
from discreet.ledger import Ledger, Part, Receipt, SQLiteLedger, SupersededError, Turn, open_ledger
from discreet.mechanisms.threshold import AboveThreshold
from discreet.plan import logical
from discreet.plan.fingerprint import Context, Fingerprints, Question, canonical, fingerprint
from discreet.plan.physical import Pushdown, Scan
from discreet.planner import format_0
from discreet.planner.batch import BatchPlan
from discreet.planner.queries.online_ranges import StreamPlan
from discreet.planner.queries.sample_and_aggregate import SampledPlan
from discreet.planner.queries.sparse_vector import WatchPlan
from discreet.progress import shown_while
from discreet.query.frame import Query
from discreet.sandbox import Sandbox
from discreet.sandbox.modules import allowed_modules
from discreet.session import draft_catalog
from discreet.session.above_threshold import Stream
from discreet.session.public_tables import refuse_protected_rows

log = logging.getLogger("discreet")

OWNER = "owner"


class Asked(Protocol):
    """What analysis makes of a question, as far as the gate cares."""

    @property
    def dataset(self) -> str:
        """The dataset that is charged."""

    @property
    def pushdown(self) -> Pushdown:
        """What the engine is asked."""

    @property
    def event(self) -> Event:
        """What an answer does, for the accountants."""


class Sampling(NamedTuple):
    """Chunks that were bound, and the sandbox that will see them."""

    chunks: PreparedChunks
    box: Sandbox


@public_class
class Gate(ABC):
    """Tables with their engines and their ledger; nothing leaves but by a charge."""

    _is_private = True

    @short_traceback
    def __init__(
        self,
        catalog: Catalog | str | Path,
        *,
        sources: Mapping[str, object] | None = None,
        ledger: str | Path | Ledger | None = None,
        analyst: str = OWNER,
        memory_limit: str | None = None,
        threads: int | None = None,
        modules: Sequence[str] = (),
    ) -> None:
        self._catalog = (catalog if isinstance(catalog, Catalog) else Catalog.load(catalog)).model_copy(deep=True)
        beside = Path() if isinstance(catalog, Catalog) else Path(catalog).parent
        self.analyst = analyst
        self._modules = allowed_modules(modules)
        given = dict(sources or {})
        opened = {
            name: draft_catalog.opened_source(name, table, given, beside)
            for name, table in self._catalog.tables.items()
        }
        self.ledger = self._open_ledger(ledger)
        refuse_protected_rows(self._catalog, opened, given, self.ledger)
        workers = None if threads is None else whole(threads, "threads")
        self._engines = engines_of(opened, memory_limit=memory_limit, threads=workers)
        self._process = os.getpid()
        self._registrations: dict[str, int] = {}
        self._end = weakref.finalize(self, _ended, self._engines, self._process)
        try:
            for name, table in self._catalog.tables.items():
                self._admit(name, table) if table.public else self._register(name, table, opened[name])
            self._warn_of_exposures()
        except BaseException:
            self.close()
            raise

    @property
    def catalog(self) -> Catalog:
        """A copy of the public facts: what was registered does not change under an open session."""
        return self._catalog.model_copy(deep=True)

    def close(self) -> None:
        """Give back the engine; prepared tables and spill files are deleted."""
        self._end()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @classmethod
    def _open_ledger(cls, ledger: str | Path | Ledger | None) -> Ledger:
        if ledger is None:
            path = home() / "ledger.sqlite"
            print(f"discreet: the budget is kept in {path}", file=sys.stderr)  # noqa: T201 - the owner must know
            return SQLiteLedger(path)
        if getattr(ledger, "is_for_tests", False):
            raise ParameterError(
                "the ledger of a testing session",
                because="it holds exact answers, which this session would hand out",
                instead='ledger="ledger.sqlite", or dp.testing.protect(...)',
            )
        if ledger == ":memory:":
            log.warning("the budget is kept in memory, and is forgotten when this session ends")
        return open_ledger(ledger) if isinstance(ledger, str | Path) else ledger

    def _admit(self, name: str, table: Table) -> None:
        """Take in a public table: it has no promise, unless somebody made one before."""
        if self.ledger.registered(name) is not None:
            raise CatalogError(
                f"the public table {name!r}",
                because="the ledger keeps a promise to protect the rows of a table of that name",
                instead=f"the table {name!r} without public: true, with its privacy_unit and budget as registered",
            )
        self._engines[name].require(name, {column: fact.type for column, fact in table.columns.items()})

    def _register(self, name: str, table: Table, source: Source) -> None:
        """Register a table; until its first charge only if its source has every declared column: no slip is frozen."""
        known = self.ledger.registered(name, table.version)
        if known is None or not known.is_charged:
            left_out = source.unreadable if source.is_inferred else {}  # refused where a question reads them
            columns = {column: fact.type for column, fact in table.columns.items() if column not in left_out}
            self._engines[name].require(name, columns)
        kept = self.ledger.register(draft_catalog.dataset_of(name, table, source.identity))
        self._registrations[name] = kept.sequence
        self._engines[name].adopt(name, kept.hash_key)
        for column, reason in source.unreadable.items() if not source.is_inferred else ():
            log.warning("column %r of %r is left out: %s", column, name, reason)
        if source.identity != "memory":
            for other in kept.same_source:
                log.warning("%r and %r are promises over the same source, and add up", name, other)

    def _warn_of_exposures(self) -> None:
        """Tell the log of whoever opens a session for an analyst where exact row counts can be seen beside it."""
        if self.analyst == OWNER:
            return
        for engine in dict.fromkeys(self._engines.values()):
            for place in engine.exposures():
                log.warning(
                    "exact row counts of every query are in %s: keep them from analysts, or turn them off", place
                )

    def _context(self, *names: str, states: States = ()) -> Context:
        """What two askings must share, beside the question, for the answer of one to be that of the other."""
        registered = tuple((name, self._registrations[name]) for name in names)
        return Context(registered, self._is_private, states)

    def _budget_of(self, relation: logical.Relation) -> Budget:
        """The promise of the table at the bottom of a chain, read once from the ledger."""
        return self.ledger.budget(self._the_table(bottom(relation)))

    def _asked(
        self, asked: Asked, question: Question, request: str | None, *, fresh: bool, prepared: Any = None
    ) -> tuple[bytes, bool]:
        """Prepare, then charge and answer: the stored bytes, and whether they were there before."""
        if not isinstance(fresh, bool):
            raise ParameterError(f"fresh={fresh!r}", because="it is True or False", instead="fresh=True")
        ready = self._prepared(asked) if prepared is None else prepared
        names = [name for name, _ in datasets(asked)]
        context = self._context(*names, states=states_of(ready))
        known_by = Fingerprints(fingerprint(question, context), (format_0.fingerprint(asked, context),))  # type: ignore[arg-type]
        return self._answered(asked, ready, known_by, request, fresh=fresh)

    def _fits_others(self, asked: Asked, cost: Cost) -> bool:
        """Whether the other tables that an answer would be charged to have room for it, and the analyst's quotas."""
        names = [name for name, _ in datasets(asked)]
        others = [name for name in names if name != asked.dataset]
        fits = all(self.ledger.budget(name).admits(self.ledger.spent(name) + cost) for name in others)
        return fits and all(self.ledger.share(name, self.analyst).refusal(cost) is None for name in names)

    def _prepared(self, private: Asked) -> PreparedQuery:
        self._refuse_gone()
        return self._engines[private.dataset].prepare(private.pushdown)

    def _prepared_chunks(self, asked: SampledPlan) -> PreparedChunks:
        self._refuse_gone()
        return self._engines[asked.dataset].prepare_chunks(asked.pushdown, asked.columns, asked.chunks)

    def _refuse_gone(self) -> None:
        if not self._end.alive or self._process != os.getpid():
            raise SourceError(
                "a session whose engine is gone",
                because="it was closed, or it was opened before a fork and belongs to the parent process",
                instead="dp.protect(...) again in this process; what was spent is kept in the ledger",
            )

    def _answered(
        self,
        private: Asked,
        prepared: PreparedQuery | Sampling,
        question: Fingerprints,
        request: str | None,
        *,
        fresh: bool,
    ) -> tuple[bytes, bool]:
        """The answer from the ledger, and whether it was there before; whoever lost its turn finds the other's."""
        while True:
            turn = self.ledger.charge_together(
                [
                    Part(name=name, version=version, event=private.event, registration=self._registrations[name])
                    for name, version in datasets(private)
                ],
                analyst=self.analyst,
                question=question.current,
                former=question.former,
                request=request,
                description=_description(private, states_of(prepared)),
                fresh=fresh,
            )
            if turn.payload is not None:
                return turn.payload, True
            try:
                return self._made_and_stored(private, prepared, question.current, turn), False
            except SupersededError:
                fresh = False

    def _made_and_stored(self, private: Asked, prepared: PreparedQuery | Sampling, question: str, turn: Turn) -> bytes:
        """Make the answer under a charge that is durable and store it; where storing fails, asking again is free."""
        with self.ledger.holding(turn):
            payload = self._payload(private, prepared, question, turn)
            return self.ledger.answer(turn, payload)

    def _payload(self, private: Asked, prepared: PreparedQuery | Sampling, question: str, turn: Turn) -> bytes:
        """Read and add noise; whatever fails from here on, an exit included, says one sentence."""
        try:
            receipt = _own_receipt(private, turn)
            return json.dumps(self._body(private, prepared, receipt), ensure_ascii=False).encode()
        except BaseException as error:  # noqa: BLE001 - nothing of it goes on: it may quote a cell
            code, is_interrupt = type(error).__name__, isinstance(error, KeyboardInterrupt)
        known = turn.receipt.id
        self._forfeit(turn, code)
        if is_interrupt:
            raise KeyboardInterrupt(f"stopped; its charge stands, receipt {known}")
        log.error("a query failed after its charge: class %s, question %s, receipt %s", code, question[:12], known)
        raise Failure

    def _opened(self, asked: WatchPlan | StreamPlan, question: Question, ready: PreparedQuery | None) -> Turn:
        """Charge a watch or a stream as a whole; every opening is a charge of its own."""
        self._refuse_gone()
        states = states_of(ready)
        return self.ledger.charge(
            asked.dataset,
            version=asked.version,
            analyst=self.analyst,
            event=asked.event,
            question=fingerprint(question, self._context(asked.dataset, states=states)),
            description=_beside_public(asked.description, states),
            registration=self._registrations[asked.dataset],
            fresh=True,
        )

    def _stream(self, mechanism: AboveThreshold) -> Stream:
        """The state of a watch, with noise of its own."""
        return mechanism.open()

    @abstractmethod
    def _body(self, asked: Asked, prepared: PreparedQuery | Sampling, receipt: Receipt) -> dict[str, Any]:
        """The answer as plain data: what is stored, and read back."""

    def _exact(self, name: str, prepared: PreparedQuery) -> Any:
        """The engine's integers; how far it is depends on the rows, so only the owner's terminal shows it."""
        engine = self._engines[name]
        return shown_while(lambda: engine.run(prepared), stages=engine.progress, may_show_stages=self.analyst == OWNER)

    def _forfeit(self, turn: Turn, code: str) -> None:
        try:
            self.ledger.forfeit(turn, code)
        except Exception as error:  # noqa: BLE001 - the charge stands whether or not the mark can be written
            log.error("a forfeit could not be recorded: class %s", type(error).__name__)  # noqa: TRY400

    def _the_table(self, table: str | None) -> str:
        if table is None:
            if len(self._catalog.protected) != 1:
                raise ParameterError(
                    "a table left open",
                    because="the session has several",
                    instead=f'remaining("{next(iter(self._catalog.protected), "visits")}")',
                )
            return next(iter(self._catalog.protected))
        if self._catalog.table(table).public:
            raise ParameterError(
                f"the public table {table!r}",
                because="it protects nobody, so nothing is ever spent of it",
                instead="a table that has a budget; a join begins with it: "
                f'dp.table("{next(iter(self._catalog.protected), "visits")}").join(dp.table("{table}"), on=...)',
            )
        return table


def states_of(ready: Any) -> States:
    """The states of the public tables that bound questions read, as their rows are named after them."""
    match ready:
        case Sampling(PreparedChunks(rows=rows)):
            return rows.states
        case PreparedQuery():
            return ready.states
    return tuple(state for part in ready or () for state in part.states)


def _description(asked: Asked, states: States) -> str:
    """What the ledger keeps of a question: all that the engine is asked, and of which public rows."""
    described = asked.description if isinstance(asked, BatchPlan) else canonical(asked.pushdown)
    return _beside_public(described, states)


def _beside_public(described: str, states: States) -> str:
    """A description, in JSON, with the states of the public tables; receipts hold its digest."""
    return f'{{"asked":{described},"public":{canonical(states)}}}' if states else described


def table_name(query: Query) -> str:
    """The name of the table at the bottom of a query."""
    return bottom(query.plan.source)


def datasets(asked: Asked) -> tuple[tuple[str, int], ...]:
    """The protected tables that an answer rests on, each once with its version: all of them are charged, or none."""
    return tuple(dict.fromkeys(each for scan in _scans(asked) for each in scan.datasets))


def _scans(asked: Asked) -> list[Scan]:
    parts = asked.parts if isinstance(asked, BatchPlan) else (asked,)
    return [part.pushdown.scan for part in parts]


def _own_receipt(asked: Asked, turn: Turn) -> Receipt:
    """The receipt of the dataset that a question is named after; it names the others that were charged with it."""
    return next((receipt for receipt in turn.receipts if receipt.dataset == asked.dataset), turn.receipt)


def bottom(relation: logical.Relation) -> str:
    """The name of the table at the bottom of a chain."""
    while not isinstance(relation, logical.Table):
        relation = relation.source
    return relation.name


def _ended(engines: Mapping[str, Engine], process: int) -> None:
    """Close engines in the process that started them: a forked child must not delete its parent's workspace."""
    if process == os.getpid():
        for engine in dict.fromkeys(engines.values()):
            engine.close()
