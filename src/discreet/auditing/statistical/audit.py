"""The generic statistical audit: any callable, two datasets, one claim, and all that its outcomes reveal.

The mechanism runs on both datasets in turns. Events are chosen on earlier runs and tested on later ones, never on the
same, in two ways that share the alarm evenly:

    bets      a sequential test that may stop at any time; events and stakes follow from earlier blocks
    bounds    exact bounds on the second half of all samples, for an event chosen on the first half

The claim is called broken when either refutes it, which happens to a true claim with a chance of at most `alarm`.
Nothing found means that nothing was found: events rarer than about one in the number of samples cannot be.

Runs must be independent: a mechanism that remembers earlier runs, or stops answering when its budget is spent, must be
made anew inside the callable. Run times are outcomes too, but a shared machine makes them noisy, so they count only
where `times` is True.
"""

from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

import numpy as np
from scipy.special import ndtri

from discreet.auditing.arguments import checked_alarm, checked_claim
from discreet.auditing.claims import Claim
from discreet.auditing.claims import claim as claim_of
from discreet.auditing.finding import Finding, Verdict
from discreet.auditing.statistical import bounds, evidence
from discreet.auditing.statistical.bounds import Probabilities
from discreet.auditing.statistical.e_values import PairCounts, Stake, Wealth
from discreet.auditing.statistical.events import Candidates, Event, SelectedEvent, Sides
from discreet.auditing.statistical.outcomes import Mechanism, Runs
from discreet.auditing.statistical.samples import Samples
from discreet.engines.progress import Stage, shown_while
from discreet.errors import ParameterError, short_traceback
from discreet.exact.numbers import Number, whole

LAYER = "statistics"
LEAST_SAMPLES = 100
_FIRST_BLOCK = 200
_GROWTH = 1.3
_MOST_FOR_BETS = 20_000
_DEVIATIONS = 3.0
_MOST_FOR_BOUNDS = 100_000
_PLAYERS = (0.6, 0.2, 0.2)


@short_traceback
def audit(
    mechanism: Mechanism,
    one: Any,
    other: Any,
    *,
    claim: Claim | None = None,
    epsilon: Number | None = None,
    delta: Number = 0,
    rho: Number | None = None,
    mu: Number | None = None,
    samples: int = 10_000,
    alarm: float = 1e-3,
    name: str | None = None,
    many: bool = False,
    stop: bool = True,
    times: bool = False,
) -> Finding:
    """Statistical audit of any callable: look for an event whose probabilities break the claim.

    Args:
        mechanism: Function from a dataset to an outcome.
        one: A dataset.
        other: Its neighbour.
        claim: The claim; or give it by epsilon, delta, rho and mu.
        epsilon: Claimed epsilon. Default: none.
        delta: Claimed delta, with `epsilon`. Default 0.
        rho: Claimed rho. Default: none.
        mu: Claimed mu. Default: none.
        samples: Largest number of runs on each dataset. Default 10,000.
        alarm: Probability that a true claim is called broken. Default 0.001.
        name: Name of the subject in the finding. Default: that of the object.
        many: Whether the mechanism is called as `mechanism(dataset, count)` and returns that many outcomes. Default
            False.
        stop: Whether to end as soon as the claim is refuted. Default True.
        times: Whether the run time is a part of the outcome. Default False.

    Returns:
        The finding; `found` is a lower bound on the true parameter.

    Raises:
        ParameterError: If an argument is outside its range or of another kind.

    Example:
        >>> import discreet as dp
        >>> dp.auditing.audit(lambda rows: len(rows), [1], [1, 2], epsilon=1, samples=1_000).is_broken
        True
    """
    asked = _claim(claim, epsilon, delta, rho, mu)
    if times and many:
        raise ParameterError(
            "times=True with many=True",
            because="outcomes that come together have no run time of their own",
            instead="audit(mechanism, one, other, times=True) with a mechanism of one argument",
        )
    runs = Runs(mechanism, one, other, many)
    running = _Audit(asked, whole(samples, "samples", least=LEAST_SAMPLES), checked_alarm(alarm), runs, stop, times)
    started = perf_counter()
    shown_while(running.run, stages=running.stage, may_show_stages=True)
    subject = name or str(getattr(mechanism, "__name__", type(mechanism).__name__))
    return running.finding(subject, perf_counter() - started)


