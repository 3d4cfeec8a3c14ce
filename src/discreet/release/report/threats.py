"""The threat model in force: who is trusted, and who sees what, from the facts of the releases."""

from collections.abc import Iterator
from dataclasses import dataclass

from discreet.release.report.facts import Facts
from discreet.release.values import rendering

SUMS = "Sums here are the guarantee where they were fixed in advance; else the registered budget is the guarantee."


@dataclass(frozen=True)
class Party:
    """Somebody or something that takes part, what it sees, and what it is trusted to do."""

    name: str
    sees: str
    trust: str


def parties(facts: Facts) -> tuple[Party, ...]:
    """All parties of these releases."""
    return tuple(_parties(facts))


def assumptions(facts: Facts) -> tuple[str, ...]:
    """What the guarantee takes for granted, and what it leaves open."""
    keys = sorted({charge.key for each in facts.protections for charge in each.charges if charge.key})
    signed = (
        f"the signing key ({', '.join(map(rendering.cell, keys))})" if keys else "a signing key, which is missing here"
    )
    return (
        "Central model: rows are in one place, and noise is added there before anything leaves.",
        "Adaptive and colluding analysts are covered; the budget bounds the sum of all their queries.",
        SUMS,
        f"Readers check that nothing was edited by {signed}.",
        "Not covered: timing and other side channels of the machine, poisoned data, a hostile owner of ledger and key.",
        "Not covered: choices that the owner made after looking at rows, such as bounds and keys.",
    )


def _parties(facts: Facts) -> Iterator[Party]:
    engines = " and ".join(map(rendering.cell, facts.engines)) or "engine"
    owner = facts.about.curator or "owner"
    yield Party(f"{owner} (owner)" if facts.about.curator else "owner", "rows, ledger, log", "facts, ledger, keys")
    yield Party(f"machine, {engines}", "rows, random bits", "to compute correctly, and keep files private")
    if facts.words("function"):
        yield Party("function of the analyst", "columns of some units, in a sandbox", "nothing")
    analysts = sorted({charge.analyst for each in facts.protections for charge in each.charges})
    named = ", ".join(map(rendering.cell, analysts[:3])) + (", and others" if len(analysts) > 3 else "")
    yield Party(f"analysts ({named})", "releases, costs, errors before data", "nothing")
    yield Party("readers", "what is on this page and in the files", "nothing")
