"""What the commands on statements share: files, catalogs and numbers."""

from decimal import Decimal

import pytest

from discreet.cli.statements import number
from discreet.errors import Refusal


@pytest.mark.parametrize(
    "words", [("run", "none.sql", "--epsilon", "1"), ("plan", "q.sql", "--epsilon", "1", "--catalog", "none.yaml")]
)
def test_a_file_that_is_not_there_is_refused(discreet, words):
    assert isinstance(discreet(*words).exception, Refusal)


def test_an_epsilon_that_is_not_a_number_is_a_wrong_call(discreet):
    assert discreet("run", "q.sql", "--epsilon", "much").exit_code == 2
    assert discreet("run", "q.sql", "--epsilon", "NaN").exit_code == 2


def test_a_number_is_exact():
    assert number("0.1", "--epsilon") == Decimal("0.1")
    assert number(None, "--epsilon") is None


def test_a_slip_in_the_name_of_a_ledger_does_not_begin_a_new_one(discreet, visits_directory):
    assert isinstance(discreet("check", "--ledger", "other.sqlite").exception, Refusal)
    assert not (visits_directory / "other.sqlite").exists()


CHARGES = {
    "run": (("run", "q.sql", "--epsilon", "0.25"), None),
    "sql": (("sql", "--limit", "1", "--epsilon", "0.25", "--yes"), "SELECT COUNT(*) AS n FROM visits;"),
    "synth": (("synth", "visits", "--columns", "ward", "--epsilon", "0.25", "--out", "rows.csv"), None),
}


@pytest.mark.parametrize("command", CHARGES)
def test_a_command_charges_with_the_key_of_a_secret(discreet, visits_directory, command):
    words, text = CHARGES[command]
    catalog = (visits_directory / "catalog.yaml").read_text()
    (visits_directory / "catalog.yaml").write_text(catalog.replace("{epsilon: 2}", "{epsilon: 2, delta: 1e-9}"))
    before = discreet("check").stdout
    secret = visits_directory / "secret"
    secret.mkdir()
    for name in ("signing.key", "signing.key.public"):
        (visits_directory / "home" / name).rename(secret / name)
    given = ("--signing-key", secret / "signing.key")
    assert discreet(*words, *given, text=text).exit_code == 0
    assert not (visits_directory / "home" / "signing.key").exists()
    assert discreet("check").stdout not in ("", before)
    assert isinstance(discreet(*words, "--signing-key", secret / "none.key", text=text).exception, Refusal)
