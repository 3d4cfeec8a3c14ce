"""What was asked: the same however it was built, another wherever the answer could mean something else."""

import datetime as dt
from fractions import Fraction

import pyarrow as pa
import pytest

import discreet as dp
from discreet.plan import logical
from discreet.plan.fingerprint import Context, Question, fingerprint
from discreet.planner import identity
from discreet.planner.budget.price import Price
from discreet.planner.queries.sparse_vector import Threshold
from discreet.query.frame import Query, relation_of

CATALOG = """
tables:
  t:
    version: 1
    privacy_unit: id
    max_rows: 3
    budget: {epsilon: 2}
    columns:
      id: {type: integer}
      ward: {type: text, keys: [A, B]}
      drug: {type: text}
      age: {type: integer, bounds: [0, 120]}
      cost: {type: real}
      seen: {type: date}
      b: {type: boolean}
  wards:
    public: true
    columns: {ward: {type: text}, beds: {type: integer, bounds: [0, 90]}, floor: {type: integer, bounds: [0, 9]}}
"""
PURE, MIXED = dp.Budget(epsilon=2), dp.Budget(epsilon=2, delta=1e-9)
HALF = Price(epsilon=0.5)
CONTEXT = Context((("t", 1),), is_private=True)
t, w = dp.table("t"), dp.table("wards")


def catalog(**changes: str) -> dp.Catalog:
    text = CATALOG
    for old, new in changes.items():
        before, after = new.split(" -> ")
        assert before in text, old
        text = text.replace(before, after)
    return dp.Catalog.parse(text)


def named(question: Question) -> str:
    return fingerprint(question, CONTEXT)


def table(query: Query, facts: dp.Catalog | None = None, budget: dp.Budget = PURE, price: Price = HALF) -> str:
    return named(identity.table(query.plan, facts or catalog(), budget, price))


def all_different(names: list[str]) -> bool:
    return len(set(names)) == len(names)


QUERY = t.where(t.age > 1).group_by("ward").agg(n=dp.count())


