"""Synthesis: private synthetic tables from noisy marginals.

The contract, which every synthesizer keeps: slots of columns, candidate marginals and the whole cost are public before
a row is read; a synthesizer receives noisy marginals and private choices, and nothing else.
"""

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from discreet.synthesis.graphical.synthesizer import GraphicalSynthesizer
    from discreet.synthesis.quality.membership import audit_membership
    from discreet.synthesis.quality.owner import owner_quality
    from discreet.synthesis.rows.constraints import Exclusion, Implication
    from discreet.synthesis.tree.independent import IndependentSynthesizer
    from discreet.synthesis.tree.synthesizer import TreeSynthesizer
    from discreet.synthesis.two_level.synthesizer import TwoLevelSynthesizer

_HOMES = {
    "Exclusion": "rows.constraints",
    "GraphicalSynthesizer": "graphical.synthesizer",
    "Implication": "rows.constraints",
    "IndependentSynthesizer": "tree.independent",
    "TreeSynthesizer": "tree.synthesizer",
    "TwoLevelSynthesizer": "two_level.synthesizer",
    "audit_membership": "quality.membership",
    "owner_quality": "quality.owner",
}

__all__ = [
    "Exclusion",
    "GraphicalSynthesizer",
    "Implication",
    "IndependentSynthesizer",
    "TreeSynthesizer",
    "TwoLevelSynthesizer",
    "audit_membership",
    "owner_quality",
]


def __getattr__(name: str) -> object:
    """Load a public name from where it lives."""
    if name not in _HOMES:
        raise AttributeError(f"module 'discreet.synthesis' has no attribute {name!r}")
    value: object = getattr(importlib.import_module(f"discreet.synthesis.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
