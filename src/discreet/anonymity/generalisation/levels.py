"""Levels of a column: what each distinct value becomes at each step of a generalisation hierarchy."""

from dataclasses import dataclass

from discreet.anonymity.classes.cube import Codes


@dataclass(frozen=True)
class GeneralisationLevels:
    """The hierarchy of one column, applied to its distinct values.

    Level 0 is the value itself. Each level is coarser than the one before: values that are alike at one level are alike
    at all higher ones. That makes counts roll up and is checked when the levels are made.

    Attributes:
        codes: For each level the code of each distinct value; `codes[0]` counts up from 0.
        labels: For each level the text of each code; None is a missing value.
    """

    codes: tuple[Codes, ...]
    labels: tuple[tuple[str | None, ...], ...]

    @property
    def height(self) -> int:
        """The number of the highest level."""
        return len(self.codes) - 1
