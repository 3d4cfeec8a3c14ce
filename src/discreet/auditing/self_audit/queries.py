"""The self audit of queries: worst-case neighbours of every aggregate, through real sessions.

A release takes milliseconds, so whole releases give few samples. There are three ways, and a finding says which it was:

    keys     one release of many groups. The table is made of blocks, each with one unit and two keys of its own, and
             the unit of every block is there or not (or has the one set of rows or the other). Noise is drawn for each
             key on its own, so every block is a run on two neighbours. That all blocks have the same exact answers is
             checked first; that a unit touches no key but its own, by layer 1.
    redrawn  one release without groups, whose noise is drawn many times over on the integers that the engine gave.
    whole    whole releases, one after the other: few of them, and nothing left out.

Beside the noisy integers stands their log-likelihood ratio, the best that an attacker could compute of them. Each way
also says whether what was added to the exact integers follows the distribution of the stated noise: half of the noise
is seen there by a few hundred draws, also where no pair of units moves every integer by its stated sensitivity.
"""

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import product
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from discreet import testing
from discreet.accounting.filters import Budget
from discreet.auditing import claims
from discreet.auditing.canaries import TableCanary, one_run, session_canaries
from discreet.auditing.claims import Claim
from discreet.auditing.finding import Finding, Verdict
from discreet.auditing.side_channels.audit import compare_calls
from discreet.auditing.statistical import goodness_of_fit
from discreet.auditing.statistical.audit import LAYER, audit
from discreet.mechanisms import AdditiveNoise, Gaussian, Laplace, Staircase
from discreet.planner.queries.tables import AggregatePlan
from discreet.query import frame
from discreet.query.aggregates import Aggregation
from discreet.query.frame import Query
from discreet.release.release import Release
from discreet.session.session import Session

Floats = npt.NDArray[np.float64]
Neighbours = Literal["add_remove", "replace_one"]
Name = Literal["laplace", "gaussian"]

EPSILON, RHO, DELTA = 1, 0.5, 1e-9
REASON = "an audit of made-up rows"
BOUNDS = (0, 10)
TAGS = ("a", "b", "c", "d", "e")
ALL = "all of them"
KEYS_OF_BLOCK = 2
ROWS_OF_GROUP = 2

AGGREGATES: Mapping[str, Callable[[], dict[str, Aggregation]]] = {
    "count": lambda: {"n": frame.count()},
    "count_units": lambda: {"units": frame.count_units()},
    "count_distinct": lambda: {"tags": frame.count_distinct("tag", domain=TAGS)},
    "sum": lambda: {"s": frame.sum("x")},
    "mean": lambda: {"m": frame.mean("x")},
    "variance": lambda: {"v": frame.variance("x")},
    ALL: lambda: {name: made for other in list(AGGREGATES)[:-1] for name, made in AGGREGATES[other]().items()},
}


@dataclass(frozen=True)
class Case:
    """An aggregate under one relation and one kind of noise, by key or over everything."""

    aggregate: str
    neighbours: Neighbours
    mechanism: Name
    is_grouped: bool

    def __str__(self) -> str:
        by = " by key" if self.is_grouped else ""
        return f"{self.aggregate}{by}, {self.mechanism}, {self.neighbours}"

    @property
    def query(self) -> Query:
        """The query."""
        asked = frame.table("rows")
        made = AGGREGATES[self.aggregate]()
        return asked.group_by("key").agg(**made) if self.is_grouped else asked.agg(**made)

    @property
    def claim(self) -> Claim:
        """What a release of it claims."""
        return claims.claim(epsilon=EPSILON) if self.mechanism == "laplace" else claims.claim(rho=RHO)

    def release(self, session: Session) -> Release:
        """A fresh release."""
        price: dict[str, Any] = {"epsilon": EPSILON} if self.mechanism == "laplace" else {"rho": RHO}
        release: Release = session.release(self.query, mechanism=self.mechanism, fresh=True, **price)
        return release


