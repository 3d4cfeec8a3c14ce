"""Population uniques: Dankar's rule, and limits that are stated."""

import json
from fractions import Fraction
from math import comb

import pyarrow as pa
import pytest

import discreet as dp
from discreet.anonymity.uniques import population

SIZES = [(1, 1_200), (2, 300), (3, 90), (10, 25)]


def by_name(found):
    return {one.method: one.uniques for one in found.estimates}


def test_up_to_ten_percent_pitman_is_chosen():
    found = dp.anonymity.population_uniques(SIZES, sampling_fraction=Fraction(1, 10))
    assert (found.method, found.uniques) == ("pitman", by_name(found)["pitman"])
    assert (found.people, found.classes, found.sample_uniques, found.population) == (2320, 1615, 1200, 23200)
    assert population.MODELS in found.limits


def test_above_ten_percent_the_smaller_of_snb_and_zayatz_is_chosen():
    found = dp.anonymity.population_uniques(SIZES, sampling_fraction=0.2)
    assert (found.method, found.uniques) == ("snb", min(by_name(found)["snb"], by_name(found)["zayatz"]))
    other = dp.anonymity.population_uniques([(1, 1_500), (2, 200), (3, 90), (10, 25)], sampling_fraction=0.4)
    assert other.uniques == min(by_name(other)["snb"], by_name(other)["zayatz"])


@pytest.mark.parametrize("fraction", [0.05, 0.5])
def test_zayatz_in_place_of_another_says_that_it_may_be_far_too_high(fraction):
    found = dp.anonymity.population_uniques([(1, 50)], sampling_fraction=fraction)
    assert found.method == "zayatz"
    assert population.STAND_IN in found.limits
    assert by_name(found)["pitman"] is None
    assert "no estimate" in str(found)


def test_a_census_is_counted():
    found = dp.anonymity.population_uniques(SIZES, sampling_fraction=1)
    assert (found.method, found.uniques, found.limits) == ("census", 1200.0, (population.CENSUS,))


def test_a_sample_without_uniques_has_zero_and_a_sentence():
    found = dp.anonymity.population_uniques([(3, 100), (4, 20)], sampling_fraction=0.05)
    assert (found.uniques, found.ceiling, found.limits) == (0.0, 0, (population.NO_UNIQUES,))


def test_an_estimate_above_the_ceiling_says_that_the_model_does_not_fit():
    found = dp.anonymity.population_uniques([(1, 1), (2, 5), (3, 20), (4, 5)], sampling_fraction=0.1)
    assert found.uniques > found.ceiling == 10
    assert any("does not fit" in limit for limit in found.limits)


def test_the_result_is_plain_data_and_stamped():
    found = dp.anonymity.population_uniques(SIZES, sampling_fraction=0.2)
    document = json.loads(json.dumps(found.to_json()))
    assert document["figures"]["estimates"][0]["method"] == "pitman"
    assert "For the owners" in str(found)
    assert 0 < found.share < 1


def test_measures_stand_for_their_class_sizes_and_say_people():
    table = pa.table({"who": [1, 2, 3, 4, 5], "age": [30, 30, 31, 32, 32]})
    measures = dp.anonymity.measure(table, ["age"], person="who")
    found = dp.anonymity.population_uniques(measures, sampling_fraction=0.1)
    assert found.uniques == dp.anonymity.population_uniques(measures.class_sizes, sampling_fraction=0.1).uniques
    assert "1 of 5 people are alone in the sample" in str(found)


def test_pairs_of_a_person_and_a_class_are_not_called_people():
    table = pa.table({"who": [1, 1, 2, 2, 3], "age": [30, 31, 30, 32, 32]})
    measures = dp.anonymity.measure(table, ["age"], person="who")
    for sizes in (measures, measures.class_sizes):
        found = dp.anonymity.population_uniques(sizes, sampling_fraction=0.1)
        assert "1 of 5 pairs of a person and a class are alone in the sample" in str(found)


def test_measures_with_classes_that_overlap_are_refused():
    measures = dp.anonymity.measure(pa.table({"age": [30, None]}), ["age"], nulls="wildcard")
    with pytest.raises(dp.errors.ParameterError, match="overlap"):
        dp.anonymity.population_uniques(measures)


def test_zayatz_is_more_than_1000_times_too_high_where_all_classes_have_ten_people():
    # expected counts of a sample of 1% of 132 people who are alone and of 20,000 classes of ten
    chances = {size: comb(10, size) * 0.01**size * 0.99 ** (10 - size) for size in (1, 2, 3)}
    sizes = [(size, round(20_000 * chance) + (size == 1)) for size, chance in chances.items()]
    found = dp.anonymity.population_uniques(sizes, sampling_fraction=0.01)
    assert by_name(found)["zayatz"] > 1_000 * 132
    assert "zayatz more than 1,000 times too high" in str(found)


@pytest.mark.parametrize("sizes", [5, "1", [5], [(1, 2, 3)], None], ids=str)
def test_what_is_no_list_of_pairs_is_refused(sizes):
    with pytest.raises(dp.errors.ParameterError, match="pairs of a class size"):
        dp.anonymity.population_uniques(sizes)


@pytest.mark.parametrize("sizes", [[], [(1, 2), (1, 3)], [(0, 2)], [(1, 0)], [(1.0, 2)], [(1, True)]])
def test_sizes_that_are_no_histogram_are_refused(sizes):
    with pytest.raises(dp.errors.ParameterError):
        dp.anonymity.population_uniques(sizes, sampling_fraction=0.1)


@pytest.mark.parametrize("fraction", [0, -1, 1.5, float("nan"), "0.1"])
def test_fractions_outside_their_range_are_refused(fraction):
    with pytest.raises(dp.errors.ParameterError):
        dp.anonymity.population_uniques(SIZES, sampling_fraction=fraction)
