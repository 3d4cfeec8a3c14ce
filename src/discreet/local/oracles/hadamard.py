"""Hadamard response: a random row of a Hadamard matrix, and the sign that the client's column has in it.

Definition
    K is the least power of two above d. A client with slot x reports a uniform row j of K and a bit, which is the
    parity of the common ones of j and x + 1, kept with probability r/(r + 1) and turned otherwise. The symbol is 2 j
    plus the bit. Draw: j below K, then a number below a + b, with r = a/b, keeps the bit if it is below a.

Guarantee
    If r <= e^epsilon, one report is epsilon-locally differentially private. The largest likelihood ratio is r. The row
    does not depend on the value. Proof: docs/proofs/local/oracles/hadamard.md.

Exactness
    Probabilities are rationals and draws are integers below a whole number. `epsilon` is ln r rounded up. Counts are
    decoded by a fast Walsh-Hadamard transform in floats, which is exact below 2^53 reports.

Not covered
    Several reports of one client: their losses add, unless the report is memoised. Above epsilon 1 other oracles have a
    much smaller variance.

References
    Bassily and Smith, Local, Private, Efficient Protocols for Succinct Histograms, STOC 2015. Acharya, Sun and Zhang,
    Hadamard Response, AISTATS 2019.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Self

import numpy as np

from discreet.errors import ParameterError, public_class
from discreet.local.oracles.fields import Fields, check_ratio, check_size, ratio_field, whole_field
from discreet.local.oracles.oracle import TwoLevelOracle, merge_cohorts
from discreet.local.oracles.randomizer import Counts, Floats


@public_class
@dataclass(frozen=True)
class HadamardResponse(TwoLevelOracle):
    """Hadamard response with one bit of the value in each report.

    Args:
        size: Number of slots, at least 2.
        ratio: Likelihood ratio of the kept bit to the turned one, above 1.

    Raises:
        ParameterError: If an argument is outside its range.

    Example:
        >>> import discreet as dp
        >>> oracle = dp.local.oracles.HadamardResponse.calibrate(1024, epsilon=1)
        >>> round(oracle.variance(), 2)
        4.68
    """

    kind: ClassVar[str] = "hadamard"
    title: ClassVar[str] = "Hadamard response"
    FIELDS: ClassVar[Fields] = {"size": whole_field(), "ratio": ratio_field}

    size: int
    ratio: Fraction

    def __post_init__(self) -> None:
        check_size(self.size)
        check_ratio(self.ratio)

    @property
    def order(self) -> int:
        """Number of rows of the matrix."""
        return 1 << self.size.bit_length()

    @property
    def symbols(self) -> int:
        """Two for each row."""
        return 2 * self.order

    @property
    def support_size(self) -> int:
        """One symbol of each row."""
        return self.order

    @property
    def shared_size(self) -> int:
        """Two columns agree in half of the rows."""
        return self.order // 2

    def support_symbols(self, slot: int) -> Counts:
        """Rows with the sign that the column of the slot has.

        Args:
            slot: The slot.

        Returns:
            One symbol for each row.
        """
        rows = np.arange(self.order)
        symbols: Counts = 2 * rows + parity(rows & (slot + 1))
        return symbols

    def is_supporting(self, symbol: int, slot: int) -> bool:
        """Whether the sign of a symbol is that of the slot.

        Args:
            symbol: The symbol.
            slot: The slot.

        Returns:
            Whether it is.
        """
        return (symbol >> 1 & (slot + 1)).bit_count() & 1 == symbol & 1

    def support(self, counts: Counts) -> Floats:
        """Reports with the sign of each slot, by one fast transform.

        Args:
            counts: Reports by symbol; a row for each cohort, or one row.

        Returns:
            A number for each slot.
        """
        pairs = merge_cohorts(counts).reshape(self.order, 2).astype(np.float64)
        columns = walsh_hadamard(pairs[:, 0] - pairs[:, 1])
        half: Floats = (pairs.sum() + columns[1 : self.size + 1]) / 2
        return half

    def to_json(self) -> dict[str, Any]:
        return super().to_json() | {"order": self.order}  # clients do not derive it

    @classmethod
    def from_json(cls, fields: Mapping[str, Any]) -> Self:
        oracle = super().from_json({name: value for name, value in fields.items() if name != "order"})
        if fields.get("order") != oracle.order:
            raise ParameterError(
                f"order={fields.get('order')!r}",
                because="the order is the least power of two above the number of slots",
                instead=f"order={oracle.order}",
            )
        return oracle


def parity(numbers: Counts) -> Counts:
    """Whether the number of ones of each number below 2^32 is odd."""
    folded = numbers
    for shift in (16, 8, 4, 2, 1):
        folded = folded ^ (folded >> shift)
    return folded & 1


def walsh_hadamard(column: Floats) -> Floats:
    """The sums of a column whose length is a power of two, each term with the sign of a parity of common ones."""
    sums, half = column.copy(), 1
    while half < len(sums):
        pairs = sums.reshape(-1, 2, half)
        sums = np.stack((pairs[:, 0] + pairs[:, 1], pairs[:, 0] - pairs[:, 1]), axis=1).reshape(-1)
        half *= 2
    return sums
