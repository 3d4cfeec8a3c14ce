"""Oracles: how one report is made from one value, with exact probabilities, and how counts are estimated from reports.

A slot is the number of an item of the domain. The contract: an oracle is a frozen set of integers that a client in any
language can draw from. Its largest likelihood ratio is a rational, `ratio`. A frequency oracle estimates counts of
values, an oracle of a mean has a score for each report. Both are unbiased. Each module is one oracle and is registered
here under its kind in a task.
"""

import importlib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from discreet.errors import ParameterError, short_traceback
from discreet.local.oracles.mean import MeanOracle
from discreet.local.oracles.oracle import FrequencyOracle
from discreet.local.oracles.randomizer import LocalRandomizer, ratio_within

if TYPE_CHECKING:
    from discreet.local.oracles.duchi import DuchiResponse
    from discreet.local.oracles.hadamard import HadamardResponse
    from discreet.local.oracles.hybrid import HybridResponse
    from discreet.local.oracles.krr import KaryResponse
    from discreet.local.oracles.local_hashing import LocalHashing
    from discreet.local.oracles.projective_geometry import ProjectiveGeometryResponse
    from discreet.local.oracles.subset import SubsetSelection
    from discreet.local.oracles.unary import UnaryEncoding

_ORACLES = {
    "krr": ("krr", "KaryResponse"),
    "unary": ("unary", "UnaryEncoding"),
    "subset": ("subset", "SubsetSelection"),
    "lh": ("local_hashing", "LocalHashing"),
    "hadamard": ("hadamard", "HadamardResponse"),
    "pgr": ("projective_geometry", "ProjectiveGeometryResponse"),
    "duchi": ("duchi", "DuchiResponse"),
    "hybrid": ("hybrid", "HybridResponse"),
}
"""The module and the class of each oracle, by its kind in a task, which stays when a class is renamed."""

KINDS = tuple(_ORACLES)
_MODULES = {name: module for module, name in _ORACLES.values()}

__all__ = [
    "DuchiResponse",
    "FrequencyOracle",
    "HadamardResponse",
    "HybridResponse",
    "KaryResponse",
    "LocalHashing",
    "LocalRandomizer",
    "MeanOracle",
    "ProjectiveGeometryResponse",
    "SubsetSelection",
    "UnaryEncoding",
    "from_json",
    "ratio_within",
]


@short_traceback
def from_json(fields: Mapping[str, Any]) -> LocalRandomizer:
    """Read an oracle from a task.

    Args:
        fields: Its kind and its integers.

    Returns:
        The oracle.

    Raises:
        ParameterError: If the kind is not known, or a field is missing or outside its range.

    Example:
        >>> import discreet as dp
        >>> dp.local.oracles.from_json({"kind": "krr", "size": 2, "ratio": [3, 1]})
        KaryResponse(size=2, ratio=Fraction(3, 1))
    """
    kind = fields.get("kind")
    if kind not in KINDS:
        raise ParameterError(
            f"an oracle of kind {kind!r}",
            because=f"the kinds of oracles are {', '.join(KINDS)}",
            instead="a task of Task.choose, or a later version of discreet",
        )
    oracle: type[LocalRandomizer] = _load(_ORACLES[kind][1])
    return oracle.from_json(fields)


def __getattr__(name: str) -> object:
    """Load a public name from where it lives."""
    if name not in _MODULES:
        raise AttributeError(f"module 'discreet.local.oracles' has no attribute {name!r}")
    value: object = _load(name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)


def _load(name: str) -> Any:
    return getattr(importlib.import_module(f"discreet.local.oracles.{_MODULES[name]}"), name)
