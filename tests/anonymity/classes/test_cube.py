"""A count cube keeps who is who where persons have several rows."""

import pyarrow as pa
from cubes import cube_of

import discreet as dp
from discreet.anonymity.owners import STAMP


def test_a_cube_of_one_row_a_person_has_counts():
    table = pa.table({"age": [30, None, 40], "n": [2, 1, 3]})
    cube = cube_of(table, ["age"], people="n")
    assert cube.total == 6
    assert cube.people.tolist() == [2, 1, 3]
    assert cube.values["age"].to_pylist() == [30, None, 40]


def test_a_person_in_two_classes_is_one_person():
    table = pa.table({"age": [30, 40, 40], "who": ["a", "a", "b"], "n": [1, 1, 1]})
    cube = cube_of(table, ["age"], people="n", person="who")
    assert cube.total == 2
    assert cube.persons is not None
    assert cube.persons.tolist() == [0, 0, 1]


def test_rows_without_a_person_are_persons_of_their_own():
    table = pa.table({"age": [30, 30], "who": pa.array(["a", None]), "n": [1, 3]})
    cube = cube_of(table, ["age"], people="n", person="who")
    assert cube.total == 4
    assert cube.codes["age"].tolist() == [0, 0, 0, 0]


def test_a_cube_of_a_source_counts_people_in_its_engine():
    table = pa.table({"age": [30, 30, None], "sex": ["f", "f", "m"], "who": [1, 2, 3]})
    found = dp.anonymity.cube(table, ["age"], ["sex"], person="who")
    assert (found.quasi, found.sensitive, found.total) == (("age",), ("sex",), 3)
    assert found.persons is None
    rows = {
        (found.values["age"][a].as_py(), found.values["sex"][s].as_py()): n
        for a, s, n in zip(found.codes["age"].tolist(), found.codes["sex"].tolist(), found.people.tolist(), strict=True)
    }
    assert rows == {(30, "f"): 2, (None, "m"): 1}


def test_a_cube_of_a_source_has_persons_where_somebody_has_several_rows():
    table = pa.table({"age": [30, 40, 40, 50], "who": ["a", "a", "b", None]})
    found = dp.anonymity.cube(table, ["age"], person="who")
    assert found.persons is not None
    assert found.total == 3
    assert sorted(set(found.persons.tolist())) == [0, 1, 2]


def test_the_text_of_a_cube_has_no_value_and_has_the_stamp():
    table = pa.table({"name\x1b[31m": ["Alice", "Bob"], "who": ["id-7", "id-7"]})
    found = repr(dp.anonymity.cube(table, ["name\x1b[31m"], person="who"))
    assert found.endswith(STAMP)
    assert found.startswith("Cube of 1 people in 2 rows by name")
    assert not any(word in found for word in ("Alice", "Bob", "id-7", "\x1b"))
