"""Full-domain recoding: every value of a column becomes its group at one level, and small classes are left out.

Columns that the recoding does not name are left out, the column of persons among them. The rows of the result are
sorted by all its columns, so that their order reveals nothing of the order in the source. The engine of the source
groups its rows; the groups, one for each person and combination of values, and the result are held in memory as Arrow.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from fractions import Fraction
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet.anonymity.classes.encoding import ranks as value_ranks
from discreet.anonymity.generalisation import file_writer
from discreet.anonymity.generalisation.nodes import ClassRequirement, class_requirement, failing_classes
from discreet.anonymity.generalisation.recode_cells import choose_cells, require_few
from discreet.anonymity.generalisation.recode_columns import (
    Bound,
    CodedColumn,
    ColumnRule,
    Rule,
    recode_column,
    rules_of,
    with_suppression,
)
from discreet.anonymity.generalisation.recode_people import RowGroups, classes_of, row_groups
from discreet.anonymity.generalisation.recode_values import RecodedValues, diversity_and_closeness, require_sensitive
from discreet.anonymity.owners import OwnerResult, plain_data
from discreet.engines import exact_tables
from discreet.engines.sql.blocks import TYPES
from discreet.errors import ParameterError, public_class, short_traceback
from discreet.exact.numbers import Number

if TYPE_CHECKING:
    from discreet.ledger.ledger import Ledger

_NO_BOUNDS: Mapping[str, Bound] = MappingProxyType({})


@public_class
@dataclass(frozen=True, repr=False)
class GeneralisedTable(OwnerResult):
    """Table whose quasi-identifiers were made coarser. It is not differentially private.

    Attributes:
        table: The recoded rows as Arrow, sorted by all columns.
        quasi: Names of the quasi-identifiers.
        rows: Number of rows of the source.
        suppressed: Number of rows that were left out.
        suppressed_cells: Number of cells that became `*` by cell suppression.
        k: Smallest number of people in a class of the result, or None where it has no rows.
        l: Least number of distinct sensitive values in a class of the result, or None.
        t: Largest distance of a class of the result to the whole source, suppressed rows among it, or None.
        left_out: Names of the columns of the source that are not in the result.
        description: Names, levels and bounds of the columns, for the history of the dataset.

    Example:
        >>> import discreet as dp
        >>> import pyarrow as pa
        >>> people = pa.table({"name": ["A", "B", "C"], "age": [31, 38, 52]})
        >>> tens = dp.anonymity.hierarchies.digits(1)
        >>> dp.anonymity.generalise(people, {"age": (tens, 1)}, k=2).table.to_pylist()
        [{'age': '30'}, {'age': '30'}]
    """

    kind: ClassVar[str] = "generalised table"

    table: pa.Table
    quasi: tuple[str, ...]
    rows: int
    suppressed: int
    suppressed_cells: int
    k: int | None
    l: int | None = None  # noqa: E741 - the field's letter
    t: Fraction | None = None
    left_out: tuple[str, ...] = ()
    description: str = field(default="")

    def _lines(self) -> list[str]:
        smallest = "the result has no rows" if self.k is None else f"the smallest class has {self.k:,} people"
        values = [] if self.l is None or self.t is None else [f"l = {self.l:,}, t = {float(self.t):.4g}"]
        return [
            f"{self.table.num_rows:,} of {self.rows:,} rows, {self.suppressed:,} suppressed",
            f"{self.suppressed_cells:,} cells suppressed",
            f"quasi-identifiers: {', '.join(self.quasi) or 'none'}; {smallest}",
            *values,
            f"columns left out: {', '.join(self.left_out) or 'none'}",
        ]

    def to_json(self) -> dict[str, Any]:
        """The figures as plain data, with the stamp, without the rows.

        Returns:
            A dict for JSON.
        """
        names = [each.name for each in fields(self) if each.name != "table"]
        empty = OwnerResult.to_json(_Figures())
        return empty | {"kind": self.kind, "figures": {name: plain_data(getattr(self, name)) for name in names}}

    def write(self, path: str | Path, ledger: "str | Path | Ledger | None" = None, dataset: str | None = None) -> str:
        """Write the table as CSV or Parquet, and record it in the history of its dataset.

        The file is complete and on the disk before it has its name, and only its owner may read it. With a ledger, an
        uncharged entry with the SHA-256 of the file is recorded first: no file has this name without an entry. After a
        crash in between there is an entry without a file. Cells of a CSV file are unchanged, even those that a
        spreadsheet would take for a formula.

        Args:
            path: Path that ends with `.csv` or `.parquet`; a file that is there is replaced.
            ledger: Ledger of the dataset: `dp.SQLiteLedger("ledger.sqlite")`, or its path or address as `dp.protect`
                takes it. Default: nothing is recorded.
            dataset: Name of the dataset in the ledger, which `dp.protect` gave it.

        Returns:
            SHA-256 of the bytes of the file, in hexadecimal.

        Raises:
            ParameterError: If the path has another ending or no directory, if one of `ledger` and `dataset` is
                missing, or there is no ledger.
            NameNotFoundError: If the ledger does not have the dataset.
            LedgerError: If the ledger cannot be written; then there is no new file.

        Example:
            >>> import discreet as dp
            >>> import pyarrow as pa
            >>> from pathlib import Path
            >>> from tempfile import TemporaryDirectory
            >>> tens = dp.anonymity.hierarchies.digits(1)
            >>> found = dp.anonymity.generalise(pa.table({"age": [31, 38]}), {"age": (tens, 1)})
            >>> with TemporaryDirectory() as folder:
            ...     len(found.write(Path(folder) / "people.csv"))
            64
        """
        return file_writer.write(self.table, Path(path), self.description, ledger, dataset)


@dataclass(frozen=True, repr=False)
class _Figures(OwnerResult):
    """No figures: the frame of the JSON of a result."""

    kind: ClassVar[str] = ""


@short_traceback
def generalise(
    source: object,
    recoding: Mapping[str, Rule],
    *,
    top: Mapping[str, Bound] = _NO_BOUNDS,
    bottom: Mapping[str, Bound] = _NO_BOUNDS,
    k: int | None = None,
    l: int | None = None,  # noqa: E741 - the field's letter
    t: Number | None = None,
    sensitive: str | None = None,
    ordered: Sequence[str] = (),
    person: str | None = None,
    suppress_cells: bool = False,
    table: str | None = None,
    memory_limit: str | None = None,
) -> GeneralisedTable:
    """Full-domain recoding of a table, with top and bottom coding and suppression. The result is not private.

    Columns that are not named are left out, and the text of the result lists them; so is the column of persons. To
    publish a column as it is, name it with None: `{"age": (tens, 1), "cost": None}`. Rows are sorted by the columns of
    the result. The engine groups the rows; the groups and the result are held in memory. Times with a zone are read in
    UTC.

    A class that fails k, l or t is suppressed with all its rows, and all other classes keep theirs. The definitions are
    those of `search`: with the same k, l, t, sensitive column and person, the same classes are suppressed. t is the
    distance to the values of the whole source. `measure` of the written file has the same k and l. It compares classes
    with the file itself, so that its t differs where rows are suppressed.

    Args:
        source: A source as `dp.protect` takes it: a path, a table in memory, or a database with `table`.
        recoding: For each column of the result `(hierarchy, level)`, where levels may stand for the hierarchy as in
            `search`, 0 for a quasi-identifier that stays as it is, or None for a column that stays as it is and is
            not a quasi-identifier.
        top: For some columns a value; larger ones are clipped to it before they are generalised. Default: none.
        bottom: For some columns a value; smaller ones are clipped to it. Default: none.
        k: Classes with fewer people are suppressed. Default: none is.
        l: Classes with fewer distinct sensitive values are suppressed. Default: none is.
        t: Classes whose sensitive values are further from those of the source are suppressed. Default: none is.
        sensitive: The sensitive column, which the recoding has with None; l and t need it.
        ordered: The sensitive column again where its values have an order; the distance then respects it.
        person: Column that names the person of a row; a row without one is a person of its own. Default: each row is
            a person.
        suppress_cells: Whether single cells of small classes become `*` before rows are left out. The number of cells
            is small by a greedy heuristic, not the least. Quasi-identifiers become text. Default False: rows alone.
        table: Name of the table, where the source is a database.
        memory_limit: Memory of the engine that reads the rows, such as "4GB". Default: the engine's own.

    Returns:
        The recoded table with the number of suppressed rows and cells.

    Raises:
        ParameterError: If a rule, k, l, t or a level is out of range, if `person` is to be published, or `sensitive` is
            not.
        NameNotFoundError: If a column is missing.
        TypeMismatchError: If a hierarchy or a bound does not fit the type of its column.
        SourceError: If the source cannot be opened.

    Example:
        >>> import discreet as dp
        >>> import pyarrow as pa
        >>> people = pa.table({"age": [31, 38, 67, 71], "ill": [True, False, True, True]})
        >>> tens = dp.anonymity.hierarchies.digits(1)
        >>> dp.anonymity.generalise(people, {"age": (tens, 1), "ill": None}, top={"age": 60}, k=2)
        generalised table
          4 of 4 rows, 0 suppressed
          0 cells suppressed
          quasi-identifiers: age; the smallest class has 2 people
          columns left out: none
        For the owners of the data only: these are exact figures about people, not differentially private.
    """
    rules = rules_of(recoding, top, bottom)
    requirement = _requirement(k, l, t, sensitive, suppress_cells)
    values = require_sensitive(rules, sensitive, ordered)
    if any(rule.name == person for rule in rules):
        raise ParameterError(
            f"person={person!r} in the recoding",
            because="the column of persons is never published",
            instead=f"recoding without {person!r}",
        )
    if suppress_cells:
        require_few(sum(rule.is_quasi for rule in rules))
    rows = _read(source, rules, person, table, memory_limit)
    return _generalised_table(rules, rows, requirement, values, suppress_cells)


def _requirement(k: object, least: object, distance: object, sensitive: str | None, cells: bool) -> ClassRequirement:
    if k is None and cells:
        raise ParameterError(
            "suppress_cells=True without k", because="cells are suppressed in classes below k", instead="k=5"
        )
    return class_requirement(1 if k is None else k, least, distance, sensitive)


@dataclass(frozen=True)
class _RecodedRows:
    """The groups of the source with the columns of the result, and the names of its other columns."""

    columns: list[CodedColumn]
    groups: RowGroups
    left_out: tuple[str, ...]


def _read(
    source: object, rules: Sequence[ColumnRule], person: str | None, table: str | None, memory_limit: str | None
) -> _RecodedRows:
    names = [rule.name for rule in rules]
    with exact_tables.open_table(source, table=table, memory_limit=memory_limit) as rows:
        batches = list(rows.groups([*names, *([person] if person else [])]))
        kinds = [TYPES[kind] for kind in rows.column_types(names).values()]
        left_out = tuple(name for name in rows.columns if name not in names)
    columns = [
        recode_column(
            pa.chunked_array([batch.column(place).cast(kind) for batch in batches], type=kind),
            rule,
        )
        for place, (rule, kind) in enumerate(zip(rules, kinds, strict=True))
    ]
    counts = pa.chunked_array([batch.column(batch.num_columns - 1) for batch in batches], type=pa.int64())
    persons = pa.chunked_array([batch.column(len(rules)) for batch in batches]) if person and batches else None
    return _RecodedRows(columns, row_groups(counts, persons), left_out)


def _generalised_table(
    rules: Sequence[ColumnRule],
    rows: _RecodedRows,
    requirement: ClassRequirement,
    values: RecodedValues | None,
    suppress_cells: bool,
) -> GeneralisedTable:
    quasi = [place for place, rule in enumerate(rules) if rule.is_quasi]
    groups, size = rows.groups, len(rows.groups.counts)
    columns, cells, left = rows.columns, np.zeros((size, 0), dtype=np.bool_), np.zeros(size, dtype=np.bool_)
    if suppress_cells:
        cells, left = choose_cells([columns[place].codes for place in quasi], groups, requirement.k)
        columns = _with_suppression(columns, quasi, cells)
    # groups that cell suppression leaves out are classes of their own: they have no place among the others
    classes = classes_of([left.astype(np.int64), *(columns[place].codes for place in quasi)], size)
    people = groups.people(classes)
    suppressed = people < requirement.k
    suppressed[classes[left]] = True
    least = distance = None
    if values is not None:
        table = values.table(columns, classes, groups)
        suppressed |= failing_classes(table, requirement, is_ordered=values.is_ordered)
        least, distance = diversity_and_closeness(table, np.flatnonzero(~suppressed), values.is_ordered)
    chosen, left = np.flatnonzero(~suppressed), suppressed[classes]
    return GeneralisedTable(
        table=_rows(rules, columns, ~left, groups.counts[~left]),
        quasi=tuple(rules[place].name for place in quasi),
        rows=int(groups.counts.sum()),
        suppressed=int(groups.counts[left].sum()),
        suppressed_cells=int((cells[~left].sum(axis=1) * groups.counts[~left]).sum()),
        k=int(people[chosen].min()) if len(chosen) else None,
        l=least,
        t=distance,
        left_out=rows.left_out,
        description=_description(rules, requirement, values),
    )


def _with_suppression(
    columns: Sequence[CodedColumn], quasi: Sequence[int], cells: NDArray[np.bool_]
) -> list[CodedColumn]:
    """The columns, of which the quasi-identifiers have some cells suppressed."""
    numbers = {place: number for number, place in enumerate(quasi)}
    return [
        with_suppression(column, cells[:, numbers[place]]) if place in numbers else column
        for place, column in enumerate(columns)
    ]


def _description(rules: Sequence[ColumnRule], requirement: ClassRequirement, values: RecodedValues | None) -> str:
    """The columns and what is required of classes; no figure of the data."""
    limits = [f"k={requirement.k}"] if requirement.k > 1 else []
    name = "" if values is None else f" of {rules[values.place].name}"
    limits += [f"l={requirement.l}{name}"] if requirement.l is not None else []
    limits += [f"t={float(requirement.t):.4g}{name}"] if requirement.t is not None else []
    return ", ".join(rule.text for rule in rules) + (f"; {', '.join(limits)}" if limits else "")


def _rows(
    rules: Sequence[ColumnRule], columns: Sequence[CodedColumn], chosen: NDArray[np.bool_], counts: NDArray[np.int64]
) -> pa.Table:
    """The rows of the chosen groups, sorted by all columns."""
    sorted_columns = [_sort_values(column.values, column.codes[chosen]) for column in columns]
    rows = classes_of([column.codes for column in sorted_columns], len(counts))
    first, total = np.zeros((2, int(rows.max(initial=-1)) + 1), dtype=np.int64)
    first[rows] = np.arange(len(rows))
    np.add.at(total, rows, counts)
    places = np.repeat(first, total)
    arrays = [column.values.take(pa.array(column.codes[places])) for column in sorted_columns]
    return pa.Table.from_arrays(arrays, [rule.name for rule in rules])


def _sort_values(values: pa.Array, codes: NDArray[np.int64]) -> CodedColumn:
    """The column with codes in the order of its values; a null is last."""
    ranks = value_ranks(values)
    return CodedColumn(ranks[codes], values.take(pa.array(np.argsort(ranks))))
