"""Answers from drawn rows, for queries that are not about whole slots: estimates of the model, without intervals."""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from discreet.accounting.filters import Budget
from discreet.catalog.catalog import ColumnType
from discreet.catalog.columns import NUMERIC
from discreet.catalog.privacy_unit import ROW
from discreet.errors import UnsupportedError
from discreet.plan.slots import SlotColumn, columns_from_json
from discreet.release.release import Release
from discreet.release.synthetic_answer import AnswerRow, SyntheticAnswer
from discreet.release.values.columns import Key
from discreet.synthesis.answers.truth import number_of
from discreet.synthesis.rows.tables import draw_table
from discreet.testing import Session

_DRAWN = "from drawn rows: figures finer than a bin are invented, and drawing adds an error of its own"


def drawn_answer(name: str, state: Mapping[str, Any], query: Any, confidence: Fraction) -> SyntheticAnswer:
    """The exact answer over the drawn rows of a table, as an estimate of the model.

    Args:
        name: Name of the table.
        state: The state of a `SyntheticTable`.
        query: A query.
        confidence: The confidence of intervals, of which there are none here.

    Returns:
        The estimates.

    Raises:
        UnsupportedError: If the answer is not a table.
        Refusal: If a session would refuse the query.
    """
    columns = columns_from_json(state["columns"])
    rows = draw_table(state, max(1, round(float(state["total"]))))
    facts: dict[str, Any] = {"bounds": _bounds(columns), "keys": _keys(columns)}
    budget = Budget(epsilon=1, delta=Fraction(1, 10**12))
    with Session.protect(rows, name=name, privacy_unit=ROW, budget=budget, fixed_schema=True, **facts) as session:
        release = session.release(query, epsilon=1)
    if not isinstance(release, Release):
        raise UnsupportedError(
            "a synthetic table's answer that is not a table",
            because="it answers counts, sums, means and quantiles by groups",
            instead=f'table.answer(dp.table("{name}").agg(n=dp.count())), or table.to_arrow()',
        )
    number = len(release.outputs)
    keys = tuple(Key(key.name, key.type, key.values * number) for key in release.keys)
    figures = [
        AnswerRow(output.name, None if value is None else float(value))
        for output in release.outputs
        for value in output.values
    ]
    return SyntheticAnswer(keys, tuple(figures), confidence, (_DRAWN,))


def _bounds(columns: Sequence[SlotColumn]) -> dict[str, tuple[Any, Any]]:
    """The bounds of numbers; a bin of whole numbers ends below its upper edge."""
    found: dict[str, tuple[Any, Any]] = {}
    for column in columns:
        if column.edges and column.type in NUMERIC:
            low, high = (number_of(edge) for edge in (column.edges[0], column.edges[-1]))
            found[column.name] = (low, max(low, high - 1) if column.type is ColumnType.INTEGER else high)
    return found


def _keys(columns: Sequence[SlotColumn]) -> dict[str, list[Any]]:
    return {column.name: list(column.values) for column in columns if column.values}
