"""Which integers get noise: the measures that outputs need, or combinations of them that one unit moves less.

Where the units of each group are measured anyway, rows are counted as a difference from what is usual for a unit: one
unit moves that by half as much. Where the rows are measured anyway, a sum is taken around the middle of its bounds. The
outputs are read off the noisy integers, which costs nothing.
"""

import itertools
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import NamedTuple

from discreet.catalog.privacy_unit import Caps, Neighbours
from discreet.plan.physical import CountRows, CountUnits, Integers, SumSteps
from discreet.planner.sensitivity.contribution_bounds import spread
from discreet.planner.sensitivity.sensitivity import Drawn, Offset, Sensitivity, sensitivity
from discreet.release.values.columns import Factors


@dataclass(frozen=True)
class Basis:
    """The integers that get noise, and how each measure is read off them: factors by place, without those of 0."""

    drawn: tuple[Drawn, ...]
    sensitivities: tuple[Sensitivity, ...]
    readings: Mapping[Integers, Factors]

    @property
    def engine_measures(self) -> tuple[Integers, ...]:
        """What an engine is asked for."""
        return tuple(dict.fromkeys(measure for drawn in self.drawn for _, measure in terms(drawn)))


class _Detour(NamedTuple):
    """measure = (drawn + offset * carrier) / factor."""

    drawn: Drawn
    carrier: Integers
    factor: int
    offset: int


def bases(measures: Sequence[Integers], caps: Caps, groups: int, neighbours: Neighbours) -> list[Basis]:
    """The measures as they are, and then the other ways to measure them, where there are any."""
    known = frozenset(measures)

    def basis(kinds: tuple[type[Integers], ...]) -> Basis:
        found = {m: _detour(m, known, caps, groups) for m in measures if isinstance(m, kinds)}
        return _basis(measures, {m: way for m, way in found.items() if way}, caps, groups, neighbours)

    plain, *others = (basis(kinds) for kinds in ((), (CountRows,), (SumSteps,), (CountRows, SumSteps)))
    distinct = {other.drawn: other for other in others if other.drawn != plain.drawn}
    return [plain, *distinct.values()]


def terms(drawn: Drawn) -> tuple[tuple[int, Integers], ...]:
    """The whole multiples of an engine's measures that add up to what is drawn."""
    if isinstance(drawn, Offset):
        return (drawn.factor, drawn.measure), (-drawn.offset, drawn.carrier)
    return ((1, drawn),)


def _detour(measure: Integers, measures: Collection[Integers], caps: Caps, groups: int) -> _Detour | None:
    match measure:
        case CountRows(operand) if CountUnits() in measures:
            height = spread(caps, groups).linf
            return _around(measure, CountUnits(), height if operand else height + 1)
        case SumSteps(centre=0, power=1):
            return next(_detours_of_a_sum(measure, measures, caps, groups), None)
    return None


def _detours_of_a_sum(
    total: SumSteps, measures: Collection[Integers], caps: Caps, groups: int
) -> Iterator[_Detour | None]:
    present = CountRows(total.operand if total.missing is None else None)
    both = min(0, total.low) + max(0, total.high)
    if present in measures:
        centre = (total.low + total.high) // 2
        yield _Detour(replace(total, centre=centre), present, 1, centre) if centre else None
    if CountRows() in measures:
        yield _around(total, CountRows(), both)
    if CountUnits() in measures:
        yield _around(total, CountUnits(), spread(caps, groups).linf * both)


def _around(measure: CountRows | SumSteps, carrier: CountUnits | CountRows, twice: int) -> _Detour | None:
    """By way of the difference from half of `twice` for each of the carrier; doubled where that is not whole."""
    factor, offset = (2, twice) if twice % 2 else (1, twice // 2)
    return _Detour(Offset(measure, carrier, factor, offset), carrier, factor, offset) if twice else None


def _basis(
    measures: Sequence[Integers], detours: Mapping[Integers, _Detour], caps: Caps, groups: int, neighbours: Neighbours
) -> Basis:
    parts = {measure: _parts(measure, detours) for measure in measures}
    moved = {
        drawn: sensitivity(drawn, caps, groups, neighbours)
        for drawn in dict.fromkeys(itertools.chain.from_iterable(parts.values()))
    }
    drawn = tuple(one for one, size in moved.items() if size.l1)  # what nobody moves is zero and needs no noise
    places = {one: place for place, one in enumerate(drawn)}
    readings = {
        measure: tuple(sorted((places[one], factor) for one, factor in part.items() if factor and one in places))
        for measure, part in parts.items()
    }
    return Basis(drawn, tuple(moved[one] for one in drawn), readings)


def _parts(measure: Integers, detours: Mapping[Integers, _Detour]) -> dict[Drawn, Fraction]:
    """What a measure is read off, and how much of each."""
    if measure not in detours:
        return {measure: Fraction(1)}
    drawn, carrier, factor, offset = detours[measure]
    parts: dict[Drawn, Fraction] = {drawn: Fraction(1, factor)}
    for one, part in _parts(carrier, detours).items():
        parts[one] = parts.get(one, Fraction(0)) + part * offset / factor
    return parts
