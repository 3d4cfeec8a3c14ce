"""Tables that papers and tools published with their answers: Sweeney, Machanavajjhala, Li, and the tests of ARX.

Sources: L. Sweeney, k-anonymity, 2002 (figure 2); A. Machanavajjhala et al., l-diversity, TKDD 1(1), 2007 (figures 1 to
3); N. Li, T. Li, S. Venkatasubramanian, t-closeness, ICDE 2007 (tables 3 to 5); ARX, arx-deidentifier/arx at aacd487
(TestRiskMetrics, TestRiskQuasiIdentifiers). Answers of ARX are compared in the digits that its tests state.
"""

import csv
import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import brute
import pyarrow as pa
import pytest

import discreet as dp

Row = dict[str, Any]


def by_oracle(rows: list[Row], quasi: Sequence[str], **options: Any) -> Any:
    return brute.measure(rows, quasi, **options)


def by_library(rows: list[Row], quasi: Sequence[str], **options: Any) -> Any:
    return dp.anonymity.measure(pa.Table.from_pylist(rows), quasi, **options)


both = pytest.mark.parametrize("measure", [by_oracle, by_library], ids=["oracle", "library"])
Measure = Callable[..., Any]


def rows_of(header: str, *lines: str) -> list[Row]:
    return [dict(zip(header.split(), line.split(), strict=True)) for line in lines]


SWEENEY = rows_of(
    "race birth gender zip problem",
    "Black 1965 m 0214* short-breath",
    "Black 1965 m 0214* chest-pain",
    "Black 1965 f 0213* hypertension",
    "Black 1965 f 0213* hypertension",
    "Black 1964 f 0213* obesity",
    "Black 1964 f 0213* chest-pain",
    "White 1964 m 0213* chest-pain",
    "White 1964 m 0213* obesity",
    "White 1964 m 0213* short-breath",
    "White 1967 m 0213* chest-pain",
    "White 1967 m 0213* chest-pain",
)

FOUR_ANONYMOUS = rows_of(
    "zip age nationality condition",
    "130** <30 * heart",
    "130** <30 * heart",
    "130** <30 * virus",
    "130** <30 * virus",
    "1485* >=40 * cancer",
    "1485* >=40 * heart",
    "1485* >=40 * virus",
    "1485* >=40 * virus",
    "130** 3* * cancer",
    "130** 3* * cancer",
    "130** 3* * cancer",
    "130** 3* * cancer",
)

THREE_DIVERSE = rows_of(
    "zip age nationality condition",
    "1305* <=40 * heart",
    "1305* <=40 * virus",
    "1305* <=40 * cancer",
    "1305* <=40 * cancer",
    "1485* >40 * cancer",
    "1485* >40 * heart",
    "1485* >40 * virus",
    "1485* >40 * virus",
    "1306* <=40 * heart",
    "1306* <=40 * virus",
    "1306* <=40 * cancer",
    "1306* <=40 * cancer",
)


def salaries(*classes: tuple[int, ...]) -> list[Row]:
    """Classes of salaries in thousands, as in tables 4 and 5 of Li et al."""
    return [{"class": number, "salary": each} for number, part in enumerate(classes) for each in part]


@both
def test_the_table_of_sweeney_is_2_anonymous(measure: Measure):
    told = measure(SWEENEY, ["race", "birth", "gender", "zip"])
    assert (told.k, told.class_sizes) == (2, ((2, 4), (3, 1)))


@both
def test_the_4_anonymous_table_of_machanavajjhala_has_a_homogeneous_class(measure: Measure):
    told = measure(FOUR_ANONYMOUS, ["zip", "age", "nationality"], sensitive=["condition"])
    assert told.k == 4
    assert told.diversity["condition"].distinct == 1
    assert told.diversity["condition"].least_c is None


@both
def test_the_3_diverse_table_of_machanavajjhala_has_three_conditions_in_each_class(measure: Measure):
    told = measure(THREE_DIVERSE, ["zip", "age", "nationality"], sensitive=["condition"], l=3)
    condition = told.diversity["condition"]
    assert (told.k, condition.distinct) == (4, 3)
    assert math.isclose(condition.entropy, 2 * math.sqrt(2))  # counts 2, 1, 1
    assert condition.least_c == 2  # 2 < c * 1


@both
@pytest.mark.parametrize(
    ("classes", "t"),
    [
        (((3, 4, 5), (6, 8, 11), (7, 9, 10)), Fraction(375, 1_000)),
        (((3, 5, 9), (6, 8, 11), (4, 7, 10)), Fraction(1, 6)),
    ],
    ids=["table 4 has t = 0.375", "table 5 has t = 0.167"],
)
def test_salaries_of_li_have_the_closeness_of_the_paper(
    measure: Measure, classes: tuple[tuple[int, ...], ...], t: Fraction
):
    told = measure(salaries(*classes), ["class"], sensitive=["salary"], ordered=["salary"])
    assert told.closeness["salary"] == t


QUASI_OF_ARX = rows_of("age sex state", "20 Female CA", "30 Female CA", "40 Female TX", "20 Male NY", "40 Male CA")


@both
@pytest.mark.parametrize(("column", "distinction"), [("sex", "2/5"), ("state", "3/5"), ("age", "3/5")])
def test_the_selectivity_of_a_column_is_the_distinction_of_arx(measure: Measure, column: str, distinction: str):
    found = measure(QUASI_OF_ARX, [column])
    shares = found.columns[column].selectivity if measure is by_library else found.selectivity[column]
    assert shares == Fraction(distinction)


ADULT_QUASI = (*("Sex", "Age", "Race", "Marital Status", "Education", "Country", "Workclass", "Occupation", "Target"),)


@pytest.fixture(scope="module")
def complete_adult(adult: Path) -> pa.Table:
    """The rows of Adult without a missing cell: the file that ARX tests with."""
    with adult.open(encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if all(row.values())]
    assert len(rows) == 30_162
    return pa.Table.from_pylist([{name: row[name] for name in ADULT_QUASI} for row in rows])


@both
def test_average_risk_and_uniqueness_of_adult_are_those_of_arx(measure: Measure, complete_adult: pa.Table):
    told = measure(complete_adult.to_pylist(), ADULT_QUASI)
    assert float(told.marketer) == 0.6465751607983555
    assert told.unique_people / told.people == 0.5142895033485844
