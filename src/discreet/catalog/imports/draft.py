"""Draft of a catalog from foreign metadata: facts with their origin, facts that do not carry over, open decisions.

The text of a draft is YAML in the format of catalogs. Each imported fact has a comment with its origin. `decide:` marks
each decision of the owner, and `not carried over:` each fact without a counterpart. A catalog with an open decision
does not load, because its value is the word DECIDE or null; a session refuses a `reason` of null.

Foreign text is written on one line, quoted and escaped, in values and in comments. It cannot end a line.
"""

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Final

from discreet.catalog import strict_yaml
from discreet.catalog.catalog import ROW_IN_TEXT, validate
from discreet.catalog.columns import UNSTRUCTURED, Column, ColumnType
from discreet.catalog.names import check_names
from discreet.errors import CatalogError, ParameterError, Refusal
from discreet.exact.numbers import rational, whole

LARGEST_COUNT = 10**15
_NO_UNIT = (ColumnType.REAL, *UNSTRUCTURED)
_LONGEST_SHOWN = 60
_WIDTH = 110
_LARGEST_EPSILON = 1000
_CEILING = 10
_LARGEST_DELTA = Decimal("1e-6")


class _Open:
    def __repr__(self) -> str:
        return "DECIDE"


OPEN: Final = _Open()
"""The value of a field that the owner has to decide; written as the word DECIDE, which no such field accepts."""


@dataclass(frozen=True)
class DraftFact:
    """A field of a draft: its value, its origin in the foreign metadata, and what the owner decides about it."""

    value: object
    origin: str = ""
    decide: str = ""


@dataclass
class DraftColumn:
    """Facts about one column, and those that do not carry over."""

    facts: dict[str, DraftFact] = field(default_factory=dict)
    dropped: list[str] = field(default_factory=list)
    decisions: list[str] = field(default_factory=list)


@dataclass
class DraftTable:
    """Facts about one table, its budget and its columns, and those that do not carry over."""

    place: str
    facts: dict[str, DraftFact] = field(default_factory=dict)
    budget: dict[str, DraftFact] = field(default_factory=dict)
    columns: dict[str, DraftColumn] = field(default_factory=dict)
    dropped: list[str] = field(default_factory=list)
    decisions: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class MetadataOrigin:
    """A foreign source: the system, and the name of the file or None for text."""

    system: str
    file: str | None = None

    def __str__(self) -> str:
        return "text" if self.file is None else shown(self.file)

    def field(self, *place: str) -> str:
        """The comment that leads from a fact of the draft to the foreign field."""
        return ", ".join([str(self), *place])

    def refusal(self, what: str, *, because: str, instead: str) -> CatalogError:
        """The error for metadata that cannot be imported."""
        return CatalogError(f"{self.system} in {self}: {what}", because=because, instead=instead)


def shown(value: object) -> str:
    """A foreign value on one line of printable characters, shortened."""
    if isinstance(value, str):
        return repr(value if len(value) <= _LONGEST_SHOWN else f"{value[: _LONGEST_SHOWN - 3]}...")
    if isinstance(value, Mapping):
        return f"a mapping of {len(value)}"
    if isinstance(value, list | tuple):
        return f"a list of {len(value)}"
    text = _plain(value)
    return text if len(text) <= _LONGEST_SHOWN else f"{text[: _LONGEST_SHOWN - 3]}..."


def exact_number(value: object, what: str, origin: MetadataOrigin) -> Decimal | int:
    """A finite number of the metadata; text and booleans are refused."""
    try:
        rational(value, "it")
    except Refusal as refusal:
        raise origin.refusal(what, because=refusal.because, instead="a finite decimal number, without quotes") from None
    return value if isinstance(value, int) else Decimal(str(value))


def count(value: object, what: str, origin: MetadataOrigin, *, least: int = 1) -> int:
    """A whole number of the metadata within the range of contribution bounds."""
    try:
        number = whole(value, "it", least=least)
    except ParameterError:
        number = LARGEST_COUNT + 1
    if number > LARGEST_COUNT:
        raise origin.refusal(
            f"{what} = {shown(value)}",
            because=f"it must be a whole number from {least} to 10^15",
            instead=f"a whole number such as {max(least, 10)}, without quotes",
        )
    return number


def open_budget() -> dict[str, DraftFact]:
    """A budget that the owner decides."""
    why = "total over all releases, for the life of the dataset; it never refills. Delta is 0 by default"
    return {"epsilon": DraftFact(OPEN, decide=why)}


def total_budget(
    epsilon: Decimal | int | None, delta: Decimal | int | None, origins: tuple[str, str]
) -> dict[str, DraftFact]:
    """A budget from a foreign total; totals that a budget cannot have are left open."""
    facts = open_budget()
    if epsilon is not None and 0 < epsilon <= _LARGEST_EPSILON:
        facts["epsilon"] = DraftFact(epsilon, origins[0], decide="total for the life of the dataset; it never refills")
    if epsilon is not None and _CEILING < epsilon <= _LARGEST_EPSILON:
        why = f"an epsilon above {_CEILING} needs a reason in one line, or a smaller epsilon"
        facts["reason"] = DraftFact(None, decide=why)
    if delta is not None and 0 <= delta < _LARGEST_DELTA:
        facts["delta"] = DraftFact(delta, origins[1], decide="delta must be below 1/population")
    elif delta is not None:
        why = f"{origins[1]} has {shown(delta)}; delta must be below 1/population, by default 1e-6; 0 for pure privacy"
        facts["delta"] = DraftFact(OPEN, decide=why)
    return facts


