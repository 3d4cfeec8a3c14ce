"""`discreet harm` says what the budget of a table covers."""

import json


def test_the_usual_harms_are_listed(discreet):
    found = discreet("harm")
    assert found.exit_code == 0
    assert found.output.splitlines()[:2] == [
        "visits, over every query ever asked of 'visits'",
        "  that one patient_id is in the data: covered, odds change by a factor of at most 7.38906 (epsilon 2)",
    ]
    assert found.output.count("NOT COVERED") == 2


def test_a_stated_harm_is_judged_as_json(discreet):
    found = json.loads(discreet("harm", "--of", "ward", "--units", "2", "--json").stdout)
    assert found["visits"][0]["covered"]
    assert found["visits"][0]["epsilon"] == 8.0


def test_a_misspelt_harm_is_refused(discreet):
    found = discreet("harm", "--learns", "values")
    assert found.exit_code == 1
    assert "learns='value'" in str(found.exception)


def test_no_row_is_read(discreet, visits_directory):
    header = (visits_directory / "visits.csv").read_text().splitlines()[0]
    (visits_directory / "visits.csv").write_text(header + "\n")
    assert discreet("harm").exit_code == 0
