"""Hierarchy of categories: from a tree, or from a file with the parents of each value."""

import csv
import io
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from discreet.anonymity.generalisation.hierarchies.base import EVERYTHING, LevelGroups, ValueHierarchy, text_of
from discreet.errors import ParameterError, SourceError, public_class, short_traceback

Tree = Mapping[str, Any] | Iterable[str]
Row = Sequence[str]

_EXAMPLE = 'categories({"Europe": ["Berlin", "Paris"], "Asia": ["Tokyo"]})'


@public_class
@dataclass(frozen=True)
class CategoryHierarchy(ValueHierarchy):
    """Hierarchy of a column of categories: each value has a list of parents.

    Attributes:
        height: Number of levels above the value, `*` included.

    Example:
        >>> import discreet as dp
        >>> dp.anonymity.hierarchies.categories({"Europe": ["Berlin", "Paris"], "Asia": ["Tokyo"]}).height
        2
    """

    _values: tuple[str, ...] = field(repr=False)
    _parents: tuple[tuple[str, ...], ...] = field(repr=False)

    @property
    def height(self) -> int:
        """Number of levels above the value, `*` included."""
        return len(self._parents) + 1

    def _steps(self, values: pa.Array) -> Sequence[LevelGroups]:
        texts = text_of(values)
        places = pc.index_in(texts, value_set=pa.array(self._values, pa.large_string()))
        if places.null_count:
            unknown = texts.filter(places.is_null())
            raise ParameterError(
                f"{len(unknown):,} values without a category, such as {unknown[0].as_py()!r}",
                because="the hierarchy lists no parents for them",
                instead="a row for each value in the file, or a place for it in the tree",
            )
        rows = places.to_numpy(zero_copy_only=False).astype(np.int64)
        return [_level(parents, rows) for parents in self._parents]


@short_traceback
def categories(source: str | Path | Tree | Iterable[Row], *, header: bool = False) -> CategoryHierarchy:
    """Hierarchy of categories from a tree, from rows, or from a CSV or JSON file.

    A tree is a nested mapping whose leaves are lists of values. Where a value is nearer to the root than others, it
    stays itself at the levels below its first parent. A row is a value and its parents, the nearest first. A CSV file
    has one row for each value, with commas and in UTF-8. A JSON file has a tree or a list of rows.

    Args:
        source: Tree, rows, or path of a file that ends with `.csv` or `.json`.
        header: Whether the first row of a CSV file has names of columns. Default False.

    Returns:
        A hierarchy; its highest level is `*`. A column of only `*` at the end of the rows is that level.

    Raises:
        ParameterError: If rows differ in length, contradict each other, or part values that a lower level holds alike.
        SourceError: If there is no readable file at the path.

    Example:
        >>> import discreet as dp
        >>> import pyarrow as pa
        >>> cities = dp.anonymity.hierarchies.categories({"Europe": {"Germany": ["Berlin"], "France": ["Paris"]}})
        >>> cities.levels(pa.array(["Berlin", "Paris"])).labels[1:]
        (('Germany', 'France'), ('Europe',), ('*',))
    """
    if isinstance(source, str | Path):
        return hierarchy_of(_read(Path(source), header), f"{str(source)!r}")
    if isinstance(source, Mapping):
        return hierarchy_of(tree_rows(source), "the tree")
    return hierarchy_of(source, "the rows")


def hierarchy_of(rows: Iterable[object], name: str) -> CategoryHierarchy:
    """The hierarchy of rows of a value and its parents, checked over the whole file."""
    found: dict[str, tuple[str, ...]] = {}
    width = None
    for number, row in enumerate(rows, start=1):
        cells = _cells(row, name, number)
        width = len(cells) if width is None else width
        if len(cells) != width:
            raise _bad_row(name, number, f"rows have {width} cells and this one has {len(cells)}")
        if found.setdefault(cells[0], cells[1:]) != cells[1:]:
            raise _bad_row(name, number, f"{cells[0]!r} has other parents in an earlier row")
    if not found:
        raise ParameterError(f"a hierarchy from {name}", because="it has no row", instead=_EXAMPLE)
    levels = list(zip(*found.values(), strict=True)) if width and width > 1 else []
    # a file ends with the level of everything, or leaves it out: both are the same hierarchy
    while levels and set(levels[-1]) == {EVERYTHING}:
        levels.pop()
    _require_one_parent([tuple(found), *levels], name)
    return CategoryHierarchy(tuple(found), tuple(levels))


