"""What a newcomer tries first: it works, or it is refused with the line to type instead."""

import inspect

import pytest

import discreet as dp
from discreet.errors import AccountingError


def test_a_mechanism_can_be_compared_without_asking_for_its_event():
    laplace = dp.mechanisms.Laplace(sensitivity=1, epsilon=0.1)
    table = dp.accounting.compare([laplace, laplace], delta=1e-6)
    assert table == dp.accounting.compare([laplace.event()] * 2, delta=1e-6)
    assert dp.accounting.compare(laplace, delta=1e-6)["pure"].epsilon == 0.1


@pytest.mark.parametrize(
    "price",
    [
        dp.accounting.pure.epsilon,
        dp.accounting.approximate.basic,
        lambda event: dp.accounting.concentrated.epsilon(event, 1e-6),
        lambda event: dp.accounting.renyi.epsilon(event, 10),
        lambda event: dp.accounting.pld.epsilon(event, 1e-6),
        dp.accounting.costs.cost,
    ],
)
def test_an_accountant_that_is_given_a_mechanism_says_how_to_ask_it(price):
    laplace = dp.mechanisms.Laplace(sensitivity=1, epsilon=0.1)
    for mistake in (laplace, laplace.event):
        with pytest.raises(AccountingError) as refusal:
            price(mistake)
        assert refusal.value.instead == "laplace.event()"
    assert price(laplace.event()) is not None


def test_exact_results_print_shortly():
    laplace, gaussian = (
        dp.mechanisms.Laplace(sensitivity=1, epsilon=0.3),
        dp.mechanisms.Gaussian(sensitivity=1, rho=0.1),
    )
    assert repr(dp.mechanisms.Laplace(sensitivity=1, epsilon=0.1).margin()) == "30"
    assert str(dp.accounting.pure.epsilon(laplace.event())) == "3/10"
    for result in (
        gaussian.delta(1),
        dp.accounting.concentrated.epsilon(gaussian.event(), 1e-6),
        dp.accounting.concentrated.rho(gaussian.event()).rho,
        dp.accounting.renyi.epsilon(laplace.event(), 10),
        dp.accounting.renyi.conversion(laplace.event(), 1e-6).epsilon,
        dp.accounting.group.approximate(epsilon=0.1, delta=1e-9, size=5).delta,
        dp.accounting.approximate.advanced(epsilon=0.1, count=100, slack=1e-6).epsilon,
        dp.accounting.approximate.optimal(epsilon=0.1, count=100, delta=1e-6),
    ):
        assert len(str(result)) <= 40, result


@pytest.fixture
def session():
    with dp.protect(
        dp.datasets.visits(500, seed=1),
        name="visits",
        privacy_unit="patient_id",
        max_rows=10,
        keys={"ward": dp.datasets.WARDS},
        fixed_schema=True,
        budget=dp.Budget(epsilon=5),
        ledger=dp.SQLiteLedger(":memory:"),
    ) as opened:
        yield opened


def test_a_figure_shows_every_output_with_its_guarantee(session):
    query = dp.table("visits").group_by("ward").agg(n=dp.count(), cost=dp.mean("cost", bounds=(0, 5_000)))
    release = session.release(query, epsilon=1)
    figure = release.plot()
    assert len(figure.axes) == 2
    words = figure.axes[1].get_xlabel().replace("\n", " ")
    assert "95% of releases" in words
    assert release.guarantee in words
    assert "." not in figure.axes[0].texts[0].get_text()
    alone = release.plot("cost")
    assert len(alone.axes) == 1
    assert alone.get_suptitle() == "mean 'cost' of visits (1 of 2 outputs)"


def test_a_figure_that_is_not_private_says_nothing_of_noise():
    with dp.testing.protect(
        dp.datasets.visits(50, seed=1), name="visits", privacy_unit=dp.ROW, budget=dp.Budget(epsilon=1)
    ) as rehearsal:
        figure = rehearsal.release(dp.table("visits").agg(n=dp.count()), epsilon=1).plot()
    words = figure.axes[0].get_xlabel() + figure.get_label()
    assert "NOT PRIVATE" in words
    assert "noise stays within" not in words


VISITS = dp.table("visits")
COUNT = VISITS.agg(n=dp.count())
BY_WARD = VISITS.group_by("ward")

