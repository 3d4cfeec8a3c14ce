"""Every kind of question draws what the event in its ledger was priced from: read back, number by number."""

import json
from fractions import Fraction

import pyarrow as pa
import pytest

import discreet as dp
import draws as record
from discreet import events
from discreet.samplers import continuous

T = dp.table("t")
TABLE = pa.table(
    {
        "id": [f"p{i // 2}" for i in range(600)],
        "ward": ["ABC"[i % 3] for i in range(600)],
        "drug": ["xyz"[i % 3] for i in range(600)],
        "cost": [i % 11 for i in range(600)],
    }
)
AREAS = pa.table({"ward": ["A", "B", "C"], "drug": ["x", "y", "z"]})
RELATIONS = pytest.mark.parametrize(("neighbours", "sides"), [("add_remove", 1), ("replace_one", 2)])
NEIGHBOURS = pytest.mark.parametrize("neighbours", ["add_remove", "replace_one"])
RESERVED = dp.Budget(epsilon=8, delta=2e-8, reserved_delta=1e-8)


def opened(neighbours, budget=None):
    facts = {"privacy_unit": "id", "max_rows": 2, "keys": {"ward": ["A", "B", "C"]}, "bounds": {"cost": (0, 10)}}
    return dp.protect(
        TABLE, name="t", neighbours=neighbours, budget=budget or dp.Budget(epsilon=8), ledger=":memory:", **facts
    )


def charged(session):
    """The event of the last charge, as the ledger holds it."""
    charges = [entry for entry in session.history() if entry.kind == "RESERVED"]
    return events.from_canonical(charges[-1].event)


def leaves(event):
    return [leaf for leaf, times in events.leaves(event) for _ in range(times)]


RELEASED = {
    "count": T.agg(n=dp.count()),
    "counts": T.group_by("ward").agg(n=dp.count(), u=dp.count_units()),
    "sums": T.group_by("ward").agg(s=dp.sum("cost"), m=dp.mean("cost")),
    "variance": T.agg(v=dp.variance("cost"), d=dp.std("cost")),
    "distinct": T.agg(d=dp.count_distinct("drug", domain=["x", "y"])),
    "histogram": T.histogram("cost", bins=dp.bins(0, 10, 5)),
    "ranges": T.ranges("cost", ranges=[(0, 5), (0, 10), (5, 8)]),
    "hierarchy": T.hierarchy("ward", "drug", keys=AREAS),
    "tree": T.agg(q=dp.quantiles("cost", [part / 20 for part in range(1, 20)])),
}


@pytest.mark.pitfall("B23")
@pytest.mark.draws("session.release")
@NEIGHBOURS
@pytest.mark.parametrize("mechanism", ["laplace", "gaussian"])
@pytest.mark.parametrize("name", RELEASED)
def test_a_release_has_a_draw_of_the_charged_noise_on_every_integer(draws, name, mechanism, neighbours):
    with opened(neighbours, dp.Budget(epsilon=8, delta=1e-9)) as session:
        price = {"epsilon": 1} if mechanism == "laplace" else {"rho": Fraction(1, 8)}
        release = session.release(RELEASED[name], mechanism=mechanism, **price)
        event = charged(session)
    counts = [len(measured.steps) for measured in release.measured]
    assert draws.calls == record.additive(event, counts)
    assert len(draws.returned) == sum(counts)
    assert [measured.scale for measured in release.measured] == [_width(leaf) for leaf in leaves(event)]
    assert [measured.l1 for measured in release.measured if mechanism == "laplace"] == [
        leaf.sensitivity for leaf in leaves(event) if mechanism == "laplace"
    ]


STATEMENTS = {
    "count": "SELECT COUNT(*) AS n FROM t",
    "counts": "SELECT ward, COUNT(*) AS n, COUNT(DISTINCT id) AS u FROM t GROUP BY ward HAVING n > 0 ORDER BY u",
    "sums": "SELECT ward, SUM(cost) / COUNT(*) AS each FROM t WHERE cost > 1 GROUP BY ward",
    "condition": "SELECT COUNT(*) FILTER (WHERE cost > 5) AS n, SUM(CASE WHEN cost > 3 THEN cost END) AS s FROM t",
}


