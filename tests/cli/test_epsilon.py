"""`discreet epsilon`: the smallest epsilon for a margin of error."""

import json

from discreet.errors import Refusal


def test_an_epsilon_for_a_margin_is_one_number(discreet):
    assert 0.2 < float(discreet("epsilon", "q.sql", "--margin", "100").stdout) < 1
    assert json.loads(discreet("epsilon", "q.sql", "--margin", "100", "--json").stdout)["epsilon"] < 1


def test_unknown_keys_need_a_delta(discreet, visits_directory):
    catalog = visits_directory / "catalog.yaml"
    text = catalog.read_text().replace(", keys: [cardiology, emergency, surgery]", "")
    catalog.write_text(text.replace("{epsilon: 2}", "{epsilon: 2, delta: 1e-7, reserved_delta: 5e-8}"))
    assert isinstance(discreet("epsilon", "q.sql", "--margin", "100").exception, Refusal)
    assert float(discreet("epsilon", "q.sql", "--margin", "100", "--delta", "1e-8").stdout) > 0
    assert discreet("epsilon", "q.sql", "--margin", "100", "--delta", "tiny").exit_code == 2
