"""Numbers and errors of `discreet local`, in words of the command line."""

from fractions import Fraction

import pytest

from discreet.cli.local_options import as_options, read_confidence, read_epsilon, read_number
from discreet.errors import ParameterError


@pytest.mark.parametrize(
    ("text", "number"),
    [("1e-9", Fraction(1, 10**9)), ("1E6", 10**6), ("-.5", Fraction(-1, 2)), ("3/4", Fraction(3, 4)), ("20", 20)],
)
def test_decimals_fractions_and_exponents_are_numbers(text, number):
    assert read_number(text, "--low") == number


@pytest.mark.parametrize("text", ["nan", "inf", "-inf", "abc", "", "1/0", "1/00", "0x10", "1_000", "٣", "9" * 61])
def test_what_is_not_a_number_is_refused_with_the_option_and_the_text(text):
    with pytest.raises(ParameterError) as caught:
        read_number(text, "--low", "0")
    assert caught.value.what == f"--low {text[:60]!r}"
    assert caught.value.instead == "--low 0"


@pytest.mark.parametrize("text", ["0", "-1", "1e-9", "1e9", "20.5"])
def test_an_epsilon_outside_its_range_is_refused_with_the_range(text):
    with pytest.raises(ParameterError, match=r"from 0\.000001 to 20") as caught:
        read_epsilon(text)
    assert caught.value.what == f"--epsilon {text}"


@pytest.mark.parametrize("number", [0, 1, 1.5, -1, float("nan"), float("inf")])
def test_a_confidence_is_a_probability_above_0_and_below_1(number):
    with pytest.raises(ParameterError, match=r"--confidence 0\.95"):
        read_confidence(number)


def test_errors_of_the_library_name_options():
    with pytest.raises(ParameterError) as caught, as_options():
        raise ParameterError("max_bytes=5", because="size=1,024 of n=3", instead='repeat="memoised", or max_bytes=33.')
    assert caught.value.what == "--max-bytes 5"
    assert caught.value.because == "--domain 1,024 of --n 3"
    assert caught.value.instead == "--repeat memoised, or --max-bytes 33."
