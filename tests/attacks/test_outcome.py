"""Outcomes of all attacks have one shape: four sentences, their numbers as JSON, a picture with its text."""

import datetime as dt
import json
import math
from fractions import Fraction

import numpy as np
import pytest

import discreet as dp
from discreet.attacks import Outcome, averaging, differencing, linkage, membership, reconstruction, small_groups
from discreet.attacks.outcome import (
    SCHEMA,
    best_guess,
    exact_figure,
    few_digits,
    percent,
    plain_data,
    pluralize,
    steps_to_another_value,
)

PEOPLE = dp.datasets.people(300)
GENERATOR = dp.testing.generator(1)
BITS = reconstruction.secret_bits(32, generator=GENERATOR)


def made() -> dict[str, Outcome]:
    """One outcome of each kind that needs no session."""
    counts = small_groups.exact_table(PEOPLE, by=["state", "sex", "education"], value="income")
    return {
        "small groups": small_groups.against_table(counts, value="mean"),
        "differencing": differencing.against_table(PEOPLE, value="income", person={"person_id": 7}, bounds=(0, 10**6)),
        "averaging": averaging.against_mechanism(dp.mechanisms.Laplace(sensitivity=1, epsilon=2), trials=3),
        "linkage": linkage.against_table(PEOPLE, PEOPLE, on=["sex", "zip_code"], learn="state"),
        "reconstruction": reconstruction.against(reconstruction.exact(BITS), BITS, questions=64, generator=GENERATOR),
        "curve": reconstruction.curve([1, 100], people=16, questions=32, runs=2, generator=GENERATOR),
        "membership": membership.evaluate([1.0, 2.0, 3.0, 4.0], [0.0, 1.0, 2.0, 2.5]),
    }


OUTCOMES = made()


@pytest.mark.parametrize("outcome", OUTCOMES.values(), ids=OUTCOMES)
def test_an_outcome_prints_its_name_and_four_sentences(outcome):
    lines = str(outcome).splitlines()
    assert lines[0] == outcome.attack
    assert [line[2:14].strip() for line in lines[1:]] == ["has", "does", "learned", "with epsilon"]
    assert not any(line.endswith(".") for line in lines)
    assert repr(outcome) == str(outcome)
    assert outcome._repr_html_().startswith("<pre>")


@pytest.mark.parametrize("outcome", OUTCOMES.values(), ids=OUTCOMES)
def test_an_outcome_writes_its_numbers_as_json(outcome):
    data = outcome.to_json()
    again = json.loads(json.dumps(data, allow_nan=False))
    assert again == data
    assert again["schema"] == SCHEMA
    assert again["learned"] == outcome.inference
    assert set(again["figures"]) == set(vars(outcome))


@pytest.mark.parametrize("outcome", OUTCOMES.values(), ids=OUTCOMES)
def test_an_outcome_is_frozen(outcome):
    name = next(iter(vars(outcome)))
    with pytest.raises(AttributeError):
        setattr(outcome, name, None)


@pytest.mark.parametrize("outcome", OUTCOMES.values(), ids=OUTCOMES)
def test_an_outcome_has_a_picture_that_carries_its_numbers_as_text(outcome):
    figure = outcome.plot()
    assert any(letter.isdigit() for letter in figure.get_label())
    assert figure._suptitle.get_text()


@pytest.mark.parametrize(
    ("share", "text"),
    [
        (0, "0%"),
        (1, "100%"),
        (0.5, "50%"),
        (0.99, "99%"),
        (0.953, "95.3%"),
        (0.0012, "0.1%"),
        (0.0004, "0.04%"),
        (1e-9, "under 0.01%"),
        (1 - 1e-9, "over 99.99%"),
    ],
)
def test_shares_are_said_with_the_digits_that_matter(share, text):
    assert percent(share) == text


def test_words_follow_their_numbers():
    assert pluralize(1, "person", "people") == "1 person"
    assert pluralize(2_000, "person", "people") == "2,000 people"
    assert pluralize(3, "group") == "3 groups"
    assert few_digits(math.e) == "2.7"


def test_the_best_guess_between_neighbours_is_half_without_epsilon_and_grows_with_it():
    assert best_guess(0) == 0.5
    assert best_guess(1) == pytest.approx(math.e / (1 + math.e))
    assert best_guess(1, 0.1) == pytest.approx((math.e + 0.1) / (1 + math.e))
    assert best_guess(1_000) == 1
    assert best_guess(1_000, 0.1, apart=3) == 1


@pytest.mark.parametrize("delta", [0, 1e-3])
def test_the_best_guess_between_datasets_that_are_steps_apart_is_that_of_the_promise_for_a_group(delta):
    group = delta * (1 + math.e)  # of two: (2 epsilon, (1 + e^epsilon) delta)
    assert best_guess(1, delta, apart=2) == pytest.approx(best_guess(2, group))
    assert best_guess(1, delta, apart=2) > best_guess(1, delta)


def test_another_value_is_two_steps_where_people_come_and_go_and_one_where_they_are_replaced():
    assert steps_to_another_value("add_remove") == 2
    assert steps_to_another_value("replace_one") == 1


@pytest.mark.parametrize(
    ("number", "text"),
    [(2023.11, "2,023.11"), (592_858, "592,858"), (0.0, "0"), (-25_735.5, "-25,735.5"), (1e-4, "0.0001"), (36, "36")],
)
def test_exact_figures_keep_their_digits(number, text):
    assert exact_figure(number) == text


def test_plain_data_has_no_tuples_fractions_dates_or_numbers_of_numpy():
    data = {"a": (Fraction(1, 2), dt.date(2026, 1, 2)), 3: np.int64(4), "b": [np.float64(0.5), None, "text", True]}
    assert plain_data(data) == {"a": [0.5, "2026-01-02"], "3": 4, "b": [0.5, None, "text", True]}
    json.dumps(plain_data(data))
