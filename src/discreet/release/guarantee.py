"""A guarantee in words and numbers: epsilon is never shown without its delta, its unit and what it spans."""

from dataclasses import dataclass
from fractions import Fraction

from discreet.catalog.privacy_unit import Unit
from discreet.errors import ComparisonError, public_class
from discreet.exact.numbers import shown
from discreet.exact.rounding import shown_up


@public_class
@dataclass(frozen=True)
class Guarantee:
    """Differential privacy guarantee: epsilon and delta for one privacy unit, over a stated scope.

    Guarantees for different units or deltas do not compare.

    Attributes:
        epsilon: The epsilon.
        delta: The delta.
        unit: The privacy unit and the neighbour relation.
        span: The scope, such as "this release".

    Raises:
        ComparisonError: If guarantees with different units or deltas are compared.

    Example:
        >>> import discreet as dp
        >>> from discreet.catalog.privacy_unit import unit_of
        >>> dp.Guarantee(1, 0, unit_of("patient_id"), "one") < dp.Guarantee(2, 0, unit_of("patient_id"), "other")
        True
    """

    epsilon: Fraction
    delta: Fraction
    unit: Unit
    span: str

    def __str__(self) -> str:
        size = f"epsilon {shown_up(self.epsilon)}" + (f", delta {shown_up(self.delta)}" if self.delta else "")
        return f"{size}, for {self.unit}, over {self.span}"

    def __lt__(self, other: "Guarantee") -> bool:
        return self._comparable(other).epsilon < other.epsilon

    def __le__(self, other: "Guarantee") -> bool:
        return self._comparable(other).epsilon <= other.epsilon

    def __gt__(self, other: "Guarantee") -> bool:
        return self._comparable(other).epsilon > other.epsilon

    def __ge__(self, other: "Guarantee") -> bool:
        return self._comparable(other).epsilon >= other.epsilon

    def _comparable(self, other: "Guarantee") -> "Guarantee":
        if self.unit != other.unit:
            raise ComparisonError(
                "two guarantees with different units",
                because=f"one protects {self.unit}; the other {other.unit}",
                instead="guarantees for the same unit and neighbour relation",
            )
        if self.delta != other.delta:
            raise ComparisonError(
                "two guarantees with different deltas",
                because=f"their deltas differ: {shown(self.delta)} and {shown(other.delta)}",
                instead="both at the same delta: dp.accounting.compare(events, delta=...)",
            )
        return self
