"""Audits of a whole pipeline in one run: canaries are put in by coin tosses, and the output is asked which came in.

A canary is a person who does not exist. Each of m canaries is put in by a fair coin of its own, the pipeline runs once,
and from the output alone r guesses are made, each "it is in" or "it is not". A pipeline that keeps a claim of privacy
lets only so many guesses be right:

    (epsilon, delta)   P[W >= v] <= f(v) + (m delta/v) f(v) (1 - f(v))/b(v), where f and b are the upper tail and the
                       probability of Binomial(r, e^epsilon/(1 + e^epsilon)). No smaller bound holds for all pipelines.
    rho, mu            P[W >= v] <= the largest probability whose consequences for fewer right guesses sum to at most
                       one. Every (epsilon, delta) that the claim implies is used at once, so no delta is chosen.

The bound on the parameter is the least one that allows what was seen with a probability above the alarm rate. Proofs:
docs/proofs/auditing/one-run.md.

Assumed, and for you to see to:

- The coins decide nothing but which canaries come in, and `score` sees the output and nothing else of the run.
- Adding or removing one canary, for any others, is a step between neighbours of the claim. A canary of two
  units, or canaries under a contribution bound that they share, tests another claim. Under replace-one a pipeline puts
  a stand-in in the place of each canary that is left out.
- `guesses` and `middle` are chosen before the run; `guesses="best"` pays for choosing among a fixed list.

Canaries that disturb each other make the bound weaker, never wrong. One run says little of the noise that all
canaries share: a pipeline that leaks everything once in a thousand runs passes nearly all audits like this one.

References: Steinke, Nasr and Jagielski, Privacy Auditing with One (1) Training Run, NeurIPS 2023 (the audit; the bound
for delta = 0; for delta > 0 ours is tight, theirs is not). Mahloujifar, Melis and Chaudhuri, Auditing f-Differential
Privacy in One Run, ICML 2025 (the recursion for trade-off curves).
"""

import itertools
import math
import secrets
import time
from collections.abc import Callable, Iterable, Mapping, Sequence, Sized
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from scipy.special import gammaln, logsumexp

from discreet.auditing.arguments import checked_alarm, checked_claim
from discreet.auditing.claims import ApproximateDP, Claim
from discreet.auditing.finding import Finding, Verdict
from discreet.errors import ParameterError, short_traceback
from discreet.exact.numbers import whole
from discreet.release.release import Release

Canary = TypeVar("Canary")
Output = TypeVar("Output")
Floats = NDArray[np.float64]
Booleans = NDArray[np.bool_]

LAYER = "one run"
SHARES = (1.0, 2 / 3, 1 / 2, 1 / 3, 1 / 5, 1 / 10, 1 / 20)
FEWEST_GUESSES = 8

_ROUNDS, _AT_ONCE = 4, 32
_LEAST_CHANCE, _LEAST_PARAMETER, _LARGEST_PARAMETER = 1e-15, 1e-4, 600.0
_TOUCHED_AT = np.geomspace(1e-9, 0.5, 24)
_ROUNDING = 1e-9
_BARS = 30


@dataclass(frozen=True)
class GuessResult:
    """How a number of guesses went: how many were right, how likely that is under the claim, and what it implies."""

    guesses: int
    correct: int
    chance: float
    found: float


