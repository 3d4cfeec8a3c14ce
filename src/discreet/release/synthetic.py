"""A synthetic table as a release: noisy marginals and a model as plain data, with its card, guarantee and receipt.

The state holds noisy marginals, the model that was fitted to them, and a public integer that rows are drawn by: the
same release gives the same rows. It holds no row of the data, and nothing is pickled.
"""

import json
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

import pyarrow as pa
import pyarrow.parquet as pq

from discreet.errors import ParameterError, UnsupportedError, public_class, short_traceback
from discreet.release import forms
from discreet.release.document import Lines
from discreet.release.measured_quality import MeasuredQuality
from discreet.release.model import is_plain, require_json_path
from discreet.release.result import Result, is_figure

if TYPE_CHECKING:
    import pandas as pd

_LIMITS = (
    "rows are drawn from a model of noisy marginals: none is a person, and what was not modelled is lost",
    "errors of numbers computed from the rows are not stated here",
)
_DEEPEST = 12
MOST_ROWS = 2**31


@public_class
@dataclass(frozen=True, kw_only=True, repr=False)
class SyntheticTable(Result):
    """A synthetic table, with its card.

    The header fields (`dataset`, `guarantee`, `receipt`, ...) are those of every result.

    Attributes:
        name: Name of the kind of synthesizer.
        card: Labels and texts on what was measured and modelled, and how.
        state: Columns, noisy marginals, model, total and the public integer that rows are drawn by, as plain data.

    Example:
        >>> import discreet as dp
        >>> dp.SyntheticTable.reads({"schema": "discreet.synthetic/2"})
        True
    """

    name: str
    card: Lines
    state: dict[str, Any]

    _schema: ClassVar = "discreet.synthetic"
    _noun: ClassVar = "a synthetic table"
    _exact: ClassVar = "a synthetic table made without noise"

    @property
    def limits(self) -> tuple[str, ...]:
        """What the table must not be taken for."""
        return _LIMITS

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns."""
        return tuple(column["name"] for column in self.state["columns"])

    @property
    def rows(self) -> int:
        """The estimated number of rows, from noisy marginals."""
        return max(0, round(float(self.state["total"])))

    @short_traceback
    def to_arrow(self, rows: int | None = None) -> pa.Table:
        """The rows as an Arrow table; the same release gives the same rows.

        Args:
            rows: Number of rows. Default: the estimated number of rows of the data.

        Returns:
            The table.

        Raises:
            ParameterError: If the number is not a whole number from 0 on.
        """
        number = self.rows if rows is None else rows
        if type(number) is not int or not 0 <= number <= MOST_ROWS:
            raise ParameterError(
                f"rows={rows!r}", because=f"it is a whole number from 0 to {MOST_ROWS:,}", instead="rows=10_000"
            )
        home: Any = import_module("discreet.synthesis.rows.tables")
        table: pa.Table = home.draw_table(self.state, number)
        return table.replace_schema_metadata({"discreet.synthetic": self.guarantee})

    @short_traceback
    def to_pandas(self, rows: int | None = None) -> "pd.DataFrame":
        """The rows as a pandas DataFrame.

        Args:
            rows: Number of rows. Default: the estimated number of rows of the data.

        Returns:
            The frame.

        Raises:
            ParameterError: If the number is not a whole number from 0 on.
            UnsupportedError: If pandas is not installed.
        """
        return forms.pandas_frame(SyntheticTable.to_arrow(self, rows))

    @short_traceback
    def to_parquet(self, path: str | Path, rows: int | None = None) -> None:
        """Write the rows as a Parquet file, whose schema holds the guarantee.

        Args:
            path: Path of the file, which ends in .parquet.
            rows: Number of rows. Default: the estimated number of rows of the data.

        Raises:
            ParameterError: If the number is not a whole number from 0 on, or the directory is not there.
            UnsupportedError: If the name ends otherwise.
        """
        place = Path(path)
        if place.suffix.lower() != ".parquet":
            raise UnsupportedError(
                f"to_parquet({str(place)!r})",
                because="the name of a Parquet file ends in .parquet",
                instead=f"to_parquet({str(place.with_suffix('.parquet'))!r})",
            )
        forms.require_place(place, "a synthetic table")
        forms.require_label(place, self.dataset)
        pq.write_table(SyntheticTable.to_arrow(self, rows), place)

    @short_traceback
    def quality(self, rows: int | None = None) -> MeasuredQuality:
        """How near drawn rows are to the noisy marginals that were measured, beside what noise alone would give.

        It uses what was released and nothing else, so it costs nothing. Marginals that were not measured play no part.

        Args:
            rows: Number of rows that are drawn. Default: the estimated number of rows of the data.

        Returns:
            Distances by marginal; print them.

        Raises:
            ParameterError: If the number is not a whole number from 1 on.
        """
        drawn = SyntheticTable.to_arrow(self, max(1, self.rows) if rows is None else rows)
        if not drawn.num_rows:
            raise ParameterError("the quality of 0 rows", because="they have no shares", instead="table.quality()")
        home: Any = import_module("discreet.synthesis.quality.measured")
        quality: MeasuredQuality = home.measured_quality(self.state, drawn)
        return quality

    @short_traceback
    def save(self, path: str | Path) -> None:
        """Write the release as JSON: noisy marginals and model with card, guarantee, receipt and signature.

        Args:
            path: Path of the file, which ends in .json.

        Raises:
            UnsupportedError: If the name ends otherwise.
            ParameterError: If the directory is not there.
        """
        place = require_json_path(path)
        place.write_text(json.dumps(self.to_json(), ensure_ascii=False) + "\n", encoding="utf-8", newline="")

    @classmethod
    @short_traceback
    def load(cls, path: str | Path) -> Self:
        """The release that `save` wrote; the signature is checked by `discreet release verify`.

        Args:
            path: Path of the file.

        Returns:
            The release.

        Raises:
            ParameterError: If the file is not there, or holds something else.
        """
        return cls.from_json(forms.read_plain(Path(path)))

    def _body_to_json(self) -> dict[str, Any]:
        return {"name": self.name, "card": [list(line) for line in self.card], "state": self.state}

    @classmethod
    def _body_from_json(cls, data: dict[str, Any]) -> dict[str, Any]:
        card = tuple((label, text) for label, text in data["card"])
        words = (data["name"], *(text for line in card for text in line))
        if not all(isinstance(text, str) for text in words):
            raise TypeError("words that are no text")
        state = data["state"]
        if not isinstance(state, dict) or not is_plain(state, _DEEPEST) or not is_figure(state["total"]):
            raise TypeError("a state that is not plain data")
        names = [column["name"] for column in state["columns"]]
        if type(state["draw"]) is not int or not names or not all(isinstance(name, str) for name in names):
            raise TypeError("a state without columns, or without the integer that rows are drawn by")
        return {"name": data["name"], "card": card, "state": state}

    def _body_lines(self) -> list[str]:
        title = f"synthetic table ({self.name}): about {self.rows:,} rows of {len(self.columns)} columns"
        return [title, f"columns: {', '.join(self.columns)}", *(f"{label}: {text}" for label, text in self.card)]

    def _body_notes(self) -> list[str]:
        return list(self.limits)
