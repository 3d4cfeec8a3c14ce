"""The correction of a call keeps what fits, names what has another name here, and fills in what is missing."""

import inspect
from pathlib import Path

import pyarrow as pa
import pytest

import discreet as dp
from discreet.errors import ArgumentsError, public_class, short_traceback
from discreet.errors.calls import correction

QUERY = dp.table("visits").agg(n=dp.count())
PERSON = pa.table({"patient_id": ["a cell of somebody"]})
LAPLACE = dp.mechanisms.Laplace(sensitivity=1, epsilon=1)
TABLE = dp.table("visits")

CORRECTIONS = {
    "the most natural first line": (
        lambda: dp.protect("f.csv", epsilon=1),
        "dp.protect('f.csv', privacy_unit=\"patient_id\", budget=dp.Budget(epsilon=1), max_rows=10)",
    ),
    "a delta for a model": (
        lambda: dp.learning.NaiveBayes(epsilon=1, delta=1e-5),
        "dp.learning.NaiveBayes(budget=dp.learning.BudgetAccount(dp.Budget(epsilon=1, delta=1e-6)), epsilon=1)",
    ),
    "a path": (
        lambda: dp.protect(Path("f.csv"), "id", 2),
        "dp.protect('f.csv', privacy_unit='id', budget=dp.Budget(epsilon=2))",
    ),
    "a frame and both numbers of a budget": (
        lambda: dp.protect(PERSON, user_id="patient_id", eps=1, delta=1e-6),
        "dp.protect(source, privacy_unit='patient_id', budget=dp.Budget(epsilon=1, delta=1e-09), name=\"visits\")",
    ),
    "a testing session": (
        lambda: dp.testing.protect("f.csv", "id", dp.Budget(epsilon=1)),
        "dp.testing.protect('f.csv', privacy_unit='id', budget=dp.Budget(epsilon=1))",
    ),
    "a unit that is the row": (
        lambda: dp.protect("f.csv", dp.ROW, dp.Budget(epsilon=1)),
        "dp.protect('f.csv', privacy_unit=dp.ROW, budget=dp.Budget(epsilon=1))",
    ),
    "a budget by position": (lambda: dp.Budget(1), "dp.Budget(epsilon=1)"),
    "a misspelt keyword": (lambda: dp.Budget(epsilom=1), "dp.Budget(epsilon=1)"),
    "two ends of bounds": (lambda: dp.sum("cost", lower=0, upper=9), "dp.sum('cost', bounds=(0, 9))"),
    "two ends by position": (lambda: dp.mean("cost", 0, 9), "dp.mean('cost', bounds=(0, 9))"),
    "bounds by position": (lambda: dp.median("cost", (0, 9)), "dp.median('cost', bounds=(0, 9))"),
    "a column where there is none": (lambda: dp.count("age"), "dp.count()  # rows; dp.count_units() counts people"),
    "a column by its name where there is none": (
        lambda: dp.count(column="age", weight=2),
        "dp.count(weight=2)  # rows; dp.count_units() counts people",
    ),
    "a seed where there is none": (lambda: dp.count(seed=1), "dp.count()"),
    "a quantile by another word": (lambda: dp.quantile("cost", q=0.9), "dp.quantile('cost', 0.9)"),
    "an aggregate of nothing": (dp.sum, 'dp.sum("cost", bounds=(0, 5_000))'),
    "a mechanism by position": (
        lambda: dp.mechanisms.Laplace(1, 0.5),
        "dp.mechanisms.Laplace(sensitivity=1, epsilon=0.5)",
    ),
    "a mechanism of nothing": (
        lambda: dp.mechanisms.Gaussian(scale=1),
        "dp.mechanisms.Gaussian(sensitivity=1, rho=0.1)",
    ),
    "a mechanism with half a price": (
        lambda: dp.mechanisms.Gaussian(1, epsilon=1),
        "dp.mechanisms.Gaussian(sensitivity=1, epsilon=1, delta=1e-9)",
    ),
    "a named constructor": (
        lambda: dp.mechanisms.Laplace.with_scale(3),
        "dp.mechanisms.Laplace.with_scale(scale=3, sensitivity=1)",
    ),
    "a method of a mechanism": (lambda: LAPLACE.margin(0.9, 5), "laplace.margin(0.9)"),
    "columns by position stay": (
        lambda: TABLE.group_by("ward", "age", keyset={"ward": ["A"]}),
        "table.group_by('ward', 'age', keys={'ward': ['A']})",
    ),
    "a verb that needs bins": (
        lambda: TABLE.histogram("age", 10),
        "table.histogram('age', bins=range(0, 101, 10))",
    ),
    "a method without its object": (
        dp.Session.release,
        'session.release(dp.table("visits").agg(n=dp.count()), epsilon=0.5)',
    ),
    "an argument twice": (lambda: dp.table("visits", name="visits"), "dp.table('visits')"),
    "something else in place of a column": (
        lambda: dp.mean(PERSON, epsilon=1),
        'dp.mean("cost", bounds=(0, 5_000))',
    ),
    "an example of the right type": (dp.count_distinct, 'dp.count_distinct("ward")'),
    "a join of nothing": (TABLE.join, 'table.join(dp.table("wards"), on="ward")'),
    "a choice without a score": (
        lambda: TABLE.choose(["A", "B"]),
        "table.choose(['A', 'B'], score=dp.score(by=\"ward\"))",
    ),
    "a score of a table": (lambda: dp.score(TABLE, by="ward"), "dp.score(by='ward')"),
    "a function by position": (
        lambda: TABLE.apply("def answer(table): ...", ["age"], 100),
        "table.apply('def answer(table): ...', columns=['age'], blocks=100, bounds=(0, 5_000))",
    ),
    "a method by position": (lambda: dp.ProposedBound(5), "dp.ProposedBound(bound=5, delta=1e-9)"),
    "a mechanism that was given": (
        lambda: dp.accounting.compare(LAPLACE),
        "dp.accounting.compare(laplace, 1e-9)",
    ),
    "a function of a module": (
        lambda: dp.accounting.group.pure(1, 5),
        "dp.accounting.group.pure(epsilon=1, size=5)",
    ),
    "a function of a package": (lambda: dp.auditing.claim(eps=1), "dp.auditing.claim(epsilon=1)"),
}


