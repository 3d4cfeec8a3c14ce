"""Side channels: every public call of a session on two neighbours, with no noise between them, must look the same.

The same calls are made on two datasets that differ in one unit: protect, explain, release, repeat, fresh, refused
queries, epsilon_for, remaining, history, what `discreet ledger show` prints, a spent budget, close, and calls after
it. What an analyst, a log or a directory listing shows of each is compared, one finding a channel:

    status     whether a call returned, and what kind of thing, or raised
    error      class, text, arguments and notes of an exception and of those behind it, and the lines it passed
    cost       what the ledger says is spent after each call
    keys       the groups of a release, their types and their order
    shape      outputs, sizes, types of numbers, guarantee, receipt: a release without its numbers
    margins    of every output but means, whose margins are made from the noisy numbers
    values     the integers that get noise differ by at most the stated sensitivity, in both norms
    text       str, repr and HTML of everything that is returned; of a release without its numbers
    ledger     every entry of the history
    log        every record of every logger: name, level, text, exception
    warnings   Python's warnings
    printed    standard output and error, of Python and of libraries below it
    files      names, number and modes of files in the home and temporary directories after each call
    time       reported and never judged

Left out, because they differ between two runs on one dataset, or are made from numbers that are released anyway:
moments of the run, hashes, keys, signatures and random names; paths of the sources and of this audit's directories;
noisy numbers, and the widths and margins that follow from them; what lies inside the rooms of `private`, which hold
rows, have mode 0700 and are the engine's; sizes of files that nobody else may list. A hash or a random name is masked
only as long as it is random: one that comes again in every run on one dataset, and never on the other, is a finding.
One run on each cannot tell the two, and a channel with such words is void then. So is one that varies by itself, unless
it never does on one dataset and shows something else on the other: with two runs, that may be chance where few things
are drawn from, and more runs tell. Nothing is vouched for where no session could be made.
Time depends on data and noise, and docs/threat-model.md says so: its finding tells what was measured and leaves it
to you.

Not seen: files that come and go within one call, memory, caches, and what a server or a cluster logs by itself.

`make_session` is `dp.testing.protect` with your words: its exact answers make the numbers comparable, and both sessions
keep the same rows of units that have too many. With a session that adds noise, values are not judged. It is called
several times with an empty home and must name no ledger of its own. Findings quote what differs: use invented data.
"""

import datetime as dt
import itertools
import json
import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from discreet.auditing.arguments import checked_calls, checked_queries, refuse_no_way_to_make_sessions
from discreet.auditing.finding import Finding, Verdict
from discreet.auditing.side_channels.recorder import (
    CHANNELS,
    Observation,
    Witness,
    is_address,
    surroundings,
    within_a_day,
)
from discreet.errors import short_traceback
from discreet.exact.numbers import Number, whole
from discreet.query.frame import Query, count, table
from discreet.release.release import MeasuredColumn, Release
from discreet.session.arguments import table_name
from discreet.session.session import Session

LAYER = "side channels"
CLAIM = "the same {} on neighbours"

_OPENED = "session"
_NOT_CALLED = '"not called"'
_SHOWN = 5
_LONGEST = 400

Run = dict[str, Observation]
Sides = tuple[list[Run], list[Run]]
Calls = Iterator[tuple[str, Callable[[], Any]]]


