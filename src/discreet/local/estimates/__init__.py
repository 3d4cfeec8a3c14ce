"""Estimates from the counts of a collection: unbiased counts with simultaneous intervals, joint tables, means.

    counts = estimate(task, state)         # a count, a standard error and an interval for each value
    table = counts.to_pandas()
    shares = counts.consistent()           # not negative, and adding up; biased, without intervals
    mean = estimate_mean(task, state)      # for tasks of a mean

Everything here is post-processing: it reads counts of private reports, and costs nothing.
"""

import importlib

_HOMES: dict[str, str] = {
    "ConsistentCounts": "consistency",
    "FrequencyEstimates": "frequencies",
    "HeavyHitters": "heavy_hitters",
    "JointEstimates": "joint",
    "MeanEstimate": "means",
    "PrefixTree": "heavy_hitters",
    "ProductDomain": "joint",
    "count_pairs": "joint",
    "estimate": "frequencies",
    "estimate_joint": "joint",
    "estimate_mean": "means",
}

__all__ = [
    "ConsistentCounts",
    "FrequencyEstimates",
    "HeavyHitters",
    "JointEstimates",
    "MeanEstimate",
    "PrefixTree",
    "ProductDomain",
    "count_pairs",
    "estimate",
    "estimate_joint",
    "estimate_mean",
]


def __getattr__(name: str) -> object:
    """Load a public name from where it lives."""
    if name not in _HOMES:
        raise AttributeError(f"module 'discreet.local.estimates' has no attribute {name!r}")
    return getattr(importlib.import_module(f"discreet.local.estimates.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return list(__all__)
