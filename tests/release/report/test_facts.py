"""Facts are taken from all results, and each once."""

import json
from dataclasses import replace

import pytest

import discreet as dp
from discreet.errors import ParameterError
from discreet.release.report.about import About
from discreet.release.report.facts import _event_text, gather


def test_facts_of_a_release(facts_of):
    facts = facts_of("wards")
    assert facts.is_private
    assert facts.datasets == ("visits",)
    assert facts.columns_read == ("age", "cost", "patient_id", "ward")
    assert "the bias from clipping values to their bounds" in facts.margin_omissions
    assert facts.engines == ("DuckDB",)
    assert facts.post_processing == ()
    assert any(text.startswith("contribution bounds: of one patient_id") for text in facts.pre_processing)
    assert all(text.startswith("discrete Laplace noise, scale ") for text in facts.mechanisms)
    assert facts.words("where") == ("age < 65",)
    assert not facts.finds_keys


def test_facts_of_other_results(facts_of):
    facts = facts_of("rounded", "keys", "selection", "estimate", "sql", "exact")
    assert not facts.is_private
    assert facts.finds_keys
    assert any("rounded" in step for step in facts.post_processing)
    assert any("HAVING" in step for step in facts.post_processing)
    assert "private selection among candidates" in facts.mechanisms
    assert any("Pareto" in text for text in facts.mechanisms)
    assert facts.reported[4].statement.startswith("SELECT ward, COUNT(*)")


def test_names_are_those_of_files_or_numbers(made, wards):
    place = made[0]
    assert gather([place / "wards.csv"], About()).reported[0].name == "wards.csv"
    assert gather([wards], About()).reported[0].name == "the release"
    assert [each.name for each in gather([wards, wards], About()).reported] == ["release 1", "release 2"]


def test_a_release_of_version_1_has_no_words(wards):
    facts = gather([replace(wards, document=None, signed=None)], About())
    assert facts.reported[0].query() == (("query", "not in the file, which is of version 1"),)
    assert facts.margin_omissions == facts.unprotected_facts == ()
    assert facts.columns_read == ("age", "cost", "patient_id", "ward")
    assert facts.software == "discreet 0.1.0"


def test_other_releases_are_named_with_their_dataset(wards, made):
    declared = replace(wards, document=replace(wards.document, others=("annual report",)))
    assert gather([declared], About()).others == ("annual report",)
    assert gather([declared, made[1]["gauss"]], About()).others == ("visits: annual report",)


def test_a_preview_is_refused(tmp_path):
    facts = {"name": "visits", "privacy_unit": "patient_id", "max_rows": 10, "budget": dp.Budget(epsilon=2)}
    with dp.protect(dp.datasets.visits(50), **facts, ledger=dp.SQLiteLedger(":memory:")) as session:
        queries = [dp.table("visits").agg(n=dp.count()), dp.sql("SELECT COUNT(*) AS n FROM visits")]
        previews = [dp.preview(session.catalog, query, epsilon=1) for query in queries]
    for preview in previews:
        (tmp_path / "preview.json").write_text(json.dumps(preview.to_json()), encoding="utf-8")
        for found in (preview, tmp_path / "preview.json"):
            with pytest.raises(ParameterError, match="a preview of generated data"):
                gather([found], About())


@pytest.mark.parametrize("found", [[], [5]])
def test_anything_else_is_refused(found):
    with pytest.raises(ParameterError, match="a report of"):
        gather(found, About())


def test_steps_of_learning_are_described_in_words():
    step = dp.events.SampledGaussianEvent(0.01, 4, 1)
    assert _event_text(step).startswith("discrete Gaussian noise on a Poisson sample of rate 0.01, variance 4")
    search = dp.events.RepeatedSelectionEvent(dp.events.RepeatedEvent(step, 1_000), 1, 0.05)
    text = _event_text(search)
    assert text.startswith("the best of a random number of runs (truncated negative binomial, eta 1, gamma 0.05)")
    assert text.endswith(", 1,000 times")
