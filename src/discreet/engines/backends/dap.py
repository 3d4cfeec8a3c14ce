"""Collections of DAP, the distributed aggregation protocol: an engine over one aggregate of many reports.

Definition
    Aggregators of DAP add up secret shares of reports and check each report by a zero-knowledge proof, so a collector
    gets one vector of sums and the number of reports, and no single report. A report is a row of a table:

        histogram   a report adds one to one place of the vector         bucket, from 0 to length - 1
        sum         a report adds a number from 0 to `largest`           value
        vector      a report adds such a number to each place            v0, v1, ...

    Supported queries: counts of reports, counts by bucket, sums and means. What needs single reports (conditions,
    medians, other bounds) is refused before the charge, from public facts.

Guarantee
    The vector and the number are exact, so they are as private as rows: the file is opened after a charge alone.
    Answers have the sensitivities of the same queries on the table of reports, for a unit of one report, or of one
    client with at most `max_reports` reports. Proof: docs/proofs/engines/backends/dap.md.

Exactness
    Whole numbers only. They get the noise of any other query.

Not covered
    Whether `max_reports` is enforced before reports are added up, and whether one aggregator is honest: the owner
    states both. Several intervals of the same people: their losses add up. A batch that is collected twice with other
    contents. The length of the file, for those who can list it: it shows the number of digits.

References
    Geoghegan et al., Distributed Aggregation Protocol for Privacy Preserving Measurement, draft-ietf-ppm-dap. Davis,
    Patton, Rosulek and Schoppmann, Verifiable Distributed Aggregation Functions, PETS 2023.
"""

import json
import os
import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Literal, NoReturn, cast, get_args

from discreet.catalog.catalog import ColumnType
from discreet.engines.prepared import PreparedBlocks, PreparedMarginals, PreparedQuery, RegisteredSource
from discreet.engines.progress import Stage
from discreet.engines.sources.source import UNSTATED, Source, Statements, unwanted_table
from discreet.engines.sources.workspace import Workspace
from discreet.engines.sql.blocks import LARGEST_BLOCK, Block
from discreet.engines.sql_engine import SQLEngine
from discreet.errors import ParameterError, SourceError, UnsupportedError, public_class, suggestion
from discreet.exact.numbers import whole
from discreet.home.durable_files import write_file
from discreet.plan.physical import CountRows, Integers, Keys, Pushdown, Read, Scan, SumSteps, Term
from discreet.plan.slots import Counts, MarginalBatch

KIND = "dap"
FORMAT = "discreet.local.collection/1"
CLIENT = "client"
BUCKET = "bucket"
Aggregate = Literal["histogram", "sum", "vector"]

Interval = tuple[int, int]
"""Start of a batch and its duration, in seconds since 1970 and in seconds."""

_LARGEST_LENGTH = 2**20
_LARGEST_FILE = 2**26
_LARGEST_REPORTS = 2**53


