"""Run any callable on two datasets and keep each outcome: a value, an exception, and the time it took.

An exception is an outcome like any other, because a mechanism that fails on one dataset alone has distinguished them.
The two datasets take turns, and who goes first changes with every pair, so that a machine that grows slower, a counter
that grows larger or a cache that grows warm is seen by both alike. Where many outcomes come at once, the batches do.
An outcome that can be gone through only once, such as a generator, is gone through at once and kept as what came.
"""

import hashlib
import pickle
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import islice
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from discreet.errors import ParameterError

Floats = NDArray[np.float64]
_CHANGEABLE = (list, dict, set, bytearray, np.ndarray)

Mechanism = Callable[..., Any]

_LONGEST_TEXT = 1_000_000
_MOST_TAKEN = 10_001


class RaisedError(NamedTuple):
    """An exception that came instead of a value."""

    kind: str
    text: str


class IteratorItems(NamedTuple):
    """The items of an iterator: one more than are ever looked at, and a RaisedError last where it failed."""

    kind: str
    items: list[Any]


@dataclass(frozen=True)
class Outcomes:
    """What came of many runs on one dataset, in order; `seconds` is None where the runs were not timed one by one."""

    values: Sequence[Any] | NDArray[Any]
    seconds: Floats | None = None

    def __len__(self) -> int:
        return len(self.values)


class Pair(NamedTuple):
    """The outcomes on the one dataset and on the other."""

    one: Outcomes
    other: Outcomes


@dataclass
class Runs:
    """A mechanism and two datasets: a callable of the dataset, or of the dataset and a count where `many`."""

    mechanism: Mechanism
    one: Any
    other: Any
    many: bool = False
    calls: int = field(default=0, init=False)
    before: tuple[bytes | None, ...] = field(init=False)

    def __post_init__(self) -> None:
        self.before = _prints(self.one, self.other)

    @property
    def has_changed_data(self) -> bool:
        """Whether a dataset is not what it was: later runs were then on another one."""
        return _prints(self.one, self.other) != self.before

    def run(self, count: int) -> Pair:
        """As many independent outcomes on each dataset."""
        self.calls += 1
        return self._many(count) if self.many else self._in_turns(count)

    def _in_turns(self, count: int) -> Pair:
        of_one: list[Any] = []
        of_other: list[Any] = []
        times_of_one, times_of_other = np.empty(count), np.empty(count)
        first = (self.one, of_one, times_of_one)
        second = (self.other, of_other, times_of_other)
        for place in range(count):
            for data, kept, times in (first, second):
                started = perf_counter()
                came = _outcome(self.mechanism, data)
                times[place] = perf_counter() - started
                kept.append(came)
            first, second = second, first
        return Pair(Outcomes(of_one, times_of_one), Outcomes(of_other, times_of_other))

    def _many(self, count: int) -> Pair:
        if self.calls % 2:
            one = self._batch(self.one, count)
            return Pair(Outcomes(one), Outcomes(self._batch(self.other, count)))
        other = self._batch(self.other, count)
        return Pair(Outcomes(self._batch(self.one, count)), Outcomes(other))

    def _batch(self, data: Any, count: int) -> Sequence[Any] | NDArray[Any]:
        try:
            came = self.mechanism(data, count)
        except Exception as error:
            raise ParameterError(
                f"a mechanism for many outcomes that raised {type(error).__name__}",
                because="one exception cannot be counted as many independent outcomes",
                instead="audit(mechanism, one, other, many=False) with a mechanism of one argument",
            ) from error
        kept = came if isinstance(came, np.ndarray) else list(came) if isinstance(came, Iterable) else []
        if len(kept) != count:
            raise ParameterError(
                f"a mechanism for many outcomes that did not return {count} of them",
                because="with many=True it is called as mechanism(dataset, count) and returns a list or an array",
                instead="return [mechanism(dataset) for _ in range(count)]",
            )
        return kept if isinstance(kept, np.ndarray) else [_materialize(outcome) for outcome in kept]


def _outcome(mechanism: Mechanism, data: Any) -> Any:
    try:
        return _materialize(mechanism(data))
    except Exception as error:  # noqa: BLE001 - every exception is an outcome
        return _error(error)


def _materialize(outcome: Any) -> Any:
    """The outcome itself, or what an iterator gives."""
    if not hasattr(outcome, "__next__") or isinstance(outcome, type):
        return outcome
    items: list[Any] = []
    try:
        items.extend(islice(outcome, _MOST_TAKEN))
    except Exception as error:  # noqa: BLE001 - what came before the exception was given away too
        items.append(_error(error))
    return IteratorItems(type(outcome).__name__, items)


def _error(error: Exception) -> RaisedError:
    return RaisedError(type(error).__name__, _text(error))


def _text(error: Exception) -> str:
    try:
        return str(error)[:_LONGEST_TEXT]
    except Exception:  # noqa: BLE001 - an exception that cannot be printed is still an outcome
        return ""


def _prints(*datasets: Any) -> tuple[bytes | None, ...]:
    """What datasets are known by, for those that hold nothing but themselves: others may keep caches."""
    return tuple(_print(each) if isinstance(each, _CHANGEABLE) else None for each in datasets)


def _print(dataset: object) -> bytes | None:
    try:
        return hashlib.sha256(pickle.dumps(dataset)).digest()
    except Exception:  # noqa: BLE001 - any part of it may fail to be written
        return None
