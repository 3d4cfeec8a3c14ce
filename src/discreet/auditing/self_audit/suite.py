"""The self audit, controls first: every mechanism and every aggregate, in every layer, by one call.

`run_controls` audits mechanisms of which the answer is known; where one is missed, or a right one is called broken, the
run is void. `audit_everything` audits discreet. Quick runs are for every change (a minute or so), long ones for a
release: `scripts/audit --long`.

A true claim is called broken with at most the sum of the alarms of all findings (`Report.alarm`). Broken controls have
none to add, because what they claim is known to be false: what they were audited with is in their details.
"""

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from importlib import import_module
from statistics import median
from typing import Any

from discreet.auditing.controls import CONTROLS, SENSITIVITY, Control
from discreet.auditing.exact import masses
from discreet.auditing.finding import Finding, Verdict
from discreet.auditing.self_audit import queries
from discreet.auditing.self_audit.mechanisms import audited_family, families
from discreet.auditing.self_audit.queries import ALL, MECHANISMS, Case, cases
from discreet.auditing.self_audit.workloads import audited_workload, workloads
from discreet.auditing.sensitivity import audit as sensitivity
from discreet.auditing.statistical import goodness_of_fit
from discreet.auditing.statistical.audit import audit
from discreet.errors import short_traceback

ALARM_OF_CONTROLS = 1e-3
ALARM = 4e-7
DRAWS_OF: Mapping[str, int] = {"Gaussian, rho 8": 10}
"""How many times the draws of others it takes to see half of the noise, where hardly any noise is not zero."""


@dataclass(frozen=True)
class Size:
    """How much a run draws of each thing; right controls have so many times their samples."""

    mechanism: int
    families: int
    workloads: int
    redrawn: int
    blocks: int
    whole: int
    canaries: int
    pairs: int
    repeats: int
    right_controls: int


QUICK = Size(
    mechanism=5_000,
    families=1_000,
    workloads=1_000,
    redrawn=2_000,
    blocks=1_000,
    whole=250,
    canaries=1_000,
    pairs=20,
    repeats=2,
    right_controls=1,
)
LONG = Size(
    mechanism=1_000_000,
    families=50_000,
    workloads=50_000,
    redrawn=100_000,
    blocks=100_000,
    whole=900,
    canaries=20_000,
    pairs=1_000,
    repeats=3,
    right_controls=10,
)


@short_traceback
def run_controls(quick: bool = True) -> list[Finding]:
    """Audit every control. A finding is VOID where it contradicts what is known about the control.

    Args:
        quick: Whether to run the short form, of minutes. Default True.

    Returns:
        One finding for each control.

    Example:
        >>> import discreet as dp
        >>> findings = dp.auditing.run_controls()  # doctest: +SKIP
    """
    times = (QUICK if quick else LONG).right_controls
    return [examine(control if control.is_broken else _larger(control, times)) for control in CONTROLS]


@short_traceback
def audit_everything(quick: bool = True) -> list[Finding]:
    """Audit every mechanism and every aggregate of discreet, in every layer.

    Args:
        quick: Whether to run the short form, of minutes. Default True.

    Returns:
        The findings.

    Example:
        >>> import discreet as dp
        >>> report = dp.auditing.Report.of(dp.auditing.audit_everything())  # doctest: +SKIP
    """
    size = QUICK if quick else LONG
    return [finding for part in PARTS.values() for finding in part(size)]


def examine(control: Control) -> Finding:
    """Audit one control as often as it asks, and hold what was found against what is known."""
    told: dict[str, Any] = {
        "subject": f"{'must be caught' if control.is_broken else 'must pass'}: {control.name}",
        "layer": control.layer,
        "claim": str(control.claim),
        "stated": control.claim.value,
    }
    known = {"control": "broken" if control.is_broken else "right", "limit": control.samples, "why": control.why}
    reason = _absent(control)
    if reason is not None:
        return Finding(**told, verdict=Verdict.SKIPPED, evidence=reason, detail=known)
    tries = [_once(control) for _ in range(control.repeats)]
    caught = [finding for finding in tries if finding.is_broken]
    last, used = (caught or tries)[-1], [finding.samples for finding in tries]
    is_as_known = len(caught) >= control.needed if control.is_broken else not caught
    said = f"caught {len(caught)} times of {len(tries)}" if control.is_broken else f"called broken {len(caught)} times"
    return Finding(
        **told,
        verdict=Verdict.VOID if not is_as_known else Verdict.CAUGHT if control.is_broken else Verdict.NOTHING_FOUND,
        evidence=f"{said}; {last.evidence}",
        found=last.found,
        samples=int(median(used)),
        alarm=0.0 if control.is_broken else math.fsum(finding.alarm for finding in tries),
        seconds=math.fsum(finding.seconds for finding in tries),
        detail={
            **last.detail,
            **known,
            "caught": len(caught),
            "tries": len(tries),
            "samples": used,
            "alarm": last.alarm,
        },
    )


