"""discreet: private answers from the engine you already have.

    import discreet as dp

    session = dp.protect("visits.csv", privacy_unit="patient_id", max_rows=10, budget=dp.Budget(epsilon=2))
    session.release(dp.table("visits").agg(n=dp.count()), epsilon=0.5)

Names load on first use, so that `import discreet` stays quick (docs/decisions/008-lazy-names.md).
"""

import importlib
from typing import TYPE_CHECKING

from discreet.version import __version__

if TYPE_CHECKING:
    from discreet import accounting, attacks, auditing, datasets, errors, events, mechanisms, plots, sandbox, testing
    from discreet.accounting.filters import Budget
    from discreet.aggregates import (
        count,
        count_distinct,
        count_units,
        interquartile_range,
        mean,
        median,
        sum,  # noqa: A004 - dp.sum is the name that people type
    )
    from discreet.catalog import Catalog
    from discreet.chosen import Chosen
    from discreet.errors import Failure, LedgerError, Refusal
    from discreet.estimate import Estimate
    from discreet.explanation import Explanation
    from discreet.frame import table
    from discreet.guarantee import Guarantee
    from discreet.ledger import Receipt, SQLiteLedger
    from discreet.release import Release
    from discreet.scoring import score
    from discreet.session import Session, protect
    from discreet.slice import Slice
    from discreet.unit import ROW

_HOMES = {
    "ROW": "unit",
    "Budget": "accounting.filters",
    "Catalog": "catalog",
    "Chosen": "chosen",
    "Estimate": "estimate",
    "Explanation": "explanation",
    "Failure": "errors",
    "Guarantee": "guarantee",
    "LedgerError": "errors",
    "Receipt": "ledger",
    "Refusal": "errors",
    "Release": "release",
    "SQLiteLedger": "ledger",
    "Session": "session",
    "Slice": "slice",
    "count": "aggregates",
    "count_distinct": "aggregates",
    "count_units": "aggregates",
    "interquartile_range": "aggregates",
    "mean": "aggregates",
    "median": "aggregates",
    "protect": "session",
    "score": "scoring",
    "sum": "aggregates",
    "table": "frame",
}
_MODULES = (
    "accounting",
    "attacks",
    "auditing",
    "datasets",
    "errors",
    "events",
    "mechanisms",
    "plots",
    "sandbox",
    "testing",
)

__all__ = [
    "ROW",
    "Budget",
    "Catalog",
    "Chosen",
    "Estimate",
    "Explanation",
    "Failure",
    "Guarantee",
    "LedgerError",
    "Receipt",
    "Refusal",
    "Release",
    "SQLiteLedger",
    "Session",
    "Slice",
    "__version__",
    "accounting",
    "attacks",
    "auditing",
    "count",
    "count_distinct",
    "count_units",
    "datasets",
    "errors",
    "events",
    "interquartile_range",
    "mean",
    "mechanisms",
    "median",
    "plots",
    "protect",
    "sandbox",
    "score",
    "sum",
    "table",
    "testing",
]


def __getattr__(name: str) -> object:
    """Load a public name from where it lives."""
    if name in _MODULES:
        return importlib.import_module(f"discreet.{name}")
    if name not in _HOMES:
        raise _unknown(name)
    value: object = getattr(importlib.import_module(f"discreet.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def _unknown(name: str) -> AttributeError:
    if name.startswith("_"):
        return AttributeError(f"module 'discreet' has no attribute {name!r}")
    hints = importlib.import_module("discreet.hints")
    refusal: AttributeError = hints.unknown_call("module 'discreet'", name, hints.MODULE, __all__, "dp.{}")
    return refusal


def __dir__() -> list[str]:
    return sorted(__all__)
