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
        auto_bounds,
        count,
        count_distinct,
        count_units,
        interquartile_range,
        mean,
        median,
        quantile,
        quantiles,
        std,
        sum,  # noqa: A004 - dp.sum is the name that people type
        variance,
    )
    from discreet.catalog import Catalog
    from discreet.chosen import Chosen
    from discreet.errors import Failure, LedgerError, Refusal
    from discreet.estimate import Estimate
    from discreet.explanation import Explanation
    from discreet.frame import table
    from discreet.guarantee import Guarantee
    from discreet.histograms import bins
    from discreet.joins import largest, smallest
    from discreet.keylists import discover
    from discreet.ledger import Receipt, SQLiteLedger
    from discreet.release import Release
    from discreet.scoring import score
    from discreet.session import Session, protect
    from discreet.slice import Slice
    from discreet.unit import ROW
    from discreet.verifying import verify

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
    "auto_bounds": "aggregates",
    "bins": "histograms",
    "count": "aggregates",
    "count_distinct": "aggregates",
    "count_units": "aggregates",
    "discover": "keylists",
    "interquartile_range": "aggregates",
    "largest": "joins",
    "mean": "aggregates",
    "median": "aggregates",
    "protect": "session",
    "quantile": "aggregates",
    "quantiles": "aggregates",
    "score": "scoring",
    "smallest": "joins",
    "std": "aggregates",
    "sum": "aggregates",
    "table": "frame",
    "variance": "aggregates",
    "verify": "verifying",
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
    "auto_bounds",
    "bins",
    "count",
    "count_distinct",
    "count_units",
    "datasets",
    "discover",
    "errors",
    "events",
    "interquartile_range",
    "largest",
    "mean",
    "mechanisms",
    "median",
    "plots",
    "protect",
    "quantile",
    "quantiles",
    "sandbox",
    "score",
    "smallest",
    "std",
    "sum",
    "table",
    "testing",
    "variance",
    "verify",
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
