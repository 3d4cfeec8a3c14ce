"""Source identity: whether two sources are one table, or read the same tables; a source is text that an engine wrote.

Most sources are a path or an address alone. One in PostgreSQL is followed by the numbers by which its server knows it:

    postgresql://localhost:5432/records#clinic.adults [7412345678901234567/16384/16400 16390]

the cluster, the database, the relation itself, and the tables that it reads. Ledgers that are older than these numbers
hold the address alone.
"""

import re
from dataclasses import dataclass

_NUMBERED = re.compile(
    r"(?P<spelled>postgresql://.*) \[(?P<server>[^\s/]+/[0-9]+)/(?P<own>[0-9]+)(?P<read>(?: [0-9]+)*)\]", re.DOTALL
)

_SPARK_TABLE = re.compile(r"spark:(?:[^/:,]+[.])?(?P<table>[^/:,.]+)")


@dataclass(frozen=True)
class _SourceParts:
    spelled: str
    server: str = ""
    own: str = ""
    tables: frozenset[str] = frozenset()


def is_same(one: str, other: str) -> bool:
    """Whether two sources are one table or view, by their spelling or by the server's own numbers.

    >>> is_same("postgresql://db/records#public.visits [7/16384/16390]", "postgresql://db/records#public.visits")
    True
    """
    first, second = _source_parts(one), _source_parts(other)
    if first.spelled == second.spelled:
        return True
    return bool(first.own) and (first.server, first.own) == (second.server, second.own)


def is_registered(source: str, stored: str) -> bool:
    """Whether a source is the one that a ledger holds, also under the name that older ledgers have for it.

    Sources on Spark were named by their table, and views and parts of tables not at all; now they are named by what
    they read.

    >>> is_registered("spark:file:/warehouse/clinic.db/visits", "spark:clinic.visits")
    True
    """
    if is_same(source, stored):
        return True
    if not source.startswith("spark:"):
        return False
    older = _SPARK_TABLE.fullmatch(stored)
    return stored == "memory" or (older is not None and re.split(r"[/.]", source)[-1] == older["table"])


def overlap(one: str, other: str) -> bool:
    """Whether two sources are the same, or read a table in common."""
    first, second = _source_parts(one), _source_parts(other)
    return is_same(one, other) or (first.server == second.server and not first.tables.isdisjoint(second.tables))


def likely(source: str) -> dict[str, str]:
    """Parts of a source, one of which every source that overlaps with it has, unless it is the same text."""
    parts = _source_parts(source)
    return {"spelled": parts.spelled, "server": parts.server and f" [{parts.server}/"}


def _source_parts(source: str) -> _SourceParts:
    found = _NUMBERED.fullmatch(source)
    if found is None:
        return _SourceParts(source)
    return _SourceParts(
        found["spelled"], found["server"], found["own"], frozenset((found["own"], *found["read"].split()))
    )
