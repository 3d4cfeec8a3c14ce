"""Limits: small worked tables of what k-anonymity, l-diversity and t-closeness do not protect against.

The rows are invented and have no persons behind them, so nothing here is for owners alone. Every figure that a table
states is computed from its rows. The two releases of the composition are those of `linkage.worked_releases`.

References:
    A. Machanavajjhala, J. Gehrke, D. Kifer, M. Venkitasubramaniam: l-Diversity: Privacy Beyond k-Anonymity. ICDE 2006
    (homogeneity, background knowledge).
    N. Li, T. Li, S. Venkatasubramanian: t-Closeness: Privacy Beyond k-Anonymity and l-Diversity. ICDE 2007.
    S. Ganta, S. Kasiviswanathan, A. Smith: Composition Attacks and Auxiliary Information in Data Privacy. KDD 2008.
    D. Denning, P. Denning, M. Schwartz: The Tracker. ACM Transactions on Database Systems 4(1), 1979 (differencing).
"""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from discreet.anonymity.linkage.worked_releases import HOSPITALS, TARGET
from discreet.errors import public_class, short_traceback
from discreet.release.values.rendering import text_table

MINIMUM_GROUP_SIZE = 50
"""The smallest group that some cloud services answer about."""

_RECORDS = ("ZIP code", "age", "condition")
_WARD = ("Ward 7", 1958)

Row = tuple[str, ...]


@public_class
@dataclass(frozen=True, repr=False)
class WorkedTable:
    """A small invented table, what holds for it, and what an attacker learns from it all the same.

    Attributes:
        name: What the table does not protect against.
        holds: The rule that the table satisfies, with its figures.
        knows: What the attacker knows.
        learns: What the attacker learns.
        head: Names of the columns.
        rows: The cells, as text.
        text_columns: Number of columns that are text; the others are numbers.
        figures: The numbers that the sentences state.

    Example:
        >>> import discreet as dp
        >>> dp.anonymity.limits.homogeneity().figures["k"]
        3
    """

    name: str
    holds: str
    knows: str
    learns: str
    head: Row
    rows: tuple[Row, ...]
    text_columns: int
    figures: dict[str, int | Fraction | str]

    def table_lines(self) -> list[str]:
        """The table as text.

        Returns:
            Its lines, the head first.
        """
        return text_table(self.head, self.rows, self.text_columns)

    def sentences(self) -> list[tuple[str, str]]:
        """What holds, what the attacker knows, and what the attacker learns.

        Returns:
            Pairs of a label and a sentence.
        """
        return [("holds", self.holds), ("knows", self.knows), ("learns", self.learns)]

    def __str__(self) -> str:
        lines = [f"  {line}" for line in self.table_lines()]
        return "\n".join([self.name, *lines, *(f"  {label:<6}  {text}" for label, text in self.sentences())])

    __repr__ = __str__

    def to_json(self) -> dict[str, Any]:
        """The table and its sentences as plain data.

        Returns:
            A dict for JSON.
        """
        rows = [dict(zip(self.head, row, strict=True)) for row in self.rows]
        figures = {name: str(value) if isinstance(value, Fraction) else value for name, value in self.figures.items()}
        return {"name": self.name, **dict(self.sentences()), "rows": rows, "figures": figures}


@short_traceback
def homogeneity() -> WorkedTable:
    """A 3-anonymous table in which one class has one condition.

    Returns:
        The table, with what an attacker learns from it.

    Example:
        >>> import discreet as dp
        >>> print(dp.anonymity.limits.homogeneity().learns)
        the person has cancer: 3 of 3 rows of the class say so, and nobody was singled out
    """
    rows = (
        *(("130**", "20-29", condition) for condition in ("flu", "heart disease", "flu")),
        *(("130**", "30-39", "cancer"),) * 3,
        *(("148**", "40-49", condition) for condition in ("flu", "cancer", "heart disease")),
    )
    target = ("130**", "30-39")
    values = Counter(_conditions(rows, target))
    (value, count), k = values.most_common(1)[0], _smallest_class(rows)
    return WorkedTable(
        "homogeneity",
        f"k = {k}: each combination of ZIP code and age is shared by {k} people",
        "a neighbour of 35 years, in ZIP code 13068, is in the table",
        f"the person has {value}: {count} of {values.total()} rows of the class say so, and nobody was singled out",
        _RECORDS,
        rows,
        3,
        {"k": k, "distinct_l": _least_diversity(rows), "rows_of_class": values.total(), "value": value},
    )


@short_traceback
def background_knowledge() -> WorkedTable:
    """A 3-anonymous, 2-diverse table, and an attacker who can rule one value out.

    Returns:
        The table, with what an attacker learns from it.

    Example:
        >>> import discreet as dp
        >>> print(dp.anonymity.limits.background_knowledge().learns)
        the person has cancer: it is the one value of the class that is left
    """
    rows = (
        *(("130**", "20-29", condition) for condition in ("flu", "heart disease", "flu")),
        *(("148**", "40-49", condition) for condition in ("flu", "cancer", "flu")),
    )
    target, excluded = ("148**", "40-49"), "flu"
    remaining = sorted(set(_conditions(rows, target)) - {excluded})
    k, diversity, distance = _smallest_class(rows), _least_diversity(rows), _largest_distance(rows)
    return WorkedTable(
        "background knowledge",
        f"k = {k}, l = {diversity}, t = {_decimal(distance)}: each class has {diversity} conditions",
        f"a colleague of 44 years, in ZIP code 14850, is in the table and was in hospital for more than {excluded}",
        f"the person has {remaining[0]}: it is the one value of the class that is left",
        _RECORDS,
        rows,
        3,
        {"k": k, "distinct_l": diversity, "t": distance, "values_left": len(remaining), "value": remaining[0]},
    )


