"""Public knowledge in values becomes rules over slots, or an error before data."""

import json

import numpy as np
import pyarrow as pa
import pytest

import discreet as dp
from discreet.catalog.catalog import ColumnType
from discreet.errors import NameNotFoundError, ParameterError
from discreet.plan.slots import SlotColumn
from discreet.synthesis.rows.constraints import Exclusion, Implication, slot_rules

AGE = SlotColumn("age", ColumnType.INTEGER, edges=(0, 17, 30, 90))
SEX = SlotColumn("sex", ColumnType.TEXT, values=("Female", "Male"))
CITY = SlotColumn("city", ColumnType.TEXT, values=("Rome", "Milan", "Pisa"))
STATE = SlotColumn("state", ColumnType.TEXT, values=("Lazio", "Lombardy"))
COLUMNS = (AGE, SEX, CITY, STATE)


def allowed(*constraints):
    return {rule.columns: rule.allowed.tolist() for rule in slot_rules(constraints, COLUMNS)}


def test_a_range_of_a_column_never_occurs():
    assert allowed(Exclusion({"age": (None, 17)})) == {("age",): [False, True, True, True]}
    assert allowed(Exclusion({"age": (17, None)})) == {("age",): [True, False, False, True]}
    assert allowed(Exclusion({"age": (17, 30)})) == {("age",): [True, False, True, True]}


def test_none_stands_for_missing_and_undeclared_values():
    assert allowed(Exclusion({"age": None}))["age",] == [True, True, True, False]
    assert allowed(Exclusion({"sex": ["Male", None]}))["sex",] == [True, False, False]


def test_a_pair_of_values_never_occurs():
    rules = allowed(Exclusion({"sex": "Male", "age": (0, 17)}))
    assert rules["age", "sex"] == [[True, False, True], *[[True] * 3] * 3]


def test_a_city_is_in_its_state_in_either_order_of_the_columns():
    rules = allowed(Implication("city", "state", {"Rome": "Lazio", "Milan": ["Lombardy"]}))
    assert rules["city", "state"] == [[True, False, False], [False, True, False], [True] * 3, [True] * 3]
    turned = allowed(Implication("state", "city", {"Lazio": ["Rome", "Pisa"]}))["city", "state"]
    assert turned == [[True] * 3, [False, True, True], [True] * 3, [False, True, True]]


def test_constraints_on_the_same_columns_hold_together():
    rules = allowed(Exclusion({"age": (None, 17)}), Exclusion({"age": None}))
    assert rules == {("age",): [False, True, True, False]}


def test_slots_without_an_allowed_partner_are_not_allowed():
    rules = allowed(
        Implication("city", "state", {"Rome": "Lazio", "Milan": "Lombardy"}), Exclusion({"state": ["Lazio"]})
    )
    assert rules["city",] == [False, True, True, True]
    assert rules["city", "state"][0] == [False, False, False]


@pytest.mark.parametrize("ends", [(None, 18), (10, 30), (18, 20), ("a", "b"), (1,), (None, "x")])
def test_a_range_that_cuts_a_bin_is_refused_with_a_range_that_works(ends):
    with pytest.raises(ParameterError, match="edges of bins") as error:
        allowed(Exclusion({"age": ends}))
    assert allowed(eval(error.value.instead, {"dp": dp}))  # noqa: S307 - our own advice


def test_what_slots_cannot_express_is_refused():
    with pytest.raises(ParameterError, match="does not declare"):
        allowed(Exclusion({"sex": "male"}))
    with pytest.raises(ParameterError, match="has ranges"):
        allowed(Exclusion({"age": 17}))
    with pytest.raises(ParameterError, match="over 3 columns"):
        allowed(Exclusion({"age": (0, 17), "sex": "Male", "city": "Rome"}))
    with pytest.raises(ParameterError, match="to itself"):
        allowed(Implication("city", "city", {"Rome": "Pisa"}))
    with pytest.raises(ParameterError, match="another class"):
        allowed({"age": 17})
    with pytest.raises(NameNotFoundError, match="'sexx'"):
        allowed(Exclusion({"sexx": "Male"}))


