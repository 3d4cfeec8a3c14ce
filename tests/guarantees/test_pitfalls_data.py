"""The failures of keys, units and caps that others had (PITFALLS, part A), held against a whole session.

Exact answers come from the testing session, which runs everything but the noise. Two datasets that must be treated
alike share one ledger, and with it the key by which a cap chooses rows.
"""

import math

import pandas as pd
import pyarrow as pa
import pytest
from pitfalls import BUDGET, T, analyzed, exact, opened

import discreet as dp
from discreet.errors import KeysError, ParameterError, TypeMismatchError, UnitError


@pytest.mark.pitfall("A11")
def test_keys_come_from_the_owner_and_every_one_is_answered():
    rows = pa.table({"w": ["a"] * 9 + ["a rare one"]})
    words = {"keys": {"w": ["a", "b", "c", "d", "e", "f"]}}
    with opened(rows, **words) as session:
        release = session.release(T.group_by("w").agg(n=dp.count()), epsilon=0.5)
        assert release.to_arrow()["w"].to_pylist() == ["a", "b", "c", "d", "e", "f"]
        assert release["n"] == (9, 0, 0, 0, 0, 0)
        assert "rare" not in str(release) + str(release.to_json())
    with opened(rows, dp.protect, **words) as session:
        noisy = session.release(T.group_by("w").agg(n=dp.count()), epsilon=0.001)
        assert len(noisy) == 6
        assert any(value != 0 for value in noisy["n"][1:])


@pytest.mark.pitfall("A11")
def test_a_grouping_without_public_keys_is_refused_whatever_the_data():
    for rows in ([], ["a"], ["a", "rare"]):
        with opened(pa.table({"w": pa.array(rows, pa.string())})) as session, pytest.raises(KeysError):
            session.explain(T.group_by("w").agg(n=dp.count()), epsilon=0.5)


@pytest.mark.pitfall("A11")
@pytest.mark.parametrize(
    "keys",
    [
        {"w": ["a", "b"]},
        pa.table({"w": ["a", "b"]}),
        pd.DataFrame({"w": ["a", "b"]}),
    ],
    ids=["given", "an Arrow table", "a pandas table"],
)
def test_keys_may_be_given_with_the_query_or_as_a_public_table(keys):
    rows = pa.table({"w": ["a", "z", "a"]})
    assert exact(rows, T.group_by("w", keys=keys).agg(n=dp.count())) == ((2, 0),)


@pytest.mark.pitfall("A13")
@pytest.mark.parametrize("neighbours", ["add_remove", "replace_one"])
def test_nothing_public_depends_on_the_number_of_rows(neighbours):
    queries = [
        T.agg(n=dp.count(), m=dp.mean("x", bounds=(0, 9)), s=dp.sum("x", bounds=(0, 9))),
        T.group_by("g", keys={"g": ["a", "b"]}).agg(m=dp.mean("x", bounds=(0, 9)), u=dp.count_units()),
    ]
    seen = set()
    for size in (0, 2, 3, 300):
        rows = pa.table({"g": pa.array(["a"] * size, pa.string()), "x": pa.array([1] * size, pa.int64())})
        with opened(rows, neighbours=neighbours) as session:
            releases = [session.release(query, epsilon=0.1) for query in queries]
            public = [
                (m.measure, m.mechanism, m.scale, m.l1, m.l2_squared, m.grid) for r in releases for m in r.measured
            ]
            margins = [o.margins for r in releases for o in r.outputs if o.kind != "mean"]
            explained = [str(session.explain(query, epsilon=0.1)) for query in queries]
            wanted = session.epsilon_for(T.agg(n=dp.count()), margin=17)
            seen.add(repr((public, margins, explained, wanted, [len(r) for r in releases])))
    assert len(seen) == 1


