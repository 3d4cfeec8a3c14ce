"""A live account of a privacy budget outside a session: fits are charged to it before they read a row."""

from threading import Lock
from typing import NoReturn, Self

from discreet import events
from discreet.accounting.costs import NOTHING, Cost
from discreet.accounting.filters import Budget
from discreet.errors import BudgetError, ParameterError, UnsupportedError, public_class, short_traceback
from discreet.exact.numbers import shown
from discreet.ledger.records.admission import LEAST_USEFUL_SHARE
from discreet.mechanisms.process import this_process


@public_class
class BudgetAccount:
    """Live account of a privacy budget, which estimators and all their clones share.

    It lives in the process that made it, and a forked process cannot spend it. A session keeps its budget in a ledger,
    which survives and which processes share: prefer `session.release`.

    Args:
        budget: Bound on the privacy loss of all fits together.

    Raises:
        ParameterError: If it is not a budget.

    Example:
        >>> import discreet as dp
        >>> account = dp.learning.BudgetAccount(dp.Budget(epsilon=1, delta=1e-5))
        >>> account.charges
        0
    """

    @short_traceback
    def __init__(self, budget: Budget) -> None:
        if not isinstance(budget, Budget):
            raise ParameterError(
                f"an account of a {type(budget).__name__}",
                because="an account holds a privacy budget",
                instead="dp.learning.BudgetAccount(dp.Budget(epsilon=1, delta=1e-5))",
            )
        self.budget = budget
        self._spent: Cost = NOTHING
        self._charges = 0
        self._lock = Lock()
        self._process = this_process()

    @property
    def charges(self) -> int:
        """Number of charges so far."""
        return self._charges

    @short_traceback
    def remaining(self) -> float:
        """Largest epsilon of one more fit.

        Returns:
            The epsilon, rounded down.

        Example:
            >>> import discreet as dp
            >>> dp.learning.BudgetAccount(dp.Budget(epsilon=1, delta=1e-5)).remaining()
            1.0
        """
        return float(self.budget.gaussian_left(self._spent))

    @short_traceback
    def charge(self, event: events.Event) -> None:
        """Charge an event, before any row is read; it is never refunded.

        Args:
            event: The event.

        Raises:
            BudgetError: If it does not fit the rest of the budget; nothing is spent.
            UnsupportedError: If this process is not the one that made the account; nothing is spent.
        """
        cost = self.budget.cost(event)
        self._refuse_copy()
        with self._lock:
            self._refuse_beyond(cost)
            self._spent, self._charges = self._spent + cost, self._charges + 1

    @short_traceback
    def check(self, event: events.Event) -> None:
        """Refuse an event that does not fit the rest of the budget; nothing is charged.

        Args:
            event: The event.

        Raises:
            BudgetError: If it does not fit.
            UnsupportedError: If this process is not the one that made the account.
        """
        self._refuse_copy()
        self._refuse_beyond(self.budget.cost(event))

    def _refuse_copy(self) -> None:
        """A fork copies the account with what is left of it, and both copies could be spent."""
        if this_process() != self._process:
            raise _in_another_process("an account in a process that was forked from its own")

    def _refuse_beyond(self, cost: Cost) -> None:
        if not self.budget.admits(self._spent + cost):
            raise self._refusal(cost)

    def _refusal(self, cost: Cost) -> BudgetError:
        """The error for a cost that does not fit, with the largest epsilon that does."""
        budget, spent = self.budget, self._spent
        left = budget.gaussian_left(spent) if cost.epsilon is None else budget.laplace_left(spent)
        is_useful = left >= budget.epsilon * LEAST_USEFUL_SHARE
        rest = f"epsilon {shown(left)}" if is_useful else "practically nothing"
        another = f"budget=dp.learning.BudgetAccount(dp.{budget!r}); budgets for the same people add up"
        instead = f"epsilon={shown(left)}" if is_useful else another
        if not budget.admits(cost):
            what = "a fit that costs more than the whole budget of the account"
            return BudgetError(what, because=f"{rest} is left of {budget}", instead=instead)
        because = f"earlier charges ({self._charges:,}) leave {rest} of {budget}"
        return BudgetError("a fit that does not fit the account", because=because, instead=instead)

    def __repr__(self) -> str:
        return f"BudgetAccount({self.budget!r}), charges: {self._charges:,}"

    def __sklearn_clone__(self) -> Self:
        return self

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: dict[int, object]) -> Self:
        return self

    def __reduce__(self) -> NoReturn:
        raise _in_another_process("a copy of an account in another process")


def account_of(budget: object, name: str) -> BudgetAccount:
    """The account that an estimator was given as its `budget`.

    Raises:
        ParameterError: If it is not an account.
    """
    if not isinstance(budget, BudgetAccount):
        raise ParameterError(
            f"{name} with budget={budget!r}" if budget is not None else f"{name} without budget",
            because="a fit is charged to an account that all clones share",
            instead="budget=dp.learning.BudgetAccount(dp.Budget(epsilon=1, delta=1e-5))",
        )
    return budget


def _in_another_process(what: str) -> UnsupportedError:
    return UnsupportedError(
        what,
        because="each copy could spend the whole budget",
        instead="n_jobs=1, or session.release, whose ledger all processes share",
    )
