"""Scores of candidates: their number, whether the true person is among them, likely values, and the next column."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.anonymity.linkage.candidates import CandidateRows, CandidateSearch, Flags
from discreet.anonymity.linkage.persons import distinct, is_member
from discreet.engines.sources.arrow_tables import Codes


@dataclass(frozen=True)
class PersonIdentity:
    """Identifiers of the published people and of the auxiliary people in one numbering; missing ones differ."""

    published: Codes
    auxiliary: Codes


@dataclass(frozen=True)
class CandidateScores:
    """What the candidates of each target say.

    Attributes:
        candidates: Number of candidates of each target.
        has_truth: Whether the true person is a candidate, for each auxiliary person; None without identities.
        guess: Likeliest value of each target, as a code, or -1.
        guess_count: Number of candidates of each target with that value.
        value_count: Sum over values of the number of candidates with it; equals `candidates` where people have one.
    """

    candidates: Codes
    has_truth: Flags | None
    guess: Codes
    guess_count: Codes
    value_count: Codes


def score(
    search: CandidateSearch, people: Codes, identity: PersonIdentity | None, values: Codes | None
) -> CandidateScores:
    """Go through all compatible pairs once. `values` is the code of the value to be learned, by published row."""
    candidates, guess_count, value_count = (np.zeros(search.targets, dtype=np.int64) for _ in range(3))
    guess = np.full(search.targets, -1, dtype=np.int64)
    has_truth = None if identity is None else np.zeros(len(search.target_of), dtype=np.bool_)
    order = np.argsort(search.target_of, kind="stable")
    known = search.target_of[order]
    priority = None if values is None else _commonness(values, people)
    for block in search.blocks():
        start, stop = block.targets
        candidates[start:stop] = np.bincount(block.pair_target - start, minlength=stop - start)
        if identity is not None and has_truth is not None:
            members = order[slice(*np.searchsorted(known, [start, stop]))]
            has_truth[members] = _is_candidate(block, identity, members, search.target_of)
        if values is not None and priority is not None:
            parts = _likely_values(block, people, values, priority)
            guess[start:stop], guess_count[start:stop], value_count[start:stop] = parts
    return CandidateScores(candidates, has_truth, guess, guess_count, value_count)


def identifying_people(search: CandidateSearch, chosen: Flags, people: Codes, columns: list[Codes]) -> list[Codes]:
    """For each column and target, how many candidates have a value of it that no other candidate has."""
    numbers = [np.zeros(search.targets, dtype=np.int64) for _ in columns]
    for block in search.blocks(chosen):
        start, stop = block.targets
        for codes, number in zip(columns, numbers, strict=True):
            keys, owners = _people_by_value(block, people, codes)
            _, first, counts = np.unique(keys, return_index=True, return_counts=True)
            width = int(codes.max(initial=0)) + 1
            count = int(people.max(initial=-1)) + 1
            alone = distinct(keys[first][counts == 1] // width * count + owners[first][counts == 1])
            number[start:stop] = np.bincount(alone // count, minlength=stop - start)
    return numbers


def _is_candidate(block: CandidateRows, identity: PersonIdentity, members: Codes, target_of: Codes) -> Flags:
    width = int(max(identity.published.max(initial=0), identity.auxiliary.max(initial=0))) + 1
    pairs = block.pair_target * width + identity.published[block.pair_person]
    return is_member(target_of[members] * width + identity.auxiliary[members], np.sort(pairs))


def _people_by_value(block: CandidateRows, people: Codes, codes: Codes) -> tuple[Codes, Codes]:
    """Triples of a target, a value and a person, once each: the key of target and value, and the person."""
    keys = (block.row_target - block.targets[0]) * (int(codes.max(initial=0)) + 1) + codes[block.row]
    if len(block.pair_target) == len(block.row):
        return keys, people[block.row]
    kinds, places = np.unique(keys, return_inverse=True)
    count = int(people.max(initial=-1)) + 1
    once = distinct(places * count + people[block.row])
    return kinds[once // count], once % count


def _likely_values(block: CandidateRows, people: Codes, values: Codes, priority: Codes) -> tuple[Codes, Codes, Codes]:
    """The likeliest value of each target, how many candidates have it, and the sum over all values."""
    start, stop = block.targets
    width = int(values.max(initial=0)) + 1
    keys, counts = np.unique(_people_by_value(block, people, values)[0], return_counts=True)
    target, value = np.divmod(keys, width)
    totals = np.bincount(target, weights=counts, minlength=stop - start).astype(np.int64)
    order = np.lexsort((priority[value], -counts, target))
    first = np.searchsorted(target[order], np.arange(stop - start))
    full = totals > 0
    guess, most = np.full(stop - start, -1, dtype=np.int64), np.zeros(stop - start, dtype=np.int64)
    guess[full], most[full] = value[order][first[full]], counts[order][first[full]]
    return guess, most, totals


def _commonness(values: Codes, people: Codes) -> Codes:
    """The rank of each value by the number of people who have it, the commonest first, then by its first row."""
    counts = people_with(values, people)
    ranks = np.empty(len(counts), dtype=np.int64)
    ranks[np.argsort(-counts, kind="stable")] = np.arange(len(counts))
    return ranks


def people_with(values: Codes, people: Codes) -> NDArray[Any]:
    """How many people have each value."""
    width = int(values.max(initial=-1)) + 1
    once = distinct(people * max(width, 1) + values)
    return np.bincount(once % max(width, 1), minlength=width)