def tree_rows(tree: Mapping[str, Any]) -> list[list[str]]:
    """A value and its parents for each leaf of a tree; values near the root repeat themselves."""
    paths = list(_paths(tree, ()))
    depth = max((len(path) for path in paths), default=0)
    return [[path[0]] * (depth - len(path)) + list(path) for path in paths]


def _paths(tree: object, parents: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    if isinstance(tree, Mapping):
        for name, below in tree.items():
            if below is None or below in ({}, []):
                yield (str(name), *parents)
            else:
                yield from _paths(below, (str(name), *parents))
    elif isinstance(tree, str | bytes) or not isinstance(tree, Iterable):
        yield (str(tree), *parents)
    else:
        for leaf in tree:
            yield from _paths(leaf, parents)


def _cells(row: object, name: str, number: int) -> tuple[str, ...]:
    if isinstance(row, str | bytes) or not isinstance(row, Iterable):
        raise _bad_row(name, number, "a row is a list of a value and its parents")
    cells = tuple(row)
    if not cells or not all(isinstance(cell, str) for cell in cells):
        raise _bad_row(name, number, "a row is a list of texts")
    return cells


def _require_one_parent(levels: Sequence[tuple[str, ...]], name: str) -> None:
    for number, (fine, coarse) in enumerate(pairwise(levels)):
        parents: dict[str, str] = {}
        for child, parent in zip(fine, coarse, strict=True):
            if parents.setdefault(child, parent) != parent:
                raise ParameterError(
                    f"{child!r} at level {number} in {name}, under {parents[child]!r} and {parent!r}",
                    because=f"values alike at level {number} must be alike above it",
                    instead=f"one parent for {child!r}, or two names for it",
                )


def _level(parents: tuple[str, ...], rows: Any) -> LevelGroups:
    names = list(dict.fromkeys(parents))
    number = {name: place for place, name in enumerate(names)}
    groups = np.array([number[parent] for parent in parents], dtype=np.int64)[rows]
    found, codes = np.unique(groups, return_inverse=True)
    return LevelGroups(codes.astype(np.int64), [names[place] for place in found])


def _read(path: Path, header: bool) -> Iterable[object]:
    text = read_text(path, "utf-8")
    if path.suffix.lower() != ".json":
        rows = read_rows(text, str(path), delimiter=",", quote='"')
        return rows[1:] if header else rows
    try:
        found = json.loads(text)
    except ValueError:
        raise SourceError(
            f"a hierarchy at {str(path)!r}", because="the file is not JSON", instead="a JSON file with a tree or rows"
        ) from None
    return tree_rows(found) if isinstance(found, Mapping) else found


def read_text(path: Path, encoding: str) -> str:
    """The text of a hierarchy file; a byte order mark is left out."""
    try:
        return path.read_bytes().decode(encoding).removeprefix("\ufeff")
    except (OSError, UnicodeError, LookupError):
        raise SourceError(
            f"a hierarchy at {str(path)!r}",
            because=f"there is no readable file in {encoding} at that path",
            instead='a path such as "countries.csv", and encoding="latin-1" for other files',
        ) from None


def read_rows(text: str, name: str, *, delimiter: str, quote: str) -> list[list[str]]:
    """Rows of a CSV text without empty lines; a broken quotation is refused."""
    try:
        lines = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, quotechar=quote, strict=True)
        return [row for row in lines if row]
    except (csv.Error, TypeError):
        raise SourceError(
            f"a hierarchy at {name!r}",
            because=f"the file is not CSV with delimiter {delimiter!r} and quote {quote!r}",
            instead='delimiter=";", quote=\'"\', or those of the file',
        ) from None


def _bad_row(name: str, number: int, because: str) -> ParameterError:
    return ParameterError(
        f"row {number} of {name}", because=because, instead='rows such as ["Berlin", "Germany", "Europe"]'
    )
