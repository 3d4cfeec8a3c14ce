"""Levels of a column: what each distinct value becomes at each step of a generalisation hierarchy."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from discreet.anonymity.classes.cube import Codes
from discreet.errors import ParameterError


@dataclass(frozen=True)
class GeneralisationLevels:
    """The hierarchy of one column, applied to its distinct values.

    Level 0 is the value itself. Each level is coarser than the one before: values that are alike at one level are alike
    at all higher ones. Counts roll up for that reason alone, so levels that are not nested are refused.

    Attributes:
        codes: For each level the code of each distinct value; `codes[0]` counts up from 0.
        labels: For each level the text of each code; None is a missing value.
    """

    codes: tuple[Codes, ...]
    labels: tuple[tuple[str | None, ...], ...]

    def __post_init__(self) -> None:
        require_nested(self.codes)

    @property
    def height(self) -> int:
        """The number of the highest level."""
        return len(self.codes) - 1


def require_nested(levels: Sequence[Codes]) -> None:
    """Refuse levels that part values which a lower level holds alike."""
    for number, (fine, coarse) in enumerate(pairwise(levels)):
        parents = np.zeros(int(fine.max(initial=-1)) + 1, dtype=np.int64)
        parents[fine] = coarse
        broken = int(np.count_nonzero(parents[fine] != coarse))
        if broken:
            raise ParameterError(
                f"level {number + 1} of a hierarchy, which parts {broken:,} values",
                because=f"values that are alike at level {number} must be alike above it",
                instead=f"one group at level {number + 1} for each group at level {number}",
            )