@short_traceback
def compare_calls(
    make_session: Callable[[Any], Session],
    one: Any,
    other: Any,
    queries: Sequence[Query],
    *,
    epsilon: Number = Fraction(1, 100),
    calls: Mapping[str, Callable[[Session], Any]] | None = None,
    repeats: int = 2,
    name: str | None = None,
) -> list[Finding]:
    """Every public call on two neighbours, compared in all that can be seen of it: one finding for each channel.

    Args:
        make_session: Function that opens a session on a dataset: `lambda rows: dp.testing.protect(rows, ...)`.
        one: A dataset.
        other: Its neighbour.
        queries: Queries that are answered, and some that are refused.
        epsilon: Epsilon of each release; the budget must hold two for each query. Default 0.01.
        calls: Further calls by name: `{"plot": lambda session: ...}`. Default: none.
        repeats: Number of runs on each dataset; a channel that differs between them is void. Default 2.
        name: Name of the subject in the findings. Default "session".

    Returns:
        One finding for each channel.

    Raises:
        ParameterError: If an argument is outside its range or of another kind.

    Example:
        >>> import discreet as dp
        >>> facts = {"name": "visits", "privacy_unit": "patient_id", "max_rows": 3, "budget": dp.Budget(epsilon=2)}
        >>> visits, query = dp.datasets.visits(20), dp.table("visits").agg(n=dp.count())
        >>> def opened(rows):
        ...     return dp.testing.protect(rows, **facts, fixed_schema=True)
        >>> findings = dp.auditing.compare_calls(opened, visits, visits.slice(1), [query], repeats=1)
        >>> len({finding.detail["channel"] for finding in findings}) == len(findings)
        True
    """
    refuse_no_way_to_make_sessions(make_session)
    questions, more, runs = checked_queries(queries), checked_calls(calls), whole(repeats, "repeats")
    start = time.perf_counter()
    script = _Script(make_session, questions, epsilon, more, {}, dt.datetime.now(dt.UTC))
    sides: Sides = ([], [])
    for number in range(runs):
        for side in (0, 1) if number % 2 == 0 else (1, 0):
            sides[side].append(within_a_day(partial(script.run, (one, other)[side])))
    told = {"subject": name or "session", "layer": LAYER, "claim": "", "samples": runs}
    findings = [
        *(_compare_channel(channel, sides, told) for channel in CHANNELS),
        _values(sides[0][0], sides[1][0], told),
        _times(sides, told),
    ]
    seconds = time.perf_counter() - start
    return [replace(finding, claim=CLAIM.format(finding.detail["channel"]), seconds=seconds) for finding in findings]


@dataclass(frozen=True)
class _Script:
    """The calls that are made on each dataset; `orders` is how the first session orders rows that are too many."""

    make_session: Callable[[Any], Session]
    queries: Sequence[Query]
    epsilon: Number
    calls: Mapping[str, Callable[[Session], Any]]
    orders: dict[str, int]
    since: dt.datetime

    def run(self, data: Any) -> Run:
        """What is seen of each call, by name."""
        with surroundings() as places:
            witness = Witness(places, data, self.since)
            session = witness.watch("protect", partial(self.make_session, data))
            if session is None:
                return witness.seen
            witness.session = session
            try:
                _keep_the_same_rows(session, self.orders)
                for call, make in self._calls(session):
                    witness.watch(call, make)
            finally:
                session.close()
            return witness.seen

    def _calls(self, session: Session) -> Calls:
        yield _OPENED, lambda: session
        yield "catalog", session.catalog.to_yaml
        for number, query in enumerate(self.queries):
            yield from self._questions(session, number, query)
        yield from self._refusals(session)
        for call, make in self.calls.items():
            yield call, partial(make, session)
        for each in session.catalog.protected_tables:
            yield f"spend the rest of {each}", partial(self._spend, session, each)
        for number, query in enumerate(self.queries):
            yield f"stored {number}", partial(session.release, query, epsilon=self.epsilon)
            yield f"over budget {number}", partial(session.release, query, epsilon=self.epsilon, fresh=True)
        yield from _books(session)
        yield "close", session.close
        for number, query in enumerate(self.queries):
            yield f"after close {number}", partial(session.release, query, epsilon=self.epsilon, fresh=True)

    def _questions(self, session: Session, number: int, query: Query) -> Calls:
        asked = partial(session.release, query, epsilon=self.epsilon)
        yield f"explain {number}", partial(session.explain, query, epsilon=self.epsilon)
        yield f"epsilon_for {number}", partial(session.epsilon_for, query, margin=1_000)
        yield f"release {number}", asked
        yield f"repeat {number}", partial(asked, confidence=0.5)
        yield f"fresh {number}", partial(asked, fresh=True)

    def _refusals(self, session: Session) -> Calls:
        yield "unknown table", partial(session.release, table("no such table").agg(n=count()), epsilon=self.epsilon)
        for query in self.queries[:1]:
            yield "epsilon 0", partial(session.release, query, epsilon=0)
            yield "epsilon 1000", partial(session.release, query, epsilon=1_000)
            yield "confidence 0", partial(session.release, query, epsilon=self.epsilon, confidence=0)

    def _spend(self, session: Session, name: str) -> Release | None:
        """One release for all that is left of a table's budget."""
        for query in self.queries:
            if table_name(query) == name:
                return session.release(query, epsilon=session.remaining(name).epsilon, fresh=True)
        return None


def _books(session: Session) -> Calls:
    yield "session spent", lambda: session
    yield "verify", session.ledger.verify
    for each in session.catalog.protected_tables:
        yield f"remaining {each}", partial(session.remaining, each)
        yield f"history {each}", partial(session.history, each)
        yield f"ledger show {each}", partial(session.ledger.report, each)