@short_traceback
def one_run(
    pipeline: Callable[[list[Canary]], Output],
    canaries: Sequence[Canary],
    *,
    score: Callable[[Output, Canary], float],
    claim: Claim,
    guesses: int | Literal["best"] = "best",
    middle: float | None = None,
    alarm: float = 1e-3,
    generator: np.random.Generator | None = None,
    name: str | None = None,
) -> Finding:
    """Audit of a whole pipeline in one run: random canaries are included, and guesses bound what it reveals.

    Args:
        pipeline: Function from the included canaries to any output; it is run once.
        canaries: The canaries; a coin decides about each.
        score: Function of output and canary alone; a higher score means that the canary is more likely in.
        claim: Claim about one canary: `auditing.claim(epsilon=1)`.
        guesses: Number of canaries to guess about, those with the most extreme scores. "best" tries several numbers.
            Default "best".
        middle: Score at which in and out are equally likely. Default: the higher half of the guesses is called in.
        alarm: Probability that a true claim is called broken, and that `found` is too high. Default 0.001.
        generator: Generator of the coins, for tests. Default: the operating system.
        name: Name of the subject in the finding. Default: that of the object.

    Returns:
        The finding.

    Raises:
        ParameterError: If an argument is outside its range or of another kind.

    Example:
        >>> import discreet as dp
        >>> finding = dp.auditing.one_run(
        ...     lambda included: set(included),
        ...     range(100),
        ...     score=lambda output, canary: canary in output,
        ...     claim=dp.auditing.claim(epsilon=1),
        ... )
        >>> finding.is_broken
        True
    """
    checked_claim(claim)
    checked_alarm(alarm)
    start = time.perf_counter()
    numbers = _numbers_of_guesses(guesses, _number_of_canaries(canaries))
    is_in = _coin_flips(len(canaries), generator)
    subject = name or getattr(pipeline, "__name__", type(pipeline).__name__)
    told: dict[str, Any] = {"subject": subject, "layer": LAYER, "claim": str(claim), "stated": claim.value}
    try:
        output = pipeline([canary for canary, chosen in zip(canaries, is_in, strict=True) if chosen])
    except Exception as error:  # noqa: BLE001 - any exception of a pipeline is an outcome
        why = f"the pipeline raised {type(error).__name__}, so there was nothing to score"
        return Finding(**told, verdict=Verdict.VOID, evidence=why, seconds=time.perf_counter() - start)
    scores = _scores(score, output, canaries)
    level = alarm / len(numbers)
    tried = [_evaluate(scores, is_in, number, middle, claim, level) for number in numbers]
    best = max(tried, key=lambda each: (each.found, -each.chance))
    evidence = (
        f"{best.correct} of {best.guesses} guesses about {len(canaries)} canaries were right; the claim allows that "
        f"with probability {best.chance:.2g}"
    )
    return Finding(
        **told,
        verdict=Verdict.BROKEN if min(each.chance for each in tried) <= level else Verdict.NOTHING_FOUND,
        evidence=evidence,
        found=best.found,
        samples=1,
        alarm=alarm,
        seconds=time.perf_counter() - start,
        detail=_detail(scores, is_in, tried),
    )


def chance(correct: int, *, guesses: int, canaries: int, claim: Claim) -> float:
    """The most that the probability of so many right guesses, or more, can be if the claim holds."""
    if correct <= 0:
        return 1.0
    if isinstance(claim, ApproximateDP):
        return float(_worst_tail(correct, guesses, canaries, np.array([claim.value]), float(claim.delta))[0])

    def is_possible(tails: Floats) -> Booleans:
        stated = np.full(len(tails), claim.value)
        return _least_sum(tails, correct, guesses, canaries, claim, stated) <= 1 + _ROUNDING

    return _crossing(is_possible, _LEAST_CHANCE, 1.0)[1]


def bound(correct: int, *, guesses: int, canaries: int, claim: Claim, alarm: float) -> float:
    """The parameter of the claim below which so many right guesses have at most the probability `alarm`."""
    if correct <= 0:
        return 0.0

    def is_rejected(parameters: Floats) -> Booleans:
        if isinstance(claim, ApproximateDP):
            return _worst_tail(correct, guesses, canaries, parameters, float(claim.delta)) <= alarm
        tails = np.full(len(parameters), alarm)
        return _least_sum(tails, correct, guesses, canaries, claim, parameters) > 1 + _ROUNDING

    return _crossing(is_rejected, _LEAST_PARAMETER, _LARGEST_PARAMETER)[0]