@pytest.mark.pitfall("B23")
@pytest.mark.draws("session.sql")
@NEIGHBOURS
@pytest.mark.parametrize("mechanism", ["laplace", "gaussian"])
@pytest.mark.parametrize("name", STATEMENTS)
def test_a_statement_has_a_draw_of_the_charged_noise_on_every_integer(draws, name, mechanism, neighbours):
    with opened(neighbours, dp.Budget(epsilon=8, delta=1e-9)) as session:
        price = {"epsilon": 1} if mechanism == "laplace" else {"rho": Fraction(1, 8)}
        (release,) = session.sql(STATEMENTS[name], mechanism=mechanism, **price).releases
        event = charged(session)
    counts = [len(measured.steps) for measured in release.measured]
    assert draws.calls == record.additive(event, counts)
    assert len(draws.returned) == sum(counts)
    assert [measured.scale for measured in release.measured] == [_width(leaf) for leaf in leaves(event)]


def _width(leaf):
    return float(leaf.scale) if isinstance(leaf, events.DiscreteLaplaceEvent) else float(leaf.variance) ** 0.5


@pytest.mark.pitfall("B23")
@NEIGHBOURS
def test_every_integer_that_is_stored_is_the_exact_one_with_its_own_draw(draws, neighbours):
    with opened(neighbours) as session:
        counts = session.release(RELEASED["counts"], epsilon=1)
        areas = session.release(RELEASED["hierarchy"], epsilon=1)
    exact = [[200] * 3] * 2  # each ward has 200 rows, of 200 people
    nested = [[200] * 3, [200] * 3, [600]]
    carried = record.carried([measured.steps for measured in counts.measured], exact)
    carried += record.carried([measured.steps for measured in areas.measured], nested)
    assert carried == draws.returned == list(range(1, len(carried) + 1))


@pytest.mark.pitfall("B23")
@RELATIONS
def test_a_quantile_that_is_chosen_has_the_rate_that_is_charged(draws, neighbours, sides):
    with opened(neighbours) as session:
        session.release(T.group_by("ward").agg(m=dp.median("cost")), epsilon=1)
        (leaf,) = leaves(charged(session))
    assert {(type(call), call.rate) for call in draws.calls} == {(record.FirstKept, Fraction(1, 2 * 2 * sides))}
    assert leaf == events.PureEvent(Fraction(1))
    assert [len(call.gaps) for call in draws.calls] == [11] * 3


@pytest.mark.pitfall("B23")
@RELATIONS
@pytest.mark.parametrize("rule", ["optimal", "laplace", "gaussian"])
def test_unknown_keys_are_drawn_by_the_rule_that_is_charged(draws, rule, neighbours, sides):
    asked = T.group_by("drug", keys=dp.discover(delta=1e-8, rule=rule)).agg(s=dp.sum("cost"))
    with opened(neighbours, RESERVED) as session:
        mechanism = {"mechanism": "gaussian" if rule == "gaussian" else "laplace"}
        release = session.release(asked, epsilon=1, **mechanism)
        first, *others = leaves(charged(session))
    assert len(release) == 3
    if rule == "optimal":
        (answered,) = others
        assert first == events.ApproximateEvent(Fraction(1, 2), Fraction(1, 10**8))
        assert draws.calls == [record.Bits(3 * 256), *record.additive(answered, [3])]
        return
    own, answered = others
    assert own == events.ApproximateEvent(Fraction(0), Fraction(1, 10**8))
    assert draws.calls == record.additive(events.ComposedEvent((first, answered)), [3, 3])
    assert (first.sensitivity if rule == "laplace" else first.squared_sensitivity) == 2 * sides


@pytest.mark.pitfall("B23")
@RELATIONS
def test_bounds_that_are_found_and_what_is_asked_within_them_are_drawn_as_charged(draws, neighbours, sides):
    with opened(neighbours) as session:
        release = session.release(T.agg(s=dp.sum("cost", bounds="auto")), epsilon=1)
        search, rest = leaves(charged(session))
    low, high = release["s_low"][0], release["s_high"][0]
    searched, answered = draws.calls
    (bins,) = [len(measured.steps) for measured in release.measured if measured.places == "bins of sizes"]
    assert searched == record.additive(search, [bins])[0]
    assert search.sensitivity == 2 * sides
    # one group: a replaced unit moves the sum from all low to all high, or from nothing to the farther end
    moved = 2 * max(abs(low), abs(high), (high - low) if sides == 2 else 0)
    assert 0 <= rest.epsilon - moved / answered.scale < Fraction(1, 10**12)
    assert answered.count == 1


