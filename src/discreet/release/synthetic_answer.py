"""The answer of a synthetic table to a query: an estimate by its model for each group, and an interval where known."""

# ruff: noqa: PD011 - the values here are tuples, and none of them is a pandas frame

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import pyarrow as pa

from discreet.errors import public_class, short_traceback
from discreet.exact.numbers import shown
from discreet.release import forms
from discreet.release.values import rendering
from discreet.release.values.columns import Key, key_arrays

if TYPE_CHECKING:
    import pandas as pd

How = Literal["measured", "bounded", "model"]
_SHOWN_ROWS = 20
_HEAD = ("estimate", "lower", "upper", "measured", "how")
_MEANING = {
    "measured": "measured: a noisy marginal holds the number, and the interval is that of its noise alone",
    "bounded": "bounded: an interval of the model's error, by the L1 bound on a marginal that could have been chosen",
    "model": "model: a model's estimate, without interval",
}


class AnswerRow(NamedTuple):
    """One figure.

    Attributes:
        output: Name of the output.
        estimate: The number by the model; None where there is none, such as the mean of no rows.
        lower: Lower end of the interval, or None.
        upper: Upper end of the interval, or None.
        measured: The unbiased noisy number that the interval is around, or None.
        how: "measured", "bounded" or "model".
    """

    output: str
    estimate: float | None
    lower: float | None = None
    upper: float | None = None
    measured: float | None = None
    how: How = "model"


@public_class
@dataclass(frozen=True, repr=False)
class SyntheticAnswer:
    """What a synthetic table says to a query: estimates, and intervals where they are proved. It is free.

    Attributes:
        keys: The grouping columns, with the key of each row.
        rows: The figures: all groups of the first output, then of the next.
        confidence: Probability with which each interval holds.
        notes: What the figures are, and what they are not.
        private: False for answers of a table of `dp.testing`, which was made without noise.
        dataset: Name of the dataset.

    Example:
        >>> from fractions import Fraction
        >>> from discreet.release.synthetic_answer import AnswerRow, SyntheticAnswer
        >>> row = AnswerRow("n", 41.5, 30.0, 52.0, 41.0, "measured")
        >>> print(str(SyntheticAnswer((), (row,), Fraction(19, 20), ())).splitlines()[1])
        n           41.5     30     52        41  measured
    """

    keys: tuple[Key, ...]
    rows: tuple[AnswerRow, ...]
    confidence: Fraction
    notes: tuple[str, ...]
    private: bool = True
    dataset: str = ""

    def __len__(self) -> int:
        return len(self.rows)

    @short_traceback
    def to_arrow(self) -> pa.Table:
        """The figures as an Arrow table: keys, output, estimate, lower, upper, measured, how.

        Returns:
            The table.
        """
        columns = key_arrays(self.keys)
        columns["output"] = pa.array([row.output for row in self.rows], pa.string())
        for name in _HEAD[:-1]:
            columns[name] = pa.array([getattr(row, name) for row in self.rows], pa.float64())
        columns["how"] = pa.array([row.how for row in self.rows], pa.string())
        label = {"discreet.synthetic": "; ".join(self._stamp())} if self._stamp() else None
        return pa.Table.from_arrays(list(columns.values()), names=list(columns)).replace_schema_metadata(label)

    @short_traceback
    def to_pandas(self) -> "pd.DataFrame":
        """The figures as a pandas DataFrame.

        Returns:
            The frame.

        Raises:
            UnsupportedError: If pandas is not installed.
        """
        return forms.pandas_frame(SyntheticAnswer.to_arrow(self))

    def to_json(self) -> dict[str, Any]:
        """The figures as plain data.

        Returns:
            A dict for JSON.
        """
        keys = [[None if value is None else str(value) for value in key.values] for key in self.keys]
        names = [key.name for key in self.keys]
        rows = [
            {"key": dict(zip(names, values, strict=True)), **row._asdict()}
            for values, row in zip(zip(*keys, strict=True) if keys else [()] * len(self.rows), self.rows, strict=True)
        ]
        words = {"private": self.private, "dataset": self.dataset, "notes": list(self.notes)}
        return {"confidence": float(self.confidence), "rows": rows, **words}

    def __str__(self) -> str:
        head, rows = self._table()
        return "\n".join([*self._stamp(), *rendering.text_table(head, rows, len(self.keys) + 1), *self._lines()])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        head, rows = self._table()
        return rendering.card(self._stamp(), rendering.html_table(head, rows, len(self.keys) + 1), self._lines())

    def _stamp(self) -> list[str]:
        """The mark of answers that are not private, or from generated data."""
        return rendering.stamp(
            "answers of a synthetic table made without noise", private=self.private, dataset=self.dataset
        )

    def _table(self) -> tuple[list[str], list[list[str]]]:
        head = [*(rendering.cell(key.name) for key in self.keys), "output", *_HEAD]
        return head, [self._cells(place) for place in range(min(len(self.rows), _SHOWN_ROWS))]

    def _cells(self, place: int) -> list[str]:
        row = self.rows[place]
        figures = [_figure(row, getattr(row, name)) for name in _HEAD[:-1]]
        return [
            *(rendering.cell(key.values[place]) for key in self.keys),
            rendering.cell(row.output),
            *figures,
            row.how,
        ]

    def _lines(self) -> Sequence[str]:
        left = len(self.rows) - _SHOWN_ROWS
        kinds = [text for how, text in _MEANING.items() if any(row.how == how for row in self.rows)]
        sure = any(row.lower is not None for row in self.rows)
        level = f"each interval holds {shown(100 * self.confidence)}% of the time, for a query that was fixed before"
        return [*([f"... and {left:,} more"] if left > 0 else []), *kinds, *([level] if sure else []), *self.notes]


def _figure(row: AnswerRow, value: float | None) -> str:
    if value is None:
        return ""
    width = 0.0 if row.lower is None or row.upper is None else (row.upper - row.lower) / 2
    return f"{value:,.6g}" if abs(value) < 1000 or width < 1 else f"{value:,.0f}"
