"""Plans draw for every integer they release, with the noise that their event is priced from, under both relations."""

from fractions import Fraction

import pyarrow as pa
import pytest

import discreet as dp
import draws as record
from discreet import events
from discreet.accounting.costs import RHO_UNITS, cost
from discreet.catalog.catalog import Catalog
from discreet.catalog.privacy_unit import Caps, Neighbours
from discreet.mechanisms.smooth.smoothing import smooth_sensitivity
from discreet.plan.physical import KeyedTable
from discreet.planner.batch import analyze_batch
from discreet.planner.budget import allocation
from discreet.planner.budget.price import Price
from discreet.planner.queries.aggregate import AggregatePlan
from discreet.planner.queries.hierarchy import HierarchyPlan
from discreet.planner.queries.online_ranges import analyze_online_ranges
from discreet.planner.queries.quantile_methods import ByChoice, ByTree, Layout, by_choice, by_tree
from discreet.planner.queries.quantiles import QuantilePlan
from discreet.planner.queries.ranges import RangePlan
from discreet.planner.queries.sample_and_aggregate import analyze_sample
from discreet.planner.queries.smooth_sensitivity import analyze_smooth
from discreet.planner.queries.sparse_vector import Threshold, analyze_sparse_vector
from discreet.planner.registry import plan_query, plan_selection
from discreet.query.frame import relation_of
from discreet.samplers import continuous

T = dp.table("t")
PURE = dp.Budget(epsilon=4)
PAIR = dp.Budget(epsilon=4, delta=1e-9)
RESERVED = dp.Budget(epsilon=4, delta=2e-6, reserved_delta=1e-6)
COLUMNS = {
    "id": {"type": "text"},
    "ward": {"type": "text", "keys": ["A", "B", "C"]},
    "drug": {"type": "text"},
    "state": {"type": "text"},
    "county": {"type": "text"},
    "zip": {"type": "text"},
    "cost": {"type": "integer", "bounds": [0, 10]},
    "age": {"type": "integer"},
}
RELATIONS = pytest.mark.parametrize(("neighbours", "sides"), [("add_remove", 1), ("replace_one", 2)])
NEIGHBOURS = pytest.mark.parametrize("neighbours", ["add_remove", "replace_one"])
NOISES = pytest.mark.parametrize("mechanism", ["laplace", "gaussian"])
PRICE = {"laplace": {"epsilon": 1}, "gaussian": {"rho": Fraction(1, 8)}}


def catalog(neighbours, **facts):
    table = {"columns": COLUMNS, "privacy_unit": "id", "max_rows": 2, "neighbours": neighbours} | facts
    return Catalog.model_validate({"tables": {"t": table}})


def plan_of(query, neighbours, mechanism="laplace", budget=None, **facts):
    return plan_query(query.plan, catalog(neighbours, **facts), budget or PAIR, mechanism=mechanism, **PRICE[mechanism])


def parts_of(event):
    return [leaf for leaf, times in events.leaves(event) for _ in range(times)]


def moved_by(event):
    """The sensitivity that each part of an event is priced with: L1, or the square of L2."""
    return [
        leaf.sensitivity if isinstance(leaf, events.DiscreteLaplaceEvent) else leaf.squared_sensitivity
        for leaf in parts_of(event)
    ]


