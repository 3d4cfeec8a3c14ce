"""The report as plain data, for programs."""

from typing import Any

from discreet.exact.rounding import double_up
from discreet.release.report import wording
from discreet.release.report.charges import FALSE_POSITIVES, Protection
from discreet.release.report.facts import Facts, ReportedResult
from discreet.release.report.harms import harms
from discreet.release.report.hazards import hazards
from discreet.release.report.page_two import commands
from discreet.release.report.registry import entry
from discreet.release.report.threats import assumptions, parties
from discreet.release.result import ratio_text
from discreet.release.serialization import read_schema

SCHEMA = "discreet.release-report/1"


def plain(facts: Facts) -> dict[str, Any]:
    """The report for `json.dumps`."""
    return {
        "schema": SCHEMA,
        "private": facts.is_private,
        "about": {name: value for name, value in vars(facts.about).items() if value is not None},
        "not_stated": facts.about.missing(),
        "guarantees": [_guarantee(each, facts) for each in facts.protections],
        "releases": [_plain_result(each) for each in facts.reported],
        "margins_omit": list(facts.margin_omissions),
        "unprotected": list(facts.unprotected_facts),
        "other_releases": list(facts.others),
        "columns_read": list(facts.columns_read),
        "mechanisms": list(facts.mechanisms),
        "pre_processing": list(facts.pre_processing),
        "post_processing": list(facts.post_processing),
        "hazards": [vars(each) | {"status": str(each.status)} for each in hazards(facts)],
        "threat_model": {"parties": [vars(each) for each in parties(facts)], "notes": list(assumptions(facts))},
        "verify": commands(facts),
        "registry": entry(facts),
        "software": facts.software,
    }


def schema() -> dict[str, Any]:
    """The JSON schema of a report."""
    return read_schema("release-report-1.json")


def _guarantee(protection: Protection, facts: Facts) -> dict[str, Any]:
    found = harms(protection, facts.about)
    factor = protection.factor()
    return {
        "datasets": [{"name": name, "versions": list(versions)} for name, versions in protection.datasets.items()],
        "unit": protection.unit,
        "span": wording.span(protection),
        "epsilon": ratio_text(protection.epsilon),
        "delta": ratio_text(protection.delta),
        "rho": ratio_text(protection.rho),
        "charged_epsilon": None if protection.cost.epsilon is None else ratio_text(protection.epsilon),
        "charged_delta": ratio_text(protection.own_delta),
        "accountant": protection.accountant,
        "odds_factor": None if factor is None else double_up(factor),
        "advantage": double_up(protection.advantage),
        "false_positive_rate": float(FALSE_POSITIVES),
        "true_positive_rate": double_up(protection.true_positive_rate),
        "odds": wording.odds(protection, facts.about),
        "attacker": wording.attacker(protection, facts.about),
        "harms": {"limited": list(found.covered), "not_covered": list(found.uncovered)},
        "receipts": [charge.hash for charge in protection.charges],
    }


def _plain_result(each: ReportedResult) -> dict[str, Any]:
    return {
        "name": each.name,
        "guarantees": list(dict.fromkeys(result.guarantee for result in each.results)),
        "query": [list(line) for line in each.query()],
        "statement": each.statement,
        "columns": list(each.table.head),
        "rows": [list(row) for row in each.table.rows],
        "notes": list(each.table.notes),
        "signed": [result.signature_text() for result in each.results],
    }
