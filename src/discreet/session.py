"""The gate: the only place that releases. A query is explained for free, charged before data is read, answered once.

session = dp.protect("visits.csv", privacy_unit="patient_id", max_rows=10, budget=dp.Budget(epsilon=2))
session.explain(query, epsilon=0.5)
session.release(query, epsilon=0.5)
"""

import html
import json
import logging
import os
import sys
import weakref
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, NoReturn, Self

from discreet import drafting, hints
from discreet.accounting.filters import Budget
from discreet.analysis import MechanismName, PrivatePlan, analyze
from discreet.analysis.explaining import explained, least_epsilon
from discreet.catalog import Catalog, Table, Value
from discreet.engines import Engine, Prepared, Source, engines_of, public_location, source_of
from discreet.errors import Failure, ParameterError, SourceError, short_traceback
from discreet.exact import Number, positive, probability, whole
from discreet.explanation import Explanation
from discreet.frame import Query
from discreet.guarantee import Guarantee
from discreet.home import home
from discreet.ledger import Entry, Ledger, Receipt, SQLiteLedger, SupersededError, Turn, open_ledger
from discreet.progress import shown_while
from discreet.pushdown import canonical
from discreet.release import Key, Release
from discreet.remaining import Remaining
from discreet.slice import Slice
from discreet.unit import Row
from discreet.version import __version__

log = logging.getLogger("discreet")

CONFIDENCE = 0.95
OWNER = "owner"


