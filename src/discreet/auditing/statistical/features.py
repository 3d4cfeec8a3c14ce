"""What can be seen of an outcome: numbers and categories with names, each a function of that one outcome alone.

    value, value[3], value['A']             the numbers of an outcome by their places (see flatten.py)
    sum, smallest, largest                  of all its numbers
    lowest bit                              the least exponent of a lowest set bit: floating-point noise shows itself
    decimals                                how many decimal places its numbers need, 0 to 6; 7 where 6 do not do
    NaNs, +infinities, -infinities, length  how many there are, and how many negative zeros
    present value['A'], elsewhere           1 where a place is there; how many places no vocabulary knows
    length of value                         of a text, or of the text of an error
    value - 9007199254740993                the distance from an origin, where doubles do not tell exact numbers apart
    error, error text, type, text of value  categories
    structure, first place, last place      categories: order, lengths and types of what an outcome is made of
    unseen                                  a category: what of an outcome could not be looked into
    seconds                                 the run time, only where it is asked for

Which places are looked at, and from which origins, is a vocabulary, learned from samples that no event is tested on:
those that differ most between the two datasets. The lowest bit of 0 is +inf, and that of a number without a finite
binary expansion is -inf.

Outcomes that are all numbers of one type, or vectors of one length, are read as an array; all others one by one. Both
ways give the same features, because a feature that depended on the company an outcome keeps would void every proof.
"""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from functools import partial
from itertools import chain, islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.auditing.statistical.flatten import ERROR_TEXT, MOST_ATOMS, VALUE, Atom, Atoms, atoms, plain
from discreet.auditing.statistical.outcomes import Floats, Outcomes, RaisedError

Categories = NDArray[np.object_]

PRESENT = "present "
ARRANGEMENTS = frozenset({"structure", "unseen", "first place", "last place"})
MOST_PLACES = 64
_MOST_COMPARED = 2_000
_MOST_ATOMS_LEARNED_FROM = 200_000
_READ_TOGETHER = 2_000
_PLACES_OF_DECIMALS = 7
_LARGEST_WHOLE = 2.0**53
_IN_ORDER = (list, tuple, np.ndarray)
_LARGEST_EXPONENT = 5_000
_MOST_BITS_OF_AN_ORIGIN = 4_000
_READ_AT_ONCE = frozenset({float, int, bool, type(None)})


@dataclass(frozen=True)
class Columns:
    """Features of many outcomes, one entry for each outcome; NaN where a number is not there, None for a category."""

    numbers: Mapping[str, Floats]
    categories: Mapping[str, Categories]
    count: int

    def part(self, where: slice) -> "Columns":
        """The features of some of the outcomes."""
        return Columns(
            {name: column[where] for name, column in self.numbers.items()},
            {name: column[where] for name, column in self.categories.items()},
            len(range(self.count)[where]),
        )


def concatenate(parts: Sequence[Columns]) -> Columns:
    """The features of all outcomes; the parts were read by one vocabulary."""
    if len(parts) == 1:
        return parts[0]
    numbers = dict.fromkeys(name for part in parts for name in part.numbers)
    categories = dict.fromkeys(name for part in parts for name in part.categories)
    return Columns(
        {n: np.concatenate([p.numbers.get(n, np.full(p.count, np.nan)) for p in parts]) for n in numbers},
        {n: np.concatenate([p.categories.get(n, _all(p.count, None)) for p in parts]) for n in categories},
        sum(part.count for part in parts),
    )


