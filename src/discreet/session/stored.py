"""Stored answers: when a margin at another confidence can be computed.

An answer is found by what was asked, so the planner may by now choose other noise for the same query. What the
answer says of itself, its margins at the stored confidence, its guarantee and its receipt, is repeated as it stands.
Margins at another confidence are computed from the noise, and that is known from the plan only where the plan is still
the one that was charged.
"""

import json
from collections.abc import Mapping
from fractions import Fraction
from typing import Any, NamedTuple

from discreet import events
from discreet.errors import UnsupportedError
from discreet.exact.numbers import shown
from discreet.ledger import Receipt
from discreet.planner.queries.private_plan import AnswerPlan
from discreet.release.document import Document
from discreet.release.result import DEFAULT_CONFIDENCE
from discreet.version import __version__


class Stamp(NamedTuple):
    """What every result of one charge has: its receipt, whether it is private, and the documents of its queries.

    `is_inferred` says that texts are those of an in-memory table whose column types were inferred.
    """

    receipt: Receipt
    is_private: bool
    documents: tuple[Document, ...]
    is_inferred: bool = False


def header(plan: AnswerPlan, noun: str, stamp: Stamp) -> dict[str, Any]:
    """The fields that a new result of any kind has, `discreet.release.result.Result`; `noun` as in "release"."""
    version = plan.pushdown.scan.version
    return {
        "dataset": plan.dataset,
        "version": version,
        "confidence": DEFAULT_CONFIDENCE,
        "guarantee": plan.guarantee(f"this {noun} from", version),
        "receipt": json.loads(stamp.receipt.to_json()),
        "private": stamp.is_private,
        "library": __version__,
        "document": stamp.documents[0],
    }


def is_charged_for(receipt: Mapping[str, Any], event: events.Event) -> bool:
    """Whether a stored receipt is for the event that is planned now."""
    return bool(receipt["event"] == events.canonical(event))


def planned_otherwise(confidence: Fraction) -> UnsupportedError:
    """Error for margins at another confidence, where the stored noise is not the planned one."""
    level = shown(100 * DEFAULT_CONFIDENCE)
    return UnsupportedError(
        f"confidence={shown(confidence)} for a stored answer with its margins at {level}%",
        because="it has other noise than is planned for this query now",
        instead=f"confidence={shown(DEFAULT_CONFIDENCE)}, or fresh=True for an answer and a charge of its own",
    )
