"""The registry entry: the facts of a deployment for machines, as YAML with a published schema."""

from typing import Any

from discreet.catalog import strict_yaml
from discreet.exact.rounding import shown_up
from discreet.release.report import wording
from discreet.release.report.about import NOT_STATED
from discreet.release.report.charges import Protection
from discreet.release.report.facts import Facts
from discreet.release.serialization import read_schema
from discreet.release.values import rendering

SCHEMA = "discreet.registry/1"
TRUST_MODEL = "central: the curator holds the rows, and noise is added before anything leaves"


def entry(facts: Facts) -> dict[str, Any]:
    """The entry as plain data; a fact that nobody stated reads "not stated"."""
    about = facts.about
    return {
        "schema": SCHEMA,
        "deployment": about.text("deployment"),
        "curator": about.text("curator"),
        "purpose": about.text("purpose"),
        "data_product": about.data_product or ", ".join(each.name for each in facts.reported),
        "trust_model": TRUST_MODEL,
        "private": facts.is_private,
        "guarantees": [_guarantee(each, facts) for each in facts.protections],
        "mechanisms": _clean(facts.mechanisms),
        "pre_processing": _clean(facts.pre_processing),
        "post_processing": _clean(facts.post_processing),
        "other_releases": _clean(facts.others),
        "justification": about.text("justification"),
        "contact": about.text("contact"),
        "software": rendering.cell(facts.software),
    }


def entry_text(facts: Facts) -> str:
    """The entry as YAML that `discreet.catalog.strict_yaml` reads back as the same data."""
    return strict_yaml.write(entry(facts))


def schema() -> dict[str, Any]:
    """The JSON schema of an entry."""
    return read_schema("registry-1.json")


def _guarantee(protection: Protection, facts: Facts) -> dict[str, Any]:
    times = sorted(charge.time for charge in protection.charges)
    return {
        "datasets": [
            {"name": rendering.cell(name), "versions": list(versions)} for name, versions in protection.datasets.items()
        ],
        "span": wording.span(protection),
        "privacy_unit": rendering.cell(protection.who),
        "neighbour_relation": protection.relation,
        "period": {
            "data": facts.about.period or NOT_STATED,
            "first_charge": rendering.cell(times[0]),
            "last_charge": rendering.cell(times[-1]),
        },
        "epsilon": shown_up(protection.epsilon, 12),
        "delta": shown_up(protection.delta, 12),
        "rho": shown_up(protection.rho, 15),
        "accountant": protection.accountant,
        "receipts": [rendering.cell(charge.hash) for charge in protection.charges],
    }


def _clean(texts: tuple[str, ...]) -> list[str]:
    return [rendering.cell(text) for text in texts]
