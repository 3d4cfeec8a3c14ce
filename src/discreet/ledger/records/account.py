"""The row of a dataset: the caps of its privacy budget, what was spent of them, and the head of its chain."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from discreet.accounting.filters import NOTHING, Budget, Cost, FilterCaps
from discreet.catalog.privacy_unit import Neighbours
from discreet.errors import LedgerError, Refusal
from discreet.ledger.records import faults
from discreet.ledger.records.chain import GENESIS, ChainLink, Kind, now
from discreet.ledger.records.registration import (
    Dataset,
    RegisteredSlice,
    budget_columns,
    budget_of,
    slice_columns,
    slice_of,
)
from discreet.version import __version__


@dataclass(frozen=True, kw_only=True)
class Account:
    """A dataset's privacy budget and how much of it is spent; `floor` is what was spent when the cap was last set."""

    name: str
    unit: str
    neighbours: Neighbours
    hash_key: str
    budget: Budget
    caps: FilterCaps
    spent: Cost = NOTHING
    floor: Cost = NOTHING
    sequence: int = 0
    head: str = GENESIS
    slice: RegisteredSlice | None = None
    is_halted: bool = False

    def link(self, kind: Kind, *, version: int, after: int | None = None, **columns: Any) -> ChainLink:
        """The next link of the chain; `after` is the last sequence number that was ever used, where it is known."""
        return ChainLink(
            dataset=self.name,
            sequence=max(self.sequence, after or 0) + 1,
            kind=kind,
            time=now(),
            version=version,
            previous=self.head,
            library=__version__,
            **columns,
        )

    def with_budget(self, budget: Budget) -> "Account":
        """The account under a new privacy budget; what was spent stays."""
        return replace(self, budget=budget, caps=budget.caps(), floor=self.spent)

    @property
    def is_charged(self) -> bool:
        """Whether anything was ever charged; every charge costs at least one unit."""
        return self.spent != NOTHING

    def with_declaration(self, dataset: Dataset) -> "Account":
        """The account as its owner declares it now; only where nothing was charged."""
        declared = replace(self, unit=dataset.unit, neighbours=dataset.neighbours)
        return declared.with_budget(dataset.budget)

    def row(self) -> dict[str, object]:
        """The columns of the table `datasets`."""
        return (
            {"name": self.name, "unit": self.unit, "neighbours": str(self.neighbours), "hash_key": self.hash_key}
            | slice_columns(self.slice)
            | budget_columns(self.budget)
            | {"cap_epsilon": self.caps.epsilon, "cap_rho": self.caps.rho, "cap_delta": self.caps.delta}
            | _cost_columns("spent", self.spent)
            | _cost_columns("floor", self.floor)
            | {"sequence": self.sequence, "head": self.head}
        )


def new_account(dataset: Dataset, hash_key: str) -> Account:
    """The account of a dataset that nobody has asked yet."""
    return Account(
        name=dataset.name,
        unit=dataset.unit,
        neighbours=dataset.neighbours,
        hash_key=hash_key,
        budget=dataset.budget,
        caps=dataset.budget.caps(),
        slice=dataset.slice,
    )


def account_of(row: Mapping[str, Any]) -> Account:
    """The account that `Account.row` wrote; a row that cannot be read means a damaged ledger."""
    try:
        return Account(
            name=row["name"],
            unit=row["unit"],
            neighbours=Neighbours(row["neighbours"]),
            hash_key=row["hash_key"],
            budget=budget_of(row),
            caps=FilterCaps(row["cap_epsilon"], row["cap_rho"], row["cap_delta"]),
            spent=Cost(row["spent_epsilon"], row["spent_rho"], row["spent_delta"]),
            floor=Cost(row["floor_epsilon"], row["floor_rho"], row["floor_delta"]),
            sequence=row["sequence"],
            head=row["head"],
            slice=slice_of(row),
            is_halted=bool(row["halts"]),
        )
    except (ValueError, TypeError, ArithmeticError, Refusal):
        raise LedgerError(faults.DAMAGED) from None


def _cost_columns(prefix: str, cost: Cost) -> dict[str, object]:
    return {f"{prefix}_epsilon": cost.epsilon, f"{prefix}_rho": cost.rho, f"{prefix}_delta": cost.delta}
