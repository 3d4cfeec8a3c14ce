"""The choice of an oracle: the least variance among those whose reports fit.

Variances are those of the count of a rare value, for each report, and for local hashing also what hash functions cost
at the expected number of reports, at its largest. Everything follows from the domain, epsilon, the expected number of
reports and the largest length of a report, which are public.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from discreet.errors import ParameterError
from discreet.local.oracles.duchi import DuchiResponse
from discreet.local.oracles.fields import write_ratio
from discreet.local.oracles.hadamard import HadamardResponse
from discreet.local.oracles.hybrid import HybridResponse
from discreet.local.oracles.krr import KaryResponse
from discreet.local.oracles.local_hashing import LocalHashing
from discreet.local.oracles.mean import MeanOracle
from discreet.local.oracles.oracle import FrequencyOracle
from discreet.local.oracles.projective_geometry import ProjectiveGeometryResponse
from discreet.local.oracles.randomizer import LocalRandomizer, ratio_within
from discreet.local.oracles.subset import SubsetSelection
from discreet.local.oracles.unary import UnaryEncoding
from discreet.local.report_format import HEADER_BYTES, MOST_COHORTS, TASK_ID_BYTES

LARGEST_DECODING = 2**27
FLOOR_SHARE = 0.01


@dataclass(frozen=True)
class Setting:
    """Public facts that the choice depends on.

    Attributes:
        size: Number of slots.
        epsilon: The stated loss of one value.
        reports: Expected number of reports.
        max_bytes: Largest length of a report.
        is_numeric: Whether a mean is wanted.
        epsilon_second: The stated loss of a fresh stage; None for one stage.
        has_cohorts: Whether clients may be split into cohorts.
    """

    size: int
    epsilon: Fraction
    reports: int
    max_bytes: int = 40
    is_numeric: bool = False
    epsilon_second: Fraction | None = None
    has_cohorts: bool = True

    @property
    def payload_bytes(self) -> int:
        """Largest length of a payload."""
        return self.max_bytes - HEADER_BYTES


@dataclass(frozen=True)
class OracleChoice:
    """An oracle with what a task needs beside it.

    Attributes:
        oracle: The oracle of one report, or of the permanent stage.
        cohorts: Number of cohorts.
        second: Parameters of the fresh stage, if there is one.
        variance: Variance of a count, for each report.
    """

    oracle: LocalRandomizer
    cohorts: int
    second: dict[str, Any] | None
    variance: float

    @property
    def report_bytes(self) -> int:
        """Length of a report."""
        return HEADER_BYTES + self.oracle.payload_bytes


def choose(setting: Setting) -> OracleChoice:
    """The oracle of least variance whose reports fit.

    Args:
        setting: What the choice depends on.

    Returns:
        The choice; of equal variances, that of shorter reports.

    Raises:
        ParameterError: If no report fits.
    """
    fitting = [choice for choice in alternatives(setting) if choice.report_bytes <= setting.max_bytes]
    if not fitting:
        raise ParameterError(
            f"max_bytes={setting.max_bytes}",
            because=f"a report has {HEADER_BYTES} bytes and a payload",
            instead=f"max_bytes={min(choice.report_bytes for choice in alternatives(setting))}",
        )
    return min(fitting, key=lambda choice: (choice.variance, choice.report_bytes))


def alternatives(setting: Setting) -> list[OracleChoice]:
    """The best of each kind of oracle, also where its reports do not fit.

    Args:
        setting: What the choice depends on.

    Returns:
        The choices, least variance first.

    Raises:
        ParameterError: If there are two stages for a mean.
    """
    if setting.is_numeric and setting.epsilon_second is not None:
        raise ParameterError(
            "two stages of an oracle of a mean",
            because="its permanent report would link the reports of a client",
            instead='repeat="memoised", or a domain of values in place of a range',
        )
    kinds = _means(setting) if setting.is_numeric else _frequencies(setting)
    if setting.epsilon_second is not None:
        kinds = _two_stages(setting, setting.epsilon_second)
    return sorted(kinds, key=lambda choice: (choice.variance, choice.report_bytes))


def cohorts_for(oracle: LocalHashing, reports: int) -> int:
    """Number of hash functions: their error is 1% of the variance of all reports, or as small as decoding allows.

    Args:
        oracle: Local hashing.
        reports: Expected number of reports.

    Returns:
        At most 65,536, the number of reports, and 2^27 hashes in all.
    """
    wanted = math.ceil(reports / ((oracle.buckets - 1) * oracle.variance() * FLOOR_SHARE))
    return max(1, min(wanted, reports, MOST_COHORTS, LARGEST_DECODING // oracle.size))


def _means(setting: Setting) -> Iterator[OracleChoice]:
    steps = setting.size - 1
    oracles: tuple[MeanOracle, ...] = (
        DuchiResponse.calibrate(steps, setting.epsilon),
        HybridResponse.calibrate(steps, setting.epsilon),
    )
    for oracle in oracles:
        yield OracleChoice(oracle, 1, None, oracle.variance())


def _frequencies(setting: Setting) -> Iterator[OracleChoice]:
    size, epsilon, room = setting.size, setting.epsilon, setting.payload_bytes
    oracles: list[FrequencyOracle] = [
        KaryResponse.calibrate(size, epsilon),
        UnaryEncoding.optimal(size, epsilon),
        UnaryEncoding.symmetric(size, epsilon),
        SubsetSelection.calibrate(size, epsilon),
        SubsetSelection.calibrate(size, epsilon, room),
        HadamardResponse.calibrate(size, epsilon),
        ProjectiveGeometryResponse.calibrate(size, epsilon),
        ProjectiveGeometryResponse.calibrate(size, epsilon, room),
    ]
    for oracle in dict.fromkeys(oracles):
        yield OracleChoice(oracle, 1, None, oracle.variance())
    if setting.has_cohorts:
        yield _hashing(setting, LocalHashing.calibrate(size, epsilon), None)


def _hashing(setting: Setting, oracle: LocalHashing, second: dict[str, Any] | None) -> OracleChoice:
    cohorts = cohorts_for(oracle, setting.reports)
    bound = oracle.bind(bytes(TASK_ID_BYTES), cohorts)
    decoder = bound if second is None else bound.compose(second)
    return OracleChoice(oracle, cohorts, second, decoder.report_variance(setting.reports))


def _two_stages(setting: Setting, epsilon_second: Fraction) -> Iterator[OracleChoice]:
    """Oracles of one symbol: memoised bitmaps of two values differ in many bits, so fresh bits would show a change."""
    size, epsilon = setting.size, setting.epsilon
    ratio = {"ratio": write_ratio(ratio_within(epsilon_second))}
    response = KaryResponse.calibrate(size, epsilon)
    yield OracleChoice(response, 1, ratio, response.compose(ratio).variance())
    if setting.has_cohorts:
        most = min(math.floor(ratio_within(epsilon)) + 2, 256)
        hashings = (LocalHashing(size, buckets, ratio_within(epsilon)) for buckets in range(2, most + 1))
        yield min((_hashing(setting, oracle, ratio) for oracle in hashings), key=lambda choice: choice.variance)
