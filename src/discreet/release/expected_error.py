"""How wrong a query is expected to be, group by group, before anything is released: the smallest groups are marked.

The sizes of groups are public: declared, guessed, or released earlier. They never come from the data.
"""

# ruff: noqa: PD011 - the values here are tuples, and none of them is a pandas frame

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa

from discreet import plots
from discreet.release.values import rendering
from discreet.release.values.columns import Key, key_arrays

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure as Picture

ROUGH = 0.1
SMALLEST = "<- smallest group"
GUESSED = "as if values lay in the middle of their bounds"
_SHOWN_ROWS = 20
_DRAWN_GROUPS = 6


@dataclass(frozen=True)
class ExpectedError:
    """An output in every group: the root mean square of its noise over the answer, and its margin; None if unknown.

    `guessed` where the answer is that of values in the middle of their bounds, as nothing better is public.
    """

    name: str
    relative: tuple[float | None, ...]
    margins: tuple[float | None, ...]
    guessed: bool = False


@dataclass(frozen=True)
class ExpectedErrors:
    """Expected relative errors by group, at one privacy cost."""

    keys: tuple[Key, ...]
    sizes: tuple[float, ...]
    outputs: tuple[ExpectedError, ...]
    basis: str

    @property
    def marks(self) -> tuple[str, ...]:
        """The notes beside each group: that it is the smallest, and that an error is above a tenth."""
        rough = [any((o.relative[row] or 0) > ROUGH for o in self.outputs) for row in range(len(self.sizes))]
        return tuple(_mark(*pair) for pair in zip(_smallest(self.sizes), rough, strict=True))

    def to_arrow(self) -> pa.Table:
        """Key columns, sizes, and the expected relative error and the margin of each output."""
        columns = key_arrays(self.keys) | {"size": pa.array(self.sizes, pa.float64())}
        for output in self.outputs:
            columns[f"{output.name}_relative_error"] = pa.array(output.relative, pa.float64())
            columns[f"{output.name}_margin"] = pa.array(output.margins, pa.float64())
        return pa.table(columns | {"mark": pa.array(self.marks)})

    def to_pandas(self) -> "pd.DataFrame":
        """The same as a pandas DataFrame."""
        frame: pd.DataFrame = self.to_arrow().to_pandas(integer_object_nulls=True)
        return frame

    def table(self) -> tuple[list[str], list[list[str]]]:
        """The cells that are shown: all groups in their order, or the smallest where they are too many."""
        head = [
            *(rendering.cell(k.name) for k in self.keys),
            "size",
            *(rendering.cell(o.name) for o in self.outputs),
            "",
        ]
        rows = [
            [
                *(rendering.cell(key.values[row]) for key in self.keys),
                f"{self.sizes[row]:,.0f}",
                *(_percent(output.relative[row]) for output in self.outputs),
                self.marks[row],
            ]
            for row in _visible_columns(self.sizes)
        ]
        return head, rows

    def notes(self) -> list[str]:
        """What the numbers are, and what is left out."""
        guessed = ", ".join(output.name for output in self.outputs if output.guessed)
        title = f"expected relative error of the noise, {self.basis}"
        return [title, *([f"{guessed}: {GUESSED}"] if guessed else []), *_left_out(len(self.sizes))]

    def __str__(self) -> str:
        return "\n".join([*_lines(*self.table(), len(self.keys)), *self.notes()])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return rendering.card((), rendering.html_table(*self.table(), text_columns=len(self.keys)), self.notes())


