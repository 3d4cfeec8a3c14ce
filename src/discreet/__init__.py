"""discreet: private answers from the engine you already have.

    import discreet as dp

    session = dp.protect("visits.csv", privacy_unit="patient_id", max_rows=10, budget=dp.Budget(epsilon=2))
    session.release(dp.table("visits").agg(n=dp.count()), epsilon=0.5)

Names load on first use, so that `import discreet` stays quick (docs/decisions/008-lazy-names.md).
"""

import importlib
from importlib.util import find_spec
from typing import TYPE_CHECKING

from discreet.version import __version__

if TYPE_CHECKING:
    from discreet import (
        accounting,
        anonymity,
        attacks,
        auditing,
        datasets,
        errors,
        events,
        learning,
        local,
        mechanisms,
        plots,
        sandbox,
        synthesis,
        testing,
    )
    from discreet.accounting.filters import Budget
    from discreet.catalog.catalog import Catalog
    from discreet.catalog.imports.importer import import_catalog
    from discreet.catalog.privacy_unit import ROW
    from discreet.catalog.time_slice import Slice
    from discreet.errors import Failure, LedgerError, Refusal
    from discreet.ledger import Receipt, SQLiteLedger
    from discreet.query.aggregates import (
        auto_bounds,
        count,
        count_distinct,
        count_units,
        mean,
        std,
        sum,  # noqa: A004 - dp.sum is the name that people type
        variance,
    )
    from discreet.query.conditional import when
    from discreet.query.frame import table
    from discreet.query.histograms import bins
    from discreet.query.joins import largest, smallest
    from discreet.query.keys import discover
    from discreet.query.methods import ProposedBound, SmoothSensitivity
    from discreet.query.quantiles import interquartile_range, median, quantile, quantiles
    from discreet.query.scores import score
    from discreet.query.sql.statement import sql
    from discreet.release.estimate import Estimate
    from discreet.release.explanation import Explanation
    from discreet.release.found_slots import FoundSlots
    from discreet.release.guarantee import Guarantee
    from discreet.release.harms import covers
    from discreet.release.model import ModelRelease
    from discreet.release.release import Release
    from discreet.release.report.report import ReleaseReport, report
    from discreet.release.selection import Selection
    from discreet.release.sql_release import SqlRelease
    from discreet.release.synthetic import SyntheticTable
    from discreet.session.preview import preview
    from discreet.session.session import Session, protect
    from discreet.session.verify_joins import verify

_HOMES = {
    "ROW": "catalog.privacy_unit",
    "Budget": "accounting.filters",
    "Catalog": "catalog.catalog",
    "Estimate": "release.estimate",
    "Explanation": "release.explanation",
    "Failure": "errors",
    "FoundSlots": "release.found_slots",
    "Guarantee": "release.guarantee",
    "LedgerError": "errors",
    "ModelRelease": "release.model",
    "ProposedBound": "query.methods",
    "Receipt": "ledger",
    "Refusal": "errors",
    "Release": "release.release",
    "ReleaseReport": "release.report.report",
    "SQLiteLedger": "ledger",
    "Selection": "release.selection",
    "Session": "session.session",
    "Slice": "catalog.time_slice",
    "SqlRelease": "release.sql_release",
    "SmoothSensitivity": "query.methods",
    "SyntheticTable": "release.synthetic",
    "auto_bounds": "query.aggregates",
    "bins": "query.histograms",
    "count": "query.aggregates",
    "count_distinct": "query.aggregates",
    "count_units": "query.aggregates",
    "covers": "release.harms",
    "discover": "query.keys",
    "import_catalog": "catalog.imports.importer",
    "interquartile_range": "query.quantiles",
    "largest": "query.joins",
    "mean": "query.aggregates",
    "median": "query.quantiles",
    "preview": "session.preview",
    "protect": "session.session",
    "quantile": "query.quantiles",
    "quantiles": "query.quantiles",
    "report": "release.report.report",
    "score": "query.scores",
    "smallest": "query.joins",
    "sql": "query.sql.statement",
    "std": "query.aggregates",
    "sum": "query.aggregates",
    "table": "query.frame",
    "variance": "query.aggregates",
    "verify": "session.verify_joins",
    "when": "query.conditional",
}
_MODULES = (
    "accounting",
    "anonymity",
    "attacks",
    "auditing",
    "datasets",
    "errors",
    "events",
    "learning",
    "local",
    "mechanisms",
    "plots",
    "sandbox",
    "synthesis",
    "testing",
)

__all__ = [
    "ROW",
    "Budget",
    "Catalog",
    "Estimate",
    "Explanation",
    "Failure",
    "FoundSlots",
    "Guarantee",
    "LedgerError",
    "ModelRelease",
    "ProposedBound",
    "Receipt",
    "Refusal",
    "Release",
    "ReleaseReport",
    "SQLiteLedger",
    "Selection",
    "Session",
    "Slice",
    "SmoothSensitivity",
    "SqlRelease",
    "SyntheticTable",
    "__version__",
    "accounting",
    "anonymity",
    "attacks",
    "auditing",
    "auto_bounds",
    "bins",
    "count",
    "count_distinct",
    "count_units",
    "covers",
    "datasets",
    "discover",
    "errors",
    "events",
    "import_catalog",
    "interquartile_range",
    "largest",
    "learning",
    "local",
    "mean",
    "mechanisms",
    "median",
    "plots",
    "preview",
    "protect",
    "quantile",
    "quantiles",
    "report",
    "sandbox",
    "score",
    "smallest",
    "sql",
    "std",
    "sum",
    "synthesis",
    "table",
    "testing",
    "variance",
    "verify",
    "when",
]


if find_spec("scipy") is None:  # a star import leaves out what needs the extra audit
    __all__ = [name for name in __all__ if name not in ("attacks", "auditing")]


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
    hints = importlib.import_module("discreet.query.hints")
    refusal: AttributeError = hints.unknown_call("module 'discreet'", name, hints.MODULE, __all__, "dp.{}")
    return refusal


def __dir__() -> list[str]:
    return sorted(__all__)
