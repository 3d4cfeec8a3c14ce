"""Audits of synthetic tables in one run: canaries with a key of their own are guessed from one released table.

A canary is a person with a key that nobody else has, in a column of the table. Two scores say how likely it is in: the
noisy counts of its cells in all measured marginals, as a likelihood ratio, and the number of drawn rows with its key.
The first sees too little noise, the second a model that holds rows. Each is tested at half of the alarm rate, so their
sum bounds the false alarms. The statistics are those of `auditing.one_run`, with its assumptions.

Rare slots are merged before pairs are measured. A canary in merged slots is then guessed from the first counts alone.
"""

import secrets
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet.auditing.arguments import checked_alarm
from discreet.auditing.canaries import SessionCanaries, TableCanary, one_run, session_canaries
from discreet.auditing.claims import Claim
from discreet.auditing.finding import Finding, Verdict
from discreet.engines.sources.arrow_tables import as_arrow
from discreet.errors import ParameterError, Refusal, short_traceback
from discreet.exact.numbers import whole
from discreet.plan.slots import SlotColumn, columns_from_json
from discreet.release.synthetic import SyntheticTable

Floats = NDArray[np.float64]
Booleans = NDArray[np.bool_]

_ALIKE = "all canaries have the same counts, so guesses say nothing: declare their keys in the catalog"


@short_traceback
def audit_synthesis(
    synthesize: Callable[[pa.Table, list[Any]], SyntheticTable],
    table: Any,
    *,
    privacy_unit: str,
    group: str,
    claim: Claim,
    values: Mapping[str, Any] | None = None,
    canaries: int = 500,
    rows_each: int = 1,
    alarm: float = 1e-3,
    generator: np.random.Generator | None = None,
    name: str | None = None,
) -> Finding:
    """Audit of a synthetic table in one run: guesses which canaries it was made from.

    Args:
        synthesize: Function of an Arrow table and the keys of the canaries that returns a synthetic table, charged in
            full. The keys are declared for `group`. It is called once.
        table: Public or made-up rows (Arrow, pandas or Polars), to which the canaries are added.
        privacy_unit: Column of the person.
        group: Column in which each canary has a key of its own; a column of the synthetic table.
        claim: Claim about one person: `auditing.claim(epsilon=1, delta=1e-6)`.
        values: Values of other columns of the canaries. Default: missing.
        canaries: Number of canaries. Default 500.
        rows_each: Number of equal rows of each canary. Default 1.
        alarm: Probability that a true claim is called broken, and that `found` is too high. Default 0.001.
        generator: Generator of the coins, for tests. Default: the operating system.
        name: Name of the subject in the finding. Default: that of the function.

    Returns:
        The finding of the stronger of both scores; it is void where the synthesis raised an error, or all canaries
        have the same counts.

    Raises:
        Refusal: If the synthesis is refused before data is read.
        ParameterError: If an argument is outside its range, or what is returned is not a synthetic table of `group`.
        SourceError: If the rows are of another kind.

    Example:
        >>> import discreet as dp
        >>> people = dp.datasets.people(500).select(["person_id", "occupation", "income"])
        >>> def synthesize(rows, keys):
        ...     facts = {"privacy_unit": "person_id", "max_rows": 1, "budget": dp.Budget(epsilon=1, delta=1e-9)}
        ...     with dp.testing.protect(rows, name="people", keys={"occupation": keys}, **facts) as session:
        ...         kind = dp.synthesis.IndependentSynthesizer()
        ...         return session.release(dp.table("people").synthesize(kind, columns=["occupation"]), epsilon=1)
        >>> claim = dp.auditing.claim(epsilon=1, delta=1e-9)
        >>> finding = dp.auditing.audit_synthesis(
        ...     synthesize, people, privacy_unit="person_id", group="occupation", claim=claim
        ... )
        >>> finding.is_broken
        True
    """
    checked_alarm(alarm)
    planted = session_canaries(
        as_arrow(table),
        whole(canaries, "canaries"),
        privacy_unit=privacy_unit,
        group=group,
        values=values,
        rows_each=rows_each,
    )
    coins = (generator.bytes if generator else secrets.token_bytes)(16)
    pipeline = OneSynthesis(synthesize, planted)
    subject = name or getattr(synthesize, "__name__", type(synthesize).__name__)
    findings: list[Finding] = []
    for label, scores, middle in (("noisy counts", count_scores, 0.0), ("drawn rows", row_scores, None)):
        found: list[float] = []

        def score(output: SyntheticTable, canary: TableCanary, of: Scores = scores, into: list[float] = found) -> float:
            into.extend([] if into else of(_require_table(output, group), planted).tolist())
            return into[canary.place]

        same = np.random.default_rng(int.from_bytes(coins))
        words: dict[str, Any] = {"claim": claim, "alarm": alarm / 2, "generator": same, "name": subject}
        finding = one_run(pipeline, planted.canaries, score=score, middle=middle, **words)
        if pipeline.refused is not None:  # it is of the arguments, and was raised before data was read
            raise pipeline.refused
        if pipeline.made is None:
            return finding
        is_alike = len(found) > 1 and len(set(found)) == 1
        void: dict[str, Any] = {"verdict": Verdict.VOID, "found": None} if is_alike else {}
        evidence = f"{label}: {_ALIKE if is_alike else finding.evidence}"
        findings.append(replace(finding, evidence=evidence, alarm=alarm, **void))
    return max(findings, key=lambda each: (each.is_broken, each.found or 0.0, each.verdict is not Verdict.VOID))


