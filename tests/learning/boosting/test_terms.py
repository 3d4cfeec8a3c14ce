"""Terms have a place for every slot; random leaves divide places, without data."""

import numpy as np
import pytest

import discreet as dp
from discreet.errors import ParameterError
from discreet.learning.boosting.terms import random_leaves, terms_of
from learning.boosting.boosting_cases import FEATURES, GENERATOR, PAIR, SLOTS, codes_of


def test_each_slot_or_pair_of_slots_has_a_place_of_its_own():
    terms = terms_of(FEATURES, PAIR)
    assert [term.size for term in terms] == [*SLOTS, SLOTS[0] * SLOTS[1]]
    codes = codes_of(3_000)
    for term in terms:
        places = term.places(codes)
        columns = codes[:, list(term.columns)]
        assert places.min() >= 0
        assert places.max() < term.size
        assert len(np.unique(places)) == len(np.unique(columns, axis=0))


def test_ordered_slots_have_contiguous_leaves_and_few_categories_keep_their_own():
    age, colour, country, pair = terms_of(FEATURES, PAIR)
    for _ in range(20):
        leaves = random_leaves(age, 0, 8, GENERATOR)
        assert leaves.count == 8
        assert (np.diff(leaves.leaf) >= 0).all()
        assert set(leaves.leaf.tolist()) == set(range(8))
        assert (leaves.leaf == 0).sum() == 1  # missing values alone
        assert random_leaves(colour, 1, 8, GENERATOR).leaf.tolist() == [0, 1, 2, 3]
        assert random_leaves(country, 2, 8, GENERATOR).leaf.max() < 8
        both = random_leaves(pair, 3, 8, GENERATOR)
        assert both.count == 16
        assert len(both.leaf) == pair.size


@pytest.mark.parametrize("pair", [("age", "age"), ("age", "height"), ("age",)])
def test_interactions_are_pairs_of_declared_features(pair):
    with pytest.raises(ParameterError, match="interactions"):
        terms_of(FEATURES, [pair])


def test_a_model_of_one_feature_is_told_to_have_no_interactions():
    with pytest.raises(ParameterError, match="interactions=None"):
        terms_of({"age": FEATURES["age"]}, [("age", "height")])


def test_a_pair_with_too_many_places_is_refused():
    wide = {name: dp.learning.linear_bins(0, 1, 2_000) for name in "ab"}
    with pytest.raises(ParameterError, match="million"):
        terms_of(wide, [("a", "b")])
