"""l and t of generalised tables: a search, its recoding, the table and the measures of the file agree."""

from collections import Counter
from fractions import Fraction

import brute
import numpy as np
import pyarrow as pa
import pytest
import random_tables

import discreet as dp
from discreet.anonymity.generalisation import recode_values
from discreet.anonymity.generalisation.recode_columns import CodedColumn
from discreet.anonymity.generalisation.recode_people import RowGroups

H = dp.anonymity.hierarchies
COLUMNS = {"age": H.intervals(5, 10, 20, 40), "zip": H.mask()}


def _people(generator, *, several, rows=120):
    """Rows with a second column of the person, which may be published so that people can be counted in the file."""
    persons = [None if number % 17 == 0 else number for number in generator.integers(90, size=rows).tolist()]
    return pa.table(
        {
            "age": pa.array(generator.integers(18, 90, rows).tolist(), pa.int64()),
            "zip": [f"{number:05d}" for number in generator.integers(10_000, 10_400, rows)],
            "stage": pa.array([None if n == 5 else int(n) for n in generator.integers(6, size=rows)], pa.int64()),
            "who": pa.array(persons if several else list(range(rows)), pa.int64()),
            "copy": pa.array(persons if several else list(range(rows)), pa.int64()),
        }
    )


def _measures(table, ordered):
    return dp.anonymity.measure(table, list(COLUMNS), sensitive=["stage"], ordered=ordered, person="copy")


@pytest.mark.parametrize("several", [False, True])
@pytest.mark.parametrize("ordered", [(), ("stage",)], ids=str)
def test_search_recoding_table_and_measures_agree_on_k_l_and_t(several, ordered):
    generator, suppressed = dp.testing.generator(18_101), 0
    for turn in range(10):
        people = _people(generator, several=several)
        limits = [{"l": 3}, {"t": Fraction(2, 5)}, {"l": 2, "t": Fraction(1, 2)}][turn % 3]
        options = {"k": 2 + turn % 4, "sensitive": "stage", "ordered": ordered, "person": "who", **limits}
        best = dp.anonymity.search(people, COLUMNS, suppression=Fraction(turn % 5, 10), **options)
        if best.optimal is None:
            continue
        rules = best.recoding(COLUMNS) | {"stage": None, "copy": None}
        found = dp.anonymity.generalise(people, rules, **options)
        assert (found.k, found.l, found.t) == (best.k, best.l, best.t)
        if not found.table.num_rows:
            continue
        measures = _measures(found.table, ordered)
        assert (measures.k, measures.diversity["stage"].distinct) == (best.k, best.l)
        assert measures.classes == best.classes
        assert measures.k >= options["k"]
        assert best.l >= limits.get("l", 1)
        assert best.t <= limits.get("t", 1)
        if found.suppressed:
            suppressed += 1
        else:
            assert measures.closeness["stage"] == best.t
    assert suppressed > 1


def test_the_classes_that_stay_are_those_of_plain_loops_with_all_their_rows():
    for index in range(60):
        case = random_tables.case(index)
        name, t = case.sensitive[0], Fraction(1 + index % 4, 5)
        rules = dict.fromkeys(case.quasi, 0) | {name: None}
        found = dp.anonymity.generalise(
            case.table, rules, k=2, l=2, t=t, sensitive=name, ordered=case.ordered, person=case.person
        )
        rows, persons = case.rows, brute.persons_of(case.rows, case.person)
        everybody = {(who, brute.plain(row[name])) for row, who in zip(rows, persons, strict=True)}
        whole, stays = _table(everybody), {}
        for key in {tuple(brute.plain(row[q]) for q in case.quasi) for row in rows}:
            own = [
                (who, brute.plain(row[name]))
                for row, who in zip(rows, persons, strict=True)
                if tuple(brute.plain(row[q]) for q in case.quasi) == key
            ]
            part = _table(set(own))
            distance = brute.distance(part, whole, is_ordered=name in case.ordered)
            if len({who for who, _ in own}) >= 2 and len(part) >= 2 and distance <= t:
                stays[key] = (len(own), len({who for who, _ in own}), len(part), distance)
        assert found.table.num_rows == sum(each[0] for each in stays.values()), index
        assert {tuple(brute.plain(row[q]) for q in case.quasi) for row in found.table.to_pylist()} == set(stays)
        if stays:
            _, people, values, distances = zip(*stays.values(), strict=True)
            assert (found.k, found.l, found.t) == (min(people), min(values), max(distances)), index
        else:
            assert (found.k, found.l, found.t) == (None, None, None)


