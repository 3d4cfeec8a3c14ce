"""k-ary randomized response: the value itself with the larger probability, or any other value.

Definition
    A client with slot x of d slots reports y with P[y | x] = r/(r + d - 1) for y = x, and 1/(r + d - 1) for each other
    y. With d = 2 it is Warner's randomized response. The two-coin form answers truly if a first fair coin shows
    heads and by a second fair coin if not: the same with d = 2 and r = 3. Draw: u below a + b (d - 1), where r = a/b;
    u < a reports x, and the others stand for the other slots in order.

Guarantee
    If r <= e^epsilon, one report is epsilon-locally differentially private. The largest likelihood ratio is r, so the
    loss is exactly ln r. Two stages are the oracle of the same kind with the ratio that `compose` states. Proof:
    docs/proofs/local/oracles/krr.md.

Exactness
    Probabilities are rationals and draws are integers below a whole number. `epsilon` is ln r rounded up. Variances and
    estimates are floats.

Not covered
    Several reports of one client: their losses add, unless the report is memoised. False reports: `influence` states
    what one is worth.

References
    Warner, Randomized Response, 1965. Kairouz, Oh and Viswanath, Extremal Mechanisms for Local Differential Privacy,
    JMLR 2016. Wang, Blocki, Li and Jha, Locally Differentially Private Protocols for Frequency Estimation, 2017.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Self

import numpy as np

from discreet.errors import public_class
from discreet.local.oracles.fields import Fields, check_ratio, check_size, ratio_field, whole_field
from discreet.local.oracles.oracle import TwoLevelOracle, merge_cohorts
from discreet.local.oracles.randomizer import Counts, Floats


@public_class
@dataclass(frozen=True)
class KaryResponse(TwoLevelOracle):
    """k-ary randomized response.

    Args:
        size: Number of slots, at least 2.
        ratio: Likelihood ratio of the true slot to another, above 1.

    Raises:
        ParameterError: If an argument is outside its range.

    Example:
        >>> import discreet as dp
        >>> oracle = dp.local.oracles.KaryResponse.calibrate(1024, epsilon=1)
        >>> round(oracle.variance())
        347
    """

    kind: ClassVar[str] = "krr"
    title: ClassVar[str] = "k-ary randomized response"
    FIELDS: ClassVar[Fields] = {"size": whole_field(), "ratio": ratio_field}

    size: int
    ratio: Fraction

    def __post_init__(self) -> None:
        check_size(self.size)
        check_ratio(self.ratio)

    @classmethod
    def two_coin(cls) -> Self:
        """The form with two fair coins: a yes or no with ratio 3, so epsilon ln 3.

        Returns:
            The oracle of two slots.
        """
        return cls(2, Fraction(3))

    @property
    def symbols(self) -> int:
        """Number of symbols, which is that of slots."""
        return self.size

    @property
    def support_size(self) -> int:
        """One: the slot itself."""
        return 1

    @property
    def shared_size(self) -> int:
        """None: a report supports one slot."""
        return 0

    def support_symbols(self, slot: int) -> Counts:
        """The slot itself.

        Args:
            slot: The slot.

        Returns:
            One symbol.
        """
        return np.array([slot])

    def is_supporting(self, symbol: int, slot: int) -> bool:
        """Whether the symbol is the slot.

        Args:
            symbol: The symbol.
            slot: The slot.

        Returns:
            Whether it is.
        """
        return symbol == slot

    def support(self, counts: Counts) -> Floats:
        """Reports of each slot.

        Args:
            counts: Reports by symbol; a row for each cohort, or one row.

        Returns:
            A number for each slot.
        """
        return merge_cohorts(counts).astype(np.float64)

    def compose(self, second: Mapping[str, Any]) -> "KaryResponse":
        """The oracle of a memoised report that is randomised again.

        Args:
            second: The ratio of the fresh stage, {"ratio": [a, b]}.

        Returns:
            The oracle that decodes such reports.

        Raises:
            ParameterError: If the ratio is outside its range.
        """
        fresh = self.second_ratio(second)
        others = self.size - 1
        true = self.ratio * fresh + others
        return KaryResponse(self.size, true / (self.ratio + fresh + others - 1))
