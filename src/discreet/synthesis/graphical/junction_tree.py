"""Junction trees: the smallest tables that hold all measured marginals and can be joined without a loop.

The graph has an edge between two columns that are measured together. It is triangulated greedily, by the fewest new
edges and by the fewest cells; the smaller result counts. The size in cells is known before data is read.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

from discreet.synthesis.core.domain import Columns, Domain

Graph = dict[str, set[str]]
"""The neighbours of each column."""


@dataclass(frozen=True)
class JunctionTree:
    """Maximal cliques of columns, each joined to its parent by the columns that both have.

    Attributes:
        domain: The columns and their slots.
        cliques: The cliques; parents stand before their children, and the first one is the root.
        parents: The place of the parent of each clique; -1 for the root.
    """

    domain: Domain
    cliques: tuple[Columns, ...]
    parents: tuple[int, ...]

    @cached_property
    def separators(self) -> tuple[Columns, ...]:
        """The columns that each clique shares with its parent; none at the root."""
        return tuple(
            _shared(clique, self.cliques[parent]) if parent >= 0 else ()
            for clique, parent in zip(self.cliques, self.parents, strict=True)
        )

    @cached_property
    def neighbours(self) -> tuple[tuple[int, ...], ...]:
        """The cliques that each clique is joined to."""
        found: list[list[int]] = [[] for _ in self.cliques]
        for place, parent in enumerate(self.parents):
            if parent >= 0:
                found[place].append(parent)
                found[parent].append(place)
        return tuple(tuple(each) for each in found)

    @cached_property
    def cells(self) -> int:
        """The cells of all cliques."""
        return sum(self.domain.cells(clique) for clique in self.cliques)

    def place(self, columns: Iterable[str]) -> int | None:
        """The smallest clique that holds some columns, or None."""
        wanted = set(columns)
        holders = [place for place, clique in enumerate(self.cliques) if wanted <= set(clique)]
        return min(holders, key=lambda place: self.domain.cells(self.cliques[place]), default=None)


def junction_tree(domain: Domain, marginals: Iterable[Columns]) -> JunctionTree:
    """A junction tree of all columns whose cliques hold the marginals."""
    cliques = maximal_cliques(domain, marginals)
    parents = _spanning_tree(domain, cliques)
    order = _from_the_root(parents)
    place = {old: new for new, old in enumerate(order)}
    return JunctionTree(
        domain,
        tuple(cliques[old] for old in order),
        tuple(place[parents[old]] if parents[old] >= 0 else -1 for old in order),
    )


def tree_cells(domain: Domain, marginals: Iterable[Columns]) -> int:
    """The cells of the junction tree of some marginals."""
    return sum(domain.cells(clique) for clique in maximal_cliques(domain, marginals))


def bridged_cells(tree: JunctionTree, pair: Columns) -> int:
    """The cells of a junction tree that also holds a pair of columns, by a bridge along the tree.

    The bridge takes one of the columns along with the shared columns of each clique on the way. It is found much faster
    than a new tree, which has about as many cells.
    """
    one, other = pair
    return tree.cells + min(_bridge(tree, one, other), _bridge(tree, other, one))


def maximal_cliques(domain: Domain, marginals: Iterable[Columns]) -> list[Columns]:
    """The maximal cliques of the triangulated graph of some marginals."""
    graph: Graph = {name: set() for name in domain.names}
    for columns in marginals:
        for one, other in combinations(columns, 2):
            graph[one].add(other)
            graph[other].add(one)
    found = [_eliminate(domain, graph, by_fill=by_fill) for by_fill in (True, False)]
    return min(found, key=lambda cliques: sum(map(domain.cells, cliques)))


def _eliminate(domain: Domain, graph: Graph, *, by_fill: bool) -> list[Columns]:
    left = {name: set(near) for name, near in graph.items()}
    found: list[set[str]] = []
    while left:
        name = min(left, key=lambda each: _cost(domain, left, each, by_fill=by_fill))
        near = left.pop(name)
        clique = near | {name}
        if not any(clique <= other for other in found):
            found.append(clique)
        for one in near:
            left[one] |= near - {one}
            left[one].discard(name)
    return [domain.ordered(clique) for clique in found]


def _cost(domain: Domain, left: Graph, name: str, *, by_fill: bool) -> tuple[int, int]:
    near = left[name]
    fill = sum(len(near) - 1 - len(near & left[each]) for each in near) // 2
    cells = domain.cells((name, *near))
    return (fill, cells) if by_fill else (cells, fill)


def _spanning_tree(domain: Domain, cliques: list[Columns]) -> list[int]:
    """The parent of each clique in a spanning tree with the most shared columns, from the largest clique on."""
    root = max(range(len(cliques)), key=lambda place: domain.cells(cliques[place]))
    parents = [-1] * len(cliques)
    best = {place: root for place in range(len(cliques)) if place != root}
    while best:
        place = max(best, key=lambda each: len(_shared(cliques[each], cliques[best[each]])))
        parents[place] = best.pop(place)
        for other, joined in best.items():
            if len(_shared(cliques[other], cliques[place])) > len(_shared(cliques[other], cliques[joined])):
                best[other] = place
    return parents


def _bridge(tree: JunctionTree, one: str, other: str) -> int:
    """The cells that a bridge from one column to another adds; two columns that nothing joins need a clique alone."""
    origins = {place: -1 for place, clique in enumerate(tree.cliques) if one in clique}
    queue = list(origins)
    for place in queue:
        if other in tree.cliques[place]:
            return _path_cells(tree, origins, place, one, other)
        for near in tree.neighbours[place]:
            if near not in origins and tree.separators[near if tree.parents[near] == place else place]:
                origins[near] = place
                queue.append(near)
    return tree.domain.cells((one, other))


def _path_cells(tree: JunctionTree, origins: dict[int, int], end: int, one: str, other: str) -> int:
    added, place, ahead = 0, end, {other}
    while origins[place] >= 0:
        before = origins[place]
        shared = set(tree.separators[place if tree.parents[place] == before else before])
        step, clique = shared | ahead | {one}, tree.cliques[place]
        added += tree.domain.cells(step) - (tree.domain.cells(clique) if set(clique) <= step else 0)
        place, ahead = before, shared
    return added


def _from_the_root(parents: list[int]) -> list[int]:
    order = [parents.index(-1)]
    for place in order:
        order += [child for child, parent in enumerate(parents) if parent == place]
    return order


def _shared(one: Columns, other: Columns) -> Columns:
    return tuple(name for name in one if name in other)
