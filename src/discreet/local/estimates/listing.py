"""Estimates as text: whole numbers, and values whose control characters cannot reach a terminal."""

from collections.abc import Iterable

SHOWN = 10


def printable(value: object) -> str:
    """A value as text, with control characters escaped.

    Args:
        value: The value.

    Returns:
        Text that a terminal shows as it is.

    Example:
        >>> printable("red")
        'red'
    """
    return "".join(each if each.isprintable() else ascii(each)[1:-1] for each in str(value))


def whole_text(number: float) -> str:
    """A number rounded to a whole one; never "-0".

    Args:
        number: The number.

    Returns:
        Its digits, with commas.

    Example:
        >>> whole_text(-0.4), whole_text(1234.5)
        ('0', '1,234')
    """
    return f"{round(number):,}"


def listing(heading: str, rows: Iterable[tuple[object, ...]], further: int = 0) -> str:
    """A heading and rows of a value and its cells.

    Args:
        heading: The heading.
        rows: A value and texts for each row.
        further: Number of rows that are not shown.

    Returns:
        Text of several lines.
    """
    lines = [heading, *("  ".join((f"{printable(value):>20}", *map(str, cells))) for value, *cells in rows)]
    return "\n".join([*lines, *([f"{'...':>20}  {further:,} more"] if further > 0 else [])])


def count_row(value: object, count: float, low: float, high: float) -> tuple[str, str, str]:
    """A row of a listing: a value, its count, and both ends of its interval.

    Args:
        value: The value.
        count: The estimate.
        low: Lower end of the interval.
        high: Upper end of the interval.

    Returns:
        Texts.

    Example:
        >>> count_row("red", 10, 8, 12.3)
        ('red', '          10', ' 8 to 12')
    """
    return printable(value), f"{whole_text(count):>12}", f" {whole_text(low)} to {whole_text(high)}"
