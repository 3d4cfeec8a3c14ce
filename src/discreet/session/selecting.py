"""What a selection leaves in the ledger, and how it is read back: places in a list of candidates, or keys found."""

import datetime as dt
import json
from dataclasses import replace
from fractions import Fraction
from typing import Any

from discreet.analysis.asked import guarantee
from discreet.analysis.selecting import SelectionPlan
from discreet.analysis.topmost import TopKeysPlan
from discreet.catalog import ColumnType, Value
from discreet.chosen import Chosen
from discreet.ledger import Receipt
from discreet.version import __version__

PLACES = "places"
KEYS = "keys"


def body(places: list[int], receipt: Receipt, *, is_private: bool) -> dict[str, Any]:
    """What is stored: the places of the chosen, and the receipt."""
    return {PLACES: places, "receipt": json.loads(receipt.to_json()), "private": is_private, "library": __version__}


def body_of_keys(found: list[Value], receipt: Receipt, *, is_private: bool) -> dict[str, Any]:
    """What is stored where candidates were not known: the keys themselves, and the receipt."""
    plain = [value.isoformat() if isinstance(value, dt.date | dt.datetime) else value for value in found]
    return {KEYS: plain, "receipt": json.loads(receipt.to_json()), "private": is_private, "library": __version__}


def restored(payload: bytes, asked: SelectionPlan | TopKeysPlan, confidence: Fraction, *, repeated: bool) -> Chosen:
    """The stored selection among the candidates of the question, which are public, or of keys that were found."""
    stored = json.loads(payload)
    version = asked.pushdown.scan.version
    chosen = Chosen(
        dataset=asked.dataset,
        version=version,
        values=_values(stored, asked),
        candidates=len(asked.contest.candidates) if isinstance(asked, SelectionPlan) else None,
        within=asked.within(confidence),
        confidence=confidence,
        guarantee=guarantee(asked, "this selection from", version),
        receipt=stored["receipt"],
        private=stored["private"],
        library=stored["library"],
    )
    return replace(chosen, repeated=repeated)


def _values(stored: dict[str, Any], asked: SelectionPlan | TopKeysPlan) -> tuple[Value | float, ...]:
    if isinstance(asked, SelectionPlan):
        return tuple(asked.contest.candidates[place] for place in stored[PLACES])
    kind = asked.pushdown.keys.columns[0].type
    parse = {ColumnType.DATE: dt.date.fromisoformat, ColumnType.TIMESTAMP: dt.datetime.fromisoformat}.get(kind)
    return tuple(parse(value) if parse and value is not None else value for value in stored[KEYS])