def _table(pairs):
    """For each value the number of people who have it."""
    return dict(Counter(value for _, value in pairs))


def test_a_person_whose_row_is_suppressed_stays_in_the_other_classes():
    people = pa.table(
        {"who": [1, 2, 1, 2, 3], "town": ["A", "A", "B", "B", "B"], "ill": ["flu", "flu", "flu", "cold", "cold"]}
    )
    rules = {"town": 0, "ill": None}
    found = dp.anonymity.generalise(people, rules, k=2, l=2, sensitive="ill", person="who")
    assert found.table["town"].to_pylist() == ["B", "B", "B"]
    assert (found.k, found.l, found.suppressed) == (3, 2, 2)


def test_suppressed_cells_reach_l_and_t_as_well():
    for index in range(20):
        case = random_tables.case(index)
        name = case.sensitive[0]
        rules = dict.fromkeys(case.quasi, 0) | {name: None}
        options = {"l": 2, "t": Fraction(1, 2), "sensitive": name, "suppress_cells": True}
        found = dp.anonymity.generalise(case.table, rules, k=2, **options)
        if found.table.num_rows:
            measures = dp.anonymity.measure(found.table, list(case.quasi), sensitive=[name])
            assert (measures.k, measures.diversity[name].distinct) == (found.k, found.l)
            assert found.k >= 2
            assert found.l >= 2
            assert found.t <= Fraction(1, 2)


def test_the_text_and_the_history_state_l_and_t():
    people = pa.table({"town": ["A", "A", "B"], "ill": ["flu", "cold", "cold"], "name": ["x", "y", "z"]})
    found = dp.anonymity.generalise(people, {"town": 0, "ill": None}, l=2, t=0.5, sensitive="ill")
    assert "l = 2, t = 0.1667" in str(found)
    assert "columns left out: name" in str(found)
    assert found.description == "town (level 0), ill; l=2 of ill, t=0.5 of ill"


@pytest.mark.parametrize(
    ("rules", "options"),
    [
        ({"town": 0}, {"l": 2}),
        ({"town": 0}, {"l": 2, "sensitive": "ill"}),
        ({"town": 0, "ill": 0}, {"l": 2, "sensitive": "ill"}),
        ({"town": 0, "ill": None}, {"l": 0, "sensitive": "ill"}),
        ({"town": 0, "ill": None}, {"t": 2, "sensitive": "ill"}),
    ],
    ids=str,
)
def test_limits_that_cannot_be_measured_are_refused(rules, options):
    with pytest.raises(dp.errors.ParameterError):
        dp.anonymity.generalise(pa.table({"town": ["A"], "ill": ["flu"]}), rules, **options)


def test_the_table_of_values_counts_people_once_by_class_and_value():
    columns = [CodedColumn(np.array([1, 1, 0, 0]), pa.array(["b", "a"]))]
    groups = RowGroups(np.array([3, 1, 1, 2]), np.array([0, 0, 1, -1]))
    table = recode_values.RecodedValues(0, False).table(columns, np.array([0, 0, 0, 1]), groups)
    assert (table.starts.tolist(), table.values.tolist(), table.counts.tolist()) == ([0, 2], [0, 1, 1], [1, 1, 2])
    assert table.whole.tolist() == [1, 3]
