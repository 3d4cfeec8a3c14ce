"""Masking from the right, against a plain loop over characters."""

import pyarrow as pa
import pytest

import discreet as dp

mask = dp.anonymity.hierarchies.mask


def _labels(levels, level):
    return [levels.labels[level][code] for code in levels.codes[level]]


TEXTS = ["10115", "1011", "1", "", "20095", "äöü😀x", "1*", "12", "e\u0301clair"]


@pytest.mark.parametrize("align", ["left", "right"])
def test_each_level_masks_one_more_code_point(align):
    levels = mask(align=align).levels(pa.array(TEXTS))
    longest = max(len(text) for text in TEXTS)
    assert levels.height == longest
    for count in range(1, longest):
        if align == "left":
            plain = [text.ljust(longest, "*")[: longest - count] + "*" * count for text in TEXTS]
        else:
            plain = [text[: max(0, len(text) - count)] + "*" * count for text in TEXTS]
        assert _labels(levels, count) == plain


def test_whole_numbers_are_masked_as_text():
    assert _labels(mask().levels(pa.array([10115, 10117])), 1) == ["1011*", "1011*"]


def test_a_length_fixes_the_number_of_levels():
    assert mask(length=8).levels(pa.array(["ab"])).height == 8
    with pytest.raises(dp.errors.ParameterError) as caught:
        mask(length=2).levels(pa.array(["abc"]))
    assert caught.value.instead == "mask(length=3)"


def test_floats_and_other_words_are_refused():
    with pytest.raises(dp.errors.TypeMismatchError):
        mask().levels(pa.array([1.5]))
    with pytest.raises(dp.errors.ParameterError):
        mask(align="middle")
    with pytest.raises(dp.errors.ParameterError):
        mask(length=0)


def test_empty_text_is_one_group():
    assert mask().levels(pa.array([""])).labels == (("",), ("*",))
