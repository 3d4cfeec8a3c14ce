"""Accountants: what events cost, each in its own notion of privacy.

The contract: an accountant reads events and nothing else; it is a function named for what it computes, such as
`epsilon(event)`; what it returns is at least the true value; and it refuses, with a reason, an event that it does not
know or a range where its theorem does not hold. The ledger charges by `costs`, under `filters`.

    costs          what an event costs under both filters of a budget, in units of the ledger
    filters        the privacy budget over all queries, for analysts who choose as they go
    pure           sums of epsilons
    approximate    basic, advanced and optimal composition of (epsilon, delta)
    concentrated   sums of rho, and the tight conversion
    renyi          one divergence for each order
    sampled_gaussian, repeated_selection   divergences of a sum over a Poisson sample, and of the best of several runs
    shuffling      one report among others in random order
    pld            privacy-loss distributions, for batches fixed in advance
    group          several units at once
    tradeoff       what an attacker gains: advantage, true positive rate
    calibrate      the least noise that meets a target
    compare        the same events under every accountant
"""

import importlib
from importlib.util import find_spec
from typing import TYPE_CHECKING

from discreet.accounting import approximate, concentrated, costs, filters, group, pure, renyi, tradeoff

if TYPE_CHECKING:
    from discreet.accounting import calibrate, pld, shuffling
    from discreet.accounting.comparison import Comparison, compare

_LOADED_ON_FIRST_USE = {
    "calibrate": "discreet.accounting.calibrate",
    "pld": "discreet.accounting.pld",
    "shuffling": "discreet.accounting.shuffling",
    "compare": "discreet.accounting.comparison:compare",
    "Comparison": "discreet.accounting.comparison:Comparison",
}

__all__ = [
    "Comparison",
    "approximate",
    "calibrate",
    "compare",
    "concentrated",
    "costs",
    "filters",
    "group",
    "pld",
    "pure",
    "renyi",
    "shuffling",
    "tradeoff",
]


if find_spec("dp_accounting") is None:  # a star import leaves out what needs the extra audit
    __all__ = [name for name in __all__ if name != "pld"]


def __getattr__(name: str) -> object:
    """Modules that need scipy and dp_accounting, loaded when first named: importing discreet stays quick."""
    if name not in _LOADED_ON_FIRST_USE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module, _, attribute = _LOADED_ON_FIRST_USE[name].partition(":")
    loaded = importlib.import_module(module)
    return getattr(loaded, attribute) if attribute else loaded


def __dir__() -> list[str]:
    return sorted(__all__)
