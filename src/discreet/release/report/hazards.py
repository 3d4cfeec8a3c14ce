"""The 24 privacy hazards of NIST SP 800-226, one by one, each with what these releases do about it.

Where facts of the releases decide, they are stated. What discreet does not handle is named as a task for people.
"""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction

from discreet.accounting.filters import CEILING
from discreet.exact.numbers import shown
from discreet.exact.rounding import shown_up
from discreet.release.model import ModelRelease
from discreet.release.report import wording
from discreet.release.report.facts import Facts
from discreet.release.report.tables import relative_text, relative_width
from discreet.release.synthetic import SyntheticTable
from discreet.release.values import rendering


class HazardStatus(StrEnum):
    """Who deals with a hazard."""

    HANDLED = "handled"
    CHECK = "check"
    TASK = "your task"
    ABSENT = "not applicable"


@dataclass(frozen=True)
class Hazard:
    """A hazard and what these releases do about it; of a hazard that does not apply, the reason."""

    number: int
    name: str
    status: HazardStatus
    text: str


Finding = tuple[HazardStatus, str]
_SMALL = Fraction(1)
_HARMLESS = ("keys: ", "bounds: ")
"""How post-processing begins that leaves noisy numbers as they are."""


def hazards(facts: Facts) -> tuple[Hazard, ...]:
    """All hazards, in the order of the publication."""
    findings = [(name, finding(facts)) for name, finding in _FINDINGS.items()]
    return tuple(Hazard(number, name, *found) for number, (name, found) in enumerate(findings, 1))


def _large_epsilon(facts: Facts) -> Finding:
    most = max(facts.protections, key=lambda each: each.epsilon)
    words = f"{wording.guarantee(most)}, {wording.unit(most)}, over the charges here"
    if most.epsilon <= _SMALL:
        return HazardStatus.HANDLED, f"At most {words}: at most 1."
    if most.epsilon <= CEILING:
        return (
            HazardStatus.CHECK,
            f"At most {words}. Above 1, compare the attacker's rates on page one with your policy.",
        )
    return HazardStatus.TASK, f"At most {words}, above the usual ceiling of {shown(CEILING)}. You must justify it."


def _catastrophic_failure(facts: Facts) -> Finding:
    largest = max(facts.protections, key=lambda each: each.delta)
    if not largest.delta:
        return HazardStatus.HANDLED, "Delta is 0: the bound has no exceptions."
    chance = wording.chance(largest.delta)
    if not largest.own_delta:
        return (
            HazardStatus.HANDLED,
            f"Delta is at most {chance}, by conversion from rho: noise fails gradually, not at once.",
        )
    return (
        HazardStatus.CHECK,
        f"Delta is at most {chance}. discreet refuses 1/population or more; check that it is declared.",
    )


def _harms(facts: Facts) -> Finding:
    del facts
    return HazardStatus.CHECK, "Listed under 'Harms'. Compare them with the harms that you have to prevent."


def _event_level(facts: Facts) -> Finding:
    if any(each.is_row for each in facts.protections):
        return HazardStatus.TASK, "Rows are protected, not people. You must make sure that nobody has several rows."
    units = ", ".join(dict.fromkeys(rendering.cell(each.who) for each in facts.protections))
    return HazardStatus.HANDLED, f"Protected is {units} with all rows, not single rows."


def _deltas(facts: Facts) -> Finding:
    if len({each.delta for each in facts.protections}) == 1:
        return HazardStatus.HANDLED, "One delta is stated. discreet refuses to compare guarantees at different deltas."
    return (
        HazardStatus.CHECK,
        "Guarantees here have different deltas. They are kept apart: do not compare their epsilons.",
    )


def _units(facts: Facts) -> Finding:
    if len({each.unit for each in facts.protections}) == 1:
        return (
            HazardStatus.HANDLED,
            "One unit is stated, beside every epsilon. discreet refuses to compare different units.",
        )
    return (
        HazardStatus.CHECK,
        "Guarantees here have different units. They are kept apart: do not compare their epsilons.",
    )


def _conversion(facts: Facts) -> Finding:
    found = [each for each in facts.protections if not each.is_sum_of_epsilons]
    if not found:
        return HazardStatus.ABSENT, "because epsilons were added up and no delta was used to convert."
    rhos = ", ".join(f"rho {shown_up(each.rho)} at delta {shown_up(each.delta)}" for each in found)
    return HazardStatus.HANDLED, f"Epsilon is converted from {rhos}; both are stated under 'Parameters'."


def _other_releases(facts: Facts) -> Finding:
    if facts.others:
        return (
            HazardStatus.CHECK,
            f"The owner declares {len(facts.others)}: see 'Other releases'. Check what they add up to.",
        )
    return (
        HazardStatus.TASK,
        "The owner declares none. You must make sure that no exact numbers about these people are out.",
    )


def _custom_code(facts: Facts) -> Finding:
    if facts.words("function"):
        return (
            HazardStatus.HANDLED,
            "The analyst's function ran in a sandbox; the guarantee does not rest on what it does.",
        )
    return (
        HazardStatus.HANDLED,
        "Mechanisms are those of discreet, with public proofs, tests and audits (`discreet audit`).",
    )


def _systemic_bias(facts: Facts) -> Finding:
    found = [each.table.least_exact for each in facts.reported]
    worst = max((pair for pair in found if pair), key=lambda pair: relative_width(pair[1]), default=None)
    if worst is None:
        return HazardStatus.TASK, "You must check whom errors hit hardest: no intervals are public here."
    name, point = worst
    place = f" of {point.label}" if point.label else ""
    return (
        HazardStatus.CHECK,
        f"Small groups have large errors. Largest here: ± {relative_text(point)}, for {name}{place}.",
    )


