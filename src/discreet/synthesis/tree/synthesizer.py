"""The tree synthesizer: a table from one-way marginals and the two-way marginals of a tree of columns.

Definition
    With a cost rho and at least two columns: 2/5 of rho measures all one-way marginals. Slots whose noisy count is
    below 3 sigma are merged. 1/20 of rho chooses pairs of columns, one at a time, among those that close no
    cycle: the score is the L1 distance of the pair to the product of its one-way estimates, less half of the
    expected noise; to stop scores 0. What is left measures the chosen pairs, and columns without a pair once
    more. With one column, all of rho measures it; with two, nothing is chosen. Columns and pairs of a workload have
    the public weight 4: in the score, and in the errors that costs are divided by. Others have 1.

Guarantee
    rho-zCDP for one unit: everything that depends on rows is an answer of one `PrivateCounts` with the cost rho.
    Totals, merged slots, the fitted model and drawn rows are post-processing of its answers. The exact number of
    rows is never used. Proof: docs/proofs/synthesis/tree/synthesizer.md.

Exactness
    Costs are rationals, and estimates for choices are integers. Floats are in what follows noisy answers alone.

Not covered
    How near the table is to the data: pairs that are not edges are modelled through the tree. The time of a synthesis.

References
    McKenna, Miklau and Sheldon, Journal of Privacy and Confidentiality 11(3), 2021, arXiv 2108.04978 (MST).
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import combinations
from typing import Any

from discreet.errors import ParameterError, public_class
from discreet.plan.slots import SlotColumn, columns_to_json
from discreet.plan.synthesis import SynthesisFacts
from discreet.plan.wording import Lines
from discreet.synthesis.core.domain import Columns, Domain, require_memory
from discreet.synthesis.core.measurement import Measurement, estimated_total
from discreet.synthesis.core.merging import MERGE_BELOW
from discreet.synthesis.core.model import project
from discreet.synthesis.core.private_counts import MOST_CELLS, PrivateCounts
from discreet.synthesis.rows.constraints import Constraint, SlotRule, constraint_list, slot_rules
from discreet.synthesis.tree.choice import (
    WANTED_WEIGHT,
    EdgeChoice,
    choose_edges,
    measure_edges,
    merged_counts,
    share_by_cells,
)
from discreet.synthesis.tree.constrain import constrain
from discreet.synthesis.tree.fitting import Groups, column_counts, fit, merge_rare

COLUMNS_SHARE = Fraction(2, 5)
CHOICE_SHARE = Fraction(1, 20)


@public_class
@dataclass(frozen=True)
class TreeSynthesizer:
    """A synthesizer for tables of any number of columns: fast, and best where columns depend on each other in pairs.

    It measures all one-way marginals, chooses a spanning tree of pairs privately, and measures those. Every other
    marginal is modelled through the tree.

    Attributes:
        constraints: Public knowledge that every row of the table fulfils. Pairs of columns with a constraint are
            edges of the tree. Default: none.

    Example:
        >>> import discreet as dp
        >>> synthesizer = dp.synthesis.TreeSynthesizer(constraints=[dp.synthesis.Exclusion({"age": (None, 17)})])
        >>> query = dp.table("people").synthesize(synthesizer)
    """

    constraints: Sequence[Constraint] = ()

    def synthesis(self, facts: SynthesisFacts) -> "TreeSynthesis":
        """The synthesis from public facts alone.

        Args:
            facts: The columns with their slots, the cost, and the workload.

        Returns:
            The synthesis, with all marginals that it counts.

        Raises:
            ParameterError: If there are no columns, or more cells than fit the memory.
        """
        candidates = _candidates(facts.columns)
        wanted = _workload_parts(facts.workload or ())
        synthesis = TreeSynthesis(facts.columns, candidates, facts.rho, constraint_list(self.constraints), wanted)
        _refuse_wide_constraints(synthesis)
        return synthesis


@dataclass(frozen=True)
class TreeSynthesis:
    """A tree synthesis before a row is read.

    Attributes:
        columns: The columns with their slots.
        candidates: All marginals that are counted.
        rho: The cost.
        constraints: What every row fulfils.
        wanted: Columns and pairs of the workload.
    """

    columns: tuple[SlotColumn, ...]
    candidates: tuple[Columns, ...]
    rho: Fraction
    constraints: tuple[Constraint, ...] = ()
    wanted: frozenset[Columns] = frozenset()

    name = "tree"

    @property
    def column_costs(self) -> Mapping[str, Fraction]:
        """The cost of the one-way marginal of each column, which is measured first, over all slots."""
        names = [column.name for column in self.columns]
        domain = Domain.of(self.columns)
        first, _ = _costs(self.rho, len(names), self._pairs)
        costs = share_by_cells(domain, [(name,) for name in names], first, self.wanted)
        return dict(zip(names, costs, strict=True))

    @property
    def parameters(self) -> Mapping[str, Any]:
        """All public parameters as plain data."""
        shares = [str(COLUMNS_SHARE), str(CHOICE_SHARE)]
        return {
            "kind": self.name,
            "format": 1,
            "shares": shares,
            "merge_below": MERGE_BELOW,
            "constraints": [rule.to_json() for rule in self.rules],
            **({"wanted": [list(each) for each in sorted(self.wanted)]} if self.wanted else {}),
        }

    @cached_property
    def rules(self) -> tuple[SlotRule, ...]:
        """The constraints as rules over slots."""
        return slot_rules(self.constraints, self.columns)

    @property
    def required(self) -> tuple[Columns, ...]:
        """The pairs of columns that have a constraint."""
        return tuple(rule.columns for rule in self.rules if len(rule.columns) > 1)

    @property
    def words(self) -> Lines:
        """What is measured and modelled, in words."""
        number = len(self.columns)
        if number == 1:
            return (("measured", "the counts of the one column, for the whole cost"),)
        first, second = (f"{float(each):.0%}" for each in (COLUMNS_SHARE, CHOICE_SHARE))
        chosen = ("chosen", f"at most {number - 1:,} of {self._pairs:,} pairs of columns, for {second}")
        constraints = ("constraints", f"{len(self.constraints):,}, declared as public knowledge and true of every row")
        return (
            ("measured", f"the one-way marginals of {number:,} columns, for {first} of the cost"),
            *([chosen] if self._pairs > 1 else []),
            *([constraints] if self.constraints else []),
            *([("workload", _workload_text(self.wanted))] if self.wanted else []),
            ("measured then", "the chosen pairs, and columns without one again, for what is left"),
            ("modelled", "all other marginals, through the tree of the chosen pairs"),
        )

    def train(self, counts: PrivateCounts) -> dict[str, Any]:
        """The state of the table as plain data.

        Args:
            counts: The private counts of all candidates.

        Returns:
            Columns, total, measurements, model, and the public integer that rows are drawn by.
        """
        _, second = _costs(self.rho, len(self.columns), self._pairs)
        measurements = [counts.measure((name,), cost) for name, cost in self.column_costs.items()]
        groups: Groups = {name: tuple(range(size)) for name, size in counts.domain.slots.items()}
        if len(self.columns) > 1:
            groups = merge_rare(column_counts(measurements))
            measurements += _measure_pairs(counts, measurements, groups, (second, self.required, self.wanted))
        model = constrain(fit(measurements, groups), self.rules)
        return {
            "columns": columns_to_json(self.columns),
            "total": model.total,
            "measurements": [each.to_json(groups if len(each.columns) > 1 else {}) for each in measurements],
            "model": model.to_json(),
            "draw": int(counts.public_generator().integers(1 << 62)),
        }

    @property
    def _pairs(self) -> int:
        return len(self.candidates) - len(self.columns)


def _workload_parts(workload: Iterable[Columns]) -> frozenset[Columns]:
    """The columns and pairs of a workload, in the order of the table."""
    marginals = tuple(workload)
    singles = {(name,) for marginal in marginals for name in marginal}
    return frozenset(singles | {pair for marginal in marginals for pair in combinations(marginal, 2)})


def _workload_text(wanted: frozenset[Columns]) -> str:
    pairs = sum(len(each) > 1 for each in wanted)
    return f"{len(wanted) - pairs:,} columns and {pairs:,} pairs count {WANTED_WEIGHT} times in costs and choices"


def _candidates(columns: tuple[SlotColumn, ...]) -> tuple[Columns, ...]:
    """All columns, and all pairs whose cells distances in 64 bits allow; the others are never edges."""
    domain = Domain.of(columns)
    singles: list[Columns] = [(name,) for name in domain.names]
    pairs = [pair for pair in combinations(domain.names, 2) if domain.cells(pair) <= MOST_CELLS]
    require_memory("a tree synthesis", domain, (*singles, *pairs))
    return (*singles, *pairs)


def _refuse_wide_constraints(synthesis: TreeSynthesis) -> None:
    for pair in synthesis.required:
        if pair not in synthesis.candidates:
            raise ParameterError(
                f"a constraint on {pair[0]!r} and {pair[1]!r}",
                because=f"their pairs of slots are more than {MOST_CELLS:,}",
                instead="fewer bins or keys of one of them in the catalog",
            )


def _costs(rho: Fraction, columns: int, pairs: int) -> tuple[Fraction, Fraction]:
    """The cost of the one-way marginals and that of choosing; the rest is for pairs."""
    first = rho if columns == 1 else COLUMNS_SHARE * rho
    return first, CHOICE_SHARE * rho if pairs > 1 else Fraction(0)


def _measure_pairs(
    counts: PrivateCounts,
    columns: list[Measurement],
    groups: Groups,
    choosing: tuple[Fraction, tuple[Columns, ...], frozenset[Columns]],
) -> list[Measurement]:
    """The two-way marginals of the tree, chosen and measured; and again the columns that have no pair."""
    merged, total = counts.merge(groups), max(estimated_total(columns), 1.0)
    estimates = {
        name: merged_counts(project(each.values, total), groups[name]) for name, each in column_counts(columns).items()
    }
    cost, required, wanted = choosing
    if cost:
        each_rho = (counts.left - cost) / (len(columns) - 1)
        sigma = math.sqrt(counts.contribution.l2_squared / (2 * each_rho))
        edges = choose_edges(merged, EdgeChoice(estimates, total, sigma, cost, required, wanted))
    else:
        edges = tuple(columns for columns in counts.candidates if len(columns) > 1)
    return measure_edges(counts, merged, edges, counts.domain.names, wanted)
