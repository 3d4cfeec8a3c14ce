"""The pipeline: plan from public facts, charge durably, then read, add noise and store. The one way to an answer.

`Pipeline.answer` is the whole path of a query that is answered once. Its kind (`discreet.session.kinds`) says how it
is planned, prepared and run, and how its answer is stored and restored.
"""

import json
import logging
import sys
import weakref
from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

from discreet.accounting.filters import Budget
from discreet.catalog.catalog import Catalog, Table
from discreet.engines import Engine, PreparedBlocks, PreparedMarginals, PreparedQuery, Source, States, engines_of
from discreet.engines.progress import shown_while
from discreet.errors import CatalogError, Failure, ParameterError, SourceError
from discreet.home import home
from discreet.ledger import DatasetCharge, Ledger, Receipt, Reservation, SQLiteLedger, SupersededError, open_ledger
from discreet.ledger.records.description import describe
from discreet.mechanisms.process import this_process
from discreet.mechanisms.threshold import AboveThreshold, RepeatedAboveThreshold
from discreet.plan.fingerprint import Context, Fingerprints, Question, canonical, fingerprint
from discreet.plan.physical import Pushdown, Scan
from discreet.plan.wording import Lines
from discreet.planner import format_0
from discreet.planner.batch import BatchPlan
from discreet.planner.document import charged_plan, document
from discreet.planner.queries.online_ranges import OnlineRangesPlan
from discreet.planner.queries.private_plan import AnswerPlan, PrivatePlan
from discreet.planner.queries.sample_and_aggregate import SampleAndAggregatePlan
from discreet.planner.queries.sparse_vector import SparseVectorPlan
from discreet.release.document import Document
from discreet.release.signed import SIGNATURE, statement
from discreet.session import draft_catalog
from discreet.session.arguments import bottom
from discreet.session.estimates import Sampling
from discreet.session.kind import QuestionKind, Request
from discreet.session.kinds import kind_of
from discreet.session.models import TrainingRows
from discreet.session.public_tables import refuse_protected_rows
from discreet.session.stored import Stamp
from discreet.workloads.stream import ThresholdStream

log = logging.getLogger("discreet")

OWNER = "owner"
Documents = tuple[Document, ...]
"""One for each query of a request."""