def _keep_the_same_rows(session: Session, orders: dict[str, int]) -> None:
    """The lemma is about one order of rows, and a ledger draws one for each dataset: all take that of the first."""
    for name, engine in session._pipeline.engines.items():  # noqa: SLF001 - no analyst may choose the order
        registration = session.ledger.registration(name)
        if registration is not None:
            engine.adopt(name, orders.setdefault(name, registration.hash_key))


def _compare_channel(channel: str, sides: Sides, told: Mapping[str, Any]) -> Finding:
    """Whether a channel is the same for both datasets in every call and every run."""
    every = list(dict.fromkeys(call for runs in sides for run in runs for call in run))
    calls = [call for call in every if channel == "status" or all(call in run for runs in sides for run in runs)]
    shown = {call: tuple(_channel_values(channel, call, runs) for runs in sides) for call in calls}
    names = {call: _names_of_data(channel, call, sides) for call in calls}
    unlike = [call for call in calls if _is_apart(*shown[call]) or _is_told(names[call], sides)]
    detail = {"channel": channel, "calls": len(calls), "differences": []}
    if unlike:
        listed = [_difference(channel, call, sides) for call in unlike[:_SHOWN]]
        one, other = listed[0]["one"], listed[0]["other"]
        evidence = f"{channel} of {len(unlike)} of {len(calls)} calls: {unlike[0]} shows {one} and {other}"
        verdict, detail["differences"] = Verdict.BROKEN, listed
    else:
        why = _void_reason(channel, sides, shown, names)
        verdict = Verdict.VOID if why else Verdict.NOTHING_FOUND
        evidence = why or f"{channel} of {len(calls)} calls is the same"
    return Finding(**told, verdict=verdict, evidence=evidence, detail=detail)


def _void_reason(
    channel: str, sides: Sides, shown: Mapping[str, Sequence[frozenset[str]]], names: Mapping[str, frozenset[str]]
) -> str:
    """Why a channel in which nothing was found says nothing, or nothing where it does."""
    if not any(_OPENED in run for runs in sides for run in runs):
        return "no session was made on either dataset, so nothing was compared"
    varying = [call for call, each in shown.items() if max(map(len, each)) > 1]
    if varying:
        return f"{channel} of {varying[0]} differs between runs on one dataset, so it was not compared"
    named = [call for call, words in names.items() if words]
    if named and len(sides[0]) == 1:
        return f"{channel} of {named[0]} has words that look random, and one run cannot tell: use repeats=2"
    return f"{channel} of {named[0]} shows an address in memory that came again, perhaps by chance" if named else ""


def _is_apart(one: frozenset[str], other: frozenset[str]) -> bool:
    """Whether one dataset always shows the same, and the other never shows that."""
    return one.isdisjoint(other) and min(len(one), len(other)) == 1


def _is_told(words: frozenset[str], sides: Sides) -> bool:
    """Whether words that look random are not: they came again, and are no addresses, which come again by chance."""
    return len(sides[0]) > 1 and not all(map(is_address, words))


def _channel_values(channel: str, call: str, runs: Sequence[Run]) -> frozenset[str]:
    return frozenset(run[call].channels[channel] if call in run else _NOT_CALLED for run in runs)


def _names_of_data(channel: str, call: str, sides: Sides) -> frozenset[str]:
    """The masked words that come again in every run on one dataset and in none on the other."""
    words = [[run[call].masked[channel] for run in runs if call in run] or [frozenset[str]()] for runs in sides]
    always = [frozenset.intersection(*each) for each in words]
    ever = [frozenset.union(*each) for each in words]
    return (always[0] - ever[1]) | (always[1] - ever[0])


def _difference(channel: str, call: str, sides: Sides) -> dict[str, str]:
    """The first part of a channel that differs, from both datasets; short enough to read."""
    one, other = (json.loads(min(_channel_values(channel, call, runs))) for runs in sides)
    if one == other:
        words = [runs[0][call].masked[channel] for runs in sides]
        one, other = sorted(words[0] - words[1]), sorted(words[1] - words[0])
    one, other = _narrow(one, other)
    return {"call": call, "one": json.dumps(one)[:_LONGEST], "other": json.dumps(other)[:_LONGEST]}


def _narrow(one: Any, other: Any) -> tuple[Any, Any]:
    """Two values down to the first parts in which they differ."""
    if isinstance(one, dict) and isinstance(other, dict) and one.keys() == other.keys():
        pairs = [(one[key], other[key]) for key in one]
    elif isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        pairs = list(zip(one, other, strict=True))
    else:
        return one, other
    unequal = [pair for pair in pairs if pair[0] != pair[1]]
    return _narrow(*unequal[0]) if unequal else (one, other)


