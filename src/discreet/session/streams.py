"""The state of an open sparse vector: what compares answers with a threshold, with noise of its own."""

from collections.abc import Sequence
from fractions import Fraction
from typing import Protocol

from discreet.mechanisms.threshold import Above, Below

Reply = Above | Below
Scalar = int | Fraction


class ThresholdStream(Protocol):
    """What holds answers against a threshold."""

    @property
    def left(self) -> int:
        """How many more may be above."""

    def ask_many(self, values: Sequence[Scalar]) -> list[Reply]:
        """Whether each is above, until the last that may be."""

    def close(self) -> None:
        """Forget the noise."""
