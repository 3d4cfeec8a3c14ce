"""`discreet preview`: generated data, labelled everywhere, without a source or a ledger."""

import json

from discreet.errors import CatalogError, Refusal
from discreet.ledger.records.signatures import Signer

LABEL = "GENERATED DATA: a preview from the catalog alone; nothing was read or charged"


def test_the_answer_needs_no_source_and_leaves_no_ledger(discreet, visits_directory):
    (visits_directory / "visits.csv").unlink()
    found = discreet("preview", "q.sql", "--epsilon", "0.5")
    assert found.exit_code == 0, found.output
    lines = found.stdout.splitlines()
    assert lines[0] == LABEL
    assert [line.split()[0] for line in lines[2:5]] == ["cardiology", "emergency", "surgery"]
    assert "± 60" in lines[2]
    assert lines[-1].startswith("free     a release would spend epsilon 0.5, for one patient_id")
    assert "'visits (generated data)'" in lines[-1]
    assert [*visits_directory.rglob("ledger.sqlite")] == []


def test_json_says_that_it_is_generated_and_no_key_verifies_it(discreet, visits_directory):
    key = Signer.at(visits_directory / "signing.key").public
    found = discreet("preview", "-", "--epsilon", "0.5", "--json", text="SELECT COUNT(*) AS n FROM visits")
    data = json.loads(found.stdout)
    assert data.pop("generated_data") is True
    (visits_directory / "saved.json").write_text(json.dumps(data))
    verified = discreet("release", "verify", "saved.json", "--key", key)
    assert verified.exit_code == 1
    assert "WRONG  generated data: a preview, and not a release of a dataset" in verified.stdout
    assert LABEL in discreet("release", "show", "saved.json").stdout


def test_a_refusal_is_that_of_run_and_names_the_tables_of_the_catalog(discreet):
    for text, epsilon in (("SELECT MAX(age) FROM visits", "0.5"), ("SELECT COUNT(*) AS n FROM visits", "3")):
        errors = [discreet(verb, "-", "--epsilon", epsilon, text=text).exception for verb in ("preview", "run")]
        assert all(isinstance(error, Refusal) for error in errors)
        assert str(errors[0]) == str(errors[1])


def test_a_missing_catalog_is_refused(discreet):
    assert isinstance(discreet("preview", "q.sql", "--catalog", "none.yaml").exception, CatalogError)
    assert discreet("preview", "q.sql", "--epsilon", "much").exit_code == 2


def test_a_statement_is_answered_on_a_saved_synthetic_table(discreet, visits_directory):
    catalog = (visits_directory / "catalog.yaml").read_text()
    (visits_directory / "catalog.yaml").write_text(catalog.replace("{epsilon: 2}", "{epsilon: 2, delta: 0.000000001}"))
    words = ("--epsilon", "1", "--synthesizer", "independent", "--columns", "ward", "--save", "visits.json")
    assert discreet("synth", "visits", *words).exit_code == 0
    (visits_directory / "visits.csv").unlink()
    found = discreet("preview", "q.sql", "--epsilon", "0.5", "--synthetic", "visits.json")
    assert found.exit_code == 0, found.output
    assert found.stdout.startswith("SYNTHETIC DATA: a preview on the rows of a released synthetic table")
    data = json.loads(discreet("preview", "q.sql", "--epsilon", "1", "--synthetic", "visits.json", "--json").stdout)
    assert data["synthetic_data"] is True
    missing = discreet("preview", "q.sql", "--epsilon", "0.5", "--synthetic", "none.json")
    assert isinstance(missing.exception, Refusal)
