"""Membership inference by canaries: a synthesis is repeated with planted people, who are guessed from its table.

Nearest-neighbour distances are not evidence, so this is what owners have in their place: a lower bound on epsilon that
holds with the stated confidence, beside the epsilon that is charged. Each repetition has a session and a ledger of its
own in memory, so no budget of the data is touched. The result is exact in its base rows, and for owners alone.
"""

import math
import re
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from discreet.accounting.filters import Budget
from discreet.errors import ParameterError, short_traceback
from discreet.exact.numbers import Number
from discreet.plan.synthesis import Synthesizer
from discreet.query.frame import table
from discreet.release.synthetic import SyntheticTable
from discreet.session.session import protect
from discreet.synthesis.quality.encoding import as_table

if TYPE_CHECKING:
    import numpy as np

    from discreet.auditing.finding import Finding

_NAME = "canaries"


@short_traceback
def audit_membership(
    data: object,
    synthesizer: Synthesizer,
    *,
    privacy_unit: str,
    canary_column: str,
    epsilon: Number,
    delta: Number = 1e-9,
    keys: Mapping[str, Sequence[Any]] | None = None,
    columns: Sequence[str] | None = None,
    canaries: int = 500,
    alarm: float = 1e-3,
    generator: "np.random.Generator | None" = None,
    **facts: Any,
) -> "Finding":
    """How much of epsilon canaries show: a synthesis is repeated with planted people, who are guessed from its table.

    No budget of the data is touched: the session of the repetition is in memory, and forgotten. The finding is for the
    owners of the data.

    Args:
        data: Rows with one row a person, which canaries are added to.
        synthesizer: A synthesizer of `dp.synthesis`.
        privacy_unit: Column of the person.
        canary_column: Column of texts or whole numbers in which each canary has a key of its own.
        epsilon: The epsilon that the synthesis is charged.
        delta: Its delta. Default 1e-9.
        keys: Declared keys by column, without those of the canaries. Default: none.
        columns: Columns of the synthetic table. Default: all but the privacy unit.
        canaries: Number of canaries, of which a coin includes each. Default 500.
        alarm: Probability that the bound is too high. Default 0.001.
        generator: Generator of the coins, for tests. Default: the operating system.
        **facts: Further public facts that `dp.protect` takes, such as `bounds`.

    Returns:
        The finding: `found` is a lower bound on epsilon, `stated` is what is charged.

    Raises:
        Refusal: If the synthesis is refused before data is read, such as that of a column without bounds.
        ParameterError: If an argument is outside its range.
        NameNotFoundError: If the table lacks a column.

    Example:
        >>> import discreet as dp
        >>> people = dp.datasets.people(1_000).select(["person_id", "sex", "occupation"])
        >>> facts = {"sex": ["female", "male", "unspecified"], "occupation": dp.datasets.OCCUPATIONS}
        >>> words = {"privacy_unit": "person_id", "canary_column": "occupation", "keys": facts}
        >>> finding = dp.synthesis.audit_membership(people, dp.synthesis.TreeSynthesizer(), epsilon=1, **words)
        >>> finding.is_broken
        False
    """
    audits: Any = import_module("discreet.auditing")
    budget = Budget(epsilon=epsilon, delta=delta)

    def synthesize(rows: pa.Table, planted: list[Any]) -> SyntheticTable:
        declared = {**(keys or {}), canary_column: [*(keys or {}).get(canary_column, ()), *planted]}
        known: dict[str, Any] = {"max_rows": 1, **facts, "keys": declared, "budget": budget, "ledger": ":memory:"}
        with protect(rows, name=_NAME, privacy_unit=privacy_unit, **known) as session:
            return session.release(table(_NAME).synthesize(synthesizer, columns=columns), epsilon=epsilon)

    finding: Finding = audits.audit_synthesis(
        synthesize,
        as_table(data),
        privacy_unit=privacy_unit,
        group=canary_column,
        claim=audits.claim(epsilon=epsilon, delta=delta),
        canaries=canaries,
        alarm=alarm,
        generator=generator,
        name=type(synthesizer).__name__,
    )
    return finding


_KINDS = {
    "graphical": "GraphicalSynthesizer",
    "tree": "TreeSynthesizer",
    "independent columns": "IndependentSynthesizer",
    "two levels": "TwoLevelSynthesizer",
}
"""The synthesizer of a table by the name of its kind."""
_EPSILON = re.compile(r"epsilon (?P<epsilon>[0-9.]+(?:e[+-]?[0-9]+)?)\b")
_CLOSE = 1e-6


def require_finding(found: object, synthetic: SyntheticTable) -> None:
    """Refuse what is not a finding about the synthesizer and the epsilon of a table.

    Args:
        found: What was given as the finding; None is allowed.
        synthetic: The released table.

    Raises:
        ParameterError: If it is of another class, synthesizer or epsilon.
    """
    if found is None:
        return
    audits: Any = import_module("discreet.auditing")
    kind, stated = _KINDS.get(synthetic.name), _EPSILON.match(str(synthetic.guarantee))
    charged = None if stated is None else float(stated["epsilon"])
    advice = (
        f"membership=dp.synthesis.audit_membership(data, dp.synthesis.{kind or 'TreeSynthesizer'}(...), "
        f"epsilon={1 if charged is None else charged:g}, ...)"
    )
    if not isinstance(found, audits.Finding):
        raise ParameterError(
            f"membership of type {type(found).__name__}",
            because="it is the finding of an audit by canaries",
            instead=advice,
        )
    if kind is not None and found.subject != kind:
        raise ParameterError(
            f"a finding about {found.subject!r} for a table made by {kind}",
            because="it says nothing about another synthesizer",
            instead=advice,
        )
    if charged is not None and (found.stated is None or not math.isclose(found.stated, charged, rel_tol=_CLOSE)):
        raise ParameterError(
            f"a finding at epsilon {found.stated} for a table that was charged {charged:g}",
            because="it says nothing about another epsilon",
            instead=advice,
        )


def membership_line(found: "Finding") -> str:
    """A finding as a line: the bound beside what is charged."""
    if found.found is None:
        return f"membership by canaries: {found.verdict} ({found.evidence})"
    word = "which contradicts" if found.is_broken else "within"
    return (
        f"membership by canaries: an epsilon of at least {found.found:.2f} is shown, {word} the charged "
        f"{found.stated or 0.0:g} ({found.evidence})"
    )
