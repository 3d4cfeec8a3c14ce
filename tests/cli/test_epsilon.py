"""`discreet epsilon`: the smallest epsilon for a margin of error."""

import json


def test_an_epsilon_for_a_margin_is_one_number(discreet):
    assert 0.2 < float(discreet("epsilon", "q.sql", "--margin", "100").stdout) < 1
    assert json.loads(discreet("epsilon", "q.sql", "--margin", "100", "--json").stdout)["epsilon"] < 1
