"""Local randomizers: what a client does to one value, as exact probabilities of each report.

A randomizer is a frozen set of integers that a client can draw from with `below(n)` alone. Its probabilities are
rationals, so the largest likelihood ratio between two values is known exactly, and it is at most e^epsilon because
`ratio_within` rounds down. A slot is the number of an item of the domain, from 0. What a report may be is an outcome: a
symbol, or the sorted slots of a bitmap.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from fractions import Fraction
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from discreet.errors import ParameterError, public_class, short_traceback
from discreet.events import PureEvent
from discreet.exact.numbers import Number, positive
from discreet.exact.rounding import exp_down, log_up, units_down
from discreet.local.oracles.fields import Fields, check_fields

Outcome = int | tuple[int, ...]
Counts = NDArray[np.int64]
Floats = NDArray[np.float64]

RATIO_BITS = 20
LARGEST_EPSILON = 20


@public_class
class LocalRandomizer(ABC):
    """What every oracle has: exact probabilities of its reports, and their form on the wire.

    Attributes:
        kind: Its name in a task.
        title: Its name in the literature.
        FIELDS: The numbers that define it, by attribute, as a task writes and reads them.
        size: Number of slots that a value may have.
        ratio: The largest ratio of the probabilities of one report under two values, exactly.

    Example:
        >>> import discreet as dp
        >>> isinstance(dp.local.oracles.DuchiResponse.calibrate(256, epsilon=1), dp.local.oracles.LocalRandomizer)
        True
    """

    kind: ClassVar[str]
    title: ClassVar[str]
    FIELDS: ClassVar[Fields]
    size: int
    ratio: Fraction

    @property
    @abstractmethod
    def symbols(self) -> int | None:
        """Number of possible symbols; None where a report is a bitmap or a list of slots."""

    @abstractmethod
    def probability(self, outcome: Outcome, slot: int) -> Fraction:
        """Probability of a report, given the value.

        Args:
            outcome: A symbol, or the sorted slots of a bitmap.
            slot: Slot of the value.

        Returns:
            The probability, exactly.
        """

    @abstractmethod
    def pmf(self, slot: int) -> dict[Outcome, Fraction]:
        """Probability of each report, given the value. For small alphabets: all outcomes are listed.

        Args:
            slot: Slot of the value.

        Returns:
            Probabilities by outcome. They add up to one.
        """

    @abstractmethod
    def report_variance(self, reports: int) -> float:
        """Variance of an estimated sum, at its largest, divided by the number of reports.

        Args:
            reports: Number of reports.

        Returns:
            The variance of the count of a rare value, with what hash functions cost at this number of reports; of a
            mean, in squared half ranges.
        """

    def to_json(self) -> dict[str, Any]:
        """The oracle as it stands in a task.

        Returns:
            Its kind and its integers.
        """
        numbers = {field.name or name: field.write(getattr(self, name)) for name, field in self.FIELDS.items()}
        return {"kind": self.kind, **numbers}

    @classmethod
    def from_json(cls, fields: Mapping[str, Any]) -> Self:
        """Read an oracle of this kind from a task.

        Args:
            fields: Its kind and its integers.

        Returns:
            The oracle.

        Raises:
            ParameterError: If a field is missing, unknown or outside its range.
        """
        names = {name: field.name or name for name, field in cls.FIELDS.items()}
        check_fields(fields, cls.kind, tuple(names.values()))
        return cls(**{name: cls.FIELDS[name].read(fields[wire], wire) for name, wire in names.items()})

    @property
    def epsilon(self) -> Fraction:
        """A rational at least the logarithm of the ratio, above it by less than 10^-55."""
        return log_up(self.ratio)

    def event(self) -> PureEvent:
        """Event of one report of one value.

        Returns:
            A pure event.
        """
        return PureEvent(self.epsilon)

    @property
    def payload_bytes(self) -> int:
        """Length of the payload of a report, in bytes."""
        return byte_width(self.symbols or 1)

    def payload(self, outcome: Outcome) -> bytes:
        """The payload that stands for an outcome.

        Args:
            outcome: A symbol, or the sorted slots of a bitmap.

        Returns:
            The bytes on the wire.
        """
        return int(outcome).to_bytes(self.payload_bytes, "big")  # type: ignore[arg-type]

    def outcome(self, payload: bytes) -> Outcome:
        """The outcome that a payload stands for, after range checks.

        Args:
            payload: The bytes on the wire.

        Returns:
            A symbol, or the sorted slots of a bitmap.

        Raises:
            ParameterError: If no client that follows the task sends this payload.
        """
        symbol = int.from_bytes(payload, "big")
        if len(payload) != self.payload_bytes or symbol >= (self.symbols or 0):
            raise impossible_payload(self.kind)
        return symbol

    def bind(self, task_id: bytes, cohorts: int) -> Self:  # noqa: ARG002
        """The oracle of one task: local hashing derives its hash functions from the id of the task.

        Args:
            task_id: The first 8 bytes of the hash of the task.
            cohorts: Number of cohorts of the task.

        Returns:
            The same oracle, or one that knows its hash functions.
        """
        return self


@short_traceback
def ratio_within(epsilon: Number) -> Fraction:
    """The largest multiple of 2^-20 that is proved to be at most e^epsilon.

    Args:
        epsilon: The epsilon, above 0 and at most 20.

    Returns:
        A rational above 1.

    Raises:
        ParameterError: If epsilon is outside its range.

    Example:
        >>> import discreet as dp
        >>> dp.local.oracles.ratio_within(1)
        Fraction(2850325, 1048576)
    """
    loss = positive(epsilon, "epsilon")
    steps = units_down(exp_down(min(loss, Fraction(LARGEST_EPSILON))), 1 << RATIO_BITS)
    if loss > LARGEST_EPSILON or steps <= 1 << RATIO_BITS:
        raise ParameterError(
            "an epsilon outside of 0.000001 to 20",
            because="the likelihood ratio of a report is a multiple of 2^-20, above 1",
            instead="epsilon=1",
        )
    return Fraction(steps, 1 << RATIO_BITS)


def byte_width(symbols: int) -> int:
    """Bytes that hold the numbers 0 to symbols - 1; at least one."""
    return max(1, ((symbols - 1).bit_length() + 7) // 8)


def check_slot(slot: int, size: int) -> int:
    """A slot of the domain."""
    if not 0 <= slot < size:
        raise ParameterError(
            f"slot={slot}",
            because=f"slots are numbered from 0 to {size - 1}",
            instead="slot=0",
        )
    return slot


def impossible_payload(kind: str) -> ParameterError:
    """The error for bytes that no client sends."""
    return ParameterError(
        f"a payload that the oracle {kind!r} never sends",
        because="its length or its range is wrong",
        instead="reports of this task, from client.Client",
    )
