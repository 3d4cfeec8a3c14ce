"""Disjoint parts of people by a keyed hash, and what a training on one part and a score on another cost together.

Definition
    Each person has a number of 64 bits: the keyed hash of the person's name, or for rows without names the next number
    of a stream expanded from the key. A part is a range of numbers. The key is drawn at random, before data is read.
    In a session the key is public and depends on the name of the table alone. Where each row is a person there, a row
    has the hash of its codes, its target and its number among rows of the same codes and target.

Guarantee
    All rows of a person are in one part, and the parts of other people do not depend on this person. Where people are
    added or removed, a model of one part and a score of it on another part cost together the larger of both; where one
    is replaced, their sum. Cross-validation with K folds costs K - 1 fits and one score for an added or removed person,
    and at most K of both for a replaced one. Proof: docs/proofs/learning/evaluation/holdout.md.

Exactness
    Numbers are compared as integers. The hash is BLAKE2b with a key of 256 bits, or SHAKE-256, in the place of a random
    function: the proof is for a random function. That of a session is for every function, so for this one.

Not covered
    A key of a stream that is used again after rows were added or dropped: their parts may change. Name people by
    `groups` where one key serves several tables.

References
    McSherry, Privacy Integrated Queries, SIGMOD 2009, Theorem 4 (parallel composition).
    van Erven and Harremoes, Renyi Divergence and Kullback-Leibler Divergence, 2014, Theorem 13 (quasi-convexity).
"""

import hashlib
import json
import secrets
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from discreet import events
from discreet.accounting.prices import total
from discreet.learning.core.lattice import Integers
from discreet.learning.core.rows import Codes, EncodedRows
from discreet.learning.tables import CountedRows, texts

if TYPE_CHECKING:
    import pyarrow as pa

Numbers = NDArray[np.uint64]
SCORE_SHARE = Fraction(1, 4)
"""Share of the cost that goes to scores where fits and scores add up."""

_RANGE = 1 << 64


@dataclass(frozen=True)
class KeyedSplit:
    """A division of people into parts by a keyed hash.

    Attributes:
        key: 32 bytes; random and drawn once, or those of a table in a session.
    """

    key: bytes = field(default_factory=lambda: secrets.token_bytes(32), repr=False)

    def numbers(self, groups: Any, rows: int) -> Numbers:
        """The number of the person of each row; each row is a person where there are no groups."""
        if groups is None:
            stream = hashlib.shake_256(self.key).digest(8 * rows)
            return np.frombuffer(stream, dtype="<u8").astype(np.uint64)
        names = texts(groups).dictionary_encode()
        hashes = [self._hash(name) for name in names.dictionary.to_pylist()] + [0]
        places = names.indices.fill_null(len(hashes) - 1).to_numpy(zero_copy_only=False)
        found: Numbers = np.asarray(hashes, dtype=np.uint64)[places]
        return found

    def unit_numbers(self, names: "pa.Table", people: Integers) -> Numbers:
        """The number of the person of each row, by the columns that name people; those without a name share one."""
        known, firsts, places = np.unique(people, return_index=True, return_inverse=True)
        cells = zip(*(column.take(firsts).to_pylist() for column in names.columns), strict=True)
        texts_of = (_unit_text(each) if person >= 0 else "" for person, each in zip(known.tolist(), cells, strict=True))
        hashes = np.asarray([self._hash(text) for text in texts_of], dtype=np.uint64)
        found: Numbers = hashes[places.reshape(-1)]
        return found

    def row_numbers(self, codes: Codes, target: Integers) -> Numbers:
        """The number of each row where rows are people: equal rows are distinguished by their number among them.

        A row more or less of the same codes and target adds or takes the last of them, and moves no other row.
        """
        cells = np.column_stack([codes.astype("<i8"), target.astype("<i8")])
        _, places = np.unique(cells, axis=0, return_inverse=True)
        order = np.argsort(places.reshape(-1), kind="stable")
        ordered = places.reshape(-1)[order]
        firsts = np.searchsorted(ordered, ordered, side="left")
        twins = np.empty(len(order), dtype="<i8")
        twins[order] = np.arange(len(order)) - firsts
        return np.asarray([self._hash(row) for row in np.column_stack([cells, twins])], dtype=np.uint64)

    def _hash(self, name: "str | NDArray[np.int64]") -> int:
        data = name.encode() if isinstance(name, str) else name.tobytes()
        return int.from_bytes(hashlib.blake2b(data, key=self.key, digest_size=8).digest(), "little")


def _unit_text(cells: tuple[Any, ...]) -> str:
    """The name of a person as text, the same for every engine: cells come in their declared types."""
    return json.dumps([str(cell + 0.0 if isinstance(cell, float) else cell) for cell in cells])


def fold_numbers(numbers: Numbers, folds: int) -> Integers:
    """The fold of each number: one of `folds` ranges of equal length."""
    found: Integers = ((numbers >> np.uint64(32)) * np.uint64(folds) >> np.uint64(32)).astype(np.int64)
    return found


def is_below(numbers: Numbers, share: Fraction) -> NDArray[np.bool_]:
    """Whether a number is in the lowest range, which holds about this share of people."""
    found: NDArray[np.bool_] = numbers <= np.uint64(max(0, int(share * _RANGE) - 1))
    return found


class RowsOfPeople(NamedTuple):
    """Rows as codes, whose people are known: what parts are taken from.

    Attributes:
        rows: The rows that count.
        numbers: The number of the person of each of them.
    """

    rows: CountedRows
    numbers: Numbers

    def part(self, mask: NDArray[np.bool_]) -> list[EncodedRows]:
        """The rows of some people, in blocks."""
        return self.rows.part(mask)


def number_people(rows: CountedRows, groups: Any, split: KeyedSplit) -> RowsOfPeople:
    """Rows with the numbers of their people."""
    return RowsOfPeople(rows, split.numbers(groups, len(rows.is_counted))[rows.is_counted])


def fit_and_score_rhos(rho: Fraction, *, replace_one: bool) -> tuple[Fraction, Fraction]:
    """The rhos of a fit and of its score, which cost this rho together: all of it each, or parts where they add up."""
    return (rho * (1 - SCORE_SHARE), rho * SCORE_SHARE) if replace_one else (rho, rho)


def parallel_event(fit: events.Event, score: events.Event, *, replace_one: bool) -> events.Event:
    """The event of a model of one part and its score on another: the larger of both for people added or removed.

    Events whose costs cannot be compared by one number are composed, which costs at least as much.
    """
    if replace_one or not (_is_concentrated(fit) and _is_concentrated(score)):
        return events.compose([fit, score])
    return events.ConcentratedEvent(max(total(fit).rho, total(score).rho))


def folds_event(fit: events.Event, score: events.Event, folds: int, *, replace_one: bool) -> events.Event:
    """The event of cross-validation: a person is in all training parts but one, and in one test part."""
    fits, scores = (folds, folds) if replace_one else (folds - 1, 1)
    return events.compose([events.RepeatedEvent(fit, fits), events.RepeatedEvent(score, scores)])


def _is_concentrated(event: events.Event) -> bool:
    kinds = events.DiscreteGaussianEvent | events.ConcentratedEvent
    return all(isinstance(leaf, kinds) for leaf, _ in events.leaves(event))
