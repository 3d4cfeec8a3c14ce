"""The state of a collection: one count vector a cohort, and the partial counts that are in it.

An accumulator belongs to one batch of one task. It is the sum of partial counts, and holds which: a partial has a
deterministic key (shard, number of shards, sequence), and a digest of what it counts. So a partial that is delivered
twice counts once, and merging is a union: the order and the tree of merges do not change the bytes.

Bytes, version 1: a line with the format, a line of JSON (sorted keys), then big-endian integers: for each partial, by
key, shard (4 bytes), shards (4), sequence (8) and digest (16); the number of reports of each cohort (8 each); the
counts, row by row (8 each). The last 32 bytes are the SHA-256 of all before.
"""

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from discreet.errors import ParameterError, SourceError, public_class, short_traceback
from discreet.local.collector.payloads import layout_of
from discreet.local.oracles.randomizer import Counts
from discreet.local.report_format import MOST_BATCHES

if TYPE_CHECKING:
    from discreet.local.task import Task

FORMAT = b"discreet.local.accumulator/1\n"
_CHECKSUM = 32
_DIGEST = 16
_HASH = re.compile("[0-9a-f]{64}", re.ASCII)
_KEY = np.dtype([("shard", ">u4"), ("shards", ">u4"), ("sequence", ">u8"), ("digest", f"V{_DIGEST}")])
_INTEGER = np.dtype(">i8")


class PartialKey(NamedTuple):
    """The key of one partial count within a batch of a task.

    Attributes:
        shard: The shard whose reports were counted, from 0.
        shards: The number of shards that reports were divided into, by a hash of their ids.
        sequence: The number of a micro-batch, for a stream; 0 where the shard was counted at once.

    Example:
        >>> PartialKey(0, 4)
        PartialKey(shard=0, shards=4, sequence=0)
    """

    shard: int = 0
    shards: int = 1
    sequence: int = 0


WHOLE = PartialKey()


