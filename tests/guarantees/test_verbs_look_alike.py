"""Every kind of question looks the same on neighbours in everything but what it releases."""

import pyarrow as pa
import pytest

import discreet as dp
from discreet.auditing.finding import Verdict
from discreet.auditing.side_channels.audit import compare_calls
from discreet.sandbox import Limits

T = dp.table("t")
ROWS = [("a", "A", 1), ("b", "B", 2), ("c", "B", 9), ("d", "C", 9)]
WORDS = {"name": "t", "privacy_unit": "id", "max_rows": 2, "keys": {"w": ["A", "B", "C"]}}
BUDGET = dp.Budget(epsilon=9, delta=2e-9, reserved_delta=1e-9)
LIMITS = Limits(seconds=5, constant_time=False)
ALIKE = ("status", "error", "cost", "ledger", "log", "warnings", "printed", "files")


def table(rows):
    return pa.table(dict(zip(("id", "w", "x"), map(list, zip(*rows, strict=True)), strict=True)))


def biggest(rows):
    return max(rows["x"].to_pylist())


def watched(session):
    with session.above_threshold(threshold=10**6, epsilon=0.1) as watch:
        return watch.ask(T.group_by("w", max_rows_per_group=1).agg(n=dp.count()))


MEAN, MEDIAN = T.agg(m=dp.mean("x", bounds=(0, 9))), T.agg(m=dp.median("x", bounds=(0, 9)))
CALLS = {
    "choice": lambda s: s.release(T.choose(["A", "B", "C"], score=dp.score(by="w")), epsilon=0.1),
    "price": lambda s: s.release(
        T.choose([1, 5, 9], score=dp.score(by="x", side="or above", times=[1, 5, 9])), epsilon=0.1
    ),
    "above threshold": watched,
    "mean": lambda s: s.release(MEAN, epsilon=0.1, method=dp.SmoothSensitivity()),
    "median": lambda s: s.release(MEDIAN, epsilon=0.1, method=dp.SmoothSensitivity()),
    "proposed": lambda s: s.release(MEAN, epsilon=0.1, method=dp.ProposedBound(bound=5, delta=1e-12)),
    "blocks": lambda s: s.release(T.apply(biggest, columns=["x"], blocks=2, bounds=(0, 9), limits=LIMITS), epsilon=0.1),
}


@pytest.mark.guarantee("verbs look alike on neighbours beside what they release")
def test_every_verb_looks_alike_on_neighbours_and_on_nobody():
    """Exact comparisons of channels that hold no noise: no false alarms."""

    def opened(rows):
        return dp.Session.protect(rows, budget=BUDGET, **WORDS)

    types = {"schema": pa.schema([("id", pa.string()), ("w", pa.string()), ("x", pa.int64())])}
    nobody = pa.table({"id": [], "w": [], "x": []}, **types)
    for one, other in ((table(ROWS), table(ROWS[1:])), (table(ROWS[:1]), nobody)):
        findings = compare_calls(opened, one, other, [T.agg(n=dp.count())], calls=CALLS, repeats=2)
        judged = {finding.detail["channel"]: finding for finding in findings}
        for channel in ALIKE:
            assert judged[channel].verdict is Verdict.NOTHING_FOUND, (channel, judged[channel].evidence)
