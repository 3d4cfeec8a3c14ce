"""Values computed from one row: what `table.age` is, and everything that can be done with it."""

import datetime as dt
import itertools
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NoReturn

from discreet.catalog.catalog import UNSTRUCTURED, ColumnType, python_value
from discreet.errors import ParameterError, TypeMismatchError, UnsupportedError, public_class, short_traceback
from discreet.exact import rational
from discreet.plan import logical
from discreet.plan.logical import DEEPEST, EDGES_IN_A_PART, MOST_EDGES, MOST_NODES
from discreet.query import hints

_LARGEST_CONSTANT = 10**300


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
        constants = tuple(_scalar(value) for value in itertools.islice(values, MOST_NODES + 1))
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
        constants = tuple(_scalar(value) for value in itertools.islice(edges, MOST_EDGES + 1))
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
        if _is_above(low, high):
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


def expression_text(node: logical.Expression) -> str:  # noqa: C901 - one case per node
    """An expression as it could be typed, with `table` for its table."""
    match node:
        case logical.ColumnRef(name):
            return f"table.{name}" if name.isidentifier() else f"table[{name!r}]"
        case logical.Literal(value):
            return repr(value.isoformat(sep=" ") if isinstance(value, dt.datetime) else _iso(value))
        case logical.Compare(operator, left, right) | logical.Combine(operator, left, right):
            return f"{_inner(left)} {operator} {_inner(right)}"
        case logical.Both(left, right):
            return f"{_inner(left)} & {_inner(right)}"
        case logical.Either(left, right):
            return f"{_inner(left)} | {_inner(right)}"
        case logical.Not(operand):
            return f"~{_inner(operand)}"
        case logical.IsMissing(operand):
            return f"{_inner(operand)}.is_missing()"
        case logical.IsIn(operand, values):
            return f"{_inner(operand)}.is_in([{_list_text(values)}])"
        case logical.Bin(operand, edges):
            return f"{_inner(operand)}.bin([{_list_text(edges)}])"
        case logical.Cast(operand, kind):
            return f"{_inner(operand)}.cast({str(kind)!r})"


def _list_text(values: tuple[logical.Scalar, ...]) -> str:
    return ", ".join([repr(_iso(value)) for value in values[:8]] + ["..."] * (len(values) > 8))


def _inner(node: logical.Expression) -> str:
    is_simple = isinstance(
        node, logical.ColumnRef | logical.Literal | logical.IsMissing | logical.IsIn | logical.Cast | logical.Bin
    )
    return expression_text(node) if is_simple else f"({expression_text(node)})"


def _iso(value: logical.Scalar) -> object:
    return value.isoformat() if isinstance(value, dt.date) else value


def _is_above(low: object, high: object) -> bool:
    """Whether two constants of one kind are in the wrong order."""
    a, b = python_value(low), python_value(high)
    if isinstance(a, int | float | Decimal | Fraction) and isinstance(b, int | float | Decimal | Fraction):
        return a > b
    with suppress(TypeError, ValueError):
        first, second = (dt.datetime.fromisoformat(str(end)) for end in (a, b))
        return first > second
    return False


def _scalar(value: object) -> logical.Scalar:
    plain = python_value(value)
    if isinstance(plain, float | Decimal | Fraction):
        exact = rational(plain, "a constant")
        if abs(exact) <= _LARGEST_CONSTANT:
            return float(exact)
    if isinstance(plain, str | int | dt.date):
        return plain
    raise TypeMismatchError(
        f"a constant of type {type(value).__name__}",
        because="constants are numbers of ordinary size, text, booleans, dates and timestamps",
        instead="table.age >= 40, or table.age.is_missing() for missing values",
    )


def _as_expr(value: object) -> Expr:
    return value if isinstance(value, Expr) else Expr(logical.Literal(_scalar(value)))


def _binary(build: Any, left: object, right: object) -> Expr:
    a, b = _as_expr(left), _as_expr(right)
    return _check_size(Expr(build(a.node, b.node), max(a.depth, b.depth) + 1, a.nodes + b.nodes + 1))


def _unary(build: Any, operand: Expr) -> Expr:
    return _check_size(Expr(build(operand.node), operand.depth + 1, operand.nodes + 1))


def _check_size(expr: Expr) -> Expr:
    if expr.depth > DEEPEST or expr.nodes > MOST_NODES:
        raise ParameterError(
            f"an expression of depth {expr.depth} and {expr.nodes} parts",
            because=f"expressions stay within depth {DEEPEST} and {MOST_NODES} parts",
            instead="is_in([...]) for long lists of alternatives, or a column prepared by the owner",
        )
    return expr
