"""Clauses are read one by one, and what happens in one does not keep the others from being read."""

import pytest

from discreet.auditing.contracts.clauses import CannotCheck, read, require
from discreet.auditing.finding import Finding, Verdict


def _raising():
    raise KeyError("8642097531")


def _unchecked():
    raise CannotCheck("there is nothing to look at")


FINDING = Finding(subject="own", layer="masses", claim="its own", verdict=Verdict.BROKEN, evidence="a ratio", seconds=5)


def test_each_clause_has_its_findings():
    found = read(
        "thing",
        {
            "kept": lambda: "",
            "broken": lambda: "it is not so",
            "raising": _raising,
            "unchecked": _unchecked,
            "one": lambda: FINDING,
            "many": lambda: [FINDING, FINDING],
        },
    )
    assert [finding.verdict.name for finding in found] == [
        "NOTHING_FOUND",
        "BROKEN",
        "BROKEN",
        "SKIPPED",
        *["BROKEN"] * 3,
    ]
    assert found[2].evidence == "the check ended in KeyError"
    assert found[3].evidence == "there is nothing to look at"
    assert found[4] is FINDING
    assert all(finding.subject == "thing" and finding.layer == "contract" for finding in found[:4])


def test_require_tells_every_broken_claim_on_a_line_of_its_own():
    found = read("thing", {"first": lambda: "no", "second": lambda: "", "third": lambda: "never"})
    with pytest.raises(AssertionError) as raised:
        require(found)
    assert str(raised.value).splitlines() == ["thing breaks its contract", "  first: no", "  third: never"]


def test_require_is_silent_where_nothing_is_broken():
    require(read("thing", {"kept": lambda: "", "unchecked": _unchecked}))
    require([])


def test_require_raises_on_what_could_not_be_judged_and_says_so():
    void = Finding(subject="log", layer="side channels", claim="the same", verdict=Verdict.VOID, evidence="it varies")
    with pytest.raises(AssertionError) as raised:
        require([void])
    assert str(raised.value).splitlines() == ["log is not known to keep its contract", "  the same: void, it varies"]


def test_a_clause_that_draws_has_the_alarm_that_is_given_for_it():
    checks = {"drawn": lambda: "", "exact": lambda: "", "unchecked": _unchecked}
    found = read("thing", checks, {"drawn": 1e-7, "unchecked": 1e-7})
    assert [finding.alarm for finding in found] == [1e-7, 0, 0]


def test_one_finding_alone_can_be_required():
    with pytest.raises(AssertionError, match="its own: a ratio"):
        require(FINDING)
