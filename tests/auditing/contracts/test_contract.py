"""The contract of mechanisms: ours keep it for all parameters, and each clause catches a mechanism that breaks it.

False alarms: a call has at most 1e-6. What breaks a clause by its draws is missed with a probability below 1e-12: half
of the noise, one draw for all and half of the margin are over 20 deviations away at these numbers of samples.
"""

from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from discreet import events
from discreet.auditing.claims import claim
from discreet.auditing.contracts.contract import _alike, check_mechanism, require
from discreet.auditing.finding import Verdict
from discreet.errors import ParameterError
from discreet.mechanisms import Gaussian, Laplace
from discreet.testing import generator

OURS = [
    *(
        Laplace(sensitivity=size, epsilon=epsilon, grid=grid)
        for size in (1, 5)
        for epsilon in (0.01, 1, 12)
        for grid in (1, Fraction(1, 4))
    ),
    Laplace(sensitivity=Fraction(1, 2), epsilon=1),
    Laplace(sensitivity=10**9, epsilon=1e-3),
    Laplace(sensitivity=10, epsilon=1, grid=5),
    Laplace.with_scale(scale=2.0**-40, sensitivity=1),
    *(Gaussian(sensitivity=size, rho=rho) for size in (1, 4) for rho in (0.001, 0.5, 20)),
    Gaussian(squared_sensitivity=10, rho=0.2, dimension=10),
    Gaussian(sensitivity=1, rho=0.1, grid=Fraction(1, 8)),
    Gaussian(sensitivity=10**6, rho=1e-3),
]


@pytest.mark.statistical(false_alarm=1e-6)
@pytest.mark.parametrize("mechanism", OURS, ids=repr)
def test_our_mechanisms_keep_their_contract(mechanism, samples):
    found = check_mechanism(mechanism, samples=samples(400))
    require(found)
    assert len(found) == 12
    assert [finding.claim for finding in found if finding.verdict is Verdict.VOID] == []
    assert all(finding.seconds > 0 for finding in found)


@pytest.mark.statistical(false_alarm=1e-6)
@pytest.mark.parametrize(
    ("mechanism", "made_for"),
    [
        (Laplace(sensitivity=3, epsilon=0.7), {"epsilon": 0.7}),
        (Gaussian(sensitivity=3, rho=0.7), {"rho": 0.7}),
        (Gaussian(sensitivity=1, epsilon=1, delta=1e-6), {"epsilon": 1, "delta": 1e-6}),
    ],
)
def test_our_mechanisms_are_what_they_were_built_for(mechanism, made_for, samples):
    require(check_mechanism(mechanism, claim=claim(**made_for), samples=samples(400)))


@dataclass(frozen=True)
class Kept:
    """Laplace noise of somebody's own, which keeps the contract; what breaks it overrides one thing."""

    inner: Laplace = field(default_factory=lambda: Laplace(sensitivity=1, epsilon=1))

    @property
    def grid(self) -> Fraction:
        return self.inner.grid

    def event(self) -> Any:
        return self.inner.event()

    def pmf(self, y: int) -> float:
        return self.inner.pmf(y)

    def margin(self, confidence: Any = 0.95) -> Any:
        return self.inner.margin(confidence)

    def release(self, value: Any) -> Any:
        return self.inner.release(value)


class Thawed(Kept):
    def __setattr__(self, name, value):
        object.__setattr__(self, name, value)


class Unlike(Kept):
    def __eq__(self, other):
        return False

    __hash__ = Kept.__hash__


class Unpriced(Kept):
    def event(self):
        return "laplace"


class Dear(Kept):
    epsilon = Fraction(1, 2)


class Boasting(Kept):
    """It says that it draws twice the noise."""

    def event(self):
        return Laplace(sensitivity=1, epsilon=0.5).event()


class Modest(Kept):
    """It says that neighbours are half as far apart as they are."""

    def event(self):
        return events.PureEvent(Fraction(1, 2))


class Heavy(Kept):
    def pmf(self, y):
        return 1.1 * super().pmf(y)


class Quiet(Kept):
    """It draws half of the noise that it states."""

    def release(self, value):
        return Laplace(sensitivity=1, epsilon=2).release(value)


class Shared(Kept):
    """All answers of a vector get one and the same noise."""

    def release(self, value):
        if not isinstance(value, list):
            return super().release(value)
        noise = super().release(0)
        return [one + noise for one in value]


@dataclass(frozen=True)
class Local(Kept):
    """The noise is as stated around zero alone, so draws at zero show nothing."""

    def release(self, value):
        if isinstance(value, list) and value and all(one == 1 for one in value):
            return Laplace(sensitivity=1, epsilon=8).release(value)
        return super().release(value)


class Narrow(Kept):
    def margin(self, confidence=0.95):
        return self.inner.margin(confidence) // 2


class Floating(Kept):
    def release(self, value):
        released = super().release(value)
        return float(released) if isinstance(released, int) else released


class Strayed(Kept):
    def release(self, value):
        released = super().release(value)
        return [Fraction(one) + Fraction(1, 2) for one in released] if isinstance(released, list) else released


class Short(Kept):
    def release(self, value):
        released = super().release(value)
        return released[:-1] if isinstance(released, list) and len(released) == 3 else released


class Arrays(Kept):
    def release(self, value):
        released = super().release(value)
        return np.array(released) if isinstance(released, list) else released


class Tolerant(Kept):
    def release(self, value):
        return super().release(round(value) if isinstance(value, float) else value)


