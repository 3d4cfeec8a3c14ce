"""`discreet check`: whether a catalog can be used."""

import json

import discreet as dp
from discreet.cli.check import without_provenance


def test_a_catalog_is_checked_and_what_is_left_is_printed(discreet):
    result = discreet("check")
    assert result.exit_code == 0
    assert "epsilon 2 left of epsilon 2" in result.stdout
    assert json.loads(discreet("check", "--json").stdout)["visits"]["epsilon"] == 2


def test_bounds_and_keys_without_a_provenance_are_named(discreet, visits_directory):
    assert "visits: no provenance for the bounds or keys of ward, age, cost\n" in discreet("check").stdout
    assert json.loads(discreet("check", "--json").stdout)["visits"]["without_provenance"] == ["ward", "age", "cost"]
    path = visits_directory / "catalog.yaml"
    text = path.read_text()
    for end in ("surgery]}", "110]}", "5000]}"):
        text = text.replace(end, f"{end[:-1]}, provenance: the yearbook}}")
    path.write_text(text)
    result = discreet("check")
    assert result.exit_code == 0
    assert "provenance" not in result.stdout
    assert json.loads(discreet("check", "--json").stdout)["visits"]["without_provenance"] == []


def test_an_empty_provenance_is_none_and_public_tables_are_looked_at():
    catalog = dp.Catalog.parse(
        """
        tables:
          tariffs: {public: true, columns: {price: {type: real, bounds: [0, 9], provenance: " "}, day: {type: date}}}
        """
    )
    assert without_provenance(catalog) == {"tariffs": ["price"]}
