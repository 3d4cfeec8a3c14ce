"""Naive Bayes from counts of an engine: the model of the same counts, and one charge for all of them."""

import numpy as np
import pytest

import discreet as dp
from discreet.errors import ParameterError
from discreet.learning.linear.released_counts import read_counts

PEOPLE = dp.datasets.people(4_000)
FEATURES = {
    "hours_per_week": dp.learning.edges([20, 35, 45]),
    "education_years": dp.learning.linear_bins(8, 22, 4),
    "marital_status": dp.learning.categories(sorted(set(PEOPLE["marital_status"].to_pylist()))),
}
CLASSES = sorted(set(PEOPLE["sex"].to_pylist()))


def queries(features=FEATURES):
    return dp.learning.NaiveBayes.count_queries(dp.table("people"), features=features, target="sex", classes=CLASSES)


def released(features=FEATURES, **facts):
    budget = dp.Budget(epsilon=3, delta=1e-9)
    facts = {"privacy_unit": dp.ROW} | facts
    with dp.testing.protect(PEOPLE, name="people", budget=budget, **facts) as session:
        return session.release(queries(features), epsilon=2)


def released_separately():
    with dp.protect(
        PEOPLE, name="people", budget=dp.Budget(epsilon=3, delta=1e-9), privacy_unit=dp.ROW, ledger=":memory:"
    ) as session:
        return [session.release(query, epsilon=0.5) for query in queries()]


def _exact():
    """The counts by numpy: a row of classes, then a row for each slot of each feature."""
    classes = np.array([CLASSES.index(each) for each in PEOPLE["sex"].to_pylist()])
    rows = [np.bincount(classes, minlength=len(CLASSES))]
    for name, feature in FEATURES.items():
        codes = feature.encode(PEOPLE[name])
        rows += [np.bincount(classes[codes == slot], minlength=len(CLASSES)) for slot in range(feature.slots)]
    return np.array(rows)


@pytest.mark.parametrize("facts", [{}, {"privacy_unit": "person_id", "max_rows": 1}], ids=["rows", "people"])
def test_counts_of_an_engine_are_those_of_the_encoded_rows(facts):
    found = read_counts(released(**facts), FEATURES, "sex")
    assert found.classes == tuple(CLASSES)
    assert np.abs(found.counts - _exact()).max() <= 8 * found.deviation


def test_one_charge_pays_for_all_counts_and_the_model_says_so():
    releases = released()
    model = dp.learning.NaiveBayes.from_counts(releases, features=FEATURES, target="sex")
    assert len({release.receipt["event"] for release in releases}) == 1
    assert model.guarantee_ == releases[0].guarantee
    assert "batch" in model.guarantee_
    rows = PEOPLE.select(list(FEATURES)).slice(0, 50)
    assert set(model.predict(rows)) <= set(CLASSES)
    assert np.allclose(model.predict_proba(rows).sum(axis=1), 1)


def test_a_model_of_counts_is_saved_and_read_back(tmp_path):
    model = dp.learning.NaiveBayes.from_counts(released(), features=FEATURES, target="sex")
    model.save(tmp_path / "model.json")
    rows = PEOPLE.select(list(FEATURES)).slice(0, 50)
    assert dp.learning.load(tmp_path / "model.json").predict(rows).tolist() == model.predict(rows).tolist()


def test_a_row_outside_the_categories_counts_for_no_slot():
    features = {"marital_status": dp.learning.categories(["nobody has it"])}
    found = read_counts(released(features), features, "sex")
    assert np.abs(found.counts[1:]).max() <= 8 * found.deviation


def test_a_name_in_the_place_of_a_table_is_refused_with_the_table():
    with pytest.raises(ParameterError, match=r"counts of a str[\s\S]*dp\.table\('people'\)"):
        dp.learning.NaiveBayes.count_queries("people", features=FEATURES, target="sex", classes=CLASSES)


@pytest.mark.parametrize("change", ["order", "number", "features", "edges", "categories", "kind"])
def test_other_releases_are_refused(change):
    releases, features = released(), dict(FEATURES)
    if change == "order":
        releases = releases[::-1]
    elif change == "number":
        releases = releases[:-1]
    elif change == "features":
        features["hours_per_week"] = dp.learning.edges([20])
    elif change == "edges":
        features["hours_per_week"] = dp.learning.edges([20, 35, 46])
    elif change == "categories":
        features["marital_status"] = dp.learning.categories(FEATURES["marital_status"].values[::-1])
    else:
        releases = [None] * len(releases)
    with pytest.raises(ParameterError, match="counts of these features"):
        dp.learning.NaiveBayes.from_counts(releases, features=features, target="sex")


def test_counts_that_were_released_separately_are_refused():
    """The guarantee of the first would leave out the cost of the others."""
    with pytest.raises(ParameterError, match="one batch, charged together"):
        dp.learning.NaiveBayes.from_counts(released_separately(), features=FEATURES, target="sex")


def test_counts_of_two_batches_are_refused():
    with pytest.raises(ParameterError, match="one batch, charged together"):
        dp.learning.NaiveBayes.from_counts([*released()[:2], *released()[2:]], features=FEATURES, target="sex")
