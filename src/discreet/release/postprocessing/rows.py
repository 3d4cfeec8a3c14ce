"""Which rows of a release go together, and the quantities that its outputs are in the noisy integers of those rows."""

import hashlib
import json
import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from discreet.catalog.catalog import Value
from discreet.errors import NameNotFoundError, ParameterError, UnsupportedError, suggestion
from discreet.exact.rounding import double_up
from discreet.mechanisms.additive import AdditiveNoise
from discreet.release.postprocessing.quantities import Atom, Linear, Quantity, Quotient
from discreet.release.values.columns import Answer, Factors, Figure, Key, MeasuredColumn, OutputColumn

NOTHING_FOUND = "automatic bounds found nothing, so there is no number"
BOUNDS_INSTEAD = "bounds=(low, high) from public knowledge, or a larger epsilon"

Where = Mapping[str, Value | Sequence[Value]]


@dataclass(frozen=True)
class NoiseSource:
    """The noisy integers of one release, with a name that no other release has."""

    name: str
    measured: tuple[MeasuredColumn, ...]
    noises: tuple[AdditiveNoise | None, ...]

    def linear(self, factors: Factors, rows: Sequence[int]) -> Linear:
        """The sum over rows of so many times the steps of each measured column."""
        found: dict[Atom, Fraction] = {}
        for place, factor in factors:
            for row in rows:
                found[self._atom(place, row)] = factor
        return Linear(found)

    def _atom(self, place: int, row: int) -> Atom:
        noise = self.noises[place]
        if noise is None:
            raise _unknown_noise(self.measured[place].mechanism)
        return Atom(self.name, place, row, self.measured[place].steps[row], noise)


def source_of(receipt: Mapping[str, Any], keys: tuple[Key, ...], measured: tuple[MeasuredColumn, ...]) -> NoiseSource:
    """The same release read twice is the same source: its noise cancels where it is subtracted from itself."""
    parts = [json.dumps(receipt, sort_keys=True, default=str), repr(keys), repr(measured)]
    name = hashlib.sha256("\n".join(parts).encode()).hexdigest()
    return NoiseSource(name, measured, tuple(noise_of(one) for one in measured))


def noise_of(measured: MeasuredColumn) -> AdditiveNoise | None:
    """The noise on measured integers that stand one in each row; None where they have another kind of noise."""
    return None if measured.places else measured.noise


def total_of(output: OutputColumn, source: NoiseSource, rows: Sequence[int]) -> Linear:
    """The total of an output over rows; refused where it does not add up."""
    if output.over:
        raise UnsupportedError(
            f"a total of {output.kind} {output.name!r}",
            because="means do not add up",
            instead=f"release.mean({output.name!r}), which weighs each group by its noisy count",
        )
    require_parts(output)
    return source.linear(output.parts, rows)


def mean_of(output: OutputColumn, source: NoiseSource, rows: Sequence[int]) -> Quotient:
    """The mean over rows: all sums over all counts; refused where the output is no mean."""
    if not output.over:
        require_parts(output)
        raise UnsupportedError(
            f"a mean of {output.kind} {output.name!r}",
            because="it was not released as a mean, so its row count is not known",
            instead=f'release.ratio({output.name!r}, "n") by an output that counts, or dp.mean(...) in the query',
        )
    return Quotient(source.linear(output.parts, rows), source.linear(output.over, rows), output.bounds)


def is_certain(output: OutputColumn) -> bool:
    """Whether an output has no noise of its own, like bounds that were found first and are then known."""
    return output.is_found and not output.parts and not output.margin_of and not any(output.margins)


def is_traced(output: OutputColumn) -> bool:
    """Whether the release says how an output is read off noisy integers of its row, or that it has no noise."""
    return bool(output.parts) or is_certain(output)


def answer_of(output: OutputColumn, source: NoiseSource, row: int) -> Linear | Quotient:
    """What an output is in one row."""
    if is_certain(output):
        return Linear({}, Fraction(output.values[row] or 0))
    return mean_of(output, source, [row]) if output.over else total_of(output, source, [row])


def chosen_rows(keys: tuple[Key, ...], count: int, where: Where | None) -> list[int]:
    """The rows whose keys are the ones asked for; a key or a value that is not there is refused."""
    _refuse_other_than_keys(keys, where)
    wanted = {name: _values(find_key(keys, name), values) for name, values in (where or {}).items()}
    columns = {key.name: key.values for key in keys}
    return [row for row in range(count) if all(columns[name][row] in values for name, values in wanted.items())]


def group_rows(
    keys: tuple[Key, ...], rows: Sequence[int], by: str | Sequence[str] | None
) -> tuple[tuple[Key, ...], list[list[int]]]:
    """The coarser keys, each once and in the order of the release, and the rows that belong to each."""
    names = _names(keys, by)
    chosen = [find_key(keys, name) for name in names]
    members: dict[tuple[Value, ...], list[int]] = {} if names else {(): []}
    for row in rows:
        members.setdefault(tuple(key.values[row] for key in chosen), []).append(row)
    coarse = tuple(
        Key(key.name, key.type, tuple(values[place] for values in members)) for place, key in enumerate(chosen)
    )
    return coarse, list(members.values())


