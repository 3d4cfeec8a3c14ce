"""`discreet demo`: the whole tour with the real commands, and nothing left behind."""

import os
import time

from discreet.cli import demo


def test_the_tour_ends_well_in_under_a_minute_and_leaves_nothing(discreet, visits_directory):
    files = sorted(visits_directory.iterdir())
    start = time.process_time()
    found = discreet("demo")
    assert found.exit_code == 0, found.output
    # processor time: other processes may share the machine, and an idle one takes no longer than that
    assert time.process_time() - start < 60
    ran = [line.split()[2] for line in found.stdout.splitlines() if line.startswith("$ discreet ")]
    assert ran == [*("init", "check", "preview", "plan", "run", "release", "release", "ledger", "report", "release")]
    assert "GENERATED DATA" in found.stdout
    assert "numbers  covered by the signature" in found.stdout
    assert "(it ends with 3)" in found.stdout
    assert "(it ends with 1)" in found.stdout
    assert "its columns do not follow from the releases in it" in found.stderr
    assert "\x1b" not in found.output
    assert sorted(visits_directory.iterdir()) == files
    assert os.environ["DISCREET_HOME"] == str(visits_directory / "home")


def test_files_are_kept_where_they_are_asked_for(discreet, visits_directory):
    found = discreet("demo", "--keep", "tour")
    assert found.exit_code == 0, found.output
    kept = {path.name for path in (visits_directory / "tour").iterdir()}
    assert {"visits.csv", "catalog.yaml", "wards.sql", "wards.json", "edited.json", "home"} <= kept
    assert "a directory of that name is there" in str(discreet("demo", "--keep", "tour").exception)


def test_a_step_that_ends_otherwise_than_it_should_is_a_failure(capsys):
    tour = demo.Tour(pause=0)
    tour.run("check", "--catalog", "nowhere.yaml")
    assert tour.has_failed
    assert "(it ends with 1)" in capsys.readouterr().out
