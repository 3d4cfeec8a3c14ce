"""The figures that a reader of the textbook will look for, from the testing session over the Adult census."""

import math

import pytest

import discreet as dp

BUDGET = dp.Budget(epsilon=1)
PEOPLE = 32_561


@pytest.fixture
def session(adult):
    with dp.testing.protect(adult, privacy_unit=dp.ROW, budget=BUDGET) as opened:
        yield opened


def answer(session, query):
    return session.release(query, epsilon=0.01).value()


@pytest.mark.parametrize(
    ("predicate", "people"),
    [
        (lambda t: t.Age >= 40, 14_237),
        (lambda t: t["Education-Num"] > 10, 10_516),
        (lambda t: t.Occupation == "Sales", 3_650),
        (lambda t: (t.Age >= 21) & (t.Age < 33), 9_878),
        (lambda t: t.Age.between(21, 32), 9_878),
        (lambda t: t.Age.bin([21, 33]) == 1, 9_878),
        (lambda t: ~(t.Age.is_missing()), PEOPLE),
    ],
    ids=["40 or older", "education above 10", "sales", "21 to 33", "between", "bin", "everyone"],
)
def test_counts_of_people_are_exact(session, predicate, people):
    table = dp.table("adult")
    assert answer(session, table.where(predicate(table)).agg(n=dp.count())) == people


def test_the_ages_of_the_educated_sum_to_422876_and_average_402126(session):
    table = dp.table("adult")
    educated = table.where(table["Education-Num"] > 10)
    release = session.release(
        educated.agg(n=dp.count(), total=dp.sum("Age", bounds=(0, 120)), age=dp.mean("Age", bounds=(0, 120))),
        epsilon=0.01,
    )
    assert release["n"] == (10_516,)
    assert release["total"] == (422_876,)
    assert math.isclose(release["age"][0], 422_876 / 10_516, rel_tol=1e-12)
    assert f"{release['age'][0]:.4f}" == "40.2126"


def test_all_ages_sum_to_1256257_and_average_385816(session):
    table = dp.table("adult")
    assert answer(session, table.agg(total=dp.sum("Age", bounds=(0, 120)))) == 1_256_257
    assert f"{answer(session, table.agg(age=dp.mean('Age', bounds=(0, 120)))):.4f}" == "38.5816"


def test_groups_have_the_same_figures_as_questions_asked_one_by_one(session):
    table = dp.table("adult")
    grouped = table.group_by("Occupation", keys={"Occupation": ["Armed-Forces", "Sales", None, "Nobody"]})
    release = session.release(grouped.agg(n=dp.count()), epsilon=0.01)
    assert release["n"] == (9, 3_650, 1_843, 0)


def test_a_histogram_of_ages_counts_everybody_once(session):
    table = dp.table("adult")
    bands = table.derive(band=table.Age.bin([21, 33])).group_by("band", keys={"band": range(3)})
    release = session.release(bands.agg(n=dp.count()), epsilon=0.01)
    assert release["n"][1] == 9_878
    assert sum(release["n"]) == PEOPLE


def test_a_private_session_on_the_census_stays_within_its_noise(adult):
    """The noise of scale 1 exceeds 30 with probability 1e-13."""
    with dp.protect(adult, privacy_unit=dp.ROW, budget=BUDGET) as session:
        table = dp.table("adult")
        value = session.release(table.where(table.Age >= 40).agg(n=dp.count()), epsilon=1).value()
        assert isinstance(value, int)
        assert abs(value - 14_237) <= 30