@dataclass
class OneSynthesis:
    """A synthesis with canaries that is made once; a refusal is kept, since an audit takes any error for an outcome."""

    synthesize: Callable[[pa.Table, list[Any]], SyntheticTable]
    planted: SessionCanaries
    made: Any = None
    refused: Refusal | None = None

    def __call__(self, included: list[TableCanary]) -> Any:
        """The synthetic table."""
        if self.made is None:
            try:
                self.made = self.synthesize(self.planted.table_with(included), self.planted.keys)
            except Refusal as refusal:
                self.refused = refusal
                raise
        return self.made


Scores = Callable[[SyntheticTable, SessionCanaries], Floats]


def count_scores(table: SyntheticTable, planted: SessionCanaries) -> Floats:
    """The logarithm of the likelihood ratio of the noisy counts of each canary's cells: in against not in."""
    columns = {column.name: column for column in columns_from_json(table.state["columns"])}
    # the number of a person's rows is a column of two-level tables alone
    cells = dict.fromkeys(columns, planted.rows_each) | planted.rows.slice(0, 1).to_pylist()[0]
    keys = np.array([_slot(columns[planted.group], key) for key in planted.keys])
    found = np.zeros(len(keys))
    for each in table.state["measurements"]:
        if planted.group in each["columns"]:
            counts, is_alone = _counts_by_key(each, columns, cells, planted.group)
            ratio = planted.rows_each * (counts - planted.rows_each / 2) / each["sigma"] ** 2
            found += np.where(is_alone, ratio, 0.0)[keys]
    return found


def row_scores(table: SyntheticTable, planted: SessionCanaries) -> Floats:
    """The number of drawn rows with the key of each canary."""
    drawn = Counter(table.to_arrow()[planted.group].to_pylist())
    return np.array([drawn[key] for key in planted.keys], dtype=np.float64)


def _counts_by_key(
    measurement: Mapping[str, Any], columns: Mapping[str, SlotColumn], cells: Mapping[str, Any], group: str
) -> tuple[Floats, Booleans]:
    """The noisy count of a canary's cell for each slot of the group, and whether the slot was not merged."""
    names, merged = measurement["columns"], measurement.get("groups", {})
    maps = {name: np.asarray(merged.get(name, np.arange(columns[name].size))) for name in names}
    values = np.asarray(measurement["values"], dtype=np.float64).reshape([maps[name].max() + 1 for name in names])
    place = tuple(maps[name] if name == group else maps[name][_slot(columns[name], cells[name])] for name in names)
    return values[place], np.bincount(maps[group])[maps[group]] == 1


def _slot(column: SlotColumn, value: Any) -> int:
    """The slot of a value."""
    if value is None or (column.values and value not in column.values):
        return column.missing
    edges: tuple[Any, ...] = column.edges[1:-1]
    return column.values.index(value) if column.values else bisect_right(edges, value)


def _require_table(made: Any, group: str) -> SyntheticTable:
    if not isinstance(made, SyntheticTable) or group not in made.columns:
        raise ParameterError(
            f"an audit of a {type(made).__name__}",
            because=f"canaries are guessed from a synthetic table with the column {group!r}",
            instead=f"return session.release(dp.table(...).synthesize(..., columns=[{group!r}]), epsilon=1)",
        )
    return made
