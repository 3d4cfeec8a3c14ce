"""What a selection leaves in the ledger, and how it is read back: places in a list of candidates, or keys found."""

import datetime as dt
import json
from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any

from discreet.catalog.catalog import ColumnType, Value
from discreet.ledger import Receipt
from discreet.mechanisms.keys import TopKeys
from discreet.mechanisms.selection import Exponential, PermuteAndFlip, TopK
from discreet.planner.queries.selection import SelectionPlan
from discreet.planner.queries.top_keys import TopKeysPlan
from discreet.release.selection import Chosen
from discreet.session.stored import CONFIDENCE, is_charged_for, planned_otherwise
from discreet.version import __version__

PLACES = "places"
KEYS = "keys"

Selected = SelectionPlan | TopKeysPlan

_MECHANISMS: Mapping[type, str] = {
    Exponential: "exponential",
    PermuteAndFlip: "permute and flip",
    TopK: "top k",
    TopKeys: "top keys",
}
"""The names of mechanisms in stored selections; they stay, whatever the classes are called."""


def body(asked: Selected, chosen: list[Any], receipt: Receipt, *, is_private: bool) -> dict[str, Any]:
    """What is stored: the places of the chosen, or the keys that were found, and what the selection says of itself."""
    plain = [value.isoformat() if isinstance(value, dt.date | dt.datetime) else value for value in chosen]
    return {
        PLACES if isinstance(asked, SelectionPlan) else KEYS: plain,
        "mechanism": _MECHANISMS[type(asked.mechanism)],
        "within": str(asked.within(CONFIDENCE)),
        "confidence": str(CONFIDENCE),
        "guarantee": _guarantee(asked),
        "receipt": json.loads(receipt.to_json()),
        "private": is_private,
        "library": __version__,
    }


def restored(payload: bytes, asked: Selected, confidence: Fraction, *, repeated: bool) -> Chosen:
    """The stored selection among the candidates of the question, which are public, or of keys that were found."""
    stored = json.loads(payload)
    version = asked.pushdown.scan.version
    chosen = Chosen(
        dataset=asked.dataset,
        version=version,
        values=_values(stored, asked),
        candidates=len(asked.contest.candidates) if isinstance(asked, SelectionPlan) else None,
        within=_within(stored, asked, confidence),
        confidence=confidence,
        guarantee=stored.get("guarantee") or _guarantee(asked),
        receipt=stored["receipt"],
        private=stored["private"],
        library=stored["library"],
    )
    return replace(chosen, repeated=repeated)


def _within(stored: dict[str, Any], asked: Selected, confidence: Fraction) -> Fraction:
    """How far below the best the first is, at most; 0.1.0 stored no such thing, and is found by its very plan."""
    if "within" not in stored:
        return asked.within(confidence)
    if Fraction(stored["confidence"]) == confidence:
        return Fraction(stored["within"])
    is_alike = stored["mechanism"] == _MECHANISMS[type(asked.mechanism)]
    if not is_alike or not is_charged_for(stored["receipt"], asked.event):
        raise planned_otherwise(confidence)
    return asked.within(confidence)


def _guarantee(asked: Selected) -> str:
    return asked.guarantee("this selection from", asked.pushdown.scan.version)


def _values(stored: dict[str, Any], asked: Selected) -> tuple[Value | float, ...]:
    if isinstance(asked, SelectionPlan):
        return tuple(asked.contest.candidates[place] for place in stored[PLACES])
    kind = asked.pushdown.keys.columns[0].type
    parse = {ColumnType.DATE: dt.date.fromisoformat, ColumnType.TIMESTAMP: dt.datetime.fromisoformat}.get(kind)
    return tuple(parse(value) if parse and value is not None else value for value in stored[KEYS])
