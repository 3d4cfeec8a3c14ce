"""The search finds the same optimum as a visit to every node, for every loss, with several rows a person too."""

from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest

import discreet as dp
from discreet.anonymity.generalisation.lattice import CAUTION
from discreet.anonymity.generalisation.levels import GeneralisationLevels

from .lattices import brute_search, distance, published_and_suppressed, random_case

QUERIES = [{"q0": {0, 1}}, {"q0": [0, None], "q1": {1}}]
LOSSES = ["discernibility", "average_class_size", "non_uniform_entropy", "query_error"]


def _same(case, *, ordered=False, **options):
    queries = QUERIES if options.get("loss") == "query_error" else ()
    limits = {name: options[name] for name in ("l", "t") if name in options}
    expected, by_k = brute_search(case, queries=queries, **options, **({"ordered": ordered} if limits else {}))
    found = dp.anonymity.search(
        case.cube, case.levels, sensitive="s", ordered=["s"] if ordered else [], queries=queries, **options
    )
    assert found.admitted_by_k == len(by_k)
    assert found.admitted == len(expected)
    assert found.evaluated + found.pruned == found.nodes
    assert found.evaluated >= found.admitted_by_k
    if not expected:
        assert found.optimal is None
        return
    loss, suppressed, _, node = expected[0]
    assert tuple(found.optimal.values()) == node
    assert found.suppressed == suppressed
    assert found.suppressed_for_k == len(published_and_suppressed(case, node, k=options["k"])[1])
    assert found.value == (pytest.approx(loss) if isinstance(loss, float) else loss)
    classes, _ = published_and_suppressed(
        case, node, k=options["k"], **limits, **({"ordered": ordered} if limits else {})
    )
    rows = list(classes.values())
    assert found.classes == len(rows)
    assert found.k == min((len({person for _, person, _ in each}) for each in rows), default=None)
    assert found.l == min((len({value for _, _, value in each}) for each in rows), default=None)
    assert found.t == max((distance(each, case.rows, ordered=ordered) for each in rows), default=None)


@pytest.mark.parametrize("several", [False, True])
@pytest.mark.parametrize("loss", LOSSES)
def test_the_optimum_is_that_of_a_visit_to_every_node(loss, several):
    generator = np.random.default_rng(1)
    for turn in range(30):
        case = random_case(generator, several=several, people=int(generator.integers(3, 20)))
        suppression = [0, Fraction(1, 10), Fraction(1, 3), 1][turn % 4]
        _same(case, k=int(generator.integers(1, 5)), suppression=suppression, loss=loss)


@pytest.mark.parametrize("several", [False, True])
@pytest.mark.parametrize("ordered", [False, True])
def test_l_and_t_are_those_of_a_visit_to_every_node(ordered, several):
    generator = np.random.default_rng(2)
    for turn in range(30):
        case = random_case(generator, several=several, people=14, sensitive=4)
        limits = [{"l": 2}, {"t": Fraction(1, 3)}, {"l": 3, "t": Fraction(1, 4)}][turn % 3]
        _same(case, k=2, suppression=Fraction(turn % 4, 7), loss=LOSSES[turn % 3], ordered=ordered, **limits)


def test_three_columns_of_four_levels_are_searched_the_same():
    generator = np.random.default_rng(3)
    for _ in range(5):
        case = random_case(generator, people=60, columns=3, values=9, levels=4)
        _same(case, k=4, suppression=Fraction(1, 20), loss="discernibility")


def test_more_people_than_there_are_give_a_result_without_an_optimum():
    case = random_case(np.random.default_rng(4), people=5)
    found = dp.anonymity.search(case.cube, case.levels, k=6)
    assert (found.optimal, found.value, found.k, found.admitted) == (None, None, None, 0)
    assert "No node meets the requirement with at most 0 people suppressed; the file has 5 people." in str(found)
    with pytest.raises(dp.errors.ParameterError, match="no node meets"):
        found.recoding(case.levels)


def test_everybody_may_be_suppressed_where_the_share_is_one():
    case = random_case(np.random.default_rng(4), people=5)
    found = dp.anonymity.search(case.cube, case.levels, k=6, suppression=1, loss="discernibility")
    assert (found.suppressed, found.classes, found.k, found.value) == (5, 0, None, 25)
    assert found.optimal == {"q0": 0, "q1": 0}


def test_one_class_at_the_bottom_needs_no_generalisation():
    levels = GeneralisationLevels((np.arange(1), np.zeros(1, dtype=np.int64)), (("1",), ("*",)))
    found = dp.anonymity.search(pa.table({"age": [1, 1, 1]}), {"age": levels}, k=3)
    assert (found.optimal, found.value, found.k, found.classes) == ({"age": 0}, 0.0, 3, 1)
    assert found.recoding({"age": levels}) == {"age": (levels, 0)}


