"""The search for minimal sets of columns: brute force on random codes, by tables and by sorts of keys."""

from itertools import combinations

import numpy as np
import pytest

import discreet as dp
from discreet.anonymity.uniques import suda
from discreet.anonymity.uniques.row_codes import RowCodes
from discreet.anonymity.uniques.suda import find_minimal_sets, score_weights


def brute_force(columns, persons, size):
    """The minimal sets of each person, by the definition."""
    found = {int(who): set() for who in persons}
    for k in range(1, size + 1):
        for subset in combinations(range(len(columns)), k):
            classes = {}
            for i, who in enumerate(persons):
                classes.setdefault(tuple(int(columns[c][i]) for c in subset), set()).add(int(who))
            for who in {next(iter(members)) for members in classes.values() if len(members) == 1}:
                if not any(set(smaller) < set(subset) for smaller in found[who]):
                    found[who].add(subset)
    return found


def random_codes(rng, several):
    rows, width = int(rng.integers(1, 40)), int(rng.integers(1, 7))
    sizes = tuple(int(s) for s in rng.integers(1, 9, size=width))
    columns = tuple(rng.integers(0, s, size=rows).astype(np.uint8) for s in sizes)
    persons = np.unique(rng.integers(0, 15, size=rows), return_inverse=True)[1].astype(np.int32) if several else None
    return RowCodes(columns, sizes, persons, rows)


@pytest.mark.parametrize("several", [False, True])
@pytest.mark.parametrize("smallest_table", [0, 1 << 20])
@pytest.mark.parametrize("few_rows", [0.0, 0.5, 1.0])
def test_the_search_is_that_of_brute_force(several, smallest_table, few_rows, monkeypatch):
    """With no smallest table, keys are sorted where they outnumber rows; rows are left out early, late or never."""
    monkeypatch.setattr(suda, "_SMALLEST_TABLE", smallest_table)
    monkeypatch.setattr(suda, "_FEW_ROWS", few_rows)
    rng = dp.testing.generator(2000 + several)
    for _ in range(30):
        codes = random_codes(rng, several)
        size = int(rng.integers(1, len(codes.columns) + 1))
        persons = np.arange(len(codes)) if codes.persons is None else codes.persons
        exact = brute_force(codes.columns, persons, size)
        found = find_minimal_sets(codes, size)
        for subset, people in found.people.items():
            assert people == sum(subset in sets for sets in exact.values())
        for k in range(1, size + 1):
            assert found.sets[k - 1].tolist() == [sum(len(s) == k for s in exact[w]) for w in sorted(exact)]


@pytest.mark.parametrize("several", [False, True])
def test_keys_beyond_64_bits_are_numbered_anew(several):
    rng = dp.testing.generator(2002)
    sizes = (2**31 - 1,) * 5
    columns = tuple(rng.choice([0, 5, 2**31 - 2], size=60).astype(np.int32) for _ in sizes)
    persons = (np.arange(60) // 2).astype(np.int32) if several else None
    found = find_minimal_sets(RowCodes(columns, sizes, persons, 60), 5)
    exact = brute_force(columns, np.arange(60) if persons is None else persons, 5)
    assert found.people == {s: sum(s in sets for sets in exact.values()) for s in found.people}


def test_scores_are_factorials_where_all_sets_are_searched():
    assert list(score_weights(4, 4)) == [6, 2, 1, 1]
    assert list(score_weights(4, 3)) == [6, 2, 1]
    assert list(score_weights(12, 3)) == [11 * 10 * 9, 10 * 9, 9]
    assert list(score_weights(1, 1)) == [1]