class TestTables:
    def test_the_same_question_has_one_fingerprint_however_it_was_built(self):
        ways = [
            t.where(t.age > 1, t.b).group_by("ward").agg(n=dp.count()),
            t.where(t.age > 1).where(t.b).group_by("ward").agg(n=dp.count()),
            t.derive(x=t.age).where(t.x > 1).where(t.b).group_by("ward").agg(n=dp.count()),
            t.where(t.age > 1, t.b).group_by("ward", keys={"ward": ["A", "B"]}).agg(n=dp.count()),
        ]
        assert len({table(query) for query in ways}) == 1
        bounded = [dp.sum("age"), dp.sum("age", bounds=(0, 120)), dp.sum(t.age)]
        assert len({table(t.agg(s=each)) for each in bounded}) == 1
        medians = [dp.median("age"), dp.quantile("age", 0.5)]
        assert len({table(t.agg(m=each)) for each in medians}) == 1
        dates = [t.where(t.seen > day).agg(n=dp.count()) for day in ("2026-01-31", dt.date(2026, 1, 31))]
        assert len({table(query) for query in dates}) == 1

    def test_whatever_changes_the_answer_changes_the_fingerprint(self):
        rows = t.where(t.age > 1)
        queries = [
            QUERY,
            t.where(t.age > 2).group_by("ward").agg(n=dp.count()),
            t.where(t.age >= 1).group_by("ward").agg(n=dp.count()),
            t.where(t.age > 1.0).group_by("ward").agg(n=dp.count()),
            t.group_by("ward").agg(n=dp.count()),
            rows.group_by("ward", keys={"ward": ["B", "A"]}).agg(n=dp.count()),
            rows.group_by("ward", keys={"ward": ["A"]}).agg(n=dp.count()),
            rows.group_by("ward", max_rows_per_group=1).agg(n=dp.count()),
            rows.group_by("ward", max_groups=1).agg(n=dp.count()),
            rows.group_by("ward").agg(m=dp.count()),
            rows.group_by("ward").agg(n=dp.count(weight=2)),
            rows.group_by("ward").agg(n=dp.count_units()),
            rows.group_by("ward").agg(n=dp.count(), u=dp.count_units()),
            rows.group_by("ward").agg(u=dp.count_units(), n=dp.count()),
            rows.agg(n=dp.count()),
            rows.derive(x=t.ward).group_by("x", keys={"x": ["A", "B"]}).agg(n=dp.count()),
            rows.group_by("ward", "b").agg(n=dp.count()),
            rows.histogram("age", bins=[0, 50, 100]),
            rows.histogram("age", bins=[0, 60, 100]),
            rows.histogram("age", bins=[0, 50, 100], missing=True),
        ]
        assert all_different([table(query) for query in queries])

    def test_every_measure_and_what_it_is_asked_with_is_told_apart(self):
        measures = [
            dp.sum("age"),
            dp.sum("age", bounds=(0, 121)),
            dp.sum("age", grid=2),
            dp.sum("age", bounds="auto"),
            dp.sum("age", bounds=logical.Search(Fraction(1, 3))),
            dp.sum("age", bounds=logical.Search(Fraction(1, 3), "growth")),
            dp.sum(t.age * 2, bounds=(0, 120)),
            dp.mean("age"),
            dp.mean("age", bounds="auto"),
            dp.variance("age"),
            dp.std("age"),
            dp.median("age"),
            dp.quantile("age", 0.25),
            dp.interquartile_range("age"),
            dp.count_distinct("ward"),
            dp.count_distinct("ward", domain=["A"]),
            dp.count_distinct("drug", domain=["A"]),
        ]
        alone = [
            t.bounds("age"),
            t.bounds("age", grid=2),
            t.bounds("age", method="growth"),
            t.ranges("age", [(0, 10), (5, 20)], name="x"),
            t.ranges("age", [(0, 10), (5, 21)], name="x"),
            t.ranges("age", [(5, 20), (0, 10)], name="x"),
            t.ranges("cost", [(0, 10), (5, 20)], name="x"),
            t.hierarchy("ward", keys=pa.table({"ward": ["A", "B"]}), name="x"),
            t.hierarchy("ward", keys=pa.table({"ward": ["A", "B"], "b": [True, True]}), crossing=["b"], name="x"),
        ]
        assert all_different([table(query) for query in [*(t.agg(x=each) for each in measures), *alone]])

    def test_unknown_keys_are_told_apart_by_all_that_finds_them(self):
        words = [
            {"delta": 1e-10},
            {"delta": 1e-11},
            {"delta": 1e-10, "rule": "optimal"},
            {"delta": 1e-10, "at_least": 2},
            {"delta": 1e-10, "weight": 2},
        ]
        queries = [t.group_by("drug", keys=dp.discover(**each)).agg(n=dp.count()) for each in words]
        assert all_different([table(query, budget=MIXED) for query in queries])

    @pytest.mark.parametrize(
        "change",
        [
            "version: 1 -> version: 2",
            "privacy_unit: id -> privacy_unit: drug",
            "privacy_unit: id -> privacy_unit: [id, drug]",
            "max_rows: 3 -> max_rows: 2",
            "max_rows: 3 -> max_rows: 3\n    max_groups: 1",
            "max_rows: 3 -> max_rows: 3\n    max_rows_per_group: 1",
            "max_rows: 3 -> max_rows: 3\n    neighbours: replace_one",
            "max_rows: 3 -> max_rows: 3\n    missing_units: one_unit",
            "max_rows: 3 -> max_rows: 3\n    sampling: portable",
            "keys: [A, B] -> keys: [A, B, C]",
            "keys: [A, B] -> keys: [B, A]",
            "bounds: [0, 120] -> bounds: [0, 110]",
            "bounds: [0, 120] -> bounds: [0, 120], grid: 2",
            "bounds: [0, 120] -> bounds: [0, 120], missing: 7",
            "age: {type: integer -> age: {type: real",
            "seen: {type: date -> seen: {type: timestamp",
        ],
    )
    def test_every_fact_that_an_answer_rests_on_is_part_of_its_fingerprint(self, change):
        query = t.where(t.seen > "2026-01-01").group_by("ward").agg(s=dp.sum("age"))
        assert table(query) != table(query, catalog(fact=change))

    def test_facts_that_only_the_planner_uses_are_not(self):
        told = catalog(rows="max_rows: 3 -> max_rows: 3\n    rows: 1000\n    population: 5000000")
        assert table(t.agg(q=dp.median("age"))) == table(t.agg(q=dp.median("age")), told)

    def test_joined_columns_are_known_by_the_table_and_the_column_that_they_come_from(self):
        ways = [
            t.join(w, on="ward").agg(s=dp.sum("beds")),
            t.join(w, on="ward", names={"beds": "x"}).agg(s=dp.sum("x", bounds=(0, 90))),
            t.join(w, on="ward", names={"floor": "x"}).agg(s=dp.sum("x", bounds=(0, 90))),
            t.join(w, on={"drug": "ward"}).agg(s=dp.sum("beds")),
            t.join(w, on="ward", how="left").agg(s=dp.sum("beds")),
            t.join(w, on="ward", max_rows=1).agg(s=dp.sum("beds")),
            t.agg(s=dp.sum("age", bounds=(0, 90))),
        ]
        assert all_different([table(query) for query in ways])
        wider = catalog(fact="beds: {type: integer, bounds: [0, 90]} -> beds: {type: integer, bounds: [0, 99]}")
        assert table(ways[0]) != table(ways[0], wider)

    def test_features_of_a_unit_are_told_apart(self):
        queries = [
            t.per_unit(x=dp.count()).agg(s=dp.sum("x", bounds=(0, 9))),
            t.per_unit(x=dp.sum("age")).agg(s=dp.sum("x", bounds=(0, 9))),
            t.per_unit(x=dp.largest("age")).agg(s=dp.sum("x", bounds=(0, 9))),
            t.per_unit(x=dp.smallest("age")).agg(s=dp.sum("x", bounds=(0, 9))),
            t.where(t.b).per_unit(x=dp.count()).agg(s=dp.sum("x", bounds=(0, 9))),
        ]
        assert all_different([table(query) for query in queries])

    def test_keys_that_were_resolved_before_give_the_same_fingerprint(self):
        known = identity.keys.resolve(QUERY.plan.grouping, identity.bind(QUERY.plan.source, catalog()))
        assert table(QUERY) == named(identity.table(QUERY.plan, catalog(), PURE, HALF, known))