@dataclass(frozen=True)
class Vocabulary:
    """The places that are looked at, those that differ most first, and origins where doubles are too coarse."""

    places: tuple[str, ...]
    origins: Mapping[str, Fraction] = field(default_factory=dict, hash=False)

    @classmethod
    def learn(cls, one: Outcomes, other: Outcomes) -> "Vocabulary":
        """Of the places seen, those whose presence or mean differs most between the two datasets."""
        here, there = _array(one.values), _array(other.values)
        alike = here is not None and there is not None and here.shape[1:] == there.shape[1:]
        if here is None or there is None or not alike or _is_large(here) or _is_large(there):
            return cls(*_places_apart(_latest_rows(one.values), _latest_rows(other.values)))
        return cls(_columns_apart(here, there))

    @property
    def is_of_numbers_alone(self) -> bool:
        """Whether there is one place, the outcome itself."""
        return self.places == (VALUE,)

    def read(self, outcomes: Outcomes, *, times: bool = False) -> Columns:
        """The features of outcomes."""
        values, array = outcomes.values, _array(outcomes.values)
        if array is None:
            starts = range(0, len(values), _READ_TOGETHER)
            columns = concatenate([self._of_objects(values[start : start + _READ_TOGETHER]) for start in starts])
        else:
            columns = self._of_array(array, values)
        if times and outcomes.seconds is not None:
            return Columns({**columns.numbers, "seconds": outcomes.seconds}, columns.categories, columns.count)
        return columns

    def _of_array(self, array: NDArray[Any], values: Sequence[Any] | NDArray[Any]) -> Columns:
        count, flat = len(array), array.reshape(len(array), -1)[:, :MOST_ATOMS]
        doubles, missing = flat.astype(np.float64), np.full(count, np.nan)
        at = {place: column for place in self.places if (column := _column(place, array)) is not None}
        numbers = {place: doubles[:, at[place]] if place in at else missing for place in self.places}
        if not self.is_of_numbers_alone:
            numbers |= {PRESENT + place: np.full(count, float(place in at)) for place in self.places}
        lengths = np.full(count, flat.shape[1])
        numbers |= self._of_all(doubles.ravel(), lowest_bits(flat).ravel(), lengths)
        numbers["length"] = lengths.astype(float)
        numbers["elsewhere"] = np.full(count, float(flat.shape[1] - len(at)))
        numbers |= self._from_origins({place: flat[:, at[place]].tolist() for place in at.keys() & self.origins.keys()})
        first = atoms(values[0])
        same = {"type": type(values[0]).__name__, "structure": first.structure, "unseen": first.unseen}
        return Columns(numbers, {n: _all(count, said) for n, said in same.items() if said is not None}, count)

    def _of_objects(self, values: Sequence[Any] | NDArray[Any]) -> Columns:
        rows = [atoms(value) for value in values]
        found = {place: [row.get(place) for row in rows] for place in self.places}
        numbers = {place: _doubles(column) for place, column in found.items()}
        if not self.is_of_numbers_alone:
            presence = {PRESENT + place: [place in row for row in rows] for place in self.places}
            numbers |= {name: np.array(column, dtype=float) for name, column in presence.items()}
        kept = [[atom for atom in row.values() if not isinstance(atom, str)] for row in rows]
        flat = list(chain.from_iterable(kept))
        doubles, known = _doubles(flat), set(self.places)
        numbers |= self._of_all(doubles, _bits(flat, doubles), np.array([len(row) for row in kept], dtype=int))
        numbers["length"] = np.array([len(row) for row in rows], dtype=float)
        numbers["elsewhere"] = np.array([len(row.keys() - known) for row in rows], dtype=float)
        numbers |= self._from_origins(found) | _text_lengths(values, found)
        return Columns(numbers, _categories(values, found) | _arrangements(values, rows), len(rows))

    def _from_origins(self, found: Mapping[str, Sequence[Atom | None]]) -> dict[str, Floats]:
        """How far the numbers at a place are from its origin."""
        return {
            plain(f"{place} - {origin}"): _distances(found[place], origin)
            for place, origin in self.origins.items()
            if place in found
        }

    def _of_all(self, doubles: Floats, bits: Floats, lengths: NDArray[np.int_]) -> dict[str, Floats]:
        """What the numbers of an outcome have together; they stand one outcome after the other."""
        missing = np.isnan(doubles)
        of = partial(_of_each, lengths=lengths)
        found = {
            "lowest bit": of(np.fmin, bits, none=np.nan),
            "decimals": of(np.maximum, decimals(doubles), none=0.0),
            "NaNs": _how_many(missing, lengths),
            "+infinities": _how_many(doubles == np.inf, lengths),
            "-infinities": _how_many(doubles == -np.inf, lengths),
            "negative zeros": _how_many(_negative_zeros(doubles), lengths),
        }
        if self.is_of_numbers_alone:
            return found
        with np.errstate(invalid="ignore", over="ignore"):
            found["sum"] = of(np.add, np.where(missing, 0.0, doubles), none=np.nan)
        return found | {"smallest": of(np.fmin, doubles, none=np.nan), "largest": of(np.fmax, doubles, none=np.nan)}


