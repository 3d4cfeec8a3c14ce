"""An analyst's quota of a privacy budget, and what they have spent of it.

Quotas are about fairness. The privacy budget is the dataset's cap over all analysts, because analysts can pool their
answers. A quota is in the terms of the budget: an epsilon, counted by the same two filters at its delta and order.
Failures after data was read are counted too: each is a bit that no epsilon covers, so their number is limited.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import Enum
from fractions import Fraction
from typing import Any

from discreet.accounting.costs import NOTHING, Cost, FilterCaps, restate
from discreet.accounting.filters import Budget
from discreet.errors import BudgetError, LedgerError, ParameterError, Refusal
from discreet.exact.numbers import shown, whole
from discreet.ledger.records import admission, faults
from discreet.ledger.records.canonical_text import canonical, parse_object
from discreet.ledger.records.chain import cost_columns, cost_in
from discreet.ledger.records.registration import budget_columns, budget_of

MOST_FAILURES = 100
LARGEST_FAILURES = 2**31 - 1
EVERYONE = "*"


class NoChange(Enum):
    """The default of a quota that stays as it is; None lifts a quota."""

    QUOTA = "as it is"


@dataclass(frozen=True, kw_only=True)
class Share:
    """Quota of one analyst in the privacy budget of a dataset, and what they have spent of it.

    Attributes:
        dataset: Name of the dataset.
        analyst: Name of the analyst; `*` is everyone without a quota of their own.
        quota: The quota. Default: None, all that is left of the budget.
        is_own: Whether the quota was set for this analyst, and not for everyone. Default False.
        spent: What the analyst has spent, in units of the ledger. Default: nothing.
        floor: What the analyst had spent when the quota was set. Default: nothing.
        failures: Number of queries that failed after data was read. Default 0.
        most_failures: Number of failures after which charges are refused. Default 100.

    Example:
        >>> import discreet as dp
        >>> facts = {"name": "people", "privacy_unit": dp.ROW, "budget": dp.Budget(epsilon=1)}
        >>> session = dp.testing.protect(dp.datasets.people(100), **facts)
        >>> session.ledger.set_quota("people", "ann", quota=dp.Budget(epsilon=0.25), reason="a trial")
        >>> session.ledger.share("people", "ann").is_own
        True
    """

    dataset: str
    analyst: str
    quota: Budget | None = None
    is_own: bool = False
    spent: Cost = NOTHING
    floor: Cost = NOTHING
    failures: int = 0
    most_failures: int = MOST_FAILURES

    @property
    def caps(self) -> FilterCaps | None:
        """The caps of the quota under each filter."""
        return None if self.quota is None else self.quota.caps()

    def refusal(self, cost: Cost) -> BudgetError | None:
        """Error for a charge that does not fit into the share; None where it fits."""
        if self.failures >= self.most_failures:
            return BudgetError(
                f"a charge on {self.dataset!r} by {self.analyst!r}",
                because=f"{self.failures} of their queries failed after data was read; each reveals a bit",
                instead=f"the owner's ledger.set_quota({self.dataset!r}, {self.analyst!r}, "
                f'failures={2 * self.most_failures}, reason="..."), once the cause is known',
            )
        if self.quota is None or self.quota.admits(self.spent + cost):
            return None
        owner = f'ledger.set_quota({self.dataset!r}, {self.analyst!r}, dp.Budget(...), reason="...")'
        return admission.refusal_of_a_quota(self.dataset, self.analyst, self.quota, self.spent, cost, owner)

    def in_terms_of(self, budget: Budget) -> "Share":
        """The share with its quota at the delta and the order of the budget, as the next charge will count it."""
        if self.quota is None:
            return self
        quota = restate_quota(self.quota, budget, budget) if lacks_delta(self.quota, budget) else self.quota
        return replace(self, quota=quota.at_order(budget.order))

    def with_quota(self, quota: Budget | None, failures: int, *, is_own: bool) -> "Share":
        """The share under another quota; what was spent stays."""
        return replace(self, quota=quota, most_failures=failures, is_own=is_own, floor=self.spent)

    def restated(self, before: Fraction | None, after: Fraction | None) -> "Share":
        """The share in the terms of another order of the Renyi filter."""
        spent = restate(self.spent, before, after)
        return replace(self, spent=spent, floor=spent)

    def row(self) -> dict[str, object]:
        """The columns of the table `analysts`."""
        caps = self.caps
        return {
            "dataset": self.dataset,
            "analyst": self.analyst,
            "quota": None if self.quota is None else canonical(budget_columns(self.quota)),
            "is_own": int(self.is_own),
            "cap_epsilon": None if caps is None else caps.epsilon,
            "cap_rho": None if caps is None else caps.rho,
            "cap_delta": None if caps is None else caps.delta,
            **cost_columns("spent", self.spent),
            **cost_columns("floor", self.floor),
            "failures": self.failures,
            "most_failures": self.most_failures,
        }

    def limits(self) -> dict[str, object]:
        """What the chain records of a quota."""
        row = self.row()
        return {name: row[name] for name in ("quota", "cap_epsilon", "cap_rho", "cap_delta", "most_failures")}


def complete_quota(name: str, quota: Budget, budget: Budget) -> Budget:
    """A quota in the terms of the budget; its delta and its reserve, where it does not state them, are the budget's."""
    reserve = budget.reserve if quota.reserved_delta is None else quota.reserved_delta
    terms = _in_terms(quota, budget, reserve)
    if quota.delta in (0, budget.delta, terms.delta) and reserve <= budget.reserve:
        return terms
    raise BudgetError(
        f"a quota of {quota} for {name!r}",
        because=f"a quota is at most the budget of {budget}, at the same delta",
        instead=f"dp.Budget(epsilon={shown(quota.epsilon)}), which is at the delta of the budget",
    )


def restate_quota(quota: Budget, budget: Budget, before: Budget) -> Budget:
    """A recorded quota in the terms of a budget that replaced another, or that it was recorded without."""
    is_own = bool(quota.delta) and quota.reserve != before.reserve
    return _in_terms(quota, budget, min(quota.reserve, budget.reserve) if is_own else budget.reserve)


def lacks_delta(quota: Budget | None, budget: Budget) -> bool:
    """Whether a quota was recorded without a delta under a budget that has one, and so admits no Gaussian noise."""
    return quota is not None and quota.is_pure and budget.conversion_delta > 0


def _in_terms(quota: Budget, budget: Budget, reserve: Fraction) -> Budget:
    delta = budget.conversion_delta + reserve
    return Budget(
        epsilon=quota.epsilon, delta=delta, reserved_delta=reserve, ceiling=quota.ceiling, reason=quota.reason
    )


def share_of(row: Mapping[str, Any]) -> Share:
    """The share that `Share.row` wrote; a row that cannot be read means a damaged ledger."""
    try:
        return Share(
            dataset=row["dataset"],
            analyst=row["analyst"],
            quota=None if row["quota"] is None else budget_of(parse_object(row["quota"])),
            is_own=bool(row["is_own"]),
            spent=cost_in(row, "spent"),
            floor=cost_in(row, "floor"),
            failures=row["failures"],
            most_failures=row["most_failures"],
        )
    except (ValueError, KeyError, TypeError, ArithmeticError, Refusal):
        raise LedgerError(faults.DAMAGED) from None


def checked_failures(failures: object) -> int:
    """How many failures an owner allows an analyst."""
    number = whole(failures, "failures", least=0)
    if number > LARGEST_FAILURES:
        raise ParameterError(f"failures={number}", because="it is beyond counting", instead="failures=100")
    return number
