"""DerivedValues values add, subtract and divide row by row, and say what they are."""

import math
import operator
from fractions import Fraction

import pyarrow as pa
import pytest

from discreet.errors import ParameterError
from discreet.release.postprocessing.derived import DerivedValues
from released import release

RELEASE = release([1000, 2000, 3000, 4000], [50_000, 60_000, 90_000, 80_000])
HOSTILE = "<script>alert('x')</script>"


def test_totals_of_all_of_some_and_by_a_coarser_key():
    assert RELEASE.total("n").value == 10_000
    assert RELEASE.total("n", where={"ward": "A"}).value == 3000
    by = RELEASE.total("n", by="sex")
    assert (by.values, by.keys[0].values) == ((4000.0, 6000.0), ("x", "y"))


def test_a_margin_is_half_the_interval_of_a_total():
    total = RELEASE.total("n")
    assert total.high - total.value == total.value - total.low == total.margin
    assert (
        RELEASE.total("n", by=["ward", "sex"]).margins[0] < total.margin < 4 * RELEASE.total("n", by="sex").margins[0]
    )


def test_differences_and_sums_know_what_they_share():
    part, rest = RELEASE.total("n", where={"ward": "A"}), RELEASE.total("n", where={"ward": "B"})
    assert (part - rest).value == -4000
    assert (part + rest).margin == RELEASE.total("n").margin
    assert (RELEASE.total("n") - part).margin == rest.margin
    assert ((part - part).value, (part - part).margin) == (0, 0)


def test_another_release_has_noise_of_its_own():
    other = release([1000, 2000, 3000, 4000], receipt="b")
    assert (RELEASE.total("n") - other.total("n")).margin > RELEASE.total("n").margin
    assert (RELEASE.total("n") - release([1000, 2000, 3000, 4000], receipt="b", place=1).total("n")).margin > 0


def test_numbers_join_in():
    total = RELEASE.total("n")
    assert ((total - 1000).value, (total * 2).value, (2 * total).margin, (total / 4).value) == (
        9000,
        20_000,
        2 * total.margin,
        2500,
    )
    assert (total + Fraction(1, 2)).value == 10_000.5


def test_a_ratio_is_a_total_over_a_total_and_shares_are_percentages():
    assert RELEASE.ratio("total", "n").value == 28
    assert RELEASE.share("n").values == (10, 20, 30, 40)
    shares = RELEASE.share("n", by="ward")
    assert shares.values == (30, 70)
    assert all(low < value < high for low, value, high in zip(shares.lows, shares.values, shares.highs, strict=True))


def test_the_ends_of_a_ratio_need_not_be_as_far_apart_on_both_sides():
    ratio = release([60, 70, 80, 90], [6000, 50, 50, 50]).ratio("total", "n", where={"ward": "A", "sex": "x"})
    assert ratio.high - ratio.value > 2 * (ratio.value - ratio.low)
    assert ratio.margin == ratio.high - ratio.value


def test_a_ratio_of_ratios_is_refused_and_a_difference_of_ratios_is_not():
    first, second = (RELEASE.mean("mean", where={"ward": ward}) for ward in "AB")
    assert (first - second).value == pytest.approx(110_000 / 3000 - 170_000 / 7000)
    with pytest.raises(ParameterError, match="ratio of ratios"):
        first / second


def test_rows_of_other_keys_do_not_meet():
    with pytest.raises(ParameterError, match="not the same in the same order"):
        RELEASE.total("n", by="ward") - RELEASE.total("n", by="sex")


def test_a_denominator_like_zero_is_said_in_words():
    ratio = release([3, 0, 1, -2]).total("n", by=["ward", "sex"]) / release([0, 0, 0, 0], receipt="b").total("n")
    assert math.isnan(ratio.values[0])
    assert ratio.margins[0] == math.inf
    assert "denominator may be zero" in str(ratio)
    assert "no end" in str(release([300, 1, 1, 1]).total("n") / release([1, 0, 0, 0], receipt="b").total("n"))


def test_confidence_and_simultaneous_widen():
    rows = RELEASE.total("n", by=["ward", "sex"])
    assert rows.at(0.99).margins[0] > rows.margins[0]
    together = rows.simultaneous()
    assert rows.margins[0] < together.margins[0] < rows.at(0.999).margins[0]
    assert "all 4 hold together 95% of the time" in str(together)


def test_shared_noise_is_widened_by_a_union():
    rows = RELEASE.total("n", by=["ward", "sex"])
    assert (rows / RELEASE.total("n")).simultaneous().confidence == 1 - Fraction(1, 80)
    assert rows.simultaneous().confidence < 1 - Fraction(1, 80)


def test_one_value_is_asked_of_one_row():
    with pytest.raises(ParameterError, match=r"\.values"):
        RELEASE.total("n", by="ward").value  # noqa: B018 - reading it is refused


def test_text_arrow_pandas_and_a_plot():
    rows = RELEASE.total("n", by="ward")
    assert str(rows).splitlines()[:3] == [
        "ward      n   from     to",
        "A     3,000  2,949  3,051",
        "B     7,000  6,949  7,051",
    ]
    assert "this cost nothing" in str(rows)
    assert rows.to_arrow().column_names == ["ward", "value", "low", "high", "margin"]
    assert isinstance(rows.to_arrow(), pa.Table)
    assert rows.to_pandas()["value"].tolist() == [3000, 7000]
    assert next(iter(rows))["ward"] == "A"
    assert "3,000 ± 51" in rows.plot().get_label()
    assert RELEASE.total("n").plot() is not None


def test_html_escapes_names_and_keys():
    hostile = release([1, 2], rows=((HOSTILE,), ("b",)), names=(HOSTILE,))
    text = hostile.total("n", by=HOSTILE)._repr_html_()
    assert "<script>" not in text
    assert "&lt;script&gt;" in text


def test_what_a_testing_session_gave_stays_stamped():
    made = release([1, 2, 3, 4], private=False)
    assert str(made.total("n")).startswith("NOT PRIVATE")
    assert str(RELEASE.total("n") - made.total("n")).startswith("NOT PRIVATE")
    assert isinstance(made.total("n"), DerivedValues)


def test_numbers_stand_on_either_side():
    part, total = RELEASE.total("n", where={"ward": "A"}), RELEASE.total("n")
    rest = 1 - part / total
    assert rest.value == pytest.approx(0.7)
    assert rest.margin == pytest.approx((part / total).margin)
    assert ((-part).value, (-part).low, (-part).name) == (-3000, -part.high, "-n (ward A)")
    assert sum([part, part]).value == 6000
    assert (2 + part).value == 3002
    assert (1 / part).value == pytest.approx(1 / 3000)
    assert float(part) == 3000.0


def test_one_number_is_asked_of_one_value_only():
    with pytest.raises(ParameterError, match="each row has its own"):
        float(RELEASE.total("n", by="ward"))


@pytest.mark.parametrize("compare", [operator.lt, operator.le, operator.gt, operator.ge])
def test_noisy_values_are_not_put_in_order(compare):
    for other in (5, RELEASE.total("n")):
        with pytest.raises(ParameterError, match=r"\(a - b\)\.low > 0"):
            compare(RELEASE.total("n"), other)