class TestPrices:
    def test_every_privacy_parameter_and_override_is_part_of_the_fingerprint(self):
        prices = [
            HALF,
            Price(epsilon=0.6),
            Price(rho=0.5),
            Price(epsilon=0.5, mechanism="laplace"),
            Price(epsilon=0.5, mechanism="gaussian"),
            Price(epsilon=0.5, delta=1e-10),
        ]
        assert all_different([table(QUERY, budget=MIXED, price=each) for each in prices])

    def test_one_amount_is_one_price_however_it_is_written(self):
        ways = (0.5, Fraction(1, 2), 0.5 + 1e-13)
        assert len({table(QUERY, price=Price(epsilon=each)) for each in ways}) == 1

    def test_an_epsilon_means_something_else_at_another_delta_and_nothing_else_does(self):
        budgets = (
            MIXED,
            dp.Budget(epsilon=2, delta=1e-8),
            dp.Budget(epsilon=2, delta=1e-9, reserved_delta=5e-10),
            PURE,
        )
        assert all_different([table(QUERY, budget=each) for each in budgets])
        for price in (Price(rho=0.1), Price(epsilon=0.5, mechanism="laplace")):
            assert len({table(QUERY, budget=each, price=price) for each in budgets}) == 1
        larger = dp.Budget(epsilon=3, delta=1e-9, reserved_delta=MIXED.reserve)
        assert table(QUERY, budget=MIXED) == table(QUERY, budget=larger)

    def test_a_batch_is_its_questions_in_order_with_their_shares(self):
        one, two = t.agg(n=dp.count()).plan, QUERY.plan

        def batch(*queries, weights=None, price=HALF, budget=MIXED):
            questions = [identity.table(query, catalog(), budget, price) for query in queries]
            return named(identity.batch(questions, budget, price, weights))

        others = [batch(one), batch(one, two), batch(two, one), batch(one, two, weights=[1, 2])]
        assert all_different(
            [*others, batch(one, two, price=Price(epsilon=0.5, delta=1e-10)), table(t.agg(n=dp.count()))]
        )
        assert batch(one, two) == batch(one, two, weights=[2, 2])
        own = Price(epsilon=0.5, delta=1e-10)
        assert batch(one, price=own) == batch(one, price=own, budget=dp.Budget(epsilon=2, delta=1e-8))