MISTAKES = {
    "a percentage": (lambda s: s.release(COUNT, epsilon=1, confidence=95), "confidence=0.95"),
    "a percentage of a mechanism": (
        lambda _: dp.mechanisms.Laplace(sensitivity=1, epsilon=1).margin(95),
        "confidence=0.95",
    ),
    "bounds of text": (lambda _: dp.sum("cost", bounds=("0", "100")), "bounds=(0, 100)"),
    "an infinite bound": (lambda _: dp.sum("cost", bounds=(0, float("inf"))), "bounds=(0, 100)"),
    "keys under another case": (
        lambda _: VISITS.group_by("ward", keys={"Ward": ["A", "B"]}),
        'keys={"ward": ["A", "B"]}',
    ),
    "keys without their column": (
        lambda _: VISITS.group_by("age", keys=range(17, 91)),
        'keys={"age": range(17, 91)}',
    ),
    "distinct whole numbers": (
        lambda s: s.explain(VISITS.agg(n=dp.count_distinct("age")), epsilon=1),
        "dp.count_distinct('age', domain=range(0, 100))",
    ),
    "a number plus text": (
        lambda s: s.explain(VISITS.derive(x=VISITS.age + "x").agg(n=dp.count()), epsilon=1),
        "table['age'] + 10",
    ),
    "the mean of text": (
        lambda s: s.explain(VISITS.agg(m=dp.mean("ward", bounds=(0, 1))), epsilon=1),
        "dp.count(), or a column of type integer or real; text that holds numbers: ",
    ),
    "rho under a pure privacy budget": (lambda s: s.explain(COUNT, rho=0.1), "epsilon=0.5"),
    "a new promise without a reason": (
        lambda s: s.ledger.set_cap("visits", dp.Budget(epsilon=9), reason=""),
        'reason="decided by the board in May"',
    ),
    "an aggregate without a name": (lambda _: VISITS.agg(dp.count()), "agg(n=dp.count())"),
    "a mean without a name": (
        lambda _: BY_WARD.agg(dp.mean("cost", bounds=(0, 5))),
        "agg(average=dp.mean('cost', bounds=(0, 5)))",
    ),
    "aggregates as pandas writes them": (
        lambda _: VISITS.agg({"cost": "mean"}),
        'agg(cost=dp.mean("cost", bounds=(0, 100)))',
    ),
    "a count of groups": (lambda _: BY_WARD.count(), "agg(n=dp.count())"),
    "a mean of groups": (lambda _: BY_WARD.mean("cost"), 'agg(cost=dp.mean("cost", bounds=(0, 5_000)))'),
    "a condition on a query": (lambda _: COUNT.where(VISITS.age > 1), "table.where(table.age >= 40).agg(n=dp.count())"),
    "a mean of a column": (lambda _: VISITS.cost.mean(), 'table.agg(cost=dp.mean("cost", bounds=(0, 5_000)))'),
    "rows in brackets": (lambda _: VISITS[VISITS.age > 40], "table.where(table.age > 40)"),
    "columns of a table": (lambda _: VISITS.columns, 'session.catalog.table("visits").columns'),
    "a range upside down": (lambda _: VISITS.age.between(60, 40), "between(40, 60)"),
    "a misspelt key": (
        lambda s: s.explain(VISITS.where(VISITS.ward == "Surgery").agg(n=dp.count()), epsilon=1),
        "table['ward'] == 'surgery'",
    ),
    "a misspelt key in a list": (
        lambda s: s.explain(VISITS.where(VISITS.ward.is_in(["surgery", "Oncology"])).agg(n=dp.count()), epsilon=1),
        "table['ward'].is_in(['oncology'])",
    ),
    "SQL": (lambda s: s.sql("SELECT 1"), "SELECT COUNT(*) AS n FROM visits"),
    "a table of a session": (
        lambda s: s.table("visits"),
        'session.release(dp.table("visits").agg(n=dp.count()), epsilon=0.5)',
    ),
    "an average": (lambda _: dp.avg("cost"), 'dp.mean("cost", bounds=(0, 5_000))'),
    "a file of another form": (
        lambda s: s.release(COUNT, epsilon=1).save("x.xlsx"),
        "release.save('x.json'), or release.to_pandas().to_excel('x.xlsx')",
    ),
    "data in place of a catalog": (lambda _: dp.Session("adult.csv"), "dp.protect('adult.csv', "),
}


@pytest.mark.parametrize(("mistake", "instead"), MISTAKES.values(), ids=MISTAKES)
def test_a_first_mistake_is_met_with_the_line_to_type(session, mistake, instead):
    with pytest.raises(dp.Refusal) as refusal:
        mistake(session)
    assert refusal.value.instead.startswith(instead), refusal.value


