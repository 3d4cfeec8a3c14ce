"""The page of other systems follows from the golden suite and its table of systems."""

import os
from pathlib import Path

from query.sql.compatibility import TITLES, page, systems
from query.sql.statements import golden

PAGE = Path(__file__).parents[3] / "docs" / "compatibility-sql.md"


def test_the_page_of_other_systems_is_made_from_the_golden_suite():
    text = page()
    if os.environ.get("DISCREET_WRITE_GOLDEN"):
        PAGE.write_text(text, encoding="utf-8")
    assert PAGE.read_text(encoding="utf-8") == text


def test_every_construct_of_the_suite_has_one_row_or_is_a_mistake():
    rows = [row["construct"] for row in systems()["row"]]
    assert len(rows) == len(set(rows))
    accepted, refused = ({each.construct for each in golden(kind)} for kind in ("accepted", "refused"))
    assert accepted <= set(rows)
    assert refused - accepted <= {*rows, *systems()["mistakes"]}
    assert set(rows) <= accepted | refused


def test_every_row_says_something_of_every_system():
    assert all(row[system] and row["title"] for row in systems()["row"] for system in TITLES)
