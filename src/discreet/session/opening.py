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
from discreet.exact.numbers import Number, whole
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
        """Open the tables of a catalog.

        Args:
            catalog: A catalog, or the path of one in YAML.
            sources: Sources by the name of their table, where the catalog names none. Default: none.
            allow_float_gradients: Whether networks may be trained (`dp.learning.TorchClassifier`). Their gradients are
                floats, whose last bits no proof covers; each guarantee says so. Default False.
            ledger: Path of a ledger, its address in PostgreSQL, or a ledger. Default: a file in the user's home.
            analyst: Name of the analyst in the history. An "owner" sees the progress of long queries. Default "owner".
            memory_limit: Memory that the engine may use, such as "4GB". Default: the engine's.
            threads: Number of threads that the engine may use. Default: the engine's.
            modules: Modules that functions of `Frame.apply` may import, besides numpy, pyarrow and computing parts of
                Python. Default: none.

        Raises:
            Refusal: If a table has no source or no budget, or differs from the one registered.
            LedgerError: If the ledger cannot be used.
        """
        facts = (catalog if isinstance(catalog, Catalog) else Catalog.load(catalog)).model_copy(deep=True)
        beside = Path() if isinstance(catalog, Catalog) else Path(catalog).parent
        self.analyst = analyst
        self._modules = allowed_modules(modules)
        given = dict(sources or {})
        opened = {name: draft_catalog.open_source(name, t, given, beside) for name, t in facts.tables.items()}
        self.ledger = self._pipeline_class.session_ledger(ledger)
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
        """Release the engine, and delete prepared tables and spill files.

        Example:
            >>> import discreet as dp
            >>> facts = {"name": "visits", "privacy_unit": "patient_id", "max_rows": 10}
            >>> session = dp.testing.protect(dp.datasets.visits(100), **facts, budget=dp.Budget(epsilon=2))
            >>> session.close()
        """
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
        bins: Mapping[str, Mapping[str, int] | Sequence[Number]] | None = None,
        missing_units: Literal["drop", "one_unit"] = "drop",
        sampling: Literal["fast", "portable"] = "fast",
        population: int | None = None,
        rows: int | None = None,
        delimiter: str | None = None,
        table: str | None = None,
        fixed_schema: bool = False,
        row_local: bool = False,
        allow_float_gradients: bool = False,
        ledger: str | Path | Ledger | None = None,
        analyst: str = OWNER,
        memory_limit: str | None = None,
        threads: int | None = None,
        modules: Sequence[str] = (),
    ) -> Self:
        """Open a session over one source, under a privacy budget.

        Types that are not declared are read from the source once and frozen. All arguments are public.

        Args:
            source: A path, glob or directory (CSV, Parquet, DuckDB, SQLite), s3:// or gs://, a pandas, Polars or Arrow
                table, a Spark DataFrame, or postgresql://host/database with `table`.
            privacy_unit: The column, or columns, that identify whom to protect, or `dp.ROW`. Required.
            budget: Bound on the privacy loss of all answers together: `dp.Budget(epsilon=2)`. Required, also to
                open a registered dataset again; after its first charge it must equal the registered budget.
            name: Name of the dataset that the budget belongs to. Default: taken from the source.
            version: Number of the version of the data. Default 1.
            slice: Only the rows of one period, with a budget of their own: with `dp.Slice("visited", "2026-10-01",
                "2026-11-01")`, visits.csv is `dp.table("visits-2026-10")`. Default: all rows.
            max_rows: Number of rows of one unit that count; the others are left out.
            max_groups: Number of groups that one unit counts in. Default: bounded by `max_rows`.
            max_rows_per_group: Number of rows of one unit that count in each group. Default: bounded by `max_rows`.
            neighbours: "add_remove" one unit, or "replace_one". Default "add_remove".
            keys: Public keys by column: `{"ward": ["A", "B"]}`. Default: none.
            bounds: Clipping bounds by column: `{"cost": (0, 5_000)}`. Default: none.
            types: Types by column, such as `{"age": "integer"}`. Default: read from the source.
            missing: Number that a missing value counts as, by column: `{"cost": 0}`. Default: missing values are
                skipped.
            bins: Bins of numbers as features of models, by column: `{"cost": {"log": 32}}`, `{"age": {"linear": 16}}`,
                or inner edges, `{"age": [18, 30, 65]}`. Default: 32 bins, or one for each of few whole numbers.
            missing_units: Rows without a unit: "drop" them, or count them as "one_unit". Default "drop".
            sampling: Which rows of a unit count: "fast", by the engine's hash, or "portable", the same on all engines.
                Default "fast".
            population: Number of people in the population, to judge delta by. Default: one million.
            rows: Approximate number of rows; predicts errors and helps to choose a strategy. Default: unknown.
            delimiter: Delimiter of a CSV file. Default: a comma, or a tab for TSV.
            table: Name of the table in a DuckDB or SQLite file, or in PostgreSQL. Default: the only one of a file.
            fixed_schema: Your statement about an in-memory table: its column types do not depend on the rows. It is
                recorded with the registration. Default False.
            row_local: Your statement about a view: each row is computed from rows of one unit alone. Default False.
            allow_float_gradients: Whether networks may be trained (`dp.learning.TorchClassifier`). Their gradients are
                floats, whose last bits no proof covers; each guarantee says so. Default False.
            ledger: Path of a ledger, its address in PostgreSQL, or a ledger. Default: a file in the user's home.
            analyst: Name of the analyst in the history. An "owner" sees the progress of long queries. Default "owner".
            memory_limit: Memory that the engine may use, such as "4GB". Default: the engine's.
            threads: Number of threads that the engine may use. Default: the engine's.
            modules: Modules that functions of `Frame.apply` may import, besides numpy, pyarrow and computing parts of
                Python: `("pandas", "scipy.stats")`. They are imported outside the sandbox. Default: none.

        Returns:
            An open session.

        Raises:
            Refusal: If the unit, the budget, the source or another argument cannot be used, or differs from the
                registration.
            LedgerError: If the ledger cannot be used.

        Example:
            >>> import discreet as dp
            >>> facts = {"name": "visits", "privacy_unit": "patient_id", "max_rows": 10, "budget": dp.Budget(epsilon=2)}
            >>> with dp.protect(dp.datasets.visits(100), **facts, fixed_schema=True, ledger=":memory:") as session:
            ...     float(session.remaining())
            2.0
        """
        known, part = draft_catalog.name_slice(draft_catalog.name_of(source, name, table), slice)
        stated = Statements(fixed_schema=fixed_schema, row_local=row_local)
        opened = source_of(source, delimiter=delimiter, table=table, stated=stated)
        by_column = draft_catalog.by_column(keys=keys, bounds=bounds, types=types, missing=missing, bins=bins)
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
            "allow_float_gradients": allow_float_gradients,
            "source": public_location(str(source)) if isinstance(source, str | Path) else None,
        }
        words = draft_catalog.Declaration(privacy_unit, budget, version, by_column, facts, part)
        kept = cls._pipeline_class.session_ledger(ledger)
        return cls(
            draft_catalog.one_table_catalog(known, opened, words, kept),
            sources={known: opened},
            ledger=kept,
            analyst=analyst,
            memory_limit=memory_limit,
            threads=threads,
            modules=modules,
        )
