"""Independent columns: every column is measured once, for an equal part of the cost."""

from fractions import Fraction

import numpy as np
import pytest

from discreet.catalog.catalog import ColumnType
from discreet.errors import ParameterError
from discreet.plan.slots import SlotColumn
from discreet.plan.synthesis import Contribution, SynthesisFacts, private_counts
from discreet.synthesis.rows.tables import model_of
from discreet.synthesis.tree.independent import IndependentSynthesizer

COLUMNS = (
    SlotColumn("sex", ColumnType.TEXT, values=("F", "M")),
    SlotColumn("age", ColumnType.INTEGER, edges=(0, 50, 100)),
)
ONE = Contribution(1, replace_one=False)
COUNTS = {("sex",): np.array([60, 30, 10]), ("age",): np.array([50, 50, 0])}


def planned(columns=COLUMNS, workload=None):
    return IndependentSynthesizer().synthesis(SynthesisFacts(columns, Fraction(1), ONE, workload))


def test_all_of_the_cost_is_spent_on_one_way_marginals():
    synthesis = planned()
    counts = private_counts(synthesis, COUNTS, ONE, is_private=True)
    synthesis.train(counts)
    assert synthesis.candidates == (("sex",), ("age",))
    assert 0 <= counts.left < Fraction(1, 1000)


def test_columns_are_as_in_the_data_and_independent():
    synthesis = planned()
    state = synthesis.train(private_counts(synthesis, COUNTS, ONE, is_private=False))
    model = model_of(state)
    assert model.marginal(("sex",)).tolist() == pytest.approx([60, 30, 10])
    expected = np.outer(COUNTS["sex",], COUNTS["age",]) / 100
    assert np.allclose(model.marginal(("sex", "age")), expected)
    assert state["measurements"][0]["values"] == [60, 30, 10]


def test_associations_in_a_workload_are_refused():
    assert planned(workload=(("age",),)).rho == 1
    with pytest.raises(ParameterError, match="associations are lost"):
        planned(workload=(("sex", "age"),))


def test_a_table_without_columns_is_refused():
    with pytest.raises(ParameterError, match="without columns"):
        planned(columns=())
