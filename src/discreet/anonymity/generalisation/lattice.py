"""Search for the generalisation of least loss with k people in every class, over the whole lattice of levels.

A node of the lattice states one level for each column. The result is optimal over all nodes: those that k rules out are
tagged without a count (`traversal` has the proof), and all others are counted.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from math import floor
from typing import Any

import numpy as np

from discreet.anonymity.classes.cube import Cube
from discreet.anonymity.generalisation.levels import GeneralisationLevels
from discreet.anonymity.generalisation.loss import CountQuery, Loss, LossMetric, check_loss, loss_metric, order_of
from discreet.anonymity.generalisation.nodes import (
    ClassRequirement,
    class_requirement,
    measure_values,
    node_classes,
    suppress_by_values,
    value_distribution,
)
from discreet.anonymity.generalisation.rollup import Node, RollUp, base_rows, key_layout
from discreet.anonymity.generalisation.sources import levels_of_column, open_cube
from discreet.anonymity.generalisation.traversal import NodeStore, Traversal, number_of_nodes
from discreet.anonymity.owners import OwnerResult
from discreet.errors import ParameterError, public_class, short_traceback
from discreet.exact.numbers import Number, rational

MOST_NODES = 1_000_000
RANKING = 5
CAUTION = (
    "The optimum depends on the data: who knows that it is the least loss can rule out tables (minimality attack, Wong "
    "et al. 2007), and can recover finer values (downcoding, Cohen 2022). A class of k people limits neither."
)


@public_class
@dataclass(frozen=True, repr=False)
class NodeLoss(OwnerResult):
    """One node that meets the requirement.

    Attributes:
        levels: The level of each column.
        loss: Its loss.
        suppressed: Number of people with a suppressed row.
        classes: Number of published classes.

    Example:
        >>> import discreet as dp
        >>> dp.anonymity.NodeLoss({"age": 1}, 20, 0, 4).classes
        4
    """

    kind = "node of a lattice"

    levels: dict[str, int]
    loss: Loss
    suppressed: int
    classes: int

    def _lines(self) -> list[str]:
        return [_node_text(self)]


@public_class
@dataclass(frozen=True, repr=False)
class LatticeSearch(OwnerResult):
    """Outcome of a search: the node of least loss, what it has, and how many nodes were counted.

    The levels of the optimum depend on the data. A reader who knows that the published table is the optimum can rule
    out tables for which another node would have been better (minimality attack: Wong, Fu, Wang, Pei 2007, "Minimality
    attack in privacy preserving data publishing"). From a table of minimal generalisation finer values can be recovered
    (downcoding: Cohen 2022, "Attacks on deidentification's defenses"). k, l and t hold all the same.

    Attributes:
        people: Number of people.
        nodes: Number of nodes of the lattice.
        evaluated: Number of nodes whose classes were counted.
        pruned: Number of nodes that k ruled out without a count.
        admitted_by_k: Number of nodes where at most `limit` people are in classes below k.
        admitted: Number of these where at most `limit` people are suppressed for k, l and t together.
        limit: Most people that may be suppressed.
        loss: Name of the loss.
        optimal: Level of each column at the node of least loss; None where no node is admitted.
        value: Its loss, or None.
        suppressed: Number of people with a suppressed row at the optimum, or None.
        suppressed_for_k: Number of them with a row in a class below k, or None; the others are suppressed for l or t
            alone.
        classes: Number of published classes at the optimum, or None.
        k: Number of people in the smallest published class, or None.
        l: Least number of distinct sensitive values in a published class, or None.
        t: Largest distance of a published class to the whole table, or None.
        ranking: The nodes of least loss, the optimum first. Ties go to fewer suppressed people, then to the smaller
            sum of levels, then to lower levels in the order of the columns.

    Example:
        >>> import discreet as dp
        >>> import numpy as np
        >>> import pyarrow as pa
        >>> codes, labels = (np.arange(3), np.array([0, 0, 1])), (("31", "35", "47"), ("30s", "40s"))
        >>> tens = dp.anonymity.GeneralisationLevels(codes, labels)
        >>> people = pa.table({"age": [31, 35, 47, 47]})
        >>> dp.anonymity.search(people, {"age": tens}, k=2).optimal
        {'age': 1}
    """

    kind = "search over a lattice"

    people: int
    nodes: int
    evaluated: int
    pruned: int
    admitted_by_k: int
    admitted: int
    limit: int
    loss: str
    optimal: dict[str, int] | None
    value: Loss | None
    suppressed: int | None
    suppressed_for_k: int | None
    classes: int | None
    k: int | None
    l: int | None  # noqa: E741 - the field's letter
    t: Fraction | None
    ranking: tuple[NodeLoss, ...]

    def recoding(self, hierarchies: Mapping[str, Any]) -> dict[str, tuple[Any, int]]:
        """The optimum as `dp.anonymity.generalise` takes it.

        Give `generalise` the k, l, t, sensitive column and person of the search: it leaves out the same classes. The
        sensitive column has to be published: `found.recoding(hierarchies) | {"disease": None}`.

        Args:
            hierarchies: The hierarchies of the search.

        Returns:
            For each column its hierarchy and its level.

        Raises:
            ParameterError: If no node is admitted.
        """
        if self.optimal is None:
            raise ParameterError(
                "a recoding of an empty search", because="no node meets the requirement", instead="suppression=0.1"
            )
        return {name: (hierarchies[name], level) for name, level in self.optimal.items()}

    def _lines(self) -> list[str]:
        counts = f"{self.nodes:,} nodes: {self.evaluated:,} evaluated, {self.pruned:,} pruned by k; "
        counts += f"{self.admitted_by_k:,} admitted by k, {self.admitted:,} admitted"
        if self.optimal is None:
            none = f"No node meets the requirement with at most {self.limit:,} people suppressed"
            return [counts, f"{none}; the file has {self.people:,} people."]
        found = f"k={self.k}" if self.k is not None else "no class is published"
        found += f", l={self.l}" if self.l is not None else ""
        found += f", t={float(self.t):.4g}" if self.t is not None else ""
        others = (self.suppressed or 0) - (self.suppressed_for_k or 0)
        values = [f"{others:,} of them for l or t alone: give generalise the same l, t and sensitive"] if others else []
        return [
            counts,
            f"least {self.loss.replace('_', ' ')}: {_node_text(self.ranking[0])}",
            f"there {found}; {self.suppressed:,} of {self.people:,} people suppressed (at most {self.limit:,})",
            *values,
            CAUTION,
        ]


def _node_text(node: NodeLoss) -> str:
    levels = ", ".join(f"{name} {level}" for name, level in node.levels.items())
    return f"levels {levels}; loss {float(node.loss):,.6g}; {node.classes:,} classes"


@short_traceback
def search(
    source: object,
    hierarchies: Mapping[str, Any],
    *,
    k: int,
    l: int | None = None,  # noqa: E741 - the field's letter
    t: Number | None = None,
    sensitive: str | None = None,
    ordered: Sequence[str] = (),
    person: str | None = None,
    suppression: Number = 0,
    loss: str = "non_uniform_entropy",
    queries: Sequence[CountQuery] = (),
    table: str | None = None,
    memory_limit: str | None = None,
) -> LatticeSearch:
    """Search all combinations of levels for the one of least loss with k people in every published class.

    A class that fails k, l or t is suppressed. Nodes are ruled out by k alone, because with suppression l and t are not
    monotone; they are evaluated at every node that k admits. `generalisation.loss` defines each loss.

    Args:
        source: A cube, or the source of rows: what `dp.protect` takes.
        hierarchies: For each quasi-identifier its hierarchy or its levels, whose labels at level 0 are the values as a
            CSV file has them. Other columns of a cube are left out.
        k: Least number of people in a class.
        l: Least number of distinct sensitive values in a class. Default: not measured.
        t: Largest distance of the sensitive values of a class to those of the table. Default: not measured.
        sensitive: The sensitive column; l and t need it.
        ordered: The sensitive column again where its values have an order; the distance then respects it.
        person: Column that names the person of a row. Default: each row is a person.
        suppression: Largest share of people with a suppressed row. Default 0.
        loss: "non_uniform_entropy", "discernibility", "average_class_size" or "query_error".
        queries: For "query_error": for each count a dict of columns with a set of values or a function of a value.
        table: Name of the table, where the source is a database.
        memory_limit: Memory of the engine that reads the rows, such as "4GB". Default: the engine's own.

    Returns:
        The optimum, or a result without one where no node meets the requirement.

    Raises:
        ParameterError: If k, l, t, the suppression or the loss is outside its range, the lattice is too large, a
            column has two roles, or levels do not have a value of the table.
        NameNotFoundError: If a column does not exist.

    Example:
        >>> import discreet as dp
        >>> import numpy as np
        >>> import pyarrow as pa
        >>> codes, labels = (np.arange(3), np.array([0, 0, 1])), (("31", "35", "47"), ("30s", "40s"))
        >>> tens = dp.anonymity.GeneralisationLevels(codes, labels)
        >>> people = pa.table({"age": [31, 35, 47]})
        >>> found = dp.anonymity.search(people, {"age": tens}, k=2, suppression=1 / 2)
        >>> found.optimal, found.suppressed, found.k
        ({'age': 1}, 1, 2)
    """
    share, requirement = _share(suppression), class_requirement(k, l, t, sensitive)
    check_loss(loss, queries)
    cube = open_cube(source, list(hierarchies), sensitive, person=person, table=table, memory_limit=memory_limit)
    levels = [levels_of_column(name, hierarchies[name], cube.values[name]) for name in cube.quasi]
    requirement = replace(requirement, limit=floor(share * cube.total))
    metric = loss_metric(loss, cube, levels, queries)
    return _NodeSearch(cube, levels, requirement, metric, is_ordered=sensitive in ordered).run(loss)


@dataclass
class _NodeSearch:
    """One search: the store of nodes and what was found so far."""

    cube: Cube
    levels: list[GeneralisationLevels]
    requirement: ClassRequirement
    metric: LossMetric
    is_ordered: bool
    losses: dict[Node, tuple[Loss, int, int]] = field(default_factory=dict)
    counted: set[Node] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.heights: Node = tuple(levels.height for levels in self.levels)
        if number_of_nodes(self.heights) > MOST_NODES:
            raise ParameterError(
                f"a lattice of {number_of_nodes(self.heights):,} nodes",
                because=f"the search visits at most {MOST_NODES:,} nodes",
                instead="fewer columns or levels, or dp.anonymity.mondrian",
            )
        sensitive = self.cube.sensitive[0] if self.cube.sensitive else None
        self.layout = key_layout(self.cube, self.levels, sensitive)
        self.distribution = value_distribution(self.cube, self.layout, is_ordered=self.is_ordered)
        self.store = NodeStore(RollUp(self.layout), base_rows(self.layout, self.cube, sensitive))

    def run(self, loss: str) -> LatticeSearch:
        sizes = [[len(np.unique(codes)) for codes in levels.codes] for levels in self.levels]
        traversal = Traversal(self.heights, sizes, self.evaluate)
        traversal.run()
        by_k = list(traversal.passing())
        for node in by_k:
            if node not in self.counted:
                self.evaluate(node)
        return self._result(loss, len(by_k))

    def evaluate(self, node: Node) -> bool:
        """Whether k admits a node; its loss is stored where l and t admit it too."""
        self.counted.add(node)
        classes = node_classes(self.layout, node, self.store.rows(node), self.requirement.k)
        if classes.suppressed_people > self.requirement.limit:
            return False
        classes = suppress_by_values(classes, self.requirement, self.distribution)
        if classes.suppressed_people <= self.requirement.limit:
            self.losses[node] = self.metric.value(classes), classes.suppressed_people, classes.published_classes
        return True

    def _result(self, loss: str, by_k: int) -> LatticeSearch:
        nodes = number_of_nodes(self.heights)
        order = sorted(self.losses, key=lambda node: order_of(*self.losses[node][:2], node))
        ranking = tuple(
            NodeLoss(dict(zip(self.cube.quasi, node, strict=True)), *self.losses[node]) for node in order[:RANKING]
        )
        best = ranking[0] if ranking else None
        by_size, k, distinct, distance = self._measures(order[0]) if order else (None, None, None, None)
        return LatticeSearch(
            people=self.cube.total,
            nodes=nodes,
            evaluated=len(self.counted),
            pruned=nodes - len(self.counted),
            admitted_by_k=by_k,
            admitted=len(order),
            limit=self.requirement.limit,
            loss=loss,
            optimal=best.levels if best else None,
            value=best.loss if best else None,
            suppressed=best.suppressed if best else None,
            suppressed_for_k=by_size,
            classes=best.classes if best else None,
            k=k,
            l=distinct,
            t=distance,
            ranking=ranking,
        )

    def _measures(self, node: Node) -> tuple[int, int | None, int | None, Fraction | None]:
        """People suppressed for k, and k, l and t of a node."""
        by_size = node_classes(self.layout, node, self.store.rows(node), self.requirement.k)
        classes = suppress_by_values(by_size, self.requirement, self.distribution)
        if self.distribution is None or not classes.published_classes:
            return by_size.suppressed_people, classes.k, None, None
        return by_size.suppressed_people, classes.k, *measure_values(classes, self.distribution)


def _share(suppression: object) -> Fraction:
    share = rational(suppression, "suppression")
    if not 0 <= share <= 1:
        raise ParameterError(
            f"suppression={suppression}", because="suppression is a share of the people", instead="suppression=0.01"
        )
    return share
