"""The sentences of page one: plain words, no formula, and numbers rounded to the side that states the larger risk."""

import re
from fractions import Fraction

from discreet.exact.numbers import shown
from discreet.exact.rounding import digits_down, shown_up
from discreet.release.report.about import About
from discreet.release.report.charges import FALSE_POSITIVES, Protection
from discreet.release.values import rendering

NO_BOUND = "no useful bound"
_SIGNS = {"<=": "at most", ">=": "at least", "<": "below", ">": "above", "=": "is", "≠": "is not"}
_QUOTED = re.compile(r"('(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\")")
_DIGITS = 3


def who(protection: Protection, about: About) -> str:
    """One privacy unit: "one patient" where the owner gives a word for it, else the name of its column."""
    if protection.is_row:
        return "one row"
    return f"one {about.unit_name}" if about.unit_name else rendering.cell(protection.who)


def guarantee(protection: Protection) -> str:
    """Epsilon and delta, as they are always shown beside unit and span."""
    size = f"epsilon {shown_up(protection.epsilon)}"
    return size + (f", delta {shown_up(protection.delta)}" if protection.delta else ", delta 0")


def unit(protection: Protection) -> str:
    """The unit with its neighbour relation."""
    return f"for {rendering.cell(protection.unit)}"


def span(protection: Protection) -> str:
    """What a guarantee is over: charges, datasets, versions, time slices and days."""
    count = len(protection.charges)
    many = "this release" if count == 1 else f"all {count:,} charges in this report"
    tables = [_table(name, versions) for name, versions in protection.datasets.items()]
    return ", ".join(
        [f"over {many} from {' and '.join(tables)}", *map(rendering.cell, protection.slices), days(protection)]
    )


def _table(name: str, versions: tuple[int, ...]) -> str:
    """A dataset with its versions, where they are stated."""
    label = "version" if len(versions) == 1 else "versions"
    stated = f", {label} {_listed([*map(str, versions)])}" if versions else ""
    return f"{rendering.cell(repr(name))}{stated}"


def days(protection: Protection) -> str:
    """The days on which it was charged."""
    found = sorted({rendering.cell(charge.time[:10]) for charge in protection.charges})
    return f"charged on {found[0]}" if len(found) == 1 else f"charged from {found[0]} to {found[-1]}"


def odds(protection: Protection, about: About) -> str:
    """How far beliefs can change, as odds; with a delta, how far the chance of a conclusion can change."""
    person, factor, twice = who(protection, about), protection.factor(), protection.factor(2)
    if factor is None:
        return f"The privacy loss is so large that it gives {NO_BOUND} on what these numbers tell about {person}."
    most = factor_text(factor)
    if protection.delta:
        cases = (
            f"with one of two possible records of {person} as with the other"
            if protection.is_replacement
            else f"with {person} in the data as without"
        )
        return (
            f"Any conclusion that somebody may draw from these numbers is at most {most} times as likely {cases}, "
            f"plus a chance of at most {chance(protection.delta)}, which is delta."
        )
    if protection.is_replacement:
        return (
            f"Even for somebody who knows everything about everyone else, the odds between any two possibilities for "
            f"the data of {person} change by at most a factor of {most}."
        )
    values = f"by at most {factor_text(twice)}" if twice is not None else f"have {NO_BOUND}"
    return (
        f"Even for somebody who knows everything about everyone else, the odds that {person} is in the data change by "
        f"at most a factor of {most}, and the odds between any two possibilities for that data {values}."
    )


def attacker(protection: Protection, about: About) -> str:
    """What an attacker gains, in words."""
    person = who(protection, about)
    guess = shown_up(50 * (1 + protection.advantage), _DIGITS)
    rate = shown_up(100 * protection.true_positive_rate, _DIGITS)
    if protection.is_replacement:
        return (
            f"Where two possible records of {person} are equally likely, an attacker says correctly which of them is "
            f"in the data at most {guess} times in 100; a coin, 50 times. An attacker who wrongly names the first for "
            f"{shown(100 * FALSE_POSITIVES)} of 100 units with the second names it correctly for at most {rate} of 100 "
            f"units with the first."
        )
    return (
        f"Where both are equally likely, an attacker says correctly whether {person} is in the data at most {guess} "
        f"times in 100; a coin, 50 times. An attacker who accuses {shown(100 * FALSE_POSITIVES)} of 100 outsiders "
        f"wrongly recognises at most {rate} of 100 insiders."
    )


def percent_up(value: Fraction) -> str:
    """A probability in percent, rounded up."""
    return f"{shown_up(100 * value, _DIGITS)}%"


def chance(probability: Fraction) -> str:
    """A small probability: "1 in 11,000,000", never too small."""
    if probability >= Fraction(1, 10):
        return percent_up(probability)
    return f"1 in {int(digits_down(1 / probability, 2)):,}"


def in_words(condition: str) -> str:
    """A condition with words in the place of signs; texts in quotes stay as they are."""
    parts = _QUOTED.split(condition)
    return "".join(part if place % 2 else _spell_signs(part) for place, part in enumerate(parts))


def factor_text(value: Fraction | None) -> str:
    """A factor, rounded up."""
    return NO_BOUND if value is None else shown_up(value, _DIGITS)


def _spell_signs(text: str) -> str:
    return re.sub(r"(?<= )(<=|>=|<|>|=|≠)(?= |$)", lambda found: _SIGNS[found[1]], text)


def _listed(words: list[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"
