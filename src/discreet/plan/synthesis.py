"""What a session knows of a synthesizer: public facts go in, a synthesis with its cost comes out.

The synthesizers themselves are in `discreet.synthesis`, above sessions. A session sees them through these protocols,
and finds them by the names listed here. A synthesis is trained on private counts: noisy marginals and private choices.
"""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from importlib import import_module
from inspect import signature
from typing import Any, NamedTuple, Protocol, runtime_checkable

from discreet.errors import ParameterError
from discreet.plan.slots import Counts, Marginal, SlotColumn, UnitColumns
from discreet.plan.wording import Lines

_SYNTHESIZERS = {
    "graphical": ("discreet.synthesis.graphical.synthesizer", "GraphicalSynthesizer"),
    "independent": ("discreet.synthesis.tree.independent", "IndependentSynthesizer"),
    "tree": ("discreet.synthesis.tree.synthesizer", "TreeSynthesizer"),
    "two_level": ("discreet.synthesis.two_level.synthesizer", "TwoLevelSynthesizer"),
}
"""Where the synthesizers are that a session takes. Fingerprints hold the tag, which stays when a class is renamed."""


@dataclass(frozen=True)
class Contribution:
    """What one unit may change: at most `rows` rows, added or removed together, or each replaced by another."""

    rows: int
    replace_one: bool

    @property
    def l1(self) -> int:
        """How far a marginal moves in L1 norm."""
        return 2 * self.rows if self.replace_one else self.rows

    @property
    def l2_squared(self) -> int:
        """The square of how far a marginal moves in L2 norm."""
        return 2 * self.rows**2 if self.replace_one else self.rows**2

    @property
    def of_units(self) -> "Contribution":
        """What one unit may change where units are counted instead of rows."""
        return replace(self, rows=1)


@dataclass(frozen=True)
class SynthesisFacts:
    """The public facts that a synthesis is planned from.

    Attributes:
        columns: The columns of the table, with their slots.
        rho: Privacy cost of the synthesis.
        contribution: What one unit may change.
        workload: The marginals that matter, or None where all of them do.
        unit: The columns that say whose a row is; none where each row is a unit.
    """

    columns: tuple[SlotColumn, ...]
    rho: Fraction
    contribution: Contribution
    workload: tuple[Marginal, ...] | None = None
    unit: tuple[str, ...] = ()


class Synthesis(Protocol):
    """A synthetic table with everything that is public about its making; planned before a row is read."""

    @property
    def name(self) -> str:
        """The name of the kind of synthesizer."""

    @property
    def columns(self) -> tuple[SlotColumn, ...]:
        """The columns of the table, with their slots."""

    @property
    def candidates(self) -> tuple[Marginal, ...]:
        """All marginals that are counted, in one batch."""

    @property
    def rho(self) -> Fraction:
        """The zero-concentrated cost of all noisy marginals and choices: charged, and what private counts allow."""

    @property
    def column_costs(self) -> Mapping[str, Fraction]:
        """The cost of the one-way marginal of each column, which is measured first, over all slots."""

    @property
    def parameters(self) -> Mapping[str, Any]:
        """All public parameters as plain data: what the fingerprint of the query is made of."""

    @property
    def words(self) -> Lines:
        """What is measured and modelled, in words."""

    def train(self, counts: Any) -> dict[str, Any]:
        """The state of the table as plain data, from private counts: measurements, model, total and `draw`."""


@runtime_checkable
class UnitSynthesis(Protocol):
    """A synthesis that counts units beside their rows; it is trained on `LevelCounts`."""

    @property
    def units(self) -> UnitColumns:
        """The columns that have one slot for each unit; a candidate of such columns alone counts units."""

    @property
    def level_rhos(self) -> tuple[Fraction, Fraction]:
        """The costs of what counts units and of what counts rows, together at most `rho`; public."""


class LevelCounts(NamedTuple):
    """The private counts of units and of their rows, each with a contribution and a cost of its own."""

    units: Any
    rows: Any


@runtime_checkable
class Synthesizer(Protocol):
    """A synthesizer before it has a table."""

    def synthesis(self, facts: SynthesisFacts) -> Synthesis:
        """The synthesis from public facts alone, or an error."""


def synthesizer_tag(synthesizer: object) -> str:
    """The tag of a synthesizer of `dp.synthesis`, of exactly its class.

    A synthesizer holds private counts while it is trained, so a subclass, another object with the same methods, or an
    instance that hides a method could put exact counts into a release.

    Raises:
        ParameterError: If it is anything else.
    """
    kind = type(synthesizer)
    homes = {tag: getattr(sys.modules.get(module), name, None) for tag, (module, name) in _SYNTHESIZERS.items()}
    tags = [tag for tag, own in homes.items() if own is kind]
    if not tags or _hides_a_method(synthesizer):
        raise ParameterError(
            f"a synthesizer of the class {kind.__module__}.{kind.__qualname__}",
            because="a session takes synthesizers of dp.synthesis as they are",
            instead='dp.table("people").synthesize(dp.synthesis.TreeSynthesizer())',
        )
    return tags[0]


def _hides_a_method(synthesizer: object) -> bool:
    own = set(vars(synthesizer)) - {*signature(type(synthesizer)).parameters}
    return any(hasattr(type(synthesizer), name) for name in own)


def private_counts(synthesis: Synthesis, counts: Counts, contribution: Contribution, *, is_private: bool) -> Any:
    """The object that a synthesis is trained on; without noise where it is not private.

    Private counts are above sessions, so they are found by their name, as synthesizers are.
    """
    home: Any = import_module("discreet.synthesis.core.private_counts")
    domain: Any = import_module("discreet.synthesis.core.domain")
    kind = home.PrivateCounts if is_private else home.ExactCounts
    sizes = {column.name: column.size for column in synthesis.columns}
    if not isinstance(synthesis, UnitSynthesis):
        return kind(domain.Domain(sizes), counts, contribution, synthesis.rho)
    units, rhos = synthesis.units, synthesis.level_rhos
    if min(rhos) <= 0 or sum(rhos) > synthesis.rho:
        raise RuntimeError("levels of a larger cost than their synthesis")
    sizes = {name: ({units.number.name: units.number.size} | sizes)[name] for name in (*units.names, *sizes)}
    own = domain.Domain({name: sizes[name] for name in units.names})
    of_units = {marginal: each for marginal, each in counts.items() if units.covers(marginal)}
    of_rows = {marginal: each for marginal, each in counts.items() if not units.covers(marginal)}
    return LevelCounts(
        kind(own, of_units, contribution.of_units, rhos[0]),
        kind(domain.Domain(sizes), of_rows, contribution, rhos[1]),
    )


def marginal_of(names: Sequence[str], columns: Sequence[SlotColumn]) -> Marginal:
    """Columns of a marginal in the order of the table, each once."""
    wanted = set(names)
    return tuple(column.name for column in columns if column.name in wanted)
