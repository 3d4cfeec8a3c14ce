"""Traversal of the generalisation lattice: which nodes have at most a given number of people in classes below k.

**Monotone by k.** Let B(x) be the set of people with a row in a class of fewer than k people at node x. If y is coarser
than x or equal in every column, then B(y) is a subset of B(x). Proof: let a person have a row in the class F of y with
fewer than k people. The same row is in a class E of x. Levels are nested, so each row of E is in F, and each person of
E is a person of F. E has therefore at most as many distinct people as F, fewer than k, and the person is in B(x). The
proof counts distinct people and never adds up classes, so it holds where persons have several rows as well.

Hence |B| never grows upwards: a node that fails for k fails at all finer nodes, and a node that passes passes at all
coarser ones. One evaluation tags many nodes (Kohlmayer, Prasser, Eckert, Kemper, Kuhn 2012, "Flash").

**Not monotone by t.** A class within t and a class above it may be one class above t at a coarser node, and then the
people of both are suppressed. Entropy and recursive l behave alike, and so does every l where suppression removes the
classes below k alone. Distinct l would be monotone where its classes are suppressed too, as here. One rule holds for
all of them: l and t prune nothing, and are evaluated at every node that k admits.
"""

from bisect import insort
from collections.abc import Callable, Iterator, Sequence
from itertools import product
from math import prod
from operator import le

import numpy as np

from discreet.anonymity.generalisation.rollup import Node, NodeRows, RollUp

_UNKNOWN, _PASSES, _FAILS = 0, 1, -1
_STORE = 2**25  # rows of nodes that stay in memory, 16 bytes each with one word
_STORE_NODES = 4_096


class NodeStore:
    """NodeRows of nodes that were evaluated, to roll up from; the largest go first where there are too many."""

    def __init__(self, rollup: RollUp, base: NodeRows, *, store: int = _STORE) -> None:
        self._rollup = rollup
        self._bottom: Node = (0,) * len(rollup.layout.levels)
        self._rows: dict[Node, NodeRows] = {}
        self._sizes: list[tuple[int, Node]] = []  # ascending, so that the first finer node is the smallest
        self._base = base
        self._room = store

    def rows(self, node: Node) -> NodeRows:
        """The rows of a node, from the smallest finer node in the store."""
        if node in self._rows:
            return self._rows[node]
        start = self._finer(node)
        rows = self._rollup.coarsen(self._rows.get(start, self._base), start, node)
        self._add(node, rows)
        return rows

    def _finer(self, node: Node) -> Node:
        for _, finer in self._sizes:
            if all(map(le, finer, node)):
                return finer
        return self._bottom

    def _add(self, node: Node, rows: NodeRows) -> None:
        # a node almost as large as the base saves nothing
        if 4 * len(rows) > 3 * len(self._base) and len(rows) > 1:
            return
        self._rows[node] = rows
        insort(self._sizes, (len(rows), node))
        self._room -= len(rows)
        while self._room < 0 or len(self._rows) > _STORE_NODES:
            size, largest = self._sizes.pop()
            del self._rows[largest]
            self._room += size


class Traversal:
    """Tags every node of a lattice by a monotone test, with as few evaluations as the tags allow.

    Attributes:
        tags: For each node whether it passes (1) or fails (-1).
    """

    def __init__(self, heights: Node, sizes: Sequence[Sequence[int]], test: Callable[[Node], bool]) -> None:
        self.tags = np.zeros(tuple(height + 1 for height in heights), dtype=np.int8)
        self._heights = heights
        self._sizes = sizes
        self._test = test

    def run(self) -> None:
        """Binary search on a path from each node without a tag to the top (Flash)."""
        for node in nodes_by_level(self._heights):
            if self.tags[node] == _UNKNOWN:
                self._search_path(self._path(node))

    def passing(self) -> Iterator[Node]:
        """The nodes that pass, finer ones first."""
        return (node for node in nodes_by_level(self._heights) if self.tags[node] == _PASSES)

    def _path(self, node: Node) -> list[Node]:
        """Untagged nodes upwards, each a step from the one before: the step that leaves the fewest combinations."""
        path = [node]
        while steps := [each for each in self._successors(path[-1]) if self.tags[each] == _UNKNOWN]:
            path.append(min(steps, key=lambda each: (self._size(each), each)))
        return path

    def _size(self, node: Node) -> int:
        return prod(sizes[level] for sizes, level in zip(self._sizes, node, strict=True))

    def _successors(self, node: Node) -> list[Node]:
        return [
            (*node[:column], level + 1, *node[column + 1 :])
            for column, level in enumerate(node)
            if level < self._heights[column]
        ]

    def _search_path(self, path: list[Node]) -> None:
        low, high = 0, len(path)
        while low < high:
            middle = (low + high) // 2
            if self._test(path[middle]):
                self.tags[tuple(slice(level, None) for level in path[middle])] = _PASSES
                high = middle
            else:
                self.tags[tuple(slice(None, level + 1) for level in path[middle])] = _FAILS
                low = middle + 1


def nodes_by_level(heights: Node) -> list[Node]:
    """All nodes, those with the smallest sum of levels first."""
    return sorted(product(*(range(height + 1) for height in heights)), key=lambda node: (sum(node), node))


def number_of_nodes(heights: Node) -> int:
    """Number of nodes of the lattice."""
    return prod(height + 1 for height in heights)
