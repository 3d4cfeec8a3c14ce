"""Opening and closing of sessions: from a catalog, or from one source with its public facts."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal, Self

from discreet.accounting.filters import Budget
from discreet.catalog.catalog import Catalog, Value
from discreet.catalog.privacy_unit import Row
from discreet.catalog.time_slice import Slice
from discreet.engines import Statements, public_location, source_of
from discreet.errors import public_class, short_traceback
from discreet.exact import Number, whole
from discreet.ledger import Ledger
from discreet.sandbox.modules import allowed_modules
from discreet.session import draft_catalog
from discreet.session.pipeline import OWNER, Pipeline


@public_class
class OpenSession:
    """The open tables, ledger and engines of a session."""

    _pipeline_class = Pipeline

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
        facts = (catalog if isinstance(catalog, Catalog) else Catalog.load(catalog)).model_copy(deep=True)
        beside = Path() if isinstance(catalog, Catalog) else Path(catalog).parent
        self.analyst = analyst
        self._modules = allowed_modules(modules)
        given = dict(sources or {})
        opened = {name: draft_catalog.opened_source(name, t, given, beside) for name, t in facts.tables.items()}
        self.ledger = self._pipeline_class.opened_ledger(ledger)
        self._pipeline = self._pipeline_class(
            facts,
            opened,
            given,
            self.ledger,
            analyst=analyst,
            memory_limit=memory_limit,
            threads=None if threads is None else whole(threads, "threads"),
        )

    @property
    def catalog(self) -> Catalog:
        """A copy of the public facts: what was registered does not change under an open session."""
        return self._pipeline.catalog.model_copy(deep=True)

    def close(self) -> None:
        """Give back the engine; prepared tables and spill files are deleted."""
        self._pipeline.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

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
        modules             what functions of `Frame.apply` may import beside numpy, pyarrow and parts of Python that
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
        kept = cls._pipeline_class.opened_ledger(ledger)
        return cls(
            draft_catalog.drafted(known, opened, words, kept),
            sources={known: opened},
            ledger=kept,
            analyst=analyst,
            memory_limit=memory_limit,
            threads=threads,
            modules=modules,
        )