def _once(control: Control) -> Finding:
    if control.layer == SENSITIVITY:
        pairs = [(control.one, control.other)]
        return sensitivity.audit_function(control.mechanism, pairs, sensitivity=1, name=control.name)
    alarm = ALARM_OF_CONTROLS if control.is_broken else ALARM
    if control.at_once:
        made = (control.mechanism(dataset, control.samples) for dataset in (control.one, control.other))
        return queries.audited_at_once(*made, claim=control.claim, alarm=alarm, name=control.name, stop=True)
    return audit(
        control.mechanism,
        control.one,
        control.other,
        claim=control.claim,
        samples=control.samples,
        alarm=alarm,
        name=control.name,
        many=control.many,
        times=control.times,
    )


def _larger(control: Control, times: int) -> Control:
    return replace(control, samples=control.samples * times)


def _absent(control: Control) -> str | None:
    """Why a control cannot run here."""
    if control.needs is None:
        return None
    try:
        import_module(control.needs)
    except Exception as error:  # noqa: BLE001 - a package that fails to import may raise anything
        return f"{control.needs} cannot be imported here: {type(error).__name__}"
    return None


def _mechanisms(size: Size) -> Iterator[Finding]:
    """Layer 2, the fit of the draws, and layer 3, on mechanisms by themselves."""
    for name, (mechanism, *_) in MECHANISMS.items():
        yield from masses.check_masses(mechanism, name=name)
        samples = size.mechanism * DRAWS_OF.get(name, 1)
        yield goodness_of_fit.check_fit(mechanism, samples=samples, alarm=ALARM, name=name)
        yield queries.audited_mechanism(name, size.mechanism, ALARM)


def _families(size: Size) -> Iterator[Finding]:
    """Layer 3, and the fit of the draws, on selections, sparse vectors, streams, smooth sensitivity and blocks."""
    for name, made in families().items():
        yield from audited_family(name, made, size.families, ALARM)


def _workloads(size: Size) -> Iterator[Finding]:
    """Layer 3, and the fit of the draws, on hierarchies, ranges and quantiles from a tree."""
    for name, made in workloads().items():
        yield from audited_workload(name, made, size.workloads, ALARM)


def _plans(size: Size) -> Iterator[Finding]:
    """Layer 1 on every aggregate; the kind of noise matters only where several outputs share it."""
    for case in _all_cases():
        if case.mechanism == "laplace" or case.aggregate == ALL:
            with queries.open_session(case, 2, is_one=True) as session:
                finding = sensitivity.audit_plan(case.query, session, pairs=size.pairs, mechanism=case.mechanism)
            yield replace(finding, subject=str(case))


def _keys(size: Size) -> Iterator[Finding]:
    """Layer 3, and the fit of the draws, on every aggregate by key."""
    for alike in cases(is_grouped=True):
        with queries.both(alike[0], size.blocks) as sessions:
            for case in alike:
                yield from queries.audited_keys(case, sessions, ALARM)


def _redrawn(size: Size) -> Iterator[Finding]:
    """Layer 3, and the fit of the draws, on every aggregate over everything."""
    for alike in cases(is_grouped=False):
        with queries.both(alike[0], 1) as sessions:
            for case in alike:
                yield from queries.audited_redrawn(case, sessions, size.redrawn, ALARM)


def _pipelines(size: Size) -> Iterator[Finding]:
    """Whole releases; layers 4 and 5: canaries, and what can be seen beside the numbers."""
    for case in _some("count", "laplace"):
        yield from queries.audited_whole(case, size.whole, ALARM)
    for case in _some("count", "laplace", "gaussian"):
        if case.is_grouped:
            yield queries.audited_canaries(case, size.canaries, ALARM)
    for case in _some(ALL, "laplace"):
        yield from queries.audited_calls(case, size.repeats)


def _all_cases() -> list[Case]:
    return [case for is_grouped in (True, False) for alike in cases(is_grouped=is_grouped) for case in alike]


def _some(aggregate: str, *mechanisms: str) -> list[Case]:
    """The cases of one aggregate under add-remove, by key and not."""
    return [
        case
        for case in _all_cases()
        if (case.aggregate, case.neighbours) == (aggregate, "add_remove") and case.mechanism in mechanisms
    ]


PARTS: Mapping[str, Callable[[Size], Iterator[Finding]]] = {
    "mechanisms": _mechanisms,
    "families": _families,
    "workloads": _workloads,
    "sensitivity": _plans,
    "releases by key": _keys,
    "releases over everything": _redrawn,
    "pipelines": _pipelines,
}
