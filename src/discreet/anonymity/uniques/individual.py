"""Individual risk with sampling weights: the expected value of 1/F for each person of a sample (Benedetti-Franconi).

The weights of a class add up to its estimated number of people in the population, F^. Given its f people in the sample,
F is negative binomial with success probability p = f / F^, and the risk of each of them is E(1/F | f) (Benedetti and
Franconi 1998; Franconi and Polettini 2004). The global risk is the sum over people: the expected number of people whom
an attacker identifies who knows the whole population by these columns. It is an estimate under that model.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.anonymity.classes.column_lists import names_of
from discreet.anonymity.classes.encoding import EncodedGroups, encode_groups
from discreet.anonymity.classes.keys import pack, renumber
from discreet.anonymity.classes.weights import LARGEST_WEIGHT, SMALLEST_WEIGHT, unfit_weights
from discreet.anonymity.owners import OwnerResult
from discreet.anonymity.uniques.posterior import Floats, posterior_risk
from discreet.catalog.catalog import ColumnType
from discreet.engines.exact_tables import open_table
from discreet.errors import ParameterError, TypeMismatchError, public_class, short_traceback

THRESHOLDS = (0.01, 0.05, 0.1, 0.2, 0.5)

Numbers = NDArray[np.int64]


@public_class
@dataclass(frozen=True, repr=False)
class IndividualRisk(OwnerResult):
    """Risk of each person under sampling weights, in summary.

    Attributes:
        people: Number of people in the sample.
        classes: Number of classes.
        population: Estimated number of people in the population: the sum of the weights over people and their classes.
        expected: Global risk: the expected number of people who are identified.
        highest: The largest risk of a person.
        above: Pairs of a risk and the number of people whose risk is above it, ascending.
        clipped: Number of classes whose weights add up to less than their people; the sample is taken for the whole
            class there, so that the risk is 1 over the number of people.

    Example:
        >>> import discreet as dp, pyarrow as pa
        >>> rows = pa.table({"zip": ["A", "A", "B"], "weight": [180, 180, 215]})
        >>> found = dp.anonymity.individual_risk(rows, ["zip"], weight="weight")
        >>> round(found.highest, 4), round(found.expected, 4)
        (0.0251, 0.0359)
    """

    kind = "individual risk"

    people: int
    classes: int
    population: float
    expected: float
    highest: float
    above: tuple[tuple[float, int], ...]
    clipped: int

    @property
    def share(self) -> float:
        """Expected share of the people who are identified."""
        return self.expected / self.people if self.people else 0.0

    def _lines(self) -> list[str]:
        lines = [
            f"{self.people:,} people in {self.classes:,} classes stand for about {self.population:,.0f} people",
            f"expected number of people identified {self.expected:,.2f} ({self.share:.2%})",
            f"highest risk of a person {self.highest:.4f}",
            *(f"risk above {limit:g}: {count:,} people" for limit, count in self.above if count),
        ]
        if self.clipped:
            lines.append(f"the weights of {self.clipped:,} classes add up to less than their people: risk 1 / people")
        return lines


@short_traceback
def estimate_individual_risk(sample: ArrayLike, population: ArrayLike) -> float | NDArray[np.float64]:
    """Risk of a person whose class has so many people in the sample and an estimated number in the population.

    Args:
        sample: Number of people of the class in the sample, f >= 1; a number or an array.
        population: Sum of their sampling weights, F^ >= f; a number or an array.

    Returns:
        E(1/F | f), a float, or an array where an argument is one.

    Raises:
        ParameterError: If f is below 1, F^ is below f, or F^ is above 1e100.

    Example:
        >>> import discreet as dp
        >>> round(dp.anonymity.estimate_individual_risk(1, 215), 4)
        0.0251
        >>> dp.anonymity.estimate_individual_risk([1, 2], [1, 2]).tolist()
        [1.0, 0.5]
    """
    people, weights = np.broadcast_arrays(np.asarray(sample, np.float64), np.asarray(population, np.float64))
    if not np.all((people >= 1) & (weights >= people) & (weights <= LARGEST_WEIGHT)):
        raise ParameterError(
            f"sample={sample!r}, population={population!r}",
            because="a class has at least one person, and no fewer in the population",
            instead="estimate_individual_risk(1, 215)",
        )
    risk = posterior_risk(people.ravel(), weights.ravel()).reshape(people.shape)
    return float(risk) if risk.ndim == 0 else risk


@short_traceback
def individual_risk(
    source: object,
    quasi: Sequence[str],
    *,
    weight: str,
    person: str | None = None,
    table: str | None = None,
    memory_limit: str | None = None,
) -> IndividualRisk:
    """Estimate for each person of a sample the risk to be identified in the population, from sampling weights.

    Where persons have several rows, a class counts each of its people once, with the smallest of the person's weights
    in it, and a person has the largest risk of the person's classes. A missing weight is zero.

    Args:
        source: The rows, as `dp.protect` takes them: a path, a table in memory, or a database with `table`.
        quasi: Names of the quasi-identifiers.
        weight: Column with the number of people of the population that a row stands for.
        person: Column that names the person of a row; a row without one is a person of its own. Default: each row is
            a person.
        table: Name of the table, where the source is a database.
        memory_limit: Memory of the engine that reads the rows, such as "2GB". Default: the engine's own.

    Returns:
        Expected number of people identified, the highest risk, and how many people are above some risks.

    Raises:
        ParameterError: If a weight is negative or not from 1e-100 to 1e100, or a column is listed twice.
        TypeMismatchError: If the weights are not numbers.
        NameNotFoundError: If the source does not have a column.

    Example:
        >>> import discreet as dp, pyarrow as pa
        >>> rows = pa.table({"age": [30, 30, 71], "weight": [12.5, 10, 8]})
        >>> dp.anonymity.individual_risk(rows, ["age"], weight="weight").people
        3
    """
    names = names_of(quasi, "quasi")
    others = list(dict.fromkeys([weight, *([person] if person else [])]))
    with open_table(source, table=table, memory_limit=memory_limit) as rows:
        kind = rows.column_types([*names, *others])[weight]
        if kind not in (ColumnType.INTEGER, ColumnType.REAL):
            raise TypeMismatchError(f"weight={weight!r}", because="weights are numbers", instead="a column of numbers")
        groups = encode_groups(rows.groups([*names, *others]), [*names, weight], person)
    if not len(groups.counts):
        return _summarise(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0), None)
    return _risk_of(groups, names, weight)


def _risk_of(groups: EncodedGroups, names: Sequence[str], weight: str) -> IndividualRisk:
    weights = groups.values[weight].fill_null(0).to_numpy().astype(np.float64)[groups.codes[weight]]
    if not np.all((weights == 0) | ((weights >= SMALLEST_WEIGHT) & (weights <= LARGEST_WEIGHT))):
        raise unfit_weights(weight)
    counts, who = groups.counts, groups.persons
    columns = [(groups.codes[name], len(groups.values[name])) for name in names]
    codes, _ = renumber(pack(columns, len(counts)).values)
    if who is None:
        return _summarise(codes, counts, weights, None)
    unnamed = np.zeros(len(who), dtype=np.bool_) if groups.unnamed is None else who == groups.unnamed
    # rows without a person count as so many people; pairs of a person and a class count once, with their least weight
    order = np.lexsort((weights, who, codes))
    again = np.zeros(len(order), dtype=np.bool_)
    again[1:] = (codes[order][1:] == codes[order][:-1]) & (who[order][1:] == who[order][:-1])
    first = order[~again | unnamed[order]]
    counts = np.where(unnamed, counts, 1)[first]
    return _summarise(codes[first], counts, weights[first], np.where(unnamed, -1, who)[first])


def _summarise(codes: Numbers, counts: Numbers, weights: Floats, persons: Numbers | None) -> IndividualRisk:
    """Classes, the number of people of each entry, their weights, and their persons (-1: each is one of their own)."""
    people = np.bincount(codes, weights=counts)
    totals = np.bincount(codes, weights=counts * weights)
    risk = posterior_risk(people, np.maximum(totals, people))[codes]
    if persons is not None:
        risk, counts = _largest(risk, counts, persons)
    return IndividualRisk(
        people=int(counts.sum()),
        classes=len(people),
        population=float(totals.sum()),
        expected=float((risk * counts).sum()),
        highest=float(risk.max(initial=0)),
        above=tuple((limit, int(counts[risk > limit].sum())) for limit in THRESHOLDS),
        clipped=int((totals < people).sum()),
    )


def _largest(risk: Floats, counts: Numbers, persons: Numbers) -> tuple[Floats, Numbers]:
    """The largest risk of each named person, beside those of people without a name."""
    named = persons >= 0
    largest = np.zeros(int(persons.max(initial=-1)) + 1)
    np.maximum.at(largest, persons[named], risk[named])
    largest = largest[np.unique(persons[named])]
    ones = np.ones(len(largest), dtype=np.int64)
    return np.concatenate([largest, risk[~named]]), np.concatenate([ones, counts[~named]])
