"""A fault of a library: what it claims, what is found instead, and how many runs that took."""

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

from discreet.auditing.claims import claim
from discreet.auditing.statistical.audit import audit

_LONGEST = 100


@dataclass(frozen=True)
class Found:
    """One row of the table, without the library."""

    claimed: str
    found: str
    samples: int
    holds: bool = False


@dataclass(frozen=True)
class Fault:
    """A fault with where it is described and the call that shows it; `needs` are the modules that it imports."""

    library: str
    name: str
    where: str
    show: Callable[[], Found]
    needs: tuple[str, ...]

    def row(self) -> list[str]:
        """Library, version, fault, claimed, found, samples; or why there is nothing to see."""
        try:
            for module in self.needs:
                importlib.import_module(module)
            shown = self.show()
        except Exception as error:  # noqa: BLE001 - a library that cannot be imported or called is a skipped row
            return [self.library, "-", self.name, "skipped", _reason(error), "-"]
        found = "nothing found" if shown.holds else shown.found
        return [self.library, version(self.library), self.name, shown.claimed, found, f"{shown.samples:,}"]


def audited(mechanism: Callable[..., Any], one: Any, other: Any, samples: int, **more: Any) -> Found:
    """What a statistical audit finds against a claim in epsilon and delta, or rho."""
    keywords = {word: more.pop(word) for word in ("epsilon", "delta", "rho") if word in more}
    promised = claim(**keywords)
    finding = audit(mechanism, one, other, claim=promised, samples=samples, alarm=1e-3, **more)
    bound = "" if finding.found is None else f"{promised.parameter} >= {finding.found:.3g}"
    return Found(str(promised), bound, finding.samples, holds=not finding.is_broken)


def apart(claimed: float, found: float) -> Found:
    """What two evaluations without noise show: no claim about them is a matter of chance."""
    return Found(f"distance {claimed:.6g}", f"distance {found:.6g}", 1, holds=found <= claimed)


def _reason(error: Exception) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return f"{type(error).__name__}: {lines[0][:_LONGEST] if lines else ''}"
