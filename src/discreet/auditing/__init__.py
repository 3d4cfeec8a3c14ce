"""Audits: tools that would catch us, for our own mechanisms, your pipelines and other libraries.

    from discreet import auditing

    print(auditing.audit(my_mechanism, one, other, epsilon=1))
    auditing.require(auditing.check_mechanism(dp.mechanisms.Laplace(sensitivity=1, epsilon=0.1)))
    auditing.require(auditing.check_session(session, query))

The layers, from the surest to the widest; each returns findings, and one report tells them all:

    1  audit_plan, audit_function   exact answers on adversarial neighbours, against the stated sensitivity
    2  check_masses, compare_masses exact probabilities of discrete mechanisms, against the claim
    3  audit                        any callable, sampled: value, bits, NaN, length, keys, errors, run time
    4  one_run, audit_model, audit_synthesis  canaries, for whole pipelines that run once
    5  compare_calls                everything that can be seen beside the numbers

A finding says what was found, never that something is private: an audit can refute a claim and cannot prove one. An
audit whose controls (`auditing.controls`) are not all caught is void.
"""

from importlib.util import find_spec

from discreet.errors import missing_extra

if find_spec("scipy") is None:
    raise missing_extra("an audit", "scipy", "audit")

from discreet.auditing.canaries import one_run, session_canaries
from discreet.auditing.claims import Claim, claim
from discreet.auditing.contracts.contract import check_mechanism, check_session, require
from discreet.auditing.exact.masses import check_masses, compare_masses
from discreet.auditing.finding import Finding, Verdict
from discreet.auditing.models import audit_model
from discreet.auditing.report import Report
from discreet.auditing.self_audit.suite import audit_everything, run_controls
from discreet.auditing.sensitivity.audit import audit_function, audit_plan
from discreet.auditing.sensitivity.lists import neighbouring_lists
from discreet.auditing.side_channels.audit import compare_calls
from discreet.auditing.statistical.audit import audit
from discreet.auditing.synthesis import audit_synthesis

__all__ = [
    "Claim",
    "Finding",
    "Report",
    "Verdict",
    "audit",
    "audit_everything",
    "audit_function",
    "audit_model",
    "audit_plan",
    "audit_synthesis",
    "check_masses",
    "check_mechanism",
    "check_session",
    "claim",
    "compare_calls",
    "compare_masses",
    "neighbouring_lists",
    "one_run",
    "require",
    "run_controls",
    "session_canaries",
]
