"""A synthetic table as a release: noisy marginals and a model as plain data, with its card, guarantee and receipt.

The state holds noisy marginals, the model that was fitted to them, and a public integer that rows are drawn by: the
same release gives the same rows. It holds no row of the data, and nothing is pickled.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

import pyarrow as pa
import pyarrow.parquet as pq

from discreet.errors import ParameterError, UnsupportedError, public_class, short_traceback
from discreet.exact.numbers import Number, probability
from discreet.release import forms
from discreet.release.document import Lines
from discreet.release.found_slots import slot_values
from discreet.release.measured_quality import MeasuredQuality
from discreet.release.model import is_plain, require_json_path
from discreet.release.result import DAMAGES, DEFAULT_CONFIDENCE, Result, is_figure
from discreet.release.synthetic_answer import SyntheticAnswer

if TYPE_CHECKING:
    import pandas as pd

_LIMITS = (
    "rows are drawn from a model of noisy marginals, not copied from people; what was not modelled is lost",
    "numbers computed from the rows have no interval; table.answer(query) gives those that are proved",
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
    def label(self) -> str:
        """What rows in Arrow tables and Parquet files are labelled with: the guarantee, below the mark NOT PRIVATE."""
        return "; ".join([*self._stamp(), self.guarantee])

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns."""
        return tuple(column["name"] for column in self.state["columns"])

    @property
    def edges(self) -> dict[str, tuple[Any, ...]]:
        """The edges of bins of numbers, dates and times, by column: conditions and constraints at edges cut no bin.

        A bin holds values from its lower edge to below its upper edge.
        """
        return {each["name"]: slot_values(each, "edges") for each in self.state["columns"] if each["edges"]}

    @property
    def keys(self) -> dict[str, tuple[Any, ...]]:
        """The declared values of the other columns, by column."""
        return {each["name"]: slot_values(each, "values") for each in self.state["columns"] if each["values"]}

    @property
    def rows(self) -> int:
        """The estimated number of rows, from noisy marginals."""
        return max(0, round(float(self.state["total"])))

    @short_traceback
    def to_arrow(self, rows: int | None = None) -> pa.Table:
        """The rows as an Arrow table, whose metadata hold the `label`; the same release gives the same rows.

        Args:
            rows: Number of rows. Default: the estimated number of rows of the data.

        Returns:
            The table.

        Raises:
            ParameterError: If the number is not a whole number from 0 on.
        """
        table: pa.Table = _tables().draw_table(self.state, self._number(rows))
        return table.replace_schema_metadata({"discreet.synthetic": self.label})

    @short_traceback
    def to_pandas(self, rows: int | None = None) -> "pd.DataFrame":
        """The rows as a pandas DataFrame.

        Whole numbers are of type Int64 and truth values of type boolean, whether or not a value is missing: any column
        may have missing values, since noise gives some rows to their slot.

        Args:
            rows: Number of rows. Default: the estimated number of rows of the data.

        Returns:
            The frame.

        Raises:
            ParameterError: If the number is not a whole number from 0 on.
            UnsupportedError: If pandas is not installed.
        """
        return forms.nullable_frame(SyntheticTable.to_arrow(self, rows))

    @short_traceback
    def to_tables(self, rows: int | None = None) -> dict[str, pa.Table]:
        """The persons and the visits of a two-level table, as two Arrow tables that an invented identifier links.

        `to_arrow` gives the same visits with the columns of their persons.

        Args:
            rows: Number of visits. Default: the estimated number of rows of the data.

        Returns:
            The tables by their names, "persons" and "visits".

        Raises:
            ParameterError: If the number is not a whole number from 0 on.
            UnsupportedError: If the table has one level.
        """
        number = self._number(rows)
        if not has_levels(self.state):
            raise UnsupportedError(
                f"to_tables of a table made by {self.name!r}",
                because="it has one level",
                instead="table.to_arrow(), or dp.synthesis.TwoLevelSynthesizer(...) for persons and visits",
            )
        label = {"discreet.synthetic": self.label}
        found: dict[str, pa.Table] = _linked_tables().linked_tables(self.state, number)
        return {name: table.replace_schema_metadata(label) for name, table in found.items()}

    @short_traceback
    def to_parquet(self, path: str | Path, rows: int | None = None) -> None:
        """Write the rows as a Parquet file, whose schema holds the guarantee as `label`.

        Args:
            path: Path of the file, which ends in .parquet. Of a two-level table it may be a directory: it then gets
                the files persons.parquet and visits.parquet.
            rows: Number of rows. Default: the estimated number of rows of the data.

        Raises:
            ParameterError: If the number is not a whole number from 0 on, or the directory is not there.
            UnsupportedError: If the name ends otherwise.
        """
        place = Path(path)
        if has_levels(self.state) and not place.suffix:
            self._write_levels(place, self._number(rows))
            return
        if place.suffix.lower() != ".parquet":
            raise UnsupportedError(
                f"to_parquet({str(place)!r})",
                because="the name of a Parquet file ends in .parquet",
                instead=f"to_parquet({str(place.with_suffix('.parquet'))!r})",
            )
        forms.require_place(place, "a synthetic table")
        forms.require_label(place, self.dataset)
        number, home = self._number(rows), _tables()
        schema = home.row_schema(self.state).with_metadata({"discreet.synthetic": self.label})
        with pq.ParquetWriter(place, schema) as file:
            for batch in home.draw_batches(self.state, number):
                file.write_batch(batch)

    @short_traceback
    def quality(self, rows: int | None = None) -> MeasuredQuality:
        """How near drawn rows are to the noisy marginals that were measured, beside what noise alone would give.

        It uses what was released and nothing else, so it costs nothing. Marginals that were not measured play no part.
        Of a two-level table, visits are compared with the marginals of visits, and persons with those of persons.

        Args:
            rows: Number of rows that are drawn. Default: the estimated number of rows of the data.

        Returns:
            Distances by marginal; print them.

        Raises:
            ParameterError: If the number is not a whole number from 1 on.
        """
        number = max(1, self.rows) if rows is None else rows
        drawn = SyntheticTable.to_arrow(self, number)
        if not drawn.num_rows:
            raise ParameterError("the quality of 0 rows", because="they have no shares", instead="table.quality()")
        home: Any = import_module("discreet.synthesis.quality.measured")
        persons = SyntheticTable.to_tables(self, number)["persons"] if has_levels(self.state) else None
        quality: MeasuredQuality = home.measured_quality(self.state, drawn, persons)
        return replace(quality, dataset=self.dataset, guarantee=str(self.guarantee), private=self.private)

    @short_traceback
    def answer(self, query: object, confidence: Number = DEFAULT_CONFIDENCE) -> SyntheticAnswer:
        """The answer to a query, from what was released: it is free, and no session is needed.

        Counts whose conditions and groups are whole slots have an interval where their columns were measured, or were
        a candidate of the graphical synthesizer. Sums and means are of the middles of bins. Everything else comes from
        drawn rows. Each figure says how it was found: "measured", "bounded" or "model".

        Args:
            query: A query of the same table, such as `dp.table("people").group_by("sex").agg(n=dp.count())`.
            confidence: Probability with which each interval holds, for a query that was fixed before. Default 0.95.

        Returns:
            Estimates with intervals, to print or as a pandas DataFrame.

        Raises:
            UnsupportedError: If it is not a query of aggregates, or of what rows do not have: joins and units.
            NameNotFoundError: If the query names another table, or a column that the table does not have.
            Refusal: If a session would refuse the query.

        Example:
            >>> import discreet as dp
            >>> people = dp.datasets.people(1_000)
            >>> facts = {"name": "people", "privacy_unit": "person_id", "max_rows": 1}
            >>> known = {"keys": {"sex": ["female", "male"]}, "budget": dp.Budget(epsilon=1, delta=1e-9)}
            >>> with dp.testing.protect(people, **facts, **known) as session:
            ...     wanted = dp.table("people").synthesize(dp.synthesis.IndependentSynthesizer(), columns=["sex"])
            ...     table = session.release(wanted, epsilon=1)
            >>> table.answer(dp.table("people").group_by("sex").agg(n=dp.count())).to_arrow()["how"].to_pylist()
            ['measured', 'measured']
        """
        home: Any = import_module("discreet.synthesis.answers.answer")
        level = probability(confidence, "confidence", example="0.95")
        if not 0 < level < 1:
            raise ParameterError(
                f"confidence={confidence!r}", because="it lies between 0 and 1", instead="confidence=0.95"
            )
        answer: SyntheticAnswer = home.answer_query(home.ReleasedTable(self.dataset, self.state), query, level)
        return replace(answer, private=self.private, dataset=self.dataset)

    @short_traceback
    def save(self, path: str | Path) -> None:
        """Write the release as JSON: noisy marginals and model with card, guarantee, receipt and signature.

        Args:
            path: Path of the file, which ends in .json.

        Raises:
            UnsupportedError: If the name ends otherwise.
            ParameterError: If the directory is not there.
        """
        place = require_json_path(path, "a synthetic table")
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
        found = cls.from_json(forms.read_plain(Path(path), cls._noun, 'table.save("people.json")'))
        try:
            SyntheticTable.quality(found, 1)
        except DAMAGES:
            raise ParameterError(
                f"a synthetic table in {str(path)!r}",
                because="its model or its marginals are damaged",
                instead='SyntheticTable.load("people.json") of a file that table.save wrote',
            ) from None
        return found

    def _write_levels(self, place: Path, number: int) -> None:
        """Write persons and visits, a block at a time."""
        files = [place / f"{name}.parquet" for name in ("persons", "visits")]
        if not place.parent.is_dir() or place.is_file():
            raise ParameterError(
                f"a synthetic table at {str(place)!r}", because="there is no such directory", instead=repr(place.name)
            )
        for file in files:
            forms.require_label(file, self.dataset)
        place.mkdir(exist_ok=True)
        blocks = _linked_tables().linked_blocks(self.state, number)
        label, first = {"discreet.synthetic": self.label}, next(blocks)
        schemas = [each.schema.with_metadata(label) for each in (first.persons, first.visits)]
        with pq.ParquetWriter(files[0], schemas[0]) as persons, pq.ParquetWriter(files[1], schemas[1]) as visits:
            for block in blocks:
                persons.write_batch(block.persons)
                visits.write_batch(block.visits)

    def _number(self, rows: int | None) -> int:
        number = self.rows if rows is None else rows
        if type(number) is not int or not 0 <= number <= MOST_ROWS:
            raise ParameterError(
                f"rows={rows!r}", because=f"it is a whole number from 0 to {MOST_ROWS:,}", instead="rows=10_000"
            )
        return number

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


def has_levels(state: Mapping[str, Any]) -> bool:
    """Whether rows of a released table are visits of persons: they have a column of invented identifiers."""
    model = state["model"]
    return isinstance(model, dict) and model.get("kind") == "two_level"


def _tables() -> Any:
    """The module that draws rows; it is above releases, so it is found by its name."""
    return import_module("discreet.synthesis.rows.tables")


def _linked_tables() -> Any:
    """The module that draws persons with their visits."""
    return import_module("discreet.synthesis.two_level.tables")
