"""Findings: five verdicts, of which none says that a claim is true."""

import pytest

from discreet.auditing.finding import Finding, Verdict


def finding(verdict):
    return Finding(subject="a count", layer="masses", claim="epsilon 1", verdict=verdict, evidence="p <= e q")


@pytest.mark.parametrize("verdict", Verdict)
def test_a_claim_is_broken_by_one_verdict_alone(verdict):
    assert finding(verdict).is_broken == (verdict == "broken")


def test_no_verdict_says_that_something_is_private():
    assert {str(verdict) for verdict in Verdict} == {"nothing found", "caught", "broken", "void", "skipped"}


def test_a_finding_is_told_in_one_line():
    assert str(finding(Verdict.VOID)) == "a count, epsilon 1: void (p <= e q)"
