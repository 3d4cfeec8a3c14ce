"""One question of every kind, over small tables in memory: what golden ledgers and golden fingerprints are made of.

A golden ledger is written once, by the commit that it is named after, and never again:
    git worktree add ../then <commit>
    PYTHONPATH=../then/src python tests/golden_questions.py tests/golden/ledger/<name>.sqlite
Beside the ledger stands what was answered, as JSON.
"""

import datetime as dt
import hashlib
import json
import os
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

import discreet as dp
from discreet.catalog.catalog import Table
from discreet.ledger import SQLiteLedger
from discreet.sandbox import Limits

COLUMNS = """{
      id: {type: integer},
      region: {type: text, keys: [N, S]},
      ward: {type: text, keys: [A, B, C, D]},
      drug: {type: text},
      age: {type: integer, bounds: [0, 100]},
      cost: {type: real, bounds: [0, 50], grid: 1/100, missing: 0},
      fee: {type: real, bounds: [-50, 50]},
      seen: {type: date},
      urgent: {type: boolean},
      visit: {type: integer}}"""
CATALOG = """
tables:
  pure:
    privacy_unit: id
    max_rows: 2
    rows: 400
    budget: {epsilon: 90, ceiling: 100, reason: golden}
    columns: COLUMNS
  mixed:
    privacy_unit: id
    max_rows: 2
    max_groups: 2
    budget: {epsilon: 90, delta: 5e-7, reserved_delta: 3e-7, ceiling: 100, reason: golden}
    columns: COLUMNS
  replaced:
    privacy_unit: id
    neighbours: replace_one
    missing_units: one_unit
    sampling: portable
    max_rows: 2
    max_rows_per_group: 1
    budget: {epsilon: 90, delta: 5e-7, ceiling: 100, reason: golden}
    columns: COLUMNS
  rows:
    privacy_unit: dp.ROW
    budget: {epsilon: 90, ceiling: 100, reason: golden}
    columns: COLUMNS
  stays:
    privacy_unit: {through: pure, on: {visit: visit}}
    max_rows: 2
    budget: {epsilon: 90, ceiling: 100, reason: golden}
    columns: {visit: {type: integer}, nights: {type: integer, bounds: [0, 9]}}
  wards:
    public: true
    columns: {ward: {type: text}, beds: {type: integer, bounds: [0, 90]}}
"""
DATED = """
  visits-2026-10:
    privacy_unit: id
    max_rows: 1
    fixed_schema: true
    budget: {epsilon: 90, ceiling: 100, reason: golden}
    columns: COLUMNS
    slice: {of: visits, column: seen, start: 2026-10-01, end: 2026-11-01}
  dated:
    privacy_unit: id
    max_rows: 3
    fixed_schema: true
    budget: {epsilon: 90, delta: 5e-7, ceiling: 100, reason: golden}
    columns: COLUMNS
"""
"""Tables of which dates are asked: the owner states that their columns were declared, which came later."""
NUMBERS = range(200)
ROWS = pa.table(
    {
        "id": [i // 2 for i in NUMBERS],
        "region": ["NNSS"[i % 4] for i in NUMBERS],
        "ward": ["ABCD"[i % 4] for i in NUMBERS],
        "drug": [f"drug {i % 3}" for i in NUMBERS],
        "age": [20 + i % 60 for i in NUMBERS],
        "cost": [i % 50 / 2 for i in NUMBERS],
        "fee": [i % 40 / 4 for i in NUMBERS],
        "seen": [dt.date(2026, 10, 1 + i % 28) for i in NUMBERS],
        "urgent": [i % 5 == 0 for i in NUMBERS],
        "visit": list(NUMBERS),
    }
)
SOURCES = {
    **dict.fromkeys(("pure", "mixed", "replaced", "rows", "visits-2026-10", "dated"), ROWS),
    "stays": pa.table({"visit": list(NUMBERS), "nights": [i % 7 for i in NUMBERS]}),
    "wards": pa.table({"ward": ["A", "B", "C"], "beds": [10, 20, 30]}),
}
AREAS = pa.table({"region": ["N", "N", "S", "S"], "ward": ["A", "B", "C", "D"]})
PURE, MIXED, REPLACED, EACH_ROW, STAYS, WARDS = map(dp.table, ("pure", "mixed", "replaced", "rows", "stays", "wards"))
MONTH, DATED_ROWS = dp.table("visits-2026-10"), dp.table("dated")
FUNCTION = "def middle(table):\n    values = sorted(table['age'].to_pylist())\n    return values[len(values) // 2]\n"
LIMITS = Limits(seconds=2, workers=1, rest=1, constant_time=False)
SAMPLED: dict[str, Any] = {"columns": ["age"], "blocks": 4, "bounds": (0, 100), "limits": LIMITS}

Ask = Callable[[dp.Session], Any]


def released(query: Any, **price: Any) -> Ask:
    return lambda session: session.release(query, **price)


def every_aggregate(table: Any) -> Any:
    return table.group_by("ward").agg(
        n=dp.count(),
        people=dp.count_units(weight=2),
        drugs=dp.count_distinct("drug", domain=["drug 0", "drug 1"]),
        total=dp.sum("cost"),
        years=dp.sum(table.age + 1, bounds=(1, 101)),
        mean=dp.mean("cost", bounds=(0, 40)),
        variance=dp.variance("age"),
        deviation=dp.std("cost", grid=1),
    )


def narrowed(table: Any) -> Any:
    kept = table.derive(decade=(table.age / 10).cast("integer"), late=table.seen >= "2026-10-15").where(
        ~(table.ward.is_in(["A", "B"]) | (table.cost <= 1.5)) & table.age.is_present(),
        table.urgent == False,  # noqa: E712
    )
    return kept.group_by("decade", "late", keys={"decade": range(2, 8)}).agg(n=dp.count())


DAYS = [(dt.date(2026, 10, first), dt.date(2026, 10, last)) for first in (1, 8, 15) for last in (16, 22, 29)]
FOUND = dp.discover(delta=1e-8)
SCORE = dp.score(by="ward")
ABOVE = dp.score(by="age", side="or above", of=dp.sum("cost"))
BELOW = dp.score(by="age", side="below", near=50)
SMOOTH = dp.SmoothSensitivity()
MEAN, MEDIAN = PURE.agg(age=dp.mean("age")), PURE.agg(age=dp.median("age"))
GAUSSIAN_MEDIAN = MIXED.agg(age=dp.median("age"))
COUNT, TOTAL = PURE.agg(n=dp.count()), PURE.group_by("ward").agg(total=dp.sum("cost"))
MIXED_COUNT = MIXED.group_by("region").agg(n=dp.count())

QUESTIONS: dict[str, Ask] = {
    "every aggregate": released(every_aggregate(PURE), epsilon=1),
    "every aggregate, gaussian": released(every_aggregate(MIXED), epsilon=1),
    "every aggregate, one replaced": released(every_aggregate(REPLACED), epsilon=1),
    "every aggregate, each row": released(every_aggregate(EACH_ROW), epsilon=1),
    "every aggregate of a month": released(every_aggregate(MONTH), epsilon=1),
    "a condition": released(narrowed(DATED_ROWS), epsilon=0.5),
    "rho": released(MIXED_COUNT, rho=0.01),
    "laplace asked for": released(MIXED_COUNT, epsilon=0.5, mechanism="laplace"),
    "caps of a grouping": released(
        MIXED.group_by("ward", max_groups=1, max_rows_per_group=1).agg(n=dp.count()), rho=0.02
    ),
    "a histogram": released(PURE.histogram("age", bins=range(0, 101, 25), missing=True), epsilon=0.5),
    "a contingency table": released(PURE.contingency("region", "urgent"), epsilon=0.5),
    "unknown keys": released(MIXED.group_by("drug", keys=FOUND).agg(n=dp.count(), total=dp.sum("cost")), epsilon=2),
    "unknown keys by a threshold": released(
        MIXED.group_by("drug", keys=dp.discover(delta=1e-8, rule="gaussian", at_least=3)).agg(u=dp.count_units()),
        epsilon=2,
    ),
    "quantiles by group": released(PURE.group_by("region").agg(q=dp.quantiles("age", [0.25, 0.5])), epsilon=1),
    "a median": released(MIXED.agg(age=dp.median("age", bounds=(0, 90))), epsilon=1),
    "ranges": released(PURE.ranges("age", [(0, 20), (10, 50), (50, 90)]), epsilon=1),
    "ranges, gaussian": released(DATED_ROWS.ranges("seen", DAYS), epsilon=1),
    "a hierarchy": released(PURE.hierarchy("region", "ward", keys=AREAS), epsilon=1),
    "a hierarchy with a crossing": released(
        MIXED.hierarchy(
            "region",
            keys=pa.table({"region": ["N", "S"] * 2, "urgent": [True, True, False, False]}),
            crossing=["urgent"],
        ),
        epsilon=1,
    ),
    "automatic bounds of a mean": released(PURE.agg(n=dp.count(), m=dp.mean("fee", bounds="auto")), epsilon=2),
    "automatic bounds of sums": released(MIXED.group_by("ward").agg(s=dp.sum("age", bounds="auto")), epsilon=2),
    "bounds": released(PURE.bounds("age"), epsilon=1),
    "bounds by growth": released(PURE.bounds("fee", grid=1, method="growth"), epsilon=1),
    "a batch": released([COUNT, TOTAL], epsilon=0.5),
    "a batch with weights": released([COUNT, TOTAL, MEDIAN], epsilon=0.5, weights=[1, 2, 3]),
    "a batch with a delta": released([MIXED_COUNT, every_aggregate(MIXED)], epsilon=1, delta=1e-8),
    "a join": released(PURE.join(WARDS, on="ward").group_by("ward").agg(beds=dp.sum("beds")), epsilon=1),
    "a join that keeps the unmatched": released(
        PURE.join(WARDS, on="ward", how="left", names={"beds": "size"}).agg(beds=dp.sum("size")), epsilon=1
    ),
    "features of a unit": released(
        PURE.where(PURE.age > 30)
        .per_unit(visits=dp.count(), spent=dp.sum("cost"), oldest=dp.largest("age"), usual=dp.mean("cost"))
        .agg(n=dp.count(), spent=dp.mean("spent", bounds=(0, 80))),
        epsilon=1,
    ),
    "a table whose unit is elsewhere": released(STAYS.agg(nights=dp.sum("nights")), epsilon=1),
    "a selection": released(PURE.choose(["A", "B", "C", "D"], score=SCORE), epsilon=0.5),
    "a selection by sums above": released(PURE.choose([20, 40, 60], score=ABOVE), epsilon=0.5),
    "a selection near a number": released(MIXED.choose([20, 40.5], score=BELOW), epsilon=0.5),
    "a selection with factors": released(MIXED.choose(["A", "B"], score=dp.score(by="ward", times=[2, 3])), rho=0.01),
    "the top two": released(
        MIXED.choose(["A", "B", "C", "D"], score=dp.score(by="ward", of=dp.count_units()), top=2), epsilon=0.5
    ),
    "a selection of unknown keys": released(MIXED.choose(FOUND, score=dp.score(by="drug")), epsilon=2),
    "a smooth mean": released(MEAN, epsilon=1, method=SMOOTH),
    "a smooth median": released(MEDIAN, epsilon=1, method=dp.SmoothSensitivity(noise="student_t")),
    "a smooth median, gaussian": released(GAUSSIAN_MEDIAN, rho=0.1, method=SMOOTH),
    "a smooth median with a delta": released(
        GAUSSIAN_MEDIAN, epsilon=1, method=dp.SmoothSensitivity(noise="laplace", delta=1e-8)
    ),
    "smooth quartiles": released(PURE.agg(width=dp.interquartile_range("age")), epsilon=1, method=SMOOTH),
    "a proposed bound": released(GAUSSIAN_MEDIAN, epsilon=2, method=dp.ProposedBound(bound=5, delta=1e-8)),
    "sample and aggregate": released(PURE.apply(FUNCTION, **SAMPLED), epsilon=1),
    "sample and aggregate, median": released(
        PURE.where(PURE.age > 20).apply(FUNCTION, aggregate="median", default=30, grid=1, **SAMPLED), epsilon=1
    ),
    "sample and aggregate, own bounds": released(
        MIXED.apply(FUNCTION, aggregate="mean with bounds of its own", **SAMPLED), epsilon=1
    ),
}


def watched(session: dp.Session) -> Any:
    with session.above_threshold(
        "pure", threshold=90, epsilon=1, answers=2, sensitivity=2, monotone=True, gap=True
    ) as watch:
        watch.ask(COUNT)


def streamed(session: dp.Session) -> Any:
    with session.online_ranges(PURE, "age", edges=range(0, 101, 20), total=200, threshold=90, epsilon=1) as stream:
        stream.ask(20, 60)


OPENINGS: dict[str, Ask] = {"above a threshold": watched, "a stream of ranges": streamed}
"""What is charged whenever it is opened: never repeated, and named all the same."""


OTHER_NOISE = dict.fromkeys(
    (
        "a selection near a number",
        "the top two",
        "a selection of unknown keys",
        "a smooth median, gaussian",
        "a smooth median with a delta",
        "a proposed bound",
        "sample and aggregate, own bounds",
    ),
    "it is under a delta, where its noise is another now; format 0 took in the noise",
)
"""What format 0 of fingerprints does not find any more."""


def opened(ledger: Any, *, dated: bool = True, kind: type[dp.Session] = dp.Session, **changes: Any) -> dp.Session:
    text = CATALOG + (DATED if dated else "")
    catalog = dp.Catalog.parse(text.replace("COLUMNS", COLUMNS))
    sources = {name: rows for name, rows in SOURCES.items() if name in catalog.tables}
    return kind(catalog, sources=sources, ledger=ledger, **changes)


def told(answer: Any) -> str:
    """The digest of an answer as plain data, its receipt included; not whether it was repeated."""
    return hashlib.sha256(json.dumps(_plain(answer), sort_keys=True).encode()).hexdigest()


def _plain(answer: Any) -> Any:
    if isinstance(answer, list):
        return [_plain(each) for each in answer]
    if hasattr(answer, "to_json"):
        return answer.to_json()
    return {
        "values": [str(value) for value in answer.values],
        "candidates": answer.candidates,
        "within": str(answer.within),
        "guarantee": answer.guarantee,
        "receipt": answer.receipt,
    }


def charged(session: dp.Session, ask: Ask) -> tuple[Any, list[tuple[str, str]]]:
    """What is answered, and the datasets with the names under which the ledger keeps it."""
    before = {name: len(session.history(name)) for name in session.catalog.protected_tables}
    answer = ask(session)
    entries = [(name, e) for name in before for e in session.history(name)[before[name] :]]
    return answer, [(name, entry.question) for name, entry in entries if entry.event]


def write(target: Path, home: Path, names: Sequence[str] | None = None) -> None:
    """Ask everything, or what is named, under a new ledger, and write down what is answered."""
    answers: dict[str, Any] = {}
    dated = "fixed_schema" in Table.model_fields
    asked = {name: ask for name, ask in (QUESTIONS | OPENINGS).items() if names is None or name in names}
    with SQLiteLedger(target, key=home / "key", anchors=home / "anchors") as ledger:
        with opened(ledger, dated=dated) as session:
            for name, ask in asked.items():
                try:
                    answer, known_by = charged(session, ask)
                except dp.errors.Refusal as refusal:  # of something that this commit did not have
                    print(f"{name}: {refusal}")
                    continue
                answers[name] = {"names": known_by, "answer": None if answer is None else told(answer)}
        found = ledger.verify()
        if not found:
            raise SystemExit(str(found))
    lines = ",\n".join(f" {json.dumps(name)}: {json.dumps(answer)}" for name, answer in answers.items())
    target.with_suffix(".answers.json").write_text(f"{{\n{lines}\n}}\n")


def written(path: Path) -> dict[str, Any]:
    """What a golden ledger was asked: the names under which it keeps each question, and the digest of its answer."""
    answers: dict[str, Any] = json.loads(path.read_text())
    return answers


def repeat(path: Path, home: Path, names: Sequence[str], **options: Any) -> dict[str, Any]:
    """Ask what is named again, and tell what is answered and how many charges that made."""
    ledger = SQLiteLedger(path, key=home / "key", anchors=home / "anchors")
    with ledger, opened(ledger, **options) as session:
        before = sum(len(session.history(name)) for name in session.catalog.protected_tables)
        answers = {name: told(QUESTIONS[name](session)) for name in names}
        charges = sum(len(session.history(name)) for name in session.catalog.protected_tables) - before
    return {"answers": answers, "charges": charges}


if __name__ == "__main__":
    os.umask(0o077)
    with tempfile.TemporaryDirectory() as directory:
        if sys.argv[1] == "--repeat":
            again = repeat(Path(sys.argv[2]), Path(directory), json.loads(sys.argv[3]), **json.loads(sys.argv[4]))
            print(json.dumps(again | {"version": dp.__version__}))
        else:
            write(Path(sys.argv[1]), Path(directory))