def _categories(values: Sequence[Any] | NDArray[Any], found: Mapping[str, list[Atom | None]]) -> dict[str, Categories]:
    """Errors, types and texts, those that some outcome has."""
    kinds = set(map(type, values))
    categories: dict[str, Categories] = {}
    if RaisedError in kinds:
        raised = [value if type(value) is RaisedError else None for value in values]
        categories["error"] = _objects(error and error.kind for error in raised)
        categories[ERROR_TEXT] = _objects(error and plain(error.text) for error in raised)
    if kinds != {RaisedError}:
        categories["type"] = _objects(None if type(value) is RaisedError else type(value).__name__ for value in values)
    for place, column in found.items():
        if str in set(map(type, column)):
            categories[f"text of {place}"] = _objects(plain(atom) if isinstance(atom, str) else None for atom in column)
    return categories


def _arrangements(values: Sequence[Any] | NDArray[Any], rows: Sequence[Atoms]) -> dict[str, Categories]:
    """What outcomes are made of, in what order, and what of them could not be looked into, where there is any."""
    named = [
        row if row and row.shape and not isinstance(value, _IN_ORDER) else None
        for value, row in zip(values, rows, strict=True)
    ]
    found: dict[str, list[str | None]] = {
        "structure": [row.structure for row in rows],
        "unseen": [row.unseen for row in rows],
        "first place": [None if row is None else next(iter(row)) for row in named],
        "last place": [None if row is None else next(reversed(row)) for row in named],
    }
    return {name: _objects(column) for name, column in found.items() if set(column) != {None}}


def _text_lengths(
    values: Sequence[Any] | NDArray[Any], found: Mapping[str, Sequence[Atom | None]]
) -> dict[str, Floats]:
    """How long the texts are, where there are any."""
    texts = {place: column for place, column in found.items() if str in set(map(type, column))}
    if RaisedError in set(map(type, values)):
        texts[ERROR_TEXT] = [value.text if type(value) is RaisedError else None for value in values]
    return {
        f"length of {place}": np.array([len(t) if isinstance(t, str) else math.nan for t in column], dtype=float)
        for place, column in texts.items()
    }


def _all(count: int, category: str | None) -> Categories:
    return np.full(count, category, dtype=object)


def _objects(values: Iterable[Any]) -> Categories:
    kept = list(values)
    column = np.empty(len(kept), dtype=object)
    column[:] = kept
    return column


def _of_each(ufunc: np.ufunc, flat: NDArray[Any], *, lengths: NDArray[np.int_], none: float) -> Floats:
    """A reduction over the numbers of each outcome; `none` where it has none."""
    reduced, some = np.full(len(lengths), none), lengths > 0
    if some.any():
        reduced[some] = ufunc.reduceat(flat.astype(np.float64), (np.cumsum(lengths) - lengths)[some])
    return reduced


def _how_many(truths: NDArray[np.bool_], lengths: NDArray[np.int_]) -> Floats:
    return _of_each(np.add, truths, lengths=lengths, none=0.0) if truths.any() else np.zeros(len(lengths))


def _negative_zeros(doubles: Floats) -> NDArray[np.bool_]:
    zeros: NDArray[np.bool_] = doubles == 0
    return np.logical_and(zeros, np.signbit(doubles)) if zeros.any() else zeros


def _doubles(column: Sequence[Atom | None]) -> Floats:
    if set(map(type, column)) <= _READ_AT_ONCE:
        try:
            return np.array(column, dtype=np.float64)
        except OverflowError:
            pass
    return np.fromiter(map(_double, column), float, len(column))


def _double(atom: Atom | None) -> float:
    """A number as the nearest double; an integer beyond doubles as an infinity, and a text as no number."""
    if atom is None or isinstance(atom, str):
        return math.nan
    try:
        return float(atom)
    except OverflowError:
        return math.inf if atom > 0 else -math.inf
    except (TypeError, ValueError):
        return math.nan


