"""Queries that were bound to an engine, without a row read, and tables of public keys."""

from collections.abc import Mapping
from dataclasses import dataclass

import pyarrow as pa

from discreet.engines.sources import contents
from discreet.engines.sources.source import Source
from discreet.engines.sql import aggregates
from discreet.engines.sql.blocks import Split
from discreet.errors import UnsupportedError
from discreet.plan.physical import Keys, Pushdown, SumSteps
from discreet.plan.slots import MarginalBatch
from discreet.release.release import KEY_TYPES


@dataclass(frozen=True)
class RegisteredSource:
    """A source with the key of the hash that orders its rows."""

    source: Source
    hash_key: int


@dataclass(frozen=True)
class PreparedQuery:
    """A query bound to this engine: SQL for the bounded rows and the steps they store, and where the keys stand.

    `rows_name` is where the rows may be kept; without one they are read anew for each answer. `states` are those of the
    public tables that it reads; the name of the rows and the name of the query hold them.
    """

    question: Pushdown
    rows_name: str | None
    rows_sql: str
    stored: Mapping[SumSteps, str]
    keys_name: str
    states: contents.States = ()


@dataclass(frozen=True)
class PreparedBlocks:
    """A bound query for blocks: their rows, and how these are split."""

    rows: PreparedQuery
    split: Split


@dataclass(frozen=True)
class PreparedMarginals:
    """A bound query for marginals: their rows, and the values that are found by a join, with a name for their table.

    `batch` has the values in the form that cells are read in; `keys` are by the name of the column.
    """

    rows: PreparedQuery
    batch: MarginalBatch
    keys: Mapping[str, tuple[str, Keys]]


def compile_error(engine: str) -> UnsupportedError:
    """The error of a query that an engine cannot compile."""
    return UnsupportedError(
        f"a query that {engine} cannot compile",
        because="it nests expressions too deeply, or holds a character that its SQL cannot",
        instead="a shorter expression, or a column prepared by the owner",
    )


def keys_table(keys: Keys) -> pa.Table:
    """Public keys with the number of each, in the order of the answer, and of its group where that has parts."""
    columns = {aggregates.ORDINAL: pa.array(range(len(keys.rows)), pa.int64())}
    if keys.inner:
        columns[aggregates.WHOLE] = pa.array(keys.groups, pa.int64())
    for i, column in enumerate(keys.columns):
        columns[f"k{i}"] = pa.array(keys.values[i], KEY_TYPES[column.type])
    return pa.table(columns)
