"""What clamping takes away is within the bound that a histogram gives, as often as it says."""

from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import binom

import discreet as dp
from discreet.errors import ParameterError
from discreet.release.postprocessing.clipping_bias import ranges_of
from released import keys, noisy, release

FALSE_ALARM = 1e-6
LABELS = ("below 0", "[0, 10)", "[10, 20)", "[20, 30)", "30 and above")
ROWS = tuple((label,) for label in LABELS)


def _histogram(counts):
    return release(counts, rows=ROWS, names=("cost",))


def _truth() -> np.ndarray:
    values = np.random.default_rng(7).gamma(2.0, 6.0, 4_000)
    return np.concatenate([values, -np.arange(0.5, 5, 0.5)]).clip(-10, 60)


@pytest.mark.statistical(false_alarm=1e-6)
def test_the_bound_holds_as_often_as_it_says_and_the_estimate_is_near(samples):
    """1,000 histograms. False alarm: 1e-6."""
    values = _truth()
    counts = [int(c) for c in np.histogram(values, [-np.inf, 0, 10, 20, 30, np.inf])[0]]
    missing = values.sum() - values.clip(0, 15).sum()
    gone_per_row = missing / len(values)
    inside, many = 0, samples(1_000)
    for row in np.array(noisy(counts * many)).reshape(many, 5).tolist():
        found = _histogram(row).clipping(bounds=(0, 15), lowest=-10, highest=60)
        inside += found.low <= missing <= found.high and found.mean_low <= gone_per_row <= found.mean_high
    assert inside >= binom.ppf(FALSE_ALARM, many, 0.95)
    exact = _histogram(counts).clipping(bounds=(0, 15), lowest=-10, highest=60)
    assert exact.low < exact.estimate < exact.high


def test_a_bin_that_the_bound_cuts_counts_with_how_far_it_reaches_beyond():
    found = _histogram([0, 100, 100, 100, 0]).clipping(bounds=(0, 15), lowest=0, highest=30)
    margin = found.high - (100 * 5 + 100 * 15)
    assert 0 < margin < 20 * 15 * 10
    assert found.estimate == 100 * 2.5 + 100 * 10
    assert found.low == found.mean_low == 0


def test_bounds_that_hold_everything_take_nothing():
    found = _histogram([5, 100, 100, 100, 0]).clipping(bounds=(-10, 60), lowest=-10, highest=60)
    assert (found.low, found.high, found.estimate, found.mean_high) == (0, 0, 0, 0)


def test_open_bins_need_a_public_end():
    with pytest.raises(ParameterError, match="highest="):
        _histogram([0, 1, 2, 3, 4]).clipping(bounds=(0, 15), lowest=0)
    with pytest.raises(ParameterError, match="lowest="):
        _histogram([0, 1, 2, 3, 4]).clipping(bounds=(0, 15), highest=60)


def test_keys_that_are_not_bins_are_refused():
    with pytest.raises(ParameterError, match="histogram"):
        ranges_of(keys()[0])


def test_labels_of_a_real_histogram_are_read_with_the_rows_of_missing_values_left_out():
    rows = dp.datasets.visits(300)
    words = {"name": "visits", "privacy_unit": "patient_id", "max_rows": 10, "budget": dp.Budget(epsilon=2)}
    query = dp.table("visits").histogram("cost", bins=[0, 0.5, 1e3, 2_000, 5_000], missing=True)
    with dp.testing.protect(rows, **words) as session:
        made = session.release(query, epsilon=1)
    zero, half = Fraction(0), Fraction(1, 2)
    ranges = ranges_of(made.keys[0])
    assert ranges[:4] == [(None, zero), (zero, half), (half, Fraction(1000)), (Fraction(1000), Fraction(2000))]
    assert ranges[-2:] == [(Fraction(5000), None), (zero, zero)]
    found = made.clipping(bounds=(0, 2_000), lowest=0, highest=100_000)
    assert found.high > 0
    assert str(found).startswith("NOT PRIVATE")


def test_it_is_said_as_what_clamping_does_to_the_numbers():
    text = str(_histogram([0, 100, 100, 100, 0]).clipping(bounds=(0, 15), lowest=0, highest=30))
    assert text.splitlines()[0] == "clamping to [0, 15] moves"
    assert "about -1,250" in text
    assert "to 0" in text
    assert "<div>" in _histogram([0, 1, 1, 1, 0]).clipping(bounds=(0, 15), lowest=0, highest=30)._repr_html_()


@pytest.mark.parametrize("bounds", [(15, 0), 15, (0, 5, 15), "ab"])
def test_bounds_are_a_lower_and_an_upper_end(bounds):
    with pytest.raises(ParameterError, match=r"bounds="):
        _histogram([1, 2, 3, 4, 5]).clipping(bounds=bounds, lowest=-10, highest=60)
