"""The graphical synthesizer: marginals are measured where the model is worst, and joined by a junction tree.

Definition
    With a cost rho: 1/5 of rho measures all columns. Slots whose noisy count is below 3 sigma are merged. The rest goes
    to rounds. A round chooses a marginal of the workload that the model describes badly, for 1/10 of its cost, and
    measures it for what is left of it. Then the model is fitted again. Marginals whose junction tree would have more
    cells than the cap of the round cannot be chosen. Cells that a public constraint forbids have no mass in the model,
    and slots of its columns are not merged.

Guarantee
    rho-zCDP for one unit: everything that depends on rows is an answer of one `PrivateCounts` with the cost rho.
    Totals, merged slots, models, bounds and drawn rows are post-processing of its answers. The exact number of rows is
    never used. Proof: docs/proofs/synthesis/graphical/synthesizer.md.

Exactness
    Costs are rationals; estimates, weights and penalties of choices are integers. Floats are in what follows noisy
    answers alone.

Not covered
    How near the table is to the data, beyond the bounds of bounds.py. The time of a synthesis. With more than 20
    columns, the cells of a candidate are computed fast and not by its own junction tree, so the cap is approximate.

References
    McKenna, Mullins, Sheldon and Miklau, AIM: An Adaptive and Iterative Mechanism for Differentially Private Synthetic
    Data, VLDB 2022, arXiv 2201.12677.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from typing import Any

from discreet.errors import ParameterError, public_class, short_traceback
from discreet.plan.slots import SlotColumn, columns_to_json
from discreet.plan.synthesis import SynthesisFacts
from discreet.plan.wording import Lines
from discreet.synthesis.core.domain import Columns, Domain, require_memory
from discreet.synthesis.core.merging import MERGE_BELOW
from discreet.synthesis.core.private_counts import MOST_CELLS, PrivateCounts
from discreet.synthesis.graphical.junction_tree import tree_cells
from discreet.synthesis.graphical.selection import (
    ANNEALING,
    CHOICE_SHARE,
    ONE_WAY_SHARE,
    RoundsPlan,
    adaptive_rounds,
    column_costs,
    one_way_cost,
)
from discreet.synthesis.rows.constraints import Allowed, Constraint, SlotRule, constraint_list, slot_rules

MOST_ROUNDS = 1000
MOST_WEIGHT = 1000

Workload = Iterable[Iterable[str]] | Mapping[tuple[str, ...], int]


@public_class
@dataclass(frozen=True)
class GraphicalSynthesizer:
    """A synthesizer that measures, round by round, the marginals that its model describes worst.

    It is more accurate than a tree where columns depend on several others. The model may have loops, so its size is
    limited by a number of cells that is chosen before data is read.

    Args:
        max_cells: The cells that the tables of the model may have at the end; 8 bytes each. Default 300,000.
        rounds: The rounds that are planned for. Default: three times the number of columns, less 3;
            from 21 columns on, their number and 39.
        workload: The marginals that matter, as lists of columns, or a dictionary of them with whole weights up to
            1,000. Their parts are candidates, too. Default: all pairs of columns.
        constraints: Public knowledge that every row fulfils: exclusions and implications. Their pairs of columns are in
            tables of the model, which count towards `max_cells`. Default: none.

    Raises:
        ParameterError: If a number is outside its range, or the workload is not of columns.

    Example:
        >>> import discreet as dp
        >>> dp.synthesis.GraphicalSynthesizer(max_cells=100_000).max_cells
        100000
    """

    max_cells: int = 300_000
    rounds: int | None = None
    workload: Workload | None = None
    constraints: Sequence[Constraint] = ()

    @short_traceback
    def __post_init__(self) -> None:
        """Refuse numbers outside their range."""
        for name, number, most in (("max_cells", self.max_cells, 1 << 26), ("rounds", self.rounds, MOST_ROUNDS)):
            if number is not None and (type(number) is not int or not 1 <= number <= most):
                raise ParameterError(
                    f"{name}={number!r}",
                    because=f"it is a whole number from 1 to {most:,}",
                    instead="dp.synthesis.GraphicalSynthesizer(max_cells=300_000, rounds=42)",
                )
        if self.workload is not None:
            _weights_of(self.workload)

    @short_traceback
    def synthesis(self, facts: SynthesisFacts) -> "GraphicalSynthesis":
        """The synthesis from public facts alone.

        Args:
            facts: The columns with their slots, the cost, and the workload of the query, which comes first.

        Returns:
            The synthesis, with all marginals that it counts.

        Raises:
            ParameterError: If there are no columns, an unknown column in the workload, too many cells, or constraints
                that slots cannot express.
            NameNotFoundError: If the table does not have a column of a constraint.
        """
        self.__post_init__()
        domain = Domain.of(facts.columns)
        workload = facts.workload if facts.workload is not None else self.workload
        weights = _candidate_weights(domain, workload)
        singles: list[Columns] = [(name,) for name in domain.names]
        require_memory("a graphical synthesis", domain, (*singles, *weights))
        rounds = self.rounds or default_rounds(len(singles))
        rules = _rules(constraint_list(self.constraints), facts.columns, domain, self.max_cells)
        plan = RoundsPlan(rounds, self.max_cells, weights, rules)
        return GraphicalSynthesis(facts.columns, (*singles, *weights), facts.rho, plan, len(self.constraints))


@dataclass(frozen=True)
class GraphicalSynthesis:
    """A graphical synthesis before a row is read.

    Attributes:
        columns: The columns with their slots.
        candidates: All marginals that are counted.
        rho: The cost.
        plan: The rounds, the cell cap, the weights of candidates and the rules.
        constraints: The number of constraints that were declared.
    """

    columns: tuple[SlotColumn, ...]
    candidates: tuple[Columns, ...]
    rho: Fraction
    plan: RoundsPlan
    constraints: int = 0

    name = "graphical"

    @property
    def column_costs(self) -> Mapping[str, Fraction]:
        """The cost of the one-way marginal of each column, which is measured first, over all slots."""
        domain = Domain.of(self.columns)
        return column_costs(domain, one_way_cost(self.plan, self.rho))

    @property
    def parameters(self) -> Mapping[str, Any]:
        """All public parameters as plain data."""
        rules = [SlotRule(columns, allowed).to_json() for columns, allowed in self.plan.rules.items()]
        return {
            "kind": self.name,
            "format": 1,
            "shares": [str(ONE_WAY_SHARE), str(CHOICE_SHARE), str(ANNEALING)],
            "merge_below": MERGE_BELOW,
            "max_cells": self.plan.max_cells,
            "rounds": self.plan.rounds,
            "weights": [[list(columns), weight] for columns, weight in self.plan.weights.items()],
            **({"constraints": rules} if rules else {}),
        }

    @property
    def words(self) -> Lines:
        """What is measured and modelled, in words."""
        number, choices = len(self.columns), len(self.plan.weights)
        stated = ("constraints", f"{self.constraints:,}, declared as public knowledge and true of every row")
        constraints = [stated] if self.constraints else []
        if not choices:
            return (("measured", f"the one-way marginals of {number:,} columns, for the whole cost"), *constraints)
        return (
            ("measured", f"the one-way marginals of {number:,} columns, for {float(ONE_WAY_SHARE):.0%} of the cost"),
            ("chosen", f"in at most {self.plan.rounds:,} rounds, one of {choices:,} marginals that the model misses"),
            (
                "measured then",
                f"the chosen marginal of each round; {float(CHOICE_SHARE):.0%} of a round is for its choice",
            ),
            *constraints,
            ("modelled", f"all other marginals, by a junction tree of at most {self.plan.max_cells:,} cells"),
        )

    def train(self, counts: PrivateCounts) -> dict[str, Any]:
        """The state of the table as plain data.

        Args:
            counts: The private counts of all candidates.

        Returns:
            Columns, total, measurements, model, bounds, and the public integer that rows are drawn by.
        """
        result = adaptive_rounds(counts, self.plan)
        groups = {name: each.groups for name, each in result.model.groups.items()}
        return {
            "columns": columns_to_json(self.columns),
            "total": result.model.total,
            "measurements": [
                *(each.to_json({}) for each in result.one_way),
                *(each.to_json(groups) for each in result.rounds),
            ],
            "model": result.model.to_json(),
            "bounds": result.bounds.to_json(),
            "draw": int(counts.public_generator().integers(1 << 62)),
        }


def default_rounds(columns: int) -> int:
    """The rounds of a tree, and as many again twice, up to 40 more."""
    return max(columns - 1 + min(2 * (columns - 1), 40), 1)


def _rules(
    constraints: tuple[Constraint, ...], columns: Sequence[SlotColumn], domain: Domain, most: int
) -> dict[Columns, Allowed]:
    """The rules over slots, whose junction tree keeps within the cells of the model."""
    rules = {rule.columns: rule.allowed for rule in slot_rules(constraints, columns)}
    cells = tree_cells(domain, rules)
    if rules and cells > most:
        raise ParameterError(
            f"constraints whose junction tree has {cells:,} cells",
            because=f"the model may have {most:,} cells",
            instead=f"dp.synthesis.GraphicalSynthesizer(max_cells={2 * cells:_}, constraints=...)",
        )
    return rules


def _exact_text(name: Any) -> Any:
    """A name as text of no other class, whose methods would run while counts are exact; what is no text stays."""
    return str.__str__(name) if isinstance(name, str) else name


def _weights_of(workload: Workload) -> dict[frozenset[str], int]:
    """The weight of each marginal of a workload, or an error."""
    found: dict[frozenset[str], int] = {}
    items = workload.items() if isinstance(workload, Mapping) else [(columns, 1) for columns in workload]
    for columns, weight in items:
        names = list(map(_exact_text, [columns] if isinstance(columns, str) else columns))
        is_number = type(weight) is int and 1 <= weight <= MOST_WEIGHT
        if not names or not all(isinstance(name, str) for name in names) or not is_number:
            raise ParameterError(
                f"the workload entry {columns!r} with the weight {weight!r}",
                because=f"it has names of columns and a whole weight from 1 to {MOST_WEIGHT:,}",
                instead='workload={("age", "income"): 2, ("sex", "income"): 1}',
            )
        found[frozenset(names)] = found.get(frozenset(names), 0) + weight
    return found


def _candidate_weights(domain: Domain, workload: Workload | None) -> dict[Columns, int]:
    """The candidates of several columns: all parts of the workload, weighted by the columns that they share with it."""
    if workload is None:
        return {pair: 1 for pair in combinations(domain.names, 2) if domain.cells(pair) <= MOST_CELLS}
    wanted = _weights_of(workload)
    unknown = sorted({name for names in wanted for name in names} - domain.slots.keys())
    if unknown:
        raise ParameterError(
            f"the column {unknown[0]!r} of the workload",
            because="it is not a column of the synthetic table",
            instead=f"one of {', '.join(map(repr, domain.names[:3]))}",
        )
    parts = {
        domain.ordered(part)
        for names in wanted
        for size in range(2, len(names) + 1)
        for part in combinations(sorted(names), size)
        if domain.cells(part) <= MOST_CELLS
    }
    order = sorted(parts, key=lambda part: (len(part), [domain.names.index(name) for name in part]))
    return {part: sum(weight * len(names & set(part)) for names, weight in wanted.items()) for part in order}
