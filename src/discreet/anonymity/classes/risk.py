"""How anonymous is this file: k, l, t, class sizes and re-identification risks from one GROUP BY, in exact integers.

Definitions: k by Sweeney (2002), l by Machanavajjhala et al. (2007), t by Li et al. (2007), prosecutor, journalist and
marketer risk by Dankar and El Emam (2010). None of them limits what a release reveals together with other releases or
background knowledge.
"""

import re
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

from discreet.anonymity.classes.base_groups import BaseGroups, read_groups
from discreet.anonymity.classes.class_table import ClassTable, class_table, classes_of
from discreet.anonymity.classes.closeness import closeness_of
from discreet.anonymity.classes.column_lists import names_of
from discreet.anonymity.classes.column_risk import ColumnRisk, column_risks
from discreet.anonymity.classes.diversity import Diversity, diversity_of
from discreet.anonymity.classes.journalist import JournalistRisk, journalist_risk
from discreet.anonymity.classes.keys import sum_of_ratios
from discreet.anonymity.classes.null_policies import NullPolicy, require_policy
from discreet.anonymity.classes.roles import require_roles
from discreet.anonymity.classes.sensitive_table import sensitive_table
from discreet.anonymity.classes.weights import WeightedClasses, weighted_classes
from discreet.anonymity.owners import OwnerResult
from discreet.engines.exact_tables import ExactTable, open_table
from discreet.errors import ParameterError, public_class, short_traceback
from discreet.exact.numbers import Number, positive, rational, whole

_ID = re.compile(r"(^|_)u?u?id$|[a-z]I[Dd]$|^ID$")


@public_class
@dataclass(frozen=True, repr=False)
class ProsecutorRisk(OwnerResult):
    """Risk of people whom the attacker knows to be in the file: 1 / (people in the class).

    Where a person has several classes, their risk is the largest.

    Attributes:
        highest: Largest risk of a person, 1 / k.
        average: Mean risk over people.
        threshold: The threshold that people are counted above.
        people_above: Number of people whose risk is above the threshold.
        share_above: Their share of all people.

    Example:
        >>> import discreet as dp
        >>> import pyarrow as pa
        >>> dp.anonymity.measure(pa.table({"age": [30, 30, 40]}), ["age"]).prosecutor.average
        Fraction(2, 3)
    """

    kind = "prosecutor risk"
    highest: Fraction
    average: Fraction
    threshold: Fraction
    people_above: int
    share_above: Fraction

    def _lines(self) -> list[str]:
        return [
            f"highest {float(self.highest):.2%}, average {float(self.average):.2%}",
            f"{self.people_above:,} people above {float(self.threshold):.2%} ({float(self.share_above):.2%})",
        ]


@public_class
@dataclass(frozen=True, repr=False)
class AnonymityMeasures(OwnerResult):
    """Exact measures of anonymity of a table for a set of quasi-identifiers; made by `dp.anonymity.measure`.

    Attributes:
        quasi: Names of the quasi-identifiers.
        nulls: What a missing cell is: "value", "wildcard" or "exclude".
        rows: Number of rows of the table.
        excluded: Number of rows left out because a quasi-identifier is missing.
        people: Number of people in the rows that were measured.
        classes: Number of classes, the distinct combinations of quasi-identifiers.
        pairs: Number of pairs of a person and a class of theirs; equals `people` where each person has one row.
        k: Least number of people in a class; 0 for a table without rows.
        class_sizes: Pairs of a size and the number of classes of that size, ascending.
        unique_people: Number of people who have a class of their own.
        prosecutor: Risk of people whom the attacker knows to be in the file.
        marketer: Share of pairs that an attacker identifies who matches everyone, in expectation.
        journalist: Risk against a population table; None without one.
        diversity: l-diversity of each sensitive column.
        closeness: t of each sensitive column: the largest distance of a class from the table.
        columns: Uniqueness and selectivity of each quasi-identifier alone.
        weights: Classes by sampling weights; None without weights.
        unnamed_rows: Number of rows of the table without a person; each of them counts as a person.
        person: Column that names the person of a row; None where each row is a person.

    Example:
        >>> import discreet as dp
        >>> import pyarrow as pa
        >>> table = pa.table({"age": [30, 30, 40], "disease": ["flu", "cold", "flu"]})
        >>> print(dp.anonymity.measure(table, ["age"], sensitive=["disease"]))
        anonymity
          3 people in 2 classes of age; missing cells: value
          k 1; 1 people have a class of their own (33.33%)
          prosecutor risk: highest 100.00%, average 66.67%
          prosecutor risk: 3 people above 20.00% (100.00%)
          marketer risk: 66.67%
          disease: distinct l 1, entropy l 1.00
          disease: recursive (3, 2)-diversity does not hold
          disease: t 0.3333
        For the owners of the data only: these are exact figures about people, not differentially private.
    """

    kind = "anonymity"
    quasi: tuple[str, ...]
    nulls: str
    rows: int
    excluded: int
    people: int
    classes: int
    pairs: int
    k: int
    class_sizes: tuple[tuple[int, int], ...]
    unique_people: int
    prosecutor: ProsecutorRisk
    marketer: Fraction
    journalist: JournalistRisk | None
    diversity: Mapping[str, Diversity] = field(default_factory=dict)
    closeness: Mapping[str, Fraction] = field(default_factory=dict)
    columns: Mapping[str, ColumnRisk] = field(default_factory=dict)
    weights: WeightedClasses | None = None
    unnamed_rows: int = 0
    person: str | None = None

    @property
    def uniqueness(self) -> Fraction:
        """Share of people who have a class of their own."""
        return Fraction(self.unique_people, max(self.people, 1))

    def _lines(self) -> list[str]:
        lines = [
            f"{self.people:,} people in {self.classes:,} classes of {', '.join(self.quasi)}; "
            f"missing cells: {self.nulls}" + (f" ({self.excluded:,} rows left out)" if self.excluded else ""),
            *person_hints(self.quasi, self.person, self.unnamed_rows),
            f"k {self.k}; {self.unique_people:,} people have a class of their own ({float(self.uniqueness):.2%})",
            *_titled("prosecutor risk", self.prosecutor),
            f"marketer risk: {float(self.marketer):.2%}",
            *_titled("journalist risk", self.journalist),
            *_titled("sampling weights", self.weights),
        ]
        for name, diversity in self.diversity.items():
            lines += [*_titled(name, diversity), f"{name}: t {float(self.closeness[name]):.4f}"]
        return lines


