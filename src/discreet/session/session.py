"""A session: explain a query for free, release its answer for a charge, see what remains of the budget.

session = dp.protect("visits.csv", privacy_unit="patient_id", max_rows=10, budget=dp.Budget(epsilon=2))
session.explain(query, epsilon=0.5)
session.release(query, epsilon=0.5)
"""

import html
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NoReturn, Self

import pyarrow as pa

from discreet.accounting.filters import Budget
from discreet.catalog.catalog import Value
from discreet.catalog.privacy_unit import Row
from discreet.catalog.time_slice import Slice
from discreet.engines import Statements, public_location, source_of
from discreet.errors import short_traceback
from discreet.exact import Number
from discreet.ledger import Entry, Ledger
from discreet.plan.fingerprint import Question
from discreet.planner import identity
from discreet.planner.queries.online_ranges import analyze_stream
from discreet.planner.queries.sample_and_aggregate import AggregateName, analyze_sample
from discreet.planner.queries.selection import SelectionPlan
from discreet.planner.queries.smooth_sensitivity import NoiseName, SmoothPlan, analyze_fitted
from discreet.planner.queries.sparse_vector import analyze_watch
from discreet.planner.registry import contested
from discreet.query import hints
from discreet.query.frame import Frame, Query
from discreet.query.scores import Score
from discreet.release.estimate import Estimate
from discreet.release.remaining import Remaining, remaining_of_analyst
from discreet.release.selection import Chosen
from discreet.sandbox import Limits, Sandbox, blocks, transport
from discreet.session import draft_catalog, estimates, selections
from discreet.session.above_threshold import Watch
from discreet.session.arguments import asked_query, confidence_of, contest_of, framed
from discreet.session.online_ranges import Ranges
from discreet.session.pipeline import OWNER, Sampling, bottom, table_name
from discreet.session.releasing import Releasing
from discreet.session.stored import CONFIDENCE

__all__ = ["Session", "protect", "table_name"]


