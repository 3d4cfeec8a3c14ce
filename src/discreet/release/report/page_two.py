"""Page two, for reviewers: parameters, processing, what is not protected, hazards, threats, checks, registry entry."""

import shlex
from collections.abc import Iterator

from discreet.exact.rounding import shown_up
from discreet.release.report import wording
from discreet.release.report.charges import Protection
from discreet.release.report.facts import Facts, ReportedResult
from discreet.release.report.harms import harms
from discreet.release.report.hazards import Hazard, HazardStatus, hazards
from discreet.release.report.markup import (
    Markup,
    bullets,
    code,
    element,
    inline,
    join,
    numbers,
    paragraph,
    table,
    terms,
)
from discreet.release.report.registry import entry_text
from discreet.release.report.threats import assumptions, parties
from discreet.release.result import Result
from discreet.release.signed import ORIGINAL
from discreet.release.values import rendering

_NO_STEPS = "none"
_DIGITS = 12
_ASK_FOR_KEY = "PUBLIC_KEY is the owner's, from `discreet ledger key show`. Get it from the owner, not from here."


def page_two(facts: Facts) -> Markup:
    """The second page."""
    return element(
        "section",
        element("h2", "Details for reviewers", id="details"),
        element(
            "div",
            _section("Parameters", *(terms(_parameters(each), class_="facts") for each in facts.protections)),
            _section("How the numbers were made", terms(_processing(facts), class_="facts")),
            _section("Not protected", bullets(facts.unprotected_facts or ("not stated in the file",), class_="tight")),
            _section("Other releases", _others(facts)),
            _section("Harms", *_harms(facts)),
            _section("Threat model", *_threats(facts)),
            _section("Hazards of NIST SP 800-226", _hazards(facts), class_="hazards"),
            _section("How to verify", *_verification(facts)),
            _section("Registry entry", code(entry_text(facts)), class_="registry"),
            class_="columns",
        ),
        id="page-two",
        class_="page",
        aria_labelledby="details",
    )


def commands(facts: Facts) -> list[str]:
    """The command that checks each file, to be pasted into a shell."""
    key = facts.about.public_key or "PUBLIC_KEY"
    files = [each.path for each in facts.reported if each.path is not None]
    names = [str(path.name) for path in files] or ["release.json"]
    return [f"discreet release verify {shlex.quote(name)} --key {shlex.quote(key)}" for name in names]


def _section(heading: str, *parts: Markup, class_: str | None = None) -> Markup:
    return element("section", element("h3", heading), *parts, class_=class_)


def _parameters(protection: Protection) -> Iterator[tuple[str, str]]:
    yield "guarantee", f"{wording.guarantee(protection)}, {wording.unit(protection)}, {wording.span(protection)}"
    yield "exact sum charged", _exact_sum(protection)
    yield "accountant", protection.accountant
    rates = f"advantage {shown_up(protection.advantage)}; true positive rate {shown_up(protection.true_positive_rate)}"
    yield "attacker", f"{rates} at false positive rate 0.01; upper bounds of the trade-off curve"
    for charge in protection.charges:
        together = f", together with {', '.join(charge.together)}" if charge.together else ""
        yield "charge", f"{charge.hash[:12]}, {charge.time[:19]} UTC, by {charge.analyst}{together}"


def _exact_sum(protection: Protection) -> str:
    parts = [] if protection.cost.epsilon is None else [f"epsilon {shown_up(protection.epsilon, _DIGITS)}"]
    parts.append(f"rho {shown_up(protection.rho, _DIGITS)}")
    parts.append(f"delta {shown_up(protection.own_delta, _DIGITS)}")
    return ", ".join(parts)


def _processing(facts: Facts) -> Iterator[tuple[str, str]]:
    yield from (("mechanism", text) for text in facts.mechanisms)
    yield from (("pre-processing", text) for text in facts.pre_processing or (_NO_STEPS,))
    yield from (("keys", text) for text in facts.words("groups") or ("no groups",))
    yield from (("candidates", text) for text in facts.words("selected"))
    yield from (("post-processing", text) for text in facts.post_processing or ("none: numbers are as drawn",))
    yield "columns read", ", ".join(facts.columns_read) or "not stated"
    yield from (("statement", each.statement) for each in facts.reported if each.statement)
    yield "software", facts.software


def _others(facts: Facts) -> Markup:
    known = bullets(facts.others or ("The owner declares none.",), class_="tight")
    rest = "This report has the charges of its files. The ledger of a dataset may have more: `discreet ledger show`."
    return Markup(known + paragraph(inline(rest)))


def _harms(facts: Facts) -> Iterator[Markup]:
    found = [harms(each, facts.about) for each in facts.protections]
    covered = dict.fromkeys(text for each in found for text in each.covered)
    uncovered = dict.fromkeys(text for each in found for text in each.uncovered)
    pairs = [*(("limited", text) for text in covered), *(("not covered", text) for text in uncovered)]
    yield bullets((join((element("b", label), ": ", text)) for label, text in pairs), class_="tight")


def _threats(facts: Facts) -> Iterator[Markup]:
    rows = [(each.name, each.sees, each.trust) for each in parties(facts)]
    yield table("Who sees what, and is trusted to do what", ("party", "sees", "trusted to"), rows, 1, class_="small")
    yield bullets(assumptions(facts), class_="tight")


def _hazards(facts: Facts) -> Markup:
    """A numbered list, so that the number of each hazard is that of the publication."""
    return numbers(
        join((element("b", each.name), ": ", element("span", each.status, class_="status"), _after(each)))
        for each in hazards(facts)
    )


def _after(hazard: Hazard) -> Markup:
    """What follows the status: a reason, or a sentence of its own."""
    return join((", " if hazard.status is HazardStatus.ABSENT else ". ", inline(hazard.text)))


def _verification(facts: Facts) -> Iterator[Markup]:
    yield code("\n".join(commands(facts)))
    states = dict.fromkeys(_signature(each, result) for each in facts.reported for result in each.results)
    yield bullets(states, class_="tight")
    if facts.about.public_key is None:
        yield paragraph(inline(_ASK_FOR_KEY))


def _signature(each: ReportedResult, result: Result) -> str:
    if result.signed is None:
        return f"{each.name}: not signed, so edits of numbers are not found"
    changed = "the original of these numbers" if ORIGINAL in result.to_json() else "these numbers"
    return f"{each.name}: key {rendering.cell(result.signed.key)} signed {changed}; this report did not check it"
