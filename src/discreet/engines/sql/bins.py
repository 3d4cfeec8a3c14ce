"""How many of some increasing constants are at most a value, in SQL.

A balanced tree of comparisons means the same on every engine, and is the quickest way to few constants. Through many,
an engine that has lists or a function for it searches sooner: by strides, each half of the one before, that are taken
wherever the constant they lead to is at most the value.
"""

import datetime as dt
from collections.abc import Sequence

from discreet.plan.logical import Scalar

VALUE = "discreet_value"
REACHED = "discreet_reached"
STRIDE = "discreet_stride"
_WAYS = 4


def tree(value: str, edges: Sequence[str]) -> str:
    """By comparisons alone, of which each repeats the value."""
    return f"CASE WHEN {value} IS NOT NULL THEN {_branch(value, edges, 0, len(edges))} END"


def tree_with_alias(value: str, edges: Sequence[str]) -> str:
    """The same, with the value computed once under an alias; a planner may expand it again."""
    return f"(SELECT {tree(VALUE, edges)} FROM (SELECT {value} AS {VALUE}) AS named)"


def _branch(value: str, edges: Sequence[str], fewest: int, most: int) -> str:
    """Four ways at a time: in two ways, a parser runs out of stack before it has read ten thousand edges."""
    if fewest == most:
        return str(fewest)
    ways = []
    for cut in sorted({fewest + (most - fewest) * way // _WAYS for way in range(1, _WAYS)}):
        ways.append(f"WHEN {value} < {edges[cut]} THEN {_branch(value, edges, fewest, cut)}")
        fewest = cut + 1
    return f"CASE {' '.join(ways)} ELSE {_branch(value, edges, fewest, most)} END"


def strides(edges: int) -> list[int]:
    """Powers of two, the largest first, of which some add up to any number of edges."""
    return [1 << power for power in range(edges.bit_length() - 1, -1, -1)]


def stride(edge: str) -> str:
    """How far a search is after one more stride; `edge` is the constant that it leads to, missing beyond the last."""
    return f"{REACHED} + CASE WHEN {edge} <= {VALUE} THEN {STRIDE} ELSE 0 END"


def format_edge(edge: Scalar) -> str:
    """A constant as text, for an engine that reads a list from text."""
    if isinstance(edge, dt.datetime):
        return edge.isoformat(sep=" ")
    return edge.isoformat() if isinstance(edge, dt.date) else repr(edge)
