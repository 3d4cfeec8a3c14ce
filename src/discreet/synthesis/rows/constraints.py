"""Constraints that are public knowledge: combinations of values that never occur, such as an age below 17.

They are declared before a row is read, in values, and become rules over slots: which slots of a column, or which pairs
of slots, are allowed. A constraint that slots cannot express is an error before data. Rules hold in every row that is
drawn and in every marginal of a model. The data is not checked against them, so they need to be true without it.
"""

from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from discreet.errors import NameNotFoundError, ParameterError, public_class, suggestion
from discreet.plan.slots import SlotColumn
from discreet.synthesis.core.domain import Columns

Allowed = NDArray[np.bool_]
RANGE = 2
"""A range has a lower and an upper end."""


class SlotRule(NamedTuple):
    """The slots of one column, or the pairs of slots of two, that are allowed; columns in the order of the table."""

    columns: Columns
    allowed: Allowed

    def to_json(self) -> list[Any]:
        """The rule as plain data, for the fingerprint of a query: its columns, and a bit for each slot or pair."""
        return [list(self.columns), np.packbits(self.allowed).tobytes().hex()]


@public_class
@dataclass(frozen=True)
class Exclusion:
    """Values of one column, or pairs of values of two columns, that never occur.

    Attributes:
        conditions: For each column its values: one value, a list of them, or a range (from, below) of a column
            in bins, where None leaves an end open. The upper end is exclusive: (None, 17) is up to 16. Both ends are
            edges of bins. The value None stands for missing and undeclared values. Rows
            where all conditions hold never occur.

    Example:
        >>> import discreet as dp
        >>> young = dp.synthesis.Exclusion({"age": (None, 17)})
        >>> wives = dp.synthesis.Exclusion({"relationship": "Husband", "sex": "Female"})
    """

    conditions: Mapping[str, Any]

    def rule(self, columns: Mapping[str, SlotColumn]) -> SlotRule:
        """The rule over slots.

        Args:
            columns: The columns of the table, by name.

        Returns:
            The rule.

        Raises:
            ParameterError: If slots cannot express the constraint.
            NameNotFoundError: If the table does not have a column.
        """
        if len(self.conditions) not in (1, 2):
            raise ParameterError(
                f"an exclusion over {len(self.conditions)} columns",
                because="a constraint is of one column, or of two",
                instead='dp.synthesis.Exclusion({"relationship": "Husband", "sex": "Female"})',
            )
        names = _in_order(self.conditions, columns)
        one, *others = (_matches(columns[name], self.conditions[name], partial(self._code, name)) for name in names)
        return SlotRule(names, ~(np.outer(one, others[0]) if others else one))

    def _code(self, name: str, condition: object) -> str:
        """The exclusion as code, with another condition on one column."""
        return f"dp.synthesis.Exclusion({dict(self.conditions) | {name: condition}!r})"


@public_class
@dataclass(frozen=True)
class Implication:
    """Values of a column that allow only some values of another: a city is in one state.

    Attributes:
        column: Name of the column that decides.
        other: Name of the other column.
        values: For values of the first column, the one value or the list of values that the other may have. Values that
            are not listed allow everything.

    Example:
        >>> import discreet as dp
        >>> places = dp.synthesis.Implication("city", "state", {"Rome": "Lazio", "Milan": "Lombardy"})
    """

    column: str
    other: str
    values: Mapping[Any, Any]

    def rule(self, columns: Mapping[str, SlotColumn]) -> SlotRule:
        """The rule over slots.

        Args:
            columns: The columns of the table, by name.

        Returns:
            The rule.

        Raises:
            ParameterError: If slots cannot express the constraint.
            NameNotFoundError: If the table does not have a column.
        """
        names = _in_order((self.column, self.other), columns)
        if len(names) != RANGE:
            raise ParameterError(
                f"an implication from {self.column!r} to itself",
                because="it is about two columns",
                instead='dp.synthesis.Implication("city", "state", {"Rome": "Lazio"})',
            )
        allowed = np.ones((columns[self.column].size, columns[self.other].size), dtype=np.bool_)
        for value, implied in self.values.items():
            decides = _matches(columns[self.column], value, partial(self._code, value))
            allowed[decides] &= _matches(columns[self.other], implied, partial(self._code, value, value))
        return SlotRule(names, allowed if names[0] == self.column else np.ascontiguousarray(allowed.T))

    def _code(self, old: object, value: object, implied: object = None) -> str:
        """The implication as code, with another value of the first column, or another one that it implies."""
        pairs = {
            (value if each == old else each): (implied if each == old and implied is not None else other)
            for each, other in self.values.items()
        }
        return f"dp.synthesis.Implication({self.column!r}, {self.other!r}, {pairs!r})"


