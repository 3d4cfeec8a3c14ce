"""A Mondrian partition covers everybody with classes of k people, and its table says so."""

from collections import Counter
from fractions import Fraction
from math import log2

import numpy as np
import pyarrow as pa
import pytest

import discreet as dp
from discreet.anonymity.generalisation.levels import GeneralisationLevels

from .lattices import random_case


@pytest.mark.parametrize("several", [False, True])
@pytest.mark.parametrize("hierarchy", [False, True])
@pytest.mark.parametrize("least", [None, 2])
def test_boxes_partition_the_people_and_hold_k(several, hierarchy, least):
    generator = np.random.default_rng(1)
    for _ in range(25):
        case, k = random_case(generator, several=several, people=20, values=7), int(generator.integers(1, 6))
        quasi = case.levels if hierarchy else list(case.levels)
        found = dp.anonymity.mondrian(case.cube, quasi, k=k, l=least, sensitive="s")
        if not found.classes:
            assert least is not None
            continue
        boxes = [found.box(number) for number in range(found.classes)]
        inside = [[row for row in case.rows if _is_in(box, row[0])] for box in boxes]
        assert sum(map(len, inside)) == len(case.rows)
        people = [len({person for _, person, _ in rows}) for rows in inside]
        assert min(people) == found.k >= k
        assert sorted(Counter(people).items()) == list(found.class_sizes)
        assert min(len({value for _, _, value in rows}) for rows in inside) == found.l >= (least or 1)
        assert found.discernibility == sum(size**2 for size in people)
        assert found.average_class_size == Fraction(sum(people), len(people))
        assert found.non_uniform_entropy == pytest.approx(_entropy(case, boxes, inside), abs=1e-9)
        counts = Counter()
        for number, rows in enumerate(inside):
            pairs = {(person, value) for _, person, value in rows}
            counts.update({(number, value): n for value, n in Counter(value for _, value in pairs).items()})
        assert sorted(found.apply()["people"].to_pylist()) == sorted(counts.values())


def _is_in(box, cells):
    return all(cell in values for cell, values in zip(cells, box.values(), strict=True))


def _entropy(case, boxes, inside):
    total = 0.0
    for i, name in enumerate(case.levels):
        counts = Counter(row[0][i] for row in case.rows)
        for box, rows in zip(boxes, inside, strict=True):
            total += sum(log2(sum(counts[v] for v in box[name]) / counts[row[0][i]]) for row in rows)
    return total


def test_more_people_than_there_are_give_no_class():
    found = dp.anonymity.mondrian(pa.table({"age": [1, 2]}), ["age"], k=3)
    assert (found.classes, found.k, found.l, found.suppressed, found.non_uniform_entropy) == (0, None, None, 2, None)
    assert (found.discernibility, found.average_class_size) == (4, 2)
    assert found.apply().to_pydict() == {"age": [], "people": []}
    assert "No class" in str(found)


def test_one_value_is_one_class():
    found = dp.anonymity.mondrian(pa.table({"age": [7, 7, 7, 7]}), ["age"], k=2)
    assert found.apply().to_pydict() == {"age": ["7"], "people": [4]}


def test_missing_values_are_last_and_have_their_own_text():
    data = pa.table({"age": pa.array([1, 2, None, None, None, 3])})
    assert dp.anonymity.mondrian(data, ["age"], k=3).apply()["age"].to_pylist() == ["[1, 3]", None]
    assert dp.anonymity.mondrian(data, ["age"], k=4).apply()["age"].to_pylist() == ["[1, 3] or missing"]


def test_groups_of_a_hierarchy_have_their_labels():
    levels = GeneralisationLevels(
        (np.arange(4), np.array([0, 0, 1, 1]), np.zeros(4, dtype=np.int64)),
        (("a", "b", "c", "d"), ("ab", "cd"), ("*",)),
    )
    data = pa.table({"q": ["a", "b", "c", "d"]})
    cube = dp.anonymity.mondrian(data, ["q"], k=4).boxes.cube
    order = [cube.values["q"].to_pylist().index(value) for value in "abcd"]
    codes = tuple(each[np.argsort(order)] if level else np.arange(4) for level, each in enumerate(levels.codes))
    labels = (tuple(cube.values["q"].to_pylist()), *levels.labels[1:])
    levels = GeneralisationLevels(codes, labels)
    texts = [dp.anonymity.mondrian(cube, {"q": levels}, k=k).apply()["q"].to_pylist() for k in (1, 2, 3)]
    assert [sorted(each) for each in texts] == [["a", "b", "c", "d"], ["ab", "cd"], ["*"]]


def test_siblings_that_do_not_fill_their_parent_are_a_set():
    levels = GeneralisationLevels((np.arange(4), np.zeros(4, dtype=np.int64)), (("a", "b", "c", None), ("*",)))
    data = pa.table({"q": pa.array(["a", "b", "c", None])})
    cube = dp.anonymity.mondrian(data, ["q"], k=4).boxes.cube
    named = GeneralisationLevels(levels.codes, (tuple(cube.values["q"].to_pylist()), ("*",)))
    found = dp.anonymity.mondrian(cube, {"q": named}, k=2).apply()["q"].to_pylist()
    assert sorted(found) == ["{a, b}", "{c, missing}"]


def test_persons_are_counted_and_not_rows():
    data = pa.table({"age": [1, 1, 2, 2], "who": ["a", "a", "b", "c"]})
    assert dp.anonymity.mondrian(data, ["age"], k=2).classes == 2
    found = dp.anonymity.mondrian(data, ["age"], k=2, person="who")
    assert (found.classes, found.k) == (1, 3)


def test_the_rows_of_a_class_are_in_the_order_of_the_sensitive_values():
    data = pa.table({"age": [1, 1, 1], "s": pa.array(["z", None, "a"])})
    assert dp.anonymity.mondrian(data, ["age"], k=3, sensitive="s").apply()["s"].to_pylist() == ["a", "z", None]


def test_text_and_json_carry_the_stamp_and_no_boxes():
    found = dp.anonymity.mondrian(pa.table({"age": [1, 2], "s": ["x", "y"]}), ["age"], k=1, l=1, sensitive="s")
    assert "owners" in str(found)
    assert "k=1, l=1" in str(found)
    assert "boxes" not in found.to_json()["figures"]


def test_wrong_arguments_are_errors():
    data = pa.table({"age": [1, 2]})
    for options in [{"k": 0}, {"k": 1.5}, {"k": 1, "l": 2}, {"k": 1, "l": 0, "sensitive": "age"}]:
        with pytest.raises(dp.errors.ParameterError):
            dp.anonymity.mondrian(data, ["age"], **options)
    with pytest.raises(dp.errors.ParameterError):
        dp.anonymity.mondrian(data, "age", k=1)
    with pytest.raises(dp.errors.NameNotFoundError):
        dp.anonymity.mondrian(data, ["zip"], k=1)


def test_a_column_of_the_name_of_the_counts_stays():
    data = pa.table({"people": ["x", "x", "y", "y"], "people_": ["a", "b", "a", "b"]})
    found = dp.anonymity.mondrian(data, ["people"], k=2).apply().to_pydict()
    assert found == {"people": ["x", "y"], "people_": [2, 2]}
    found = dp.anonymity.mondrian(data, ["people"], k=2, sensitive="people_").apply().to_pydict()
    assert found == {"people": ["x", "x", "y", "y"], "people_": ["a", "b", "a", "b"], "people__": [1, 1, 1, 1]}