def _human_bias(facts: Facts) -> Finding:
    if any(not step.startswith(_HARMLESS) for step in facts.post_processing):
        return (
            HazardStatus.CHECK,
            "Noisy numbers were changed or chosen: see 'post-processing'. Raw values are in the file.",
        )
    return HazardStatus.HANDLED, "Numbers are as drawn: not rounded, and negative ones are kept."


def _statistical_bias(facts: Facts) -> Finding:
    bias = [text for text in facts.margin_omissions if "bias" in text or "left out" in text]
    if bias:
        return (
            HazardStatus.CHECK,
            "Clipping, contribution bounds or missing units bias numbers; margins do not include it.",
        )
    return HazardStatus.HANDLED, "Neither clipping nor contribution bounds bias these numbers."


def _contributions(facts: Facts) -> Finding:
    bounds = facts.words("contribution bounds")
    if any("at most" in text for text in bounds):
        return HazardStatus.HANDLED, "Contribution bounds are enforced in the engine, and noise is scaled to them."
    if any(each.is_row for each in facts.protections):
        return HazardStatus.ABSENT, "because each row is its own unit."
    return HazardStatus.CHECK, "No contribution bound is stated in the file."


def _bins(facts: Facts) -> Finding:
    if facts.finds_keys:
        return HazardStatus.CHECK, "Unknown keys were found by partition selection with a delta; rare keys are missing."
    if facts.words("groups"):
        return HazardStatus.HANDLED, "Keys are public and every one of them has a row, also where nobody is in it."
    return HazardStatus.ABSENT, "because the numbers are over all rows, without groups."


def _learning(facts: Facts) -> Finding:
    models = [result for result in facts.results if isinstance(result, ModelRelease)]
    if not all(model.private for model in models):
        return HazardStatus.CHECK, "A model was trained without noise, for tests: do not publish it."
    if any(label == "not covered" for model in models for label, _ in model.card):
        return HazardStatus.CHECK, "Training is private but for what the model card names as not covered."
    if models:
        return HazardStatus.HANDLED, "Models were trained on sums with noise; the charges cover the whole training."
    return HazardStatus.ABSENT, "because no model was trained."


def _synthetic(facts: Facts) -> Finding:
    tables = [result for result in facts.results if isinstance(result, SyntheticTable)]
    if not all(table.private for table in tables):
        return HazardStatus.CHECK, "A synthetic table was made without noise, for tests: do not publish it."
    if tables:
        return (
            HazardStatus.HANDLED,
            "Synthetic rows are drawn from marginals with noise; the charges cover all of them.",
        )
    return HazardStatus.ABSENT, "because statistics were released, not synthetic rows."


def _unstructured(facts: Facts) -> Finding:
    del facts
    return HazardStatus.ABSENT, "because rows are tables with a declared unit; text and images are not read."


def _interactive(facts: Facts) -> Finding:
    count = sum(len(each.charges) for each in facts.protections)
    charges = "1 charge" if count == 1 else f"{count:,} charges"
    return (
        HazardStatus.HANDLED,
        f"One ledger bounds all queries of all analysts; {charges} of it are here. It has the rest.",
    )


def _trust(facts: Facts) -> Finding:
    engine = _engines(facts)
    return HazardStatus.TASK, f"See 'Threat model'. You must make sure that owner, machine and {engine} can be trusted."


def _side_channels(facts: Facts) -> Finding:
    del facts
    return (
        HazardStatus.CHECK,
        "Noise is discrete and exactly sampled. Timing is not covered: do not let analysts time queries.",
    )


def _data_security(facts: Facts) -> Finding:
    del facts
    return HazardStatus.TASK, "Not handled by discreet: you must encrypt disks and keep sources and ledger private."


def _access(facts: Facts) -> Finding:
    analysts = sorted({rendering.cell(charge.analyst) for each in facts.protections for charge in each.charges})
    named = f"The name of the analyst ({', '.join(analysts[:3])}{', and others' * (len(analysts) > 3)}) is a label."
    return HazardStatus.TASK, f"Not handled by discreet: you must authenticate people. {named}"


def _collection(facts: Facts) -> Finding:
    count = len(facts.columns_read)
    read = "1 column was" if count == 1 else f"{count:,} columns were"
    return HazardStatus.TASK, f"{read} read. Not handled by discreet: you must be allowed to collect and hold the data."


def _engines(facts: Facts) -> str:
    return " and ".join(facts.engines) or "the engine"


_FINDINGS: dict[str, Callable[[Facts], Finding]] = {
    "Large epsilon": _large_epsilon,
    "Catastrophic failure under epsilon and delta": _catastrophic_failure,
    "Harms that the unit does not capture": _harms,
    "Event level protects rows, not people": _event_level,
    "Different deltas are not comparable": _deltas,
    "Different units are not comparable": _units,
    "A large delta gives a misleading epsilon": _conversion,
    "Other releases of the same data": _other_releases,
    "Custom implementations": _custom_code,
    "Systemic bias": _systemic_bias,
    "Effects of fixing human bias": _human_bias,
    "Statistical bias": _statistical_bias,
    "Bounded contributions need their noise": _contributions,
    "Histogram bins must be specified": _bins,
    "Learning does not protect by itself": _learning,
    "Synthetic data without differential privacy": _synthetic,
    "Deep synthetic data is worse than marginals": _synthetic,
    "Unstructured data may have no unit": _unstructured,
    "Interactive queries: budget and security": _interactive,
    "Trust assumptions must hold": _trust,
    "Side channels": _side_channels,
    "Data security": _data_security,
    "Access control": _access,
    "Collection itself": _collection,
}
