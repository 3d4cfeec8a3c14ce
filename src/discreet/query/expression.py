"""Values computed from one row: what `table.age` is, and everything that can be done with it."""

import itertools
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn, get_args

from discreet.catalog.catalog import UNSTRUCTURED, ColumnType
from discreet.errors import (
    ParameterError,
    TypeMismatchError,
    UnsupportedError,
    public_class,
    short_traceback,
    suggestion,
)
from discreet.plan import logical
from discreet.plan.logical import DEEPEST, EDGES_IN_A_PART, LONGEST_TEXT, MOST_EDGES, MOST_NODES
from discreet.query import hints
from discreet.query.constants import is_above, scalar
from discreet.query.expression_text import expression_text


def _no_operator(symbol: str, instead: str) -> Callable[..., NoReturn]:
    def refuse(*_: object) -> NoReturn:
        raise UnsupportedError(
            f"{symbol} in an expression", because="it does not mean the same on every engine", instead=instead
        )

    return refuse


@public_class
@dataclass(frozen=True, eq=False)
class Expr:
    """A value computed from one row, such as `visits.age`.

    Compare it with ==, !=, <, <=, > and >=. Combine conditions with &, | and ~, and numbers with +, -, * and /.

    Attributes:
        node: The expression in the logical plan.
        depth: Depth of the expression.
        nodes: Number of its parts.

    Example:
        >>> import discreet as dp
        >>> visits = dp.table("visits")
        >>> (visits.age >= 40) & ~(visits.ward == "cardiology")
        (table.age >= 40) & (~(table.ward == 'cardiology'))
    """

    node: logical.Expression
    depth: int = 1
    nodes: int = 1

    def __eq__(self, other: object) -> "Expr":  # type: ignore[override]
        return _binary(lambda a, b: logical.Compare("==", a, b), self, other)

    def __ne__(self, other: object) -> "Expr":  # type: ignore[override]
        return _binary(lambda a, b: logical.Compare("!=", a, b), self, other)

    def __lt__(self, other: object) -> "Expr":
        return _binary(lambda a, b: logical.Compare("<", a, b), self, other)

    def __le__(self, other: object) -> "Expr":
        return _binary(lambda a, b: logical.Compare("<=", a, b), self, other)

    def __gt__(self, other: object) -> "Expr":
        return _binary(lambda a, b: logical.Compare(">", a, b), self, other)

    def __ge__(self, other: object) -> "Expr":
        return _binary(lambda a, b: logical.Compare(">=", a, b), self, other)

    def __and__(self, other: object) -> "Expr":
        return _binary(logical.Both, self, other)

    def __rand__(self, other: object) -> "Expr":
        return _binary(logical.Both, other, self)

    def __or__(self, other: object) -> "Expr":
        return _binary(logical.Either, self, other)

    def __ror__(self, other: object) -> "Expr":
        return _binary(logical.Either, other, self)

    def __invert__(self) -> "Expr":
        return _unary(logical.Not, self)

    def __add__(self, other: object) -> "Expr":
        return _binary(lambda a, b: logical.Combine("+", a, b), self, other)

    def __radd__(self, other: object) -> "Expr":
        return _binary(lambda a, b: logical.Combine("+", a, b), other, self)

    def __sub__(self, other: object) -> "Expr":
        return _binary(lambda a, b: logical.Combine("-", a, b), self, other)

    def __rsub__(self, other: object) -> "Expr":
        return _binary(lambda a, b: logical.Combine("-", a, b), other, self)

    def __mul__(self, other: object) -> "Expr":
        return _binary(lambda a, b: logical.Combine("*", a, b), self, other)

    def __rmul__(self, other: object) -> "Expr":
        return _binary(lambda a, b: logical.Combine("*", a, b), other, self)

    def __truediv__(self, other: object) -> "Expr":
        return _binary(lambda a, b: logical.Combine("/", a, b), self, other)

    def __rtruediv__(self, other: object) -> "Expr":
        return _binary(lambda a, b: logical.Combine("/", a, b), other, self)

    def __neg__(self) -> "Expr":
        return 0 - self

    __mod__ = __rmod__ = _no_operator("%", "a column that the owner prepared")
    __floordiv__ = __rfloordiv__ = _no_operator("//", "table.age.bin(range(10, 120, 10)), the tens of an age")
    __pow__ = __rpow__ = _no_operator("**", "table.age * table.age")
    __xor__ = __rxor__ = _no_operator("^", "(a | b) & ~(a & b)")
    __abs__ = _no_operator("abs()", "a column that the owner prepared")

    @short_traceback
    def is_in(self, values: Iterable[Any]) -> "Expr":
        """Whether the value is one of some constants.

        Args:
            values: The constants, in a list or another iterable.

        Returns:
            A condition.

        Raises:
            TypeMismatchError: If `values` is not a list of numbers, texts, booleans, dates or timestamps.

        Example:
            >>> import discreet as dp
            >>> dp.table("visits").ward.is_in(["cardiology", "emergency"])
            table.ward.is_in(['cardiology', 'emergency'])
        """
        if isinstance(values, str | bytes) or not isinstance(values, Iterable):
            raise TypeMismatchError(
                f"is_in of type {type(values).__name__}", because="it takes a list", instead='is_in(["A", "B"])'
            )
        constants = tuple(scalar(value) for value in itertools.islice(values, MOST_NODES + 1))
        return _check_size(Expr(logical.IsIn(self.node, constants), self.depth + 1, self.nodes + 1 + len(constants)))

    @short_traceback
    def bin(self, edges: Iterable[Any]) -> "Expr":
        """Number of the bin of the value: the number of edges that are at most the value.

        Args:
            edges: Increasing constants, at most 10,000.

        Returns:
            An integer expression: 0 below the first edge, the number of edges from the last edge on.

        Raises:
            TypeMismatchError: If `edges` is not a list of constants.
            ParameterError: If there are more than 10,000 edges.

        Example:
            >>> import discreet as dp
            >>> dp.table("visits").age.bin([18, 30, 45])
            table.age.bin([18, 30, 45])
        """
        if isinstance(edges, str | bytes | set | frozenset | Mapping | Expr) or not isinstance(edges, Iterable):
            raise TypeMismatchError(
                f"bin of type {type(edges).__name__}",
                because="it takes a list of edges, smallest first",
                instead="bin([18, 30, 45])",
            )
        constants = tuple(scalar(value) for value in itertools.islice(edges, MOST_EDGES + 1))
        if len(constants) > MOST_EDGES:
            raise ParameterError(
                f"bin of more than {MOST_EDGES:,} edges",
                because="every row is held against them",
                instead="fewer edges, such as bin(edges[::10])",
            )
        parts = 1 + -(-len(constants) // EDGES_IN_A_PART)
        return _check_size(Expr(logical.Bin(self.node, constants), self.depth + 1, self.nodes + parts))

    def is_missing(self) -> "Expr":
        """Whether the value is missing.

        Returns:
            A condition.

        Example:
            >>> import discreet as dp
            >>> dp.table("visits").age.is_missing()
            table.age.is_missing()
        """
        return _unary(logical.IsMissing, self)

    def is_present(self) -> "Expr":
        """Whether there is a value.

        Returns:
            A condition.

        Example:
            >>> import discreet as dp
            >>> dp.table("visits").age.is_present()
            ~table.age.is_missing()
        """
        return ~self.is_missing()

    @short_traceback
    def between(self, low: object, high: object) -> "Expr":
        """Whether the value is in a closed range.

        Args:
            low: Lower end, included.
            high: Upper end, included.

        Returns:
            A condition.

        Raises:
            ParameterError: If the lower end is above the upper one.

        Example:
            >>> import discreet as dp
            >>> dp.table("visits").age.between(40, 60)
            (table.age >= 40) & (table.age <= 60)
        """
        if is_above(low, high):
            raise ParameterError(
                f"between({low!r}, {high!r})",
                because="the lower end is above the upper one, so nothing lies between them",
                instead=f"between({high!r}, {low!r})",
            )
        return (self >= low) & (self <= high)

    @short_traceback
    def cast(self, kind: str) -> "Expr":
        """Total cast to another type: values that do not fit are missing.

        Args:
            kind: "integer", "real", "text", "boolean", "date" or "timestamp".

        Returns:
            An expression of that type.

        Raises:
            TypeMismatchError: If there is no such type.

        Example:
            >>> import discreet as dp
            >>> dp.table("visits").cost.cast("integer")
            table.cost.cast('integer')
        """
        castable = [str(t) for t in ColumnType if t not in UNSTRUCTURED]
        if kind not in castable:
            raise TypeMismatchError(
                f"cast to {kind!r}",
                because="values are cast to a type that has one normal form on every engine",
                instead=" or ".join(f"cast({name!r})" for name in castable),
            )
        return _unary(lambda node: logical.Cast(node, ColumnType(kind)), self)

    @short_traceback
    def fill_missing(self, value: object) -> "Expr":
        """The value, or another one where it is missing.

        Args:
            value: A constant, or an expression of the same row.

        Returns:
            An expression.

        Raises:
            TypeMismatchError: If `value` is not a number, text, boolean, date, timestamp or expression.

        Example:
            >>> import discreet as dp
            >>> dp.table("visits").cost.fill_missing(0)
            table.cost.fill_missing(0)
        """
        return case(((self.is_present(), self),), as_expr(value))

    @short_traceback
    def starts_with(self, text: str) -> "Expr":
        """Whether a text starts with another, by code points; case matters.

        Args:
            text: 1 to 1,000 characters.

        Returns:
            A condition, missing where the text is missing.

        Raises:
            TypeMismatchError: If `text` is not a text.
            ParameterError: If it is empty or longer than 1,000 characters.

        Example:
            >>> import discreet as dp
            >>> dp.table("visits").diagnosis.starts_with("E11")
            table.diagnosis.starts_with('E11')
        """
        return _match(self, "starts", "starts_with", text)

    @short_traceback
    def ends_with(self, text: str) -> "Expr":
        """Whether a text ends with another, by code points; case matters.

        Args:
            text: 1 to 1,000 characters.

        Returns:
            A condition, missing where the text is missing.

        Raises:
            TypeMismatchError: If `text` is not a text.
            ParameterError: If it is empty or longer than 1,000 characters.

        Example:
            >>> import discreet as dp
            >>> dp.table("visits").diagnosis.ends_with(".9")
            table.diagnosis.ends_with('.9')
        """
        return _match(self, "ends", "ends_with", text)

    @short_traceback
    def contains(self, text: str) -> "Expr":
        """Whether a text contains another, by code points; case matters.

        Args:
            text: 1 to 1,000 characters, without wildcards: "%" and "_" stand for themselves.

        Returns:
            A condition, missing where the text is missing.

        Raises:
            TypeMismatchError: If `text` is not a text.
            ParameterError: If it is empty or longer than 1,000 characters.

        Example:
            >>> import discreet as dp
            >>> dp.table("visits").note.contains("insulin")
            table.note.contains('insulin')
        """
        return _match(self, "contains", "contains", text)

    @short_traceback
    def truncate(self, unit: str) -> "Expr":
        """Start of the unit of time that a date or timestamp is in; its type stays.

        Args:
            unit: "year", "quarter", "month", "week" (from Monday), "day", or "hour" and "minute" of a timestamp.

        Returns:
            A date or a timestamp.

        Raises:
            ParameterError: If there is no such unit.

        Example:
            >>> import discreet as dp
            >>> dp.table("visits").day.truncate("month")
            table.day.truncate('month')
        """
        _require_choice("truncate", unit, get_args(logical.TimeUnit))
        return _unary(lambda node: logical.Truncate(node, unit), self)  # type: ignore[arg-type]

    @short_traceback
    def part(self, part: str) -> "Expr":
        """Part of a date or timestamp as a whole number.

        Args:
            part: "year", "quarter", "month", "day", "weekday" (Monday 1 to Sunday 7), or "hour" of a timestamp.

        Returns:
            An integer expression.

        Raises:
            ParameterError: If there is no such part.

        Example:
            >>> import discreet as dp
            >>> dp.table("visits").day.part("weekday")
            table.day.part('weekday')
        """
        _require_choice("part", part, get_args(logical.CalendarPart))
        return _unary(lambda node: logical.DatePart(node, part), self)  # type: ignore[arg-type]

    def __hash__(self) -> int:
        return hash(self.node)

    def __bool__(self) -> NoReturn:
        raise TypeMismatchError(
            "an expression used as true or false",
            because="an expression has no truth value in Python",
            instead="(table.age > 40) & (table.age < 60), or | for or, ~ for not, .is_in([1, 2]), .between(40, 60)",
        )

    def __contains__(self, _: object) -> bool:
        return bool(self)

    def __iter__(self) -> NoReturn:
        raise TypeMismatchError(
            "a loop over an expression", because="it has no rows here", instead="table.agg(n=dp.count())"
        )

    def __call__(self, *_: object, **__: object) -> NoReturn:
        name = self.node.name if isinstance(self.node, logical.ColumnRef) else "an expression"
        raise UnsupportedError(
            f"{name}(...)",
            because=f"it is read as a column, which cannot be called; a table has {hints.LISTED_VERBS}",
            instead=hints.verb(name),
        )

    if not TYPE_CHECKING:  # a checker still finds names that are not there

        def __getattr__(self, name: str) -> NoReturn:
            if name.startswith("_"):
                raise AttributeError(name)
            raise hints.unknown_call("an expression", name, hints.EXPRESSION, dir(type(self)), "table.age.{}(...)")

    def __repr__(self) -> str:
        return expression_text(self.node)


def as_expr(value: object) -> Expr:
    """An expression as it is, and anything else as a constant."""
    return value if isinstance(value, Expr) else Expr(logical.Literal(scalar(value)))


def _binary(build: Any, left: object, right: object) -> Expr:
    a, b = as_expr(left), as_expr(right)
    return _check_size(Expr(build(a.node, b.node), max(a.depth, b.depth) + 1, a.nodes + b.nodes + 1))


def _unary(build: Any, operand: Expr) -> Expr:
    return _check_size(Expr(build(operand.node), operand.depth + 1, operand.nodes + 1))


def case(branches: tuple[tuple[Expr, Expr], ...], otherwise: Expr | None) -> Expr:
    """A conditional value, whose parts are those of its conditions and values."""
    last = () if otherwise is None else (otherwise,)
    parts = [part for branch in branches for part in branch] + [*last]
    node = logical.Case(tuple((a.node, b.node) for a, b in branches), None if otherwise is None else otherwise.node)
    depth, nodes = max(part.depth for part in parts), sum(part.nodes for part in parts)
    return _check_size(Expr(node, depth + 1, nodes + 1))


def _match(operand: Expr, how: logical.TextPlace, call: str, text: object) -> Expr:
    because = f"it takes a text of 1 to {LONGEST_TEXT:,} characters"
    if not isinstance(text, str):
        raise TypeMismatchError(f"{call} of type {type(text).__name__}", because=because, instead=f'{call}("A")')
    if not 0 < len(text) <= LONGEST_TEXT:
        raise ParameterError(f"{call} of {len(text):,} characters", because=because, instead=f'{call}("A")')
    return _unary(lambda node: logical.TextMatch(node, how, str(text)), operand)


def _require_choice(call: str, word: object, known: tuple[str, ...]) -> None:
    if word not in known:
        nearest = next((each for each in known if each == suggestion(str(word), known)), known[0])
        because = f"it takes one of {', '.join(known)}"
        raise ParameterError(f"{call}({word!r})", because=because, instead=f'{call}("{nearest}")')


def _check_size(expr: Expr) -> Expr:
    if expr.depth > DEEPEST or expr.nodes > MOST_NODES:
        raise ParameterError(
            f"an expression of depth {expr.depth} and {expr.nodes} parts",
            because=f"expressions stay within depth {DEEPEST} and {MOST_NODES} parts",
            instead="is_in([...]) for long lists of alternatives, or a column prepared by the owner",
        )
    return expr
