"""A stored answer is repeated as it says of itself, also where another noise would be planned for it now."""

from dataclasses import replace
from fractions import Fraction

import pyarrow as pa
import pytest

import discreet as dp
from discreet import events
from discreet.errors import UnsupportedError
from discreet.mechanisms.selection import Exponential, PermuteAndFlip
from discreet.planner.resolve import measures
from discreet.release.result import DEFAULT_CONFIDENCE
from discreet.session.pipeline import Pipeline
from discreet.session.session import Session
from discreet.session.stored import is_charged_for, planned_otherwise

T = dp.table("t")
ROWS = pa.table({"id": list(range(400)), "ward": ["A", "B"] * 200, "x": [i % 50 for i in range(400)]})
WORDS = {"name": "t", "privacy_unit": "id", "max_rows": 1, "keys": {"ward": ["A", "B"]}, "bounds": {"x": (0, 50)}}
MEANS = T.group_by("ward").agg(m=dp.mean("x"), n=dp.count())


@pytest.fixture
def session():
    with dp.protect(ROWS, budget=dp.Budget(epsilon=20, ceiling=20, reason="a test"), **WORDS) as opened:
        yield opened


@pytest.fixture
def other_planner(monkeypatch):
    """From its call on, sums of means get another share of the price."""
    return lambda: monkeypatch.setattr(measures, "SHARE_OF_A_MEANS_SUM", Fraction(1, 2))


@pytest.mark.pitfall("B19")
def test_a_table_is_repeated_as_it_was_made_when_the_planner_chooses_other_noise(session, other_planner):
    first = session.release(MEANS, epsilon=1)
    planned = session.explain(MEANS, epsilon=1)
    other_planner()
    assert str(session.explain(MEANS, epsilon=1)) != str(planned)
    again = session.release(MEANS, epsilon=1)
    assert again.repeated
    assert again.to_json() == first.to_json()
    assert float(session.remaining()) == 19


def test_margins_at_another_confidence_follow_the_noise_that_was_drawn_or_are_refused(session, other_planner):
    first = session.release(MEANS, epsilon=1)
    wider = session.release(MEANS, epsilon=1, confidence=0.99)
    assert wider.outputs[0].margins[0] > first.outputs[0].margins[0]
    other_planner()
    with pytest.raises(UnsupportedError, match="other noise than is planned") as refused:
        session.release(MEANS, epsilon=1, confidence=0.99)
    assert refused.value.instead.startswith("confidence=0.95")
    assert float(session.remaining()) == 19
    assert not session.release(MEANS, epsilon=1, confidence=0.99, fresh=True).repeated


def test_a_batch_is_repeated_as_it_was_made(session, other_planner):
    first = session.release([MEANS, T.agg(n=dp.count())], epsilon=1)
    other_planner()
    again = session.release([MEANS, T.agg(n=dp.count())], epsilon=1)
    assert [each.to_json() for each in again] == [each.to_json() for each in first]
    with pytest.raises(UnsupportedError, match="other noise"):
        session.release([MEANS, T.agg(n=dp.count())], epsilon=1, confidence=0.9)


class OtherPipeline(Pipeline):
    """Selections are planned with the exponential mechanism instead of permute-and-flip."""

    def plan(self, request):
        kind, plan, budget = super().plan(request)
        mechanism = plan.mechanism
        assert isinstance(mechanism, PermuteAndFlip)
        other = Exponential(sensitivity=mechanism.sensitivity, epsilon=mechanism.epsilon, monotone=mechanism.monotone)
        return kind, replace(plan, mechanism=other), budget


class OtherSelection(Session):
    """A session with that pipeline."""

    _pipeline_class = OtherPipeline


def test_a_selection_is_repeated_with_what_it_said_of_itself(tmp_path):
    words = WORDS | {"budget": dp.Budget(epsilon=2), "ledger": tmp_path / "ledger.sqlite"}
    choice = T.choose(["A", "B"], score=dp.score(by="ward"))
    with dp.protect(ROWS, **words) as session:
        first = session.release(choice, epsilon=1)
        assert session.release(choice, epsilon=1, confidence=0.99).within > first.within
    with OtherSelection.protect(ROWS, **words) as later:
        again = later.release(choice, epsilon=1)
        assert again.repeated
        assert again == first
        with pytest.raises(UnsupportedError, match="other noise"):
            later.release(choice, epsilon=1, confidence=0.99)
        assert float(later.remaining()) == 1


def test_an_estimate_is_repeated_with_the_margin_that_was_stored(tmp_path):
    budget = dp.Budget(epsilon=2, delta=2e-9, reserved_delta=1e-9)
    query = T.agg(x=dp.median("x"))
    asked = {"epsilon": 1.5, "method": dp.ProposedBound(bound=20, delta=1e-10)}
    with dp.protect(ROWS, budget=budget, ledger=tmp_path / "ledger.sqlite", **WORDS) as session:
        first = session.release(query, **asked)
        again, wider = (
            session.release(query, **asked),
            session.release(query, confidence=0.99, **asked),
        )
    assert again == first
    assert wider.value == first.value
    assert wider.margin is None or wider.margin > first.margin


def test_a_receipt_is_for_the_event_that_it_names_and_no_other():
    receipt = {"event": events.canonical(events.PureEvent(1))}
    assert is_charged_for(receipt, events.PureEvent(1))
    assert not is_charged_for(receipt, events.BoundedRangeEvent(1))
    assert Fraction(19, 20) == DEFAULT_CONFIDENCE
    assert "confidence=0.99" in str(planned_otherwise(Fraction(99, 100)))