class Session(Releasing):
    """Tables under promises: explain, release, remaining. Usable from several threads at once."""

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
        fixed_schema: bool = False,
        row_local: bool = False,
        ledger: str | Path | Ledger | None = None,
        analyst: str = OWNER,
        memory_limit: str | None = None,
        threads: int | None = None,
        modules: Sequence[str] = (),
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
        rows                roughly how many rows there are; used to predict errors and to choose a strategy
        delimiter, table    of a CSV file; in a DuckDB or SQLite file, or in PostgreSQL
        fixed_schema        your statement about an in-memory table: its column types were declared to whatever read it,
                            and do not depend on the rows; recorded with the registration
        row_local           your statement about a view: each of its rows is computed from rows of one unit alone
        ledger              where spending is remembered: a path, or a ledger; one at home otherwise
        analyst             who asks, for the history; an "owner" sees how far a long query is
        memory_limit, threads   what the engine may use
        modules             what functions in session.sample may import beside numpy, pyarrow and parts of Python that
                            only compute: ("pandas", "scipy.stats"); these are imported outside the sandbox
        """
        known, part = draft_catalog.sliced(draft_catalog.name_of(source, name, table), slice)
        stated = Statements(fixed_schema=fixed_schema, row_local=row_local)
        opened = source_of(source, delimiter=delimiter, table=table, stated=stated)
        by_column = draft_catalog.by_column(keys=keys, bounds=bounds, types=types, missing=missing)
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
            "fixed_schema": fixed_schema,
            "row_local": row_local,
            "source": public_location(str(source)) if isinstance(source, str | Path) else None,
        }
        words = draft_catalog.Words(privacy_unit, budget, version, by_column, facts, part)
        kept = cls._open_ledger(ledger)
        return cls(
            draft_catalog.drafted(known, opened, words, kept),
            sources={known: opened},
            ledger=kept,
            analyst=analyst,
            memory_limit=memory_limit,
            threads=threads,
            modules=modules,
        )

    @short_traceback
    def select(
        self,
        candidates: object,
        score: Score,
        *,
        epsilon: Number | None = None,
        rho: Number | None = None,
        top: int = 1,
        confidence: Number = CONFIDENCE,
        fresh: bool = False,
        request: str | None = None,
    ) -> Chosen:
        """Choose a candidate with a high score (or the `top` so many), for one price however many candidates there are.

        candidates  public values, such as wards, prices or dates; dp.discover(delta=1e-10) where they are not known
        score       dp.score(dp.table("visits"), by="ward"), computed by the engine for all of them in one query
        """
        level = confidence_of(confidence)
        contest = contest_of(score, candidates)
        budget = self._budget_of(contest.source)
        asked = contested(contest, self._catalog, budget, epsilon=epsilon, rho=rho, top=top)
        is_listed = isinstance(asked, SelectionPlan) and contest.side == "equal"
        known = asked.pushdown.keys if is_listed else None
        question = identity.selection(contest, self._catalog, budget, identity.Price(epsilon, rho), top, known)
        payload, repeated = self._asked(asked, question, request, fresh=fresh)
        return selections.restored(payload, asked, level, repeated=repeated)

    @short_traceback
    def within(
        self,
        candidates: object,
        score: Score,
        *,
        epsilon: Number | None = None,
        rho: Number | None = None,
        top: int = 1,
        confidence: Number = CONFIDENCE,
    ) -> float:
        """How far below the best score a selection would be, at most, with this probability; free."""
        contest = contest_of(score, candidates)
        price: dict[str, Any] = {"epsilon": epsilon, "rho": rho, "top": top}
        asked = contested(contest, self._catalog, self._budget_of(contest.source), **price)
        return float(asked.within(confidence_of(confidence)))

    @short_traceback
    def watch(
        self,
        table: str | Frame | None = None,
        *,
        threshold: Number,
        epsilon: Number | None = None,
        rho: Number | None = None,
        answers: int = 1,
        sensitivity: Number = 1,
        monotone: bool = False,
        with_answers: bool = False,
        gap: bool = False,
        grid: Number = 1,
    ) -> Watch:
        """Find which of any number of questions are above a threshold, for one price: `with session.watch(...) as w`.

        Opening charges for all of it, and it ends after so many answers above, however many questions are below.

        table         the table that is watched (the only one, if there is one)
        threshold     what answers are held against
        answers       how many may be above before the watch ends
        sensitivity   the most that one unit moves any answer; a question that it can move farther is refused
        monotone      only counts, and sums of values of at least zero, are asked: less noise, under "add_remove"
        with_answers  an answer above comes with its number, for a part of the price
        gap           an answer above comes with how far above, which is free
        grid          what answers are whole multiples of: that of the sums, where sums are asked
        """
        name = self._the_table(bottom(framed(table)) if isinstance(table, Frame) else table)
        words: dict[str, Any] = {
            "threshold": threshold,
            "answers": answers,
            "sensitivity": sensitivity,
            "monotone": monotone,
            "with_answers": with_answers,
            "gap": gap,
            "grid": grid,
        }
        budget = self.ledger.budget(name)
        asked = analyze_watch(name, self._catalog, budget, words, epsilon=epsilon, rho=rho)
        return Watch(self, asked, identity.watch(name, self._catalog, budget, identity.Price(epsilon, rho), words))

    @short_traceback
    def stream(
        self,
        table: Frame,
        column: str,
        *,
        edges: Sequence[Any],
        total: int,
        threshold: Number,
        corrections: int = 10,
        epsilon: Number | None = None,
        rho: Number | None = None,
    ) -> Ranges:
        """Any number of ranges of a column, asked one after another, for one price: `with session.stream(...) as s`.

        table        dp.table("visits"), with any where and derive
        edges        public values that ranges may end at, smallest first
        total        how many rows there are, roughly: a public number, or one that was released
        threshold    how wrong an answer may be before it is corrected
        corrections  how many there may be before the stream ends
        """
        source = framed(table)
        words: dict[str, Any] = {"total": total, "threshold": threshold, "corrections": corrections}
        price: dict[str, Any] = {"epsilon": epsilon, "rho": rho}
        budget, known = self._budget_of(source), tuple(edges)
        asked = analyze_stream(source, column, known, self._catalog, budget, **words, **price)
        paid = identity.Price(epsilon, rho)
        return Ranges(self, asked, identity.stream(source, column, known, self._catalog, budget, paid, **words))

    @short_traceback
    def smooth(
        self,
        query: Query,
        *,
        epsilon: Number | None = None,
        rho: Number | None = None,
        delta: Number | None = None,
        noise: NoiseName | None = None,
        fresh: bool = False,
        request: str | None = None,
    ) -> Estimate:
        """One mean, median or distance between quartiles, with noise that fits the data; its size is private.

        noise  "pareto" (pure) or "laplace_log_normal" (rho) as the promise has no delta or one, unless you say;
               "student_t" is pure too; "laplace" has a delta= of its own, which the promise must have reserved
        """
        valid = asked_query(query).plan
        budget = self._budget_of(valid.source)
        price: dict[str, Any] = {"epsilon": epsilon, "rho": rho, "delta": delta}
        asked = analyze_fitted(valid, self._catalog, budget, noise=noise, **price)
        question = identity.estimate(valid, self._catalog, budget, identity.Price(**price), noise=noise, bound=None)
        return self._estimated(asked, question, CONFIDENCE, request, fresh=fresh)

    @short_traceback
    def propose(
        self,
        query: Query,
        *,
        bound: Number,
        delta: Number,
        epsilon: Number | None = None,
        rho: Number | None = None,
        confidence: Number = CONFIDENCE,
        fresh: bool = False,
        request: str | None = None,
    ) -> Estimate:
        """The same with noise for a bound that you propose on what one unit moves; nothing where the data is too near.

        Half of epsilon pays for the test, half for the number, and all of it is spent also where nothing comes back.
        """
        valid = asked_query(query).plan
        budget = self._budget_of(valid.source)
        price: dict[str, Any] = {"epsilon": epsilon, "rho": rho, "delta": delta}
        asked = analyze_fitted(valid, self._catalog, budget, bound=bound, **price)
        question = identity.estimate(valid, self._catalog, budget, identity.Price(**price), noise=None, bound=bound)
        return self._estimated(asked, question, confidence, request, fresh=fresh)

    @short_traceback
    def sample(
        self,
        table: Frame,
        function: Callable[[pa.Table], object] | str,
        *,
        columns: Sequence[str],
        chunks: int,
        bounds: tuple[Number, Number],
        epsilon: Number | None = None,
        rho: Number | None = None,
        aggregate: AggregateName = "mean",
        default: Number | None = None,
        grid: Number | None = None,
        limits: Limits | None = None,
        fresh: bool = False,
        request: str | None = None,
    ) -> Estimate:
        """Any function of a table, made private: it is asked about many chunks, and the answers are aggregated.

        table      dp.table("visits"), with any where and derive
        function   takes a pyarrow.Table with these columns and returns a number; `sandbox.rehearse` tries it. As text,
                   "def answer(table): ...", it is compiled and executed in the sandbox alone. It may use the modules
                   that the owner allowed when the session was opened
        chunks     how many: more have less noise, and each stands for the whole less well
        bounds     answers are moved into them
        aggregate  "mean", "median", or "mean with bounds of its own", for bounds that are far too wide
        default    what a chunk counts as that fails, hangs or takes too much; the middle of the bounds
        limits     time and memory of each chunk, and seconds for the engine; answers are there after
                   limits.deadline(chunks) seconds, whatever the function does
        """
        packed, allowed = transport.pack(function, self._modules), blocks.limits_or_default(limits)
        source = framed(table)
        budget = self._budget_of(source)
        words: dict[str, Any] = {
            "columns": columns,
            "chunks": chunks,
            "bounds": bounds,
            "aggregate": aggregate,
            "default": default,
            "grid": grid,
        }
        made: dict[str, Any] = {"function": (packed.name, packed.digest), "runs": allowed.fingerprint_text}
        asked = analyze_sample(source, self._catalog, budget, **words, **made, epsilon=epsilon, rho=rho)
        question = identity.sample(source, self._catalog, budget, identity.Price(epsilon, rho), **words, **made)
        bound = self._prepared_chunks(asked)
        with Sandbox(packed, limits=allowed) as opened:
            payload, repeated = self._asked(asked, question, request, fresh=fresh, prepared=Sampling(bound, opened))
        return estimates.restored(payload, asked, confidence_of(CONFIDENCE), repeated=repeated)

    @short_traceback
    def remaining(self, table: str | None = None) -> Remaining:
        """What is left of the budget of a table (the only one, if there is one), and of the analyst's quota."""
        name = self._the_table(table)
        budget, spent, table_facts = self.ledger.budget(name), self.ledger.spent(name), self._catalog.table(name)
        left = Remaining(name, budget.epsilon_left(spent), budget, table_facts.unit, table_facts.part)
        share = self.ledger.share(name, self.analyst)
        return remaining_of_analyst(left, spent, self.analyst, share.quota, share.spent)

    @short_traceback
    def history(self, table: str | None = None) -> list[Entry]:
        """Every charge so far, oldest first."""
        return self.ledger.history(self._the_table(table))

    def __str__(self) -> str:
        stamp = "" if self._is_private else "NOT PRIVATE "
        return "\n".join(
            [f"{stamp}session of {self.analyst!r}", *(f"  {self.remaining(n)}" for n in self._catalog.protected)]
        )

    __repr__ = __str__

    if not TYPE_CHECKING:  # a checker still finds names that are not there

        def __getattr__(self, name: str) -> NoReturn:
            if name.startswith("_"):
                raise AttributeError(name)
            raise hints.unknown_call("a session", name, hints.SESSION, dir(type(self)), "session.{}(...)")

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(str(self))}</pre>"

    def _estimated(
        self, asked: SmoothPlan, question: Question, confidence: Number, request: str | None, *, fresh: bool
    ) -> Estimate:
        level = confidence_of(confidence)
        payload, repeated = self._asked(asked, question, request, fresh=fresh)
        return estimates.restored(payload, asked, level, repeated=repeated)


protect = Session.protect
