"""The quality of a release is printed by order, worst marginals first, and written as plain data."""

import json

from discreet.release.measured_quality import MarginalQuality, MeasuredQuality

QUALITY = MeasuredQuality(
    1_000,
    (
        MarginalQuality(("age",), 0.02, 0.01),
        MarginalQuality(("sex",), 0.01, 0.02),
        MarginalQuality(("age", "sex"), 0.5, 0.1),
    ),
)


def test_means_by_order_stand_before_the_worst_marginals():
    lines = str(QUALITY).splitlines()
    assert lines[:5] == [
        "quality of 1,000 drawn rows against 3 measured marginals",
        "  1-way: 2 marginals, distance 0.0150, noise alone 0.0150",
        "  2-way: 1 marginal, distance 0.5000, noise alone 0.1000",
        "  'age', 'sex': distance 0.5000, noise alone 0.1000",
        "  'age': distance 0.0200, noise alone 0.0100",
    ]
    assert repr(QUALITY) == str(QUALITY)
    assert "not judged" in lines[-1]


def test_names_of_columns_move_no_cursor():
    assert "\x1b" not in str(MeasuredQuality(1, (MarginalQuality(("a\x1b[2J",), 0.1, 0.1),)))


def test_figures_are_plain_data():
    data = json.loads(json.dumps(QUALITY.to_json()))
    assert data["marginals"][2] == {"columns": ["age", "sex"], "distance": 0.5, "noise": 0.1}
    assert data["rows"] == 1_000