def person_hints(quasi: Sequence[str], person: str | None, unnamed_rows: int) -> list[str]:
    """What is said of rows without a person, and of quasi-identifiers that seem to name people."""
    if person is None:
        names = [name for name in quasi if _ID.search(name)]
        return [f"{name} seems to name people: person={name!r} counts them" for name in names]
    number = f"{unnamed_rows:,} row{' has' if unnamed_rows == 1 else 's have'}"
    return [f"{number} no {person}; each counts as a person"] if unnamed_rows else []


def _titled(title: str, part: OwnerResult | None) -> list[str]:
    return [] if part is None else [f"{title}: {line}" for line in part._lines()]  # noqa: SLF001 - results in results


@short_traceback
def measure(
    source: object,
    quasi: Sequence[str],
    *,
    sensitive: Sequence[str] = (),
    ordered: Sequence[str] = (),
    person: str | None = None,
    nulls: NullPolicy = "value",
    weight: str | None = None,
    population: object = None,
    table: str | None = None,
    l: int = 2,  # noqa: E741 - the field's letter
    c: Number = 3,
    threshold: Number = Fraction(1, 5),
    memory_limit: str | None = None,
) -> AnonymityMeasures:
    """Measure k, l, t, class sizes and re-identification risks of a table for a set of quasi-identifiers.

    People are counted, not rows: a person with several rows belongs to every class that one of them falls in. One
    GROUP BY runs in the engine that holds the rows; everything else is exact integer arithmetic over its groups.

    Args:
        source: A path, frame or table, as for `dp.protect`.
        quasi: Names of the columns that an attacker may know.
        sensitive: Names of the columns that an attacker may learn. Default: none.
        ordered: Those of `sensitive` whose values are ordered, for t. Default: none, all values are equally distant.
        person: Column that names the person of a row; a row without one is a person of its own. Default: each row is
            a person.
        nulls: "value" (default): a missing cell is a value of its own. "wildcard": it agrees with every value.
            "exclude": rows with a missing quasi-identifier are left out and counted.
        weight: Column of sampling weights, the number of people of the population that a row stands for. Default: none.
        population: Source with the same quasi-identifiers of everyone in the population, or a pair of a source and
            the name of its table. Persons are counted there if it has the column `person`. Default: none.
        table: Name of the table, where the source is a database. Default: the only one of a DuckDB or SQLite file.
        l: The l of recursive (c, l)-diversity. Default 2.
        c: The c of recursive (c, l)-diversity, above zero. Default 3.
        threshold: Prosecutor risk above which people are counted, above 0 and at most 1. Default 1/5.
        memory_limit: Memory of the engine, such as "4GB". Default: the engine's own.

    Returns:
        The measures, for the owners of the data.

    Raises:
        ParameterError: If an argument is out of its range.
        NameNotFoundError: If the source does not have a column.

    Example:
        >>> import discreet as dp
        >>> import pyarrow as pa
        >>> people = pa.table({"zip": ["10115", "10115", "10117"], "sex": ["f", "f", "m"]})
        >>> found = dp.anonymity.measure(people, ["zip", "sex"])
        >>> found.k, found.class_sizes, found.marketer
        (1, ((1, 1), (2, 1)), Fraction(2, 3))
    """
    quasi, sensitive = names_of(quasi, "quasi"), names_of(sensitive, "sensitive", least=0)
    require_roles(quasi, sensitive, person)
    ordered = _require_ordered(names_of(ordered, "ordered", least=0), sensitive)
    limits = _require_threshold(rational(threshold, "threshold")), whole(l, "l"), positive(c, "c")
    require_policy(nulls)
    _require_plain_population(nulls, population)
    with open_table(source, table=table, memory_limit=memory_limit) as rows:
        groups = read_groups(rows, [*quasi, *sensitive, *([weight] if weight else [])], person)
        unnamed = rows.unnamed_rows(person) if person else 0
    everyone = _open_population(population, memory_limit)
    with everyone as other:
        found = _measure(groups, quasi, sensitive, ordered, nulls, limits, weight, other, person)
    return replace(found, unnamed_rows=unnamed, person=person)