def test_constraints_that_close_a_cycle_or_allow_nothing_are_refused():
    pairs = [("age", "sex"), ("sex", "city"), ("age", "city")]
    conditions = {"age": (0, 17), "sex": "Male", "city": "Rome"}
    with pytest.raises(ParameterError, match="close a cycle"):
        allowed(*(Exclusion({name: conditions[name] for name in pair}) for pair in pairs))
    with pytest.raises(ParameterError, match="no value of 'sex'"):
        allowed(Exclusion({"sex": ["Male", None]}), Exclusion({"sex": "Female"}))


def test_rules_are_plain_data_for_fingerprints():
    some = [Exclusion({"age": (None, 17)}), Implication("city", "state", {"Rome": "Lazio"})]
    plain = [rule.to_json() for rule in slot_rules(some, COLUMNS)]
    assert json.loads(json.dumps(plain)) == plain


def test_constraints_of_other_slots_have_other_fingerprints():
    texts = [SlotColumn("x", ColumnType.TEXT, values=("list", "z", "1", "None"))]
    conditions = ({"list", "z"}, ["z"], ["list"], None, "None", ["1"])
    plain = [[rule.to_json() for rule in slot_rules([Exclusion({"x": each})], texts)] for each in conditions]
    assert len({json.dumps(each) for each in plain}) == len(conditions)


def test_no_constraints_are_no_rules():
    assert slot_rules((), COLUMNS) == ()
    assert np.array(allowed(Exclusion({"age": (0, 0)}))["age",]).all()


EVEN = (
    SlotColumn("age", ColumnType.INTEGER, edges=(0, 30, 88, 91)),
    SlotColumn("smoker", ColumnType.BOOLEAN, values=(False, True)),
)
PLACES = (*EVEN, SlotColumn("region", ColumnType.TEXT, values=("North", "South")))


@pytest.mark.parametrize(
    ("constraint", "advice"),
    [
        (Exclusion({"age": (90, None), "smoker": True}), Exclusion({"age": (91, None), "smoker": True})),
        (Exclusion({"age": (None, 30.5), "region": "North"}), Exclusion({"age": (None, 30), "region": "North"})),
        (Exclusion({"age": (29, 31)}), Exclusion({"age": (30, 88)})),
        (Exclusion({"age": (1, 87)}), Exclusion({"age": (0, 88)})),
        (Exclusion({"age": (200, 10)}), None),
        (Exclusion({"age": ("a", "b")}), Exclusion({"age": (0, 30)})),
        (Exclusion({"age": 45}), Exclusion({"age": (30, 88)})),
        (Exclusion({"region": ["Nrth", "South"]}), Exclusion({"region": ["North", "South"]})),
        (Implication("region", "smoker", {"Nrth": True}), Implication("region", "smoker", {"North": True})),
        (
            Implication("smoker", "region", {True: "Nrth", False: "South"}),
            Implication("smoker", "region", {True: "North", False: "South"}),
        ),
        (Implication("smoker", "age", {True: (80, None)}), Implication("smoker", "age", {True: (88, None)})),
    ],
)
def test_advice_is_the_same_constraint_with_what_slots_can_express(constraint, advice):
    if advice is None:
        slot_rules([constraint], PLACES)
        return
    with pytest.raises(ParameterError) as caught:
        slot_rules([constraint], PLACES)
    assert eval(caught.value.instead, {"dp": dp}) == advice  # noqa: S307 - advice is code
    slot_rules([advice], PLACES)


@pytest.mark.parametrize("kind", [dp.synthesis.TreeSynthesizer, dp.synthesis.GraphicalSynthesizer])
def test_constraints_that_are_no_list_are_refused_before_data_is_read(kind):
    rows = pa.table({"age": [1, 2]})
    facts = {"privacy_unit": dp.ROW, "bounds": {"age": (0, 90)}, "budget": dp.Budget(epsilon=1, delta=1e-9)}
    query = dp.table("people").synthesize(kind(constraints=Exclusion({"age": (None, 17)})))
    with (
        dp.protect(rows, name="people", ledger=":memory:", **facts) as session,
        pytest.raises(ParameterError, match=r"constraints=\[dp\.synthesis\.Exclusion"),
    ):
        session.explain(query, epsilon=1)
