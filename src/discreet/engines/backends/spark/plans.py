"""The plan of a DataFrame, walked before it is protected: rows that stay the same, cannot fail, and are one person's.

A protected table is a set of rows that belong to privacy units. A DataFrame is admitted in place of one where its
analyzed plan shows three things, by an allow-list of operators and expressions:

- it gives the same rows whenever it is evaluated: no samples, limits, clocks, random numbers, Python functions, RDDs;
- no cell makes it fail, or changes how other cells are read: total expressions, readers that do not raise, schemas that
  were not inferred from rows;
- each row is computed from one row of a table (projections, filters, unions, exploded arrays), or all equal rows are
  one. Joins, windows and aggregates are admitted where the owner states `row_local=True`.

Everything else is written to a table first, whose rows are then the owner's.
"""

import hashlib
from collections.abc import Iterator
from typing import Any, NamedTuple

from discreet.engines.backends.spark import expressions, readers
from discreet.engines.backends.spark.expressions import class_of, items, type_of
from discreet.engines.backends.spark.readers import AS_A_TABLE
from discreet.engines.sources.source import Statements
from discreet.errors import SourceError

UNNAMED = "memory"
_LOGICAL = "org.apache.spark.sql.catalyst.plans.logical."
_EXECUTION = "org.apache.spark.sql.execution."
_FILES = f"{_EXECUTION}datasources.LogicalRelation"
_NAMED = f"{_EXECUTION}datasources.v2.DataSourceV2Relation"
_RDD = f"{_EXECUTION}LogicalRDD"
_MEMORY = f"{_LOGICAL}LocalRelation"
_ALIAS = f"{_LOGICAL}SubqueryAlias"
_GENERATED = frozenset({f"{_LOGICAL}Range", f"{_LOGICAL}OneRowRelation"})
_LEAVES = frozenset({_FILES, _NAMED, _RDD, _MEMORY}) | _GENERATED
_EQUAL_ROWS = frozenset({f"{_LOGICAL}Distinct", f"{_LOGICAL}Deduplicate"})
_LOCAL = _EQUAL_ROWS | {
    _LOGICAL + name
    for name in (
        *("Project", "Filter", "Union", "Generate", "SubqueryAlias", "View", "ResolvedHint"),
        *("Sort", "Repartition", "RepartitionByExpression", "RebalancePartitions"),
        *("WithCTE", "CTERelationDef", "CTERelationRef"),
    )
}
_ACROSS = frozenset(_LOGICAL + name for name in ("Join", "Aggregate", "Window", "Intersect", "Except"))
_UNREPEATABLE = frozenset({"Sample", "GlobalLimit", "LocalLimit", "Offset", "Tail"})
_LONGEST_IDENTITY = 1_000


class AdmittedFrame(NamedTuple):
    """A DataFrame that may be protected, and its identity for the ledger: the tables or files that it reads."""

    frame: Any
    identity: str


def admit(frame: Any, stated: Statements) -> AdmittedFrame:
    """Admit a DataFrame, read again as text where its types were inferred, or refuse its plan."""
    plan = frame._jdf.queryExecution().analyzed()  # noqa: SLF001 - the only way to the plan
    nodes = list(_nodes(plan))
    # leaves first: what was inferred from rows decides which expressions are above it, and so which error they meet
    for node in nodes:
        if class_of(node) in (_RDD, _MEMORY):
            _require_memory(node, stated)
    frame = _with_declared_types(frame, plan, nodes, stated)
    _require_repeatable(plan, nodes, frame.sparkSession)
    for node in nodes:
        _require_known_node(node, stated)
    for node in nodes:
        _require_total(node, frame.sparkSession, stated)
    return AdmittedFrame(frame, identity_of(nodes))


def identity_of(nodes: list[Any]) -> str:
    """The paths of files and the names of other tables at the bottom of a plan; of rows in memory nothing is known."""
    found = {name for node in nodes for name in _names(node)}
    return identity(sorted(found)) if found else UNNAMED


def identity(names: list[str]) -> str:
    """One name for some paths and tables; many of them by a digest."""
    text = ",".join(names)
    return f"spark:{text if len(text) <= _LONGEST_IDENTITY else hashlib.sha256(text.encode()).hexdigest()}"


def _names(node: Any) -> list[str]:
    if class_of(node) == _FILES:
        files = readers.files_of(node)
        return list(files.paths) if files else []
    if class_of(node) == _NAMED and _is_in_a_catalog(node):
        return [f"{node.catalog().get().name()}.{node.identifier().get()}"]
    return []