@public_class
@dataclass(frozen=True, eq=False)
class Accumulator:
    """Counts of the reports of one batch of a task, and the partial counts that they consist of.

    Attributes:
        task: Hash of the task.
        batch: Number of the batch.
        counts: Count vectors, one row a cohort: reports by symbol, or set bits by slot for oracles with bitmaps.
        cohort_reports: Number of reports of each cohort.
        refused: Number of malformed reports by reason.
        partials: Digest of each partial count, by its key.

    Raises:
        ParameterError: If the batch is not a number of 4 bytes, or the task not a hash.
        SourceError: If the counts do not fit together.

    Example:
        >>> import discreet as dp
        >>> task = dp.local.Task.choose(domain=["red", "green", "blue"], epsilon=1, n=1_000)
        >>> client = dp.local.Client(task.assignment(0))
        >>> state = dp.local.collector.count_reports(task, [client.report("red") for _ in range(10)])
        >>> state.reports
        10
        >>> dp.local.collector.Accumulator.from_bytes(state.to_bytes()) == state
        True
    """

    task: str
    batch: int
    counts: Counts
    cohort_reports: Counts
    refused: Mapping[str, int] = field(default_factory=dict)
    partials: Mapping[PartialKey, bytes] = field(default_factory=dict)

    def __post_init__(self) -> None:
        counts = np.array(self.counts, dtype=np.int64, ndmin=2)
        reports = np.array(self.cohort_reports, dtype=np.int64, ndmin=1)
        refused = {reason: int(self.refused[reason]) for reason in sorted(self.refused) if self.refused[reason]}
        partials = {PartialKey(*key): bytes(self.partials[key]) for key in sorted(self.partials)}
        _check_name(self.task, self.batch)
        _check(counts, reports, refused)
        _check_partials(partials, is_empty=not (counts.any() or reports.any() or refused))
        for array in (counts, reports):
            array.flags.writeable = False
        values = (counts, reports, MappingProxyType(refused), MappingProxyType(partials))
        for name, value in zip(("counts", "cohort_reports", "refused", "partials"), values, strict=True):
            object.__setattr__(self, name, value)

    @property
    def reports(self) -> int:
        """Number of reports, over all cohorts."""
        return int(self.cohort_reports.sum())

    @property
    def refusals(self) -> int:
        """Number of malformed reports, over all reasons."""
        return sum(self.refused.values())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Accumulator) and self.to_bytes() == other.to_bytes()

    def __hash__(self) -> int:
        return hash(self.to_bytes())

    def __reduce__(self) -> tuple[object, ...]:
        return (Accumulator.from_bytes, (self.to_bytes(),))

    def __repr__(self) -> str:
        parts = f"batch={self.batch}, reports={self.reports}, refused={self.refusals}, partials={len(self.partials)}"
        return f"Accumulator(task={self.task[:16]!r}, {parts})"

    @classmethod
    def empty(cls, task: "Task", batch: int = 0) -> "Accumulator":
        """The accumulator without reports, which changes nothing when it is merged.

        Args:
            task: The task.
            batch: Number of the batch.

        Returns:
            An accumulator without partial counts.
        """
        shape = (task.cohorts, layout_of(task).width)
        return cls(task.hash, batch, np.zeros(shape, np.int64), np.zeros(shape[0], np.int64))

    @classmethod
    def partial(
        cls,
        task: "Task",
        counts: Counts,
        cohort_reports: Counts,
        *,
        key: PartialKey = WHOLE,
        batch: int = 0,
        refused: Mapping[str, int] | None = None,
    ) -> "Accumulator":
        """An accumulator of one partial count.

        Args:
            task: The task.
            counts: Count vectors, one row a cohort.
            cohort_reports: Number of reports of each cohort.
            key: Key of the partial count.
            batch: Number of the batch.
            refused: Number of malformed reports by reason. Default: none.

        Returns:
            The accumulator.

        Raises:
            SourceError: If the counts are not those of the task.
        """
        expected = (task.cohorts, layout_of(task).width)
        if np.shape(counts) != expected:
            raise SourceError(
                "a partial count",
                because=f"its counts have the shape {np.shape(counts)}, those of the task {expected}",
                instead="count the reports with the task that clients were given",
            )
        reasons = {reason: n for reason, n in sorted((refused or {}).items()) if n}
        content = _digest(task.hash, batch, np.asarray(counts), np.asarray(cohort_reports), reasons)
        return cls(task.hash, batch, counts, cohort_reports, reasons, {key: content})

    def merge(self, other: "Accumulator") -> "Accumulator":
        """The counts of both. A partial count that is in both counts once.

        Args:
            other: Another accumulator of the same batch of the same task.

        Returns:
            The merged accumulator.

        Raises:
            ParameterError: If the other accumulator is of another task or batch.
            SourceError: If the two share some partial counts and each has others, or one key has two contents.
        """
        _check_same_batch(self, other)
        shared = self.partials.keys() & other.partials.keys()
        if any(self.partials[key] != other.partials[key] for key in shared):
            raise _two_contents(min(key for key in shared if self.partials[key] != other.partials[key]))
        if len(shared) == len(other.partials):
            return self
        if len(shared) == len(self.partials):
            return other
        if shared:
            raise _overlap(min(shared))
        return self._sum(other)

    def _sum(self, other: "Accumulator") -> "Accumulator":
        refused = {reason: self.refused.get(reason, 0) + n for reason, n in other.refused.items()}
        return Accumulator(
            self.task,
            self.batch,
            self.counts + other.counts,
            self.cohort_reports + other.cohort_reports,
            {**self.refused, **refused},
            {**self.partials, **other.partials},
        )

    def to_bytes(self) -> bytes:
        """The canonical bytes: equal for equal accumulators, in any order of merges.

        Returns:
            The bytes, with a checksum.
        """
        keys = np.array([(*key, digest) for key, digest in self.partials.items()], dtype=_KEY)
        parts = (_header(self, len(keys)), keys.tobytes(), _integers(self.cohort_reports), _integers(self.counts))
        body = FORMAT + b"".join(parts)
        return body + hashlib.sha256(body).digest()

    @classmethod
    def from_bytes(cls, data: bytes) -> "Accumulator":
        """Read what `to_bytes` wrote.

        Args:
            data: The bytes.

        Returns:
            The accumulator.

        Raises:
            SourceError: If the bytes are of another version, damaged or not canonical.
        """
        body, checksum = data[:-_CHECKSUM], data[-_CHECKSUM:]
        if not data.startswith(FORMAT):
            raise _unreadable("they do not begin with the format of version 1")
        if hashlib.sha256(body).digest() != checksum:
            raise _unreadable("their checksum does not fit")
        try:
            state = _parse(body[len(FORMAT) :])
        except (ParameterError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise _unreadable("they are not canonical") from error
        if state.to_bytes() != data:
            raise _unreadable("they are not canonical")
        return state


@short_traceback
def merge(accumulators: Iterable[Accumulator]) -> Accumulator:
    """The counts of all accumulators, in any order.

    Args:
        accumulators: Accumulators of one batch of one task; at least one.

    Returns:
        The merged accumulator.

    Raises:
        ParameterError: If there is none, something else is among them, or they are of several tasks or batches.
        SourceError: If two share some partial counts and each has others, or one key has two contents.

    Example:
        >>> import discreet as dp
        >>> task = dp.local.Task.choose(domain=["red", "green", "blue"], epsilon=1, n=1_000)
        >>> client = dp.local.Client(task.assignment(0))
        >>> reports = [client.report("red") for _ in range(10)]
        >>> collector = dp.local.collector
        >>> shards = [collector.count_reports(task, reports, shard=shard, shards=4) for shard in range(4)]
        >>> collector.merge(shards).reports
        10
        >>> collector.merge([*reversed(shards), *shards]) == collector.merge(shards)
        True
    """
    total = None
    for each in _accumulators_of(accumulators):
        total = each if total is None else total.merge(each)
    if total is None:
        raise ParameterError(
            "merge([])",
            because="an empty list has no task or batch",
            instead="dp.local.collector.Accumulator.empty(task, batch)",
        )
    return total


def _accumulators_of(values: object) -> Iterator[Accumulator]:
    """Accumulators one by one, so that no more than two of a long list are in memory."""
    for each in values if isinstance(values, Iterable) else [values]:
        if not isinstance(each, Accumulator):
            raise ParameterError(
                f"merge of {type(values).__name__} with {type(each).__name__}",
                because="a list of accumulators is merged, and nothing else",
                instead="merge([first, second])",
            )
        yield each


def _header(state: Accumulator, partials: int) -> bytes:
    cohorts, width = state.counts.shape
    facts = {"task": state.task, "batch": state.batch, "cohorts": cohorts, "width": width, "partials": partials}
    return json.dumps(facts | {"refused": dict(state.refused)}, sort_keys=True, separators=(",", ":")).encode() + b"\n"


def _integers(values: Counts) -> bytes:
    return values.astype(_INTEGER).tobytes()


def _digest(task: str, batch: int, counts: Counts, reports: Counts, refused: Mapping[str, int]) -> bytes:
    """What a partial counts, as 16 bytes."""
    facts = json.dumps([task, batch, *counts.shape, dict(refused)], separators=(",", ":")).encode()
    return hashlib.sha256(facts + b"\n" + _integers(reports) + _integers(counts)).digest()[:_DIGEST]


def _parse(body: bytes) -> Accumulator:
    line, _, rest = body.partition(b"\n")
    facts: dict[str, Any] = json.loads(line)
    cohorts, width, partials = facts["cohorts"], facts["width"], facts["partials"]
    ends = np.cumsum([partials * _KEY.itemsize, cohorts * _INTEGER.itemsize, cohorts * width * _INTEGER.itemsize])
    if ends[-1] != len(rest):
        raise ValueError(len(rest))
    keys = np.frombuffer(rest[: ends[0]], dtype=_KEY)
    reports = np.frombuffer(rest[ends[0] : ends[1]], dtype=_INTEGER)
    counts = np.frombuffer(rest[ends[1] :], dtype=_INTEGER).reshape(cohorts, width)
    contents = {PartialKey(int(a), int(b), int(c)): bytes(digest) for a, b, c, digest in keys}
    return Accumulator(facts["task"], facts["batch"], counts, reports, facts["refused"], contents)


def _check_name(task: object, batch: object) -> None:
    is_batch = isinstance(batch, int) and not isinstance(batch, bool) and 0 <= batch < MOST_BATCHES
    if not (is_batch and isinstance(task, str) and _HASH.fullmatch(task)):
        raise ParameterError(
            f"batch={batch!r} of the task {task!r:.100}",
            because="a batch is a whole number of 4 bytes, and a task is named by its hash",
            instead="Accumulator.empty(task, batch=0)",
        )


def _check(counts: Counts, reports: Counts, refused: Mapping[str, int]) -> None:
    is_negative = counts.min(initial=0) < 0 or reports.min(initial=0) < 0 or min(refused.values(), default=0) < 0
    if is_negative or counts.shape[:1] != reports.shape:
        raise SourceError(
            "the counts of an accumulator",
            because="a count is negative or above 2**63 - 1, or a cohort has no number of reports",
            instead="count the reports again",
        )


def _check_partials(partials: Mapping[PartialKey, bytes], *, is_empty: bool) -> None:
    if not partials and not is_empty:
        raise SourceError(
            "counts without the key of a partial count",
            because="they would be lost or count twice when they are merged",
            instead="Accumulator.partial(task, counts, cohort_reports, key=PartialKey(shard, shards))",
        )
    divisions = sorted({key.shards for key in partials})
    if len(divisions) > 1 or any(not 0 <= key.shard < key.shards for key in partials):
        raise SourceError(
            "partial counts of one batch",
            because=f"reports were divided into {' and '.join(map(str, divisions))} shards: some would count twice",
            instead="count every shard of a batch with the same number of shards",
        )


def _check_same_batch(one: Accumulator, other: Accumulator) -> None:
    if (one.task, one.batch, one.counts.shape) != (other.task, other.batch, other.counts.shape):
        raise ParameterError(
            f"merging batch {other.batch} of task {other.task[:16]} into batch {one.batch} of task {one.task[:16]}",
            because="an accumulator belongs to one batch of one task",
            instead=f"merge([each for each in accumulators if each.batch == {one.batch}])"
            if one.task == other.task
            else f'merge([each for each in accumulators if each.task.startswith("{one.task[:16]}")])',
        )


def _two_contents(key: PartialKey) -> SourceError:
    return SourceError(
        f"merging two contents of {key}",
        because="a partial count is counted once, and these two differ",
        instead="find out which one is right: was a shard counted before all of its reports were there?",
    )


def _overlap(key: PartialKey) -> SourceError:
    return SourceError(
        f"merging two sums that both contain {key}",
        because="what they share would count twice, and a sum cannot be taken apart",
        instead="merge the partial counts again, each by itself: a repeated one counts once",
    )


def _unreadable(because: str) -> SourceError:
    return SourceError(
        "the bytes of an accumulator", because=because, instead="write them again with accumulator.to_bytes()"
    )