def cases(*, is_grouped: bool) -> list[list[Case]]:
    """Every aggregate, relation and kind of noise; those with one table and one budget stand together."""
    relations: tuple[Neighbours, ...] = ("add_remove", "replace_one")
    names: tuple[Name, ...] = ("laplace", "gaussian")
    return [[Case(aggregate, *each, is_grouped) for aggregate in AGGREGATES] for each in product(relations, names)]


def rows(case: Case, blocks: int, *, is_one: bool) -> pa.Table:
    """The one dataset or the other: in every block, somebody in each key, and the unit under test."""
    made: list[tuple[int, int, int, str]] = []
    for block in range(blocks):
        keys = range(KEYS_OF_BLOCK * block, KEYS_OF_BLOCK * (block + 1))
        made += [(blocks + key, key, 5, "c") for key in keys]
        made += [(block, key, *cells) for key, cells in _in_question(case, keys, is_one=is_one)]
    unit, key, x, tag = zip(*made, strict=True)
    return pa.table({"unit": unit, "key": key, "x": x, "tag": tag})


def _in_question(case: Case, keys: range, *, is_one: bool) -> list[tuple[int, tuple[int, str]]]:
    """The rows of a unit: as many as its bounds allow, against none; or against another unit, elsewhere or low."""
    first = [(10, "a"), (10, "b")]
    full = [(keys[0], cells) for cells in first] + [(keys[1], cells) for cells in ((10, "d"), (10, "e"))]
    if case.neighbours == "add_remove":
        return full if is_one else []
    if case.is_grouped:
        return [(keys[0] if is_one else keys[1], cells) for cells in first]
    return full if is_one else [(keys[0], (0, "c"))]


def protect_case(
    case: Case,
    table: pa.Table,
    keys: Sequence[Any],
    *,
    kind: type[Session] = Session,
    rows_of_group: int = ROWS_OF_GROUP,
    groups: int | None = None,
    **words: Any,
) -> Any:
    """A session over a table of such rows, by default with the contribution bounds that the unit under test fills."""
    most = groups or (KEYS_OF_BLOCK if case.neighbours == "add_remove" or not case.is_grouped else 1)
    with _quietly():
        return kind.protect(
            table,
            name="rows",
            privacy_unit="unit",
            neighbours=case.neighbours,
            max_rows=most * rows_of_group,
            max_groups=most if case.is_grouped else None,
            max_rows_per_group=rows_of_group if case.is_grouped else None,
            keys={"key": keys},
            bounds={"x": BOUNDS},
            budget=Budget(epsilon=1_000, delta=0 if case.mechanism == "laplace" else DELTA, reason=REASON),
            **words,
        )


@contextmanager
def open_session(case: Case, blocks: int, *, is_one: bool, kind: type[Session] = Session) -> Iterator[Any]:
    """A session over one of the two datasets, with a ledger in memory."""
    table, keys = rows(case, blocks, is_one=is_one), list(range(KEYS_OF_BLOCK * blocks))
    with protect_case(case, table, keys, kind=kind, ledger=":memory:") as session:
        yield session


@contextmanager
def _quietly() -> Iterator[None]:
    """Without the warning that a ledger in memory is forgotten, which is what an audit wants."""
    log = logging.getLogger("discreet")
    before = log.level
    log.setLevel(logging.ERROR)
    try:
        yield
    finally:
        log.setLevel(before)


class Recording(testing.ExactPipeline):
    """Real noise, drawn `times` over for one charge, beside the exact integers: so it is stamped NOT PRIVATE."""

    times = 1
    exact_steps: list[list[int]]
    drawn: list[list[int]]

    def randomize(self, plan: AggregatePlan, exact: list[list[int]]) -> list[list[int]]:
        """The noisy integers, with all that was drawn and the exact ones kept for the audit."""
        self.exact_steps = plan.combine(exact)
        self.drawn = self.redrawn(plan, [list(column) * self.times for column in exact])
        return [column[: len(exact[0])] for column in self.drawn]

    def redrawn(self, plan: AggregatePlan, exact: list[list[int]]) -> list[list[int]]:
        """Fresh noise on every integer."""
        return plan.randomize(exact)


