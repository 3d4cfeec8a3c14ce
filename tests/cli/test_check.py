"""`discreet check`: whether a catalog can be used."""

import json


def test_a_catalog_is_checked_and_what_is_left_is_printed(discreet):
    result = discreet("check")
    assert result.exit_code == 0
    assert "epsilon 2 left of epsilon 2" in result.stdout
    assert json.loads(discreet("check", "--json").stdout)["visits"]["epsilon"] == 2
