"""What a selection leaves in the ledger, and how it is read back: places in the list of candidates, nothing else."""

import json
from dataclasses import replace
from fractions import Fraction
from typing import Any

from discreet.analysis.asked import guarantee
from discreet.analysis.selecting import SelectionPlan
from discreet.chosen import Chosen
from discreet.ledger import Receipt
from discreet.version import __version__

PLACES = "places"


def body(places: list[int], receipt: Receipt, *, is_private: bool) -> dict[str, Any]:
    """What is stored: the places of the chosen, and the receipt."""
    return {PLACES: places, "receipt": json.loads(receipt.to_json()), "private": is_private, "library": __version__}


def restored(payload: bytes, asked: SelectionPlan, confidence: Fraction, *, repeated: bool) -> Chosen:
    """The stored selection among the candidates of the question, which are public."""
    stored = json.loads(payload)
    version = asked.pushdown.scan.version
    candidates = asked.contest.candidates
    chosen = Chosen(
        dataset=asked.dataset,
        version=version,
        values=tuple(candidates[place] for place in stored[PLACES]),
        candidates=len(candidates),
        within=asked.within(confidence),
        confidence=confidence,
        guarantee=guarantee(asked, "this selection from", version),
        receipt=stored["receipt"],
        private=stored["private"],
        library=stored["library"],
    )
    return replace(chosen, repeated=repeated)
