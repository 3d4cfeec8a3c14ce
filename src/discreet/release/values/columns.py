"""What a release is made of: keys, answers with their margins, and the noisy integers that they are read off."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import pyarrow as pa

from discreet.catalog.catalog import ColumnType, Value
from discreet.mechanisms import additive_noise
from discreet.mechanisms.additive import AdditiveNoise, Norms

Figure = int | float
Answer = Figure | None
"""An answer, or None where automatic bounds found nothing: a result of its own, charged and stored like a number."""
Factors = tuple[tuple[int, Fraction], ...]

MARGIN = "_margin"
KEY_TYPES: dict[ColumnType, pa.DataType] = {
    ColumnType.INTEGER: pa.int64(),
    ColumnType.TEXT: pa.string(),
    ColumnType.BOOLEAN: pa.bool_(),
    ColumnType.DATE: pa.date32(),
    ColumnType.TIMESTAMP: pa.timestamp("us"),
}


@dataclass(frozen=True)
class OutputColumn:
    """A named column of answers, each with its margin at the release's confidence: whole numbers where they are.

    Margins are in the numbers of the values, or of what `margin_of` names, such as ranks. `parts` says how a value is
    read off the noisy integers of its row: so many times the steps of each measured column; `over` by what that is
    divided, where it is a mean; `bounds` into what the values of rows were moved before. All three may be left open.
    Values and margins are None where automatic bounds found nothing.
    """

    name: str
    kind: str
    values: tuple[Answer, ...]
    margins: tuple[Answer, ...]
    margin_of: str = ""
    parts: Factors = ()
    over: Factors = ()
    bounds: tuple[Fraction, Fraction] | None = None

    @property
    def is_found(self) -> bool:
        """Whether there are numbers, and automatic bounds did not come back with nothing."""
        return None not in self.values


def empty_output(name: str, kind: str, rows: int) -> OutputColumn:
    """An output without values: its automatic bounds found nothing."""
    return OutputColumn(name, kind, (None,) * rows, (None,) * rows)


@dataclass(frozen=True)
class MeasuredColumn:
    """Noisy integers as they were drawn, in steps of a public grid, with the noise that is on them.

    There is one for each row of the release, unless `places` says what else they stand for, such as nodes of a tree.
    `mechanism` is the published name of the noise, `scale` its width, `shape` further integers of its distribution.
    """

    measure: str
    mechanism: str
    scale: float
    l1: int
    l2_squared: int
    grid: Fraction
    steps: tuple[int, ...]
    places: str = ""
    shape: tuple[int, ...] = ()

    @property
    def noise(self) -> AdditiveNoise | None:
        """The additive noise on these integers, or None where they were made in another way."""
        kind = additive_noise(self.mechanism)
        return None if kind is None else kind.from_release(self.scale, self.shape, self.l1, self.l2_squared)


def measured_column(
    measure: str, noise: AdditiveNoise, sensitivity: Norms, steps: Sequence[int], grid: Fraction, places: str = ""
) -> MeasuredColumn:
    """Integers with additive noise, as a release publishes them."""
    return MeasuredColumn(
        measure=measure,
        mechanism=noise.name,
        scale=noise.width,
        l1=sensitivity.l1,
        l2_squared=sensitivity.l2_squared,
        grid=grid,
        steps=tuple(steps),
        places=places,
        shape=noise.shape,
    )


@dataclass(frozen=True)
class Key:
    """A grouping column and its keys, one per row of the release."""

    name: str
    type: ColumnType
    values: tuple[Value, ...]


@dataclass(frozen=True)
class RawAnswers:
    """The answers before they were rounded, clipped or reconciled, and the post-processing up to then."""

    outputs: tuple[OutputColumn, ...]
    post_processing: tuple[str, ...]


def key_arrays(keys: tuple[Key, ...]) -> dict[str, pa.Array]:
    """Key columns in their own types."""
    return {key.name: pa.array(key.values, KEY_TYPES[key.type]) for key in keys}


def output_arrays(output: OutputColumn) -> dict[str, pa.Array]:
    """Values and margins of an output; without rows in the types that they would have."""
    sides = {output.name: output.values, output.name + MARGIN: output.margins}
    if output.values:
        return {name: figure_array(side) for name, side in sides.items()}
    return {name: pa.array([], pa.int64() if _is_whole(output) else pa.float64()) for name in sides}


def _is_whole(output: OutputColumn) -> bool:
    """Whether answers are whole numbers, as counts are and sums on a grid of whole numbers."""
    if not output.parts:
        return output.kind.startswith("count")
    return not output.over and all(factor.denominator == 1 for _, factor in output.parts)


def figure_array(values: tuple[Answer, ...]) -> pa.Array:
    """Whole numbers where all of them are and fit; doubles elsewhere, and null where there is no number."""
    if all(isinstance(value, int) and abs(value) < 2**63 for value in values):
        return pa.array(values, pa.int64())
    return pa.array([None if value is None else float(value) for value in values], pa.float64())