def test_a_table_without_rows_has_no_class():
    levels = GeneralisationLevels((np.zeros(0, dtype=np.int64),), ((),))
    found = dp.anonymity.search(pa.table({"age": pa.array([], pa.int64())}), {"age": levels}, k=3)
    assert (found.people, found.k, found.suppressed) == (0, None, 0)


def test_persons_are_counted_and_not_rows():
    data = pa.table({"age": [1, 1, 1, 2, 2], "who": ["a", "a", "a", "b", "c"]})
    levels = GeneralisationLevels((np.arange(2), np.zeros(2, dtype=np.int64)), (("1", "2"), ("*",)))
    assert dp.anonymity.search(data, {"age": levels}, k=2).optimal == {"age": 0}
    found = dp.anonymity.search(data, {"age": levels}, k=2, person="who")
    assert (found.optimal, found.k, found.people) == ({"age": 1}, 3, 3)


def test_the_text_has_the_stamp_the_nodes_and_the_caution():
    case = random_case(np.random.default_rng(5))
    found = dp.anonymity.search(case.cube, case.levels, k=2, l=1, t=1, sensitive="s")
    assert "9 nodes:" in str(found)
    assert CAUTION in str(found)
    assert "owners" in str(found)
    assert found.to_json()["figures"]["ranking"][0]["levels"] == found.optimal
    assert "node of a lattice" in str(found.ranking[0])


def test_wrong_arguments_are_errors():
    case = random_case(np.random.default_rng(6))
    wrong = [
        {"k": 0},
        {"k": 2, "suppression": 2},
        {"k": 2, "t": 2, "sensitive": "s"},
        {"k": 2, "l": 2},
        {"k": 2, "loss": "none"},
        {"k": 2, "loss": "query_error"},
        {"k": 2, "queries": [{"q0": {1}}]},
        {"k": 2, "loss": "query_error", "queries": [{"q0": "1"}]},
    ]
    for options in wrong:
        with pytest.raises(dp.errors.ParameterError):
            dp.anonymity.search(case.cube, case.levels, **options)
    with pytest.raises(dp.errors.NameNotFoundError):
        dp.anonymity.search(case.cube, case.levels, k=2, loss="query_error", queries=[{"q": {1}}])
    with pytest.raises(dp.errors.TypeMismatchError):
        dp.anonymity.search(case.cube, {"q0": 3}, k=2)
    short = GeneralisationLevels((np.arange(1),), (("1",),))
    with pytest.raises(dp.errors.ParameterError, match="level 0 has no label for"):
        dp.anonymity.search(case.cube, {"q0": short}, k=2)


def test_a_lattice_of_too_many_nodes_is_an_error_before_the_search():
    codes = tuple(np.arange(1) for _ in range(1_001))
    tall = GeneralisationLevels(codes, tuple(("1",) for _ in codes))
    data = pa.table({"a": [1], "b": [1]})
    with pytest.raises(dp.errors.ParameterError, match="1,002,001 nodes"):
        dp.anonymity.search(data, {"a": tall, "b": tall}, k=1)


@pytest.mark.parametrize("person", [None, "who"])
def test_the_recoding_of_a_search_has_its_classes_when_it_is_applied(person):
    generator = np.random.default_rng(7)
    data = pa.table(
        {
            "age": generator.integers(18, 90, 200),
            "zip": [f"{number:05d}" for number in generator.integers(10_000, 10_400, 200)],
            "who": generator.integers(150, size=200),
        }
    )
    chosen = {"age": dp.anonymity.hierarchies.intervals(5, 10, 20), "zip": dp.anonymity.hierarchies.mask()}
    found = dp.anonymity.search(data, chosen, k=4, suppression=Fraction(1, 20), person=person)
    table = dp.anonymity.generalise(data, found.recoding(chosen), k=4, person=person)
    assert table.k == found.k
    assert table.table.group_by(["age", "zip"]).aggregate([]).num_rows == found.classes


def test_the_text_says_who_is_suppressed_for_l_or_t_alone():
    data = pa.table({"q": [1, 1, 2, 2, 2, 2], "s": ["x", "x", "x", "y", "x", "y"]})
    levels = GeneralisationLevels((np.arange(2),), (("1", "2"),))
    found = dp.anonymity.search(data, {"q": levels}, k=2, l=2, sensitive="s", suppression=Fraction(1, 3))
    assert (found.suppressed, found.suppressed_for_k, found.l) == (2, 0, 2)
    assert "2 of them for l or t alone" in str(found)
