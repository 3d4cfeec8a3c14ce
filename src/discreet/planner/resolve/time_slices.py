"""What a slice lets an engine read: a condition on the stored time of each row, which no query can change or avoid.

It stands in the scan, below contribution bounds, filters and derived columns. It looks at one row at a time, so the
rows of one unit still move an answer by at most what its contribution bounds allow, and no sensitivity changes.
"""

import datetime as dt

from discreet.catalog.catalog import ColumnType, Table
from discreet.plan.physical import Apply, Constant, Operator, Read, Term


def within(table: Table) -> Term | None:
    """The condition for a row to be in the slice; missing times do not meet it. None for a whole table."""
    part = table.part
    if part is None:
        return None
    column = Read(part.column, table.column(part.column).type)
    ends = _compare(column, "ge", part.start), _compare(column, "lt", part.end)
    return Apply("and", ends, ColumnType.BOOLEAN)


def _compare(column: Read, operator: Operator, time: dt.datetime) -> Term:
    end = time.date() if column.type is ColumnType.DATE else time
    return Apply(operator, (column, Constant(end, column.type)), ColumnType.BOOLEAN)
