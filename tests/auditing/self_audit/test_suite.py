"""The quick audit, as CI runs it: every control is caught within its samples, and nothing is found in what is ours.

The chance that a right control or a true claim of ours fails here is at most what the suite sums up: 6e-6 and 9.2e-5. A
broken control is missed at its limit with a chance below 2e-6 each, by Poisson and normal tails of its best event.
"""

from dataclasses import replace

import pytest

from discreet.auditing.claims import claim
from discreet.auditing.controls import BROKEN, CONTROLS, RIGHT, Control
from discreet.auditing.finding import Finding, Verdict
from discreet.auditing.report import Report
from discreet.auditing.self_audit import suite

LIMITS = {
    "Laplace noise of numpy": 2_000,
    "1.5 times the claimed epsilon": 2_000,
    "1.1 times the claimed epsilon": 40_000,
    "a threshold with >= instead of >": 100_000,
}
NAMED = {control.name: control for control in CONTROLS}


def constant(_, count):
    return [0] * count


def telling(dataset, count):
    return [dataset] * count


def control(**changes):
    usual = {
        "name": "a control",
        "mechanism": telling,
        "one": 0,
        "other": 1,
        "claim": claim(epsilon=1),
        "samples": 200,
        "why": "it tells the data",
    }
    return Control(**usual | changes)


def test_a_broken_control_that_is_caught_is_as_it_must_be_and_raises_no_alarm():
    finding = suite.examine(control(repeats=3, needed=3))
    assert finding.verdict is Verdict.CAUGHT
    assert finding.subject == "must be caught: a control"
    assert (finding.detail["control"], finding.detail["caught"], finding.detail["tries"]) == ("broken", 3, 3)
    assert finding.alarm == 0
    assert finding.detail["alarm"] == suite.ALARM_OF_CONTROLS
    assert finding.samples <= 200


def test_a_broken_control_that_is_missed_makes_the_run_void():
    finding = suite.examine(control(mechanism=constant))
    assert finding.verdict is Verdict.VOID
    assert not Report.of([finding]).ok
    assert finding.evidence.startswith("caught 0 times of 1; ")


def test_a_right_control_that_is_called_broken_makes_the_run_void():
    finding = suite.examine(control(is_broken=False))
    assert finding.verdict is Verdict.VOID
    assert finding.evidence.startswith("called broken 1 times; ")


def test_a_right_control_that_passes_adds_its_alarm():
    finding = suite.examine(control(mechanism=constant, is_broken=False))
    assert finding.verdict is Verdict.NOTHING_FOUND
    assert finding.subject == "must pass: a control"
    assert Report.of([finding, finding]).alarm == pytest.approx(2 * suite.ALARM)
    assert Report.of([finding]).ok


def test_a_control_of_a_package_that_is_not_there_is_skipped_with_the_reason():
    finding = suite.examine(control(needs="no_such_package"))
    assert finding.verdict is Verdict.SKIPPED
    assert finding.evidence == "no_such_package cannot be imported here: ModuleNotFoundError"


def test_a_control_of_layer_1_takes_one_evaluation_on_each_dataset():
    finding = suite.examine(NAMED["a sum of floats, before its noise"])
    assert (finding.layer, finding.found, finding.samples) == ("sensitivity", 64, 1)


def test_a_release_of_many_keys_is_made_once_on_each_dataset():
    asked = []

    def release(dataset, count):
        asked.append((dataset, count))
        return NAMED["a threshold with >= instead of >"].mechanism(dataset, count)

    suite.examine(replace(NAMED["a threshold with >= instead of >"], mechanism=release))
    assert asked == [(1, 100_000), (0, 100_000)]


def test_the_samples_that_controls_may_take_are_those_that_were_promised():
    assert {name: NAMED[name].samples for name in LIMITS} == LIMITS


@pytest.mark.full
@pytest.mark.statistical(false_alarm=6e-5)
def test_every_broken_control_is_caught_within_its_samples_and_no_right_one_is(monkeypatch, samples):
    """What broken ones may take is promised: it stays as it is when right ones have more samples."""
    monkeypatch.setattr(suite, "QUICK", replace(suite.QUICK, right_controls=samples(1)))
    findings = suite.run_controls(quick=True)
    assert [finding.subject.partition(": ")[2] for finding in findings] == [known.name for known in CONTROLS]
    assert Report.of(findings).ok, [str(finding) for finding in findings if finding.verdict is Verdict.VOID]
    for known, finding in zip(CONTROLS, findings, strict=True):
        if finding.verdict is Verdict.SKIPPED:
            assert known.needs is not None
            continue
        assert max(finding.detail["samples"]) <= known.samples
        assert finding.detail["caught"] >= known.needed if known.is_broken else finding.detail["caught"] == 0
    assert Report.of(findings).alarm == pytest.approx(len(RIGHT) * suite.ALARM)
    assert len(BROKEN) >= 20


ALARMS = {
    "mechanisms": 30 * suite.ALARM,
    "families": 2 * 25 * suite.ALARM,
    "workloads": 2 * 16 * suite.ALARM,
    "sensitivity": 0,
    "releases by key": 2 * 28 * suite.ALARM,
    "releases over everything": 2 * 28 * suite.ALARM,
    "pipelines": 6 * suite.ALARM,
}


def test_all_alarms_of_the_quick_audit_together_are_below_one_in_ten_thousand():
    assert ALARMS.keys() == suite.PARTS.keys()
    assert sum(ALARMS.values()) + len(RIGHT) * suite.ALARM < 1e-4


DRAWN = ("mechanism", "families", "workloads", "redrawn", "blocks", "whole", "canaries")


@pytest.mark.full
@pytest.mark.statistical(false_alarm=2e-5)
@pytest.mark.parametrize("part", suite.PARTS)
def test_nothing_is_found_in_the_quick_audit_of_ourselves(part, samples):
    """False alarms: those of its findings, 28 times 5e-7 at most."""
    size = replace(suite.QUICK, **{name: samples(getattr(suite.QUICK, name)) for name in DRAWN})
    findings = list(suite.PARTS[part](size))
    assert [str(f) for f in findings if f.verdict not in (Verdict.NOTHING_FOUND, Verdict.SKIPPED)] == []
    assert Report.of(findings).alarm == pytest.approx(ALARMS[part])


def test_everything_is_all_parts_in_their_order(monkeypatch):
    made = [Finding(subject=s, layer="", claim="", verdict=Verdict.NOTHING_FOUND, evidence="") for s in "abc"]
    sizes = []

    def part(size):
        sizes.append(size)
        yield from made

    monkeypatch.setattr(suite, "PARTS", {"one": part, "other": part})
    assert suite.audit_everything(quick=True) == suite.audit_everything(quick=False) == made * 2
    assert sizes == [suite.QUICK] * 2 + [suite.LONG] * 2
