"""Registering a dataset: what its owner declares, what the ledger keeps, and which changes are a different promise.

A dataset is a lineage that its owner names. Versions are numbered by the owner and share one cap and one total; nothing
here is derived from the content, size or age of the data, because such a thing would tell neighbours apart.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache

from discreet.accounting.filters import NOTHING, Budget, Cost
from discreet.errors import BudgetError, CatalogError, ParameterError, Refusal, SourceError, UnitError
from discreet.exact import whole
from discreet.ledger.text import LONGEST_SOURCE, canonical, digest, document, label, same_document
from discreet.unit import Neighbours

LARGEST_VERSION = 2**31 - 1

_NUMBERS = ("epsilon", "delta", "reserved_delta", "ceiling")


@dataclass(frozen=True, kw_only=True)
class Dataset:
    """What an owner declares: a name, a version, where the data is, its frozen facts, whom the promise protects.

    `facts` is the catalog of the table as JSON text; None means those that are already registered.
    """

    name: str
    source: str
    unit: str
    budget: Budget
    facts: str | None = None
    version: int = 1
    neighbours: Neighbours = Neighbours.ADD_REMOVE
    population: int | None = None

    def __post_init__(self) -> None:
        label(self.name, "name")
        label(self.source, "source", most=LONGEST_SOURCE)
        label(self.unit, "unit", most=LONGEST_SOURCE)
        if self.facts is not None:
            document(self.facts, "facts")
        object.__setattr__(self, "version", checked_version(self.version))
        object.__setattr__(self, "neighbours", _relation(self.neighbours))
        if self.population is not None:
            object.__setattr__(self, "population", whole(self.population, "population"))


@dataclass(frozen=True, kw_only=True)
class Registration:
    """What the ledger holds for one version of a dataset.

    `hash_key` orders rows where a cap must choose among them; it is drawn once and lives as long as the dataset.
    `same_source` names the other datasets over the same source: each keeps its own promise, and the promises add up.
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
    hash_key: int = field(repr=False)
    same_source: tuple[str, ...] = ()
    is_new: bool = False


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


def promise_of(budget: Budget) -> tuple[Fraction, Fraction, Fraction]:
    """What makes two budgets the same promise; the ceiling and the reason explain it and do not change it."""
    return budget.epsilon, budget.delta, budget.reserved_delta


def refuse_another_division(name: str, asked: Budget, kept: Budget, spent: Cost) -> None:
    """The division of delta is fixed before the first answer; one that follows what was spent is not a promise."""
    if spent != NOTHING and asked.reserved_delta != kept.reserved_delta:
        raise BudgetError(
            f"another reserved_delta for {name!r}",
            because="answers were given under the old division of delta, and one chosen after them is not private",
            instead=f"reserved_delta=Fraction('{kept.reserved_delta}') as it is, or a dataset of another name",
        )


def budget_columns(budget: Budget) -> dict[str, str | None]:
    """A promise as text: rationals as numerator/denominator."""
    numbers = {name: getattr(budget, name) for name in _NUMBERS}
    texts: dict[str, str | None] = {name: f"{n.numerator}/{n.denominator}" for name, n in numbers.items()}
    return texts | {"reason": budget.reason}


def budget_of(columns: Mapping[str, object]) -> Budget:
    """The promise that `budget_columns` wrote."""
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


def version_digest(row: Mapping[str, object]) -> str:
    """What a link seals of a version: its source, its facts and its population."""
    return digest(canonical({name: row[name] for name in ("version", "source", "facts", "population")}))


def refuse_another_promise(asked: Dataset, unit: str, neighbours: Neighbours, budget: Budget) -> None:
    """A registered name keeps its unit, its neighbour relation and its cap, in every version."""
    if (asked.unit, asked.neighbours) != (unit, neighbours):
        raise UnitError(
            f"dataset {asked.name!r} with another privacy unit",
            because=f"its promise protects {unit} ({neighbours}), and what was spent was counted for that unit",
            instead='the unit as registered, or name="..." for a dataset with a promise of its own',
        )
    if promise_of(asked.budget) != promise_of(budget):
        raise BudgetError(
            f"dataset {asked.name!r} with a budget of {asked.budget}",
            because=f"it is registered with {budget}, and a changed cap is a new promise",
            instead=f'the budget as registered, or ledger.set_cap({asked.name!r}, dp.Budget(...), reason="...")',
        )


def refuse_another_version(asked: Dataset, stored: Registration) -> None:
    """A registered version keeps its source and its facts."""
    if asked.source != stored.source:
        raise SourceError(
            f"dataset {asked.name!r} over another source",
            because=f"version {asked.version} is registered over {stored.source!r}, not {asked.source!r}",
            instead=f'name="..." for other data, or version={asked.version + 1} for the next version of the same data',
        )
    if asked.facts is not None and not same_document(asked.facts, stored.facts):
        raise _changed(asked, "facts")
    if asked.population not in (None, stored.population):
        raise _changed(asked, "population")


def refuse_an_older_version(asked: Dataset, newest: int) -> None:
    """Versions are numbered upwards."""
    if asked.version < newest:
        raise SourceError(
            f"dataset {asked.name!r} at version {asked.version}",
            because=f"it was never registered, and version {newest} already is",
            instead=f"version={newest + 1} for the next version of the same data",
        )


def no_facts(name: str) -> Refusal:
    """The refusal of a first registration that says nothing about the table."""
    return CatalogError(
        f"dataset {name!r} without facts",
        because="it is not registered yet, and its columns and types must be frozen first",
        instead="facts=catalog.model_dump_json()",
    )


def _relation(neighbours: object) -> Neighbours:
    if neighbours not in tuple(Neighbours):
        raise ParameterError(
            f"neighbours={neighbours!r}",
            because="there are two neighbour relations",
            instead='neighbours="add_remove" or neighbours="replace_one"',
        )
    return Neighbours(str(neighbours))


def _changed(asked: Dataset, what: str) -> CatalogError:
    return CatalogError(
        f"dataset {asked.name!r} with other {what}",
        because=f"the {what} of version {asked.version} were frozen when it was registered",
        instead=f"the {what} as registered, or version={asked.version + 1}, which shares the same budget",
    )