def _array(values: Sequence[Any] | NDArray[Any]) -> NDArray[Any] | None:
    """Outcomes that are all numbers of one type, or vectors of them of one length, if they are."""
    if isinstance(values, np.ndarray):
        return values if type(values) is np.ndarray and _is_plain(values) else None
    kinds = set(map(type, values))
    if len(kinds) != 1:
        return None
    kind = kinds.pop()
    if kind is np.ndarray:
        alike = len({(value.dtype, value.shape) for value in values}) == 1 and values[0].ndim == 1
        return np.stack(values) if alike and _is_plain(values[0]) else None
    if kind in (list, tuple):
        return _matrix(values)
    return _safe(values, kind) if issubclass(kind, int | float) else None


def _is_large(array: NDArray[Any]) -> bool:
    """Whether some whole number is beyond those that doubles tell apart."""
    return array.dtype.kind in "iu" and bool(((array >= 2**53) | (array <= -(2**53))).any()) if array.size else False


def _is_plain(array: NDArray[Any]) -> bool:
    return array.dtype.kind in "fiub" and array.dtype.itemsize <= 8 and array.ndim in (1, 2)


def _matrix(values: Sequence[Any]) -> NDArray[Any] | None:
    """Lists of one length, at least one, whose entries are of one plain type."""
    if len(set(map(len, values))) != 1 or not values[0]:
        return None
    kinds = {type(entry) for row in values for entry in row}
    return _safe(values, kinds.pop()) if len(kinds) == 1 and kinds <= {int, float} else None


def _safe(values: Sequence[Any], kind: type) -> NDArray[Any] | None:
    try:
        return np.array(values, dtype=np.int64 if issubclass(kind, int) else np.float64)
    except OverflowError:
        return None


def _column(place: str, array: NDArray[Any]) -> int | None:
    """Which column of an array a place is, if any."""
    if array.ndim == 1:
        return 0 if place == VALUE else None
    position = place.removeprefix(f"{VALUE}[").removesuffix("]")
    return int(position) if position.isdigit() and int(position) < min(array.shape[1], MOST_ATOMS) else None


def lowest_bits(values: NDArray[Any]) -> Floats:
    """The exponent of the lowest set bit of each number: 0 for odd integers, +inf for 0, NaN where there is none."""
    if values.dtype.kind in "iub":
        bits = values.astype(np.uint64)
        low = bits & (~bits + np.uint64(1))
        return np.where(low == 0, np.inf, np.frexp(low.astype(np.float64))[1] - 1.0)
    mantissas, exponents = np.frexp(np.abs(values.astype(np.float64)))
    finite = np.isfinite(mantissas)
    whole = np.ldexp(np.where(finite, mantissas, 0.0), 53).astype(np.int64)
    lowest = (whole & -whole).astype(np.float64)
    exact = exponents - 54.0 + np.frexp(lowest)[1]
    return np.where(finite, np.where(lowest == 0, np.inf, exact), np.nan)


def _bits(column: Sequence[Atom], doubles: Floats) -> Floats:
    """The same of numbers of any type: by their doubles where those are exact."""
    bits = lowest_bits(doubles)
    inexact = np.abs(doubles) >= _LARGEST_WHOLE
    if not set(map(type, column)) <= _READ_AT_ONCE:
        inexact |= np.fromiter((isinstance(atom, Fraction | Decimal) for atom in column), bool, len(column))
    for place in np.flatnonzero(inexact).tolist():
        if not isinstance(column[place], float):
            bits[place] = _exact_bit(column[place])
    return bits


def _exact(atom: Atom | None) -> Fraction | None:
    """A number as a fraction, if it is one and finite."""
    if atom is None or isinstance(atom, str):
        return None
    if isinstance(atom, Decimal) and abs(atom.adjusted()) > _LARGEST_EXPONENT:
        return None
    try:
        if isinstance(atom, np.floating):
            return Fraction(*atom.as_integer_ratio())
        return Fraction(atom if isinstance(atom, float | Fraction | Decimal) else int(atom))
    except (ArithmeticError, TypeError, ValueError):
        return None


def _distances(column: Sequence[Atom | None], origin: Fraction) -> Floats:
    exact = [_exact(atom) for atom in column]
    return np.array([math.nan if number is None else _double(number - origin) for number in exact], dtype=float)