class RecordingSession(testing.Session):
    """A session that records the exact and the noisy integers of its last release."""

    _pipeline_class = Recording

    @property
    def record(self) -> Recording:
        """What was recorded."""
        assert isinstance(self._pipeline, Recording)  # noqa: S101 - its class says so
        return self._pipeline


@dataclass(frozen=True)
class Leaning:
    """The exact integers of one block on either dataset, and the noise on them."""

    one: Floats
    other: Floats
    noises: Sequence[AdditiveNoise]

    def beside(self, steps: Floats) -> Floats:
        """Noisy integers with their log-likelihood ratio as a last column."""
        sides = zip((steps - self.one).T, (steps - self.other).T, self.noises, strict=True)
        ratios = [_log_weights(here, noise) - _log_weights(there, noise) for here, there, noise in sides]
        return np.column_stack([steps, np.sum(ratios, axis=0)])

    def check_noise(self, one: Floats, other: Floats, alarm: float, name: str) -> Finding:
        """Whether noise follows its distribution: what was added to the integers, by column, on both datasets."""
        columns = np.concatenate([one - self.one, other - self.other]).T
        parts = [
            goodness_of_fit.part_of_noise(column, noise, noise.standard_deviation)
            for column, noise in zip(columns, self.noises, strict=True)
        ]
        return goodness_of_fit.check_parts(parts, alarm=alarm, name=name)


def _log_weights(steps: Floats, noise: AdditiveNoise) -> Floats:
    """The logarithms of the probabilities of steps of noise, up to a constant."""
    values, places = np.unique(steps, return_inverse=True)
    return np.array([noise.log_weight(int(value)) for value in values])[places]


@dataclass(frozen=True)
class Answers:
    """What one session made: exact integers and noisy ones, a row for each block, and the noise that is on them."""

    exact: Floats
    noisy: Floats
    noises: Sequence[AdditiveNoise]

    @classmethod
    def by(cls, session: RecordingSession, case: Case) -> "Answers":
        """The integers of a fresh release."""
        release = case.release(session)
        width = KEYS_OF_BLOCK if case.is_grouped else 1
        noises = [noise for measured in release.measured if (noise := measured.noise) for _ in range(width)]
        noisy = [measured.steps for measured in release.measured] if session.record.times == 1 else session.record.drawn
        return cls(_blocks(session.record.exact_steps, width), _blocks(noisy, width), noises)


def _blocks(columns: Sequence[Sequence[int]], width: int) -> Floats:
    """One row for each block: its keys of the first measure, then of the next."""
    return np.concatenate([np.array(column, dtype=float).reshape(-1, width) for column in columns], axis=1)


@contextmanager
def both(
    case: Case, blocks: int, *, kind: type[RecordingSession] = RecordingSession
) -> Iterator[tuple[RecordingSession, RecordingSession]]:
    """Sessions over the one dataset and the other, for all cases that differ in their aggregate alone."""
    with (
        open_session(case, blocks, is_one=True, kind=kind) as one,
        open_session(case, blocks, is_one=False, kind=kind) as other,
    ):
        yield one, other


def release_both(
    case: Case, sessions: tuple[RecordingSession, RecordingSession], times: int = 1
) -> tuple[Leaning | None, Floats, Floats]:
    """One release on each dataset; no leaning where the blocks of one table have not all the same exact answers."""
    made = []
    for session in sessions:
        session.record.times = times
        made.append(Answers.by(session, case))
    one, other = made
    if any((each.exact != each.exact[0]).any() for each in made):
        return None, one.noisy, other.noisy
    return Leaning(one.exact[0], other.exact[0], one.noises), one.noisy, other.noisy