class TestOthers:
    def test_selections_are_the_same_only_where_everything_is(self):
        def selection(candidates, top=1, price=HALF, **words):
            source, score = relation_of(words.pop("table", t)), dp.score(**({"by": "ward"} | words))
            return named(identity.selection(score.selection(source, candidates), catalog(), MIXED, price, top))

        names = [
            selection(["A", "B"]),
            selection(["B", "A"]),
            selection(["A"]),
            selection(["A", "B"], top=2),
            selection(["A", "B"], price=Price(rho=0.1)),
            selection(["A", "B"], times=[1, 2]),
            selection(["A", "B"], near=3),
            selection(["A", "B"], of=dp.count_units()),
            selection(["A", "B"], of=dp.sum("age")),
            selection(["A", "B"], table=t.where(t.b)),
            selection(["A", "B"], by="drug"),
            selection([1, 2], by="age"),
            selection([1, 2], by="age", side="or above"),
            selection([1, 2], by="age", side="below"),
            selection([1, 2.5], by="age", side="below"),
            selection([1, 2], by="cost", side="below"),
            selection(dp.discover(delta=1e-10), by="drug"),
            selection(dp.discover(delta=1e-11), by="drug"),
        ]
        assert all_different(names)
        query = dp.score(by="ward").selection(relation_of(t), ["A", "B"])
        known = identity.keys.resolve(
            logical.Grouping(("ward",), (("A", "B"),)), identity.bind(query.source, catalog())
        )
        assert named(identity.selection(query, catalog(), MIXED, HALF, 1, known)) == names[0]
        days = [["2026-01-31"], [dt.date(2026, 1, 31)]]
        assert len({selection(each, by="seen") for each in days}) == 1

    def test_estimates_are_told_apart_by_their_noise_and_bound(self):
        def estimate(query, price=HALF, noise=None, bound=None):
            return named(identity.estimate(query.plan, catalog(), MIXED, price, noise=noise, bound=bound))

        median, mean = t.agg(age=dp.median("age")), t.agg(age=dp.mean("age"))
        names = [
            estimate(median),
            estimate(mean),
            estimate(median, noise="pareto"),
            estimate(median, noise="student_t"),
            estimate(median, bound=1),
            estimate(median, bound=2),
            estimate(median, Price(epsilon=0.5, delta=1e-10)),
            estimate(t.agg(other=dp.median("age"))),
            table(median),
        ]
        assert all_different(names)

    def test_samples_are_told_apart_by_all_that_runs(self):
        asked = {
            "columns": ["age"],
            "blocks": 4,
            "bounds": (0, 100),
            "default": None,
            "grid": None,
            "aggregate": "mean",
            "function": ("f", "ab"),
            "runs": "Limits(seconds=1)",
        }

        def sample(source=t, **changes):
            relation = source._relation
            return named(identity.sample(relation, catalog(), PURE, HALF, **(asked | changes)))

        changes = [
            {"columns": ["cost"]},
            {"columns": ["age", "cost"]},
            {"blocks": 5},
            {"bounds": (0, 101)},
            {"default": 50},
            {"grid": 1},
            {"aggregate": "median"},
            {"function": ("g", "ab")},
            {"function": ("f", "cd")},
            {"runs": "Limits(seconds=2)"},
            {"source": t.where(t.b)},
        ]
        assert all_different([sample(), *(sample(**each) for each in changes)])

    def test_watches_and_streams_are_told_apart_by_their_words(self):
        def watch(**changes):
            return named(identity.sparse_vector("t", catalog(), PURE, HALF, Threshold(**({"threshold": 10} | changes))))

        def stream(column="age", edges=(0, 10, 20), **changes):
            words = {"total": 100, "threshold": 5, "corrections": 3} | changes
            return named(identity.online_ranges(t._relation, column, edges, catalog(), PURE, HALF, **words))

        watches = [watch(), watch(threshold=11), watch(answers=2), watch(monotone=True)]
        streams = [stream(), stream("cost"), stream(edges=(0, 10)), stream(total=9), stream(threshold=6)]
        assert all_different([*watches, *streams, stream(corrections=4)])
