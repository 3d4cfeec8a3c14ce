"""Layer 1 finds what moves farther than it says: in plans, and in anybody's function of a dataset."""

import itertools
import math
from dataclasses import replace
from fractions import Fraction
from unittest import mock

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import discreet as dp
from discreet.auditing.finding import Verdict
from discreet.auditing.sensitivity import audit
from discreet.auditing.sensitivity.audit import apart, audit_function, audit_plan, examine, moved_alone
from discreet.auditing.sensitivity.lists import neighbouring_lists
from discreet.catalog.catalog import Catalog
from discreet.engines.sql import contribution_bounding
from discreet.errors import ParameterError, Refusal
from discreet.testing import generator

FACTS = {
    "privacy_unit": "id",
    "max_rows": 3,
    "columns": {
        "id": {"type": "text"},
        "g": {"type": "text", "keys": ["a", "b", "c"]},
        "h": {"type": "integer", "keys": [0, 1, 2]},
        "x": {"type": "real", "bounds": [-1, 2], "grid": "1/8"},
    },
    "budget": {"epsilon": 4, "delta": "1/1000000000"},
}
T = dp.table("t")
AGGREGATES = {
    "count": {"n": dp.count()},
    "count_units": {"u": dp.count_units()},
    "count_distinct": {"v": dp.count_distinct("h")},
    "sum": {"s": dp.sum("x")},
    "mean": {"m": dp.mean("x")},
}
EVERYTHING = {name: one for asked in AGGREGATES.values() for name, one in asked.items()}


def catalog(**facts: object) -> Catalog:
    return Catalog.model_validate({"tables": {"t": FACTS | facts}})


@pytest.mark.parametrize("mechanism", ["laplace", "gaussian"])
@pytest.mark.parametrize("how", ["add_remove", "replace_one"])
@pytest.mark.parametrize("grouped", [True, False])
def test_a_plan_keeps_to_its_sensitivity_and_some_neighbours_reach_it(grouped, how, mechanism):
    query = (T.group_by("g") if grouped else T).agg(**EVERYTHING)
    finding = audit_plan(query, catalog(neighbours=how), pairs=10, mechanism=mechanism, generator=generator(1))
    assert finding.verdict is Verdict.NOTHING_FOUND, finding
    assert finding.found == finding.stated == 1
    assert finding.samples == 10
    assert finding.alarm == 0


@pytest.mark.parametrize("facts", [{"privacy_unit": "dp.ROW", "max_rows": None}, {"missing_units": "one_unit"}])
@pytest.mark.parametrize("how", ["add_remove", "replace_one"])
def test_rows_as_units_and_units_without_an_id_keep_to_their_sensitivity(facts, how):
    query = T.group_by("g").agg(**EVERYTHING)
    finding = audit_plan(query, catalog(neighbours=how, **facts), pairs=8, generator=generator(2))
    assert finding.verdict is Verdict.NOTHING_FOUND, finding


def test_conditions_and_derived_columns_are_reached():
    query = T.derive(y=T.x * 2).where(T.h >= 1, T.g.is_in(["a", "b"])).agg(n=dp.count(), s=dp.sum("y", bounds=(0, 3)))
    finding = audit_plan(query, catalog(), pairs=25, generator=generator(3))
    assert finding.verdict is Verdict.NOTHING_FOUND
    assert finding.found == 1


def test_a_session_is_audited_by_its_catalog_and_its_promise(tmp_path):
    rows = pa.table({"id": ["p"], "x": [1.0]})
    budget = dp.Budget(epsilon=1)
    with dp.protect(rows, name="t", privacy_unit="id", max_rows=2, budget=budget, ledger=":memory:") as session:
        before = session.history()
        finding = audit_plan(T.agg(n=dp.count()), session, pairs=6, generator=generator(4))
        assert session.history() == before
    assert finding.verdict is Verdict.NOTHING_FOUND
    assert "'t'" in finding.subject


def test_a_refused_query_is_refused_here_too():
    with pytest.raises(Refusal):
        audit_plan(T.agg(s=dp.sum("nothing", bounds=(0, 1))), catalog())


def _off_by_one(asked, *rest, capped=contribution_bounding.rows_of_one_answer_sql):
    return capped(replace(asked, scan=replace(asked.scan, max_rows=asked.scan.max_rows + 1)), *rest)


