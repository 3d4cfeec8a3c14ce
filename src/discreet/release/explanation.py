"""The privacy cost and the expected error of a query, before anything is read or charged."""

import html
import textwrap
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction

from discreet.errors import public_class
from discreet.exact.numbers import shown
from discreet.release.expected_error import ExpectedErrors


@dataclass(frozen=True)
class ExplainedOutput:
    """One output: its margin where it is public in advance, what the margin holds for, and its noise."""

    name: str
    kind: str
    noise: str
    margin: Fraction | None
    note: str = ""

    def __str__(self) -> str:
        known = "" if self.margin is None else format_margin(self.margin)
        text = " ".join(word for word in (known, self.note) if word) or "depends on the size of each group"
        return f"{self.kind}: ± {text}; {self.noise}"


@public_class
@dataclass(frozen=True)
class Explanation:
    """Privacy cost and margins of error of a query, from public facts alone. Print it to read it.

    Attributes:
        dataset: Name of the dataset.
        unit: The privacy unit, in words.
        caps: The contribution bounds, in words.
        outputs: Each output with its margin of error and its noise.
        groups: Number of groups.
        columns_read: Columns that the query reads.
        mechanism: The mechanism, and why it was chosen.
        cost: The privacy cost, in words.
        left: What is left of the budget before the query, in words.
        fits: Whether the query fits the budget.
        confidence: Probability with which margins of error hold.
        statement: What the margins cover.
        units: The charge in units of the ledger: 1e-12 of epsilon, 1e-15 of rho and of the Renyi divergence at the
            order of the budget, divided by the order; 1e-18 of delta.
        slice: The rows that the budget is for, where it is for a time slice.
        found: How unknown keys are found.
        details: Further public facts, such as the features and the declared size of a model.
        alternatives: Other noise with its margins of error, at the same cost or with the share of the budget it takes.
        expected: Expected relative errors by group, where sizes were given.

    Example:
        >>> import discreet as dp
        >>> facts = {"name": "visits", "privacy_unit": "patient_id", "max_rows": 10}
        >>> session = dp.testing.protect(dp.datasets.visits(100), **facts, budget=dp.Budget(epsilon=2))
        >>> explanation = session.explain(dp.table("visits").agg(n=dp.count()), epsilon=0.5)
        >>> explanation.columns_read, explanation.groups
        (('patient_id',), 1)
    """

    dataset: str
    unit: str
    caps: str
    outputs: tuple[ExplainedOutput, ...]
    groups: int
    columns_read: tuple[str, ...]
    mechanism: str
    cost: str
    left: str
    fits: bool
    confidence: Fraction
    statement: str
    units: Mapping[str, int | None] = field(default_factory=dict)
    """What the ledger will charge, to the last unit: 1e-12 of epsilon, 1e-15 of rho, 1e-18 of delta."""
    slice: str = ""
    """Which rows of which table the privacy budget is for, where it is for some of them only."""
    found: str = ""
    """How keys are found that are not known."""
    details: tuple[tuple[str, str], ...] = ()
    """Further public facts with their labels, such as the features and the declared size of a model."""
    alternatives: tuple[str, ...] = ()
    """Other noise for the same integers: its margins, and its cost where that is another."""
    expected: ExpectedErrors | None = None
    """How wrong each group is expected to be, where sizes were given."""

    def lines(self) -> list[tuple[str, str]]:
        """Labels and texts, in the order in which they are printed.

        Returns:
            Pairs of a label and a text.
        """
        return [
            ("protects", self.unit),
            *([("slice", self.slice)] if self.slice else []),
            ("keeps", self.caps),
            *((output.name, str(output)) for output in self.outputs),
            *self.details,
            ("groups", self.found or (f"{self.groups:,}" if self.groups > 1 else "none, one answer")),
            ("reads", ", ".join(self.columns_read) or "no column"),
            ("noise", self.mechanism),
            *(("or", other) for other in self.alternatives),
            ("costs", self.cost),
            ("left", self.left + ("" if self.fits else "; IT DOES NOT FIT")),
        ]

    def __str__(self) -> str:
        lines = self.lines()
        width = max(len(label) for label, _ in lines)
        body = "\n".join(f"  {label.ljust(width)}  {text}" for label, text in lines)
        errors = "" if self.expected is None else "\n" + textwrap.indent(str(self.expected), "  ")
        return f"{self.dataset}: {self.statement}\n{body}\n  {self._footnote()}{errors}"

    __repr__ = __str__

    def _repr_html_(self) -> str:
        rows = "".join(
            f'<tr><th scope="row" style="text-align:left">{html.escape(label)}</th>'
            f'<td style="text-align:left">{html.escape(text)}</td></tr>'
            for label, text in self.lines()
        )
        head = f"<strong>{html.escape(self.dataset)}</strong>: {html.escape(self.statement)}"
        errors = "" if self.expected is None else self.expected._repr_html_()
        return f"<div>{head}<table>{rows}</table><small>{html.escape(self._footnote())}</small>{errors}</div>"

    def _footnote(self) -> str:
        return f"± at {shown(100 * self.confidence)}%, for the noise"


@dataclass(frozen=True)
class BatchExplanation:
    """Explanation of several queries that are charged at once.

    Attributes:
        parts: The explanation of each query.
        cost: The privacy cost of all of them, in words.
        left: What is left of the budget before them, in words.
        fits: Whether the batch fits the budget.
        units: The charge in units of the ledger.

    Example:
        >>> import discreet as dp
        >>> facts = {"name": "visits", "privacy_unit": "patient_id", "max_rows": 10}
        >>> session = dp.testing.protect(dp.datasets.visits(100), **facts, budget=dp.Budget(epsilon=2))
        >>> rows, patients = dp.table("visits").agg(n=dp.count()), dp.table("visits").agg(n=dp.count_units())
        >>> len(session.explain([rows, patients], epsilon=1).parts)
        2
    """

    parts: tuple[Explanation, ...]
    cost: str
    left: str
    fits: bool
    units: Mapping[str, int | None] = field(default_factory=dict)
    """What the ledger will charge for all, to the last unit."""

    def _total(self) -> str:
        fits = "" if self.fits else "; IT DOES NOT FIT"
        return f"all {len(self.parts):,} together cost {self.cost}; left: {self.left}{fits}"

    def __str__(self) -> str:
        return "\n".join([*map(str, self.parts), self._total()])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        parts = "".join(part._repr_html_() for part in self.parts)
        return f"<div>{parts}<strong>{html.escape(self._total())}</strong></div>"


def format_margin(margin: Fraction) -> str:
    """A margin with its thousands set apart, as releases write it."""
    return f"{margin.numerator:,}" if margin.denominator == 1 else f"{float(margin):,.6g}"
