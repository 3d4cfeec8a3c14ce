"""Registering a dataset: what its owner declares, what the ledger stores, and which changes need a new budget.

A dataset is a lineage that its owner names. Versions are numbered by the owner and share one cap and one total; nothing
here is derived from the content, size or age of the data, because such a thing would tell neighbours apart. Until the
first charge an owner may correct what was registered; from then on it is frozen.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from fractions import Fraction
from functools import lru_cache

from discreet.accounting.costs import LARGEST_UNITS, NOTHING, Cost
from discreet.accounting.filters import Budget
from discreet.catalog.privacy_unit import Neighbours
from discreet.errors import BudgetError, CatalogError, ParameterError, Refusal, SourceError, UnitError
from discreet.exact.numbers import shown, whole
from discreet.ledger.records import source_identity
from discreet.ledger.records.canonical_text import LONGEST_SOURCE, canonical, digest, document, label, same_document

LARGEST_VERSION = 2**31 - 1
MOST_CHANGES = 3

_NUMBERS = ("epsilon", "delta", "reserved_delta", "ceiling")


@dataclass(frozen=True)
class RegisteredSlice:
    """The part of a table that belongs to one period: from `start` until before `end`, by the owner's time column.

    A slice has a budget of its own, because its rows are new; slices of one table never overlap. A person who is in
    several slices is protected by each one's privacy budget, and over all of them by the sum.

    Args:
        of: Name of the table.
        start: First moment, as ISO text.
        end: First moment after it.

    Raises:
        ParameterError: If the period is empty, or a moment is not one.

    Example:
        >>> from discreet.ledger import RegisteredSlice
        >>> RegisteredSlice("visits", "2026-10-01", "2026-11-01").overlaps(
        ...     RegisteredSlice("visits", "2026-11-01", "2026-12-01")
        ... )
        False
    """

    of: str
    start: str
    end: str

    def __post_init__(self) -> None:
        label(self.of, "of")
        for name in ("start", "end"):
            object.__setattr__(self, name, _moment(getattr(self, name), name))
        if self.start >= self.end:
            raise ParameterError(
                f"a slice from {self.start} to {self.end}",
                because="it holds no time at all",
                instead='Slice("visits", "2026-10-01", "2026-11-01")',
            )

    def overlaps(self, other: "RegisteredSlice") -> bool:
        """Whether some moment lies in both."""
        return self.start < other.end and other.start < self.end

    def __str__(self) -> str:
        return f"{self.of!r} from {self.start} until before {self.end}"


@dataclass(frozen=True, kw_only=True)
class Dataset:
    """Declaration of a dataset by its owner, for `Ledger.register`.

    Args:
        name: Name of the dataset.
        source: Where the data is, as an engine writes it.
        unit: The privacy unit in words.
        budget: The privacy budget.
        facts: Catalog of the table, as JSON. Default: those that are registered.
        version: Number of the version, from 1. Default 1.
        neighbours: Neighbour relation. Default: add or remove one unit.
        population: Number of people in the population. Default: that which is registered.
        slice: Part of a table that this dataset is. Default: all of it.

    Raises:
        ParameterError: If a field is not what it should be.

    Example:
        >>> from discreet import Budget
        >>> from discreet.ledger import Dataset
        >>> Dataset(name="visits", source="visits.csv", unit="one person", facts="{}", budget=Budget(epsilon=1)).version
        1
    """

    name: str
    source: str
    unit: str
    budget: Budget
    facts: str | None = None
    version: int = 1
    neighbours: Neighbours = Neighbours.ADD_REMOVE
    population: int | None = None
    slice: RegisteredSlice | None = None

    def __post_init__(self) -> None:
        label(self.name, "name")
        label(self.source, "source", most=LONGEST_SOURCE)
        label(self.unit, "unit", most=LONGEST_SOURCE)
        if self.facts is not None:
            document(self.facts, "facts")
        object.__setattr__(self, "version", checked_version(self.version))
        object.__setattr__(self, "neighbours", _relation(self.neighbours))
        if self.population is not None:
            object.__setattr__(self, "population", _check_population(self.population))


@dataclass(frozen=True, kw_only=True)
class Registration:
    """What the ledger holds for one version of a dataset.

    Attributes:
        name: Name of the dataset.
        version: Number of the version.
        source: Where the data is.
        facts: Catalog of the table, as JSON.
        unit: The privacy unit in words.
        neighbours: Neighbour relation.
        budget: The privacy budget, over all versions.
        population: Number of people in the population, or None.
        spent: Total of all charges, in units of the ledger.
        sequence: Number of the event that registered it; a charge that names another is refused.
        hash_key: Key that orders rows where a contribution bound must choose; drawn once for the dataset.
        slice: Part of a table that this dataset is, or None.
        same_source: Other datasets that read the same tables or files, but for slices of the same table. Their privacy
            budgets add up.
        is_new: Whether this call registered it.
    """

    name: str
    version: int
    source: str
    facts: str
    unit: str
    neighbours: Neighbours
    budget: Budget
    population: int | None
    spent: Cost
    sequence: int
    hash_key: int = field(repr=False)
    slice: RegisteredSlice | None = None
    same_source: tuple[str, ...] = ()
    is_new: bool = False

    @property
    def is_charged(self) -> bool:
        """Whether the dataset was ever charged, and so is frozen; every charge costs at least one unit."""
        return self.spent != NOTHING


def checked_version(version: object) -> int:
    """A version number, as owners count: 1, 2, 3."""
    number = whole(version, "version")
    if number > LARGEST_VERSION:
        raise ParameterError(
            f"version={number}",
            because="versions are numbered by the owner, one after another",
            instead="version=2 for the next version of the same data",
        )
    return number


def is_same_promise(declared: Budget, registered: Budget) -> bool:
    """Whether a budget equals the registered one; a division of delta that is not stated is the same.

    The ceiling and the reason explain a budget and do not change it.
    """
    same = (declared.epsilon, declared.delta) == (registered.epsilon, registered.delta)
    return same and declared.reserved_delta in (None, registered.reserve)


def divide_delta(declared: Budget, known: Budget | None) -> Budget:
    """A declared budget with its division of delta: as registered for the same delta, a tenth for a new one."""
    is_known = known is not None and known.delta == declared.delta
    return declared.reserving(known.reserve if known is not None and is_known else declared.reserve)


def new_cap(name: str, cap: Budget, registered: Budget, spent: Cost) -> Budget:
    """A new cap with the registered division of delta; another is refused once something was charged.

    The division is fixed before the first answer: one that follows what was spent is not private.
    """
    if cap.reserved_delta is None and registered.reserve > cap.delta:
        raise BudgetError(
            f"a cap of {cap} for {name!r}",
            because=f"the budget reserves {shown(registered.reserve)} of its delta, which is more than this delta",
            instead=f"dp.Budget(epsilon={shown(cap.epsilon)}, delta={shown(registered.delta)})",
        )
    new = cap.reserving(registered.reserve)
    if spent != NOTHING and new.reserve != registered.reserve:
        raise BudgetError(
            f"another reserved_delta for {name!r}",
            because="answers were released under the registered division of delta",
            instead=f"dp.Budget(epsilon={shown(cap.epsilon)}, delta={shown(max(cap.delta, registered.reserve))}), "
            f"which keeps the registered reserved_delta of {shown(registered.reserve)}",
        )
    return new


def budget_columns(budget: Budget) -> dict[str, str | None]:
    """A privacy budget as text: rationals as numerator/denominator."""
    numbers = {name: getattr(budget, name) for name in _NUMBERS} | {"reserved_delta": budget.reserve}
    texts: dict[str, str | None] = {name: f"{n.numerator}/{n.denominator}" for name, n in numbers.items()}
    return texts | {"reason": budget.reason}


def budget_of(columns: Mapping[str, object]) -> Budget:
    """The privacy budget that `budget_columns` wrote."""
    numbers = (str(columns[name]) for name in _NUMBERS)
    reason = columns["reason"]
    return _budget(*numbers, None if reason is None else str(reason))


@lru_cache
def _budget(epsilon: str, delta: str, reserved_delta: str, ceiling: str, reason: str | None) -> Budget:
    return Budget(
        epsilon=Fraction(epsilon),
        delta=Fraction(delta),
        reserved_delta=Fraction(reserved_delta),
        ceiling=Fraction(ceiling),
        reason=reason,
    )


def slice_columns(part: RegisteredSlice | None) -> dict[str, str | None]:
    """A slice as columns; all empty for a whole table."""
    if part is None:
        return {"part_of": None, "slice_start": None, "slice_end": None}
    return {"part_of": part.of, "slice_start": part.start, "slice_end": part.end}


def slice_of(columns: Mapping[str, object]) -> RegisteredSlice | None:
    """The slice that `slice_columns` wrote."""
    if columns["part_of"] is None:
        return None
    return RegisteredSlice(str(columns["part_of"]), str(columns["slice_start"]), str(columns["slice_end"]))


def _check_population(population: object) -> int:
    number = whole(population, "population")
    if number > LARGEST_UNITS:
        raise ParameterError("this population", because="the ledger counts in 64-bit integers", instead="a smaller one")
    return number


def refuse_the_name_of_slices(name: str, parts: list[str]) -> None:
    """The name of a table that has slices is not a dataset: its slices have their own budgets."""
    if parts:
        raise BudgetError(
            f"dataset {name!r} as a whole",
            because=f"each of its slices, such as {parts[0]!r}, has a privacy budget of its own",
            instead="another slice for newer rows, or the slice's own name",
        )


def refuse_old_data(declared: Dataset, whole_table: bool, others: Iterable[tuple[str, RegisteredSlice]]) -> None:
    """A new budget needs new rows: no slice of a table that has a budget, none that overlaps another."""
    if declared.slice is None:
        refuse_the_name_of_slices(declared.name, [name for name, _ in others])
        return
    if whole_table:
        raise BudgetError(
            f"a slice of {declared.slice.of!r}",
            because="the whole table has a privacy budget already",
            instead=f"version=... of {declared.slice.of!r}, which shares its budget",
        )
    for name, other in others:
        if declared.slice.overlaps(other):
            raise BudgetError(
                f"a slice of {declared.slice}",
                because=f"it overlaps {name!r}, {other}, and a new budget is for new data only",
                instead=f'start="{other.end}" for what came later',
            )


def refuse_another_time(declared: Dataset, others: Iterable[Mapping[str, object]]) -> None:
    """Slices of one table go by one column and protect one unit: by two columns, a row could be in two slices."""
    for other in others:
        name, unit, relation = str(other["name"]), str(other["unit"]), str(other["neighbours"])
        if name != declared.name and (declared.unit, declared.neighbours) != (unit, relation):
            raise UnitError(
                f"a slice {declared.name!r} with another privacy unit",
                because=f"{name!r}, a slice of the same table, protects {unit} ({relation})",
                instead=f"the unit of {name!r}",
            )
        if declared.facts is not None and _time(declared.facts) != (known := _time(str(other["facts"]))):
            raise BudgetError(
                f"a slice {declared.name!r} by another time",
                because=f"{name!r}, a slice of the same table, goes by {known}, and a row could be in both",
                instead=f"a slice by {known}",
            )


def version_digest(row: Mapping[str, object]) -> str:
    """What a link seals of a version: its source, its facts and its population."""
    return digest(canonical({name: row[name] for name in ("version", "source", "facts", "population")}))


def refuse_another_promise(declared: Dataset, newest: Registration) -> None:
    """A new version keeps the unit, the neighbour relation and the cap of the dataset."""
    refusal = _another_promise(declared, newest)
    if refusal is None:
        return
    if newest.is_charged or declared.slice != newest.slice:
        raise refusal
    raise type(refusal)(
        refusal.what,
        because=f"it is registered otherwise, "
        f"and version {declared.version} would not replace version {newest.version}",
        instead=f"version={newest.version} with this unit and budget: nothing was charged yet, so it replaces them",
    )


def refusal_of_a_change(declared: Dataset, stored: Registration, newest: int) -> Refusal | None:
    """Error for a declaration that is not what is registered for its version; None where it is the same."""
    elsewhere = another_source(declared.name, declared.version, declared.source, stored, newest)
    return elsewhere or _another_promise(declared, stored) or _facts(declared, stored, newest)


def replaced_registration_error(name: str) -> Refusal:
    """Error for a charge under a registration that was replaced since."""
    return SourceError(
        f"a charge under an earlier registration of {name!r}",
        because="the dataset was registered anew since, with another unit, budget, source or other facts",
        instead="dp.protect(...) or dp.Session(...) again, with the facts as they are registered now, "
        f"or name='{name}_2' in dp.protect where it is another dataset",
    )


def refuse_an_older_version(declared: Dataset, newest: int) -> None:
    """Versions are numbered upwards."""
    if declared.version < newest:
        raise SourceError(
            f"dataset {declared.name!r} at version {declared.version}",
            because=f"it was never registered, and version {newest} already is",
            instead=f"{_next(newest)} for newer data of the same people",
        )


def no_facts(name: str) -> Refusal:
    """Error for a first registration that says nothing about the table."""
    return CatalogError(
        f"dataset {name!r} without facts",
        because="it is not registered yet, and its columns and types must be frozen first",
        instead="facts=catalog.model_dump_json()",
    )


def _moment(value: object, name: str) -> str:
    """A moment without a zone, in one spelling, so that text sorts as time does."""
    try:
        moment = datetime.fromisoformat(str(value))
    except ValueError:
        moment = None
    if moment is None or moment.tzinfo is not None:
        raise ParameterError(
            f"{name}={value!r} of a slice",
            because="it must be a date, or a time without a zone",
            instead=f'{name}="2026-10-01"',
        )
    return moment.isoformat(timespec="microseconds")


def _relation(neighbours: object) -> Neighbours:
    if neighbours not in tuple(Neighbours):
        raise ParameterError(
            f"neighbours={neighbours!r}",
            because="there are two neighbour relations",
            instead='neighbours="add_remove" or neighbours="replace_one"',
        )
    return Neighbours(str(neighbours))


def _another_promise(declared: Dataset, stored: Registration) -> Refusal | None:
    if declared.slice != stored.slice:
        return BudgetError(
            f"dataset {declared.name!r} as another part of a table",
            because=f"it is registered as {stored.slice or 'a whole table'}",
            instead=_registered_part(stored.slice),
        )
    if (declared.unit, declared.neighbours) != (stored.unit, stored.neighbours):
        return UnitError(
            f"dataset {declared.name!r} with another privacy unit",
            because=f"it is registered for {stored.unit} ({stored.neighbours}), "
            f"not {declared.unit} ({declared.neighbours})",
            instead=f"the unit as registered: {stored.unit} ({stored.neighbours})",
        )
    if not is_same_promise(declared.budget, stored.budget):
        return BudgetError(
            f"dataset {declared.name!r} with a budget of {declared.budget}",
            because=f"it is registered with {stored.budget}, and only set_cap changes a budget",
            instead=f"budget=dp.{stored.budget!r} as registered, or "
            f'session.ledger.set_cap({declared.name!r}, dp.Budget(...), reason="...")',
        )
    return None


def _registered_part(part: RegisteredSlice | None) -> str:
    return (
        "the whole table, without a slice" if part is None else f'the slice as registered: "{part.start}", "{part.end}"'
    )


def another_source(name: str, version: int, source: str, stored: Registration, newest: int) -> SourceError | None:
    """Error for a source that is not the one registered, such as a file of that name in another directory."""
    if source_identity.is_registered(source, stored.source):
        return None
    return SourceError(
        f"dataset {name!r} over another source",
        because=f"version {version} is registered over {stored.source!r}, not {source!r}",
        instead=f'name="{_another_name(name, source)}" for other people, '
        f"or {_next(newest)} for newer data of the same people",
    )


def _another_name(name: str, source: str) -> str:
    """A name that tells a dataset from one of the same name elsewhere: with the directory that its source is in."""
    folders = [part for part in re.split(r"[/\\]+", source)[:-1] if part and ":" not in part]
    folder = re.sub(r"\W+", "_", folders[-1]) if folders else ""
    return f"{folder}_{name}" if folder else f"{name}_2"


def _facts(declared: Dataset, stored: Registration, newest: int) -> Refusal | None:
    same = declared.facts is None or same_document(declared.facts, stored.facts)
    changes = [] if same else list(_changes(str(declared.facts), stored.facts))
    if declared.population not in (None, stored.population):
        changes.append(f"population is registered as {stored.population}, not {declared.population}")
    if not changes:
        return None
    more = "" if len(changes) <= MOST_CHANGES else f", and {len(changes) - MOST_CHANGES} more"
    return CatalogError(
        f"dataset {declared.name!r} with other facts",
        because=f"{'; '.join(changes[:MOST_CHANGES])}{more}: they were frozen by the first charge",
        instead=f"the facts as registered, or {_next(newest)}, which shares the same budget",
    )


def _changes(declared: str, stored: str) -> Iterator[str]:
    """What differs between the facts of two catalogs, fact by fact and column by column."""
    new, old = _flat(json.loads(declared)), _flat(json.loads(stored))
    for what in sorted(new.keys() | old.keys()):
        if what not in old:
            yield f"{what} is not registered"
        elif what not in new:
            yield f"{what} is registered and not declared"
        elif canonical(new[what]) != canonical(old[what]):
            yield f"{what} is registered as {old[what]!r}, not {new[what]!r}"


def _flat(facts: object) -> dict[str, object]:
    if not isinstance(facts, dict):
        return {"the whole": facts}
    columns = facts.get("columns")
    if not isinstance(columns, dict) or not columns:
        return facts
    rest = {name: value for name, value in facts.items() if name != "columns"}
    return rest | {f"column {name!r}": kind for name, kind in columns.items()}


def _time(facts: str) -> str:
    """The column that a slice goes by, and how it is read, in words."""
    data = json.loads(facts)
    column = _inner(data, "slice").get("column")
    return "no column" if column is None else f"{column!r} as {_inner(data, 'columns').get(str(column))}"


def _inner(data: object, name: str) -> dict[str, object]:
    inner = data.get(name) if isinstance(data, dict) else None
    return inner if isinstance(inner, dict) else {}


def _next(newest: int) -> str:
    """The next version, as it is written in both places where an owner can write it."""
    return f"dp.protect(..., version={newest + 1}) (version: {newest + 1} in a catalog)"