Constraint = Exclusion | Implication


def constraint_list(constraints: object) -> tuple[Constraint, ...]:
    """The constraints of a synthesizer.

    Args:
        constraints: What was declared.

    Returns:
        The constraints.

    Raises:
        ParameterError: If it is not a list.
    """
    if not isinstance(constraints, list | tuple):
        given = repr(constraints) if isinstance(constraints, Constraint) else 'Exclusion({"age": (None, 17)})'
        raise ParameterError(
            f"constraints of type {type(constraints).__name__}",
            because="constraints are a list",
            instead=f"constraints=[dp.synthesis.{given}]",
        )
    return tuple(constraints)


def slot_rules(constraints: Sequence[Constraint], columns: Sequence[SlotColumn]) -> tuple[SlotRule, ...]:
    """The rules of all constraints, one for each column or pair of columns.

    Args:
        constraints: What was declared.
        columns: The columns of the table.

    Returns:
        The rules. Pairs of columns close no cycle, and every slot that is allowed has a row that is allowed.

    Raises:
        ParameterError: If slots cannot express a constraint, pairs close a cycle, or nothing is allowed.
        NameNotFoundError: If the table does not have a column.
    """
    known = {column.name: column for column in columns}
    if not all(type(each) in (Exclusion, Implication) for each in constraints):
        raise ParameterError(
            "constraints of another class",
            because="constraints are exclusions and implications of dp.synthesis",
            instead='constraints=[dp.synthesis.Exclusion({"age": (None, 17)})]',
        )
    found: dict[Columns, Allowed] = {}
    for each in constraints:
        names, allowed = each.rule(known)
        found[names] = found[names] & allowed if names in found else allowed
    _refuse_cycles([names for names in found if len(names) > 1])
    return _supported(found, known)


def _supported(found: dict[Columns, Allowed], columns: Mapping[str, SlotColumn]) -> tuple[SlotRule, ...]:
    """Rules where a slot is allowed only if each pair has an allowed partner for it (arc consistency)."""
    alone: dict[str, Allowed] = {name: np.ones(columns[name].size, dtype=np.bool_) for names in found for name in names}
    alone |= {names[0]: allowed for names, allowed in found.items() if len(names) == 1}
    pairs = {names: allowed for names, allowed in found.items() if len(names) > 1}
    for _ in range(len(pairs) + 1):
        for (one, other), allowed in pairs.items():
            pairs[one, other] = both = allowed & np.outer(alone[one], alone[other])
            alone[one], alone[other] = np.any(both, axis=1), np.any(both, axis=0)
    empty = [name for name, allowed in alone.items() if not allowed.any()]
    if empty:
        raise ParameterError(
            f"constraints that allow no value of {empty[0]!r}",
            because="every column needs a value that can occur",
            instead=f"constraints without the one on {empty[0]!r}",
        )
    singles = [SlotRule((name,), allowed) for name, allowed in alone.items()]
    return (*singles, *(SlotRule(names, allowed) for names, allowed in pairs.items()))