@short_traceback
def composition() -> WorkedTable:
    """A 4-anonymous table of one hospital and a 6-anonymous table of another, which both treated one person.

    Returns:
        The class of that person in each table, with what an attacker learns from both.

    Example:
        >>> import discreet as dp
        >>> print(dp.anonymity.limits.composition().learns)
        she has tuberculosis: it is the one condition that both classes have
    """
    tables = {name: _rows(columns) for name, columns in HOSPITALS.items()}
    targets = {name: tuple(TARGET[name].values()) for name in tables}
    found = {name: Counter(_conditions(rows, targets[name])) for name, rows in tables.items()}
    shared = sorted(set.intersection(*(set(values) for values in found.values())))
    sizes = [_smallest_class(rows) for rows in tables.values()]
    rows = [
        (name.removesuffix(" hospital"), ", ".join(targets[name][:2]), f"{values.total()}", ", ".join(sorted(values)))
        for name, values in found.items()
    ]
    return WorkedTable(
        "composition of two releases",
        f"k = {sizes[0]} in the table of the first hospital, k = {sizes[1]} in that of the second",
        "a colleague of 28 years, in ZIP code 13012, was treated in both hospitals",
        f"she has {shared[0]}: it is the one condition that both classes have",
        ("hospital", "her class", "people", "conditions of the class"),
        tuple(rows),
        4,
        {"k_first": sizes[0], "k_second": sizes[1], "values_left": len(shared), "value": shared[0]},
    )


@short_traceback
def differencing() -> WorkedTable:
    """Two sums over groups of at least 50 people, which differ by one person's value.

    Returns:
        The two answers, with what an attacker learns from them.

    Example:
        >>> import discreet as dp
        >>> print(dp.anonymity.limits.differencing().learns)
        that person's cost is 9,140: 138,890 - 129,750, from two answers about 51 and 50 people
    """
    ward, year = _WARD
    costs = [(2_105 + 20 * place, 1959 + place % 30) for place in range(MINIMUM_GROUP_SIZE)] + [(9_140, year)]
    others = [cost for cost, born in costs if born != year]
    answers = (
        (ward, len(costs), sum(cost for cost, _ in costs)),
        (f"{ward}, born after {year}", len(others), sum(others)),
    )
    value = answers[0][2] - answers[1][2]
    learns = f"that person's cost is {value:,}: {answers[0][2]:,} - {answers[1][2]:,}, from two answers about "
    return WorkedTable(
        f"differencing against a minimum group size of {MINIMUM_GROUP_SIZE}",
        f"no answer is about fewer than {MINIMUM_GROUP_SIZE} people",
        f"one patient of {ward} was born in {year} or before",
        f"{learns}{len(costs)} and {len(others)} people",
        ("query", "people", "sum of cost"),
        tuple((name, f"{people:,}", f"{total:,}") for name, people, total in answers),
        1,
        {"minimum_group_size": MINIMUM_GROUP_SIZE, "people": len(costs), "others": len(others), "value": value},
    )


@short_traceback
def worked_tables() -> tuple[WorkedTable, ...]:
    """All worked tables, in the order in which reports show them.

    Returns:
        The tables.

    Example:
        >>> import discreet as dp
        >>> [table.name for table in dp.anonymity.limits.worked_tables()][:2]
        ['homogeneity', 'background knowledge']
    """
    return homogeneity(), background_knowledge(), composition(), differencing()


def _rows(columns: Mapping[str, Sequence[str]]) -> tuple[Row, ...]:
    return tuple(zip(*columns.values(), strict=True))


def _conditions(rows: Sequence[Row], target: Row) -> list[str]:
    return [row[-1] for row in rows if row[:-1] == target]


def _classes(rows: Sequence[Row]) -> dict[Row, Counter[str]]:
    found: dict[Row, Counter[str]] = defaultdict(Counter)
    for row in rows:
        found[row[:-1]][row[-1]] += 1
    return found


def _smallest_class(rows: Sequence[Row]) -> int:
    return min(counts.total() for counts in _classes(rows).values())


def _least_diversity(rows: Sequence[Row]) -> int:
    return min(len(counts) for counts in _classes(rows).values())


def _largest_distance(rows: Sequence[Row]) -> Fraction:
    """The t of the table: the largest total variation distance between a class and the table."""
    everyone = Counter(row[-1] for row in rows)
    return max(
        sum((abs(Fraction(c[v], c.total()) - Fraction(everyone[v], len(rows))) for v in everyone), Fraction(0)) / 2
        for c in _classes(rows).values()
    )


def _decimal(number: Fraction) -> str:
    return f"{float(number):.2f}"
