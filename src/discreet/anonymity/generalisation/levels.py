"""Levels of a column: what each distinct value becomes at each step of a generalisation hierarchy."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from discreet.anonymity.classes.cube import Codes
from discreet.errors import ParameterError, public_class


@public_class
@dataclass(frozen=True)
class GeneralisationLevels:
    """The hierarchy of one column, applied to its distinct values.

    Level 0 is the value itself. Each level is coarser than the one before: values that are alike at one level are alike
    at all higher ones. Counts roll up for that reason alone, so other levels are refused, from any maker.

    Attributes:
        codes: For each level the code of each distinct value; `codes[0]` counts up from 0.
        labels: For each level the text of each code; None is a missing value. The labels of level 0 are the values as a
            CSV file has them: a search finds the values of a table by them.

    Raises:
        ParameterError: If levels and labels do not belong together, or a level divides what a lower one joins.

    Example:
        >>> import discreet as dp
        >>> import numpy as np
        >>> codes, labels = (np.arange(3), np.array([0, 0, 1])), (("31", "35", "47"), ("30s", "40s"))
        >>> dp.anonymity.GeneralisationLevels(codes, labels).height
        1
    """

    codes: tuple[Codes, ...]
    labels: tuple[tuple[str | None, ...], ...]

    def __post_init__(self) -> None:
        _require_labels(self.codes, self.labels)
        _require_identity(self.codes[0])
        require_nested(self.codes)

    @property
    def height(self) -> int:
        """The number of the highest level."""
        return len(self.codes) - 1


def _require_labels(levels: Sequence[Codes], labels: Sequence[Sequence[str | None]]) -> None:
    """Refuse levels of unlike lengths, and codes without a label."""
    fits = 0 < len(levels) == len(labels) and len({len(codes) for codes in levels}) == 1
    if not fits or any(
        codes.min(initial=0) < 0 or codes.max(initial=-1) >= len(texts)
        for codes, texts in zip(levels, labels, strict=True)
    ):
        raise ParameterError(
            f"{len(levels)} levels with {len(labels)} lists of labels",
            because="each level has one code for each value, and a label for each code",
            instead='dp.anonymity.GeneralisationLevels((np.arange(2), np.array([0, 0])), (("a", "b"), ("*",)))',
        )


def _require_identity(codes: Codes) -> None:
    """Refuse a level 0 at which two values are alike."""
    if not np.array_equal(codes, np.arange(len(codes))):
        raise ParameterError(
            "level 0 of a hierarchy, which is not the value itself",
            because="level 0 has one group for each value, in their order",
            instead=f"np.arange({len(codes)}) as the codes of level 0",
        )


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
