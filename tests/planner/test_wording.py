"""What was asked, in words, with where keys and bounds come from; it names every output, condition and cap."""

import pytest

import discreet as dp
from discreet.release.document import summary

FACTS = {"name": "visits", "privacy_unit": "patient_id", "max_rows": 10, "budget": dp.Budget(epsilon=4)}
visits = dp.table("visits")


@pytest.fixture(scope="module")
def session():
    facts = FACTS | {"keys": {"ward": ["surgery", "emergency"]}, "bounds": {"age": (0, 110)}}
    with dp.testing.protect(dp.datasets.visits(100), **facts) as opened:
        yield opened


def words(session, query, **options):
    """The lines of a query by label; of several outputs, the last."""
    return dict(session.release(query, epsilon=0.01, **options).document.query)


def test_a_table_says_where_its_keys_and_bounds_come_from(session):
    declared = words(session, visits.where(visits.age < 65).group_by("ward").agg(a=dp.mean("age")))
    assert declared["where"] == "age < 65"
    assert declared["groups"] == "by ward; 2 public keys from the catalog"
    assert declared["output"] == "a = mean of age, values clipped to 0 to 110, bounds from the catalog"
    assert declared["contribution bounds"] == "of one patient_id at most 10 rows in all"
    given = words(session, visits.group_by("ward", keys={"ward": ["surgery"]}).agg(c=dp.sum("cost", bounds=(0, 5))))
    assert given["groups"] == "by ward; 1 public key from the query"
    assert given["output"] == "c = sum of cost, values clipped to 0 to 5, bounds from the query"


def test_bounds_of_a_conditional_value_come_from_its_branches(session):
    asked = words(session, visits.agg(a=dp.sum(dp.when(visits.ward == "surgery", visits.age).otherwise(0))))
    assert asked["output"] == (
        "a = sum of age if (ward = 'surgery'), otherwise 0, values clipped to 0 to 110, bounds from its branches"
    )


def test_bounds_that_are_found_name_the_method(session):
    asked = words(session, visits.agg(c=dp.sum("cost", bounds="auto")))
    assert "values clipped to bounds found by histogram, for 25% of the privacy cost" in asked["output"]


def test_a_selection_names_its_candidates_and_its_score(session):
    asked = words(session, visits.choose(["surgery", "emergency"], score=dp.score(by="ward")))
    assert asked["selected"] == "1 of 2 candidates from the query: 'surgery', 'emergency'"
    assert asked["score"] == "number of rows, of rows whose ward is the candidate"


def test_an_estimate_names_its_method(session):
    asked = words(session, visits.agg(m=dp.median("age")), method=dp.SmoothSensitivity())
    assert "smooth sensitivity" in asked["method"]


def test_a_function_is_named_with_its_digest(session):
    text = "def answer(table): return table.num_rows"
    asked = words(session, visits.apply(text, columns=["age"], blocks=5, bounds=(0, 100)))
    assert asked["function"].startswith("answer (SHA-256 ")
    assert asked["function"].endswith("of age in 5 blocks of units")
    assert asked["aggregate"] == "mean of the blocks, values clipped to 0 to 100, bounds from the query"


def test_the_ledger_lists_queries_in_words_and_a_batch_by_all_of_its_own(session):
    first, second = visits.agg(n=dp.count()), visits.agg(u=dp.count_units())
    released = session.release([first, second], epsilon=0.01)
    entry = session.history()[-1]
    assert "output: n = number of rows" in entry.query
    assert "output: u = number of privacy units" in entry.query
    shown = str(entry).splitlines()[1:]
    assert " ".join(line.strip() for line in shown) == entry.query
    assert max(map(len, shown)) <= 80
    assert summary(released[0].document.query).startswith(
        "protects: one patient_id, added or removed; table: visits; output: n = number of rows"
    )


def test_interactive_mechanisms_are_listed_in_words_too(session):
    with session.above_threshold(threshold=100, sensitivity=10, epsilon=0.01):
        pass
    assert "compared with 100, until 1 answer above" in session.history()[-1].query
    options = {"edges": range(0, 101, 10), "total": 300, "threshold": 100}
    with session.online_ranges(visits.where(visits.age > 1), "age", **options, epsilon=0.01):
        pass
    assert "where: age > 1; online ranges: of age between 11 edges" in session.history()[-1].query


def test_an_output_that_is_named_as_a_label_does_not_pose_as_one(session):
    asked = session.release(visits.agg(where=dp.count(), table=dp.count_units()), epsilon=0.01).document.query
    assert [label for label, _ in asked].count("where") == 0
    assert ("output", "where = number of rows") in asked


def test_a_score_by_distance_and_other_sides_are_in_words(session):
    score = dp.score(by="age", side="or above", near=50)
    asked = words(session, visits.choose([20, 40], score=score))
    assert asked["score"] == "number of rows, of rows whose age is the candidate or above, by its distance to 50"