@pytest.mark.pitfall("B23")
@RELATIONS
def test_a_selection_is_drawn_with_the_rate_that_is_charged(draws, neighbours, sides):
    with opened(neighbours, RESERVED) as session:
        session.release(T.choose(["A", "B", "C"], score=dp.score(by="ward")), epsilon=8)
        pure = charged(session)
        (flipped,) = draws.calls
        draws.forget()
    with opened(neighbours, RESERVED) as session:
        session.release(T.choose(["A", "B", "C"], score=dp.score(by="ward"), top=2), epsilon=1)
        (repeated, _) = leaves(charged(session))
        (peeled,) = draws.calls
        draws.forget()
        session.release(
            T.choose(dp.discover(delta=1e-8), score=dp.score(by="drug", of=dp.count_units()), top=2), epsilon=1
        )
        *choices, own = leaves(charged(session))
        (found,) = draws.calls
    assert pure == events.PureEvent(flipped.rate * 2 * sides)
    assert repeated == events.BoundedRangeEvent(peeled.rate * 2 * sides)
    assert (flipped.gaps, peeled.gaps, peeled.count) == ((0, 0, 0), (0, 0, 0), 2)
    assert choices == [events.BoundedRangeEvent(found.rate * sides)] * 2
    assert (found.count, own.delta) == (2, Fraction(1, 10**8))


@pytest.mark.pitfall("B23")
@pytest.mark.draws("session.above_threshold", "session.online_ranges")
@NEIGHBOURS
def test_a_watch_and_a_stream_draw_what_their_opening_was_charged_for(draws, neighbours):
    with opened(neighbours) as session:
        with session.above_threshold(threshold=100, epsilon=1, sensitivity=2, answers=2, with_answers=True) as watch:
            replies = watch.ask(T.group_by("ward").agg(n=dp.count()))
        watched = charged(session)
        threshold, comparison, *answers = draws.calls
        assert [call.count for call in draws.calls] == [1, 16, 1, 1]
        assert [reply.answer for reply in replies.values()] == [200 + noise for noise in draws.returned[-2:]]
        draws.forget()
        words = {"edges": [0, 5, 11], "total": 600, "threshold": 100, "corrections": 1}
        with session.online_ranges(T, "cost", epsilon=1, **words) as stream:
            stream.ask(0, 5)
            stream.ask(0, 11)
        streamed = charged(session)
        first, second = draws.calls[:2]
    spent = 2 / threshold.scale + 2 * 2 * 2 / comparison.scale + 2 * 2 / answers[0].scale
    assert answers[0] == answers[1]
    assert watched == events.PureEvent(spent)
    online = dp.mechanisms.AboveThreshold(threshold=100, epsilon=1, sensitivity=2, answers=1, with_answers=True)
    assert (first.scale, second.scale) == (online.scales.threshold, online.scales.comparison)
    assert streamed == online.event()


@pytest.mark.pitfall("B23")
@NEIGHBOURS
def test_a_watch_in_stages_draws_what_its_opening_was_charged_for(draws, neighbours):
    words = {"threshold": 100, "epsilon": 0.1, "sensitivity": 2, "answers": 3, "with_answers": True}
    with opened(neighbours, dp.Budget(epsilon=2, delta=1e-9)) as session:
        with session.above_threshold(**words) as watch:
            replies = watch.ask(T.group_by("ward").agg(n=dp.count()))
        event = leaves(charged(session))
    first, comparison, *rest = draws.calls
    assert event[:3] == [events.PureEvent(2 / first.scale + 2 * 2 / comparison.scale)] * 3
    assert rest[1::2] == [first] * 2
    assert [events.DiscreteGaussianEvent(call.variance, Fraction(4)) for call in rest[::2]] == event[3:]
    assert all(call.count == 1 for call in (first, *rest))
    assert [reply.answer for reply in replies.values()] == [200 + noise for noise in draws.returned[17::2]]


