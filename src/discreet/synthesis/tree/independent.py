"""Columns by themselves: a table from one-way marginals, in which no column depends on another.

It is the first step of a synthesis, and the one with the least noise: every column is as in the data, up to noise, and
every association is lost. The guarantee is that of `discreet.synthesis.core.private_counts`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from discreet.errors import ParameterError, public_class
from discreet.plan.slots import SlotColumn, columns_to_json
from discreet.plan.synthesis import SynthesisFacts
from discreet.plan.wording import Lines
from discreet.synthesis.core.domain import Columns
from discreet.synthesis.core.private_counts import PrivateCounts
from discreet.synthesis.tree.fitting import Groups, fit


@public_class
@dataclass(frozen=True)
class IndependentSynthesizer:
    """A synthesizer whose columns are independent: it measures each column by itself.

    Example:
        >>> import discreet as dp
        >>> query = dp.table("people").synthesize(dp.synthesis.IndependentSynthesizer(), columns=["age", "sex"])
    """

    def synthesis(self, facts: SynthesisFacts) -> "IndependentSynthesis":
        """The synthesis from public facts alone.

        Args:
            facts: The columns with their slots, and the cost.

        Returns:
            The synthesis, with all marginals that it counts.

        Raises:
            ParameterError: If there are no columns, or a workload asks for associations.
        """
        for marginal in facts.workload or ():
            if len(marginal) > 1:
                raise ParameterError(
                    f"the marginal {list(marginal)} in the workload of independent columns",
                    because="columns are measured one by one, and associations are lost",
                    instead=f"workload={[[name] for name in marginal]}",
                )
        if not facts.columns:
            raise ParameterError(
                "a synthetic table without columns", because="it has no cells", instead='columns=["age", "sex"]'
            )
        return IndependentSynthesis(facts.columns, facts.rho)


@dataclass(frozen=True)
class IndependentSynthesis:
    """A synthesis of independent columns before a row is read.

    Attributes:
        columns: The columns with their slots.
        rho: The cost.
    """

    columns: tuple[SlotColumn, ...]
    rho: Fraction

    name = "independent columns"

    @property
    def candidates(self) -> tuple[Columns, ...]:
        """All one-way marginals."""
        return tuple((column.name,) for column in self.columns)

    @property
    def column_costs(self) -> Mapping[str, Fraction]:
        """The cost of the one-way marginal of each column, which is measured first, over all slots."""
        return {column.name: self.rho / len(self.columns) for column in self.columns}

    @property
    def parameters(self) -> Mapping[str, Any]:
        """All public parameters as plain data."""
        return {"kind": "independent", "format": 1}

    @property
    def words(self) -> Lines:
        """What is measured and modelled, in words."""
        number = len(self.columns)
        return (
            ("measured", f"the one-way marginals of {number:,} columns, each for 1/{number:,} of the cost"),
            ("modelled", "columns independent of each other"),
        )

    def train(self, counts: PrivateCounts) -> dict[str, Any]:
        """The state of the table as plain data.

        Args:
            counts: The private counts of all columns.

        Returns:
            Columns, total, measurements, model, and the public integer that rows are drawn by.
        """
        measurements = [counts.measure((name,), cost) for name, cost in self.column_costs.items()]
        groups: Groups = {name: tuple(range(size)) for name, size in counts.domain.slots.items()}
        model = fit(measurements, groups)
        return {
            "columns": columns_to_json(self.columns),
            "total": model.total,
            "measurements": [each.to_json({}) for each in measurements],
            "model": model.to_json(),
            "draw": int(counts.public_generator().integers(1 << 62)),
        }