def choose_guesses(scores: Floats, guesses: int, middle: float | None = None) -> tuple[Booleans, Booleans]:
    """About which canaries to guess, and which of all to call in; along the last axis. Ties go by position."""
    size = scores.shape[-1]
    if middle is None:
        places = _places(scores)
        is_called_in = places >= size - math.ceil(guesses / 2)
        return is_called_in | (places < guesses // 2), is_called_in
    return _places(np.abs(scores - middle)) >= size - guesses, scores > middle


@dataclass(frozen=True)
class TableCanary:
    """One canary of a table: its unit, the key that nobody else has, and its place among the canaries."""

    unit: Any
    key: Any
    place: int


@dataclass(frozen=True)
class SessionCanaries:
    """Canaries for a table, each in a group of its own, where one count says whether it is in."""

    table: pa.Table
    rows: pa.Table
    canaries: tuple[TableCanary, ...]
    group: str
    rows_each: int = 1

    @property
    def keys(self) -> list[Any]:
        """The keys of the canaries, to declare as public and to group by."""
        return [canary.key for canary in self.canaries]

    def table_with(self, included: Iterable[TableCanary]) -> pa.Table:
        """The table with the rows of some canaries at its end."""
        places = np.array([canary.place for canary in included], dtype=np.int64).repeat(self.rows_each)
        return pa.concat_tables([self.table, self.rows.take(places)])

    def score(self, release: Release, canary: TableCanary) -> float:
        """What a release counts, in its first output, for the group of a canary; one half is the middle."""
        keys = next(key for key in release.keys if key.name == self.group).values
        is_here = canary.place < len(keys) and keys[canary.place] == canary.key
        place = canary.place if is_here else keys.index(canary.key)
        return float(release.outputs[0].values[place] or 0)


@short_traceback
def session_canaries(
    table: pa.Table,
    count: int,
    *,
    privacy_unit: str,
    group: str,
    values: Mapping[str, Any] | None = None,
    rows_each: int = 1,
) -> SessionCanaries:
    """Canaries for a table that a session will protect: each has an unused id and an unused key.

    A pipeline protects `table_with(included)`, declares `keys` and releases a count by `group`.

    Args:
        table: The table.
        count: Number of canaries.
        privacy_unit: Column of the privacy unit.
        group: Column of the key.
        values: Values of other columns of the canaries. Default: missing.
        rows_each: Number of equal rows of each canary. Default 1.

    Returns:
        The canaries, with `table_with`, `keys` and `score` for `one_run`.

    Raises:
        ParameterError: If an argument is outside its range or of another kind.

    Example:
        >>> import discreet as dp
        >>> visits = dp.datasets.visits(100)
        >>> planted = dp.auditing.session_canaries(visits, 20, privacy_unit="patient_id", group="ward")
        >>> len(planted.canaries)
        20
    """
    for column in (privacy_unit, group, *(values or {})):
        if column not in table.column_names:
            raise ParameterError(
                f"column {column!r}", because="the table has none of that name", instead=f"one of {table.column_names}"
            )
    units, keys = _unseen(table[privacy_unit], count, "canary"), _unseen(table[group], count, "canary group")
    filled = {column: [value] * count for column, value in (values or {}).items()}
    cells = {privacy_unit: units, group: keys, **filled}
    rows = {field.name: pa.array(cells.get(field.name, [None] * count), field.type) for field in table.schema}
    planted = (TableCanary(unit, key, place) for place, (unit, key) in enumerate(zip(units, keys, strict=True)))
    each = whole(rows_each, "rows_each", least=1)
    return SessionCanaries(table, pa.table(rows, schema=table.schema), tuple(planted), group, each)


def _unseen(column: pa.ChunkedArray, count: int, what: str) -> list[Any]:
    """Values of a column's type that it does not have."""
    seen = set(column.to_pylist())
    if pa.types.is_integer(column.type):
        unused = itertools.filterfalse(seen.__contains__, itertools.count(1))
        return list(itertools.islice(unused, count))
    candidates = (f"{what} {number}" for number in range(count + len(seen)))
    return [value for value in candidates if value not in seen][:count]


def _number_of_canaries(canaries: object) -> int:
    if not isinstance(canaries, Sized) or not len(canaries):
        raise ParameterError(
            "no canaries" if isinstance(canaries, Sized) else f"canaries of type {type(canaries).__name__}",
            because="each is given to the pipeline or not, and asked for by its score",
            instead="range(1_000), or session_canaries(visits, 1_000, ...).canaries",
        )
    return len(canaries)


def _numbers_of_guesses(guesses: int | Literal["best"], canaries: int) -> list[int]:
    if guesses == "best":
        numbers = sorted({round(share * canaries) for share in SHARES}, reverse=True)
        return [number for number in numbers if number >= FEWEST_GUESSES] or [canaries]
    if isinstance(guesses, bool | str) or not hasattr(guesses, "__index__") or not 1 <= guesses <= canaries:
        raise ParameterError(
            f"guesses={guesses!r}",
            because=f"there are {canaries} canaries to guess about",
            instead=f'guesses={canaries}, or "best"',
        )
    return [guesses]


def _coin_flips(number: int, generator: np.random.Generator | None) -> Booleans:
    """Fair coins."""
    drawn = generator.bytes(number) if generator else secrets.token_bytes(number)
    is_in: Booleans = np.frombuffer(drawn, np.uint8) % 2 == 1
    return is_in


def _scores(score: Callable[[Output, Canary], float], output: Output, canaries: Sequence[Canary]) -> Floats:
    scores = np.array([_number(score(output, canary)) for canary in canaries])
    if np.isnan(scores).any():
        raise ParameterError(
            "a score that is NaN",
            because="scores are compared",
            instead="a number: math.inf for what shows that a canary is in, such as a NaN in the output",
        )
    return scores


def _number(score: Any) -> float:
    try:
        if not isinstance(score, str | bytes):
            return float(score)
    except (TypeError, ValueError, OverflowError):
        pass
    raise ParameterError(
        f"a score of type {type(score).__name__}",
        because="scores are compared as numbers: higher means that a canary is more likely in",
        instead="a number, such as 1.0 for what shows that a canary is in, and 0.0 otherwise",
    )


def _evaluate(
    scores: Floats, is_in: Booleans, guesses: int, middle: float | None, claim: Claim, level: float
) -> GuessResult:
    about, is_called_in = choose_guesses(scores, guesses, middle)
    correct = int(np.count_nonzero(about & (is_called_in == is_in)))
    size = len(scores)
    return GuessResult(
        guesses,
        correct,
        chance(correct, guesses=guesses, canaries=size, claim=claim),
        bound(correct, guesses=guesses, canaries=size, claim=claim, alarm=level),
    )


def _detail(scores: Floats, is_in: Booleans, tried: Sequence[GuessResult]) -> dict[str, Any]:
    finite = np.isfinite(scores)
    edges = np.histogram_bin_edges(scores[finite], bins=_BARS) if finite.any() else np.array([0.0, 1.0])
    return {
        "canaries": len(scores),
        "included": int(is_in.sum()),
        "tried": [dict(vars(each)) for each in tried],
        "edges": edges.tolist(),
        "scores_of_included": np.histogram(scores[finite & is_in], edges)[0].tolist(),
        "scores_of_others": np.histogram(scores[finite & ~is_in], edges)[0].tolist(),
    }


def _places(scores: Floats) -> NDArray[np.intp]:
    """The place of each score among all, from the lowest; equal scores stand in their own order."""
    return np.argsort(np.argsort(scores, axis=-1, kind="stable"), axis=-1, kind="stable")


def _worst_tail(correct: int, guesses: int, canaries: int, epsilons: Floats, delta: float) -> Floats:
    """P[W >= correct] at its worst, for each epsilon: (d) of the proof."""
    right = np.arange(guesses + 1)
    ways = gammaln(guesses + 1) - gammaln(right + 1) - gammaln(guesses - right + 1)
    log_right = -np.log1p(np.exp(-epsilons))[:, None]
    logs = ways + right * log_right + (guesses - right) * (log_right - epsilons[:, None])
    tail, rest = logsumexp(logs[:, correct:], axis=1), logsumexp(logs[:, :correct], axis=1)
    with np.errstate(over="ignore"):
        more = canaries * delta / correct * np.exp(tail + rest - logs[:, correct]) if delta else 0.0
    return np.minimum(1.0, np.exp(tail) + more)


def _least_sum(tails: Floats, correct: int, guesses: int, canaries: int, claim: Claim, parameters: Floats) -> Floats:
    """The least that P[W >= 0] can be where P[W >= correct] is `tails`, for each parameter: (e) of the proof."""
    lines = [claim.lines(parameters, other) for other in _TOUCHED_AT]
    slopes, intercepts = np.array([line.slopes for line in lines]), np.array([line.intercepts for line in lines])
    tail, above = tails.copy(), np.zeros_like(tails)
    for right in range(correct, 0, -1):
        here = (right * tail + above) / canaries
        above += tail
        there = np.maximum((here - intercepts) / slopes, 1 - intercepts - slopes * (1 - here)).max(axis=0)
        needed = (canaries * np.maximum(0.0, there) + above) / (guesses - right + 1)
        tail = np.minimum(2.0, np.maximum(tail, needed))
    return tail


def _crossing(holds: Callable[[Floats], Booleans], low: float, high: float) -> tuple[float, float]:
    """Where what holds for small numbers ceases to: the last number tried at which it held, the first at which not."""
    last, first = 0.0, high
    for _ in range(_ROUNDS):
        tried = np.geomspace(low, high, _AT_ONCE)
        held = int(np.argmin(np.append(holds(tried), False)))
        last = float(tried[held - 1]) if held else last
        first = float(tried[held]) if held < _AT_ONCE else high
        if held in (0, _AT_ONCE):
            break
        low, high = last, first
    return last, first
