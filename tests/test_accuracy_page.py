"""The page on accuracy: twenty questions in each table, and quick cells of "after" as the script computes them."""

import importlib
import re
from fractions import Fraction
from pathlib import Path

import pytest

from discreet.exact.zcdp import rho_of

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "accuracy.md"
QUICK = ("1", "2", "5", "6", "16")


@pytest.fixture
def script(monkeypatch):
    """benchmarks/questions.py, imported as its own folder sees it."""
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    return importlib.import_module("questions")


def rows(guarantee: str, script) -> dict[str, list[str]]:
    """The cells of the rows for the whole budget, by number of the question."""
    _, _, text = PAGE.read_text(encoding="utf-8").partition(script.TABLES[guarantee])
    table = text.partition("\n## ")[0]
    found = (re.match(r"\| (\d+)\. (.*) \|$", line) for line in table.splitlines())
    return {row[1]: row[2].split(" | ") for row in found if row}


def test_both_tables_have_twenty_questions_in_the_words_of_the_script(script):
    asked = {number: question.words for number, question in script.questions().items()}
    assert len(asked) == 20
    for guarantee in script.TABLES:
        assert {number: cells[0] for number, cells in rows(guarantee, script).items()} == asked


@pytest.mark.parametrize("number", QUICK)
def test_quick_cells_are_what_the_script_computes(script, number):
    for guarantee in script.TABLES:
        answer = script.answered(script.questions()[number], f"{guarantee} 1")
        assert rows(guarantee, script)[number][3] == script.cell(answer)


def test_the_recorded_columns_name_their_versions_and_dates(script):
    recorded = script.json.loads(script.RECORDED.read_text(encoding="utf-8"))
    assert set(recorded) == {"before", *script.PEERS}
    assert all(column["version"] and column["date"] and column["figures"] for column in recorded.values())


@pytest.mark.parametrize(("sensitivity", "epsilon", "least"), [(1, 1, 3), (1, 0.1, 30), (10, 1, 30), (100, 1, 299)])
def test_the_lower_bound_of_pure_noise_is_no_wider_than_discrete_laplace(script, sensitivity, epsilon, least):
    bound = script.staircase(sensitivity)(epsilon)
    assert bound == least
    assert bound <= script.laws.half_width(("discrete laplace", sensitivity / epsilon))


def test_as_many_tenths_fit_in_a_budget_with_a_delta_as_the_page_says():
    whole, tenth = (rho_of(epsilon, Fraction(9, 10**7)) for epsilon in (Fraction(1), Fraction(1, 10)))
    assert f"{whole // tenth} questions of epsilon 0.1 fit" in PAGE.read_text(encoding="utf-8")
