"""Which harms the privacy unit covers, and which it does not: the verdicts of `dp.covers` and `discreet harm`."""

from dataclasses import dataclass
from fractions import Fraction

from discreet.accounting.costs import EPSILON_UNITS
from discreet.release.guarantee import Guarantee
from discreet.release.harms import Coverage, usual_harms
from discreet.release.report.about import About
from discreet.release.report.charges import Protection
from discreet.release.report.wording import span, who

_SMALLEST = Fraction(1, EPSILON_UNITS)


@dataclass(frozen=True)
class Harms:
    """Harms that a guarantee limits, and harms that it does not."""

    covered: tuple[str, ...]
    uncovered: tuple[str, ...]


def harms(protection: Protection, about: About) -> Harms:
    """The harms for one dataset and unit, from the guarantee, the unit and its neighbour relation."""
    verdicts = usual_harms(stated_guarantee(protection))
    covered = [_words(each, protection, about) for each in verdicts if each.is_covered]
    uncovered = [_words(each, protection, about) for each in verdicts if not each.is_covered]
    if protection.is_row:
        uncovered.append("a person with several rows: rows are protected separately, people are not")
    return Harms(tuple(covered), tuple(uncovered))


def stated_guarantee(protection: Protection) -> Guarantee:
    """The guarantee of all charges; an epsilon of zero counts as the smallest that a ledger can charge."""
    epsilon = max(protection.epsilon, _SMALLEST)
    return Guarantee(epsilon, protection.delta, protection.privacy_unit, span(protection))


def _words(verdict: Coverage, protection: Protection, about: About) -> str:
    """A verdict, with the owner's word for the unit."""
    person = "one row, not one person," if protection.is_row else who(protection, about)
    return f"learning {verdict.harm.replace(protection.privacy_unit.label, person)}: {verdict.reason}"