def audited_keys(case: Case, sessions: tuple[RecordingSession, RecordingSession], alarm: float) -> list[Finding]:
    """One release on each dataset, in which every block is a run."""
    leaning, one, other = release_both(case, sessions)
    return _judge(case, leaning, one, other, alarm, f"one release of {len(one):,} blocks of keys")


def audited_redrawn(
    case: Case, sessions: tuple[RecordingSession, RecordingSession], samples: int, alarm: float
) -> list[Finding]:
    """One release on each dataset, whose noise is drawn over and over."""
    leaning, one, other = release_both(case, sessions, samples)
    return _judge(case, leaning, one, other, alarm, "noise redrawn on the engine's integers")


def _judge(case: Case, leaning: Leaning | None, one: Floats, other: Floats, alarm: float, how: str) -> list[Finding]:
    """The claim, and the distribution of the noise: each with this alarm."""
    subject = f"{case} ({how})"
    if leaning is None:
        why = "the blocks of one table have different exact answers, so they are not runs of one thing"
        return [Finding(subject=subject, layer=LAYER, claim=str(case.claim), verdict=Verdict.VOID, evidence=why)]
    made = leaning.beside(one), leaning.beside(other)
    claimed = audited_at_once(*made, claim=case.claim, alarm=alarm, name=subject)
    return [claimed, leaning.check_noise(one, other, alarm, subject)]


def audited_whole(case: Case, samples: int, alarm: float) -> list[Finding]:
    """Whole releases, one after the other: the claim, and the distribution of the noise of a recorded session."""
    name = f"{case} (whole releases)"
    with both(case, 1) as watched:
        leaning, *_ = release_both(case, watched)
    with open_session(case, 1, is_one=True) as one, open_session(case, 1, is_one=False) as other:
        made: dict[int, list[list[int]]] = {id(one): [], id(other): []}

        def release_and_record(session: Session) -> Release:
            release = case.release(session)
            made[id(session)].append([step for measured in release.measured for step in measured.steps])
            return release

        words: dict[str, Any] = {"claim": case.claim, "samples": samples, "alarm": alarm, "name": name}
        claimed = audit(release_and_record, one, other, stop=False, **words)
        here, there = (np.array(made[id(session)], dtype=float) for session in (one, other))
    assert leaning is not None  # noqa: S101 - one block is like itself
    return [claimed, leaning.check_noise(here, there, alarm, name)]


def audited_canaries(case: Case, canaries: int, alarm: float) -> Finding:
    """One release of a table to which coins added units, each with a key of its own: are they found again?"""
    planted = session_canaries(rows(case, 1, is_one=False), canaries, privacy_unit="unit", group="key")

    def pipeline(included: list[TableCanary]) -> Release:
        table = planted.table_with(included)
        with protect_case(case, table, planted.keys, groups=1, rows_of_group=1, ledger=":memory:") as session:
            return case.release(session)

    name = f"{case} ({canaries:,} canaries in one run)"
    return one_run(
        pipeline, planted.canaries, score=planted.score, middle=0.5, claim=case.claim, alarm=alarm, name=name
    )


def audited_calls(case: Case, repeats: int) -> list[Finding]:
    """Every public call on two neighbours, with exact answers: what can be seen of them besides."""
    keys = list(range(KEYS_OF_BLOCK))
    one, other = (rows(case, 1, is_one=is_one) for is_one in (True, False))
    return compare_calls(
        lambda table: protect_case(case, table, keys, kind=testing.Session),
        one,
        other,
        [case.query],
        repeats=repeats,
        name=str(case),
    )


class _Dealt:
    """Outcomes that came all at once, handed out as an audit asks for them."""

    def __init__(self, outcomes: npt.NDArray[Any]) -> None:
        self._outcomes = outcomes
        self._given = 0

    def next(self, count: int) -> npt.NDArray[Any]:
        self._given += count
        return self._outcomes[self._given - count : self._given]


