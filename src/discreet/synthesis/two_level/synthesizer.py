"""The two-level synthesizer: persons with person columns, and at most L visits of each, as two linked tables.

Definition
    At most L rows of a person count, by the hash of every other query. A person column has the least or the greatest
    of the slots of these rows, the slot of missing values last. Persons are measured by marginals of person columns and
    the number of rows that count: each person is in one cell. Visits are measured by marginals with at least one visit
    column, in which each row carries the person columns of its person. A quarter of rho is for persons: a private tree
    of their columns. The rest is for visits: 2/5 of it measures their columns, 1/20 chooses pairs, and what is left
    measures the pairs. All person columns are one node of that tree.

Guarantee
    rho-zCDP for one person: a person moves a marginal of persons by at most 1 in L1 and L2 when added or removed, and
    by at most 2 in L1 and sqrt(2) in L2 when replaced. A marginal of visits moves by L times as much. Each level has
    private counts of its own, with its contribution and its public share of rho. Models and rows are post-processing.
    Proof: docs/proofs/synthesis/two_level/synthesizer.md.

Exactness
    Costs are rationals, and slots, rules and counts are integers. Floats are in what follows noisy answers alone.

Not covered
    Whether a rule picks the true value of a person. How visits of one person depend on each other beyond their person
    columns, and in which order they are. Visits beyond L, which are not in the table.

References
    McKenna, Miklau and Sheldon, Journal of Privacy and Confidentiality 11(3), 2021, arXiv 2108.04978 (MST).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np

from discreet.catalog.catalog import ColumnType
from discreet.errors import NameNotFoundError, ParameterError, public_class, suggestion
from discreet.plan.slots import SlotColumn, UnitColumns, UnitRule, columns_to_json
from discreet.plan.synthesis import Contribution, LevelCounts, SynthesisFacts
from discreet.plan.wording import Lines
from discreet.synthesis.core.domain import Columns, Domain, require_memory
from discreet.synthesis.core.merging import MERGE_BELOW
from discreet.synthesis.core.model import CountEstimate
from discreet.synthesis.core.private_counts import MOST_CELLS
from discreet.synthesis.rows.constraints import SlotRule
from discreet.synthesis.tree.choice import share_by_cells
from discreet.synthesis.tree.constrain import constrain
from discreet.synthesis.tree.model import TreeModel
from discreet.synthesis.tree.synthesizer import TreeSynthesis, TreeSynthesizer
from discreet.synthesis.two_level.fitting import VisitShares, fit_visits, measure_visits, visit_total
from discreet.synthesis.two_level.model import TwoLevelModel, weigh_by_number

PERSONS_SHARE = Fraction(1, 4)
SHARES = VisitShares(columns=Fraction(2, 5), choice=Fraction(1, 20))
MOST_VISITS = 256
"""The largest bound on the rows of a person: the noise of visits grows with it."""
_RULES = " or ".join(f'"{rule}"' for rule in UnitRule)
_EXAMPLE = 'dp.synthesis.TwoLevelSynthesizer(person={"sex": "min"})'


@public_class
@dataclass(frozen=True)
class TwoLevelSynthesizer:
    """A synthesizer for tables with several rows per person: persons and their visits, as two linked tables.

    Persons have an invented identifier, the person columns and their number of visits. Visits have the identifier of
    their person and the other columns. `table.to_tables()` gives both.

    Attributes:
        person: Person columns, each with its rule: "min" or "max" of the values of a person, in the order of
            bins or of declared keys; missing values last. All other columns are of visits. Default: none.
        identifier: Name of the column of invented identifiers, 1, 2 and so on. Default "person_id".
        number: Name of the column that holds the number of visits. Default "visit_count".

    Example:
        >>> import discreet as dp
        >>> synthesizer = dp.synthesis.TwoLevelSynthesizer(person={"sex": "min", "birth_year": "max"})
        >>> query = dp.table("visits").synthesize(synthesizer)
    """

    person: Mapping[str, str] = field(default_factory=dict)
    identifier: str = "person_id"
    number: str = "visit_count"

    def synthesis(self, facts: SynthesisFacts) -> "TwoLevelSynthesis":
        """The synthesis from public facts alone.

        Args:
            facts: The columns with their slots, the bound on the rows of a person, and the cost.

        Returns:
            The synthesis, with all marginals that it counts.

        Raises:
            ParameterError: If rows have no persons, or each person has one row or more than 256, if a rule or a name is
                none, if no column is of visits, if there are more cells than fit the memory, or if there is a workload.
            NameNotFoundError: If a person column is not among the columns.
        """
        _require_levels(facts)
        rules = _rules(self.person, facts.columns)
        identifier, name = _names({"identifier": self.identifier, "number": self.number}, facts.columns)
        number = SlotColumn(name, ColumnType.INTEGER, values=tuple(range(1, facts.contribution.rows + 1)))
        units = UnitColumns(number, rules)
        synthesis = TwoLevelSynthesis(facts.columns, units, identifier, facts.rho, facts.contribution)
        require_memory("a two-level synthesis", synthesis.domain, synthesis.candidates)
        return synthesis


@dataclass(frozen=True)
class TwoLevelSynthesis:
    """A two-level synthesis before a row is read.

    Attributes:
        columns: The columns of the private table, with their slots.
        units: The person columns with their rules, and the number of visits.
        identifier: Name of the column of invented identifiers.
        rho: The cost.
        contribution: What one person may change in marginals of visits.
    """

    columns: tuple[SlotColumn, ...]
    units: UnitColumns
    identifier: str
    rho: Fraction
    contribution: Contribution

    name = "two levels"

    @property
    def level_rhos(self) -> tuple[Fraction, Fraction]:
        """The costs of persons and of visits."""
        return PERSONS_SHARE * self.rho, (1 - PERSONS_SHARE) * self.rho

    @cached_property
    def persons(self) -> TreeSynthesis:
        """The tree of person columns and the number of visits, which comes first."""
        known = {column.name: column for column in self.columns}
        own = (self.units.number, *(known[name] for name, _ in self.units.rules))
        return TreeSynthesizer().synthesis(SynthesisFacts(own, self.level_rhos[0], self.contribution.of_units))

    @cached_property
    def visits(self) -> tuple[SlotColumn, ...]:
        """The columns of visits."""
        return tuple(column for column in self.columns if column.name not in self.units.names)

    @cached_property
    def domain(self) -> Domain:
        """The columns of persons, and then those of visits."""
        return Domain.of((*self.persons.columns, *self.visits))

    @cached_property
    def candidates(self) -> tuple[Columns, ...]:
        """All marginals that are counted: of persons, of columns of visits, and of pairs with one of these."""
        domain = self.domain
        own = {column.name for column in self.visits}
        pairs = [pair for pair in combinations(domain.names, 2) if pair[1] in own and domain.cells(pair) <= MOST_CELLS]
        return (*self.persons.candidates, *((column.name,) for column in self.visits), *pairs)

    @property
    def column_costs(self) -> Mapping[str, Fraction]:
        """The cost of the one-way marginal of each column: of persons, and of visits."""
        domain = Domain.of(self.visits)
        costs = share_by_cells(domain, [(name,) for name in domain.names], SHARES.columns * self.level_rhos[1])
        return {**self.persons.column_costs, **dict(zip(domain.names, costs, strict=True))}

    @property
    def parameters(self) -> Mapping[str, Any]:
        """All public parameters as plain data."""
        return {
            "kind": "two_level",
            "format": 1,
            "shares": [str(PERSONS_SHARE), str(SHARES.columns), str(SHARES.choice)],
            "merge_below": MERGE_BELOW,
            "person": [[name, str(rule)] for name, rule in self.units.rules],
            "names": [self.identifier, self.units.number.name],
            "persons": dict(self.persons.parameters),
        }

    @property
    def words(self) -> Lines:
        """What is measured and modelled, in words."""
        rules = ", ".join(f"{name!r} by {rule}" for name, rule in self.units.rules)
        most, number = len(self.units.number.values), len(self.visits)
        pairs = len(self.candidates) - len(self.persons.candidates) - number
        persons, chosen = (f"{float(each):.0%}" for each in (PERSONS_SHARE, SHARES.choice))
        return (
            ("person columns", rules or "none but the number of visits"),
            ("measured", f"marginals of persons, each in one cell, for {persons} of the cost"),
            ("measured then", f"marginals of visits, at most {most:,} of each person, for the rest"),
            ("chosen", f"at most {number:,} of {pairs:,} pairs with a visit column, for {chosen} of that"),
            ("modelled", "each visit column by one parent; the visits of a person otherwise independent of each other"),
        )

    def train(self, counts: LevelCounts) -> dict[str, Any]:
        """The state of both tables as plain data.

        Args:
            counts: The private counts of persons and of visits.

        Returns:
            Columns, total of visits, measurements of visits and of persons, model, and the public integer that rows
            are drawn by.
        """
        found = self.persons.train(counts.units)
        persons = constrain(TreeModel.from_json(found["model"]), [self._possible_numbers])
        weighted = weigh_by_number(persons)
        answers = measure_visits(counts.rows, weighted, SHARES)
        own = CountEstimate(np.asarray(weighted.total), self._total_variance(found["measurements"]))
        total = max(visit_total(answers.measurements, own), persons.total)  # each person has a visit
        model = TwoLevelModel(persons, fit_visits(answers, weighted, total), self.identifier)
        plain = [each.to_json(answers.groups if len(each.columns) > 1 else {}) for each in answers.measurements]
        return {
            "columns": columns_to_json((*self.persons.columns, *self.visits)),
            "total": model.total,
            "measurements": plain,
            "persons": {"total": persons.total, "measurements": found["measurements"]},
            "model": model.to_json(),
            "draw": found["draw"],
        }

    def _total_variance(self, measurements: Sequence[Mapping[str, Any]]) -> float:
        """About the variance of the number of visits by persons: of the sum of n times the noisy persons with n."""
        number = [each for each in measurements if each["columns"] == [self.units.number.name]]
        precision = sum(1 / float(each["sigma"]) ** 2 for each in number)
        return sum(n**2 for n in range(1, self.units.number.size)) / precision

    @property
    def _possible_numbers(self) -> SlotRule:
        """Every person has a number of visits."""
        number = self.units.number
        return SlotRule((number.name,), np.arange(number.size) < number.missing)


def _require_levels(facts: SynthesisFacts) -> None:
    """Refuse tables that have no second level."""
    most = facts.contribution.rows
    if not facts.unit:
        raise ParameterError(
            "a two-level table where each row is a privacy unit",
            because="no column says whose a row is",
            instead='privacy_unit="person_id" and max_rows=10 in dp.protect, or dp.synthesis.TreeSynthesizer()',
        )
    if most == 1:
        raise ParameterError(
            "a two-level table with max_rows=1",
            because="one row of each person counts, so there is one level",
            instead="dp.synthesis.TreeSynthesizer()",
        )
    if most > MOST_VISITS:
        raise ParameterError(
            f"a two-level table with max_rows={most:,}",
            because=f"at most {MOST_VISITS} visits of a person are modelled, and noise grows with them",
            instead="max_rows=10 in dp.protect(...) or in the catalog",
        )
    if facts.workload is not None:
        raise ParameterError(
            "a workload of a two-level table",
            because="it takes no workload: two private trees choose its pairs",
            instead=f'dp.table("visits").synthesize({_EXAMPLE})',
        )


def _rules(person: object, columns: tuple[SlotColumn, ...]) -> tuple[tuple[str, UnitRule], ...]:
    """The rule of each person column, in the order of the table.

    Names are plain text: a subclass could see exact counts.
    """
    given: dict[Any, Any] = dict(person) if isinstance(person, Mapping) else {None: None}
    known = [column.name for column in columns]
    for name, rule in given.items():
        if not isinstance(name, str) or rule not in tuple(UnitRule):
            raise ParameterError(
                "person columns without a rule" if name is None else f"the person column {name!r} without a rule",
                because=f"a rule is {_RULES}: the least or the greatest value of its person",
                instead=_EXAMPLE if name is None else f'person={{{str(name)!r}: "min"}}',
            )
        if name not in known:
            raise NameNotFoundError(
                f"the person column {name!r}",
                because="the synthetic table has no column of that name",
                instead=suggestion(name, known),
            )
    if len(given) == len(known):
        raise ParameterError(
            "a two-level table whose columns are all of persons",
            because="visits would have no column",
            instead=f"no rule for {known[-1]!r}" if known else 'columns=["sex", "ward"]',
        )
    plain = {str.__str__(name): UnitRule(rule) for name, rule in given.items()}
    return tuple((name, plain[name]) for name in known if name in plain)


def _names(given: Mapping[str, object], columns: tuple[SlotColumn, ...]) -> list[str]:
    """The names of the further columns, as plain text."""
    taken = {column.name for column in columns}
    for argument, name in given.items():
        if not isinstance(name, str) or not name or name in taken:
            raise ParameterError(
                f"{argument}={name!r} of a two-level table",
                because="each column of the synthetic tables has a name of its own",
                instead=f'{argument}="synthetic_{argument}"',
            )
        taken.add(name)
    return [str.__str__(name) for name in given.values() if isinstance(name, str)]
