"""What an estimate leaves in the ledger, and how it is read back."""

import json
from dataclasses import replace
from fractions import Fraction
from typing import Any

from discreet.ledger import Receipt
from discreet.planner.queries.sample_and_aggregate import SampledPlan
from discreet.planner.queries.smooth_sensitivity import SmoothPlan
from discreet.release.estimate import Estimate, Figure
from discreet.session.stored import is_charged_for, planned_otherwise
from discreet.version import __version__

Estimated = SmoothPlan | SampledPlan


def body(
    asked: Estimated,
    value: Fraction | None,
    receipt: Receipt,
    confidence: Fraction,
    *,
    is_private: bool,
    made: str | None = None,
) -> dict[str, Any]:
    """The estimate as plain data; `made` where more was released about how."""
    version = asked.pushdown.scan.version
    return Estimate(
        dataset=asked.dataset,
        version=version,
        name=asked.name,
        value=None if value is None else _figure(value),
        made=made or asked.made,
        guarantee=asked.guarantee("this estimate from", version),
        receipt=json.loads(receipt.to_json()),
        margin=None if value is None else _margin(asked, confidence),
        confidence=confidence,
        private=is_private,
        library=__version__,
    ).to_json()


def restored(payload: bytes, asked: Estimated, confidence: Fraction, *, repeated: bool) -> Estimate:
    """The stored estimate, with its margin at the confidence asked for."""
    stored = replace(Estimate.from_json(json.loads(payload)), repeated=repeated)
    if stored.confidence == confidence or stored.value is None:
        return replace(stored, confidence=confidence)
    if not is_charged_for(stored.receipt, asked.event) or not stored.made.startswith(asked.made):
        raise planned_otherwise(confidence)
    return replace(stored, margin=_margin(asked, confidence), confidence=confidence)


def _margin(asked: Estimated, confidence: Fraction) -> Figure | None:
    margin = asked.margin(confidence)
    return None if margin is None else _figure(margin)


def _figure(value: Fraction) -> Figure:
    return value.numerator if value.denominator == 1 else value.numerator / value.denominator
