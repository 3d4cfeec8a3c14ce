"""Format 0 is frozen: its names are those of 0.1.0, and every kind of plan of then has one.

Its fingerprints are held, one for every kind of question, by tests/plan/test_fingerprint.py.
"""

import pytest

from discreet.mechanisms import keys, selection
from discreet.plan.fingerprint import FORMS, Context
from discreet.planner import format_0


def test_the_context_has_the_version_of_the_release_that_the_format_is_of():
    context = Context((("visits", 1), ("stays", 4)), is_private=True, public=(("wards", "3:ab"),))
    assert format_0._context(context) == "0.1.0, registered 1 and 4, with noise, 'wards' 3:ab"
    assert (
        format_0._context(context._replace(is_private=False, public=())) == "0.1.0, registered 1 and 4, without noise"
    )


def test_the_names_of_classes_are_those_that_they_had():
    assert {kind.__name__: name for kind, name in format_0.MECHANISMS.items()} == {
        name: name
        for name in ("Optimal", "LaplaceThreshold", "GaussianThreshold", "Exponential", "PermuteAndFlip", "TopK")
    }
    assert format_0.MECHANISMS[keys.Optimal] == "Optimal"
    assert format_0.MECHANISMS[selection.TopK] == "TopK"
    assert set(FORMS) < set(format_0.OWN_FORMS)


def test_what_is_no_plan_has_no_fingerprint():
    with pytest.raises(TypeError, match="object"):
        format_0._own(object())