@pytest.mark.parametrize(
    ("words", "instead"),
    [
        ({"bounds": {"AGE": (0, 1)}}, "'age'"),
        ({"privacy_unit": "PATIENT_ID"}, "'patient_id'"),
        ({"privacy_unit": "ROW"}, "privacy_unit=dp.ROW, without quotes"),
        ({"privacy_unit": "row"}, "privacy_unit=dp.ROW, without quotes"),
        ({"types": {"age": "int"}}, 'types={"age": "integer"}'),
    ],
)
def test_words_of_protect_are_corrected(words, instead):
    settled = {"name": "v", "privacy_unit": "patient_id", "budget": dp.Budget(epsilon=1)} | words
    with pytest.raises(dp.Refusal) as refusal:
        dp.protect(dp.datasets.visits(50, seed=1), ledger=dp.SQLiteLedger(":memory:"), **settled)
    assert refusal.value.instead == instead


def test_extremes_say_why_they_are_refused_and_which_quantile_to_ask_for():
    for name in ("min", "max", "minimum", "maximum"):
        with pytest.raises(AttributeError, match="one person") as refusal:
            getattr(dp, name)
        assert "dp.quantile(" in refusal.value.instead


def test_a_budget_that_is_practically_empty_says_so(session):
    session.release(COUNT, epsilon=4.9999)
    with pytest.raises(dp.Refusal, match="practically nothing is left") as refusal:
        session.release(COUNT, epsilon=1)
    assert "session.ledger.set_cap('visits'" in refusal.value.instead


def test_a_key_beside_another_than_equality_is_left_alone(session):
    session.explain(VISITS.where(VISITS.ward != "unknown").agg(n=dp.count()), epsilon=1)
    redefined = VISITS.derive(ward=VISITS.age.cast("text"))
    session.explain(redefined.where(redefined.ward == "40").agg(n=dp.count()), epsilon=1)


def test_a_release_is_read_row_by_row(session):
    rows = list(session.release(BY_WARD.agg(n=dp.count()), epsilon=1))
    assert [row["ward"] for row in rows] == list(dp.datasets.WARDS)
    assert set(rows[0]) == {"ward", "n", "n_margin"}


def test_a_long_release_says_how_to_see_all_of_it(session):
    release = session.release(VISITS.group_by("age", keys={"age": range(100)}).agg(n=dp.count()), epsilon=1)
    assert "... 80 more rows: release.to_pandas() has all" in str(release)


def test_things_read_as_what_they_are(session):
    narrowed = VISITS.where(VISITS.age > 40, VISITS.ward == "surgery")
    assert repr(narrowed) == "table 'visits', 2 conditions"
    assert repr(narrowed.derive(x=VISITS.age / 2)) == "table 'visits', 2 conditions, 1 derived column"
    query = narrowed.group_by("ward").agg(n=dp.count(), cost=dp.mean("cost", bounds=(0, 5_000)))
    assert repr(query) == (
        "query of table 'visits', 2 conditions, by 'ward': n=count(), cost=mean('cost', bounds=(0, 5000))"
    )
    assert repr(BY_WARD) == "table 'visits', by 'ward'"
    assert repr(dp.Budget(epsilon=0.5, delta=1e-9)) == "Budget(epsilon=0.5, delta=1e-09)"
    assert repr(session.catalog) == "catalog of 'visits' (7 columns, privacy_unit ('patient_id',))"
    session.release(COUNT, epsilon=1)
    assert "reserved, answered by 'owner': epsilon 1\n   table: visits; output: n = number of rows" in str(
        session.history()[-1]
    )


def test_an_explanation_sets_thousands_apart(session):
    text = str(session.explain(VISITS.agg(cost=dp.mean("cost", bounds=(0, 5_000))), epsilon=1))
    assert "sum scale 41,666.7 (L1 25,000), count scale 25 (L1 10)" in text


def test_the_catalog_of_a_file_remembers_where_it_is(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "ids.csv").write_text("id,age\n1,40\n2,50\n")
    words = {"privacy_unit": "id", "max_rows": 1, "budget": dp.Budget(epsilon=1), "ledger": "ledger.sqlite"}
    with dp.protect("ids.csv", **words) as session:
        (tmp_path / "catalog.yaml").write_text(session.catalog.to_yaml())
    assert "source: ids.csv" in (tmp_path / "catalog.yaml").read_text()
    with dp.Session("catalog.yaml", ledger="ledger.sqlite") as again:
        assert again.release(dp.table("ids").agg(n=dp.count()), epsilon=1).private


def test_help_of_protect_explains_every_parameter():
    words = dp.protect.__doc__
    for name in inspect.signature(dp.protect).parameters:
        assert name in words, name
