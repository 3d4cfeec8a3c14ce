"""Intervals of counts that were not measured, from the L1 bounds of a graphical model.

Definition
    Let D be counts less the model over the cells of a candidate, and B a bound on the sum of |D|. Let N be the number
    of rows, M that of the model, and d = N - M. The rows in a union of cells exceed the model by at least (d - B) / 2
    and at most (d + B) / 2. d lies in the interval of the number of rows.

Guarantee
    With a probability of at least the confidence, all intervals of counts over candidates hold together, for any table
    and also for queries that are chosen by looking at the release. Proof: docs/proofs/synthesis/answers/bounded.md.

Exactness
    Ends are floats. Potentials of a model are rounded to 6 digits when it is written; what that moves is added.

Not covered
    Marginals that were never a candidate, and sums of numbers. Rows beyond the contribution bounds.

References
    McKenna, Mullins, Sheldon and Miklau, AIM, VLDB 2022, arXiv 2201.12677, section 5.
"""

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from discreet.synthesis.answers.noisy_marginals import NoisyMarginals
from discreet.synthesis.core.domain import Columns
from discreet.synthesis.graphical.bounds import bounds_from_json

TOTAL_SHARE = Fraction(1, 10)
"""The part of what may fail that the interval of the number of rows has."""
_ROUNDING = 1.1e-6


def bounded_count(
    state: Mapping[str, Any], columns: Columns, noisy: NoisyMarginals, confidence: Fraction
) -> tuple[float, float] | None:
    """How far the rows in any union of cells are from the model's: at least and at most.

    Args:
        state: The state of a `SyntheticTable`.
        columns: The columns of the cells.
        noisy: Its measured marginals.
        confidence: Probability with which all such intervals hold.

    Returns:
        The two ends, or None if no candidate has the columns.
    """
    if "bounds" not in state:
        return None
    bounds = bounds_from_json(state["bounds"])
    outside = 1 - confidence
    level = float(1 - outside * (1 - TOTAL_SHARE))
    found = [bounds.l1(each, level) for each in bounds.terms if set(columns) <= set(each)]
    known = [each for each in found if each is not None]
    if not known:
        return None
    model = float(state["model"]["total"])
    error = min(known) + _ROUNDING * len(state["model"]["potentials"]) * max(model, 1.0)
    total = noisy.total(1 - outside * TOTAL_SHARE)
    return (total.lower - model - error) / 2, (total.upper - model + error) / 2
