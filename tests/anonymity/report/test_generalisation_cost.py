"""What generalisation would cost."""

from discreet.anonymity.report.generalisation_cost import GeneralisationCost


def test_a_cost_has_a_cell_for_each_column_and_for_what_is_left():
    cost = GeneralisationCost(5, {"zip": "130**"}, 12, 3, 0.25)
    assert cost.cells() == [("zip", "130**"), ("classes", "12"), ("left out", "3"), ("loss", "25%")]
