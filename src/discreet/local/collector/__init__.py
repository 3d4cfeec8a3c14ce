"""Collecting reports: read them strictly, remove duplicates, count, and merge the counts in any order.

    state = count_reports(task, reports)                       # in this process
    state = count_parquet(task, "reports/*.parquet")           # DuckDB
    state = count_spark(session, task, "reports/*.parquet")    # Spark
    start_stream(session, task, "reports", partials=..., checkpoint=...)
    total = merge(states)

A count is GROUP BY cohort, payload with COUNT(*). A report goes to one shard by a hash of its id, so duplicates meet
before they are counted; each partial count has a key and counts once.
"""

import importlib

_HOMES: dict[str, str] = {
    "Accumulator": "accumulator",
    "PartialKey": "accumulator",
    "ReportTable": "reports",
    "count_parquet": "duckdb",
    "count_reports": "counting",
    "count_spark": "spark",
    "deduplicate_parquet": "duckdb",
    "merge": "accumulator",
    "read_partials": "stream",
    "read_reports": "reports",
    "shard_of": "reports",
    "start_stream": "stream",
    "write_reports": "parquet",
}

__all__ = [
    "Accumulator",
    "PartialKey",
    "ReportTable",
    "count_parquet",
    "count_reports",
    "count_spark",
    "deduplicate_parquet",
    "merge",
    "read_partials",
    "read_reports",
    "shard_of",
    "start_stream",
    "write_reports",
]


def __getattr__(name: str) -> object:
    """Load a public name from where it lives."""
    if name not in _HOMES:
        raise AttributeError(f"module 'discreet.local.collector' has no attribute {name!r}")
    return getattr(importlib.import_module(f"discreet.local.collector.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return list(__all__)
