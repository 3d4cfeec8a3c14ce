"""From a plan to a private plan by public facts alone: what is refused, what is read, what an engine is asked."""

import inspect
import subprocess
import sys
from fractions import Fraction

import pytest

import discreet as dp
from discreet.accounting.costs import cost
from discreet.accounting.filters import Budget
from discreet.catalog.catalog import Catalog, ColumnType
from discreet.catalog.privacy_unit import Caps
from discreet.errors import KeysError, NameNotFoundError, ParameterError, Refusal, UnboundedError
from discreet.plan import physical
from discreet.plan.physical import CountRows, MissingUnits, Read
from discreet.planner.queries import tables
from discreet.planner.queries.tables import AggregatePlan, analyze

BUDGET = Budget(epsilon=2)
t = dp.table("t")


def _analyzed(query, *, facts="max_rows: 3", unit="id", **price) -> AggregatePlan:
    catalog = Catalog.parse(f"""
        tables:
          t:
            privacy_unit: {unit}
            {facts}
            columns:
              id: {{type: text}}
              site: {{type: integer}}
              ward: {{type: text, keys: [A, B, C]}}
              age: {{type: integer, bounds: [0, 120]}}
              cost: {{type: real, bounds: [0, 5000]}}
              unused: {{type: text}}
        """)
    return analyze(query.plan, catalog, BUDGET, **(price or {"epsilon": 1}))


def _refused(query, **options) -> Refusal:
    with pytest.raises(Refusal) as caught:
        _analyzed(query, **options)
    return caught.value


class TestWhatIsRead:
    def test_only_the_columns_that_are_needed_are_read_in_one_order(self):
        query = t.where(t.age > 1).group_by("ward").agg(n=dp.count(), m=dp.mean("cost"))
        assert _analyzed(query).pushdown.columns_read == ("age", "cost", "id", "ward")
        assert _analyzed(t.agg(n=dp.count())).pushdown.columns_read == ("id",)
        assert _analyzed(t.agg(n=dp.count()), unit="dp.ROW").pushdown.columns_read == ()

    def test_a_derived_column_that_nobody_uses_is_not_read(self):
        query = t.derive(x=t.unused, y=t.cost + 1).agg(n=dp.count())
        assert _analyzed(query).pushdown.columns_read == ("id",)

    def test_every_column_is_read_in_its_declared_type(self):
        scan = _analyzed(t.where(t.age > 1.5).agg(n=dp.count())).pushdown.scan
        assert scan.columns == (Read("age", ColumnType.INTEGER), Read("id", ColumnType.TEXT))

    def test_the_unit_of_several_columns_is_read_whole(self):
        scan = _analyzed(t.agg(n=dp.count()), unit="[site, id]").pushdown.scan
        assert (scan.unit, [read.column for read in scan.columns]) == (("site", "id"), ["id", "site"])

    def test_the_policy_for_missing_units_and_the_version_reach_the_engine(self):
        facts = "{max_rows: 3, missing_units: one_unit, version: 7}"
        lines = "\n            ".join(facts.strip("{}").split(", "))
        scan = _analyzed(t.agg(n=dp.count()), facts=lines).pushdown.scan
        assert (scan.missing_units, scan.version, scan.max_rows) == (MissingUnits.ONE_UNIT, 7, 3)


class TestCaps:
    @pytest.mark.pitfall("A8")
    def test_caps_hold_for_the_final_grouping_and_not_for_a_column_of_that_name(self):
        grouped = {"keys": {"ward": ["x"]}, "max_groups": 1, "max_rows_per_group": 1}
        before = t.group_by("ward", max_groups=1, max_rows_per_group=1).agg(n=dp.count())
        after = t.derive(ward=t.unused).group_by("ward", **grouped).agg(n=dp.count())
        declared, redefined = _analyzed(before).pushdown, _analyzed(after).pushdown
        assert declared.keys.columns == (Read("ward", ColumnType.TEXT),)
        assert redefined.keys.columns == (Read("unused", ColumnType.TEXT),)
        assert declared.caps == Caps(3, 1, 1)

    @pytest.mark.pitfall("A8")
    def test_grouping_by_a_constant_puts_all_rows_of_a_unit_into_one_group(self):
        """Truncating by (id, ward) and then merging the wards must not keep the smaller sensitivity."""
        merged = t.derive(ward=t.age >= 0).group_by("ward").agg(n=dp.count())
        private = _analyzed(merged)
        assert private.noisy_measures[0].sensitivity.linf == 3
        assert private.noisy_measures[0].sensitivity.l2_squared == 9

    def test_a_redefined_unit_does_not_change_whose_rows_they_are(self):
        private = _analyzed(t.derive(id=t.unused).agg(n=dp.count(), u=dp.count_units()))
        assert private.pushdown.scan.unit == ("id",)
        assert private.pushdown.columns_read == ("id",)

    @pytest.mark.parametrize("aggregate", [dp.count(), dp.sum("cost"), dp.mean("cost")])
    def test_rows_that_nothing_bounds_are_refused_and_named(self, aggregate):
        refusal = _refused(t.agg(answer=aggregate), facts="rows: 5")
        assert isinstance(refusal, UnboundedError)
        assert "'answer'" in refusal.what
        assert "one id" in refusal.because

    def test_units_and_public_values_need_no_cap_of_rows(self):
        private = _analyzed(t.agg(u=dp.count_units(), v=dp.count_distinct("ward")), facts="rows: 5")
        assert [noised.sensitivity.l1 for noised in private.noisy_measures] == [1, 3]

    def test_a_cap_of_rows_in_each_group_is_enough(self):
        query = t.group_by("ward", max_rows_per_group=2).agg(n=dp.count())
        assert _analyzed(query, facts="rows: 5").noisy_measures[0].sensitivity.l1 == 6


