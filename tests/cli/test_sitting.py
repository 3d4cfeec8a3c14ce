"""A sitting: what statements spend together, and the commands of the prompt."""

from decimal import Decimal
from fractions import Fraction

import pytest
from pyarrow import csv

import discreet as dp
from discreet import Session
from discreet.cli.sitting import COMMANDS, Sitting
from discreet.errors import BudgetError, ParameterError, SqlError

COUNT = "SELECT COUNT(*) AS n FROM visits"
BY_WARD = "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward"


@pytest.fixture
def sitting(visits_directory):
    with Session("catalog.yaml", ledger=visits_directory / "ledger.sqlite") as session:
        yield Sitting(session, Fraction("0.6"), Decimal("0.4"))


def test_statements_spend_up_to_the_limit(sitting):
    sitting.answer(sitting.plan(COUNT))
    assert (sitting.spent, sitting.left) == (Fraction("0.4"), Fraction("0.2"))
    planned = sitting.plan(BY_WARD)
    with pytest.raises(BudgetError, match=r"epsilon 0\.2 is left of this sitting's limit of 0\.6") as refusal:
        sitting.answer(planned)
    assert float(sitting.session.remaining()) == pytest.approx(1.6)
    sitting.command(refusal.value.instead.split(",")[0])
    sitting.answer(sitting.plan(BY_WARD))
    assert sitting.left == 0


def test_what_a_refusal_advises_fits_to_the_last_digit(sitting):
    sitting.limit = Fraction(2, 3)
    sitting.epsilon = Decimal("0.7")
    with pytest.raises(BudgetError, match=r"epsilon 0\.666666 is left") as refusal:
        sitting.answer(sitting.plan(COUNT))
    sitting.command(refusal.value.instead.split(",")[0])
    sitting.answer(sitting.plan(COUNT))
    assert sitting.spent == Fraction("0.666666")


def test_a_statement_with_an_epsilon_of_its_own_is_advised_a_smaller_one(sitting):
    clause = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 0.7)"
    written = COUNT.replace("SELECT", clause)
    with pytest.raises(BudgetError) as refusal:
        sitting.answer(sitting.plan(written))
    assert refusal.value.instead == "OPTIONS (epsilon = 0.6), or a sitting with a larger --limit"
    advised = refusal.value.instead.split(", or")[0]
    sitting.answer(sitting.plan(written.replace("OPTIONS (epsilon = 0.7)", advised)))
    with pytest.raises(BudgetError) as refusal:
        sitting.answer(sitting.plan(BY_WARD))
    assert refusal.value.instead == "a sitting with a larger --limit"


def test_a_stored_answer_and_a_refusal_spend_nothing(sitting):
    first = sitting.answer(sitting.plan(COUNT))
    again = sitting.plan(COUNT)
    assert sitting.is_answered(again)
    assert sitting.answer(again) is first
    with pytest.raises(SqlError):
        sitting.plan("SELECT MAX(age) FROM visits")
    assert sitting.spent == Fraction("0.4")


def test_an_epsilon_of_the_statement_comes_first(sitting):
    written = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 0.1) COUNT(*) AS n FROM visits"
    assert sitting.plan(written).epsilon == Fraction("0.1")
    sitting.epsilon = None
    with pytest.raises(ParameterError, match="a statement without an epsilon"):
        sitting.plan(COUNT)


def test_commands_say_what_they_are_asked(sitting):
    assert all(name in sitting.command(".help") for name in COMMANDS)
    assert "ward        text  keys cardiology, emergency, surgery" in sitting.command(".tables")
    assert "epsilon 2 left" in sitting.command(".budget")
    assert "this sitting has spent epsilon 0 of 0.6" in sitting.command(".budget")
    assert "costs     epsilon 0.4" in sitting.command(f".plan {COUNT};")
    assert sitting.command(".plan") == sitting.command(f".plan {COUNT}")
    sitting.answer(sitting.plan(COUNT))
    assert "epsilon 0.4\n   table: visits; output: n = number of rows" in sitting.command(".history")
    assert sitting.command(".quit") is None


@pytest.mark.parametrize(
    "text", [".epsilon", ".epsilon 0", ".epsilon much", ".epsilon inf", ".epsilom 1", ".plan", "."]
)
def test_commands_that_are_wrong_are_refused_with_one_that_works(sitting, text):
    with pytest.raises(ParameterError) as refusal:
        sitting.command(text)
    assert sitting.command(refusal.value.instead)


def test_a_public_table_that_changes_charges_nothing_above_the_limit(tmp_path):
    """A changed public table makes the same text another query, which would be charged without a question."""
    facts = "privacy_unit: patient_id, max_rows: 10, budget: {epsilon: 5}, source: visits.csv"
    columns = "columns: {patient_id: {type: integer}, ward: {type: text}}"
    wards = "public: true, source: wards.csv, columns: {ward: {type: text}, beds: {type: integer}}"
    (tmp_path / "catalog.yaml").write_text(f"tables: {{visits: {{{facts}, {columns}}}, wards: {{{wards}}}}}")
    csv.write_csv(dp.datasets.visits(50).select(["patient_id", "ward"]), tmp_path / "visits.csv")
    (tmp_path / "wards.csv").write_text("ward,beds\nsurgery,0\n")
    with dp.Session(tmp_path / "catalog.yaml", ledger=":memory:") as session:
        sitting = Sitting(session, Fraction(1), Decimal(1))
        for beds in (1, 2, 3):
            (tmp_path / "wards.csv").write_text(f"ward,beds\nsurgery,{beds}\n")
            sitting.answer(sitting.plan("SELECT COUNT(*) AS n FROM visits JOIN wards USING (ward)"))
        assert float(session.remaining("visits")) == 4