@dataclass(frozen=True)
class ErrorsByEpsilon:
    """Expected relative errors of one output by group, for several epsilons side by side.

    Attributes:
        name: Name of the output.
        keys: Key columns with their values.
        sizes: Size of each group in rows.
        epsilons: The epsilons.
        relative: For each epsilon, the expected relative error of each group; None if unknown.
        basis: Where the sizes are from, in words.

    Example:
        >>> import discreet as dp
        >>> facts = {"name": "visits", "privacy_unit": "patient_id", "max_rows": 10}
        >>> session = dp.testing.protect(dp.datasets.visits(100), **facts, budget=dp.Budget(epsilon=2))
        >>> session.expected_errors(dp.table("visits").agg(n=dp.count()), epsilons=[0.1, 1], sizes=300).sizes
        (300.0,)
    """

    name: str
    keys: tuple[Key, ...]
    sizes: tuple[float, ...]
    epsilons: tuple[float, ...]
    relative: tuple[tuple[float | None, ...], ...]
    basis: str

    def to_arrow(self) -> pa.Table:
        """Key columns, sizes, and a column of relative errors for each epsilon.

        Returns:
            An Arrow table.
        """
        columns = key_arrays(self.keys) | {"size": pa.array(self.sizes, pa.float64())}
        pairs = zip(self.epsilons, self.relative, strict=True)
        return pa.table(columns | {f"epsilon {e:g}": pa.array(errors, pa.float64()) for e, errors in pairs})

    def to_pandas(self) -> "pd.DataFrame":
        """The same as a pandas DataFrame.

        Returns:
            A pandas DataFrame.

        Raises:
            Refusal: If pandas is not installed.
        """
        frame: pd.DataFrame = self.to_arrow().to_pandas(integer_object_nulls=True)
        return frame

    def plot(self) -> "Picture":
        """Error against epsilon, with a line for each group; only the smallest and the largest ones if there are many.

        Returns:
            A figure.

        Raises:
            Refusal: If matplotlib is not installed.
        """
        order = sorted(range(len(self.sizes)), key=lambda row: self.sizes[row])
        rows = order if len(order) <= _DRAWN_GROUPS else [*order[: _DRAWN_GROUPS - 1], order[-1]]
        points = [
            (epsilon, 100 * error, self._row_label(row))
            for row in rows
            for epsilon, errors in zip(self.epsilons, self.relative, strict=True)
            if (error := errors[row]) is not None
        ]
        epsilons, errors, groups = zip(*points, strict=True)
        return plots.accuracy_curve(
            pa.table({"epsilon": epsilons, "error": errors, "group": groups}),
            epsilon="epsilon",
            margin="error",
            series="group",
            title=f"{self.name}: expected relative error by group",
            label="expected relative error, %",
        )

    def __str__(self) -> str:
        return "\n".join([*_lines(*self._table(), len(self.keys)), *self._notes()])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return rendering.card((), rendering.html_table(*self._table(), text_columns=len(self.keys)), self._notes())

    def _table(self) -> tuple[list[str], list[list[str]]]:
        head = [*(rendering.cell(k.name) for k in self.keys), "size", *(f"epsilon {e:g}" for e in self.epsilons), ""]
        marks = [_mark(is_smallest, is_rough=False) for is_smallest in _smallest(self.sizes)]
        rows = [
            [
                *(rendering.cell(key.values[row]) for key in self.keys),
                f"{self.sizes[row]:,.0f}",
                *(_format_error(errors[row]) for errors in self.relative),
                marks[row],
            ]
            for row in _visible_columns(self.sizes)
        ]
        return head, rows

    def _notes(self) -> list[str]:
        rough = f"! above {100 * ROUGH:.0f}%"
        return [
            f"{self.name}: expected relative error of the noise, {self.basis}; {rough}",
            *_left_out(len(self.sizes)),
        ]

    def _row_label(self, row: int) -> str:
        named = " / ".join(rendering.cell(key.values[row]) for key in self.keys) or "all"
        return f"{named} ({self.sizes[row]:,.0f})"


def _smallest(sizes: tuple[float, ...]) -> list[bool]:
    """Which groups are the smallest, where they are not all alike."""
    least = min(sizes, default=0)
    return [size == least < max(sizes) for size in sizes]


def _visible_columns(sizes: tuple[float, ...]) -> list[int]:
    rows = list(range(len(sizes)))
    return rows if len(rows) <= _SHOWN_ROWS else sorted(rows, key=lambda row: sizes[row])[:_SHOWN_ROWS]


def _left_out(groups: int) -> list[str]:
    return [f"the {_SHOWN_ROWS} smallest of {groups:,} groups; to_pandas() has all"] if groups > _SHOWN_ROWS else []


def _mark(is_smallest: bool, is_rough: bool) -> str:
    words = [SMALLEST] if is_smallest else []
    return "  ".join([*words, f"! above {100 * ROUGH:.0f}%"] if is_rough else words)


def _format_error(error: float | None) -> str:
    return f"{_percent(error)}{' !' if error is not None and error > ROUGH else '  '}"


def _percent(error: float | None) -> str:
    if error is None or math.isinf(error):
        return "unknown"
    return f"{100 * error:,.2g}%" if error < 1 else f"{100 * error:,.0f}%"


def _lines(head: list[str], rows: list[list[str]], text_columns: int) -> list[str]:
    """The table as text, its last column to the left like words."""
    numbers = rendering.text_table(head[:-1], [row[:-1] for row in rows], text_columns)
    width = max(map(len, numbers))
    marks = [head[-1], *(row[-1] for row in rows)]
    return [f"{line.ljust(width)}  {mark}".rstrip() for line, mark in zip(numbers, marks, strict=True)]
