"""Canaries show less of a synthesis than is charged, touch no budget, and show a synthesis without noise."""

from dataclasses import replace

import numpy as np
import pytest

import discreet as dp
from discreet.errors import NameNotFoundError, ParameterError, UnboundedError
from discreet.synthesis.quality import membership as module
from discreet.synthesis.quality.membership import audit_membership, membership_line, require_finding

KEYS = {"sex": ["female", "male", "unspecified"], "occupation": list(dp.datasets.OCCUPATIONS)}
WORDS = {"privacy_unit": "person_id", "canary_column": "occupation", "epsilon": 1, "keys": KEYS}


@pytest.fixture(scope="module")
def people():
    return dp.datasets.people(1_000).select(["person_id", "sex", "occupation"])


def test_a_private_synthesis_shows_at_most_what_is_charged(people):
    # A false alarm has a probability of at most 0.001 in each run.
    finding = audit_membership(people, dp.synthesis.TreeSynthesizer(), **WORDS)
    assert not finding.is_broken
    assert finding.stated == 1
    assert finding.found <= 1
    assert "within the charged 1" in membership_line(finding)


def test_a_synthesis_without_noise_is_caught(people, monkeypatch):
    monkeypatch.setattr(module, "protect", dp.testing.protect)
    coins = np.random.default_rng(1)
    finding = audit_membership(people, dp.synthesis.IndependentSynthesizer(), **WORDS, generator=coins)
    assert finding.is_broken
    assert finding.found > 1
    assert "which contradicts the charged 1" in membership_line(finding)


def test_the_finding_stands_in_the_report_of_owners(people):
    with dp.testing.protect(
        people, name="p", privacy_unit="person_id", max_rows=1, budget=dp.Budget(epsilon=1, delta=1e-9), keys=KEYS
    ) as session:
        released = session.release(dp.table("p").synthesize(dp.synthesis.IndependentSynthesizer()), epsilon=1)
    finding = audit_membership(people, dp.synthesis.IndependentSynthesizer(), **WORDS, canaries=50)
    found = dp.synthesis.owner_quality(released, people, membership=finding)
    assert "membership by canaries: " in str(found)
    assert "Membership by canaries: " in found.to_html()
    assert found.to_json()["figures"]["membership"]["stated"] == 1


def test_a_column_that_is_not_there_is_refused(people):
    with pytest.raises((NameNotFoundError, ParameterError), match="'colour'"):
        audit_membership(people, dp.synthesis.TreeSynthesizer(), **WORDS | {"canary_column": "colour"})


def test_a_refusal_of_the_synthesis_is_raised_as_it_is():
    rows = dp.datasets.people(500).select(["person_id", "sex", "occupation", "income"])
    with pytest.raises(UnboundedError, match="'income'"):
        audit_membership(rows, dp.synthesis.TreeSynthesizer(), **WORDS, canaries=20)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"subject": "TreeSynthesizer"}, "another synthesizer"),
        ({"stated": 8.0}, "another epsilon"),
        ({"stated": None}, "another epsilon"),
    ],
)
def test_a_finding_about_another_synthesis_is_refused(people, change, reason):
    words = {"privacy_unit": "person_id", "max_rows": 1, "budget": dp.Budget(epsilon=1, delta=1e-9), "keys": KEYS}
    with dp.testing.protect(people, name="p", **words) as session:
        released = session.release(dp.table("p").synthesize(dp.synthesis.IndependentSynthesizer()), epsilon=1)
    finding = audit_membership(people, dp.synthesis.IndependentSynthesizer(), **WORDS, canaries=20)
    require_finding(finding, released)
    with pytest.raises(ParameterError, match=reason):
        require_finding(replace(finding, **change), released)
    with pytest.raises(ParameterError, match="IndependentSynthesizer"):
        dp.synthesis.owner_quality(released, people, membership="none")