@pytest.mark.parametrize(("call", "instead"), CORRECTIONS.values(), ids=CORRECTIONS)
def test_a_call_is_corrected(call, instead):
    with pytest.raises(ArgumentsError) as refusal:
        call()
    assert refusal.value.instead == instead
    assert isinstance(refusal.value, TypeError)


def test_a_correction_shows_no_cell_no_password_and_nothing_long():
    for source in (PERSON, "postgresql://ann:hunter2@host/db", "x" * 500):
        with pytest.raises(ArgumentsError) as refusal:
            dp.protect(source, epsilon=1)
        text = str(refusal.value)
        assert "somebody" not in text
        assert "hunter2" not in text
        assert len(text) < 300


def test_a_seed_is_refused_with_its_reason():
    with pytest.raises(ArgumentsError, match="noise takes no seed"):
        dp.count(seed=1)


def test_an_error_inside_a_call_that_fits_stays_what_it_is():
    @short_traceback
    def call(number: int) -> object:
        return number + "text"

    with pytest.raises(TypeError) as error:
        call(1)
    assert not isinstance(error.value, ArgumentsError)
    assert correction(call, (1,), {}) is None


def test_a_guarded_class_keeps_its_signature_its_page_of_help_and_its_methods():
    assert list(inspect.signature(dp.Budget).parameters)[:2] == ["epsilon", "delta"]
    assert next(iter(inspect.signature(dp.protect).parameters)) == "source"
    assert dp.Budget.__doc__.startswith("Bound on the privacy loss")
    assert dp.Budget.rho.__doc__.startswith("The rho")

    @public_class
    class Small:
        def __init__(self, size: int) -> None:
            self.size = size

        @classmethod
        def of(cls, size: int) -> "Small":
            return cls(size)

        @staticmethod
        def half(size: int) -> float:
            return size / 2

        @property
        def doubled(self) -> int:
            return 2 * self.size

    assert (Small.of(3).doubled, Small.half(3)) == (6, 1.5)
    for call in (Small, Small.of, Small.half):
        with pytest.raises(ArgumentsError, match="'size' is missing"):
            call()


def test_a_condition_by_keyword_is_corrected_to_one_that_keeps_it():
    with pytest.raises(dp.Refusal) as caught:
        dp.table("t").where(age=3)
    assert "where(table['age'] == 3)" in caught.value.instead