class Session:
    """Tables under promises: explain, release, remaining. Usable from several threads at once."""

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
    ) -> None:
        self._catalog = (catalog if isinstance(catalog, Catalog) else Catalog.load(catalog)).model_copy(deep=True)
        beside = Path() if isinstance(catalog, Catalog) else Path(catalog).parent
        self.analyst = analyst
        given = dict(sources or {})
        opened = {
            name: drafting.opened_source(name, table, given, beside) for name, table in self._catalog.tables.items()
        }
        self.ledger = self._open_ledger(ledger)
        workers = None if threads is None else whole(threads, "threads")
        self._engines = engines_of(opened, memory_limit=memory_limit, threads=workers)
        self._process = os.getpid()
        self._registrations: dict[str, int] = {}
        self._end = weakref.finalize(self, _ended, self._engines, self._process)
        try:
            for name, table in self._catalog.tables.items():
                self._register(name, table, opened[name])
        except BaseException:
            self.close()
            raise

    @property
    def catalog(self) -> Catalog:
        """A copy of the public facts: what was registered does not change under an open session."""
        return self._catalog.model_copy(deep=True)

    @classmethod
    @short_traceback
    def protect(
        cls,
        source: object,
        *,
        privacy_unit: str | Sequence[str] | Row | None = None,
        budget: Budget | None = None,
        name: str | None = None,
        version: int = 1,
        slice: Slice | None = None,  # noqa: A002 - the word of the catalog
        max_rows: int | None = None,
        max_groups: int | None = None,
        max_rows_per_group: int | None = None,
        neighbours: Literal["add_remove", "replace_one"] = "add_remove",
        keys: Mapping[str, Sequence[Value]] | None = None,
        bounds: Mapping[str, tuple[Number, Number]] | None = None,
        types: Mapping[str, str] | None = None,
        missing: Mapping[str, Number] | None = None,
        missing_units: Literal["drop", "one_unit"] = "drop",
        sampling: Literal["fast", "portable"] = "fast",
        population: int | None = None,
        rows: int | None = None,
        delimiter: str | None = None,
        table: str | None = None,
        ledger: str | Path | Ledger | None = None,
        analyst: str = OWNER,
        memory_limit: str | None = None,
        threads: int | None = None,
    ) -> Self:
        """Put a file or a frame under a promise, in one call.

        Types that are not declared are read from the source once and frozen. What is said here is public.

        source              a path, glob or directory (CSV, Parquet, DuckDB), s3:// or gs://, a pandas, Polars or
                            Arrow table, a Spark DataFrame, or postgresql://host/database with table=
        privacy_unit        whom to protect: a column, several, or dp.ROW; you must say it
        budget              what all answers together may reveal of one unit: dp.Budget(epsilon=2)
        name, version       the dataset that the budget belongs to, and the number of its version
        slice               the rows of one period alone, with a budget of their own: dp.Slice("visited", "2026-10-01",
                            "2026-11-01"); visits.csv is then asked as dp.table("visits-2026-10")
        max_rows            how many rows of one unit count; the others are left out
        max_groups          how many groups one unit counts in
        max_rows_per_group  how many rows of one unit count in each group
        neighbours          "add_remove" one unit, or "replace_one"
        keys                groups by column: {"ward": ["A", "B"]}
        bounds              values are moved into them: {"cost": (0, 5_000)}
        types               {"age": "integer"}, where they should not be read from the source
        missing             what a missing number counts as: {"cost": 0}; it is skipped otherwise
        missing_units       rows without a unit: "drop" them, or count them as "one_unit"
        sampling            which rows of a unit count: by the engine's own hash ("fast"), or "portable"
        population          how many people there are in all, to judge delta by
        rows                roughly how many rows there are; used only to predict errors
        delimiter, table    of a CSV file; in a DuckDB or SQLite file, or in PostgreSQL
        ledger              where spending is remembered: a path, or a ledger; one at home otherwise
        analyst             who asks, for the history; an "owner" sees how far a long query is
        memory_limit, threads   what the engine may use
        """
        known, part = drafting.sliced(drafting.name_of(source, name, table), slice)
        opened = source_of(source, delimiter=delimiter, table=table)
        by_column = drafting.by_column(keys=keys, bounds=bounds, types=types, missing=missing)
        facts = {
            "neighbours": neighbours,
            "max_rows": max_rows,
            "max_groups": max_groups,
            "max_rows_per_group": max_rows_per_group,
            "missing_units": missing_units,
            "sampling": sampling,
            "population": population,
            "rows": rows,
            "delimiter": delimiter,
            "relation": table,
            "source": public_location(str(source)) if isinstance(source, str | Path) else None,
        }
        words = drafting.Words(privacy_unit, budget, version, by_column, facts, part)
        kept = cls._open_ledger(ledger)
        return cls(
            drafting.drafted(known, opened, words, kept),
            sources={known: opened},
            ledger=kept,
            analyst=analyst,
            memory_limit=memory_limit,
            threads=threads,
        )

    @short_traceback
    def explain(
        self,
        query: Query,
        *,
        epsilon: Number | None = None,
        rho: Number | None = None,
        mechanism: MechanismName | None = None,
        confidence: Number = CONFIDENCE,
    ) -> Explanation:
        """What the query would cost and how wrong it would be; free, because nothing is read."""
        budget = self._budget_of(query)
        private = analyze(query.plan, self._catalog, budget, epsilon=epsilon, rho=rho, mechanism=mechanism)
        self._prepared(private)
        return explained(private, budget, self.ledger.spent(private.dataset), _confidence(confidence))

    @short_traceback
    def release(
        self,
        query: Query,
        *,
        epsilon: Number | None = None,
        rho: Number | None = None,
        mechanism: MechanismName | None = None,
        confidence: Number = CONFIDENCE,
        fresh: bool = False,
        request: str | None = None,
    ) -> Release:
        """Charge, then answer. The same question again returns the stored answer at no cost, unless `fresh`.

        `request` is a key of your own for a retry: whatever happened in between, it is charged once.
        """
        level = _confidence(confidence)
        if not isinstance(fresh, bool):
            raise ParameterError(f"fresh={fresh!r}", because="it is True or False", instead="fresh=True")
        budget = self._budget_of(query)
        private = analyze(query.plan, self._catalog, budget, epsilon=epsilon, rho=rho, mechanism=mechanism)
        prepared = self._prepared(private)
        question = private.question(self._circumstances(private.dataset))
        payload, repeated = self._answered(private, prepared, question, request, fresh=fresh)
        return _restored(payload, private, level, repeated=repeated)

    @short_traceback
    def epsilon_for(
        self,
        query: Query,
        *,
        margin: Number,
        output: str | None = None,
        mechanism: MechanismName | None = None,
        confidence: Number = CONFIDENCE,
    ) -> float:
        """Accuracy first: the least epsilon for which every output (or the named one) is within the margin."""
        level = _confidence(confidence)
        wanted = positive(margin, "margin")
        budget = self._budget_of(query)
        names = [made.name for made in query.plan.outputs]
        if output is not None and output not in names:
            raise ParameterError(
                f"output={output!r}", because="the query has no such output", instead=f"one of {names}"
            )

        def margin_at(epsilon: Fraction) -> Fraction | None:
            private = analyze(query.plan, self._catalog, budget, epsilon=epsilon, mechanism=mechanism)
            chosen = [made for made in private.recipes if output in (None, made.name)]
            margins = [private.margin(made, level, private.rows_per_group) for made in chosen]
            known = [found for found in margins if found is not None]
            return max(known) if len(known) == len(margins) else None

        return float(least_epsilon(margin_at, wanted))

    @short_traceback
    def remaining(self, table: str | None = None) -> Remaining:
        """What is left of the promise of a table (the only one, if there is one)."""
        name = self._the_table(table)
        budget, spent, table_facts = self.ledger.budget(name), self.ledger.spent(name), self._catalog.table(name)
        return Remaining(name, budget.epsilon_left(spent), budget, table_facts.unit, table_facts.part)

    @short_traceback
    def history(self, table: str | None = None) -> list[Entry]:
        """Every charge so far, oldest first."""
        return self.ledger.history(self._the_table(table))

    def close(self) -> None:
        """Give back the engine; prepared tables and spill files are deleted."""
        self._end()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __str__(self) -> str:
        stamp = "" if self._is_private else "NOT PRIVATE "
        return "\n".join(
            [f"{stamp}session of {self.analyst!r}", *(f"  {self.remaining(n)}" for n in self._catalog.tables)]
        )

    __repr__ = __str__

    if not TYPE_CHECKING:  # a checker still finds names that are not there

        def __getattr__(self, name: str) -> NoReturn:
            if name.startswith("_"):
                raise AttributeError(name)
            raise hints.unknown_call("a session", name, hints.SESSION, dir(type(self)), "session.{}(...)")

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(str(self))}</pre>"

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

    def _register(self, name: str, table: Table, source: Source) -> None:
        """Register a table; until its first charge only if its source has every declared column: no slip is frozen."""
        known = self.ledger.registered(name, table.version)
        if known is None or not known.is_charged:
            self._engines[name].require(name, {column: fact.type for column, fact in table.columns.items()})
        kept = self.ledger.register(drafting.dataset_of(name, table, source.identity))
        self._registrations[name] = kept.sequence
        self._engines[name].adopt(name, kept.hash_key)
        for column, reason in source.unreadable.items():
            log.warning("column %r of %r is left out: %s", column, name, reason)
        if source.identity != "memory":
            for other in kept.same_source:
                log.warning("%r and %r are promises over the same source, and add up", name, other)

    def _circumstances(self, name: str) -> str:
        """What two askings must share, beside the question, for the answer of one to be that of the other."""
        noise = "with noise" if self._is_private else "without noise"
        return f"{__version__}, registered {self._registrations[name]}, {noise}"

    def _noisy(self, private: PrivatePlan, exact: list[list[int]]) -> list[list[int]]:
        return private.randomize(exact)

    def _budget_of(self, query: Query) -> Budget:
        """The promise of the table that a query asks, read once from the ledger."""
        name = table_name(_asked(query))
        self._catalog.table(name)
        return self.ledger.budget(name)

    def _prepared(self, private: PrivatePlan) -> Prepared:
        if not self._end.alive or self._process != os.getpid():
            raise SourceError(
                "a session whose engine is gone",
                because="it was closed, or it was opened before a fork and belongs to the parent process",
                instead="dp.protect(...) again in this process; what was spent is kept in the ledger",
            )
        return self._engines[private.dataset].prepare(private.pushdown)

    def _answered(
        self, private: PrivatePlan, prepared: Prepared, question: str, request: str | None, *, fresh: bool
    ) -> tuple[bytes, bool]:
        """The answer from the ledger, and whether it was there before; whoever lost its turn finds the other's."""
        while True:
            turn = self.ledger.charge(
                private.dataset,
                version=private.pushdown.scan.version,
                analyst=self.analyst,
                event=private.event,
                question=question,
                request=request,
                description=canonical(private.pushdown),
                registration=self._registrations[private.dataset],
                fresh=fresh,
            )
            if turn.payload is not None:
                return turn.payload, True
            try:
                return self._made_and_stored(private, prepared, question, turn), False
            except SupersededError:
                fresh = False

    def _made_and_stored(self, private: PrivatePlan, prepared: Prepared, question: str, turn: Turn) -> bytes:
        """Make the answer under a charge that is durable and store it; where storing fails, asking again is free."""
        with self.ledger.holding(turn):
            payload = self._payload(private, prepared, question, turn)
            return self.ledger.answer(turn, payload)

    def _payload(self, private: PrivatePlan, prepared: Prepared, question: str, turn: Turn) -> bytes:
        """Run and add noise; whatever fails from here on says one sentence."""
        try:
            noisy = self._noisy(private, self._exact(private.dataset, prepared))
            return json.dumps(self._made(private, noisy, turn.receipt).to_json(), ensure_ascii=False).encode()
        except BaseException as error:
            code = type(error).__name__
            self._forfeit(turn, code)
            if isinstance(error, KeyboardInterrupt):
                raise KeyboardInterrupt(f"stopped; its charge stands, receipt {turn.receipt.id}") from None
            if not isinstance(error, Exception):
                raise
        receipt = turn.receipt.id
        log.error("a query failed after its charge: class %s, question %s, receipt %s", code, question[:12], receipt)
        raise Failure

    def _exact(self, name: str, prepared: Prepared) -> list[list[int]]:
        """The engine's integers; how far it is depends on the rows, so only the owner's terminal shows it."""
        engine = self._engines[name]
        return shown_while(lambda: engine.run(prepared), stages=engine.progress, may_show_stages=self.analyst == OWNER)

    def _forfeit(self, turn: Turn, code: str) -> None:
        try:
            self.ledger.forfeit(turn, code)
        except Exception as error:  # noqa: BLE001 - the charge stands whether or not the mark can be written
            log.error("a forfeit could not be recorded: class %s", type(error).__name__)  # noqa: TRY400

    def _made(self, private: PrivatePlan, noisy: list[list[int]], receipt: Receipt) -> Release:
        rows, level = private.pushdown.keys.rows, _confidence(CONFIDENCE)
        keys = tuple(
            Key(name, column.type, tuple(row[i] for row in rows))
            for i, (name, column) in enumerate(zip(private.group_columns, private.pushdown.keys.columns, strict=True))
        )
        delta = private.delta if private.spending.mechanism == "gaussian" else Fraction(0)
        part = "" if private.slice is None else f", {private.slice.statement(private.unit)}"
        span = f"this release from {private.dataset!r}, version {private.pushdown.scan.version}{part}"
        clamped = tuple(f"{m.name}: clamped to its bounds" for m in private.recipes if m.kind == "mean")
        return Release(
            dataset=private.dataset,
            version=private.pushdown.scan.version,
            keys=keys,
            outputs=private.outputs(noisy, level),
            measured=private.measured(noisy),
            confidence=level,
            guarantee=str(Guarantee(private.spending.epsilon, delta, private.unit, span)),
            unit=str(private.unit),
            columns_read=private.pushdown.columns_read,
            post_processing=clamped,
            receipt=json.loads(receipt.to_json()),
            private=self._is_private,
            library=__version__,
        )

    def _the_table(self, table: str | None) -> str:
        if table is None:
            if len(self._catalog.tables) != 1:
                raise ParameterError(
                    "a table left open",
                    because="the session has several",
                    instead=f'remaining("{next(iter(self._catalog.tables))}")',
                )
            return next(iter(self._catalog.tables))
        self._catalog.table(table)
        return table