@pytest.mark.pitfall("A14")
def test_a_cap_that_is_off_by_one_is_found_with_the_unit_that_shows_it():
    with mock.patch.object(contribution_bounding, "rows_of_one_answer_sql", _off_by_one):
        finding = audit_plan(T.agg(n=dp.count()), catalog(), pairs=25, mechanism="laplace", generator=generator(5))
    assert finding.is_broken
    assert "l1 of rows is 4, and 3 is stated" in finding.evidence
    assert finding.found == pytest.approx(4 / 3)
    pair = finding.detail["pair"]
    assert pair["only in one"] or pair["only in the other"]


@pytest.mark.pitfall("A9")
def test_the_rule_for_added_units_is_found_to_be_too_small_for_replaced_ones():
    added = catalog()
    plan = audit.analyze(T.agg(s=dp.sum("x")).plan, added, dp.Budget(epsilon=1), epsilon=1)
    with mock.patch.object(audit, "analyze", return_value=plan):
        finding = audit_plan(T.agg(s=dp.sum("x")), catalog(neighbours="replace_one"), pairs=25, generator=generator(6))
    assert finding.is_broken
    assert finding.found == pytest.approx(1.5)


@pytest.mark.pitfall("A10")
@pytest.mark.parametrize("mechanism", ["laplace", "gaussian"])
def test_noise_that_covers_less_than_the_stated_sensitivity_is_found(mechanism):
    facts = catalog()
    plan = audit.analyze(
        T.group_by("g").agg(n=dp.count()).plan, facts, dp.Budget(epsilon=1, delta=1e-9), epsilon=1, mechanism=mechanism
    )
    (noised,) = plan.noisy_measures
    small = dp.mechanisms.Laplace(sensitivity=1, epsilon=1)
    if mechanism == "gaussian":
        small = dp.mechanisms.Gaussian(sensitivity=1, rho=1)
    wrong = replace(plan, noisy_measures=(replace(noised, mechanism=small),))
    with mock.patch.object(audit, "analyze", return_value=wrong):
        finding = audit_plan(T.group_by("g").agg(n=dp.count()), facts, pairs=3, generator=generator(7))
    assert finding.is_broken
    assert "covers less than its" in finding.evidence


class _Spoiled:
    """An engine whose answers somebody changes."""

    def __init__(self, engine, change):
        self._engine, self._change = engine, change

    def __getattr__(self, name):
        return getattr(self._engine, name)

    def run(self, prepared):
        return self._change(self._engine.run(prepared))


def _raises_on_rows(exact):
    if exact[0][0] > 2:
        raise RuntimeError
    return exact


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (_raises_on_rows, "raises RuntimeError"),
        (lambda exact: [[cell for cell in column if cell] for column in exact], "inf"),
        (lambda exact: [[cell * 2 for cell in column] for column in exact], "l1 of rows is"),
    ],
    ids=["an error for some rows", "keys that the data decides", "another scale"],
)
def test_an_engine_that_answers_wrongly_is_found(change, told):
    def opened(tables, key, place):
        return _Spoiled(audit.duckdb(tables, key, place), change)

    query = T.group_by("g").agg(n=dp.count())
    finding = audit_plan(query, catalog(), pairs=8, mechanism="laplace", generator=generator(8), opened=opened)
    assert finding.is_broken
    assert told in finding.evidence


@pytest.mark.pitfall("A15")
def test_rows_kept_by_a_key_that_depends_on_the_data_are_found():
    def opened(tables, key, place):
        keys = {name: key + len(data) for name, data in tables.items()}
        sources = {name: audit.RegisteredSource(audit.source_of(data), keys[name]) for name, data in tables.items()}
        return audit.DuckDB(sources, audit.Workspace(place))

    query = T.group_by("g", "h").agg(s=dp.sum("x"))
    finding = audit_plan(query, catalog(max_rows=2), pairs=30, generator=generator(9), opened=opened)
    assert finding.is_broken


