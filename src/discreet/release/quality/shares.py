"""Shares of one column in two tables, as a picture shows them."""

from dataclasses import dataclass

Shares = tuple[float, ...]


@dataclass(frozen=True)
class ColumnShares:
    """The shares of a column's slots in a reference, the data or noisy counts, and in synthetic rows.

    Attributes:
        name: Name of the column.
        is_ordered: Whether slots are bins of numbers, dates or times, in their order.
        labels: The edges of the bins, one more than there are bins; of another column its values.
        reference: A share for each slot, the last one of missing values. Noise can bring shares below 0.
        drawn: The same of the synthetic rows.
    """

    name: str
    is_ordered: bool
    labels: tuple[str, ...]
    reference: Shares
    drawn: Shares

    @property
    def distance(self) -> float:
        """Half the L1 distance of the shares."""
        return sum(abs(one - other) for one, other in zip(self.reference, self.drawn, strict=True)) / 2
