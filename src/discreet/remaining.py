"""What is left of a promise, said with whom it protects and over what."""

from dataclasses import dataclass
from fractions import Fraction

from discreet.accounting.filters import Budget
from discreet.exact import shown
from discreet.slice import Slice
from discreet.unit import Unit


@dataclass(frozen=True)
class Remaining:
    """What is left of a promise, in its own terms."""

    dataset: str
    epsilon: Fraction
    budget: Budget
    unit: Unit
    slice: Slice | None = None

    def __str__(self) -> str:
        rows = "" if self.slice is None else f", {self.slice.statement(self.unit)}"
        return (
            f"epsilon {shown(self.epsilon)} left of {self.budget}, for {self.unit}, "
            f"over every question ever asked of {self.dataset!r}{rows}"
        )

    __repr__ = __str__

    def __float__(self) -> float:
        return float(self.epsilon)