def test_the_farthest_pair_without_anybody_else_is_as_far_apart():
    seen = examine(T.agg(n=dp.count()), catalog(), pairs=15, generator=generator(10), typed=True)
    one, other = moved_alone(seen.pair)
    assert {one.num_rows, other.num_rows} >= {0}
    assert max(one.num_rows, other.num_rows) >= 3
    assert len(set(one["id"].to_pylist()) | set(other["id"].to_pylist())) == 1


def test_columns_of_integers_are_compared_in_every_norm():
    assert apart([1, 2, 3], [1, 0, 7]) == {"l0": 2, "l1": 6, "l2_squared": 20, "linf": 4}
    assert set(apart([1], []).values()) == {math.inf}


# what follows are the faults of other libraries that a function of a dataset shows without any noise


def clamped(values, low, high):
    return [min(max(value, low), high) for value in values]


def finite(values, low=0, high=1):
    return [min(max(value, low), high) if not math.isnan(value) else low for value in values]


def near_two_to_52(count=300):
    return neighbouring_lists(
        (2**52, 2**52 + 1),
        neighbours="replace_one",
        lengths=(64,),
        count=count,
        within_bounds=True,
        generator=generator(11),
    )


@pytest.mark.pitfall("A2")
@pytest.mark.parametrize("add", [sum, np.sum, math.fsum], ids=["sum", "numpy", "fsum"])
def test_a_sum_of_floats_near_two_to_52_moves_by_64_and_not_by_one(add):
    base = [2.0**52 + 1] * 63
    pair = [*base, 2.0**52], [*base, 2.0**52 + 1]
    assert audit_function(add, [pair], sensitivity=1).found in (0, 64)
    finding = audit_function(add, near_two_to_52(), sensitivity=1)
    assert finding.is_broken
    assert finding.found == 64


def test_a_sum_of_integers_keeps_to_its_sensitivity():
    finding = audit_function(lambda values: sum(map(round, values)), near_two_to_52(100), sensitivity=1)
    assert finding.verdict is Verdict.NOTHING_FOUND
    assert finding.found == 1


@pytest.mark.pitfall("A4")
def test_a_nan_that_passes_a_clamp_is_found():
    finding = audit_function(
        lambda values: sum(clamped(values, 0, 1)), neighbouring_lists(generator=generator(12)), sensitivity=1
    )
    assert finding.is_broken
    assert finding.found == math.inf
    assert "nan" in finding.evidence


@pytest.mark.pitfall("A3")
def test_an_overflow_of_32_bits_in_a_tree_is_found():
    def tree(leaves):
        counts = np.array(leaves, dtype=np.int32)
        return np.concatenate([counts, [counts.sum(dtype=np.int32)]])

    finding = audit_function(tree, [([2**31 - 1, 0], [2**31 - 1, 1])], sensitivity=2)
    assert finding.is_broken
    assert finding.found == 2**32

    def total(values):
        return np.array(clamped(values, 0, 2**31 - 1), dtype=np.int32).sum(dtype=np.int32)

    made = neighbouring_lists((0, 2**31 - 1), whole_numbers=True, generator=generator(13))
    assert audit_function(total, made, sensitivity=2**31 - 1).is_broken


def test_a_mean_of_floats_moves_farther_than_its_bounds_allow():
    made = neighbouring_lists(
        (2**50, 2**50 + 1),
        neighbours="replace_one",
        lengths=(1024,),
        count=40,
        within_bounds=True,
        generator=generator(14),
    )
    finding = audit_function(lambda values: sum(values) / len(values), made, sensitivity=Fraction(1, 1024))
    assert finding.is_broken
    assert finding.found >= 0.125


@pytest.mark.pitfall("A10")
def test_an_l2_sensitivity_of_a_tree_that_forgets_its_root_is_found():
    def tree(leaves):
        return [*leaves, *(sum(leaves[i : i + 2]) for i in (0, 2)), sum(leaves)]

    pair = [0] * 4, [1] * 4
    assert audit_function(tree, [pair], sensitivity=4, norm="l2").is_broken
    kept = audit_function(tree, [pair], sensitivity=6, norm="l2")
    assert kept.found == pytest.approx(math.sqrt(28))
    assert not kept.is_broken


