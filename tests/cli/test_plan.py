"""`discreet plan`: cost and margins of error of a statement, for free."""

import json


def test_a_plan_costs_nothing_and_is_printed_as_text_or_json(discreet):
    assert "costs     epsilon 0.5" in discreet("plan", "q.sql", "--epsilon", "0.5").stdout
    data = json.loads(discreet("plan", "q.sql", "--epsilon", "0.5", "--json").stdout)
    assert data["cost"] == "epsilon 0.5"
    assert data["charge"]["epsilon"] == "500000000000"
    assert data["fits"] is True
    assert data["queries"][0]["outputs"][0]["name"] == "n"
    assert "epsilon 2 left" in discreet("check").stdout
