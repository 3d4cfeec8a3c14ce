"""A synthetic table answers queries: measured, bounded, or by its model; and what it cannot say is refused."""

from fractions import Fraction

import pyarrow as pa
import pytest

import discreet as dp
from discreet.errors import NameNotFoundError, ParameterError, UnsupportedError
from discreet.synthesis.answers.answer import ReleasedTable, answer_query

T = dp.table("people")
COLUMNS = ["sex", "education_years", "hours_per_week"]
FACTS = {
    "name": "people",
    "privacy_unit": "person_id",
    "max_rows": 1,
    "keys": {"sex": ["female", "male", "unspecified"]},
    "bounds": {"education_years": (8, 22), "hours_per_week": (0, 79)},
}
PEOPLE = dp.datasets.people(3_000)


def release(synthesizer):
    with dp.testing.protect(PEOPLE, **FACTS, budget=dp.Budget(epsilon=2, delta=1e-9)) as session:
        return session.release(T.synthesize(synthesizer, columns=COLUMNS), epsilon=2)


@pytest.fixture(scope="module")
def graphical():
    return release(dp.synthesis.GraphicalSynthesizer(rounds=1))


def exact(query):
    with dp.testing.protect(PEOPLE, **FACTS, budget=dp.Budget(epsilon=2, delta=1e-9)) as session:
        return session.release(query, epsilon=1)


@pytest.mark.parametrize("kind", ["IndependentSynthesizer", "TreeSynthesizer", "GraphicalSynthesizer"])
def test_counts_of_columns_are_measured_by_every_synthesizer(kind):
    table = release(getattr(dp.synthesis, kind)())
    query = T.group_by("sex").agg(n=dp.count())
    answer = table.answer(query)
    assert [row.how for row in answer.rows] == ["measured"] * 3
    assert [row.measured for row in answer.rows] == list(exact(query)["n"])
    for row in answer.rows:
        assert row.lower <= row.measured <= row.upper
    total = table.answer(T.agg(n=dp.count())).rows[0]
    assert total.measured == pytest.approx(3_000)
    assert total.lower < 3_000 < total.upper
    wider = table.answer(query, confidence=0.99).rows[0]
    assert wider.upper - wider.lower > answer.rows[0].upper - answer.rows[0].lower


def test_a_pair_is_measured_bounded_or_by_the_model(graphical):
    measured = tuple(graphical.state["measurements"][-1]["columns"])
    present = {
        "sex": T.sex.is_present(),
        "education_years": T.education_years >= 8,
        "hours_per_week": T.hours_per_week >= 0,
    }
    for pair in (("sex", "education_years"), ("sex", "hours_per_week"), ("education_years", "hours_per_week")):
        answer = graphical.answer(T.where(*(present[name] for name in pair)).agg(n=dp.count())).rows[0]
        assert answer.how in (("measured", "bounded") if pair == measured else ("bounded",))
        assert answer.lower <= 3_000 <= answer.upper
    tree = release(dp.synthesis.TreeSynthesizer())
    three = T.where(T.education_years >= 12, T.hours_per_week.is_present()).group_by("sex").agg(n=dp.count())
    assert {row.how for row in tree.answer(three).rows} == {"model"}


def test_sums_and_means_are_of_middles_with_an_interval_that_holds_the_exact_one():
    table = release(dp.synthesis.IndependentSynthesizer())
    query = T.agg(hours=dp.mean("hours_per_week"), all=dp.sum("hours_per_week"), years=dp.sum("education_years"))
    answer, values = table.answer(query), exact(query)
    for row in answer.rows:
        assert row.how == "measured"
        assert row.lower <= values[row.output][0] <= row.upper
    assert answer.rows[2].measured == pytest.approx(values["years"][0])  # bins of one value
    assert "middles of bins" in str(answer)
    adults = table.answer(T.where(T.education_years >= 12).group_by("sex").agg(hours=dp.mean("hours_per_week")))
    assert {row.how for row in adults.rows} == {"model"}
    assert all(20 < row.estimate < 60 for row in adults.rows)


def test_numbers_of_no_cell_are_zero_or_nothing():
    table = release(dp.synthesis.IndependentSynthesizer())
    nobody = T.where(T.sex == "male", T.sex == "female")
    rows = table.answer(nobody.agg(n=dp.count(), m=dp.mean("education_years"))).rows
    assert rows[0].estimate == 0
    assert rows[1].estimate is None
    assert {row.how for row in rows} == {"model"}


def test_parts_of_slots_and_quantiles_come_from_drawn_rows(graphical):
    answer = graphical.answer(T.where(T.hours_per_week > 40.5).agg(n=dp.count()))
    assert answer.rows[0].how == "model"
    assert "drawn rows" in str(graphical.answer(T.agg(m=dp.median("education_years"))))


def test_an_answer_needs_no_session_and_a_saved_table_gives_the_same(graphical, tmp_path):
    query = T.where(T.education_years >= 12).group_by("sex").agg(n=dp.count())
    graphical.save(tmp_path / "table.json")
    assert dp.SyntheticTable.load(tmp_path / "table.json").answer(query) == graphical.answer(query)
    assert isinstance(graphical.answer(query).to_arrow(), pa.Table)


def test_what_rows_cannot_say_is_refused(graphical):
    with pytest.raises(UnsupportedError, match="units or joined"):
        graphical.answer(T.agg(n=dp.count_units()))
    with pytest.raises(UnsupportedError, match="units or joined"):
        graphical.answer(T.join(dp.table("wards"), on="sex").agg(n=dp.count()))
    with pytest.raises(UnsupportedError, match="units or joined"):
        graphical.answer(T.per_unit(visits=dp.count()).agg(n=dp.count()))
    with pytest.raises(UnsupportedError, match="Statement"):
        graphical.answer(dp.sql("SELECT COUNT(*) AS n FROM people"))
    with pytest.raises(NameNotFoundError, match="'visits'"):
        graphical.answer(dp.table("visits").agg(n=dp.count()))
    with pytest.raises(NameNotFoundError, match="'sexx'"):
        graphical.answer(T.group_by("sexx", keys={"sexx": ["F"]}).agg(n=dp.count()))
    for confidence in (0, 1, 95):
        with pytest.raises(ParameterError, match="confidence"):
            graphical.answer(T.agg(n=dp.count()), confidence=confidence)


def test_an_empty_table_answers():
    state = {
        "columns": [{"name": "sex", "type": "text", "edges": [], "values": ["F", "M"]}],
        "total": 0.0,
        "measurements": [{"columns": ["sex"], "values": [-2, 1, 0], "sigma": 1.5}],
        "model": {
            "kind": "tree",
            "total": 0.0,
            "columns": [{"name": "sex", "groups": [0, 1, 2], "shares": [1.0] * 3, "probabilities": [0.5, 0.25, 0.25]}],
            "edges": [],
        },
        "draw": 7,
    }
    answer = answer_query(ReleasedTable("people", state), T.group_by("sex").agg(n=dp.count()), Fraction(19, 20))
    assert answer.rows[0].estimate == 0
    assert answer.rows[0].lower == 0