def require_price(event, mechanism):
    """All parts together cost what was asked for, up to the rounding of scales to doubles."""
    spent = cost(event)
    asked, found = (10**12, spent.epsilon) if mechanism == "laplace" else (10**15 // 8, spent.rho)
    assert asked - 1_000 <= found <= asked


def require_drawn(draws, private, exact, noisy):
    """A draw for each integer of each part, with the very parameters of the event that is charged."""
    combined = private.combine(exact)
    assert draws.calls == record.additive(private.event, map(len, combined))
    assert record.carried(noisy, combined) == draws.returned


AGGREGATES = {
    "count": ({"n": dp.count()}, [(2, 4)]),
    "count_units": ({"u": dp.count_units()}, None),
    "count_distinct": ({"d": dp.count_distinct("drug", domain=["x", "y", "z"])}, [(2, 4)]),
    "sum": ({"s": dp.sum("cost")}, [(20, 400)]),
    "histogram": ({"n": dp.count(), "s": dp.sum("cost")}, None),
    "mean": ({"m": dp.mean("cost")}, None),
    "variance": ({"v": dp.variance("cost")}, None),
    "deviation": ({"v": dp.std("cost")}, None),
    "all": ({"n": dp.count(), "m": dp.mean("cost"), "v": dp.variance("cost"), "u": dp.count_units()}, None),
}


@pytest.mark.pitfall("B23")
@pytest.mark.draws("planner.queries.aggregate.AggregatePlan")
@RELATIONS
@NOISES
@pytest.mark.parametrize("is_grouped", [True, False])
@pytest.mark.parametrize("aggregate", AGGREGATES)
def test_every_integer_of_a_table_has_a_draw_of_its_own(draws, aggregate, is_grouped, mechanism, neighbours, sides):
    outputs, moved = AGGREGATES[aggregate]
    private = plan_of((T.group_by("ward") if is_grouped else T).agg(**outputs), neighbours, mechanism)
    assert isinstance(private, AggregatePlan)
    groups = 3 if is_grouped else 1
    exact = [[1_000 * place + group for group in range(groups)] for place in range(len(private.pushdown.measures))]
    require_drawn(draws, private, exact, private.randomize(exact))
    require_price(private.event, mechanism)
    if aggregate == "count_units" and is_grouped:  # two groups, and three where two others take their place
        assert moved_by(private.event) == [1 + sides]
    if moved and is_grouped:
        assert moved_by(private.event) == [sides * (l1 if mechanism == "laplace" else squared) for l1, squared in moved]


STATES = pa.table({"state": ["N", "N", "S"], "county": ["a", "b", "c"], "zip": ["1", "2", "1"]})


@pytest.mark.pitfall("B23")
@pytest.mark.draws("planner.queries.hierarchy.HierarchyPlan")
@RELATIONS
@NOISES
@pytest.mark.parametrize("crossing", [(), ("zip",)])
def test_every_level_of_a_hierarchy_has_noise_the_total_too(draws, crossing, mechanism, neighbours, sides):
    asked = T.hierarchy("state", "county", keys=STATES, crossing=list(crossing))
    private = plan_of(asked, neighbours, mechanism)
    assert isinstance(private, HierarchyPlan)
    exact = [[30, 20, 10]]
    noisy = private.randomize(exact)
    levels = [part.name for part in private.hierarchy.parts]
    assert [len(column) for column in noisy] == ([3, 3, 2, 1, 2] if crossing else [3, 2, 1])
    require_drawn(draws, private, exact, noisy)
    require_price(private.event, mechanism)
    alone = {"laplace": (2, 2 * sides), "gaussian": (4, 4 * sides)}[mechanism]
    assert moved_by(private.event) == [alone[level != "all"] for level in levels]


RANGES = {
    "one": [(20, 50)],
    "few": [(20, 30), (20, 40), (30, 50), (45, 46)],
    "tree": [(low, high) for low in range(20, 40) for high in range(low + 1, 40)],
}


@pytest.mark.pitfall("B23")
@pytest.mark.draws("planner.queries.ranges.RangePlan")
@RELATIONS
@NOISES
@pytest.mark.parametrize("ranges", RANGES)
def test_every_sum_of_bins_that_a_range_is_read_off_has_a_draw(draws, ranges, mechanism, neighbours, sides):
    private = plan_of(T.ranges("age", ranges=RANGES[ranges]), neighbours, mechanism)
    assert isinstance(private, RangePlan)
    exact = [list(range(100, 100 + private.workload.bins))]
    require_drawn(draws, private, exact, private.randomize(exact))
    require_price(private.event, mechanism)
    unit_moves = [each.l1 if mechanism == "laplace" else each.l2_squared for each in private.sensitivities]
    assert moved_by(private.event) == unit_moves
    if ranges == "one":
        assert unit_moves == [2 if mechanism == "laplace" else 4]


LAYOUT = {"caps": Caps(2, None, None), "groups": 2, "steps": 8}


def spending_of(mechanism):
    words = {"epsilon": None, "rho": None} | PRICE[mechanism]
    return allocation.spending(PAIR, **words, mechanism=mechanism)


@pytest.mark.pitfall("B23")
@pytest.mark.draws("planner.queries.quantile_methods.ByChoice", "planner.queries.quantile_methods.ByTree")
@RELATIONS
@NOISES
def test_quantiles_choose_a_step_in_each_group_or_draw_for_each_node(draws, mechanism, neighbours, sides):
    layout, spent = Layout(neighbours=Neighbours(neighbours), **LAYOUT), spending_of(mechanism)
    half, shares = Fraction(1, 2), ((Fraction(1, 2), Fraction(1)), (Fraction(1, 4), Fraction(1)))
    counts = [1, 0, 2, 0, 3, 0, 0, 1] * 2
    chosen, tree = by_choice(layout, spent, shares), by_tree(layout, spent, (half, Fraction(1, 4)))
    assert [len(steps) for steps in chosen.randomize(counts)] == [2, 2]
    assert len(draws.calls) == 2 * 2
    for call, leaf, (share, _) in zip(draws.calls[::2], parts_of(chosen.event), shares, strict=True):
        # a row moves a score by p or m - p, and by m where it is replaced in its group; a unit has two rows
        most = 2 * max(share.numerator, share.denominator - share.numerator)
        squared = most**2 if sides == 1 else max(2 * most**2, (2 * share.denominator) ** 2)
        if mechanism == "laplace":
            assert isinstance(call, record.FirstKept)
            assert leaf == events.PureEvent(2 * call.rate * most * sides)
        else:
            assert isinstance(call, record.Peeled)
            priced = layout.score_sensitivity(share).l2_squared
            alone = events.BoundedRangeEvent(2 * call.rate * most * sides)
            together = events.ConcentratedEvent(call.rate**2 * priced / 2)
            assert leaf == (alone if (most * sides) ** 2 == priced else together)
            assert squared <= priced <= Fraction(10, 9) * squared
    assert [call.rate for call in draws.calls[::2]] == [call.rate for call in draws.calls[1::2]]
    draws.forget()
    noisy, exact = tree.randomize(counts), tree.combine(counts)
    assert draws.calls == record.additive(tree.event, map(len, exact))
    assert record.carried(noisy, exact) == draws.returned
    for event in (chosen.event, tree.event):
        require_price(event, mechanism)


@pytest.mark.pitfall("B23")
@pytest.mark.draws("planner.queries.quantiles.QuantilePlan")
@RELATIONS
@NOISES
def test_quantiles_of_groups_are_what_their_way_draws(draws, mechanism, neighbours, sides):
    one = plan_of(T.group_by("ward").agg(m=dp.median("cost")), neighbours, mechanism)
    twentieths = T.agg(q=dp.quantiles("cost", [part / 20 for part in range(1, 20)]))
    many = plan_of(twentieths, neighbours, mechanism)
    assert isinstance(one, QuantilePlan)
    assert isinstance(one.method, ByChoice)
    assert isinstance(many.method, ByTree)
    counts = list(range(11))
    one.randomize([counts * 3])
    assert [type(call) for call in draws.calls] == [record.FirstKept if mechanism == "laplace" else record.Peeled] * 3
    assert one.event == one.method.event
    assert {call.rate for call in draws.calls} == {one.method.selections[0].rate}
    draws.forget()
    require_drawn(draws, many, [counts], many.randomize([counts]))
    leaves = (2 if mechanism == "laplace" else 4) * sides
    assert moved_by(many.event)[0] == leaves


FOUND = KeyedTable((("a",), ("b",), ("c",), ("d",)), [])


@pytest.mark.pitfall("B23")
@pytest.mark.draws("planner.queries.partition_selection.DiscoveryPlan")
@RELATIONS
@pytest.mark.parametrize("rule", ["optimal", "laplace", "gaussian"])
@pytest.mark.parametrize("outputs", [{"n": dp.count()}, {"u": dp.count_units(), "s": dp.sum("cost")}], ids=list)
def test_keys_that_are_found_have_the_draws_of_their_rule_and_of_their_answers(draws, outputs, rule, neighbours, sides):
    asked = T.group_by("drug", keys=dp.discover(delta=1e-6, rule=rule)).agg(**outputs)
    mechanism = "gaussian" if rule == "gaussian" else "laplace"
    private = plan_of(asked, neighbours, mechanism, RESERVED)
    columns = [[10**6 + 10 * place + group for group in range(4)] for place in range(len(private.pushdown.measures))]
    noisy = private.randomize(FOUND._replace(columns=columns))
    ruled, *others = private.event.events
    answered = [len(noisy.keys)] * len(others)
    if rule == "optimal":
        assert draws.calls == [record.Bits(4 * 256), *record.additive(events.ComposedEvent(tuple(others)), answered)]
        assert ruled == events.ApproximateEvent(private.rule.epsilon, Fraction(1, 10**6))
    else:
        noise, own = ruled.events
        drawn = events.ComposedEvent((noise, *others))
        assert draws.calls == record.additive(drawn, [4, *answered])
        assert own == events.ApproximateEvent(Fraction(0), Fraction(1, 10**6))
        assert moved_by(events.ComposedEvent((noise,))) == [2 * sides]
    exact = private.answers.combine(columns)
    assert sorted(record.carried(noisy.columns, exact)) == sorted(draws.returned)[-4 * len(exact) :]
    assert private.rule.changed_keys == 2 * sides
    require_price(private.event, mechanism)


@pytest.mark.pitfall("B23")
@pytest.mark.draws("planner.queries.auto_bounds.AutoBoundsPlan", "planner.queries.bound_search.ByCounts")
@RELATIONS
@NOISES
def test_bounds_by_counts_are_drawn_and_what_is_left_is_drawn_for_within_them(draws, mechanism, neighbours, sides):
    private = plan_of(T.agg(s=dp.sum("age", bounds="auto"), n=dp.count()), neighbours, mechanism)
    bins = len(private.scale.bins)
    counts = [0] * (bins + 1)
    counts[bins // 2 + 3] = 10**6
    found, rest = private.randomize([counts, [10 * count for count in counts]])
    search, left = private.event.events
    within = private.within(found.bounds)
    assert draws.calls == record.additive(events.ComposedEvent((search, within.event)), [bins, 1, 1])
    assert record.carried([found.counts], [counts[:-1]]) == draws.returned[:bins]
    assert moved_by(search) == [(2 if mechanism == "laplace" else 4) * sides]
    spent = cost(within.event)
    if mechanism == "laplace":
        assert left == events.PureEvent(private.rest)
        assert 0 <= private.rest * 10**12 - spent.epsilon < 1_000
    else:
        assert left == events.ConcentratedEvent(private.rest)
        assert 0 <= private.rest * 10**15 - spent.rho < 1_000
    require_price(private.event, mechanism)
    assert len(rest) == 2


@pytest.mark.pitfall("B23")
@pytest.mark.draws("planner.queries.bound_search.ByGrowth")
@RELATIONS
def test_bounds_by_growth_are_drawn_as_the_sparse_vector_that_is_priced(draws, neighbours, sides):
    asked = T.agg(s=dp.sum("age", bounds=dp.auto_bounds(method="growth")))
    private = plan_of(asked, neighbours)
    bins = len(private.scale.bins)
    counts = [0] * (bins + 1)
    counts[bins // 2 + 3] = 10**6
    found, _ = private.randomize([counts, [10 * count for count in counts]])
    threshold, presence, comparison, *answers = draws.calls
    search, left = private.event.events
    one_way = sides == 1
    first, second = Fraction(2) / threshold.scale, (2 if one_way else 4) * Fraction(2) / comparison.scale
    assert (threshold.count, presence.count, comparison.count) == (1, 2, 16)
    sparse_vector, counted = search.events
    assert sparse_vector == events.PureEvent(first + second)
    assert [presence] == record.additive(counted, [2])
    assert moved_by(events.ComposedEvent((counted,))) == [2 * sides]
    assert answers == record.additive(private.within(found.bounds).event, [1])
    assert left == events.PureEvent(private.rest)
    require_price(private.event, "laplace")


SCORES = {
    "count": (dp.score(by="ward"), 2),
    "units": (dp.score(by="ward", of=dp.count_units()), 1),
    "sum": (dp.score(by="ward", of=dp.sum("cost")), 20),
    "side": (dp.score(by="age", side="or above"), 2),
    "side of capped bins": (dp.score(by="age", side="or above", max_rows_per_group=1), 2),
    "factors": (dp.score(by="ward", times=[1, 5, 3]), 10),
    "near": (dp.score(by="ward", near=4), 2),
}


@pytest.mark.pitfall("B23")
@pytest.mark.draws("planner.queries.selection.SelectionPlan")
@RELATIONS
@NOISES
@pytest.mark.parametrize("top", [1, 2])
@pytest.mark.parametrize("score", SCORES)
def test_a_selection_is_drawn_with_the_rate_of_what_one_unit_moves(draws, score, top, mechanism, neighbours, sides):
    """All scores move one way where a unit is added or removed, unless what counts is how near they are."""
    asked, moved = SCORES[score]
    candidates = [10, 20, 30] if score.startswith("side") else ["A", "B", "C"]
    budget, selection = PURE if mechanism == "laplace" else PAIR, asked.selection(relation_of(T), candidates)
    private = plan_selection(selection, catalog(neighbours), budget, **PRICE[mechanism], top=top)
    exact = [[5, 9, 2, 9][: 4 if score.startswith("side") else 3]]
    scores = private.scores(exact)
    private.randomize(exact)
    (call,) = draws.calls
    both_ways = 1 if sides == 1 and score != "near" else 2
    assert call.gaps == tuple(max(scores) - each for each in scores)
    one = call.rate * moved * both_ways
    if top == 2:
        assert call.count == 2
        assert private.event == events.RepeatedEvent(events.BoundedRangeEvent(one), 2)
    elif mechanism == "laplace":
        assert isinstance(call, record.FirstKept)
        assert private.event == events.PureEvent(one)
    else:
        assert call.count == 1
        assert private.event == events.BoundedRangeEvent(one)
    require_price(private.event, mechanism)


@pytest.mark.pitfall("B23")
@pytest.mark.draws("planner.queries.top_keys.TopKeysPlan")
@RELATIONS
@pytest.mark.parametrize(("measure", "moved"), [(dp.count_units(), 1), (dp.count(), 2)], ids=["units", "rows"])
def test_the_best_of_keys_that_are_not_known_are_drawn_with_the_rate_that_is_priced(
    draws, measure, moved, neighbours, sides
):
    selection = dp.score(by="drug", of=measure).selection(relation_of(T), dp.discover(delta=1e-6))
    private = plan_selection(selection, catalog(neighbours), RESERVED, epsilon=4, top=2)
    columns = [[50, 70, 3, 2]] * len(private.pushdown.measures)
    private.randomize(FOUND._replace(columns=columns))
    (call,) = draws.calls
    assert call.gaps[:4] == tuple(max(private.mechanism.bar, 70) - score for score in (70, 50, 3, 2))
    choices = events.RepeatedEvent(events.BoundedRangeEvent(call.rate * moved * sides), 2)
    delta = events.ApproximateEvent(Fraction(0), Fraction(1, 10**6))
    assert private.event == events.ComposedEvent((choices, delta))
    assert private.mechanism.groups == 2


@pytest.mark.pitfall("B23")
@pytest.mark.draws("planner.queries.sparse_vector.SparseVectorPlan", "planner.queries.online_ranges.OnlineRangesPlan")
@RELATIONS
def test_a_watch_and_a_stream_draw_what_their_opening_is_charged_for(draws, neighbours, sides):
    options = Threshold(10, answers=2, sensitivity=2, monotone=sides == 1, with_answers=True)
    watch = analyze_sparse_vector("t", catalog(neighbours), PURE, options, epsilon=1)
    watch.mechanism.open().ask_many([10**6] * 2)
    scales = [call.scale for call in draws.calls]
    first, second, third = 2 / scales[0], 2 * sides * 2 / scales[1], 2 * 2 / scales[2]
    together = max(first + max(second, third), second + third) if sides == 1 else first + second + third
    assert [call.count for call in draws.calls] == [1, 16, 1, 1]
    assert watch.event == events.PureEvent(together)
    draws.forget()
    asked = {"total": 100, "threshold": 5, "corrections": 2, "epsilon": 1}
    stream = analyze_online_ranges(relation_of(T), "age", (0, 10, 20), catalog(neighbours), PURE, **asked)
    stream.mechanism.open([10**6, 0]).ask(0, 1)
    threshold, comparison, answer = (call.scale for call in draws.calls)
    assert stream.event == events.PureEvent(2 / threshold + 2 * 2 * 2 / comparison + 2 * 2 / answer)
    for event in (watch.event, stream.event):
        require_price(event, "laplace")


@pytest.mark.pitfall("B23")
@NEIGHBOURS
@pytest.mark.parametrize("answers", [1, 12])
def test_a_watch_with_a_delta_draws_each_threshold_and_each_number_that_it_is_charged_for(draws, neighbours, answers):
    options = Threshold(10, answers=answers, sensitivity=2, monotone=neighbours == "add_remove", with_answers=True)
    watch = analyze_sparse_vector("t", catalog(neighbours), PAIR, options, epsilon=Fraction(1, 4))
    replies = watch.mechanism.open().ask_many([10**6] * (answers + 1))
    threshold, comparison, answer = draws.calls[:3]
    sides = 1 if options.monotone else 2
    assert draws.calls == [threshold, comparison, answer] + [threshold, answer] * (answers - 1)
    stage = events.PureEvent(2 / threshold.scale + sides * 2 / comparison.scale)
    shown = events.DiscreteGaussianEvent(answer.variance, Fraction(4))
    charged = (events.RepeatedEvent(stage, answers), events.RepeatedEvent(shown, answers))
    assert watch.event == events.ComposedEvent(charged)
    assert PAIR.cost(watch.event).renyi <= watch.spending.amount * RHO_UNITS
    assert len({reply.answer for reply in replies}) == answers


@pytest.mark.pitfall("B23")
@pytest.mark.draws("planner.queries.smooth_sensitivity.SmoothPlan")
@NEIGHBOURS
@pytest.mark.parametrize(
    "query", [dp.mean("cost"), dp.median("cost"), dp.interquartile_range("cost")], ids=["mean", "median", "quartiles"]
)
def test_noise_that_fits_is_drawn_on_the_scale_of_what_one_unit_moves(draws, query, neighbours):
    asked = T.agg(x=query).plan
    smooth = analyze_smooth(asked, catalog(neighbours), PURE, epsilon=1)
    proposed = analyze_smooth(asked, catalog(neighbours), RESERVED, epsilon=4, bound=3, delta=Fraction(1, 10**6))
    exact = [[120], [40]] if len(smooth.pushdown.measures) == 2 else [[3, 0, 1, 5, 0, 2, 2, 0, 0, 1, 4]]
    local = smooth.reading.local(exact)
    assert (smooth.reading.max_rows, str(smooth.unit.neighbours)) == (2, neighbours)
    smooth.randomize(exact)
    (call,) = draws.calls
    scale = smooth_sensitivity(local, smooth.mechanism.beta) / smooth.mechanism.shift
    assert call == record.Continuous(local.value(), scale, smooth.mechanism.law, smooth.mechanism.grid)
    assert smooth.event == events.PureEvent(Fraction(1))
    draws.forget()
    proposed.randomize(exact)
    test, own = proposed.event.events
    assert own.epsilon == proposed.mechanism.epsilon
    number = record.Continuous(local.value(), 3 / own.epsilon, continuous.StandardLaplace(), proposed.mechanism.grid)
    assert draws.calls == [record.Laplace(test.scale, 1), number]
    assert test.sensitivity == 1
    assert 1 / test.scale <= own.epsilon == proposed.spending.amount / 2


@pytest.mark.pitfall("B23")
@pytest.mark.draws("planner.queries.sample_and_aggregate.SampleAndAggregatePlan")
@RELATIONS
@pytest.mark.parametrize("aggregate", ["mean", "median", "mean with bounds of its own"])
def test_answers_of_blocks_are_drawn_for_all_that_a_unit_changes(draws, aggregate, neighbours, sides):
    words = {"columns": ["cost"], "blocks": 5, "bounds": (0, 10), "function": ("f", "ab"), "grid": 1}
    private = analyze_sample(relation_of(T), catalog(neighbours), PURE, epsilon=1, aggregate=aggregate, **words)
    private.randomize([Fraction(each) for each in (0, 2, 5, 7, 10)])
    if aggregate == "mean":
        assert private.event == events.DiscreteLaplaceEvent(Fraction(10 * sides), Fraction(10 * sides))
        assert draws.calls == record.additive(private.event, [1])
    elif aggregate == "median":
        (call,) = draws.calls
        assert private.event == events.BoundedRangeEvent(2 * 2 * sides * call.rate)
    else:
        lower, upper, mean = draws.calls
        quartiles, rest = private.event.events
        assert quartiles == events.RepeatedEvent(events.BoundedRangeEvent(2 * 4 * sides * lower.rate), 2)
        assert lower.rate == upper.rate
        # the recorded buckets are the first, so the bounds that are found are three steps apart
        assert rest == events.PureEvent(3 * sides / mean.scale)
    require_price(private.event, "laplace")


@pytest.mark.pitfall("B23")
@pytest.mark.draws("planner.batch.BatchPlan")
@RELATIONS
@pytest.mark.parametrize("delta", [None, Fraction(1, 10**6)], ids=["sum", "pair"])
def test_a_batch_draws_for_each_of_its_questions_what_all_are_charged_for(draws, delta, neighbours, sides):
    queries = [T.agg(n=dp.count()).plan, T.group_by("ward").agg(s=dp.sum("cost")).plan]

    def part_of(query, budget, price):
        return plan_query(query, catalog(neighbours), budget, **price.arguments)

    batch = analyze_batch(queries, part_of, RESERVED if delta else PURE, Price(epsilon=1, delta=delta))
    exact = [[[7]], [[1, 2, 3]]]
    noisy = [part.randomize(each) for part, each in zip(batch.parts, exact, strict=True)]
    drawn = events.ComposedEvent(tuple(part.event for part in batch.parts))
    assert draws.calls == record.additive(drawn, [1, 3])
    assert [record.carried(*pair) for pair in zip(noisy, exact, strict=True)] == [[1], [2, 3, 4]]
    assert moved_by(drawn) == ([4, 400 * sides] if delta else [2, 20 * sides])
    if delta is None:
        assert batch.event == drawn
        require_price(batch.event, "laplace")
    else:
        rho = sum(leaf.squared_sensitivity / (2 * leaf.variance) for leaf in parts_of(drawn))
        assert batch.event == events.ApproximateConcentratedEvent(Fraction(1), delta, rho)
        assert Fraction(98, 100) < dp.accounting.pld.epsilon(drawn, delta) <= 1
