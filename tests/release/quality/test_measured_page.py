"""The free page shows each order, the pair of least noise, and the largest excess first."""

from discreet.release.measured_quality import MarginalQuality, MeasuredQuality
from discreet.release.quality.measured_page import measured_page

FOUND = MeasuredQuality(
    100,
    (
        MarginalQuality(("a",), 0.03, 0.02),
        MarginalQuality(("a", "b"), 0.09, 0.08),
        MarginalQuality(("a", "b"), 0.07, 0.02),
    ),
    dataset="people",
    guarantee="epsilon 1",
)


def test_each_order_has_its_mean_beside_that_of_noise():
    page = measured_page(FOUND, ("Meaning.",))
    assert page.figures[1] == (
        "2-way marginals",
        "0.0800",
        "mean distance of 2 measured marginals; noise alone would give 0.0500",
    )
    assert page.stamp is None
    assert page.intro[0] == "Guarantee: epsilon 1."


def test_a_pair_that_was_measured_twice_is_shown_by_the_measurement_of_less_noise():
    assert measured_page(FOUND, ()).pairs == {("a", "b"): 0.07}


def test_the_largest_excess_stands_first_and_long_lists_are_cut():
    assert measured_page(FOUND, ()).sections[0].rows[0][0] == "a, b"
    many = MeasuredQuality(1, tuple(MarginalQuality((f"c{n}",), 0.1, 0.1) for n in range(80)))
    section = measured_page(many, ()).sections[0]
    assert len(section.rows) == 50
    assert "30 further marginals" in section.caption
