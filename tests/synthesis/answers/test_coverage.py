"""Intervals of `answer` hold as often as they say, over 200 releases of each synthesizer.

Each query has a binomial test of its own at 1e-4 divided by the number of queries, so a test fails by chance with a
probability of about 1e-4, and after a retry with fresh releases of about 1e-8.
"""

from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from scipy.stats import binom

import discreet as dp
from discreet.catalog.catalog import ColumnType
from discreet.plan.slots import SlotColumn
from discreet.plan.synthesis import Contribution, SynthesisFacts, private_counts
from discreet.synthesis.answers.answer import ReleasedTable, answer_query
from discreet.synthesis.answers.bounded import bounded_count
from discreet.synthesis.core.domain import Domain
from discreet.synthesis.core.private_counts import PrivateCounts

RELEASES = 200
FALSE_ALARM = 1e-4
ONE_ROW = Contribution(1, replace_one=False)
COLUMNS = (
    SlotColumn("a", ColumnType.TEXT, values=("p", "q")),
    SlotColumn("c", ColumnType.INTEGER, edges=(0, 10, 20, 30, 40)),
    SlotColumn("d", ColumnType.TEXT, values=tuple("uvwxyz")),
)
T = dp.table("people")
ONE = {
    "total": (T, lambda rows: rows["a"] >= 0),
    "a column": (T.where(T.a == "p"), lambda rows: rows["a"] == 0),
    "most of a column": (T.where(T.c >= 10), lambda rows: (rows["c"] >= 1) & (rows["c"] < 4)),
}
PAIRS = {
    "one cell": (T.where(T.a == "p", T.d == "u"), lambda rows: (rows["a"] == 0) & (rows["d"] == 0)),
    "an empty row": (T.where(T.a == "p", T.d != "u"), lambda rows: (rows["a"] == 0) & np.isin(rows["d"], range(1, 6))),
    "other columns": (T.where(T.a == "q", T.c >= 20), lambda rows: (rows["a"] == 1) & np.isin(rows["c"], (2, 3))),
    "far columns": (T.where(T.c < 20, T.d == "v"), lambda rows: (rows["c"] < 2) & (rows["d"] == 1)),
}


def rows_of(number=1_500):
    generator = np.random.default_rng(2)
    a = generator.integers(2, size=number)
    c = np.where(
        generator.random(number) < 0.7, a + generator.integers(3, size=number), generator.integers(5, size=number)
    )
    d = np.where(generator.random(number) < 0.9, a, generator.integers(7, size=number))
    return {"a": a, "c": c, "d": d}


def states(synthesizer, columns, rows, many):
    """The states of releases: the part of a session that depends on noise."""
    rho = Fraction(1, 50)
    domain = Domain.of(columns)
    synthesis = synthesizer.synthesis(SynthesisFacts(columns, rho, ONE_ROW, None))
    exact = {}
    for names in synthesis.candidates:
        exact[names] = np.zeros(domain.shape(names), dtype=np.int64)
        np.add.at(exact[names], tuple(rows[name] for name in names), 1)
    for _ in range(many):
        yield synthesis.train(PrivateCounts(domain, exact, ONE_ROW, rho))


def visits_of(persons=700):
    """Visits whose wards follow the year of their person, who has as many as the sex says."""
    generator = np.random.default_rng(3)
    own = {"a": generator.integers(2, size=persons)}
    own["number"] = own["a"] + generator.integers(2, size=persons)
    owners = np.repeat(np.arange(persons), own["number"] + 1)
    rows = {name: values[owners] for name, values in own.items()}
    rows["c"] = np.where(generator.random(len(owners)) < 0.5, rows["a"], generator.integers(5, size=len(owners)))
    rows["d"] = np.where(generator.random(len(owners)) < 0.8, rows["a"], generator.integers(7, size=len(owners)))
    return own, rows


def two_level_states(own, rows, many):
    """The states of two-level releases, in which "a" is a column of persons with at most 3 visits."""
    rho, contribution = Fraction(1, 2), Contribution(3, replace_one=False)
    synthesizer = dp.synthesis.TwoLevelSynthesizer(person={"a": "min"}, number="number")
    synthesis = synthesizer.synthesis(SynthesisFacts(COLUMNS, rho, contribution, None, ("id",)))
    sizes = {column.name: column.size for column in (*COLUMNS, synthesis.units.number)}
    exact = {}
    for names in synthesis.candidates:
        exact[names] = np.zeros([sizes[name] for name in names], dtype=np.int64)
        level = own if synthesis.units.covers(names) else rows
        np.add.at(exact[names], tuple(level[name] for name in names), 1)
    for _ in range(many):
        yield synthesis.train(private_counts(synthesis, exact, contribution, is_private=True))