def _values(one: Run, other: Run, told: Mapping[str, Any]) -> Finding:
    """Whether the integers of every release are within the stated sensitivity of each other."""
    calls = [call for call in one if call in other and one[call].measured and other[call].measured]
    detail: dict[str, Any] = {"channel": "values", "calls": len(calls), "differences": []}
    if any(seen.is_private for run in (one, other) for seen in run.values()):
        evidence = "values are noisy: use dp.testing.protect to compare them"
        return Finding(**told, verdict=Verdict.SKIPPED, evidence=evidence, detail=detail)
    reaches = {call: _reach(one[call].measured, other[call].measured) for call in calls}
    broken = [call for call in calls if _is_farther(one[call].measured, other[call].measured)]
    detail["differences"] = [{"call": call, "times_the_sensitivity": reaches[call]} for call in broken[:_SHOWN]]
    detail["furthest"] = max(reaches.values(), default=0.0)
    if broken:
        evidence = f"values of {broken[0]} differ by {reaches[broken[0]]:.3g} times the stated sensitivity"
        return Finding(**told, verdict=Verdict.BROKEN, evidence=evidence, detail=detail)
    evidence = f"values of {len(calls)} releases differ by at most {detail['furthest']:.3g} times the sensitivity"
    verdict = Verdict.NOTHING_FOUND if calls else Verdict.VOID
    return Finding(**told, verdict=verdict, evidence=evidence if calls else "values of no release", detail=detail)


Moved = tuple[float, float]


def _is_farther(one: Sequence[MeasuredColumn], other: Sequence[MeasuredColumn]) -> bool:
    """Whether two releases are farther apart than is stated, in either norm."""
    return any(far > most for pair in _distances(one, other) for far, most in pair)


def _reach(one: Sequence[MeasuredColumn], other: Sequence[MeasuredColumn]) -> float:
    """The distance of two releases over the stated sensitivity, in the norm in which it is larger; for reports."""
    reaches = [(_over(*in_l1), math.sqrt(_over(*in_l2))) for in_l1, in_l2 in _distances(one, other)]
    return max(itertools.chain.from_iterable(reaches), default=0.0)


def _over(far: float, most: float) -> float:
    return far / most if most else math.inf if far else 0.0


def _distances(one: Sequence[MeasuredColumn], other: Sequence[MeasuredColumn]) -> Iterator[tuple[Moved, Moved]]:
    """How far each part moved, and how far it may, in L1 and in squared L2; infinitely where lengths differ."""
    if [len(each.steps) for each in one] != [len(each.steps) for each in other]:
        yield (math.inf, 1), (math.inf, 1)
        return
    for here, there in zip(one, other, strict=True):
        moves = [abs(a - b) for a, b in zip(here.steps, there.steps, strict=True)]
        yield (sum(moves), here.l1), (sum(move**2 for move in moves), here.l2_squared)


def _times(sides: Sides, told: Mapping[str, Any]) -> Finding:
    """How long calls took on both datasets: reported, with the most different call by a rank test, and not judged."""
    calls = [call for call in sides[0][0] if all(call in run for runs in sides for run in runs)]
    seconds = {call: [np.array([run[call].seconds for run in runs]) for runs in sides] for call in calls}
    medians = {call: [float(np.median(each)) for each in pair] for call, pair in seconds.items()}
    chances = {call: _rank_test(*pair) for call, pair in seconds.items()}
    most = min(calls, key=chances.__getitem__)
    evidence = (
        f"not judged: {most} is the most unlike of {len(calls)} calls, with medians of {medians[most][0]:.2g} s and "
        f"{medians[most][1]:.2g} s, p {chances[most]:.2g} by ranks"
    )
    detail = {"channel": "time", "calls": len(calls), "medians": medians, "chances": chances}
    return Finding(**told, verdict=Verdict.SKIPPED, evidence=evidence, detail=detail)


def _rank_test(one: NDArray[np.float64], other: NDArray[np.float64]) -> float:
    """The p-value of the Mann-Whitney rank test, by its normal approximation."""
    wins = float(np.sign(one[:, None] - other[None, :]).sum()) / 2
    spread = (len(one) * len(other) * (len(one) + len(other) + 1) / 12) ** 0.5
    return float(2 * ndtr(-abs(wins) / spread))
