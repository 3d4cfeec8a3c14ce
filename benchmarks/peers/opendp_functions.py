"""OpenDP without Polars: maps that promise less than two evaluations show. Numbers are those of its issues."""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from peers.fault import Fault, Found, apart, audited

from discreet.auditing.claims import claim
from discreet.auditing.self_audit.queries import audited_at_once

KEYS = 100_000


def _prelude() -> Any:
    prelude = __import__("opendp.prelude").prelude
    prelude.enable_features("contrib")
    return prelude


def _integers(dp: Any, size: int) -> Any:
    return dp.vector_domain(dp.atom_domain(T=int), size=size)


def _l1(one: Sequence[float], other: Sequence[float]) -> float:
    return sum(abs(a - b) for a, b in zip(one, other, strict=True))


def _threshold() -> Found:
    """One release of 100,000 keys of one person each: every key is a run of its own."""
    dp = _prelude()
    counts = dp.t.make_count_by(dp.vector_domain(dp.atom_domain(T=str)), dp.symmetric_distance())
    release = counts >> dp.m.then_laplace_threshold(scale=1.0, threshold=5)
    epsilon, delta = release.map(1)

    names = [str(key) for key in range(KEYS)]
    one, other = (np.isin(names, list(release(people))) for people in (names, []))
    finding = audited_at_once(one, other, claim=claim(epsilon=epsilon, delta=delta), alarm=1e-3, name="threshold")
    found = f"keys shown: {one.mean():.4f}; epsilon >= {finding.found:.3g} at that delta"
    return Found(f"epsilon {epsilon:.3g}, delta {delta:.4f}", found, finding.samples, holds=not finding.is_broken)


def _squared_deviations() -> Found:
    dp, low, size = _prelude(), 2.0**50, 1024
    domain = dp.vector_domain(dp.atom_domain(bounds=(low, low + 1), nan=False), size=size)
    made = dp.t.make_sum_of_squared_deviations(domain, dp.symmetric_distance())
    one, other = [low + 0.25] * size, [low + 0.5] + [low + 0.25] * (size - 1)
    return apart(made.map(2), abs(made(one) - made(other)))


def _tree_in_l2() -> Found:
    dp = _prelude()
    made = dp.t.make_b_ary_tree(_integers(dp, 4), dp.l2_distance(T=int), leaf_count=4, branching_factor=4)
    return apart(made.map(2), math.dist(made([0] * 4), made([1] * 4)))


def _tree_that_overflows() -> Found:
    dp = _prelude()
    made = dp.t.make_b_ary_tree(_integers(dp, 2), dp.l1_distance(T=int), leaf_count=2, branching_factor=2)
    most = 2**31 - 1
    return apart(made.map(1), _l1(made([most, 0]), made([most, 1])))


def _order_lost() -> Found:
    dp = _prelude()
    made = dp.t.make_metric_bounded(_integers(dp, 3), dp.insert_delete_distance())
    return apart(made.map(2), sum(a != b for a, b in zip(made([0, 1, 2]), made([1, 2, 3]), strict=True)))


def _resize_that_shuffles() -> Found:
    """Insertions and deletions between [2, 1, 0], which [0, 1, 2] may become, and what [0, 1, 2, 9] becomes."""
    dp = _prelude()
    made = dp.t.make_resize(
        dp.vector_domain(dp.atom_domain(T=int)),
        dp.insert_delete_distance(),
        size=3,
        constant=0,
        MO="InsertDeleteDistance",
    )
    longer = made([0, 1, 2, 9])
    return apart(made.map(1), max(_edits(longer, made([0, 1, 2])) for _ in range(200)))


def _edits(one: Sequence[int], other: Sequence[int]) -> int:
    """The least number of insertions and deletions: what the longest common subsequence leaves."""
    longest = [[0] * (len(other) + 1) for _ in range(len(one) + 1)]
    for i, a in enumerate(one):
        for j, b in enumerate(other):
            longest[i + 1][j + 1] = longest[i][j] + 1 if a == b else max(longest[i][j + 1], longest[i + 1][j])
    return len(one) + len(other) - 2 * longest[-1][-1]


def _bits_of_any_length() -> Found:
    dp = _prelude()
    made = dp.m.make_randomized_response_bitvec(dp.bitvector_domain(max_weight=1), dp.discrete_distance(), f=0.5)
    return audited(made, b"\x01", b"\x01\x00", 500, epsilon=made.map(1))


def _fault(issue: int, name: str, show: Callable[[], Found]) -> Fault:
    return Fault("opendp", name, f"issue {issue}", show, ("opendp.prelude",))


FAULTS = (
    _fault(2922, "a threshold with >=, its delta for >", _threshold),
    _fault(2923, "sum of squared deviations: the mean rounds", _squared_deviations),
    _fault(2924, "a tree of sums in L2", _tree_in_l2),
    _fault(2925, "a tree of sums that overflows", _tree_that_overflows),
    _fault(2926, "an ordered metric taken for an unordered one", _order_lost),
    _fault(2927, "a resize that shuffles what has the size already", _resize_that_shuffles),
    _fault(2930, "randomized response shows how long the input is", _bits_of_any_length),
)
