"""Simple events: one mechanism each, with the numbers that its privacy cost depends on."""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from discreet.errors import ParameterError, public_class
from discreet.exact.numbers import positive, rational, whole


@public_class
@dataclass(frozen=True)
class PureEvent:
    """Any epsilon-differentially private mechanism.

    Args:
        epsilon: The epsilon, at least 0.

    Example:
        >>> import discreet as dp
        >>> dp.events.PureEvent(0.5)
        PureEvent(epsilon=Fraction(1, 2))
    """

    epsilon: Fraction

    def __post_init__(self) -> None:
        read_field(self, "epsilon", not_negative)


@public_class
@dataclass(frozen=True)
class BoundedRangeEvent:
    """Mechanism of epsilon-bounded range, such as the exponential mechanism.

    Args:
        epsilon: Length of the interval of its privacy losses.

    Example:
        >>> import discreet as dp
        >>> event = dp.events.BoundedRangeEvent(0.5)
    """

    epsilon: Fraction

    def __post_init__(self) -> None:
        read_field(self, "epsilon", not_negative)


@public_class
@dataclass(frozen=True)
class ApproximateEvent:
    """Any (epsilon, delta)-differentially private mechanism.

    Args:
        epsilon: The epsilon, at least 0.
        delta: The delta, from 0 to 1.

    Example:
        >>> import discreet as dp
        >>> event = dp.events.ApproximateEvent(0.5, 1e-9)
    """

    epsilon: Fraction
    delta: Fraction

    def __post_init__(self) -> None:
        read_field(self, "epsilon", not_negative)
        read_field(self, "delta", at_most_one)


@public_class
@dataclass(frozen=True)
class ApproximateConcentratedEvent:
    """Mechanism that is (epsilon, delta)-differentially private and also rho-zCDP, such as a batch fixed in advance.

    Args:
        epsilon: The epsilon, at least 0.
        delta: The delta, from 0 to 1.
        rho: The rho, at least 0; it holds without the delta.

    Example:
        >>> import discreet as dp
        >>> event = dp.events.ApproximateConcentratedEvent(0.5, 1e-9, 0.01)
    """

    epsilon: Fraction
    delta: Fraction
    rho: Fraction

    def __post_init__(self) -> None:
        read_field(self, "epsilon", not_negative)
        read_field(self, "delta", at_most_one)
        read_field(self, "rho", not_negative)


@public_class
@dataclass(frozen=True)
class ConcentratedEvent:
    """Any delta-approximately rho-zCDP mechanism.

    Args:
        rho: The rho, at least 0.
        delta: The delta, from 0 to 1. Default 0.

    Example:
        >>> import discreet as dp
        >>> event = dp.events.ConcentratedEvent(0.01)
    """

    rho: Fraction
    delta: Fraction = Fraction(0)

    def __post_init__(self) -> None:
        read_field(self, "rho", not_negative)
        read_field(self, "delta", at_most_one)


@public_class
@dataclass(frozen=True)
class DiscreteLaplaceEvent:
    """Integers with independent discrete Laplace noise: P[y] proportional to exp(-|y|/scale).

    Args:
        scale: The scale.
        sensitivity: The L1 sensitivity.

    Example:
        >>> import discreet as dp
        >>> event = dp.events.DiscreteLaplaceEvent(10, 1)
    """

    scale: Fraction
    sensitivity: Fraction

    def __post_init__(self) -> None:
        read_field(self, "scale", positive)
        read_field(self, "sensitivity", not_negative)


@public_class
@dataclass(frozen=True)
class DiscreteGaussianEvent:
    """Integers with independent discrete Gaussian noise: P[y] proportional to exp(-y^2/(2 variance)).

    Args:
        variance: The square of sigma.
        squared_sensitivity: Square of the L2 sensitivity.
        dimension: Number of coordinates that one unit changes. Default 1.

    Example:
        >>> import discreet as dp
        >>> event = dp.events.DiscreteGaussianEvent(100, 1)
    """

    variance: Fraction
    squared_sensitivity: Fraction
    dimension: int = 1

    def __post_init__(self) -> None:
        read_field(self, "variance", positive)
        read_field(self, "squared_sensitivity", not_negative)
        read_field(self, "dimension", whole)


@public_class
@dataclass(frozen=True)
class LaplaceEvent:
    """Continuous Laplace noise, for study: discreet does not draw it.

    Args:
        scale: The scale.
        sensitivity: The L1 sensitivity.

    Example:
        >>> import discreet as dp
        >>> event = dp.events.LaplaceEvent(10, 1)
    """

    scale: Fraction
    sensitivity: Fraction

    def __post_init__(self) -> None:
        read_field(self, "scale", positive)
        read_field(self, "sensitivity", not_negative)


@public_class
@dataclass(frozen=True)
class GaussianEvent:
    """Continuous Gaussian noise, for study: discreet does not draw it.

    Args:
        variance: The variance.
        squared_sensitivity: Square of the L2 sensitivity.

    Example:
        >>> import discreet as dp
        >>> event = dp.events.GaussianEvent(100, 1)
    """

    variance: Fraction
    squared_sensitivity: Fraction

    def __post_init__(self) -> None:
        read_field(self, "variance", positive)
        read_field(self, "squared_sensitivity", not_negative)


@public_class
@dataclass(frozen=True)
class SampledGaussianEvent:
    """Sum over a Poisson sample of the units, in integers, with independent discrete Gaussian noise.

    Every unit is in the sample with probability `rate`, independently of the others and of all earlier samples, and
    the sample is not published. Neighbours differ by one unit more or less. The event does not hold for neighbours
    that replace a unit.

    Args:
        rate: The probability, above 0 and at most 1.
        variance: The square of sigma.
        squared_sensitivity: Square of the L2 sensitivity: of the largest vector that a sampled unit adds.

    Example:
        >>> import discreet as dp
        >>> step = dp.events.SampledGaussianEvent(0.01, 100, 1)
        >>> steps = dp.events.RepeatedEvent(step, 1_000)
    """

    rate: Fraction
    variance: Fraction
    squared_sensitivity: Fraction

    def __post_init__(self) -> None:
        read_field(self, "rate", _sampling_rate)
        read_field(self, "variance", positive)
        read_field(self, "squared_sensitivity", not_negative)


def read_field(event: object, name: str, reader: Callable[[object, str], object]) -> None:
    """Replace a field of a frozen event by what a reader returns for it."""
    object.__setattr__(event, name, reader(getattr(event, name), name))


def not_negative(value: object, name: str) -> Fraction:
    """A rational of at least zero."""
    number = rational(value, name)
    if number < 0:
        raise ParameterError(
            f"{name} below zero",
            because=f"{name} must be at least zero",
            instead=f"{name}=0.1, or another number of at least zero",
        )
    return number


def at_most_one(value: object, name: str) -> Fraction:
    """A probability."""
    number = not_negative(value, name)
    if number > 1:
        raise ParameterError(
            f"{name} above one",
            because=f"{name} is a probability",
            instead=f"{name}=1e-9, or another small probability",
        )
    return number


def _sampling_rate(value: object, name: str) -> Fraction:
    number = positive(value, name)
    if number > 1:
        raise ParameterError(
            f"{name} above one",
            because=f"{name} is the probability that a unit is in the sample",
            instead=f"{name}=0.01, or another probability above zero",
        )
    return number
