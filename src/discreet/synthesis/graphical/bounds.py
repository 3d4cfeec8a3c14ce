"""Bounds on the errors of a graphical model: L1 bounds for all candidates.

Definition
    The L1 bound of a candidate limits the sum over all cells of the distance between counts and model. It follows from
    the last round in which the marginal could be chosen: it was described not much worse than the marginal that was
    chosen and measured. Intervals of measured marginals are in `discreet.synthesis.answers.noisy_marginals`.

Guarantee
    All L1 bounds hold together with a probability of at least the confidence, for any data. They hold for the final
    model and for all slots, merged ones included. Proof: docs/proofs/synthesis/graphical/bounds.md.

Exactness
    Bounds are floats of public numbers; privacy does not depend on them.

Not covered
    Marginals that were never a candidate. Sampling error of rows that are drawn from the model.

References
    McKenna, Mullins, Sheldon and Miklau, AIM, VLDB 2022, arXiv 2201.12677, section 5. Canonne, Kamath and Steinke,
    The Discrete Gaussian for Differential Privacy, NeurIPS 2020 (moments).
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from discreet.synthesis.core.domain import Columns
from discreet.synthesis.core.measurement import Measurement
from discreet.synthesis.core.private_counts import Candidate


class BoundTerms(NamedTuple):
    """A bound that fails with a chance of at most e^-l for each event: base + root sqrt(2 l) + log l."""

    base: float
    root: float
    log: float

    def at(self, logarithm: float) -> float:
        """The bound where each event fails with a chance of at most e^-logarithm."""
        return self.base + self.root * math.sqrt(2 * logarithm) + self.log * logarithm


@dataclass(frozen=True)
class MarginalBounds:
    """The L1 bounds of the candidates of a synthesis.

    Attributes:
        events: How many events may fail.
        terms: The bound of each candidate.
    """

    events: int
    terms: Mapping[Columns, BoundTerms]

    def l1(self, columns: Columns, confidence: float = 0.95) -> float | None:
        """A bound on the L1 error of the model's counts of some columns; None if they were never a candidate.

        Args:
            columns: The columns, in the order of the domain.
            confidence: The probability that all bounds hold together. Default 0.95.

        Returns:
            Rows; half of it, divided by the number of rows, bounds the total variation.
        """
        if columns not in self.terms:
            return None
        return max(self.terms[columns].at(math.log(self.events / (1 - confidence))), 0.0)

    def to_json(self) -> dict[str, Any]:
        """The bounds as plain data."""
        return {
            "events": self.events,
            "terms": [{"columns": list(columns), "terms": list(each)} for columns, each in self.terms.items()],
        }


def bounds_from_json(data: Mapping[str, Any]) -> MarginalBounds:
    """The bounds of plain data."""
    return MarginalBounds(
        int(data["events"]), {tuple(each["columns"]): BoundTerms(*each["terms"]) for each in data["terms"]}
    )


def round_terms(
    candidates: Sequence[Candidate], place: int, measurement: Measurement, epsilon: float, l1: int
) -> list[BoundTerms]:
    """What a round says of the distance between the counts and the estimate of each of its candidates.

    Args:
        candidates: The candidates of the round.
        place: The place of the one that was chosen.
        measurement: Its noisy marginal.
        epsilon: The epsilon of the choice.
        l1: How far a unit moves a marginal in L1 norm.

    Returns:
        The bounds, each of which fails with two events of the round.
    """
    chosen = candidates[place]
    distance = float(np.abs(measurement.values - chosen.estimate).sum())
    rate = 2 * l1 * max(each.weight for each in candidates) / epsilon
    base = chosen.weight * distance - chosen.penalty + rate * math.log(len(candidates))
    root = chosen.weight * measurement.sigma * math.sqrt(measurement.values.size)
    return [
        BoundTerms((base + each.penalty) / each.weight, root / each.weight, rate / each.weight)
        if each.weight
        else BoundTerms(math.inf, 0.0, 0.0)
        for each in candidates
    ]


def merged_terms(measurement: Measurement, groups: Sequence[int]) -> BoundTerms:
    """What merged slots of a column add: twice a bound on the rows in slots that are merged with others."""
    sizes = np.bincount(groups)
    inside = sizes[np.asarray(groups)] > 1
    noisy, number = float(measurement.values[inside].sum()), int(inside.sum())
    chosen = measurement.sigma * math.sqrt(2 * number * inside.size * math.log(2))  # merged slots depend on their noise
    return BoundTerms(2 * (noisy + chosen), 2 * measurement.sigma * math.sqrt(number), 0.0)


def sum_terms(terms: Iterable[BoundTerms]) -> BoundTerms:
    """The sum of bounds."""
    return BoundTerms(*(sum(parts) for parts in zip(*terms, strict=True)))
