"""A prefix tree finds the frequent values of a domain that nobody could list."""

from collections import Counter

import numpy as np
import pytest

import discreet as dp
from discreet.errors import ParameterError
from discreet.local.collector.accumulator import Accumulator
from discreet.local.estimates.heavy_hitters import HeavyHitters, PrefixTree

HEX = "0123456789abcdef"


def collect(tree, values, generator):
    """Simulated counts of the reports of one group, through the same prefixes as a client."""
    task = tree.task
    slots = {text: slot for slot, text in enumerate(task.domain.values)}
    clients = np.zeros(task.domain.size, dtype=np.int64)
    for value, number in Counter(values.tolist()).items():
        clients[slots.get(tree.prefix(value), task.default)] += number
    counts = np.atleast_2d(dp.local.simulate(task.oracle, clients, generator))
    return Accumulator.partial(task, counts, counts.sum(axis=1))


def search(tree, values, generator):
    groups = np.array_split(generator.permutation(values), len(tree.lengths))
    while not tree.is_finished:
        tree = tree.extend(collect(tree, groups[tree.level], generator))
    return tree.result


@pytest.mark.statistical(false_alarm=1e-6)
def test_the_frequent_values_of_a_zipf_law_are_found(samples):
    """4 billion possible values, 1,000 in use: those well above the threshold are all found."""
    generator, number = np.random.default_rng(), samples(600_000)
    weights = 1 / np.arange(1, 1_001)
    names = np.array([f"{(i * 2_654_435_761) % 2**32:08x}" for i in range(1_000)])
    values = names[generator.choice(1_000, number, p=weights / weights.sum())]
    found = search(PrefixTree(HEX, (2, 4, 6, 8), 3, number, max_bytes=40), values, generator)
    shares = Counter(values.tolist())
    likely = {name for name, count in shares.items() if count / number > 3 * found.threshold}
    assert len(likely) >= 5
    assert likely <= set(found.values)
    assert sum(name not in shares for name in found.values) <= 12
    assert found.values[0] == names[0]
    assert list(found.shares) == sorted(found.shares, reverse=True)


@pytest.mark.statistical(false_alarm=1e-6)
def test_nothing_is_found_where_all_values_differ(samples):
    generator, number = np.random.default_rng(), samples(20_000)
    values = np.array([f"{i:08x}" for i in generator.integers(2**32, size=number)])
    found = search(PrefixTree(HEX, (3, 6, 8), 1, number), values, generator)
    assert len(found.values) <= 12
    assert (found.low == 0).all()


def test_candidates_are_all_continuations_of_surviving_prefixes():
    tree = PrefixTree("ab", (1, 3), 1, 1_000)
    assert tree.candidates == ("a", "b")
    later = PrefixTree("ab", (1, 3), 1, 1_000, parents=("b",), level=1)
    assert later.candidates == ("baa", "bab", "bba", "bbb")
    assert later.task.domain.values == ("", "baa", "bab", "bba", "bbb")
    assert later.task.default == 0
    assert later.task.domain.label(later.task.default) == ""


def test_shorter_values_are_filled_up_and_others_are_reported_as_other():
    tree = PrefixTree("ab", (1, 3), 1, 1_000, parents=("b",), level=1)
    assert tree.prefix("b") == "baa"
    assert tree.task.domain.slot(tree.prefix("b")) == 1
    assert tree.task.domain.slot(tree.prefix("abc")) is None


def test_a_value_that_is_no_text_and_counts_that_are_none_are_refused():
    tree = PrefixTree("ab", (1, 3), 1, 1_000)
    with pytest.raises(ParameterError, match="prefixes of texts"):
        tree.prefix(5)
    with pytest.raises(ParameterError, match="accumulator of a collection"):
        tree.extend(None)


def test_a_result_prints_its_largest_values():
    ones = np.full(12, 0.25)
    found = HeavyHitters(tuple("abcdefghijkl"), ones, ones, ones, 0.95, 1, 0.01)
    lines = repr(found).splitlines()
    assert lines[0].startswith("12 frequent values, above a share of 1.00%; 1 report;")
    assert (len(lines), lines[-1].split()) == (12, ["...", "2", "more"])
    assert found.to_pandas().shape == (12, 4)
    assert HeavyHitters((), *[np.zeros(0)] * 3, 0.95, 1, 0.01).to_arrow().num_rows == 0


def test_no_surviving_prefix_is_a_result_of_its_own():
    tree = PrefixTree("ab", (6, 12), 1, 1_000, max_bytes=33)
    width = tree.task.oracle.symbols
    even = Accumulator.partial(tree.task, np.full((1, width), 9), np.array([9 * width]))
    ended = tree.extend(even)
    assert ended.is_finished
    assert ended.result.values == ()
    assert ended.result.to_arrow().num_rows == 0
    with pytest.raises(ParameterError, match=r"tree\.result"):
        ended.extend(even)


@pytest.mark.parametrize(
    "change",
    [{"alphabet": "aa"}, {"alphabet": "a"}, {"lengths": ()}, {"lengths": (2, 2)}, {"lengths": (0, 1)}, {"width": 0}],
    ids=str,
)
def test_trees_that_make_no_sense_are_refused(change):
    with pytest.raises(ParameterError, match="characters of the alphabet differ"):
        PrefixTree(**({"alphabet": "ab", "lengths": (1, 2), "epsilon": 1, "reports": 10} | change))


def test_a_level_that_is_too_large_is_refused():
    with pytest.raises(ParameterError, match="more levels"):
        PrefixTree(HEX, (6,), 1, 10)
