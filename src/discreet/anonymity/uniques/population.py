"""Population uniqueness: how many people who are alone in the sample are alone in the population too, by estimate.

Three estimators read the class sizes of a sample, and the rule of Dankar, El Emam, Neisa and Roffey (2012, BMC Medical
Informatics and Decision Making 12:66) chooses one, as ARX implements it: for a sampling fraction of at most 10% Pitman,
and Zayatz where Pitman has no solution; above 10% the smaller of SNB and Zayatz, and Zayatz where SNB has no solution.
An estimator without a solution has no number and says why.

These are models, not bounds. On many simulated populations all of them were 2 to 10 times off. Zayatz, and Pitman at
its boundary, can be more than 1,000 times too high: in one simulation Zayatz gave 184,169 where 132 were unique. One
limit holds without a model, in expectation: a population unique is in the sample with the probability of the sampling
fraction, and is then a sample unique.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from discreet.anonymity.classes.risk import AnonymityMeasures
from discreet.anonymity.owners import OwnerResult
from discreet.anonymity.uniques.estimators import (
    Ints,
    PopulationEstimate,
    SampleHistogram,
    estimate_pitman,
    estimate_snb,
    estimate_zayatz,
)
from discreet.errors import ParameterError, public_class, short_traceback
from discreet.exact.numbers import Number, positive, whole

STAND_IN = "zayatz stands in for an estimator without a solution; it can be more than 1,000 times too high"
CENSUS = "the sample is the population: its uniques are counted, not estimated"
NO_UNIQUES = "nobody is alone in the sample; the estimate is 0, which does not show that nobody is in the population"
MODELS = (
    "estimates under models, not bounds: in simulations all were often 2 to 10 times off, and zayatz more than 1,000 "
    "times too high (184,169 where 132 were unique)"
)
PEOPLE = "people"
PAIRS = "pairs of a person and a class"

_SMALL_FRACTION = Fraction(1, 10)


@public_class
@dataclass(frozen=True, repr=False)
class PopulationUniques(OwnerResult):
    """Estimated number of people who are alone in their class in the population.

    Attributes:
        people: Number of people in the sample; of pairs of a person and a class where persons have several rows.
        classes: Number of classes in the sample.
        sample_uniques: Number of people who are alone in their class in the sample.
        sampling_fraction: Share of the population that is in the sample.
        population: Number of people in the population.
        uniques: The estimate that Dankar's rule chooses.
        method: The name of the estimator that it chooses, or "census" where the sample is the population.
        ceiling: Sample uniques over the sampling fraction; more population uniques than that are not to be expected.
        estimates: The result of each estimator; `uniques` is None where it has no solution.
        limits: What limits the estimate, in sentences.
        unit: What is counted: people, or pairs of a person and a class.

    Example:
        >>> import discreet as dp
        >>> found = dp.anonymity.population_uniques([(1, 40), (2, 10), (5, 8)], sampling_fraction=0.05)
        >>> found.method, round(found.uniques), found.ceiling
        ('pitman', 144, 800)
    """

    kind = "population uniques"

    people: int
    classes: int
    sample_uniques: int
    sampling_fraction: Fraction
    population: int
    uniques: float
    method: str
    ceiling: int
    estimates: tuple[PopulationEstimate, ...]
    limits: tuple[str, ...]
    unit: str = PEOPLE

    @property
    def share(self) -> float:
        """Estimated share of the people of the population who are alone."""
        return self.uniques / self.population

    def _lines(self) -> list[str]:
        head = f"about {self.uniques:,.0f} of {self.population:,} {self.unit} are alone in the population"
        alone = f"{self.sample_uniques:,} of {self.people:,} {self.unit} are alone in the sample"
        each = [one.summary for one in self.estimates]
        return [f"{head} ({self.share:.2%}), by {self.method}", alone, *each, *self.limits]


@short_traceback
def population_uniques(
    class_sizes: AnonymityMeasures | Iterable[tuple[int, int]], *, sampling_fraction: Number = Fraction(1, 10)
) -> PopulationUniques:
    """Estimate how many people are alone in their class in the population that a sample is from.

    The sample is assumed to be a simple random sample of people, with one row for each person. Where persons have
    several rows, pairs of a person and a class are counted; bare class sizes are taken for such pairs.

    The estimates are no bounds. On many simulated populations all of them were 2 to 10 times off. Zayatz can be more
    than 1,000 times too high: it gave 184,169 where 132 were unique.

    Args:
        class_sizes: The measures of the sample, or pairs of a class size and the number of classes that have it.
        sampling_fraction: Share of the population that is in the sample, above 0 and at most 1. Default 1/10.

    Returns:
        The estimate that Dankar's rule chooses, all estimates, and their limits.

    Raises:
        ParameterError: If a size or a count is not a whole number of at least 1, a size occurs twice, there is no
            class, classes of the measures overlap, or the fraction is not above 0 and at most 1.

    Example:
        >>> import discreet as dp
        >>> sizes = [(1, 1_200), (2, 300), (3, 90), (10, 25)]
        >>> found = dp.anonymity.population_uniques(sizes, sampling_fraction=0.2)
        >>> [(one.method, round(one.uniques)) for one in found.estimates]
        [('pitman', 2862), ('zayatz', 3817), ('snb', 2901)]
        >>> found.method
        'snb'
    """
    fraction = positive(sampling_fraction, "sampling_fraction")
    if fraction > 1:
        raise ParameterError(
            f"sampling_fraction={sampling_fraction}",
            because="a sample has at most all people of the population",
            instead="sampling_fraction=0.1",
        )
    histogram, unit = _class_sizes(class_sizes)
    sizes, counts = _histogram(histogram)
    people = int((sizes * counts).sum())
    sample = SampleHistogram(sizes, counts, max(people, round(people / fraction)))
    return replace(_choose(sample, fraction), unit=unit)


def _class_sizes(class_sizes: object) -> tuple[Iterable[Any], str]:
    """The histogram, and what it counts."""
    if not isinstance(class_sizes, AnonymityMeasures):
        return class_sizes if isinstance(class_sizes, Iterable) else [class_sizes], PAIRS
    if class_sizes.nulls == "wildcard":
        raise ParameterError(
            'measures with nulls="wildcard"',
            because="classes overlap where a missing cell matches every value",
            instead='dp.anonymity.measure(people, quasi, nulls="value")',
        )
    return class_sizes.class_sizes, PEOPLE if class_sizes.pairs == class_sizes.people else PAIRS


def _histogram(class_sizes: Iterable[Any]) -> tuple[Ints, Ints]:
    found = list(class_sizes)
    others = [pair for pair in found if not isinstance(pair, tuple | list) or len(pair) != 2]
    if others:
        raise ParameterError(
            f"class_sizes with {others[0]!r}",
            because="it lists pairs of a class size and a number of classes",
            instead="dp.anonymity.population_uniques(dp.anonymity.measure(people, quasi))",
        )
    pairs = sorted((whole(size, "class size"), whole(count, "number of classes")) for size, count in found)
    if not pairs or len({size for size, _ in pairs}) != len(pairs):
        raise ParameterError(
            f"class_sizes with {len(pairs)} pairs",
            because="each size that occurs is listed once, and at least one occurs",
            instead="class_sizes=[(1, 40), (2, 10), (5, 8)]",
        )
    return np.array([size for size, _ in pairs]), np.array([count for _, count in pairs])


def _choose(sample: SampleHistogram, fraction: Fraction) -> PopulationUniques:
    ones = sample.classes_of_size(1)
    estimates = (estimate_pitman(sample), estimate_zayatz(sample), estimate_snb(sample))
    method, uniques, limits = _decide(sample, fraction, {one.method: one for one in estimates})
    ceiling = int(ones / fraction)
    if uniques > ceiling and ones:
        limits += (
            f"the estimate is above {ceiling:,}, sample uniques over the sampling fraction: the model does not fit",
        )
    return PopulationUniques(
        people=sample.people,
        classes=sample.classes,
        sample_uniques=ones,
        sampling_fraction=fraction,
        population=sample.population,
        uniques=uniques,
        method=method,
        ceiling=ceiling,
        estimates=estimates,
        limits=limits,
    )


def _decide(
    sample: SampleHistogram, fraction: Fraction, by_name: dict[str, PopulationEstimate]
) -> tuple[str, float, tuple[str, ...]]:
    """The rule of Dankar et al. (2012)."""
    ones = sample.classes_of_size(1)
    pitman, snb = by_name["pitman"], by_name["snb"]
    zayatz = by_name["zayatz"].uniques or 0.0
    if fraction == 1:
        return "census", float(ones), (CENSUS,)
    if not ones:
        return "zayatz", 0.0, (NO_UNIQUES,)
    chosen = pitman if fraction <= _SMALL_FRACTION else snb
    if chosen.uniques is None:
        return "zayatz", zayatz, (MODELS, STAND_IN)
    if chosen is snb and zayatz < chosen.uniques:
        return "zayatz", zayatz, (MODELS,)
    return chosen.method, chosen.uniques, (MODELS, chosen.note) if chosen.note else (MODELS,)
