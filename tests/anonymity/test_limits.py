"""Worked tables: every sentence follows from the rows, and the tables are as they are said to be."""

import json
from collections import Counter, defaultdict

import pyarrow as pa
import pytest

from discreet.anonymity import limits
from discreet.anonymity.linkage import composition
from discreet.attacks import small_groups


def classes(table):
    found = defaultdict(list)
    for *quasi, condition in table.rows:
        found[tuple(quasi)].append(condition)
    return found


def test_the_class_of_the_neighbour_has_one_condition_although_every_class_has_three_people():
    table = limits.homogeneity()
    found = classes(table)
    assert min(map(len, found.values())) == table.figures["k"] == 3
    assert set(found["130**", "30-39"]) == {"cancer"}
    assert table.figures["distinct_l"] == 1
    assert "cancer" in table.learns


def test_background_knowledge_leaves_one_value_of_a_class_with_two():
    table = limits.background_knowledge()
    found = classes(table)
    assert min(map(len, found.values())) == table.figures["k"] == 3
    assert min(len(set(values)) for values in found.values()) == table.figures["distinct_l"] == 2
    assert set(found["148**", "40-49"]) - {"flu"} == {"cancer"}
    everyone = Counter(row[-1] for row in table.rows)
    of_class = Counter(found["148**", "40-49"])
    distance = sum(abs(of_class[value] / 3 - everyone[value] / 6) for value in everyone) / 2
    assert float(table.figures["t"]) == pytest.approx(distance)


def test_two_releases_name_one_condition_as_the_example_of_linkage_does():
    table = limits.composition()
    example = composition.example()
    assert (table.figures["k_first"], table.figures["k_second"]) == tuple(each.k for each in example.risk.releases)
    assert example.risk.values == (table.figures["value"],) == ("tuberculosis",)
    assert table.figures["values_left"] == 1
    assert [int(row[2]) for row in table.rows] == [each.candidates for each in example.risk.releases]


def test_two_answers_about_at_least_fifty_people_give_one_persons_value():
    table = limits.differencing()
    people = [int(row[1].replace(",", "")) for row in table.rows]
    sums = [int(row[2].replace(",", "")) for row in table.rows]
    assert people == [51, 50]
    assert sums[0] - sums[1] == table.figures["value"]
    published = pa.table({"group": [row[0] for row in table.rows], "n": people})
    assert small_groups.against_table(published, fewer_than=limits.MINIMUM_GROUP_SIZE).small == 0


@pytest.mark.parametrize("table", limits.worked_tables(), ids=lambda table: table.name)
def test_a_table_is_short_text_and_plain_data(table):
    lines = str(table).splitlines()
    assert lines[0] == table.name
    assert len(lines) < 20
    assert all(len(line) <= 120 for line in lines)
    assert all(len(line) <= 76 for line in table.table_lines())
    data = json.loads(json.dumps(table.to_json()))
    assert len(data["rows"]) == len(table.rows)
    assert data["learns"] == table.learns


@pytest.mark.parametrize("table", limits.worked_tables(), ids=lambda table: table.name)
def test_no_table_is_called_private_or_safe(table):
    assert "private" not in str(table).lower()
    assert "safe" not in str(table).lower()
