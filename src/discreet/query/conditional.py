"""Conditional values: `dp.when(condition, value).otherwise(value)`."""

from dataclasses import dataclass

from discreet.errors import TypeMismatchError, public_class, short_traceback
from discreet.query.expression import Expr, as_expr, case


@public_class
@dataclass(frozen=True, eq=False, repr=False)
class Conditional(Expr):
    """A conditional value that can have more branches; as it is, it is missing where no condition is true.

    Attributes:
        node: The expression in the logical plan.
        depth: Depth of the expression.
        nodes: Number of its parts.
        branches: The conditions and values.

    Example:
        >>> import discreet as dp
        >>> visits = dp.table("visits")
        >>> dp.when(visits.age < 18, "child").when(visits.age < 65, "adult")
        dp.when(table.age < 18, 'child').when(table.age < 65, 'adult')
    """

    branches: tuple[tuple[Expr, Expr], ...] = ()

    def when(self, condition: Expr, value: object) -> "Conditional":
        """Add a branch, for rows where no earlier condition is true.

        Args:
            condition: A condition of one row; where it is missing, it is not true.
            value: A constant, or an expression of the same row.

        Returns:
            The conditional value with that branch.

        Raises:
            TypeMismatchError: If `condition` is not an expression, or `value` neither a constant nor an expression.

        Example:
            >>> import discreet as dp
            >>> visits = dp.table("visits")
            >>> dp.when(visits.age < 18, 1).when(visits.age >= 65, 2).otherwise(0)
            dp.when(table.age < 18, 1).when(table.age >= 65, 2).otherwise(0)
        """
        return _conditional((*self.branches, _branch(condition, value)))

    def otherwise(self, value: object) -> Expr:
        """Say the value of rows where no condition is true.

        Args:
            value: A constant, or an expression of the same row.

        Returns:
            An expression.

        Raises:
            TypeMismatchError: If `value` is neither a constant nor an expression.

        Example:
            >>> import discreet as dp
            >>> visits = dp.table("visits")
            >>> dp.when(visits.ward == "A", visits.cost).otherwise(0)
            dp.when(table.ward == 'A', table.cost).otherwise(0)
        """
        return case(self.branches, as_expr(value))


@short_traceback
def when(condition: Expr, value: object) -> Conditional:
    """Conditional value: the value of the first condition that is true.

    Values of all branches have one type: whole numbers beside reals are reals, and a text beside a date is read as a
    date. A missing condition is not true.

    Args:
        condition: A condition of one row, such as `visits.age < 18`.
        value: A constant, or an expression of the same row.

    Returns:
        An expression, with `when` for more branches and `otherwise` for rows where no condition is true. Without
        `otherwise`, the value of such rows is missing.

    Raises:
        TypeMismatchError: If `condition` is not an expression, or `value` neither a constant nor an expression.

    Example:
        >>> import discreet as dp
        >>> visits = dp.table("visits")
        >>> cost = dp.when(visits.ward == "A", visits.cost).otherwise(0)
        >>> query = visits.agg(cost=dp.sum(cost, bounds=(0, 5_000)))
    """
    return _conditional((_branch(condition, value),))


def _branch(condition: object, value: object) -> tuple[Expr, Expr]:
    if not isinstance(condition, Expr):
        raise TypeMismatchError(
            f"when of type {type(condition).__name__}",
            because="its first argument is a condition of a row",
            instead="dp.when(table.age >= 18, 1).otherwise(0)",
        )
    return condition, as_expr(value)


def _conditional(branches: tuple[tuple[Expr, Expr], ...]) -> Conditional:
    whole = case(branches, None)
    return Conditional(whole.node, whole.depth, whole.nodes, branches)
