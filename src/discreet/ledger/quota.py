"""An analyst's share of a promise, and what they have spent of it: a limit inside the cap, never the promise itself.

Quotas are about fairness. The promise is the dataset's cap over all analysts, because analysts talk to each other.
Failures after data was read are counted too: each is a bit that no epsilon covers, so their number is capped.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any

from discreet.accounting.filters import NOTHING, Budget, Caps, Cost
from discreet.errors import BudgetError, LedgerError, ParameterError, Refusal
from discreet.exact import whole
from discreet.ledger import faults
from discreet.ledger.registration import budget_columns, budget_of
from discreet.ledger.text import canonical, parsed

MOST_FAILURES = 100
LARGEST_FAILURES = 2**31 - 1
EVERYONE = "*"


class Kept(Enum):
    """What is not changed, told apart from None, which lifts a quota."""

    QUOTA = "as it is"


@dataclass(frozen=True, kw_only=True)
class Share:
    """What one analyst may spend of a dataset (None: all that is left) and has spent; `*` is everyone without a quota.

    `is_own` tells a quota that was set for this analyst from the one that holds for everyone.
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
    def caps(self) -> Caps | None:
        """The caps of the quota under each filter."""
        return None if self.quota is None else self.quota.caps()

    def refusal(self, asked: Cost) -> BudgetError | None:
        """The refusal of a charge that does not fit into the share; None where it fits."""
        if self.failures >= self.most_failures:
            return BudgetError(
                f"a charge on {self.dataset!r} by {self.analyst!r}",
                because=f"{self.failures} of their questions failed after data was read, and each tells something",
                instead=f"the owner's ledger.set_quota({self.dataset!r}, {self.analyst!r}, "
                f'failures={2 * self.most_failures}, reason="..."), once the cause is known',
            )
        if self.quota is None or self.quota.admits(self.spent + asked):
            return None
        return BudgetError(
            f"a charge on {self.dataset!r} by {self.analyst!r}",
            because=f"it does not fit into what is left of their quota of {self.quota}",
            instead="a smaller epsilon, a question asked before, whose stored answer is free, or the owner's "
            f'ledger.set_quota({self.dataset!r}, {self.analyst!r}, dp.Budget(...), reason="...")',
        )

    def limited(self, quota: Budget | None, failures: int, *, is_own: bool) -> "Share":
        """The share under another quota; what was spent stays."""
        return replace(self, quota=quota, most_failures=failures, is_own=is_own, floor=self.spent)

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
            **{f"spent_{name}": value for name, value in vars(self.spent).items()},
            **{f"floor_{name}": value for name, value in vars(self.floor).items()},
            "failures": self.failures,
            "most_failures": self.most_failures,
        }

    def limits(self) -> dict[str, object]:
        """What the chain records of a quota."""
        row = self.row()
        return {name: row[name] for name in ("quota", "cap_epsilon", "cap_rho", "cap_delta", "most_failures")}


def share_of(row: Mapping[str, Any]) -> Share:
    """The share that `Share.row` wrote; a row that cannot be read means a damaged ledger."""
    try:
        return Share(
            dataset=row["dataset"],
            analyst=row["analyst"],
            quota=None if row["quota"] is None else budget_of(parsed(row["quota"])),
            is_own=bool(row["is_own"]),
            spent=Cost(row["spent_epsilon"], row["spent_rho"], row["spent_delta"]),
            floor=Cost(row["floor_epsilon"], row["floor_rho"], row["floor_delta"]),
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