def table_name(query: Query) -> str:
    """The name of the table at the bottom of a query."""
    relation: Any = query.plan.source
    while hasattr(relation, "source"):
        relation = relation.source
    return str(relation.name)


def _ended(engines: Mapping[str, Engine], process: int) -> None:
    """Close engines in the process that started them: a forked child must not delete its parent's workspace."""
    if process == os.getpid():
        for engine in dict.fromkeys(engines.values()):
            engine.close()


def _asked(query: object) -> Query:
    if isinstance(query, Query):
        return query
    raise ParameterError(
        f"a query of type {type(query).__name__}",
        because="only aggregates are released",
        instead='dp.table("visits").agg(n=dp.count())',
    )


def _confidence(value: Number) -> Fraction:
    level = probability(value, "confidence", example="0.95")
    if level == 0:
        raise ParameterError("confidence=0", because="such a margin says nothing", instead="confidence=0.95")
    return level


def _restored(payload: bytes, private: PrivatePlan, confidence: Fraction, *, repeated: bool) -> Release:
    """The stored release, with its margins at the confidence asked for: they follow from the stored integers."""
    release = replace(Release.from_json(json.loads(payload)), repeated=repeated)
    if release.confidence == confidence:
        return release
    outputs = private.outputs([measured.steps for measured in release.measured], confidence)
    return replace(release, outputs=outputs, confidence=confidence)


protect = Session.protect