class Pipeline:
    """The catalog, the engines and the ledger of a session; nothing leaves them but by a charge."""

    is_private = True

    def __init__(
        self,
        catalog: Catalog,
        sources: Mapping[str, Source],
        given: Mapping[str, object],
        ledger: Ledger,
        *,
        analyst: str = OWNER,
        memory_limit: str | None = None,
        threads: int | None = None,
    ) -> None:
        self.catalog, self.ledger, self.analyst = catalog, ledger, analyst
        refuse_protected_rows(catalog, sources, given, ledger)
        self.engines = engines_of(sources, memory_limit=memory_limit, threads=threads)
        self.registrations: dict[str, int] = {}
        self._process = this_process()
        self._end = weakref.finalize(self, _end_session, self.engines, self.ledger, self._process)
        try:
            for name, table in catalog.tables.items():
                self._admit(name, table) if table.public else self._register(name, table, sources[name])
            self._warn_of_exposures()
        except BaseException:
            self.close()
            raise

    @classmethod
    def session_ledger(cls, ledger: str | Path | Ledger | None) -> Ledger:
        """The ledger that a session is given, by its location, or the one at home; the ledger of a test is refused."""
        if ledger is None:
            path = home() / "ledger.sqlite"
            print(f"discreet: the budget is kept in {path}", file=sys.stderr)  # noqa: T201 - the owner must know
            return SQLiteLedger(path)
        if getattr(ledger, "is_for_tests", False):
            raise ParameterError(
                "the ledger of a testing session",
                because="it stores exact answers, which this session would release",
                instead='ledger="ledger.sqlite", or dp.testing.protect(...)',
            )
        if ledger == ":memory:":
            log.warning("the budget is kept in memory, and is forgotten when this session ends")
        return open_ledger(ledger) if isinstance(ledger, str | Path) else ledger

    def close(self) -> None:
        """Give back the engines; prepared tables and spill files are deleted."""
        self._end()

    def answer(
        self, request: Request, confidence: Fraction, *, fresh: bool = False, idempotency_key: str | None = None
    ) -> Any:
        """The answer to a query: plan it, prepare it without reading, charge, read, add noise, store, restore.

        Args:
            request: The query and its privacy parameters.
            confidence: The confidence of margins.
            fresh: Whether to charge and answer anew where the same query was answered before.
            idempotency_key: A key of the caller's for a retry, which is charged once.
        """
        kind, plan, budget = self.plan(request)
        question = kind.identity(request, plan, self.catalog, budget)
        words = kind.words(request, plan, self.catalog)
        with kind.prepare(request, plan, self) as prepared:
            charged = _charged_plan(plan, states_of(prepared))
            described = describe(words, charged)
            pairs = zip(kind.parts(plan), words, strict=True)
            documents = tuple(self._document(part, lines, charged) for part, lines in pairs)
            reservation = self.charge(plan, prepared, question, described, idempotency_key, fresh=fresh)
            while reservation.payload is None:
                try:
                    data = self._make_and_store(kind, plan, prepared, reservation, documents)
                    break
                except SupersededError:  # another process took the charge over: its answer is the answer
                    reservation = self.charge(plan, prepared, question, described, idempotency_key, fresh=False)
            else:
                data = json.loads(reservation.payload)
        repeated = reservation.payload is not None
        return kind.restore(data, plan, plan.event, confidence, repeated=repeated)

    def plan(self, request: Request) -> tuple[QuestionKind[Any], Any, Budget]:
        """The kind of a query, its private plan from public facts alone, and the budget that it is planned under."""
        kind = kind_of(request)
        if self.is_private:
            kind.require_private(request)
        budget = self.ledger.budget(self.table_name(bottom(kind.source(request))))
        return kind, kind.plan(request, self.catalog, budget), budget

    def prepare(self, plan: Any) -> PreparedQuery:
        """The engine's query, bound against declared types; no row is read."""
        return self.engine(plan.dataset).prepare(plan.pushdown)

    def prepare_blocks(self, plan: SampleAndAggregatePlan) -> PreparedBlocks:
        """The engine's query for blocks of rows; no row is read."""
        return self.engine(plan.dataset).prepare_blocks(plan.pushdown, plan.columns, plan.blocks)

    def _document(self, plan: AnswerPlan, words: Lines, charged: str) -> Document:
        """The documentation of a plan, from public facts alone."""
        return document(words, plan, charged, self.catalog, type(self.engine(plan.dataset)).__name__)

    def charge(
        self,
        plan: PrivatePlan,
        prepared: Any,
        question: Question,
        described: str,
        idempotency_key: str | None,
        *,
        fresh: bool,
    ) -> Reservation:
        """Charge every dataset that the answer rests on, or none; or find the stored answer to the same query."""
        self._refuse_gone()
        read, states = datasets(plan), states_of(prepared)
        context = self.context(*(name for name, _ in read), states=states)
        known_by = Fingerprints(fingerprint(question, context), format_0.former_fingerprints(plan, context))
        return self.ledger.charge_together(
            [
                DatasetCharge(name=name, version=version, event=plan.event, registration=self.registrations[name])
                for name, version in read
            ],
            analyst=self.analyst,
            question=known_by.current,
            former=known_by.former,
            request=idempotency_key,
            description=described,
            fresh=fresh,
        )

    def exact(self, name: str, prepared: PreparedQuery) -> Any:
        """The engine's integers; how far it is depends on the rows, so only the owner's terminal shows it."""
        engine = self.engines[name]
        return shown_while(lambda: engine.run(prepared), stages=engine.progress, may_show_stages=self.analyst == OWNER)

    def randomize(self, plan: Any, exact: Any) -> Any:
        """The one place where noise meets exact answers."""
        return plan.randomize(exact)

    def open_stream(self, mechanism: AboveThreshold | RepeatedAboveThreshold) -> ThresholdStream:
        """The state of the sparse vector technique, with noise of its own."""
        return mechanism.open()

    def _make_and_store(
        self, kind: QuestionKind[Any], plan: Any, prepared: Any, reservation: Reservation, documents: Documents
    ) -> Any:
        """Make the answer under a charge that is durable and store it; where storing fails, asking again is free."""
        documents = tuple(_with_other_releases(each, plan.dataset, reservation) for each in documents)
        with self.ledger.holding(reservation):
            body, payload = self._make_answer(kind, plan, prepared, reservation, documents)
            stored = self.ledger.answer(reservation, payload)
        return body if stored == payload else json.loads(stored)  # another answer where the charge had one

    def _make_answer(
        self, kind: QuestionKind[Any], plan: Any, prepared: Any, reservation: Reservation, documents: Documents
    ) -> tuple[dict[str, Any], bytes]:
        """Read, add noise and sign: the answer as plain data, and its text to store.

        Any failure from here on, an exit included, raises one constant sentence.
        """
        try:
            noisy = self.randomize(plan, kind.run(plan, prepared, self))
            inferred = kind.reads_inferred(plan, self)
            body = kind.body(plan, noisy, Stamp(_own_receipt(plan, reservation), self.is_private, documents, inferred))
            body, text = kind.sign(body, self._signed)
            return body, text.encode()
        except BaseException as error:  # noqa: BLE001 - nothing of it goes on: it may quote a cell
            code, is_interrupt = type(error).__name__, isinstance(error, KeyboardInterrupt)
        known = reservation.receipt.id
        self.forfeit(reservation, code)
        if is_interrupt:
            raise KeyboardInterrupt(f"stopped; its charge stands, receipt {known}")
        log.error("a query failed after its charge: class %s, receipt %s", code, known)
        raise Failure

    def _signed(self, body: dict[str, Any]) -> tuple[dict[str, Any], str]:
        """A result in plain data with the signature of the ledger, where it has a key; and its text, written once."""
        text = statement(body)
        signature = self.ledger.signature(text)
        if signature is None:
            return body, text
        return body | {SIGNATURE: signature}, f'{text.removesuffix("}")},"{SIGNATURE}":{json.dumps(signature)}}}'

    def charge_interactive(
        self, plan: SparseVectorPlan | OnlineRangesPlan, question: Question, prepared: PreparedQuery | None
    ) -> Reservation:
        """Charge an interactive mechanism as a whole; every opening is a charge of its own."""
        self._refuse_gone()
        states = states_of(prepared)
        return self.ledger.charge(
            plan.dataset,
            version=plan.version,
            analyst=self.analyst,
            event=plan.event,
            question=fingerprint(question, self.context(plan.dataset, states=states)),
            description=describe((plan.words,), charged_plan(plan.description, states)),
            registration=self.registrations[plan.dataset],
            fresh=True,
        )

    def forfeit(self, reservation: Reservation, code: str) -> None:
        """Record that a charge has no answer."""
        try:
            self.ledger.forfeit(reservation, code)
        except Exception as error:  # noqa: BLE001 - the charge stands whether or not the mark can be written
            log.error("a forfeit could not be recorded: class %s", type(error).__name__)  # noqa: TRY400

    def context(self, *names: str, states: States = ()) -> Context:
        """What two requests must share, beside the query, to have the same answer."""
        registered = tuple((name, self.registrations[name]) for name in names)
        return Context(registered, self.is_private, states)

    def fits_others(self, plan: PrivatePlan) -> bool:
        """Whether the other tables that an answer would be charged to have room for it, and the analyst's quotas."""
        budgets = {name: self.ledger.budget(name) for name, _ in datasets(plan)}
        costs = {name: budget.cost(plan.event) for name, budget in budgets.items()}
        others = [name for name in budgets if name != plan.dataset]
        fits = all(budgets[name].admits(self.ledger.spent(name) + costs[name]) for name in others)
        return fits and all(self.ledger.share(name, self.analyst).refusal(costs[name]) is None for name in costs)

    def engine(self, name: str) -> Engine:
        """The engine of a dataset, or an error where it is gone."""
        self._refuse_gone()
        return self.engines[name]

    def _refuse_gone(self) -> None:
        if not self._end.alive or self._process != this_process():
            raise SourceError(
                "a session whose engine is gone",
                because="it was closed, or opened before a fork of the process",
                instead="dp.protect(...) again in this process; what was spent is kept in the ledger",
            )

    def _admit(self, name: str, table: Table) -> None:
        """Register a public table, unless it is protected already."""
        if self.ledger.registration(name) is not None:
            raise CatalogError(
                f"the public table {name!r}",
                because="the ledger has a privacy budget for a table of that name",
                instead=f"the table {name!r} without public: true, with its privacy_unit and budget as registered",
            )
        self.engines[name].require(name, {column: fact.type for column, fact in table.columns.items()})

    def _register(self, name: str, table: Table, source: Source) -> None:
        """Register a table; until its first charge only if its source has every declared column: no slip is frozen."""
        known = self.ledger.registration(name, table.version)
        if known is None or not known.is_charged:
            left_out = source.unreadable if source.is_inferred else {}  # refused where a query reads them
            columns = {column: fact.type for column, fact in table.columns.items() if column not in left_out}
            self.engines[name].require(name, columns)
        kept = self.ledger.register(draft_catalog.dataset_of(name, table, source.identity))
        self.registrations[name] = kept.sequence
        self.engines[name].adopt(name, kept.hash_key)
        for column, reason in source.unreadable.items() if not source.is_inferred else ():
            log.warning("column %r of %r is left out: %s", column, name, reason)
        if source.identity != "memory":
            for other in kept.same_source:
                log.warning("%r and %r have the same source: their privacy budgets add up", name, other)

    def _warn_of_exposures(self) -> None:
        """Warn in the log where an analyst's session runs beside a place that shows exact row counts."""
        if self.analyst == OWNER:
            return
        for engine in dict.fromkeys(self.engines.values()):
            for place in engine.exposures():
                log.warning(
                    "exact row counts of every query are in %s: keep them from analysts, or turn them off", place
                )

    def table_name(self, table: str | None) -> str:
        """The protected table of that name; the only one, if none is named."""
        if table is None:
            if len(self.catalog.protected_tables) != 1:
                raise ParameterError(
                    "a table left open",
                    because="the session has several",
                    instead=f'remaining("{next(iter(self.catalog.protected_tables), "visits")}")',
                )
            return next(iter(self.catalog.protected_tables))
        if self.catalog.table(table).public:
            raise ParameterError(
                f"the public table {table!r}",
                because="it protects nobody, so nothing is ever spent of it",
                instead="a table that has a budget; a join begins with it: "
                f'dp.table("{next(iter(self.catalog.protected_tables), "visits")}").join(dp.table("{table}"), on=...)',
            )
        return table