def _open_population(population: Any, memory_limit: str | None) -> Any:
    if population is None:
        return nullcontext()
    source, table = population if isinstance(population, tuple) else (population, None)
    return open_table(source, table=table, memory_limit=memory_limit)


def _measure(
    groups: BaseGroups,
    quasi: tuple[str, ...],
    sensitive: tuple[str, ...],
    ordered: tuple[str, ...],
    nulls: str,
    limits: tuple[Fraction, int, Fraction],
    weight: str | None,
    population: ExactTable | None,
    person: str | None,
) -> AnonymityMeasures:
    threshold, l, c = limits  # noqa: E741 - the field's letter
    rows, are_wildcards = int(groups.rows.sum()), nulls == "wildcard"
    if nulls == "exclude" and (left := groups.has_null(quasi)).any():
        groups = groups.take(~left)
    tables = {name: sensitive_table(groups, quasi, name, are_wildcards=are_wildcards) for name in sensitive}
    if tables and groups.people.persons is None and not are_wildcards:
        classes = classes_of(next(iter(tables.values())))
    else:
        classes = class_table(groups, quasi, are_wildcards=are_wildcards)
    sizes, number = classes.histogram
    own_sizes, own = classes.pairs_by_size
    return AnonymityMeasures(
        quasi=quasi,
        nulls=nulls,
        rows=rows,
        excluded=rows - int(groups.rows.sum()),
        people=classes.people,
        classes=len(classes.keys),
        pairs=classes.pairs,
        k=int(sizes[0]) if len(sizes) else 0,
        class_sizes=tuple(zip(sizes.tolist(), number.tolist(), strict=True)),
        unique_people=classes.alone,
        prosecutor=_prosecutor(classes, threshold),
        marketer=sum_of_ratios(own.tolist(), own_sizes.tolist()) / max(classes.pairs, 1),
        journalist=None if population is None else journalist_risk(groups, classes, population, quasi, person),
        diversity={name: diversity_of(each, l, c) for name, each in tables.items()},
        closeness={name: closeness_of(each, is_ordered=name in ordered) for name, each in tables.items()},
        columns=column_risks(groups, quasi, classes.people, are_wildcards=are_wildcards),
        weights=weighted_classes(groups, groups.keys(quasi), weight) if weight else None,
    )


def _prosecutor(classes: ClassTable, threshold: Fraction) -> ProsecutorRisk:
    sizes, people = classes.people_by_size
    everyone = max(classes.people, 1)
    # 1 / size > threshold in integers; no class is as large as 2^62
    largest = min((threshold.denominator - 1) // threshold.numerator, 2**62)
    above = int(people[sizes <= largest].sum())
    return ProsecutorRisk(
        highest=Fraction(1, int(sizes[0])) if len(sizes) else Fraction(0),
        average=sum_of_ratios(people.tolist(), sizes.tolist()) / everyone,
        threshold=threshold,
        people_above=above,
        share_above=Fraction(above, everyone),
    )


def _require_ordered(ordered: tuple[str, ...], sensitive: tuple[str, ...]) -> tuple[str, ...]:
    if others := [name for name in ordered if name not in sensitive]:
        raise ParameterError(
            f"ordered={list(ordered)!r}",
            because="only sensitive columns have a distance",
            instead=f"sensitive={[*sensitive, *others]!r}, ordered={list(ordered)!r}",
        )
    return ordered


def _require_threshold(threshold: Fraction) -> Fraction:
    if not 0 < threshold <= 1:
        fits = Fraction(1, int(threshold)) if threshold > 1 else Fraction(1, 5)
        raise ParameterError(
            f"threshold={threshold}", because="a risk is above 0 and at most 1", instead=f'threshold="{fits}"'
        )
    return threshold


def _require_plain_population(nulls: NullPolicy, population: object) -> None:
    if nulls == "wildcard" and population is not None:
        raise ParameterError(
            'nulls="wildcard" with a population',
            because="classes of a population are matched by their values",
            instead='nulls="value"',
        )
