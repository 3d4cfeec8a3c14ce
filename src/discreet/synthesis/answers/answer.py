"""The answer of a released synthetic table to a query: post-processing of what is public, at no cost.

Counts, sums and means over whole slots come from the marginals of the model; anything else from rows that are drawn.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from discreet.errors import NameNotFoundError, UnsupportedError, suggestion
from discreet.plan import logical
from discreet.plan.slots import SlotColumn, columns_from_json
from discreet.query.grouped import Query
from discreet.release.synthetic import has_levels
from discreet.release.synthetic_answer import AnswerRow, SyntheticAnswer
from discreet.release.values.columns import Key
from discreet.synthesis.answers.bounded import bounded_count
from discreet.synthesis.answers.drawn import drawn_answer
from discreet.synthesis.answers.group_cells import GroupCells, group_cells, operand_of, reduce_mask, slot_ends
from discreet.synthesis.answers.noisy_marginals import Mask, NoisyMarginals, SlotEnds, noisy_marginals
from discreet.synthesis.core.domain import Columns, Domain
from discreet.synthesis.core.measurement import Floats
from discreet.synthesis.core.model import MarginalModel
from discreet.synthesis.rows.tables import model_of

_COUNTED = "values that are not declared count as missing, and values outside the bins as the nearest bin"
_BINS = "sums and means are of the middles of bins; an interval goes as far as bins and noise together allow"
_PERSONS = (
    "every row has the person columns of its person, by their declared rules, also where the data has other values"
)
_SLOT_MEASURES = (logical.Count, logical.Sum, logical.Mean)


@dataclass(frozen=True, eq=False)
class ReleasedTable:
    """What a released synthetic table holds, as far as answers need it.

    Attributes:
        name: Name of the table.
        state: The state of the `SyntheticTable`.
    """

    name: str
    state: Mapping[str, Any]

    @cached_property
    def columns(self) -> tuple[SlotColumn, ...]:
        """The columns, with their slots."""
        return columns_from_json(self.state["columns"])

    @cached_property
    def domain(self) -> Domain:
        """The columns and their numbers of slots."""
        return Domain.of(self.columns)

    @cached_property
    def model(self) -> MarginalModel:
        """The model."""
        return model_of(self.state)

    @cached_property
    def noisy(self) -> NoisyMarginals:
        """The measured marginals."""
        return noisy_marginals(self.state, self.domain)

    def marginal(self, columns: Columns) -> Floats:
        """The counts by the model, of any columns."""
        return self.model.marginal(columns) if columns else np.asarray(self.model.total, dtype=np.float64)


def answer_query(table: ReleasedTable, query: Any, confidence: Fraction) -> SyntheticAnswer:
    """The answer to a query.

    Args:
        table: The released table.
        query: A query of the same table.
        confidence: Probability with which each interval holds.

    Returns:
        Estimates, and intervals where they are proved.

    Raises:
        UnsupportedError: If synthetic rows cannot say it.
        NameNotFoundError: If it is of another table.
    """
    if not isinstance(query, Query):
        raise UnsupportedError(
            f"table.answer of type {type(query).__name__}",
            because="it takes queries of aggregates; anything else may be computed from the rows",
            instead=f'table.answer(dp.table("{table.name}").agg(n=dp.count())), or table.to_arrow()',
        )
    plan = query.plan
    _refuse(table, plan)
    numbers = _numbers(table, plan)
    found = None if numbers is None else group_cells(plan, table.columns)
    if numbers is None or found is None:
        return drawn_answer(table.name, table.state, query, confidence)
    pairs = zip(plan.outputs, numbers, strict=True)
    rows = [row for output, ends in pairs for row in _rows(table, found, output, ends, confidence)]
    keys = tuple(Key(key.name, key.type, key.values * len(plan.outputs)) for key in found.keys)
    has_sums = any(not isinstance(output.measure, logical.Count) for output in plan.outputs)
    notes = (_COUNTED, *([_BINS] if has_sums else []), *([_PERSONS] if has_levels(table.state) else []))
    return SyntheticAnswer(keys, tuple(rows), confidence, notes)


def _refuse(table: ReleasedTable, plan: logical.Aggregate) -> None:
    """Refuse what synthetic rows do not have: other tables, and the privacy unit."""
    source: logical.Relation = plan.source
    units = any(isinstance(output.measure, logical.CountDistinctUnits) for output in plan.outputs)
    while not isinstance(source, logical.TableRef):
        if isinstance(source, logical.Join | logical.GroupByUnit) or units:
            break
        source = source.source
    if not isinstance(source, logical.TableRef) or units:
        raise UnsupportedError(
            "a synthetic table's answer about units or joined tables",
            because="its rows belong to no unit, and keys of other tables are not in it",
            instead=f'table.answer(dp.table("{table.name}").agg(n=dp.count()))',
        )
    if source.name != table.name:
        raise NameNotFoundError(
            f"the table {source.name!r}",
            because=f"this synthetic table is of {table.name!r}",
            instead=f'dp.table("{table.name}")',
        )
    _refuse_unknown_columns(table, plan)


def _refuse_unknown_columns(table: ReleasedTable, plan: logical.Aggregate) -> None:
    derived, source = set(), plan.source
    while isinstance(source, logical.Where | logical.Derive):
        derived |= {source.name} if isinstance(source, logical.Derive) else set()
        source = source.source
    for name in plan.grouping.columns:
        if name not in table.domain.slots and name not in derived:
            raise NameNotFoundError(
                f"the column {name!r}",
                because="the synthetic table has no column of that name",
                instead=suggestion(name, list(table.domain.names)),
            )


def _numbers(table: ReleasedTable, plan: logical.Aggregate) -> list[SlotEnds | None] | None:
    """The numbers of each output, and None for a count; None in all where an output is of anything else than slots."""
    known = {column.name: column for column in table.columns}
    found: list[SlotEnds | None] = []
    for output in plan.outputs:
        if not isinstance(output.measure, _SLOT_MEASURES):
            return None
        ends = None
        if not isinstance(output.measure, logical.Count):
            column = known.get(operand_of(plan, output.measure.operand) or "")
            ends = None if column is None else slot_ends(column, output.measure.bounds)
            if ends is None:
                return None
        found.append(ends)
    return found


def _rows(
    table: ReleasedTable, query: GroupCells, output: logical.Output, ends: SlotEnds | None, confidence: Fraction
) -> Iterator[AnswerRow]:
    if ends is not None:
        column = next(each for each in table.columns if each.name == ends.column)
        for mask in query.masks():
            yield _of_numbers(table, output, _with_column(table.domain, mask, query.columns, column), ends, confidence)
        return
    counts = table.marginal(query.columns)
    for mask in query.masks():
        estimate = float(counts[mask].sum())
        yield _count(table, output.name, estimate, reduce_mask(mask, query.columns), confidence)


def _count(
    table: ReleasedTable, output: str, estimate: float, union: tuple[Mask, Columns], confidence: Fraction
) -> AnswerRow:
    """A count: from a measured marginal, from the bound on a candidate, or by the model alone."""
    mask, columns = union
    if not mask.any():
        return AnswerRow(output, estimate)
    found = table.noisy.count(mask, columns, confidence)
    if found is not None:
        return AnswerRow(output, estimate, *_positive(found.lower, found.upper), found.measured, "measured")
    ends = bounded_count(table.state, columns, table.noisy, confidence)
    if ends is None:
        return AnswerRow(output, estimate)
    return AnswerRow(output, estimate, *_positive(estimate + ends[0], estimate + ends[1]), None, "bounded")


def _positive(lower: float, upper: float) -> tuple[float, float]:
    """An interval of a number that is at least 0."""
    return max(lower, 0.0), max(upper, 0.0)


def _with_column(domain: Domain, mask: Mask, columns: Columns, column: SlotColumn) -> tuple[Mask, Columns]:
    """The cells of a union that have a number in a column, with that column among its own."""
    names = domain.ordered({*columns, column.name})
    if column.name not in columns:
        axis = names.index(column.name)
        mask = np.repeat(np.expand_dims(mask, axis), column.size, axis=axis)
    present = np.arange(column.size) != column.missing
    return mask & present.reshape([-1 if name == column.name else 1 for name in names]), names


def _of_numbers(
    table: ReleasedTable,
    output: logical.Output,
    union: tuple[Mask, Columns],
    ends: SlotEnds,
    confidence: Fraction,
) -> AnswerRow:
    """A sum or a mean of the middles of bins."""
    mask, columns = union
    counts = np.where(mask, table.marginal(columns), 0.0)
    total = float((counts * ends.middle.reshape([-1 if name == ends.column else 1 for name in columns])).sum())
    rows = float(counts.sum())
    is_mean = isinstance(output.measure, logical.Mean)
    estimate = (total / rows if rows > 0 else None) if is_mean else total
    if not mask.any():
        return AnswerRow(output.name, estimate)
    noisy = table.noisy
    small, names = _reduce_others(mask, columns, ends.column)
    found = (noisy.mean if is_mean else noisy.sum)(small, names, ends, confidence)
    if found is None:
        return AnswerRow(output.name, estimate)
    return AnswerRow(output.name, estimate, found.lower, found.upper, found.measured, "measured")


def _reduce_others(mask: Mask, columns: Columns, column: str) -> tuple[Mask, Columns]:
    """The union without columns that play no part, apart from the one that is added up."""
    small, names = reduce_mask(mask, columns)
    if column in names:
        return small, names
    axis = [name for name in columns if name in (*names, column)].index(column)
    wide = np.repeat(np.expand_dims(small, axis), mask.shape[columns.index(column)], axis=axis)
    return wide, tuple(name for name in columns if name in (*names, column))
