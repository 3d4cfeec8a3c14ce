"""Every kind of query that is answered once: the list that the pipeline uses."""

from typing import Any

from discreet.session.batches import Batches
from discreet.session.estimates import Applications, SmoothEstimates
from discreet.session.found_slots import SlotSearches
from discreet.session.kind import QuestionKind, Request
from discreet.session.models import Models
from discreet.session.selections import Selections
from discreet.session.synthesis import SyntheticTables
from discreet.session.tables import Tables

SINGLE: tuple[QuestionKind[Any], ...] = (
    Tables(),
    Selections(),
    SmoothEstimates(),
    Applications(),
    Models(),
    SyntheticTables(),
    SlotSearches(),
)
KINDS: tuple[QuestionKind[Any], ...] = (*SINGLE, Batches(SINGLE))


def kind_of(request: Request) -> QuestionKind[Any]:
    """The kind of a request."""
    return next(kind for kind in KINDS if kind.accepts(request))