def coverage(releases, rows, queries, confidence):
    """How often each query has an interval of each kind, and how often that holds the exact number."""
    found = {(name, how): [0, 0] for name in queries for how in ("measured", "bounded")}
    for state in releases:
        table = ReleasedTable("people", state)
        for name, (frame, rule) in queries.items():
            (row,) = answer_query(table, frame.agg(n=dp.count()), confidence).rows
            if row.how != "model":
                held = found[name, row.how]
                held[0] += row.lower <= rule(rows).sum() <= row.upper
                held[1] += 1
    return {key: tuple(each) for key, each in found.items() if each[1]}


def check(found, confidence):
    for (name, how), (held, many) in found.items():
        print(f"{name}, {how}: {held} of {many} intervals hold, at a confidence of {float(confidence):.0%}")
    for key, (held, many) in found.items():
        assert binom.cdf(held, many, float(confidence)) > FALSE_ALARM / len(found), key


@pytest.mark.guarantee("synthesis.answers.noisy_marginals")
@pytest.mark.statistical(false_alarm=FALSE_ALARM)
def test_measured_counts_of_a_tree_are_covered(samples):
    rows, level, many = rows_of(), Fraction(4, 5), samples(RELEASES)
    found = coverage(states(dp.synthesis.TreeSynthesizer(), COLUMNS, rows, many), rows, ONE | PAIRS, level)
    check(found, level)
    assert all(found[name, "measured"][1] == many for name in ONE)


@pytest.mark.guarantee("synthesis.answers.noisy_marginals")
@pytest.mark.guarantee("synthesis.answers.bounded")
@pytest.mark.statistical(false_alarm=FALSE_ALARM)
def test_measured_and_bounded_counts_of_a_graph_are_covered(samples):
    rows, level, many = rows_of(), Fraction(4, 5), samples(RELEASES)
    kept = list(states(dp.synthesis.GraphicalSynthesizer(rounds=1), COLUMNS, rows, many))
    found = coverage(kept, rows, ONE | PAIRS, level)
    check(found, level)
    assert {how for _, how in found} == {"measured", "bounded"}
    held = sum(_are_within(ReleasedTable("people", state), rows, Fraction(1, 2)) for state in kept)
    print(f"all unions of all pairs: within their bounds in {held} of {many} releases, at a confidence of 50%")
    assert binom.cdf(held, many, 0.5) > FALSE_ALARM


@pytest.mark.guarantee("synthesis.answers.noisy_marginals")
@pytest.mark.statistical(false_alarm=FALSE_ALARM)
def test_counts_of_a_marginal_that_is_chosen_again_and_again_are_covered(samples):
    """One candidate: how often it is measured, and at which cost, depends on its noise. Few rows: slots are merged."""
    rows, level, many = rows_of(300), Fraction(4, 5), samples(RELEASES)
    columns = COLUMNS[0], COLUMNS[2]
    synthesizer = dp.synthesis.GraphicalSynthesizer(rounds=4, workload=[("a", "d")])
    kept = list(states(synthesizer, columns, rows, many))
    numbers = {len(state["measurements"]) for state in kept}
    assert min(numbers) >= 4
    queries = {name: PAIRS[name] for name in ("one cell", "an empty row")} | {"a column": ONE["a column"]}
    check(coverage(kept, rows, queries, level), level)


@pytest.mark.guarantee("synthesis.answers.noisy_marginals")
@pytest.mark.statistical(false_alarm=FALSE_ALARM)
def test_measured_counts_of_visits_are_covered(samples):
    """The first stage is of visit columns alone: a chosen pair plays no part in the number of visits."""
    (own, rows), level, many = visits_of(), Fraction(4, 5), samples(RELEASES)
    kept = list(two_level_states(own, rows, many))
    for state in kept[:5]:
        assert [each.columns for each in ReleasedTable("people", state).noisy.first] == [("c",), ("d",)]
    found = coverage(kept, rows, ONE | PAIRS, level)
    check(found, level)
    assert all(found[name, "measured"][1] == many for name in ("total", "most of a column"))


def _are_within(table, rows, level):
    """Whether the worst unions are in their intervals: cells where counts exceed the model, or fall short of it."""
    for pair in combinations("acd", 2):
        exact = np.zeros(table.domain.shape(pair))
        np.add.at(exact, tuple(rows[name] for name in pair), 1)
        excess = exact - table.marginal(pair)
        low, high = bounded_count(table.state, pair, table.noisy, level)
        if not low <= excess[excess < 0].sum() <= excess[excess > 0].sum() <= high:
            return False
    return True
