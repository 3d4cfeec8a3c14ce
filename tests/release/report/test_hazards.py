"""The 24 hazards: all of them, in order, and decided by the facts of the releases."""

from dataclasses import replace

import pyarrow as pa
import pytest

import discreet as dp
from discreet.planner.document import _BIAS
from discreet.release.report.about import About
from discreet.release.report.facts import gather
from discreet.release.report.hazards import HazardStatus, hazards


def status(facts, number):
    found = hazards(facts)[number - 1]
    assert found.number == number
    return found.status


def text(facts, number):
    return hazards(facts)[number - 1].text


def test_all_of_them_are_there_in_short_sentences(facts_of):
    for names in (["wards"], ["gauss", "row"], ["exact", "estimate", "selection"]):
        found = hazards(facts_of(*names))
        assert [each.number for each in found] == list(range(1, 25))
        assert len({each.name for each in found}) == 24
        for each in found:
            assert each.text.endswith(".")
            assert all(len(sentence.split()) <= 26 for sentence in each.text.split(". "))
            assert each.text.startswith("because ") == (each.status is HazardStatus.ABSENT)


@pytest.mark.parametrize(
    ("number", "plain", "other", "changed"),
    [
        (1, HazardStatus.HANDLED, "row", HazardStatus.CHECK),
        (2, HazardStatus.HANDLED, "keys", HazardStatus.CHECK),
        (4, HazardStatus.HANDLED, "row", HazardStatus.TASK),
        (7, HazardStatus.ABSENT, "gauss", HazardStatus.HANDLED),
        (11, HazardStatus.HANDLED, "rounded", HazardStatus.CHECK),
        (11, HazardStatus.HANDLED, "sql", HazardStatus.CHECK),
        (11, HazardStatus.HANDLED, "keys", HazardStatus.HANDLED),
        (12, HazardStatus.CHECK, "row", HazardStatus.HANDLED),
        (12, HazardStatus.CHECK, "row_sum", HazardStatus.CHECK),
        (12, HazardStatus.CHECK, "first", HazardStatus.CHECK),
        (13, HazardStatus.HANDLED, "row", HazardStatus.ABSENT),
        (13, HazardStatus.HANDLED, "selection", HazardStatus.HANDLED),
        (13, HazardStatus.HANDLED, "estimate", HazardStatus.HANDLED),
        (14, HazardStatus.HANDLED, "keys", HazardStatus.CHECK),
        (14, HazardStatus.HANDLED, "median", HazardStatus.ABSENT),
    ],
)
def test_facts_decide(facts_of, number, plain, other, changed):
    assert status(facts_of("wards"), number) is plain
    assert status(facts_of(other), number) is changed


def test_every_bias_that_a_document_names_is_found(wards):
    """Each alone, in the words of the documentation: a new wording must not turn the hazard to "handled"."""
    for kind, words in _BIAS.items():
        document = replace(wards.document, omitted=(words,))
        expected = HazardStatus.HANDLED if kind == "sampling" else HazardStatus.CHECK
        assert status(gather([replace(wards, document=document)], About()), 12) is expected


def test_different_units_and_deltas_do_not_compare(facts_of):
    facts = facts_of("wards", "gauss", "row")
    assert status(facts_of("wards"), 5) is status(facts_of("wards"), 6) is HazardStatus.HANDLED
    assert status(facts, 5) is status(facts, 6) is HazardStatus.CHECK


def test_a_delta_that_only_converts_fails_gradually(facts_of):
    assert "gradually" in text(facts_of("gauss"), 2)
    assert "at delta 9e-08" in text(facts_of("gauss"), 7)


def test_a_huge_epsilon_must_be_justified(facts_of):
    facts = facts_of("row")
    (protection,) = facts.protections
    huge = replace(facts, protections=(replace(protection, charges=protection.charges * 10),))
    assert status(huge, 1) is HazardStatus.TASK


def test_the_largest_error_is_named(facts_of):
    assert "± " in text(facts_of("wards"), 10)
    assert " of " in text(facts_of("wards"), 10)
    assert status(facts_of("median"), 10) is HazardStatus.TASK


def test_other_releases_are_counted(wards):
    declared = replace(wards, document=replace(wards.document, others=("annual report",)))
    assert status(gather([wards], About()), 8) is HazardStatus.TASK
    assert "declares 1" in text(gather([declared], About()), 8)


def test_a_function_of_an_analyst_is_named(wards):
    query = (*wards.document.query, ("function", "f (SHA-256 0) of age in 10 blocks of units"))
    facts = gather([replace(wards, document=replace(wards.document, query=query))], About())
    assert "sandbox" in text(facts, 9)


def test_a_release_of_version_1_says_what_it_lacks(wards):
    facts = gather([replace(wards, document=None, signed=None)], About())
    assert status(facts, 13) is HazardStatus.CHECK
    assert "the engine" in text(facts, 20)


@pytest.fixture(scope="module")
def models():
    """Facts of a report of a model with scores, private and exact."""
    rows = pa.table({"age": [i % 90 for i in range(300)], "income": ["below", "above"] * 150})
    facts = {"name": "adult", "privacy_unit": dp.ROW, "bounds": {"age": (0, 90)}, "ledger": ":memory:"}
    facts |= {"keys": {"income": ["below", "above"]}, "budget": dp.Budget(epsilon=4, delta=1e-9)}
    query = dp.table("adult").fit(dp.learning.NaiveBayes(size=300), target="income", holdout=0.2)
    found = []
    for protect in (dp.protect, dp.testing.protect):
        with protect(rows, **facts) as session:
            found.append(gather([session.release(query, epsilon=1)], About()))
    return found


def test_a_model_is_named_as_trained_with_its_noise(models):
    private, exact = models
    assert status(private, 15) is HazardStatus.HANDLED
    assert text(private, 15).startswith("Models were trained on sums with noise")
    assert status(exact, 15) is HazardStatus.CHECK
    training, scores = private.mechanisms
    assert training.startswith("discrete Gaussian noise, training: 1 noisy sum of")
    assert scores.startswith("discrete Gaussian noise, scores: ")


def test_what_a_model_does_not_cover_is_to_be_checked(models):
    model = models[0].results[0]
    other = replace(model, card=(*model.card, ("not covered", "Gradients are floats.")))
    assert status(gather([other], About()), 15) is HazardStatus.CHECK