@pytest.mark.pitfall("A14")
@pytest.mark.parametrize("cap", [1, 2, 7, 10, 11])
def test_a_cap_keeps_exactly_as_many_as_it_says(cap):
    """One unit has ten rows in ten groups; another has one of each."""
    rows = pa.table({"id": ["a"] * 10 + ["b"], "g": [*range(10), 0]})
    assert exact(rows, T.agg(n=dp.count()), privacy_unit="id", max_rows=cap) == ((min(cap, 10) + 1,),)
    grouped = T.group_by("g", keys={"g": range(10)}, max_groups=cap, max_rows_per_group=1).agg(n=dp.count())
    assert sum(exact(rows, grouped, privacy_unit="id")[0]) == min(cap, 10) + 1
    heaped = pa.table({"id": ["a"] * 10 + ["b"], "g": [0] * 11})
    heap = T.group_by("g", keys={"g": [0]}, max_rows_per_group=cap).agg(n=dp.count())
    assert exact(heaped, heap, privacy_unit="id") == ((min(cap, 10) + 1,),)


@pytest.mark.pitfall("A14")
def test_the_stated_sensitivity_is_reached_by_a_unit_that_fills_its_caps():
    for cap in (1, 2, 7):
        rows = pa.table({"id": ["a"] * 10, "x": [5] * 10})
        with opened(rows, privacy_unit="id", max_rows=cap, ledger=None) as session:
            query = T.agg(n=dp.count(), s=dp.sum("x", bounds=(0, 5)))
            stated = [noised.sensitivity.l1 for noised in analyzed(session, query, epsilon=1).noisy_measures]
            assert [session.release(query, epsilon=1)[name][0] for name in ("n", "s")] == stated == [cap, 5 * cap]


def kept_rows(session, people):
    """Which rows of each unit a cap keeps: one count for each pair of unit and row."""
    grouped = T.group_by("id", "row", keys={"id": people, "row": range(6)}).agg(n=dp.count())
    values = session.release(grouped, epsilon=1e-6, fresh=True)["n"]
    return {person: values[6 * i : 6 * i + 6] for i, person in enumerate(people)}


@pytest.mark.pitfall("A15")
def test_removing_a_unit_or_reordering_rows_changes_no_other_units_kept_rows():
    people = [f"p{i}" for i in range(300)]
    ids = [person for person in people for _ in range(6)]
    marks = [row for _ in people for row in range(6)]
    table = pa.table({"id": ids, "row": marks})
    words = {"privacy_unit": "id", "max_rows": 2}
    with opened(table, **words) as session:
        whole = kept_rows(session, people)
        ledger = session.ledger
    assert all(sum(rows) == 2 for rows in whole.values())
    assert len(set(whole.values())) > 5
    orders = {
        "reversed": table.take(list(range(table.num_rows))[::-1]),
        "without the first": table.slice(6),
        "without the last": table.slice(0, table.num_rows - 6),
        "with strangers": pa.concat_tables([pa.table({"id": ["z"] * 500, "row": [3] * 500}), table]),
    }
    for name, changed in orders.items():
        with opened(changed, ledger=ledger, **words) as session:
            after = kept_rows(session, people)
        present = set(changed["id"].to_pylist())
        assert {p: after[p] for p in people if p in present} == {p: whole[p] for p in people if p in present}, name


@pytest.mark.pitfall("A15")
def test_the_key_that_chooses_rows_is_drawn_anew_for_every_dataset():
    """Two independent choices of 2 rows of 6 for 100 people agree everywhere with probability below 1e-100."""
    people = [f"p{i}" for i in range(100)]
    table = pa.table({"id": [p for p in people for _ in range(6)], "row": [r for _ in people for r in range(6)]})
    chosen = []
    for _ in range(2):
        with opened(table, privacy_unit="id", max_rows=2) as session:
            chosen.append(kept_rows(session, people))
    assert chosen[0] != chosen[1]


@pytest.mark.pitfall("A16")
def test_rows_without_a_unit_follow_the_declared_policy():
    rows = pa.table({"id": ["a", None, None, None, "b"], "x": [1, 1, 1, 1, 1]})
    query = T.agg(n=dp.count(), u=dp.count_units())
    words = {"privacy_unit": "id", "max_rows": 2}
    assert exact(rows, query, **words) == ((2,), (2,))
    assert exact(rows, query, missing_units="one_unit", **words) == ((4,), (3,))


