"""The list of mutants fits the source: each changes a text that occurs once, and names tests that exist."""

import ast
from collections import Counter
from pathlib import Path

import pytest

from mutation.run import ROOT, mutants, mutated

SOURCE = ROOT / "src" / "discreet"
FIELDS = {"name", "file", "old", "new", "tests"}


def test_every_mutant_changes_one_place_of_the_source_into_other_python():
    for mutant in mutants():
        changed = mutated(mutant, SOURCE)
        assert changed != (SOURCE / mutant["file"]).read_text(encoding="utf-8"), mutant["name"]
        ast.parse(changed)


def test_every_mutant_has_a_name_of_its_own_and_tests_that_exist():
    listed = mutants()
    assert [name for name, times in Counter(each["name"] for each in listed).items() if times > 1] == []
    for mutant in listed:
        assert set(mutant) >= FIELDS, mutant["name"]
        assert set(mutant) <= FIELDS | {"select", "equivalent"}, mutant["name"]
        assert mutant["tests"], mutant["name"]
        assert [test for test in mutant["tests"] if not (ROOT / test).exists()] == [], mutant["name"]


def test_an_equivalent_mutant_says_why():
    assert all(len(each["equivalent"]) > 20 for each in mutants() if "equivalent" in each)


def test_a_text_that_is_gone_or_occurs_twice_is_an_error(tmp_path: Path):
    (tmp_path / "a.py").write_text("x = 1\nx = 1\n", encoding="utf-8")
    for old in ("x = 1", "y"):
        with pytest.raises(ValueError, match="its text occurs"):
            mutated({"name": "n", "file": "a.py", "old": old, "new": "z"}, tmp_path)
