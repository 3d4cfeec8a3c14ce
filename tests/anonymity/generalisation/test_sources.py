"""A cube comes from a source or from a cube with more columns."""

import pyarrow as pa
import pytest

import discreet as dp
from discreet.anonymity.generalisation.sources import open_cube

TABLE = pa.table({"age": [1, 1, 2, None], "sex": ["f", "m", "f", "f"], "who": ["a", "a", "b", None]})


def test_rows_are_people_without_a_person():
    cube = open_cube(TABLE, ["age"])
    assert cube.persons is None
    assert sorted(zip(cube.values["age"].to_pylist(), cube.people.tolist(), strict=True), key=str) == [
        (1, 2),
        (2, 1),
        (None, 1),
    ]


def test_persons_with_several_rows_are_kept_apart():
    cube = open_cube(TABLE, ["age"], "sex", person="who")
    assert cube.persons is not None
    assert cube.total == 3
    assert open_cube(cube, ["age"]).sensitive == ()


def test_persons_with_one_row_each_are_counts():
    assert open_cube(TABLE.slice(1), ["age"], person="who").persons is None


def test_wrong_columns_are_errors():
    cube = open_cube(TABLE, ["age"], "sex")
    for quasi, sensitive in [([], None), ("age", None), (["age", "age"], None), (["sex"], "sex")]:
        with pytest.raises(dp.errors.ParameterError):
            open_cube(cube, quasi, sensitive)
    with pytest.raises(dp.errors.NameNotFoundError):
        open_cube(cube, ["zip"])
    with pytest.raises(dp.errors.ParameterError, match="already knows"):
        open_cube(cube, ["age"], person="who")
