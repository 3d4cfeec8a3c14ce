"""Evidence: a sentence with the counts, and figures that JSON can say."""

import json
import math

import numpy as np
import pytest
from scipy.special import ndtr, ndtri

from discreet.auditing.claims import claim
from discreet.auditing.statistical import bounds, evidence
from discreet.auditing.statistical.events import Event, Sides
from discreet.auditing.statistical.features import Columns, Vocabulary
from discreet.auditing.statistical.outcomes import Outcomes


def numbers(one, other):
    return Sides(*(Columns({"value": np.array(each, dtype=float)}, {}, len(each)) for each in (one, other)))


def test_a_sentence_counts_the_event_on_both_datasets():
    said = evidence.sentence(Event("value", ">=", 1.0), numbers([0, 1, 2], [0, 0, 3]), "epsilon above 0.1")
    assert said == "value >= 1 came 2 times in 3 with `one`, once with `other`: epsilon above 0.1"


def test_histograms_of_whole_numbers_have_a_bin_for_each():
    drawn = evidence.histogram(Event("value", ">=", 1.0), numbers([0, 1, 1], [1, 2, math.nan]))
    assert drawn == {"edges": [-0.5, 0.5, 1.5, 2.5], "one": [1, 2, 0], "other": [0, 1, 1]}


def test_histograms_of_real_numbers_hold_nearly_all():
    drawn = evidence.histogram(Event("value", ">=", 1.0), numbers(np.linspace(0, 1, 1001), np.linspace(0, 2, 1001)))
    assert len(drawn["edges"]) == len(drawn["one"]) + 1
    assert sum(drawn["one"]) + sum(drawn["other"]) >= 2002 * 0.998 - 2


def test_a_feature_that_is_not_there_has_an_empty_histogram():
    assert evidence.histogram(Event("value", ">=", 1.0), numbers([math.nan], [math.inf]))["edges"] == []
    assert evidence.histogram(Event("other", ">=", 1.0), numbers([1], [2]))["one"] == []


def test_categories_are_counted_the_most_frequent_first():
    vocabulary = Vocabulary(("value",))
    both = Sides(vocabulary.read(Outcomes(["a", "a", None])), vocabulary.read(Outcomes(["b", "a", None])))
    drawn = evidence.figure(Event("text of value", "==", "a"), both)
    assert drawn["histogram"] == {"levels": ["a", "none", "b"], "one": [2, 1, 0], "other": [1, 1, 1]}


@pytest.mark.parametrize("level", [math.inf, -math.inf, 0.5, "a"])
def test_figures_are_json(level):
    drawn = evidence.figure(Event("value", "==", level, swapped=True), numbers([0, 1], [2, math.inf]))
    assert json.loads(json.dumps(drawn, allow_nan=False))["likelier_on"] == "other"


def test_points_of_the_curve_take_their_levels_from_the_samples_for_choosing():
    chosen_on, tested_on = numbers(range(100), range(100)), numbers(np.arange(100) + 50, range(100))
    points = evidence.curve(Event("value", ">=", 3.0), chosen_on, tested_on, 0.05)
    assert [point["level"] for point in points] == sorted({point["level"] for point in points})
    each = 0.05 / (2 * len(points))
    first = points[0]
    assert first["false_positive"] == bounds.at_most(100 - int(first["level"]), 100, each)
    assert first["false_negative"] == 1 - bounds.at_least(100, 100, each)


def test_there_is_no_curve_over_categories_or_single_values():
    both = numbers([0, 1], [1, 2])
    for event in (Event("error", "==", "E"), Event("value", "==", 1.0), Event("gone", ">=", 1.0)):
        assert evidence.curve(event, both, both, 0.05) == []


@pytest.mark.parametrize(
    "promise", [claim(epsilon=0.1), claim(epsilon=1, delta=0.1), claim(rho=0.02), claim(rho=0.5), claim(mu=1)], ids=str
)
def test_the_least_errors_that_are_allowed_are_those_of_every_line_both_ways(promise):
    drawn = evidence.allowed_trade_off(promise)
    pairs = list(zip(drawn["false_positive"], drawn["false_negative"], strict=True))
    assert json.loads(json.dumps(drawn, allow_nan=False)) == drawn
    assert pairs == sorted(pairs, key=lambda pair: (pair[0], -pair[1]))
    assert (pairs[0][0], pairs[-1]) == (0, (1, 0))
    assert drawn["false_positive"][:-1] == pytest.approx(drawn["false_negative"][-2::-1], abs=1e-15)
    for positive, negative in pairs[:-1]:
        slack = []
        for one, other in ((positive, negative), (negative, positive)):
            slope, intercept = promise.line(one)
            slack.append(slope * one + intercept - (1 - other))
        assert -1e-3 < min(slack) < 1e-12


def test_the_least_errors_that_gaussian_noise_allows_are_its_trade_off_curve():
    drawn = evidence.allowed_trade_off(claim(mu=1))
    positive, negative = (np.array(drawn[side][1:-2]) for side in ("false_positive", "false_negative"))
    assert ndtr(ndtri(1 - positive) - 1) == pytest.approx(negative, abs=1e-3)


def test_least_errors_of_promises_beyond_doubles_say_nothing():
    for promise in (claim(epsilon=10_000), claim(rho=10_000), claim(mu=10_000)):
        drawn = evidence.allowed_trade_off(promise)
        assert max(map(min, zip(drawn["false_positive"], drawn["false_negative"], strict=True))) < 1e-100


def test_what_could_not_be_looked_into_is_said():
    read = Vocabulary(("value",)).read
    whole, part = (Sides(*[read(Outcomes([value, 1]))] * 2) for value in (object(), [object()]))
    assert "show nothing of themselves (object)" in evidence.blindness(whole)
    assert evidence.blindness(part) is None
    assert evidence.omissions(part) == "; not looked into: object"
    assert evidence.omissions(numbers([1], [2])) == ""


def test_a_mechanism_without_noise_is_pointed_out():
    assert "no noise, or a remembered answer" in evidence.warning(numbers([1, 1], [2, 2]))
    assert evidence.warning(numbers([1, 2], [2, 2])) == ""
