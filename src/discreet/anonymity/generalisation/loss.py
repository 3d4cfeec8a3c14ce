"""Loss of a generalised table: what its readers can no longer see.

N is the number of people, n_E the number of people in class E, E runs over the published classes, and s is the number
of suppressed people. A record is a row of the cube, counted with its people; where each person has one row, records are
people. Every loss except the entropy is an exact fraction.

- discernibility (Bayardo, Agrawal 2005, C_DM): sum over E of n_E^2, plus N * s.
- average_class_size (LeFevre, DeWitt, Ramakrishnan 2006, C_AVG without its constant divisor k): (sum of n_E + s)
  / (number of published classes, plus 1 where anybody is suppressed). Suppressed people look alike: they are one class.
- non_uniform_entropy (de Waal, Willenborg 1999; Gionis, Tassa 2009): sum over records and columns of
  log2(f(g) / f(v)), in bits. f counts the records of the whole table, v is the value of the record and g what it
  became; for a suppressed record f(g) is the number of all records.
- query_error: sum over the given queries of |estimate - truth|. The truth is the number of records whose value is in
  the set A_j of every column j of the query. The estimate spreads the records r_E of a class uniformly over the
  distinct values that each generalised value g_j of the class stands for: sum over E of r_E * product over j of
  |A_j and g_j| / |g_j|. Suppressed records are not in the file and count as 0.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import fsum, log2
from typing import Any, Protocol

import numpy as np

from discreet.anonymity.classes.cube import Codes, Cube
from discreet.anonymity.generalisation.levels import GeneralisationLevels
from discreet.anonymity.generalisation.nodes import NodeClasses
from discreet.anonymity.generalisation.rollup import Node
from discreet.errors import NameNotFoundError, ParameterError, suggestion

LOSSES = ("discernibility", "average_class_size", "non_uniform_entropy", "query_error")
Loss = Fraction | float
CountQuery = Mapping[str, Collection[Any] | Callable[[Any], object]]
_EXACT = 2**62


class LossMetric(Protocol):
    """A loss of the classes of a node."""

    def value(self, classes: NodeClasses) -> Loss:
        """The loss; smaller is better."""
        ...


@dataclass(frozen=True)
class Discernibility:
    """Each person costs as many people as they cannot be distinguished from; a suppressed person costs N."""

    people: int

    def value(self, classes: NodeClasses) -> Loss:
        """Sum of squared class sizes, plus N for each suppressed person."""
        sizes = classes.sizes[~classes.suppressed]
        squares = int((sizes * sizes).sum()) if self.people < 2**31 else sum(int(size) ** 2 for size in sizes)
        return Fraction(squares + self.people * classes.suppressed_people)


@dataclass(frozen=True)
class AverageClassSize:
    """Average number of people in a class, where the suppressed are one class."""

    def value(self, classes: NodeClasses) -> Loss:
        """People over classes."""
        people = int(classes.sizes[~classes.suppressed].sum()) + classes.suppressed_people
        return Fraction(people, max(1, classes.published_classes + (classes.suppressed_people > 0)))


@dataclass(frozen=True)
class NonUniformEntropy:
    """Bits that generalisation and suppression remove from the cells.

    The counts that enter the sum are exact integers, and the sum is rounded once. The loss of a node therefore does not
    depend on the order of its classes.
    """

    levels: tuple[GeneralisationLevels, ...]
    frequencies: tuple[Codes, ...]

    @cached_property
    def records(self) -> int:
        """Number of all records."""
        return int(self.frequencies[0].sum()) if self.frequencies else 0

    @cached_property
    def _group_sizes(self) -> dict[tuple[int, int], Codes]:
        return {
            (column, level): sum_by(codes, self.frequencies[column])
            for column, levels in enumerate(self.levels)
            for level, codes in enumerate(levels.codes)
        }

    @cached_property
    def _losses(self) -> dict[tuple[int, int], float]:
        """Loss of a column at a level, where nobody is suppressed."""
        losses = {}
        for (column, level), groups in self._group_sizes.items():
            counts, codes = self.frequencies[column], self.levels[column].codes[level]
            pairs = zip(counts.tolist(), groups[codes].tolist(), strict=True)
            losses[column, level] = fsum(count * log2(group / count) for count, group in pairs if count)
        return losses

    def value(self, classes: NodeClasses) -> Loss:
        """Bits over all records and columns."""
        parts = [self._losses[pair] for pair in enumerate(classes.node)]
        if classes.suppressed.any():
            records = classes.records[classes.suppressed]
            for column, level in enumerate(classes.node):
                groups = self._group_sizes[column, level]
                counts = sum_by(classes.column(column)[classes.suppressed], records, len(groups))
                pairs = zip(counts.tolist(), groups.tolist(), strict=True)
                parts += [count * log2(self.records / group) for count, group in pairs if count]
        return fsum(parts)


@dataclass(frozen=True)
class QueryErrors:
    """Absolute error of counts, added up over queries.

    Attributes:
        levels: The levels of each column.
        queries: For each query and each of its columns whether a value is in the query's set, as 0 or 1.
        answers: The exact answer of each query.
    """

    levels: tuple[GeneralisationLevels, ...]
    queries: tuple[dict[int, Codes], ...]
    answers: tuple[int, ...]

    def value(self, classes: NodeClasses) -> Loss:
        """Sum of the absolute errors."""
        return sum(map(abs, self.errors(classes)), Fraction(0))

    def errors(self, classes: NodeClasses) -> list[Fraction]:
        """Estimate minus truth of each query."""
        pairs = zip(self.queries, self.answers, strict=True)
        return [self._estimate(classes, query) - answer for query, answer in pairs]

    def _estimate(self, classes: NodeClasses, query: dict[int, Codes]) -> Fraction:
        published = ~classes.suppressed
        products = classes.records[published]
        bound = int(products.sum())
        divisors = np.ones(len(products), dtype=np.int64)
        for column, members in query.items():
            codes = self.levels[column].codes[classes.node[column]]
            hits, sizes = sum_by(codes, members), sum_by(codes, np.ones_like(members))
            bound *= int(sizes.max(initial=1))
            if bound >= _EXACT:  # exact integers of any size, more slowly
                products, divisors = products.astype(np.object_), divisors.astype(np.object_)
            groups = classes.column(column)[published]
            products, divisors = products * hits[groups], divisors * sizes[groups]
        return _sum_of_fractions(products, divisors)


def _sum_of_fractions(numerators: Any, denominators: Any) -> Fraction:
    total = Fraction(0)
    for divisor in set(np.unique(denominators).tolist()):
        total += Fraction(int(numerators[denominators == divisor].sum()), int(divisor))
    return total


def check_loss(name: str, queries: Sequence[CountQuery]) -> None:
    """Refuse a loss that does not exist, or queries that the loss does not measure."""
    if name not in LOSSES:
        raise ParameterError(
            f"loss={name!r}", because="discreet does not have a loss of that name", instead=f'loss="{LOSSES[2]}"'
        )
    if (name == "query_error") != bool(queries):
        raise ParameterError(
            f"loss={name!r} with {len(queries)} queries",
            because="queries are what loss='query_error' measures, and no other loss",
            instead='loss="query_error", queries=[{"age": lambda age: age >= 65}]',
        )


def loss_metric(
    name: str, cube: Cube, levels: Sequence[GeneralisationLevels], queries: Sequence[CountQuery] = ()
) -> LossMetric:
    """The loss with this name, for the nodes of this cube."""
    if name == "discernibility":
        return Discernibility(cube.total)
    if name == "average_class_size":
        return AverageClassSize()
    if name == "query_error":
        return query_errors(cube, levels, queries)
    frequencies = tuple(sum_by(cube.codes[column], cube.people, len(cube.values[column])) for column in cube.quasi)
    return NonUniformEntropy(tuple(levels), frequencies)


def query_errors(cube: Cube, levels: Sequence[GeneralisationLevels], queries: Sequence[CountQuery]) -> QueryErrors:
    """The queries with the values that each of them counts, and their exact answers."""
    members = [
        {_column(cube, name): _members(cube, name, condition) for name, condition in query.items()} for query in queries
    ]
    answers = []
    for query in members:
        counts = cube.people
        for column, inside in query.items():
            counts = counts * inside[cube.codes[cube.quasi[column]]]
        answers.append(int(counts.sum()))
    return QueryErrors(tuple(levels), tuple(members), tuple(answers))


def _column(cube: Cube, name: str) -> int:
    if name not in cube.quasi:
        raise NameNotFoundError(
            f"column {name!r} of a query",
            because="it is not one of the quasi-identifiers",
            instead=suggestion(name, cube.quasi),
        )
    return cube.quasi.index(name)


def _members(cube: Cube, name: str, condition: Collection[Any] | Callable[[Any], object]) -> Codes:
    """For each distinct value 1 where it is in the query's set; a null is there only where a set lists None."""
    values = cube.values[name].to_pylist()
    if callable(condition):
        flags = [value is not None and bool(condition(value)) for value in values]
    elif isinstance(condition, str) or not isinstance(condition, Collection):
        raise ParameterError(
            f"a condition on {name!r} of type {type(condition).__name__}",
            because="a condition is a collection of values or a function of one value",
            instead=f'{{"{name}": {{{condition!r}}}}}',
        )
    else:
        flags = [value in condition for value in values]
    return np.array(flags, dtype=np.int64)


def sum_by(codes: Codes, numbers: Codes, length: int = 0) -> Codes:
    """Sum of numbers for each code, in integers."""
    sums = np.zeros(max(length, int(codes.max(initial=-1)) + 1), dtype=np.int64)
    np.add.at(sums, codes, numbers)
    return sums


def order_of(loss: Loss, suppressed: int, node: Node) -> tuple[Loss, int, int, Node]:
    """What nodes are compared by: loss, suppressed people, sum of levels, levels in the order of the columns.

    A loss in bits is compared to 12 digits, so that the rounding of logarithms does not decide between equal nodes.
    """
    rounded = float(f"{loss:.11e}") if isinstance(loss, float) else loss
    return (rounded, suppressed, sum(node), node)
