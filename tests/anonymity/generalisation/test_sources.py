"""A cube comes from a source or from a cube with more columns."""

from itertools import permutations

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

import discreet as dp
from discreet.anonymity.generalisation.levels import GeneralisationLevels
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


def tens(*ages):
    """Levels of ages and their tens, in the order that is given."""
    codes = (np.arange(len(ages)), np.array([age // 10 for age in ages]))
    return GeneralisationLevels(codes, (tuple(map(str, ages)), tuple(f"{number}0s" for number in range(10))))


@pytest.mark.parametrize("ages", list(dict.fromkeys(permutations([31, 35, 47, 47]))))
def test_levels_are_found_by_their_labels_in_any_order_of_the_rows(ages):
    data = pa.table({"age": pa.array(ages, pa.int64())})
    for levels in (tens(31, 35, 47), tens(47, 31, 35), tens(20, 47, 90, 35, 31)):
        for source in (data, dp.anonymity.cube(data, ["age"])):
            assert dp.anonymity.search(source, {"age": levels}, k=2).optimal == {"age": 1}
            found = dp.anonymity.mondrian(source, {"age": levels}, k=2).apply()["age"].to_pylist()
            assert sorted(found) == ["30s", "47"]


def test_the_recoding_of_a_search_over_levels_is_what_generalise_takes():
    data = pa.table({"age": [47, 31, 47, 35]})
    levels = {"age": tens(35, 47, 31)}
    found = dp.anonymity.search(data, levels, k=2)
    coarse = dp.anonymity.generalise(data, found.recoding(levels), k=2)
    assert coarse.table["age"].to_pylist() == ["30s", "30s", "40s", "40s"]
    assert (coarse.k, coarse.suppressed) == (found.k, found.suppressed)
    with pytest.raises(dp.errors.ParameterError, match="no label for 1 values"):
        dp.anonymity.generalise(data, {"age": (tens(31, 47), 1)})
    with pytest.raises(dp.errors.ParameterError, match="level 2 of 'age'"):
        dp.anonymity.generalise(data, {"age": (levels["age"], 2)})


def test_a_hierarchy_of_ones_own_serves_search_and_generalise():
    class Parity:
        def levels(self, values):
            odd = np.array([value % 2 for value in values.to_pylist()])
            return GeneralisationLevels((np.arange(len(values)), odd), (text(values), ("even", "odd")))

    def text(values):
        return tuple(map(str, values.to_pylist()))

    data, hierarchies = pa.table({"age": [31, 35, 47, 48, 50]}), {"age": Parity()}
    found = dp.anonymity.search(data, hierarchies, k=2)
    coarse = dp.anonymity.generalise(data, found.recoding(hierarchies), k=2)
    assert coarse.table["age"].to_pylist() == ["even"] * 2 + ["odd"] * 3


def test_levels_without_a_value_of_the_table_are_refused():
    data = pa.table({"age": [31, None, 47]})
    with pytest.raises(dp.errors.ParameterError, match="no label for 1 values"):
        dp.anonymity.search(data, {"age": tens(31, 47)}, k=1)
    with pytest.raises(dp.errors.ParameterError, match="a label twice"):
        dp.anonymity.search(data.slice(0, 1), {"age": tens(31, 31)}, k=1)


def test_levels_of_a_hierarchy_have_one_code_for_each_value():
    class Short:
        def levels(self, _):
            return tens(31)

    with pytest.raises(dp.errors.ParameterError, match="one code for each distinct value"):
        dp.anonymity.search(pa.table({"age": [31, 47]}), {"age": Short()}, k=1)


@pytest.mark.parametrize("sensitive", ["who", "age"])
def test_a_sensitive_column_with_two_roles_is_refused(sensitive):
    ages = {"age": dp.anonymity.hierarchies.digits()}
    for call in (
        lambda: dp.anonymity.search(TABLE, ages, k=1, sensitive=sensitive, person="who"),
        lambda: dp.anonymity.mondrian(TABLE, ["age"], k=1, sensitive=sensitive, person="who"),
        lambda: dp.anonymity.measure(TABLE, ["age"], sensitive=[sensitive], person="who"),
        lambda: dp.anonymity.cube(TABLE, ["age"], [sensitive], person="who"),
    ):
        with pytest.raises(dp.errors.ParameterError) as caught:
            call()
        assert caught.value.because == "each column has one role"


def test_a_list_in_the_place_of_one_sensitive_column_is_refused_with_its_name():
    ages = {"age": dp.anonymity.hierarchies.digits()}
    for call in (
        lambda: dp.anonymity.search(TABLE, ages, k=1, l=1, sensitive=["who"]),
        lambda: dp.anonymity.mondrian(TABLE, ["age"], k=1, l=1, sensitive=["who"]),
        lambda: dp.anonymity.generalise(TABLE, {"age": 0, "who": None}, l=1, sensitive=["who"]),
    ):
        with pytest.raises(dp.errors.ParameterError) as caught:
            call()
        assert caught.value.instead == "sensitive='who'"


def test_persons_are_no_quasi_identifier():
    for call in (
        lambda: dp.anonymity.search(TABLE, {"who": dp.anonymity.hierarchies.mask()}, k=1, person="who"),
        lambda: dp.anonymity.mondrian(TABLE, ["who"], k=1, person="who"),
        lambda: dp.anonymity.generalise(TABLE, {"who": 0}, person="who"),
    ):
        with pytest.raises(dp.errors.ParameterError, match="never published"):
            call()


HIERARCHIES = dp.anonymity.hierarchies


@pytest.mark.parametrize(
    ("kind", "hierarchy"),
    [
        (pa.int64(), HIERARCHIES.intervals(5, 10)),
        (pa.float64(), HIERARCHIES.intervals(5, 10)),
        (pa.int64(), HIERARCHIES.digits(1)),
        (pa.string(), HIERARCHIES.mask()),
        (pa.date32(), HIERARCHIES.dates()),
    ],
)
def test_a_table_without_rows_gives_a_result_without_a_class(kind, hierarchy):
    data = pa.table({"q": pa.array([], kind), "s": pa.array([], pa.string()), "who": pa.array([], pa.string())})
    options = {"k": 2, "l": 2, "sensitive": "s", "person": "who"}
    found = dp.anonymity.search(data, {"q": hierarchy}, t=0.5, **options)
    assert (found.people, found.suppressed, found.classes, found.k) == (0, 0, 0, None)
    assert "there no class is published; 0 of 0 people suppressed" in str(found)
    for quasi in (["q"], {"q": hierarchy}):
        partition = dp.anonymity.mondrian(data, quasi, **options)
        assert (partition.people, partition.classes, partition.apply().num_rows) == (0, 0, 0)


def test_the_engine_takes_a_memory_limit_wherever_rows_are_read(tmp_path):
    path = tmp_path / "people.parquet"
    parquet.write_table(pa.table({"age": [31, 38]}), path)
    tens = dp.anonymity.hierarchies.digits(1)
    limit = {"memory_limit": "100MB"}
    assert dp.anonymity.search(path, {"age": tens}, k=2, **limit).k == 2
    assert dp.anonymity.mondrian(path, ["age"], k=2, **limit).k == 2
    assert dp.anonymity.generalise(path, {"age": (tens, 1)}, k=2, **limit).k == 2
    with pytest.raises(dp.errors.DiscreetError):
        dp.anonymity.generalise(path, {"age": (tens, 1)}, memory_limit="much")