def states_of(ready: Any) -> States:
    """The states of the public tables that bound queries read, as their rows are named after them."""
    match ready:
        case Sampling(PreparedBlocks(rows=rows)) | TrainingRows(PreparedBlocks(rows=rows)):
            return rows.states
        case PreparedMarginals(rows=rows):
            return rows.states
        case PreparedQuery():
            return ready.states
    return tuple(state for part in ready or () for state in states_of(part))


def _charged_plan(plan: PrivatePlan, states: States) -> str:
    """The engine's query of a plan, and the states of public tables."""
    if isinstance(plan, BatchPlan):
        return charged_plan(plan.description, states)
    asked: tuple[Pushdown, ...] = plan.pushdowns  # type: ignore[attr-defined]
    described = canonical(asked if len(asked) > 1 else asked[0])
    return charged_plan(described, states)


def datasets(plan: PrivatePlan) -> tuple[tuple[str, int], ...]:
    """The protected tables that an answer rests on, each once with its version: all of them are charged, or none."""
    return tuple(dict.fromkeys(each for scan in _scans(plan) for each in scan.datasets))


def _scans(plan: PrivatePlan) -> list[Scan]:
    parts = plan.parts if isinstance(plan, BatchPlan) else (plan,)
    return [part.pushdown.scan for part in parts]  # type: ignore[attr-defined]


def _own_receipt(plan: PrivatePlan, reservation: Reservation) -> Receipt:
    """The receipt of the dataset that a query is named after; it names the others that were charged with it."""
    return next((receipt for receipt in reservation.receipts if receipt.dataset == plan.dataset), reservation.receipt)


def _with_other_releases(found: Document, dataset: str, reservation: Reservation) -> Document:
    """The document of a charged query, with the other releases that the ledger lists in its receipts.

    They are those before the charge, so a charge that another process takes over has the same document.
    """
    several = len(reservation.receipts) > 1
    texts = [
        f"{receipt.dataset}: {text}" if several and receipt.dataset != dataset else text
        for receipt in sorted(reservation.receipts, key=lambda each: (each.dataset != dataset, each.dataset))
        for text in receipt.others
    ]
    return replace(found, others=(*found.others, *texts))


def _end_session(engines: Mapping[str, Engine], ledger: Ledger, process: tuple[int, object]) -> None:
    """Close engines, and anchor the last charges: an older copy of the ledger is refused by them.

    Only in the process that started the session: a forked child must not delete its parent's workspace.
    """
    if process == this_process():
        ledger.anchor_memory()
        for engine in dict.fromkeys(engines.values()):
            engine.close()