def _refuse_cycles(pairs: Sequence[Columns]) -> None:
    tree: dict[str, str] = {name: name for pair in pairs for name in pair}
    for one, other in pairs:
        if tree[one] == tree[other]:
            raise ParameterError(
                f"constraints whose pairs of columns close a cycle at {one!r} and {other!r}",
                because="pairs of columns with constraints form a tree",
                instead=f"constraints without the one on {one!r} and {other!r}",
            )
        old = tree[other]
        tree = {name: tree[one] if root == old else root for name, root in tree.items()}


def _in_order(names: Any, columns: Mapping[str, SlotColumn]) -> Columns:
    for name in names:
        if name not in columns:
            raise NameNotFoundError(
                f"column {name!r} of a constraint",
                because="the synthetic table has no column of that name",
                instead=suggestion(str(name), columns),
            )
    return tuple(name for name in columns if name in set(names))


def _matches(column: SlotColumn, condition: Any, code: Callable[[Any], str]) -> Allowed:
    """The slots of a column whose values fulfil a condition; `code` is the constraint with another condition."""
    is_range = isinstance(condition, tuple) and bool(column.edges)
    if is_range:
        return _in_range(column, condition, code)
    wanted = list(condition) if isinstance(condition, list | tuple | set | frozenset) else [condition]
    found = np.zeros(column.size, dtype=np.bool_)
    for value in wanted:
        if value is not None and value not in column.values:
            fixed: Any = _bin_of(column, value) if column.edges else _nearest_value(column, value)
            if not column.edges and isinstance(condition, list):
                fixed = [fixed if each == value else each for each in wanted]
            raise ParameterError(
                f"a constraint on {column.name!r} with the value {value!r}",
                because="a column in bins has ranges" if column.edges else "the catalog does not declare that value",
                instead=code(fixed),
            )
        found[column.missing if value is None else column.values.index(value)] = True
    return found


def _in_range(column: SlotColumn, condition: tuple[Any, ...], code: Callable[[Any], str]) -> Allowed:
    edges: tuple[Any, ...] = column.edges
    try:
        low, high = condition
        after = np.array([low is None or low <= edge for edge in edges])
        before = np.array([high is None or edge <= high for edge in edges])
    except (TypeError, ValueError):
        low, high, after, before = None, None, np.zeros(len(edges), bool), np.ones(len(edges), bool)
    inside = after[:-1] & before[1:]
    outside = np.array([high is not None and high <= edge for edge in edges[:-1]]) | np.array(
        [low is not None and edge <= low for edge in edges[1:]]
    )
    if not (inside | outside).all():
        raise ParameterError(
            f"a constraint on {column.name!r} for the range {condition!r}",
            because="a range (from, below) starts and ends at edges of bins, and its upper end is not in it",
            instead=code(_whole_bins(edges, low, high)),
        )
    return np.append(inside, False)


def _whole_bins(edges: tuple[Any, ...], low: Any, high: Any) -> tuple[Any, Any]:
    """The range of whole bins nearest to another one: each end at its nearest edge, an open end open."""
    ends = [None if end is None else _nearest_edge(edges, end) for end in (low, high)]
    if None in (low, high) and (low, high) != (None, None):
        return ends[0], ends[1]
    start = 0 if low is None else min(edges.index(ends[0]), len(edges) - 2)
    return edges[start], edges[start + 1] if low is None else max(ends[1], edges[start + 1])


def _nearest_edge(edges: tuple[Any, ...], value: Any) -> Any:
    return min(edges, key=lambda edge: abs(edge - value))


def _bin_of(column: SlotColumn, value: Any) -> tuple[Any, Any]:
    """The bin that a value is in; the first one where it is of another type."""
    edges: tuple[Any, ...] = column.edges
    try:
        place = min(max(bisect_right(edges, value) - 1, 0), len(edges) - 2)
    except TypeError:
        place = 0
    return edges[place], edges[place + 1]


def _nearest_value(column: SlotColumn, value: Any) -> Any:
    """The declared value that is most like another one."""
    texts = {str(each): each for each in column.values}
    nearest = get_close_matches(str(value), list(texts), 1, 0.0)
    return texts[nearest[0]] if nearest else column.values[0]