@pytest.mark.pitfall("A16")
def test_ids_are_compared_by_one_normal_form():
    text = pa.table({"id": ["a", "a ", "A", "a", "á", "a\u0301"]})
    assert exact(text, T.agg(u=dp.count_units()), privacy_unit="id", max_rows=9) == ((5,),)
    numbers = pa.table({"id": ["1", "01", " 1", "1.0", "2", "-0", "0"]})
    words = {"privacy_unit": "id", "max_rows": 9, "types": {"id": "integer"}}
    assert exact(numbers, T.agg(u=dp.count_units()), **words) == ((3,),)


@pytest.mark.pitfall("A16")
def test_ids_that_have_no_normal_form_are_refused():
    for ids in ([0.0, -0.0, math.nan], [b"a", b"b", b"c"], [[1], [2], [3]]):
        with pytest.raises(UnitError, match="no one normal form"):
            opened(pa.table({"id": ids}), privacy_unit="id")


@pytest.mark.pitfall("A17")
def test_the_shape_and_order_of_an_answer_do_not_depend_on_the_data():
    queries = [
        T.group_by("w").agg(n=dp.count()),
        T.group_by("w", "b").agg(m=dp.mean("x", bounds=(0, 9)), v=dp.count_distinct("w")),
        T.where(T.x > 10**6).group_by("b", "w").agg(u=dp.count_units()),
    ]
    shapes = set()
    for values in ([], ["z"], ["c", "b", "a"], ["a"] * 100, [None, "new", ""]):
        rows = pa.table(
            {
                "w": pa.array(values, pa.string()),
                "b": pa.array([True] * len(values), pa.bool_()),
                "x": pa.array([3] * len(values), pa.int64()),
            }
        )
        with opened(rows, dp.protect, keys={"w": ["c", "a", "b"]}, ledger=":memory:") as session:
            tables = [session.release(query, epsilon=0.1).to_arrow() for query in queries]
            keys = [t.select([c for c in t.column_names if c in ("w", "b")]).to_pydict() for t in tables]
            shapes.add(repr(([t.schema.names for t in tables], [t.num_rows for t in tables], keys)))
    assert len(shapes) == 1


@pytest.mark.pitfall("A20")
@pytest.mark.parametrize(
    "build",
    [
        lambda: T.where(1 < T.x < 5),
        lambda: T.where((T.x > 1) and (T.x < 5)),
        lambda: T.where(not T.x),
        lambda: T.where(T.x in (1, 2)),
        lambda: list(T.x),
        lambda: T.group_by("g", keys={"h": [1]}),
        lambda: T.group_by(*[]),
        T.agg,
        lambda: T[T.x > 1],
    ],
)
def test_python_that_would_silently_mean_something_else_is_refused(build):
    with pytest.raises((TypeMismatchError, ParameterError)):
        build()


@pytest.mark.pitfall("A20")
@pytest.mark.parametrize(
    "build",
    [
        lambda: dp.count(having=3),
        lambda: dp.sum("x", bounds=(0, 1), distinct=True),
        lambda: T.agg(n=dp.count(), order_by="n") and None,
        lambda: T.group_by("g", limit=3),
        lambda: T.where(T.x > 1, "and more"),
    ],
)
def test_an_argument_that_is_not_known_is_never_dropped(build):
    with pytest.raises((TypeError, TypeMismatchError)):
        build()


@pytest.mark.pitfall("A22")
def test_one_letter_in_a_number_column_refuses_nothing_and_flips_nothing(tmp_path):
    path = tmp_path / "t.csv"
    outcomes = set()
    path.write_text("x\n1\n2\n")
    for cells in ("1\n2\n", "1\nb\n", "a\nb\n", "\n\n", "1.5\ntrue\n"):
        path.write_text(f"x\n{cells}")
        with dp.protect(path, privacy_unit=dp.ROW, budget=BUDGET) as session:
            query = T.where(T.x >= 0).agg(s=dp.sum("x", bounds=(0, 9)))
            outcomes.add(str(session.explain(query, epsilon=0.1)).split("left")[0])
            session.release(query, epsilon=0.1, fresh=True)
    assert len(outcomes) == 1
