"""Counts of many marginals over one set of bounded rows, for every engine that speaks SQL.

Rows become slots once, in a table of codes that exists while the counts run. Non-empty cells alone come back, so memory
is bounded by the public number of cells.
"""

import math
import secrets
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from discreet.engines import marginal_parents
from discreet.engines.prepared import PreparedMarginals, PreparedQuery, compile_error, keys_table
from discreet.engines.shelf import Shelf
from discreet.engines.sources import inferred
from discreet.engines.sql import marginals
from discreet.engines.sql.dialect import Dialect
from discreet.plan.physical import Keys, Pushdown, Scan, SumSteps
from discreet.plan.slots import Counts, Marginal, MarginalBatch, SlotTerm

_NOTHING = "(SELECT 0 AS discreet_key, NULL AS k0)"


class MarginalTables(ABC):
    """What an engine that speaks SQL can count of marginals; the hooks are those of `SQLEngine`."""

    dialect: ClassVar[Dialect]
    marginals_at_once: ClassVar[int] = 1
    """Marginals of one statement."""
    _shelf: Shelf

    def prepare_marginals(self, batch: MarginalBatch) -> PreparedMarginals:
        """Bind counts of marginals without reading a row.

        Raises:
            UnsupportedError: If there are too many cells or columns, or the engine cannot compile the SQL.
            ParameterError: If edges or values do not fit their column.
        """
        marginals.require_counts(batch)
        rows = self.prepare(batch.pushdown)
        if self.has_inferred(batch.pushdown.scan):
            columns = tuple(_canonical(each) for each in batch.columns)
            batch = replace(batch, pushdown=inferred.canonical(batch.pushdown), columns=columns)
        long = {each.column.name: _keys(each) for each in batch.columns if marginals.needs_join(each, self.dialect)}
        keys = {name: (self._relation_name("keys", values), values) for name, values in long.items()}
        over_nothing = dict.fromkeys(keys, _NOTHING)
        sql = marginals.codes_sql(batch, f"({rows.rows_sql}) AS rows", over_nothing, self.dialect)
        if not self._takes(batch.pushdown.scan.table, sql):
            raise compile_error(self.dialect.name)
        return PreparedMarginals(rows, batch, keys)

    def marginals(self, prepared: PreparedMarginals) -> Counts:
        """The exact counts of every marginal, of the shape of its slots."""
        batch, parents = prepared.batch, marginal_parents.parents(prepared.batch)
        found: dict[Marginal, Any] = {}
        with ExitStack() as needed:
            tables = dict.fromkeys(leaf.table for leaf in batch.pushdown.scan.leaves)
            connected = needed.enter_context(self._use_connection(*tables))
            codes = self._create_codes(prepared, connected, needed)
            for first in range(0, len(parents), self.marginals_at_once):
                some = list(parents)[first : first + self.marginals_at_once]
                for parent, counts in self._count(connected, batch, some, codes).items():
                    found |= {each: marginal_parents.project(counts, parent, each) for each in parents[parent]}
        return {marginal: found[marginal] for marginal in batch.marginals}

    def _count(self, connected: Any, batch: MarginalBatch, some: Sequence[Marginal], codes: str) -> Counts:
        """The counts of some marginals, in one statement."""
        counts = [np.zeros(math.prod(batch.shape(each)), dtype=np.int64) for each in some]
        sql = marginals.counts_sql(batch, some, codes, self.dialect)
        for cells in self._cells(connected, sql, marginals.SCHEMA):
            _add(counts, cells)
        return {each: count.reshape(batch.shape(each)) for each, count in zip(some, counts, strict=True)}

    def _create_codes(self, prepared: PreparedMarginals, connected: Any, needed: ExitStack) -> str:
        """The table of codes, which is dropped at the end; tables of values are kept, as keys are."""

        def create(name: str, keys: Keys) -> Mapping[SumSteps, str]:
            self._create_keys(connected, name, keys_table(keys))
            return {}

        drop = partial(self._drop, connected)
        for name, keys in prepared.keys.values():
            needed.enter_context(self._shelf.table(name, partial(create, name, keys), drop))
        rows = needed.enter_context(self._tables(prepared.rows, connected))
        source = rows.rows_name or f"({rows.rows_sql}) AS rows"
        names = {column: name for column, (name, _) in prepared.keys.items()}
        codes = self._codes_name(secrets.token_hex(16))
        needed.callback(self._drop, connected, codes)
        self._store_codes(connected, codes, marginals.codes_sql(prepared.batch, source, names, self.dialect))
        return codes

    def _codes_name(self, token: str) -> str:
        """The name of a table of codes."""
        return self._relation_name("codes", token)

    def _store_codes(self, connected: Any, name: str, sql: str) -> None:
        """Store codes while their counts run."""
        self._create_rows(connected, name, sql)

    def _cells(self, connected: Any, sql: str, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        """The non-empty cells of marginals, a bounded number at a time."""
        yield from self._stream(connected, sql, schema)

    @abstractmethod
    def prepare(self, question: Pushdown) -> PreparedQuery:
        """Bind a query without reading a protected row."""

    @abstractmethod
    def has_inferred(self, scan: Scan) -> bool:
        """Whether a query reads an in-memory table whose column types were inferred."""

    @abstractmethod
    def _relation_name(self, kind: str, thing: object) -> str: ...

    @abstractmethod
    def _takes(self, table: str, sql: str) -> bool: ...

    @abstractmethod
    def _use_connection(self, *tables: str) -> AbstractContextManager[Any]: ...

    @abstractmethod
    def _tables(self, prepared: PreparedQuery, connected: Any) -> AbstractContextManager[PreparedQuery]: ...

    @abstractmethod
    def _create_rows(self, connected: Any, name: str, sql: str) -> None: ...

    @abstractmethod
    def _create_keys(self, connected: Any, name: str, keys: pa.Table) -> None: ...

    @abstractmethod
    def _drop(self, connected: Any, name: str) -> None: ...

    @abstractmethod
    def _stream(self, connected: Any, sql: str, schema: pa.Schema) -> Iterator[pa.RecordBatch]: ...


def _keys(each: SlotTerm) -> Keys:
    return Keys((each.term,), tuple((value,) for value in each.column.values))


def _canonical(each: SlotTerm) -> SlotTerm:
    """A column of an inferred table: values in the form that cells are read in, of which each must differ."""
    keys = inferred.canonical(_keys(each))
    column = each.column if each.column.edges else replace(each.column, values=tuple(keys.values[0]))
    return SlotTerm(column, keys.columns[0])


def _add(counts: Sequence[Any], cells: pa.RecordBatch) -> None:
    """Add rows of cells to the counts of their marginals."""
    numbers, places, rows = (column.to_numpy() for column in cells.columns)
    for number in np.unique(numbers).tolist():
        mine = numbers == number
        np.add.at(counts[number], places[mine], rows[mine])
