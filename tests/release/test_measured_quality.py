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
    assert data["marginals"][2] == {"columns": ["age", "sex"], "distance": 0.5, "noise": 0.1, "drawing": 0.0}
    assert data["rows"] == 1_000


def test_the_page_has_no_stamp_and_says_that_it_may_be_published(tmp_path):
    place = QUALITY.save(tmp_path / "quality.html")
    text = place.read_text(encoding="utf-8")
    assert text == QUALITY.to_html()
    assert "may be published" in text
    assert "For the owners" not in text


def test_few_rows_and_much_noise_are_said_beside_the_distances():
    few = MeasuredQuality(10, (MarginalQuality(("age",), 0.3, 0.02, 0.25),))
    assert "distance 0.3000, noise alone 0.0200, drawing 0.2500" in str(few)
    assert "error of drawing" in str(few)
    assert '<th scope="col">drawing</th>' in few.to_html()
    assert "error of drawing" not in str(QUALITY)
    assert "drawing</th>" not in QUALITY.to_html()
    assert "larger than its counts" in str(MeasuredQuality(10, (MarginalQuality(("age",), 3.0, 11503.5),)))
