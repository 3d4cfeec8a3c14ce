"""What generalisation would cost: for several k the recoding of least loss that a search over hierarchies finds."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from discreet.anonymity.classes.cube import Cube
from discreet.anonymity.generalisation.lattice import LatticeSearch, search
from discreet.anonymity.generalisation.levels import GeneralisationLevels
from discreet.anonymity.generalisation.mondrian import MondrianPartition, mondrian
from discreet.anonymity.report.default_hierarchies import column_levels
from discreet.plots.style import percent
from discreet.release.values import rendering

SUPPRESSION = Fraction(1, 100)
"""Share of the people that may be left out to reach a k."""
AS_IT_IS, LEFT_OUT = "as it is", "left out"


@dataclass(frozen=True)
class GeneralisationCost:
    """The least loss that reaches a k.

    Attributes:
        k: Number of people that each class must have.
        levels: For each column what its values become, by an example; None where no recoding reaches k.
        classes: Number of classes that are left.
        suppressed: Number of people whose rows are left out.
        loss: Share of the information of the columns that is lost, from 0 to 1.
        local_classes: Number of classes of a local recoding by Mondrian; 0 where it has none.
        local_loss: Its loss.
    """

    k: int
    levels: Mapping[str, str]
    classes: int
    suppressed: int
    loss: float
    local_classes: int
    local_loss: float

    def cells(self) -> list[tuple[str, str]]:
        """Names and texts of the lines of a table."""
        return [
            *((rendering.cell(name), rendering.cell(level)) for name, level in self.levels.items()),
            ("classes left", f"{self.classes:,}"),
            ("people left out", f"{self.suppressed:,}"),
            ("loss", percent(self.loss)),
            ("local recoding: classes left", f"{self.local_classes:,}"),
            ("local recoding: loss", percent(self.local_loss)),
        ]


def generalisation_costs(
    cube: Cube, hierarchies: Mapping[str, object] | None, sizes: Sequence[int]
) -> tuple[GeneralisationCost, ...]:
    """The cost for each k that a recoding reaches."""
    if not cube.total:
        return ()
    levels = column_levels(cube, hierarchies)
    most = _largest_loss(cube)
    found = []
    for k in sizes:
        result = search(cube, levels, k=k, suppression=SUPPRESSION)
        if result.optimal is not None:
            local = mondrian(cube, cube.quasi, k=k)
            found.append(_cost(k, result, local, levels, most))
    return tuple(found)


def _cost(
    k: int,
    result: LatticeSearch,
    local: MondrianPartition,
    levels: Mapping[str, GeneralisationLevels],
    most: float,
) -> GeneralisationCost:
    optimal = result.optimal or {}
    texts = {name: _level_text(levels[name], level) for name, level in optimal.items()}
    losses = [
        min(1.0, round(float(bits) / most, 9)) if most else 0.0
        for bits in (result.value or 0, local.non_uniform_entropy or 0)
    ]
    return GeneralisationCost(
        k, texts, result.classes or 0, result.suppressed or 0, losses[0], local.classes, losses[1]
    )


def _level_text(levels: GeneralisationLevels, level: int) -> str:
    """A level by an example of what values become."""
    if level == 0:
        return AS_IT_IS
    # sorted, because the order of the values is that of the engine
    labels = sorted(label for label in levels.labels[level] if label is not None)
    return LEFT_OUT if level == levels.height or not labels else labels[len(labels) // 2]


def _largest_loss(cube: Cube) -> float:
    """Bits that are lost where every value of every column is left out."""
    total = 0.0
    for name in cube.quasi:
        counts = np.zeros(len(cube.values[name]), dtype=np.int64)
        np.add.at(counts, cube.codes[name], cube.people)
        counts = counts[counts > 0]
        total += float((counts * np.log2(counts.sum() / counts)).sum())
    return total
