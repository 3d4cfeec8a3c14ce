"""Rows are picked by their keys, noise is known by the release that it is in, and what does not add up is refused."""

import re
from dataclasses import replace
from fractions import Fraction

import pytest

import discreet as dp
from discreet.errors import NameNotFoundError, ParameterError, UnsupportedError
from discreet.mechanisms import Gaussian, Laplace
from discreet.release.postprocessing.quantities import Linear, Quotient
from discreet.release.postprocessing.rows import (
    answer_of,
    chosen_rows,
    group_rows,
    mean_of,
    noise_of,
    source_of,
    total_of,
)
from released import keys, measured, release

TABLE = dp.table("visits")
RELEASE = release([10, 20, 30, 40], [100, 200, 300, 400])


def _source(made=RELEASE):
    return source_of(made.receipt, made.keys, made.measured)


def test_rows_are_picked_by_one_value_by_several_and_by_several_keys():
    assert chosen_rows(keys(), 4, None) == [0, 1, 2, 3]
    assert chosen_rows(keys(), 4, {"ward": "A"}) == [0, 1]
    assert chosen_rows(keys(), 4, {"ward": ["A", "B"], "sex": "y"}) == [1, 3]


@pytest.mark.parametrize("where", [{"ward": "C"}, {"ward": ["A", "C"]}, {"sex": None}])
def test_a_value_that_is_not_there_is_refused_with_those_that_are(where):
    with pytest.raises(ParameterError, match=r"one of '(A', 'B|x', 'y)'"):
        chosen_rows(keys(), 4, where)


def test_a_key_that_is_not_there_is_refused():
    with pytest.raises(NameNotFoundError, match="ward"):
        chosen_rows(keys(), 4, {"wards": "A"})
    with pytest.raises(NameNotFoundError, match="no groups"):
        chosen_rows((), 1, {"ward": "A"})


def test_coarser_groups_keep_the_order_of_the_release():
    coarse, members = group_rows(keys(), range(4), "sex")
    assert (coarse[0].values, members) == (("x", "y"), [[0, 2], [1, 3]])
    assert group_rows(keys(), range(4), None) == ((), [[0, 1, 2, 3]])
    assert group_rows(keys(), [3, 1], ["sex", "ward"])[0][1].values == ("B", "A")


def test_noise_is_read_off_what_was_measured_and_other_noise_is_not_known():
    assert isinstance(noise_of(measured([1])), Laplace)
    assert isinstance(noise_of(measured([1], "discrete Gaussian")), Gaussian)
    assert noise_of(measured([1], places="nodes of a tree")) is None
    assert noise_of(replace(measured([1]), mechanism="another")) is None


def test_the_same_release_is_the_same_source_and_any_other_is_not():
    assert _source() == _source(replace(RELEASE, confidence=Fraction(1, 2)))
    others = (release([10, 20, 30, 40], receipt="b"), release([10, 20, 30, 41]), release([10, 20, 30, 40]))
    assert len({_source(other).name for other in (*others, RELEASE)}) == 4


def test_an_output_is_what_its_parts_say():
    count, total, mean, _ = RELEASE.outputs
    assert total_of(count, _source(), [0, 3]).value == 50
    assert isinstance(answer_of(total, _source(), 1), Linear)
    found = answer_of(mean, _source(), 1)
    assert isinstance(found, Quotient)
    assert found.value == 10


def test_what_does_not_add_up_is_refused_with_what_does():
    count, _, mean, median = RELEASE.outputs
    with pytest.raises(UnsupportedError, match=r"release\.mean\('mean'\)"):
        total_of(mean, _source(), [0])
    with pytest.raises(UnsupportedError, match=r"release\.ratio\('n'"):
        mean_of(count, _source(), [0])
    with pytest.raises(UnsupportedError, match="a median is no sum"):
        total_of(median, _source(), [0])
    with pytest.raises(UnsupportedError, match="a median is no sum"):
        mean_of(median, _source(), [0])
    with pytest.raises(UnsupportedError, match="noise that other rows share"):
        total_of(replace(count, parts=()), _source(), [0])


def test_noise_without_a_proved_margin_is_refused():
    other = replace(RELEASE, measured=(replace(RELEASE.measured[0], mechanism="exponential"), RELEASE.measured[1]))
    with pytest.raises(UnsupportedError, match="'exponential'"):
        total_of(other.outputs[0], _source(other), [0])


def test_a_release_in_which_no_key_was_found_has_a_total_of_nothing():
    empty = release([], rows=(), names=("ward",))
    assert "no key was kept" in str(empty.total("n"))
    assert (empty.total("n").value, empty.total("n").margin, len(empty.total("n", by="ward"))) == (0, 0, 0)


@pytest.mark.parametrize("groups", ["B", ["B"], 5, TABLE.ward == "B", {TABLE.ward: "B"}])
def test_groups_that_are_not_named_by_key_and_value_are_refused_with_how_to(groups):
    wanted = re.escape("where={'ward': '" + ("B" if isinstance(groups, str) else "A") + "'}")
    for ask in (
        lambda: RELEASE.total("n", where=groups),
        lambda: RELEASE.mean("mean", where=groups),
        lambda: RELEASE.share("n", where=groups),
        lambda: RELEASE.ratio("total", "n", where=groups),
        lambda: RELEASE.difference("n", groups, groups),
    ):
        with pytest.raises(ParameterError, match=wanted):
            ask()


@pytest.mark.parametrize("by", [{"ward": "A"}, TABLE.ward, [TABLE.ward], 5])
def test_by_takes_names_of_keys_and_nothing_else(by):
    with pytest.raises(ParameterError, match="by='ward'"):
        RELEASE.total("n", by=by)


def test_values_that_cannot_be_keys_are_refused_like_any_other():
    with pytest.raises(ParameterError, match="one of 'A', 'B'"):
        RELEASE.total("n", where={"ward": [{"a": 1}]})


def test_a_mean_over_no_rows_is_refused_and_a_total_says_so():
    with pytest.raises(UnsupportedError, match="over no rows"):
        RELEASE.mean("mean", where={"ward": []})
    assert "no group has all of the keys" in str(RELEASE.total("n", where={"ward": []}))