@public_class
@dataclass(frozen=True)
class Collection:
    """What is public about one collection of DAP, and where its file is. The file is not opened here.

    A collection is one batch: that of the next interval is another source, also at the same path. What a client loses
    in several intervals adds up: open them as versions of one dataset, which share one budget.

    With `max_reports` the table has a column `client`, for `privacy_unit="client", max_rows=...`: the owner's statement
    that no client has more reports in the collection, because uploads need a token. Without it the unit is `dp.ROW`:
    one report, which protects reports, not people.

    Args:
        path: The file, as `write` writes it.
        task: Name or id of the task, the same as in the file.
        kind: "histogram", "sum" or "vector".
        interval: Start and duration of the batch in seconds, the start since 1970; the same as in the file.
        length: Length of the vector. Default 1.
        largest: Largest number that a report adds to one place. Default 1.
        max_reports: Number of reports of one client, if that is enforced before reports are aggregated. Default: none.

    Raises:
        ParameterError: If an argument is outside its range.

    Example:
        >>> import discreet as dp
        >>> collection = dp.local.Collection("votes.json", "votes", "histogram", interval=(0, 3_600), length=4)
        >>> collection.columns
        ('bucket',)
    """

    path: str | Path
    task: str
    kind: Aggregate
    interval: Interval
    length: int = 1
    largest: int = 1
    max_reports: int | None = None

    def __post_init__(self) -> None:
        for name in ("length", "largest", *(["max_reports"] if self.max_reports is not None else [])):
            object.__setattr__(self, name, whole(getattr(self, name), name))
        object.__setattr__(self, "interval", _read_interval(self.interval))
        is_fitting = self.length == 1 if self.kind == "sum" else self.length <= _LARGEST_LENGTH
        if self.kind not in get_args(Aggregate) or not is_fitting or (self.kind == "histogram" and self.largest != 1):
            raise ParameterError(
                f"a collection of kind {self.kind!r}, length {self.length} and largest number {self.largest}",
                because="a histogram adds ones, a sum has length 1, and a vector has at most 2^20 places",
                instead='kind="histogram", length=4',
            )
        if not str(self.task):
            raise ParameterError(
                "a collection without a task", because="it names what was asked", instead='task="votes"'
            )

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns of a report."""
        values = {"histogram": (BUCKET,), "sum": ("value",), "vector": tuple(f"v{i}" for i in range(self.length))}
        return (*values[self.kind], *((CLIENT,) if self.max_reports is not None else ()))

    def write(self, vector: list[int], reports: int) -> None:
        """Write the file of a collection, as a collector got it from its aggregators; readable by the owner alone.

        A batch is collected once. Another batch has another interval, and so another collection.

        Args:
            vector: The aggregate.
            reports: Number of reports in it.

        Example:
            >>> import discreet as dp, tempfile
            >>> path = tempfile.mkdtemp() + "/votes.json"
            >>> hour = (1_790_000_000, 3_600)
            >>> votes = dp.local.Collection(path, task="votes", kind="histogram", interval=hour, length=2)
            >>> votes.write([3, 4], reports=7)
        """
        fields = {"format": FORMAT, "task": self.task, "kind": self.kind, "largest": self.largest}
        fields |= {"vector": [int(each) for each in vector], "reports": int(reports), "interval": list(self.interval)}
        # A new file takes the place of an old one at once: no reader sees half of it, or keeps the old one's rights.
        write_file(Path(self.path), lambda file: file.write(json.dumps(fields).encode("ascii")))

    def read(self) -> tuple[list[int], int]:
        """The vector and the number of reports, both exact and private: for the engine, after a charge.

        Returns:
            Whole numbers.

        Raises:
            ValueError: If the file is not one of this collection.
        """
        descriptor = os.open(self.path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
        with open(descriptor, "rb") as file:  # noqa: PTH123 - a pipe would wait for ever, so it is looked at first
            status = os.fstat(descriptor)
            if not stat.S_ISREG(status.st_mode) or status.st_size > _LARGEST_FILE:
                raise ValueError("not a file of a collection")
            fields = json.loads(file.read())
        vector, reports = fields["vector"], fields["reports"]
        stated = (fields["format"], fields["task"], fields["kind"], fields["largest"], len(vector))
        declared = (FORMAT, self.task, self.kind, self.largest, self.length)
        numbers = [*vector, reports, *fields["interval"]]
        if (
            stated != declared
            or fields["interval"] != list(self.interval)
            or not all(type(each) is int and each >= 0 for each in numbers)
        ):
            raise ValueError("another collection than was declared")
        is_one_hot = self.kind != "histogram" or sum(vector) == reports
        if reports > _LARGEST_REPORTS or max(vector) > reports * self.largest or not is_one_hot:
            raise ValueError("a vector that no reports add up to")
        return vector, reports


class DapCollections:
    """The engine of collections: every answer is read off one vector of whole numbers."""

    def __init__(
        self,
        sources: Mapping[str, RegisteredSource],
        workspace: Workspace,
        *,
        memory_limit: str | None = None,  # noqa: ARG002 - a collection is one small file
        threads: int | None = None,  # noqa: ARG002
    ) -> None:
        self._collections = {name: cast("Collection", each.source.frame) for name, each in sources.items()}
        self._workspace = workspace

    def require(self, table: str, columns: Mapping[str, ColumnType]) -> None:
        """Refuse declared columns that a report does not have, and types other than integers."""
        known = self._collections[table].columns
        for column, kind in columns.items():
            if column not in known:
                raise SourceError(
                    f"column {column!r} of {table!r}",
                    because="a report of the collection has no such column"
                    + ("" if column != CLIENT else " without max_reports"),
                    instead=suggestion(column, known) if column != CLIENT else "Collection(..., max_reports=1)",
                )
            if kind is not ColumnType.INTEGER:
                raise SourceError(
                    f"column {column!r} of {table!r} of type {kind}",
                    because="a collection holds whole numbers",
                    instead=f'types={{"{column}": "integer"}}',
                )

    def adopt(self, table: str, hash_key: int) -> None:
        """Rows of a collection are never chosen among."""

    def prepare(self, question: Pushdown) -> PreparedQuery:
        """Bind a query, or refuse one that the vector does not answer; the file is not touched."""
        scan = question.scan
        collection = self._collections[scan.table]
        self.require(scan.table, {read.column: read.type for read in scan.columns})
        if scan.base is not None or scan.within is not None or question.predicate is not None:
            raise _no_answer("a condition, a slice or a join on a collection", "dp.count()")
        _check_unit(question, collection)
        _check_keys(question.keys, collection)
        for measure in question.measures:
            _check_measure(measure, question.keys, collection)
        return PreparedQuery(question, rows_name=None, rows_sql="", stored={}, keys_name="")

    def run(self, prepared: PreparedQuery) -> list[list[int]]:
        """Open the file, after the charge, and read the answer off its vector."""
        question = prepared.question
        vector, reports = self._collections[question.scan.table].read()
        if question.keys.columns:
            cells = [
                vector[key] if isinstance(key, int) and 0 <= key < len(vector) else 0 for (key,) in question.keys.rows
            ]
            return [cells for _ in question.measures]
        return [[_total(measure, vector, reports)] for measure in question.measures]

    def has_inferred(self, scan: Scan) -> bool:  # noqa: ARG002 - types of a collection are fixed
        """No column type is inferred."""
        return False

    def prepare_blocks(self, question: Pushdown, columns: Mapping[str, Term], number: int) -> PreparedBlocks:  # noqa: ARG002
        """Refused: there are no rows."""
        _refuse_rows()

    def blocks(self, prepared: PreparedBlocks, *, largest: int | None = LARGEST_BLOCK) -> Iterator[Block]:  # noqa: ARG002
        """Refused: there are no rows."""
        _refuse_rows()

    def prepare_marginals(self, batch: MarginalBatch) -> PreparedMarginals:  # noqa: ARG002
        """Refused: there are no rows."""
        _refuse_rows()

    def marginals(self, prepared: PreparedMarginals) -> Counts:  # noqa: ARG002
        """Refused: there are no rows."""
        _refuse_rows()

    def place(self, table: str, reads: Mapping[str, str] | None = None) -> NoReturn:  # noqa: ARG002
        """Refused: there are no rows to count exactly, as tools of the owner do."""
        _refuse_rows()

    def progress(self) -> Stage | None:
        """A collection is read at once."""
        return None

    def exposures(self) -> tuple[str, ...]:
        """Nothing outside records what is read."""
        return ()

    def close(self) -> None:
        """Give back the workspace, which holds nothing."""
        self._workspace.close()


ENGINE: type[SQLEngine] = cast("type[SQLEngine]", DapCollections)  # it is an Engine that knows no SQL


def is_source(data: object) -> bool:
    """Whether it is a declared collection."""
    return isinstance(data, Collection)


def has_tables(data: object) -> bool:  # noqa: ARG001
    """A collection is one table."""
    return False


def source(data: object, table: str | None, stated: Statements = UNSTATED) -> Source:  # noqa: ARG001
    """A collection by what was declared of it; the file may not be there yet."""
    if not isinstance(data, Collection):
        raise TypeError(type(data).__name__)
    if table is not None:
        raise unwanted_table(table, "a collection")
    place, (start, duration) = str(Path(data.path).absolute()), data.interval
    # The interval is part of the identity: a stored answer of one batch is none of the next one at the same path.
    return Source(
        KIND,
        f"{place}#{data.task}@{start}+{duration}",
        data.columns,
        (place,),
        table=data.task,
        frame=data,
        address=place,
    )


def _read_interval(interval: object) -> Interval:
    match interval:
        case (start, duration):
            return whole(start, "interval[0]", least=0), whole(duration, "interval[1]")
    raise ParameterError(
        "an interval that is not a start and a duration",
        because="it says which batch was collected, in seconds since 1970 and in seconds",
        instead="interval=(1_790_000_000, 3_600)",
    )


def draft(source: Source) -> dict[str, ColumnType]:
    """Whole numbers."""
    return dict.fromkeys(source.columns, ColumnType.INTEGER)


def _check_unit(question: Pushdown, collection: Collection) -> None:
    """Refuse a contribution bound below what is enforced upstream: no report can be left out of an aggregate."""
    most, caps, unit = collection.max_reports, question.caps, question.scan.unit
    if not unit:
        return
    bounds = (question.scan.max_rows, caps.max_rows, caps.max_groups, caps.max_rows_per_group)
    if unit != (CLIENT,) or most is None or any(bound is not None and bound < most for bound in bounds):
        raise UnsupportedError(
            f"a collection with contribution bounds below its {most} reports of one client",
            because="reports are added up already, so none of a client can be left out",
            instead=f'privacy_unit="client", max_rows={most}, without further bounds',
        )


def _check_keys(keys: Keys, collection: Collection) -> None:
    is_bucket = collection.kind == "histogram" and keys.columns == (Read(BUCKET, ColumnType.INTEGER),)
    if keys.inner or keys.at_least is not None or (keys.columns and not is_bucket):
        raise _no_answer("groups of a collection other than its buckets", 'group_by("bucket").agg(n=dp.count())')


def _check_measure(measure: Integers, keys: Keys, collection: Collection) -> None:
    """Counts of reports, which have no missing cells, and sums of which no value is clamped or rounded."""
    match measure:
        case CountRows(None):
            return
        case CountRows(Read(column=name)) if name in collection.columns and name != CLIENT:
            return
        case SumSteps(operand=Read(column=name), low=low, high=high) if name in collection.columns and name != CLIENT:
            largest = collection.length - 1 if name == BUCKET else collection.largest
            is_plain = (measure.grid, measure.power) == (Fraction(1), 1) and low <= 0 and high >= largest
            if is_plain and not keys.columns:
                return
            raise _no_answer(
                f"a sum of {name!r} with other bounds or groups", f'dp.sum("{name}", bounds=(0, {largest}))'
            )
    raise _no_answer("an aggregate that a collection does not have", "dp.count(), dp.sum(...) or dp.mean(...)")


def _total(measure: Integers, vector: list[int], reports: int) -> int:
    """One number over all reports."""
    if not isinstance(measure, SumSteps) or not isinstance(measure.operand, Read):
        return reports
    name = measure.operand.column
    if name == BUCKET:
        total = sum(place * count for place, count in enumerate(vector))
    else:
        total = vector[0 if name == "value" else int(name[1:])]
    return total - measure.centre * reports


def _no_answer(what: str, instead: str) -> UnsupportedError:
    because = "a collection has one vector of sums and the number of reports, and no single report"
    return UnsupportedError(what, because=because, instead=instead)


def _refuse_rows() -> NoReturn:
    raise _no_answer("rows of a collection", "dp.count(), dp.sum(...) or dp.mean(...)")