def audited_at_once(
    one: npt.NDArray[Any], other: npt.NDArray[Any], *, claim: Claim, alarm: float, name: str, stop: bool = False
) -> Finding:
    """Audit outcomes that were made in one go on each dataset, as many on the one as on the other."""
    return audit(
        _Dealt.next,
        _Dealt(one),
        _Dealt(other),
        claim=claim,
        samples=len(one),
        alarm=alarm,
        name=name,
        many=True,
        stop=stop,
    )


MECHANISMS: Mapping[str, tuple[AdditiveNoise, Claim, list[int], list[int]]] = {
    "Laplace, epsilon 1": (Laplace(sensitivity=1, epsilon=1), claims.claim(epsilon=1), [0], [1]),
    "Laplace, epsilon 0.1": (Laplace(sensitivity=1, epsilon=0.1), claims.claim(epsilon=0.1), [0], [1]),
    "Laplace, epsilon 4": (Laplace(sensitivity=1, epsilon=4), claims.claim(epsilon=4), [0], [1]),
    "Laplace, sensitivity 10^6": (Laplace(sensitivity=10**6, epsilon=1), claims.claim(epsilon=1), [0], [10**6]),
    "Laplace, one of four moves by 4": (
        Laplace(sensitivity=4, epsilon=1),
        claims.claim(epsilon=1),
        [0] * 4,
        [4, 0, 0, 0],
    ),
    "Laplace, all of four move by 1": (Laplace(sensitivity=4, epsilon=1), claims.claim(epsilon=1), [0] * 4, [1] * 4),
    "Staircase, moved by a whole step of 5": (Staircase(sensitivity=5, epsilon=1), claims.claim(epsilon=1), [0], [5]),
    "Staircase, moved by 1 of a step of 5": (Staircase(sensitivity=5, epsilon=1), claims.claim(epsilon=1), [0], [1]),
    "Staircase, both of two move by 3": (
        Staircase(sensitivity=3, coordinates=2, epsilon=1),
        claims.claim(epsilon=1),
        [0, 0],
        [3, 3],
    ),
    "Gaussian, rho 0.5": (Gaussian(sensitivity=1, rho=0.5), claims.claim(rho=0.5), [0], [1]),
    "Gaussian, rho 0.01": (Gaussian(sensitivity=1, rho=0.01), claims.claim(rho=0.01), [0], [1]),
    "Gaussian, rho 8": (Gaussian(sensitivity=1, rho=8), claims.claim(rho=8), [0], [1]),
    "Gaussian, epsilon 1, delta 0.001": (
        Gaussian(sensitivity=1, epsilon=1, delta=0.001),
        claims.claim(epsilon=1, delta=0.001),
        [0],
        [1],
    ),
    "Gaussian, sensitivity 1000": (Gaussian(sensitivity=1_000, rho=0.5), claims.claim(rho=0.5), [0], [1_000]),
    "Gaussian, all of four move by 1": (
        Gaussian(sensitivity=2, rho=0.5, dimension=4),
        claims.claim(rho=0.5),
        [0] * 4,
        [1] * 4,
    ),
}


def audited_mechanism(name: str, samples: int, alarm: float) -> Finding:
    """A mechanism by itself: many vectors of answers in one call, which draws for each entry on its own."""
    mechanism, promised, one, other = MECHANISMS[name]
    doubles = [np.array(each, dtype=float) for each in (one, other)]
    leaning = Leaning(doubles[0], doubles[1], [mechanism] * len(one))
    drawn = [np.array(mechanism.release(each * samples), dtype=float).reshape(samples, -1) for each in (one, other)]
    return audited_at_once(*map(leaning.beside, drawn), claim=promised, alarm=alarm, name=name)