def test_an_ordered_distance_that_is_taken_for_a_count_of_records_is_found():
    finding = audit_function(list, [([0, 1, 2], [1, 2, 3])], sensitivity=1)
    assert finding.found == 3
    made = neighbouring_lists((0, 3), within_bounds=True, lengths=(3, 4), generator=generator(15))
    first_three = audit_function(lambda values: [*values, 0, 0, 0][:3], made, sensitivity=3)
    assert first_three.is_broken


def test_a_count_of_missing_values_that_is_claimed_to_be_public_is_found():
    def missing(values):
        return sum(math.isnan(value) for value in values)

    finding = audit_function(missing, neighbouring_lists(generator=generator(16)), sensitivity=0)
    assert finding.is_broken
    assert finding.found == 1


@pytest.mark.pitfall("A17")
def test_an_error_or_another_length_on_one_side_is_infinitely_far():
    made = list(neighbouring_lists(count=60, generator=generator(17)))
    assert audit_function(lambda values: 1 / len(values), made, sensitivity=1).found == math.inf
    assert audit_function(set, made, sensitivity=1).found == math.inf
    assert audit_function(lambda values: [0] * len(values), made, sensitivity=1).found == math.inf
    both = audit_function(lambda values: values["no such key"], made, sensitivity=1)
    assert both.verdict is Verdict.NOTHING_FOUND


def test_a_function_that_clamps_and_rounds_keeps_its_sensitivity():
    def total(values):
        return sum(round(value * 1024) for value in finite(values))

    finding = audit_function(total, neighbouring_lists(generator=generator(18)), sensitivity=1024)
    assert finding.verdict is Verdict.NOTHING_FOUND
    assert finding.found == finding.stated


def test_functions_of_frames_and_tables_are_audited():
    frames = pd.DataFrame({"x": [1, 2]}), pd.DataFrame({"x": [1]})
    tables = pa.table({"x": [1, 2]}), pa.table({"x": [1]})
    assert not audit_function(len, [frames, tables], sensitivity=1).is_broken
    assert audit_function(lambda frame: frame.sum(), [frames], sensitivity=1).found == 2


def test_a_function_may_spoil_what_it_is_given():
    dataset = [3, 1, 2]
    assert not audit_function(lambda values: values.sort() or values[0], [(dataset, [1, 3])], sensitivity=1).is_broken
    assert dataset == [3, 1, 2]


def test_no_pair_at_all_is_void():
    assert audit_function(len, [], sensitivity=1).verdict is Verdict.VOID


@pytest.mark.parametrize("wrong", [{"sensitivity": -1}, {"sensitivity": 1, "norm": "l7"}])
def test_a_claim_that_is_none_is_refused(wrong):
    with pytest.raises(ParameterError):
        audit_function(len, [], **wrong)


@pytest.mark.parametrize(
    "answer", [iter, lambda x: map(int, x), lambda x: (y for y in x), lambda x: dict(enumerate(x)).values()]
)
def test_iterators_are_compared_by_what_they_give(answer):
    pairs = list(neighbouring_lists(count=20, generator=generator(19)))
    assert audit_function(lambda numbers: answer([len(numbers)]), pairs, sensitivity=1).found == 1
    assert audit_function(lambda numbers: answer([2 * len(numbers)]), pairs, sensitivity=1).is_broken


def test_answers_that_cannot_be_compared_make_an_audit_void_and_hide_nothing_else():
    pairs = list(neighbouring_lists(count=20, generator=generator(20)))
    finding = audit_function(lambda _: object(), pairs, sensitivity=1)
    assert finding.verdict is Verdict.VOID
    assert finding.evidence == "answers of type object have no equality of their own"
    assert audit_function(lambda _: itertools.count(), pairs[:1], sensitivity=1).verdict is Verdict.VOID
    some = audit_function(lambda numbers: object() if len(numbers) > 10 else 9 * len(numbers), pairs, sensitivity=1)
    assert some.is_broken


def test_an_error_that_comes_late_is_an_outcome():
    assert audit_function(lambda numbers: (1 / n for n in numbers), [([1], [0])], sensitivity=1).found == math.inf


def test_a_distance_beyond_all_floats_is_told():
    huge = audit_function(lambda numbers: 10 ** (400 * len(numbers)), [([], [1])], sensitivity=1)
    assert huge.is_broken
    assert huge.found == math.inf
