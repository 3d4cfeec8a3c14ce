"""Local: reports that are private before they leave a device, and estimates from many of them.

The contract, which every part keeps: a task is public and immutable, and its hash names it; a client draws one report
from one value by integers of the task alone; a collector counts reports and never needs more than the counts; counts of
the same reports are the same in any order and on any engine; estimates are unbiased before anything is done to them.
The guarantee is that of the client's oracle. It holds against the collector too, and it costs far more error than
noise that a collector adds to exact counts: `Task.choose` says how much.
"""

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from discreet.local import collector, estimates, longitudinal, oracles, poisoning
    from discreet.local.amplification import shuffled_event
    from discreet.local.client import Client, ClientError
    from discreet.local.collection import Collection, collection_of
    from discreet.local.domain import SlotDomain
    from discreet.local.rappor import BloomRappor, RapporCandidate
    from discreet.local.simulation import simulate
    from discreet.local.task import Task

_HOMES = {
    "BloomRappor": "rappor",
    "Client": "client",
    "ClientError": "client",
    "Collection": "collection",
    "RapporCandidate": "rappor",
    "SlotDomain": "domain",
    "Task": "task",
    "collection_of": "collection",
    "shuffled_event": "amplification",
    "simulate": "simulation",
}
_MODULES = ("collector", "estimates", "longitudinal", "oracles", "poisoning")

__all__ = [
    "BloomRappor",
    "Client",
    "ClientError",
    "Collection",
    "RapporCandidate",
    "SlotDomain",
    "Task",
    "collection_of",
    "collector",
    "estimates",
    "longitudinal",
    "oracles",
    "poisoning",
    "shuffled_event",
    "simulate",
]


def __getattr__(name: str) -> object:
    """Load a public name from where it lives."""
    if name in _MODULES:
        return importlib.import_module(f"discreet.local.{name}")
    if name not in _HOMES:
        raise AttributeError(f"module 'discreet.local' has no attribute {name!r}")
    value: object = getattr(importlib.import_module(f"discreet.local.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
