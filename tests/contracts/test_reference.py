"""The page of what engines do follows from the marks in the suite."""

import os
from pathlib import Path

import reference
import test_engines

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "engines.md"


def test_the_page_of_engines_is_made_from_the_marks_of_this_suite():
    text = reference.page([test_engines])
    if os.environ.get("DISCREET_WRITE_GOLDEN"):
        PAGE.write_text(text, encoding="utf-8")
    assert PAGE.read_text(encoding="utf-8") == text


def test_every_gap_says_why():
    for _, test in reference._tests(test_engines):
        for gaps in reference._gaps(test):
            assert all(len(reason) > 10 for _, reason in gaps)
