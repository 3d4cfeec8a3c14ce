"""Which harms the privacy unit covers, and which it does not."""

from dataclasses import dataclass

from discreet.release.report.about import About
from discreet.release.report.charges import Protection
from discreet.release.report.wording import who


@dataclass(frozen=True)
class Harms:
    """Harms that a guarantee limits, and harms that it does not."""

    covered: tuple[str, ...]
    uncovered: tuple[str, ...]


def harms(protection: Protection, about: About) -> Harms:
    """The harms for one dataset and unit, from the unit and its neighbour relation."""
    person = who(protection, about)
    covered = [f"learning a fact about {person} that only the data of {person} tells"]
    uncovered = [
        "conclusions about a group of people, which hold with or without the data of one of them",
        f"facts about {person} that other data tells",
        f"several units together, such as a household: the bound for two is twice the epsilon of {person}",
    ]
    if "replaced" in protection.relation:
        uncovered.append(f"learning that {person} is in the data: the number of units is public")
    else:
        covered.insert(0, f"learning that {person} is in the data")
    if protection.is_row:
        covered = [text.replace("one row", "one row, not one person,", 1) for text in covered]
        uncovered.append("a person with several rows: rows are protected separately, people are not")
    return Harms(tuple(covered), tuple(uncovered))
