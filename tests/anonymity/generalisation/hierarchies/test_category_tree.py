"""Categories from trees, rows and files."""

import json

import pyarrow as pa
import pytest

import discreet as dp

categories = dp.anonymity.hierarchies.categories

ROWS = [["Berlin", "Germany", "Europe"], ["Munich", "Germany", "Europe"], ["Tokyo", "Japan", "Asia"]]
TREE = {"Europe": {"Germany": ["Berlin", "Munich"]}, "Asia": {"Japan": ["Tokyo"]}}


def _labels(levels, level):
    return [levels.labels[level][code] for code in levels.codes[level]]


def test_a_tree_its_rows_and_their_files_are_one_hierarchy(tmp_path):
    table, tree, rows = tmp_path / "a.csv", tmp_path / "b.json", tmp_path / "c.json"
    table.write_text("\ufeffcity,country,continent\n" + "\n".join(",".join(row) for row in ROWS), encoding="utf-8")
    tree.write_text(json.dumps(TREE), encoding="utf-8")
    rows.write_text(json.dumps(ROWS), encoding="utf-8")
    first = categories(TREE)
    assert categories(ROWS) == first == categories(table, header=True) == categories(str(tree)) == categories(rows)
    assert first.height == 3
    assert _labels(first.levels(pa.array(["Tokyo", "Munich"])), 2) == ["Asia", "Europe"]


def test_a_value_near_the_root_stays_itself_below_its_parent():
    levels = categories({"Europe": {"Germany": ["Berlin"]}, "Asia": ["Singapore"]}).levels(
        pa.array(["Berlin", "Singapore"])
    )
    assert _labels(levels, 1) == ["Germany", "Singapore"]
    assert _labels(levels, 2) == ["Europe", "Asia"]


def test_unknown_values_are_counted_and_one_is_named():
    with pytest.raises(dp.errors.ParameterError) as caught:
        categories(ROWS).levels(pa.array(["Berlin", "Atlantis", "Avalon", None]))
    assert caught.value.what == "2 values without a category, such as 'Atlantis'"


def test_two_parents_of_one_name_are_refused():
    with pytest.raises(dp.errors.ParameterError) as caught:
        categories([["a", "other", "x"], ["b", "other", "y"]])
    assert "'other' at level 1 in the rows, under 'x' and 'y'" in str(caught.value)
    with pytest.raises(dp.errors.ParameterError):
        categories([["a", "x"], ["a", "y"]])


def test_rows_that_are_not_rows_are_refused():
    for rows in ([], [["a", "x"], ["b"]], ["abc"], [[1, "x"]], [[]]):
        with pytest.raises(dp.errors.ParameterError):
            categories(rows)


def test_unreadable_files_are_refused(tmp_path):
    (tmp_path / "a.json").write_text("{", encoding="utf-8")
    (tmp_path / "b.csv").write_bytes(b"\xff\xfe\xff")
    for name in ("a.json", "b.csv", "c.csv"):
        with pytest.raises(dp.errors.SourceError):
            categories(tmp_path / name)


def test_numbers_and_booleans_are_found_by_their_text():
    assert _labels(categories([["5", "odd"], ["6", "even"]]).levels(pa.array([5.0, 6.0])), 1) == ["odd", "even"]
    assert _labels(categories([["true", "yes"]]).levels(pa.array([True])), 1) == ["yes"]


def test_a_last_column_of_stars_is_the_highest_level():
    assert categories([["a", "x", "*"], ["b", "x", "*"]]) == categories([["a", "x"], ["b", "x"]])
    assert categories([["a"], ["b"]]).levels(pa.array(["a", "b"])).labels == (("a", "b"), ("*",))