def _nodes(plan: Any) -> Iterator[Any]:
    waiting = [plan]
    while waiting:
        node = waiting.pop()
        yield node
        waiting += [*items(node.children()), *items(node.subqueries())]


def _with_declared_types(frame: Any, plan: Any, nodes: list[Any], stated: Statements) -> Any:
    leaves = [node for node in nodes if class_of(node) == _FILES]
    found = [files for files in map(readers.files_of, leaves) if files]
    for files in found:
        readers.require_safe_options(files)
    declared = [readers.is_declared(files, stated) for files in found]
    for files in found:
        readers.require_one_header(files, frame.sparkSession)
    if all(declared):
        return frame
    while class_of(plan) == _ALIAS:
        plan = plan.child()
    if class_of(plan) != _FILES:
        raise SourceError(
            "a DataFrame over columns whose types were inferred",
            because="one row can change the types that its expressions were made for",
            instead='spark.read.schema("id STRING, age INT").csv(path) below them, or the reader\'s own frame',
        )
    return readers.as_text(found[0], frame)


def _require_memory(node: Any, stated: Statements) -> None:
    """Rows that the driver gave to Spark as Arrow stay what they are; an RDD is computed anew."""
    if class_of(node) == _RDD and str(node.rdd().name()) != "arrow":
        raise SourceError(
            "a DataFrame over an RDD or a list of Python objects",
            because="it is computed anew at each reading, by code that its plan does not show",
            instead=AS_A_TABLE,
        )
    if not stated.fixed_schema:
        raise SourceError(
            "a DataFrame of rows in memory without fixed_schema=True",
            because="the types of its columns may have been inferred from the rows",
            instead=f"fixed_schema=True, where they were declared; otherwise {AS_A_TABLE}",
        )


def _require_repeatable(plan: Any, nodes: list[Any], session: Any) -> None:
    """Refuse plans that may give other rows when read again: contribution bounds need fixed rows."""
    patterns = session.sparkContext._jvm.org.apache.spark.sql.catalyst.trees.TreePattern  # noqa: SLF001
    if (
        plan.deterministic()
        and not plan.containsPattern(patterns.CURRENT_LIKE())
        and not any(_is_arbitrary(node) for node in nodes)
    ):
        return
    raise SourceError(
        "a DataFrame that may give other rows when it is read again",
        because="it samples, limits, picks one of several rows, or uses random numbers or the clock",
        instead=AS_A_TABLE,
    )


def _is_arbitrary(node: Any) -> bool:
    """Whether chance picks rows: samples and limits, or one of several rows that are equal only in part."""
    if class_of(node) == f"{_LOGICAL}Deduplicate" and node.keys().size() < node.output().size():
        return True
    if class_of(node) in (_EQUAL_ROWS | _ACROSS):
        return any("collate" in type_of(column) for column in items(node.output()))
    return str(node.nodeName()) in _UNREPEATABLE


def _require_known_node(node: Any, stated: Statements) -> None:
    kind = class_of(node)
    if kind in _ACROSS:
        if not stated.row_local:
            raise _across(str(node.nodeName()))
        return
    is_table = kind != _FILES or readers.files_of(node) is not None
    if kind in (_LOCAL | _LEAVES) and is_table and (kind != _NAMED or _is_in_a_catalog(node)):
        return
    raise SourceError(
        f"a DataFrame with {node.nodeName()}",
        because="it is not known to be deterministic, row by row, and safe on every cell",
        instead=AS_A_TABLE,
    )


def _is_in_a_catalog(node: Any) -> bool:
    """Whether a table of another catalog has a name there, and no options of its own that a reader gave."""
    return bool(node.catalog().isDefined() and node.identifier().isDefined() and node.options().isEmpty())


def _across(name: str) -> SourceError:
    stated = "row_local=True, where each row is computed from rows of one privacy unit alone"
    if name == "Join":
        stated = f'dp.table("visits").join(dp.table("wards"), on="ward") of two tables; or {stated}'
    return SourceError(
        f"a DataFrame with {name}",
        because="its rows are computed from several rows, which may be those of several people",
        instead=f"{AS_A_TABLE}; or {stated}",
    )


def _require_total(node: Any, session: Any, stated: Statements) -> None:
    if class_of(node) in _LEAVES:
        return
    gateway = session.sparkContext._gateway  # noqa: SLF001 - Python has no name for it
    for expression in items(node.expressions()):
        unfit = expressions.unfit(expression, gateway, across=stated.row_local)
        if unfit is not None:
            raise SourceError(
                f"{unfit.prettyName()} in a DataFrame",
                because="by its plan it can fail on a cell or change between reads",
                instead=f"try_cast, try_add, try_divide and the like; or {AS_A_TABLE}",
            )