@pytest.mark.pitfall("B23")
@NEIGHBOURS
def test_noise_that_fits_is_drawn_as_charged(draws, neighbours):
    asked = T.agg(m=dp.median("cost"))
    with opened(neighbours, RESERVED) as session:
        session.release(asked, epsilon=1, method=dp.SmoothSensitivity(noise="laplace", delta=1e-9))
        smooth = charged(session)
        (fitted,) = draws.calls
        draws.forget()
        session.release(asked, epsilon=1, method=dp.ProposedBound(bound=2, delta=1e-9))
        test, answer = leaves(charged(session))
        tested, proposed = draws.calls
    made = dp.mechanisms.smooth.Smooth(noise="laplace", epsilon=smooth.epsilon, delta=smooth.delta)
    assert smooth.delta == answer.delta == Fraction(1, 10**9)
    assert isinstance(fitted.law, continuous.StandardLaplace)
    assert fitted.scale * made.shift >= 1  # a median of these rows moves by at least one step
    assert tested == record.Laplace(test.scale, 1)
    assert proposed.scale == 2 / answer.epsilon


def first_cost(block):
    """The first value of a block."""
    return block.column("cost")[0].as_py()


@pytest.mark.pitfall("B23")
def test_answers_of_blocks_are_drawn_as_charged(draws):
    """A replaced unit changes two of them. Processes take seconds, so the other relation is tried in analysis alone."""
    with opened("replace_one") as session:
        session.release(T.apply(first_cost, columns=["cost"], blocks=4, bounds=(0, 10), grid=1), epsilon=1)
        event = charged(session)
    assert event == events.DiscreteLaplaceEvent(Fraction(20), Fraction(20))
    assert draws.calls == record.additive(event, [1])


@pytest.mark.pitfall("B23")
@RELATIONS
@pytest.mark.parametrize("delta", [None, 1e-9], ids=["sum", "pair"])
def test_a_batch_draws_for_every_question_what_is_charged_at_once(draws, delta, neighbours, sides):
    queries = [RELEASED["count"], RELEASED["hierarchy"]]
    with opened(neighbours, RESERVED) as session:
        releases = session.release(queries, epsilon=1, delta=delta)
        event = charged(session)
    measured = [each for release in releases for each in release.measured]
    assert [call.count for call in draws.calls] == [len(each.steps) for each in measured] == [1, 3, 3, 1]
    assert [float(call.variance) ** 0.5 for call in draws.calls] == [each.scale for each in measured]
    squared = [each.l2_squared for each in measured]
    assert squared == [4, 4 * sides, 4 * sides, 4]
    if delta is None:
        assert draws.calls == record.additive(event, [1, 3, 3, 1])
        assert [leaf.squared_sensitivity for leaf in leaves(event)] == squared
    else:
        assert json.loads(events.canonical(event))["kind"] == "ApproximateConcentratedEvent"
        coordinates = [1, 1 + sides, 1 + sides, 1]
        parts = zip(draws.calls, squared, coordinates, strict=True)
        drawn = tuple(events.DiscreteGaussianEvent(call.variance, moved, wide) for call, moved, wide in parts)
        assert 0.98 < dp.accounting.pld.epsilon(events.ComposedEvent(drawn), 1e-9) <= 1


@pytest.mark.pitfall("B23")
@RELATIONS
def test_a_mixed_batch_draws_for_every_kind_what_is_charged_at_once(draws, neighbours, sides):
    queries = [RELEASED["count"], T.choose(["A", "B", "C"], score=dp.score(by="ward"))]
    with opened(neighbours) as session:
        session.release(queries, epsilon=1, weights=[1, 3])
        counted, chosen = leaves(charged(session))
    noise, choice = draws.calls
    assert [noise] == record.additive(counted, [1])
    assert chosen == events.PureEvent(choice.rate * 2 * sides) == events.PureEvent(Fraction(3, 4))


@pytest.mark.pitfall("B23")
def test_an_answer_from_the_store_draws_nothing(draws):
    with opened("add_remove") as session:
        first = session.release(RELEASED["count"], epsilon=1)
        drawn = list(draws.calls)
        again = session.release(RELEASED["count"], epsilon=1)
    assert (first.measured, drawn) == (again.measured, draws.calls)