def write(tables: Mapping[str, DraftTable], origin: MetadataOrigin, dropped: Sequence[str] = ()) -> str:
    """The draft as YAML text.

    Args:
        tables: Tables by name.
        origin: The foreign source.
        dropped: Facts outside of all tables that do not carry over.

    Returns:
        The text of a catalog, which loads when its open decisions are filled in.

    Raises:
        CatalogError: If a name or a fact is one that no catalog can have.
    """
    try:
        check_names(tables, "table")
        for name, table in tables.items():
            _complete(table)
            check_names(table.columns, "column")
            _check_columns(name, table)
    except CatalogError as refusal:
        instead = f"{refusal.instead}; correct the metadata and import it again"
        raise origin.refusal(refusal.what, because=refusal.because, instead=instead) from None
    return "\n".join([*_header(origin, dropped), *_lines(tables)]) + "\n"


def _complete(table: DraftTable) -> None:
    """Columns of the unit that the metadata does not describe, and types that the columns of a unit cannot have."""
    unit = table.facts["privacy_unit"].value
    for name in _unit_columns(unit):
        column = table.columns.setdefault(name, DraftColumn())
        kind = column.facts.get("type", DraftFact(OPEN))
        if kind.value is OPEN and not kind.decide:
            column.facts["type"] = DraftFact(OPEN, decide="text or integer; the metadata has no type of this column")
        elif kind.value in _NO_UNIT:
            why = f"text or integer: a privacy unit cannot be {kind.value} ({kind.origin})"
            column.facts = {"type": DraftFact(OPEN, decide=why)}
    kinds = {name: column.facts["type"].value for name, column in table.columns.items()}
    unstructured = [name for name, kind in kinds.items() if kind in UNSTRUCTURED]
    if unit == ROW_IN_TEXT and unstructured:
        why = f"a column that identifies people; rows cannot be the unit, as {shown(unstructured[0])} is unstructured"
        table.facts["privacy_unit"] = DraftFact(None, table.facts["privacy_unit"].origin, why)


def _unit_columns(unit: object) -> tuple[str, ...]:
    if unit is None or unit == ROW_IN_TEXT:
        return ()
    return (unit,) if isinstance(unit, str) else tuple(unit)  # type: ignore[arg-type]


def _check_columns(table: str, draft: DraftTable) -> None:
    for name, column in draft.columns.items():
        facts = {key: fact.value for key, fact in column.facts.items()}
        if facts["type"] is OPEN:  # the widest type that can have these facts
            facts["type"] = str(ColumnType.REAL if "bounds" in facts else ColumnType.TEXT)
        validate(Column, facts, f"column {shown(name)} of {shown(table)}")


def _header(origin: MetadataOrigin, dropped: Sequence[str]) -> Iterator[str]:
    yield from _comment(f"Draft of a catalog, imported from {origin.system}: {origin}.", "")
    yield "# 'decide:' marks the decisions of the owner. The catalog does not load while a value is DECIDE."
    yield "# 'not carried over:' marks facts that have no counterpart in a catalog of discreet."
    for each in dropped:
        yield from _comment(f"not carried over: {each}", "")
    yield "catalog: discreet.catalog/1"
    yield "tables:"


def _lines(tables: Mapping[str, DraftTable]) -> Iterator[str]:
    for name, table in tables.items():
        yield f"  {strict_yaml.one_line(name)}:  # from {_printable(table.place)}"
        yield from _remarks(table, "    ")
        for key, fact in table.facts.items():
            yield from _fact(key, fact, "    ")
        if table.budget:
            yield "    budget:"
            for key, fact in table.budget.items():
                yield from _fact(key, fact, "      ")
        yield "    columns:"
        for column, facts in table.columns.items():
            yield f"      {strict_yaml.one_line(column)}:"
            yield from _remarks(facts, "        ")
            for key, fact in facts.facts.items():
                yield from _fact(key, fact, "        ")


def _remarks(draft: DraftTable | DraftColumn, indent: str) -> Iterator[str]:
    for each in draft.dropped:
        yield from _comment(f"not carried over: {each}", indent)
    for each in draft.decisions:
        yield from _comment(f"decide: {each}", indent)


def _fact(key: str, fact: DraftFact, indent: str) -> Iterator[str]:
    if fact.decide:
        yield from _comment(f"decide: {fact.decide}", indent)
    origin = f"  # from {_printable(fact.origin)}" if fact.origin else ""
    yield f"{indent}{key}: {_plain(fact.value)}{origin}"


def _comment(text: str, indent: str) -> list[str]:
    """A comment, continued on further lines."""
    width = _WIDTH - len(indent)
    lines = textwrap.wrap(_printable(text), width, break_long_words=False, break_on_hyphens=False)
    return [f"{indent}# {line}" if place == 0 else f"{indent}#   {line}" for place, line in enumerate(lines)]


def _printable(text: str) -> str:
    """Text without line breaks and control characters, which would end a comment."""
    return "".join(each if each.isprintable() else ascii(each)[1:-1] for each in text)


def _plain(value: object) -> str:
    """A value as YAML on one line."""
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_plain, value))}]"
    if value is OPEN:
        return repr(value)
    return str(value) if isinstance(value, Decimal) else strict_yaml.one_line(value)  # type: ignore[arg-type]