class TestNamesInARelease:
    @pytest.mark.parametrize(
        "query",
        [
            t.agg(n=dp.count(), n_margin=dp.count_units()),
            t.derive(n_margin=t.ward).group_by("n_margin", keys={"n_margin": ["A"]}).agg(n=dp.count()),
            t.agg(**{"": dp.count()}),
            t.agg(**{"a\nb": dp.count()}),
            t.agg(**{"\x1b[31mred": dp.count()}),
            t.agg(**{"a" * 201: dp.count()}),
            t.agg(**{"\ud800": dp.count()}),
        ],
    )
    def test_names_that_collide_or_cannot_be_seen_are_refused(self, query):
        refusal = _refused(query)
        assert isinstance(refusal, ParameterError)
        assert "\x1b" not in str(refusal)

    @pytest.mark.parametrize("name", ["n", "Größe", "count", "select", "a b", "x" * 190])
    def test_other_names_are_taken(self, name):
        assert _analyzed(t.agg(**{name: dp.count()})).recipes[0].name == name


class TestRefusals:
    def test_what_is_refused_is_refused_before_the_price_is_looked_at(self):
        for query, kind in (
            (dp.table("u").agg(n=dp.count()), NameNotFoundError),
            (t.group_by("unused").agg(n=dp.count()), KeysError),
            (t.agg(s=dp.sum(t.age + 1)), UnboundedError),
        ):
            assert isinstance(_refused(query, epsilon=float("nan")), kind)

    @pytest.mark.pitfall("D")
    @pytest.mark.parametrize("weight", [1e-300, 10**300, Fraction(1, 10**40)])
    def test_weights_that_leave_nothing_for_an_output_are_refused(self, weight):
        refusal = _refused(t.agg(n=dp.count(weight=weight), u=dp.count_units()))
        assert isinstance(refusal, ParameterError)
        assert "weights" in refusal.instead

    def test_an_epsilon_beyond_the_promise_is_priced_and_left_to_the_ledger(self):
        assert not BUDGET.admits(cost(_analyzed(t.agg(n=dp.count()), epsilon=3).event))

    def test_no_refusal_depends_on_anything_but_the_plan_the_catalog_and_the_promise(self):
        signature = inspect.signature(analyze)
        assert list(signature.parameters) == ["query", "catalog", "budget", "epsilon", "rho", "mechanism", "share"]


def test_the_question_for_an_engine_is_complete():
    query = t.where(t.age >= 40).group_by("ward").agg(n=dp.count())
    question = _analyzed(query).pushdown
    assert question.measures == (CountRows(),)
    assert question.keys.rows == (("A",), ("B",), ("C",))
    assert question.predicate.operator == "ge"
    assert question.caps == Caps(3, None, None)
    assert question.scan.table == "t"


def test_analysis_runs_where_no_engine_is_loaded():
    code = (
        "import sys, discreet.planner.queries.tables, discreet.query.frame, discreet.catalog.catalog\n"
        "print(sorted(m for m in sys.modules if m.split('.')[0] in ('duckdb', 'pandas', 'polars', 'scipy')))"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"


def test_the_family_says_what_it_gives():
    assert set(tables.__all__) == {"MechanismName", "AggregatePlan", "Sensitivity", "analyze", "sensitivity"}
    assert physical.Integers.__args__