def _names(keys: tuple[Key, ...], by: object) -> list[str]:
    if by is None or isinstance(by, str):
        return [] if by is None else [by]
    if isinstance(by, list | tuple) and all(isinstance(name, str) for name in by):
        return list(by)
    known = keys[0].name if keys else "ward"
    because = "by= names key columns, and where= says which of their values"
    instead = f"by={known!r}" + (f", where={by!r}" if isinstance(by, Mapping) else "")
    raise ParameterError(f"by={by!r}", because=because, instead=instead)


def _refuse_other_than_keys(keys: tuple[Key, ...], where: object) -> None:
    if where is None or (isinstance(where, Mapping) and all(isinstance(name, str) for name in where)):
        return
    name, value = (keys[0].name, next(iter(keys[0].values), "surgery")) if keys else ("ward", "surgery")
    found = next((key.name for key in keys if isinstance(where, str) and where in key.values), None)
    wanted = {found: where} if found else {name: value}
    raise ParameterError(
        f"groups given as {where!r}",
        because="groups of a release are named by a key column and the values of it",
        instead=f"where={wanted!r}",
    )


def require_rows(rows: Sequence[int], count: int, what: str) -> None:
    """Refuse a number over no rows: it would read as an exact zero."""
    if rows:
        return
    raise UnsupportedError(
        f"{what} over no rows",
        because="no group has all of the keys asked for" if count else "no key was kept, so no number was released",
        instead="keys that are in the release: print(release)" if count else "table.agg(n=dp.count()), without groups",
    )


def find_key(keys: tuple[Key, ...], name: str) -> Key:
    """Find a key column by its name."""
    for key in keys:
        if key.name == name:
            return key
    known = [key.name for key in keys]
    raise NameNotFoundError(
        f"key {name!r}",
        because="the release is not grouped by it" if known else "the release has no groups",
        instead=suggestion(str(name), known) if known else 'release.total("n") without keys',
    )


def _values(key: Key, given: Value | Sequence[Value]) -> set[Value]:
    values: list[Any] = list(given) if isinstance(given, list | tuple | set | frozenset) else [given]
    present = set(key.values)
    for value in values:
        if not isinstance(value, Hashable) or value not in present:
            known = list(dict.fromkeys(key.values))
            raise ParameterError(
                f"{key.name}={value!r}",
                because="the release has no row with that key" if known else "no key was kept",
                instead=f"one of {', '.join(map(repr, known[:5]))}" + (", ..." if len(known) > 5 else "")
                if known
                else "table.agg(n=dp.count()), without groups",
            )
    return set(values)


def require_parts(output: OutputColumn) -> None:
    """Refuse an output that is not read off what was measured by adding."""
    if not output.parts:
        raise UnsupportedError(
            f"a value derived from {output.kind} {output.name!r}",
            because=_why_not(output),
            instead="counts, sums and means of disjoint groups; or a query of its own for the coarser groups"
            if output.is_found
            else BOUNDS_INSTEAD,
        )


def _why_not(output: OutputColumn) -> str:
    """Ranges and levels of a hierarchy are counts too, but their noise is spread over the nodes of a tree."""
    if not output.is_found:
        return NOTHING_FOUND
    if output.kind == "count":
        return "each of its rows is put together from noise that other rows share, and the release does not say how"
    return f"a {output.kind} is no sum of noisy integers of its row"


def _unknown_noise(mechanism: str) -> UnsupportedError:
    return UnsupportedError(
        f"a margin of noise from {mechanism!r}",
        because="only sums of additive noise have proved margins here",
        instead="outputs that are read off such noise, or a query of its own",
    )


def margin_around(quantity: Quantity, value: Answer, confidence: Fraction) -> Figure:
    """The margin of a value as it is shown, which may be rounded to a step and stand in a double."""
    low, high = quantity.interval(confidence)
    if low is None or high is None or value is None or not math.isfinite(value):
        return math.inf
    away = max(high - Fraction(value), Fraction(value) - low)
    return math.floor(away) if isinstance(value, int) and isinstance(quantity, Linear) else double_up(away)


def values_of(output: OutputColumn, steps: list[list[int]]) -> tuple[Answer, ...]:
    """The values of an output that other noisy integers give."""
    if is_certain(output):
        return output.values
    require_parts(output)
    tops = _combine(output.parts, steps)
    if not output.over:
        is_whole = isinstance(output.values[0], int) if output.values else True
        return tuple(round(top) if is_whole else float(top) for top in tops)
    low, high = output.bounds or (-math.inf, math.inf)
    pairs = zip(tops, _combine(output.over, steps), strict=True)
    return tuple(float(min(high, max(low, top / bottom))) if bottom > 0 else math.nan for top, bottom in pairs)


def _combine(factors: Factors, steps: list[list[int]]) -> list[Fraction]:
    shared = math.lcm(*(factor.denominator for _, factor in factors))
    columns = [[int(factor * shared) * step for step in steps[place]] for place, factor in factors]
    return [Fraction(sum(row), shared) for row in zip(*columns, strict=True)]
