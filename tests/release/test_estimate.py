"""An estimate says how it was made, and has a margin only where that is public."""

import json
import math

from discreet.release.estimate import Estimate

WORDS = {
    "dataset": "t",
    "version": 1,
    "name": "age",
    "made": "noise",
    "guarantee": "epsilon 1",
    "receipt": {"hash": "cd" * 32},
}


def test_without_a_margin_it_says_why():
    lines = str(Estimate(value=38.5816, **WORDS)).splitlines()
    assert lines == [
        "age  38.5816",
        "no margin: how far the noise goes is not public in advance",
        "made by  noise",
        "spent    epsilon 1",
        "receipt  cdcdcdcdcdcd",
    ]


def test_with_a_margin_it_says_of_what():
    lines = str(Estimate(value=1200, margin=30, **WORDS)).splitlines()
    assert lines[0] == "age  1,200 ± 30"
    assert lines[1] == "± holds 95% of the time, for the noise alone"


def test_nothing_is_an_answer():
    nothing = Estimate(value=None, **WORDS)
    assert str(nothing).startswith("age  nothing: the test did not pass")
    assert math.isnan(float(nothing))


def test_it_comes_back_from_plain_data_as_it_was():
    made = Estimate(value=38.5, margin=0.25, private=False, **WORDS)
    assert Estimate.from_json(json.loads(json.dumps(made.to_json()))) == made
    assert float(made) == 38.5


def test_a_repeat_and_an_exact_answer_are_marked():
    made = Estimate(value=1, repeated=True, private=False, **WORDS)
    assert str(made).startswith("NOT PRIVATE")
    assert "repeat " in str(made)
    assert "<small>" in made._repr_html_()