def block_sizes(samples: int) -> list[int]:
    """Blocks that grow by a third of all before them, with a boundary at half of the samples.

    They are of even length, the last one aside, so that either dataset goes first equally often in each.
    """
    end = min(_FIRST_BLOCK, samples // 4)
    ends = {half_of(samples), samples}
    while end < samples:
        ends.add(end - end % 2)
        end = int(end * _GROWTH) + 2
    sizes: list[int] = np.diff([0, *sorted(ends)]).tolist()
    return sizes


def half_of(samples: int) -> int:
    """How many of the samples serve for choosing the event whose bounds are taken."""
    return samples // 4 * 2


@dataclass
class _Audit:
    """One audit under way: what was gathered, who bets on what, and the event whose bounds will be taken."""

    claim: Claim
    samples: int
    alarm: float
    runs: Runs
    stop: bool
    times: bool
    gathered: Samples = field(init=False)
    wealth: Wealth = field(init=False)
    players: tuple[SelectedEvent | None, ...] = ()
    fixed: SelectedEvent | None = None
    tested: Probabilities | None = None

    def __post_init__(self) -> None:
        self.gathered = Samples(self.times)
        self.wealth = Wealth(self.claim, self.alarm / 2, self.samples, _PLAYERS)

    @property
    def half(self) -> int:
        return half_of(self.samples)

    def stage(self) -> Stage:
        return Stage(100 * self.gathered.count // self.samples, 100, "percent")

    def run(self) -> None:
        for size in block_sizes(self.samples):
            pair = self.runs.run(size)
            sides = self.gathered.read(pair)
            self._settle(sides)
            self.gathered.add(pair, sides, may_learn=self.gathered.count + size <= self.half)
            if self.stop and self.wealth.refutes:
                return
            if self.gathered.count < self.samples:
                self._choose()
        self._bound()

    def _settle(self, sides: Sides) -> None:
        """Bets that were chosen on earlier blocks, on this one."""
        for number, player in enumerate(self.players):
            if player is not None:
                stake = Stake.from_counts(player.hits_here, player.hits_there, player.runs)
                self.wealth.settle(number, stake, _pair_counts(player.event, sides))
        self.wealth.close_block()

    def _choose(self) -> None:
        """What to bet on next: what bounds most, what stands farthest out, and what all features say together."""
        recent = self.gathered.sides(self.gathered.count - _MOST_FOR_BETS)
        single, joint = Candidates.among(recent), Candidates.of_score(recent)
        self.players = (single.highest_bound(self.claim), single.farthest(self.claim), joint.highest_bound(self.claim))
        if self.gathered.count == self.half:
            self._choose_for_bounds()

    def _choose_for_bounds(self) -> None:
        """The best event of one feature, or of the score where that is evidently better on samples it never saw."""
        first_half = self.gathered.sides(self.half - _MOST_FOR_BOUNDS)
        deviations = max(_DEVIATIONS, float(-ndtri(self.alarm / 4)))
        single = Candidates.among(first_half).highest_bound(self.claim, deviations)
        joint = Candidates.of_score(first_half).highest_bound(self.claim, deviations)
        is_better = single and joint and self._surely(joint) > self._about(single)
        self.fixed = joint if is_better or single is None else single

    def _surely(self, chosen: SelectedEvent) -> float:
        return bounds.least(self.claim, chosen.hits_here, chosen.hits_there, chosen.runs, self.alarm / 2)

    def _about(self, chosen: SelectedEvent) -> float:
        return self.claim.lower_bound(chosen.hits_here / chosen.runs, (chosen.hits_there + 0.5) / (chosen.runs + 1))

    def _bound(self) -> None:
        """Bounds for the event that was chosen on the first half, from the second."""
        if self.fixed is None:
            return
        here, there = (int(truths.sum()) for truths in self.fixed.event.on(self.gathered.sides(self.half)))
        self.tested = bounds.probabilities(here, there, self.samples - self.half, self.alarm / 2)

    def finding(self, subject: str, seconds: float) -> Finding:
        by_bounds = self.claim.lower_bound(*self.tested) if self.tested else 0.0
        found = max(by_bounds, self.wealth.lower_bound)
        verdict = self._verdict(by_bounds)
        told, detail = self._sentence_and_detail(found, by_bounds, self._void() if verdict is Verdict.VOID else None)
        return Finding(
            subject=subject,
            layer=LAYER,
            claim=str(self.claim),
            verdict=verdict,
            evidence=told,
            stated=self.claim.value,
            found=found,
            samples=self.gathered.count,
            alarm=self.alarm,
            seconds=seconds,
            detail=detail,
        )

    def _verdict(self, by_bounds: float) -> Verdict:
        if self.runs.has_changed_data:
            return Verdict.VOID
        if self.wealth.refutes or by_bounds > self.claim.value:
            return Verdict.BROKEN
        return Verdict.VOID if self._void() else Verdict.NOTHING_FOUND

    def _void(self) -> str | None:
        """Why nothing could be judged, if so."""
        if self.runs.has_changed_data:
            return "the mechanism changes its dataset, so later runs were on another one: let it copy what it is given"
        sides = self.gathered.sides()
        error = _only_error(sides)
        if error is not None:
            return f"every run on both datasets raised {error}, so nothing was released that could be judged"
        return evidence.blindness(sides)

    def _sentence_and_detail(self, found: float, by_bounds: float, void: str | None) -> tuple[str, dict[str, Any]]:
        """The sentence and the numbers for a figure."""
        is_bounded = self.tested is not None and by_bounds >= self.wealth.lower_bound
        sides = self.gathered.sides(self.half if is_bounded else 0)
        curve = self._curve() if self.tested else []
        detail: dict[str, Any] = {
            "found_by_bounds": by_bounds if self.tested else None,
            "found_by_bets": self.wealth.lower_bound,
            "log_wealth": self.wealth.evidence,
            "statements": bounds.statements(self.tested, self.claim) if self.tested else {},
            "trade_off": curve,
            "allowed": evidence.allowed_trade_off(self.claim) if curve else {},
        }
        event = self._event(is_bounded)
        if void is not None:
            return void, detail
        if event is None:
            return "no outcome had a feature to look at", detail
        than = "at least" if is_bounded else "above"
        within = "" if found > self.claim.value else f", within the {self.claim.value:.4g} claimed"
        sure = f"{self.claim.parameter} {than} {found:.4g} ({100 * (1 - self.alarm):.9g}% sure){within}"
        told = evidence.sentence(event, sides, sure) + evidence.warning(sides) + evidence.omissions(sides)
        return told, detail | evidence.figure(event, sides)

    def _curve(self) -> list[dict[str, float]]:
        if self.fixed is None:
            return []
        all_runs = self.gathered.sides()
        chosen_on, tested_on = all_runs.part(slice(0, self.half)), all_runs.part(slice(self.half, None))
        return evidence.curve(self.fixed.event, chosen_on, tested_on, self.alarm)

    def _event(self, is_bounded: bool) -> Event | None:
        """The event that speaks loudest: the one whose bounds were taken, or the one that earned most."""
        leader = self.players[self.wealth.leader] if self.players else None
        chosen = self.fixed if is_bounded else leader
        return None if chosen is None else chosen.event


def _pair_counts(event: Event, block: Sides) -> PairCounts:
    here, there = event.on(block)
    both = int((here & there).sum())
    alone_here, alone_there = int(here.sum()) - both, int(there.sum()) - both
    return PairCounts(both, alone_here, alone_there, block.one.count - both - alone_here - alone_there)


def _only_error(sides: Sides) -> str | None:
    """The error that every run on both datasets ended in, if they did."""
    errors = [side.categories.get("error") for side in sides]
    kinds = {kind for column in errors if column is not None for kind in column}
    return kinds.pop() if len(kinds) == 1 and None not in kinds and all(e is not None for e in errors) else None


def _claim(given: Claim | None, epsilon: Number | None, delta: Number, rho: Number | None, mu: Number | None) -> Claim:
    if given is None:
        return claim_of(epsilon=epsilon, delta=delta, rho=rho, mu=mu)
    if epsilon is not None or delta or rho is not None or mu is not None:
        raise ParameterError(
            "a claim beside the words of another",
            because="an audit is of one claim",
            instead="audit(mechanism, one, other, epsilon=1), or claim=claim(epsilon=1)",
        )
    return checked_claim(given)