class Truthful(Kept):
    def release(self, value):
        return super().release(int(value) if isinstance(value, bool) else value)


class Rounding(Kept):
    def release(self, value):
        return super().release(round(value) if isinstance(value, Fraction) else value)


class Telling(Kept):
    def release(self, value):
        try:
            return super().release(value)
        except ParameterError as refusal:
            raise ValueError(f"{value!r} is not exact") from refusal


class Hinting(Kept):
    """The value is not in the message, but in the error behind it."""

    def release(self, value):
        try:
            return super().release(value)
        except ParameterError as refusal:
            hint = ValueError("not exact")
            hint.__cause__ = KeyError(str(value))
            raise hint from hint.__cause__ or refusal


class Seeded(Kept):
    def release(self, value):
        draws = generator(1).integers(-3, 4, 10_000)
        return [one + int(y) for one, y in zip(value, draws, strict=False)] if isinstance(value, list) else value + 1


@dataclass(frozen=True)
class Remembering(Kept):
    seen: list = field(default_factory=list, hash=False, compare=False)

    def release(self, value):
        self.seen.append(value)
        return super().release(value)


BREAKS = [
    (Thawed, "it is a frozen value"),
    (Unlike, "it is a frozen value"),
    (Unpriced, "its event has a privacy cost"),
    (Dear, "its event has a privacy cost"),
    (Boasting, "its pmf sums to one and is what its event says"),
    (Boasting, "epsilon 0.5"),
    (Modest, "epsilon 0.5"),
    (Heavy, "its pmf sums to one"),
    (Quiet, "draws follow the stated pmf"),
    (Shared, "draws follow the stated pmf"),
    (Narrow, "the noise stays within margin"),
    (Floating, "a release keeps type, length and grid"),
    (Strayed, "a release keeps type, length and grid"),
    (Short, "a release keeps type, length and grid"),
    (Arrays, "a release keeps type, length and grid"),
    (Tolerant, "inexact answers are refused"),
    (Truthful, "inexact answers are refused"),
    (Rounding, "inexact answers are refused"),
    (Telling, "no message shows an answer"),
    (Hinting, "no message shows an answer"),
    (Seeded, "two releases differ"),
    (Remembering, "it remembers nothing"),
]


@pytest.mark.statistical(false_alarm=1e-6)
def test_a_mechanism_of_somebody_else_that_keeps_the_contract_passes(samples):
    require(check_mechanism(Kept(), samples=samples(400)))


@pytest.mark.parametrize(("broken", "clause"), BREAKS, ids=lambda part: getattr(part, "__name__", part))
def test_each_clause_catches_a_mechanism_that_breaks_it(broken, clause):
    for number in (2_000, 8_000) if broken in (Quiet, Shared, Narrow) else (2_000,):
        found = [finding for finding in check_mechanism(broken(), samples=number) if finding.is_broken]
        assert any(finding.claim.startswith(clause) for finding in found), found
    with pytest.raises(AssertionError, match=broken.__name__):
        require(found)


@pytest.mark.statistical(false_alarm=1e-6)
def test_noise_that_depends_on_the_answer_is_found_by_samples_alone(samples):
    """It is found, but for a probability below 1e-12, and nothing else is, but for one of 1e-6."""
    (finding,) = [finding for finding in check_mechanism(Local(), samples=samples(4_000)) if finding.is_broken]
    assert finding.layer == "statistics"
    assert finding.found > finding.stated


def test_a_claim_that_the_event_does_not_meet_is_broken():
    found = check_mechanism(Kept(), claim=claim(epsilon=0.9), samples=400)
    told = [finding.claim for finding in found if finding.is_broken]
    assert "its event has a privacy cost, and it is what it was built for" in told
    assert "epsilon 0.9" in told
    assert any(finding.is_broken for finding in check_mechanism(Kept(), claim=claim(rho=0.1), samples=400))


def test_a_mechanism_without_a_pmf_is_told_so_and_the_rest_is_read():
    class Bare:
        release = Kept().release

    found = {finding.claim: finding for finding in check_mechanism(Bare(), samples=400)}
    assert found["its masses keep its claim"].evidence == "the check ended in AccountingError"
    assert found["inexact answers are refused"].verdict is Verdict.NOTHING_FOUND


def test_all_alarms_together_are_the_alarm_that_was_asked_for():
    found = {finding.claim: finding for finding in check_mechanism(Kept(), samples=400, alarm=1e-6)}
    assert found["two releases differ"].alarm == 2.5e-7
    assert sum(finding.alarm for finding in found.values()) <= 1e-6


@pytest.mark.parametrize(
    ("masses", "chance"),
    [
        ({0: 1e-9, 1: 0.5, -1: 0.5}, 0.5),
        ({0: Fraction(1, 4), 7: Fraction(3, 4)}, 0.625),
        ({0: Fraction(1, 2), 10**9: Fraction(1, 2)}, 0.5),
        ({0: Fraction(1)}, 1),
    ],
)
def test_how_often_two_draws_are_the_same_is_never_taken_for_less(masses, chance):
    """The last but one has a mass that nobody reaches: what is missing from one is taken to be one step."""

    class Stating:
        grid = 1

        def pmf(self, y):
            return masses.get(y, 0)

    assert _alike(Stating()) == pytest.approx(chance, abs=1e-6)
    assert _alike(Stating()) >= chance - 1e-12


def test_what_is_no_mechanism_is_refused_with_what_it_lacks():
    with pytest.raises(ParameterError, match="event\\(\\), pmf"):
        check_mechanism(abs)