def _origins(columns: Mapping[str, list[Atom | None]]) -> dict[str, Fraction]:
    """For each place where different numbers have one double, a number to measure from."""
    origins = {}
    for place, column in columns.items():
        first_of: dict[float, Fraction] = {}
        for atom in column:
            if isinstance(atom, float) or (type(atom) is int and abs(atom) < _LARGEST_WHOLE):
                continue
            exact = _exact(atom)
            if exact is None or max(map(int.bit_length, exact.as_integer_ratio())) > _MOST_BITS_OF_AN_ORIGIN:
                continue
            if first_of.setdefault(_double(atom), exact) != exact:
                origins[place] = exact
                break
    return origins


def _exact_bit(atom: Atom) -> float:
    exact = _exact(atom)
    if exact is None:
        return math.nan
    if exact == 0:
        return math.inf
    top, bottom = abs(exact.numerator), exact.denominator
    return -math.inf if bottom & (bottom - 1) else float((top & -top).bit_length() - bottom.bit_length())


def decimals(values: Floats) -> Floats:
    """How many decimal places each number needs, up to 6; 7 where 6 do not do, and for what is not finite."""
    needed = np.full(values.shape, float(_PLACES_OF_DECIMALS))
    with np.errstate(invalid="ignore", over="ignore"):
        for places in reversed(range(_PLACES_OF_DECIMALS)):
            needed[np.round(values, places) == values] = places
    needed[~np.isfinite(values)] = _PLACES_OF_DECIMALS
    return needed


def _columns_apart(one: NDArray[Any], other: NDArray[Any]) -> tuple[str, ...]:
    if one.ndim == 1:
        return (VALUE,)
    apart = _apart(one[:, :MOST_ATOMS].astype(float), other[:, :MOST_ATOMS].astype(float))
    return tuple(f"{VALUE}[{column}]" for column in np.argsort(-apart, kind="stable")[:MOST_PLACES])


def _apart(one: Floats, other: Floats) -> Floats:
    """How many deviations the means of each column differ by; columns that are not finite come first."""
    with np.errstate(all="ignore"):
        gap = np.abs(one.mean(axis=0) - other.mean(axis=0))
        apart = np.where(gap == 0, 0.0, gap / np.sqrt(one.var(axis=0) + other.var(axis=0)))
    return np.where(np.isnan(apart), np.inf, apart)


def _latest_rows(values: Sequence[Any] | NDArray[Any]) -> list[Atoms]:
    """The flattened values of as many of the latest outcomes as fit easily into memory."""
    rows: list[Atoms] = []
    room = _MOST_ATOMS_LEARNED_FROM
    for place in range(len(values) - 1, -1, -1):
        rows.append(atoms(values[place]))
        room -= len(rows[-1]) + 1
        if room <= 0:
            break
    return rows


def _places_apart(one: list[Atoms], other: list[Atoms]) -> tuple[tuple[str, ...], dict[str, Fraction]]:
    """Half for the places whose presence differs most, half for those whose mean does; the frequent ones first."""
    presence = [Counter(place for row in rows for place in row) for rows in (one, other)]
    often = presence[0] + presence[1]
    gaps = {place: abs(presence[0][place] / len(one) - presence[1][place] / len(other)) for place in often}
    by_presence = sorted(often, key=lambda place: (-gaps[place], -often[place]))
    compared = by_presence[: _MOST_COMPARED // 2] + [place for place, _ in often.most_common(_MOST_COMPARED // 2)]
    origins = _origins({place: [row.get(place) for row in (*one, *other)] for place in compared})
    columns = [np.array([_measures(rows, place, origins) for place in compared]).T for rows in (one, other)]
    by_mean = [compared[place] for place in np.argsort(-_apart(*columns), kind="stable")] if compared else []
    half = MOST_PLACES // 2
    places = tuple(islice(dict.fromkeys([*by_presence[:half], *by_mean, *by_presence]), MOST_PLACES)) or (VALUE,)
    return places, {place: origins[place] for place in places if place in origins}


def _measures(rows: list[Atoms], place: str, origins: Mapping[str, Fraction]) -> Floats:
    column = [row.get(place) for row in rows]
    measured = _distances(column, origins[place]) if place in origins else _doubles(column)
    return np.nan_to_num(measured)
