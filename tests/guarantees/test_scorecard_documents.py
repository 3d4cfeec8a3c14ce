"""Scorecard items on documents and front doors, by the public interface: G8, G9, D1, D4, U2, U9, U12, U13."""

import hashlib
import html
import json
import re
from pathlib import Path

import pytest
from pyarrow import parquet
from typer.testing import CliRunner

import discreet as dp
from discreet.cli import app

ROOT = Path(__file__).parents[2]

BY_URGENT = "SELECT urgent, COUNT(*) AS n FROM visits WHERE age < 65 GROUP BY urgent"
FILE = "visits.csv with ages in tens"
OTHERS = "counts by ward in the yearly report of 2025, without noise"


@pytest.fixture
def session(tmp_path):
    facts = "source: visits.parquet, privacy_unit: patient_id, max_rows: 10, budget: {epsilon: 2}"
    columns = "patient_id: {type: integer}, age: {type: integer, bounds: [0, 110]}, urgent: {type: boolean}"
    text = f"tables: {{visits: {{{facts}, other_releases: [{json.dumps(OTHERS)}], columns: {{{columns}}}}}}}"
    parquet.write_table(dp.datasets.visits(200), tmp_path / "visits.parquet")
    (tmp_path / "catalog.yaml").write_text(text)
    with dp.Session(tmp_path / "catalog.yaml", ledger=tmp_path / "ledger.sqlite") as opened:
        opened.ledger.add_other_release("visits", FILE, kind="generalised", sha256="ab" * 32)
        yield opened


# G8: the user states a harm, and the tool says whether the unit covers it


def test_g8_a_stated_harm_is_held_against_the_unit(session):
    guarantee = session.remaining().guarantee
    assert dp.covers(guarantee, learns="presence").is_covered
    assert not dp.covers(guarantee, learns="value", of="doctor_id").is_covered
    assert not dp.covers(guarantee, learns="statistic").is_covered


# G9: a release lists unprotected quantities and other known releases. U13: its documentation travels with it


@pytest.mark.parametrize("form", ["json", "html", "csv", "parquet"])
@pytest.mark.parametrize("kind", ["query", "statement"])
def test_g9_and_u13_every_form_of_a_release_has_what_its_readers_need(session, tmp_path, form, kind):
    visits = dp.table("visits")
    query = visits.where(visits["age"] < 65).group_by("urgent").agg(n=dp.count())
    release = session.release(query, epsilon=0.5) if kind == "query" else session.sql(BY_URGENT, epsilon=0.5)
    release.save(tmp_path / f"table.{form}")
    text = _text_of(tmp_path, form)
    for needed in (
        "age < 65",  # what was asked
        "one patient_id, added or removed",  # of whom
        "epsilon 0.5",
        "beyond the contribution bounds",  # what margins leave out
        "inferences about a person that would hold without their data",  # what is not protected
        OTHERS,
        FILE,
        "ab" * 32,
    ):
        assert needed in text


def test_g9_a_generalised_file_is_listed_by_the_releases_after_it_and_costs_nothing(session, tmp_path):
    count = dp.table("visits").agg(n=dp.count())
    before, left = session.release(count, epsilon=0.5), session.remaining().epsilon
    tens = dp.anonymity.hierarchies.digits(1)
    found = dp.anonymity.generalise(tmp_path / "visits.parquet", {"age": (tens, 1)})
    found.write(tmp_path / "published.csv", ledger=session.ledger, dataset="visits")
    assert session.remaining().epsilon == left
    assert session.release(count, epsilon=0.5).to_json() == before.to_json()
    later = session.release(count, epsilon=0.5, fresh=True)
    (listed,) = set(later.document.others) - set(before.document.others)
    assert listed.startswith("published.csv")
    assert hashlib.sha256((tmp_path / "published.csv").read_bytes()).hexdigest() in listed
    assert listed in later.receipt["others"]


def _text_of(directory, form):
    """What a reader of a saved file finds in it, or beside it."""
    if form == "parquet":
        return parquet.read_schema(directory / "table.parquet").metadata[b"discreet"].decode()
    if form == "csv":
        return (directory / "table.csv.json").read_text()
    text = (directory / f"table.{form}").read_text()
    return html.unescape(text) if form == "html" else text


# D1: batch release is the default; interactive querying is separate and governed


def test_d1_a_prompt_needs_a_limit_and_a_pipe_a_confirmation(directory):
    assert _discreet("sql", "--epsilon", "0.5").exit_code == 2
    assert _discreet("sql", "--limit", "1", "--epsilon", "0.5", text=f"{BY_URGENT};").exit_code == 2
    found = _discreet("sql", "--limit", "0.4", "--epsilon", "0.5", "--yes", text=f"{BY_URGENT};")
    assert found.exit_code == 1
    assert "limit" in found.stderr
    assert json.loads(_discreet("plan", "q.sql", "--epsilon", "0.5", "--json").stdout)["left"].startswith("epsilon 2")


# D4: a threat model is generated: who is trusted, who sees what. U12: no formula on page one


def test_d4_and_u12_a_report_names_who_is_trusted_and_has_no_formula_on_page_one(session):
    report = dp.report([session.sql(BY_URGENT, epsilon=0.5)])
    first, _, second = html.unescape(report.to_html()).partition('id="details"')
    assert FILE in second
    for party in ("machine", "analysts", "readers"):
        assert party in second
    assert "trusted to" in second
    words = re.sub(r"<style>.*?</style>|<svg.*?</svg>|<[^>]+>", " ", first, flags=re.DOTALL)
    assert "odds" in words
    assert not re.search(r"[=^∑√≤≥]|e\^|exp\(|\bPr\[", words)


# U2: the first tutorial is the user's task: a file, a table with intervals, a report


@pytest.mark.parametrize("page", ["README.md", "docs/index.md"])
def test_u2_the_first_tutorial_goes_from_a_file_to_a_report(page):
    assert "first-report.md" in (ROOT / page).read_text()
    text = (ROOT / "docs" / "first-report.md").read_text()
    steps = [text.index(f"$ discreet {verb}") for verb in ("init", "check", "plan", "run", "release", "report")]
    assert steps == sorted(steps)


# U9: exploration on a generated or synthetic twin


def test_u9_a_twin_is_explored_without_the_data_and_without_a_charge(directory):
    (directory / "visits.parquet").unlink()
    found = _discreet("preview", "q.sql", "--epsilon", "0.5")
    assert found.exit_code == 0
    assert found.stdout.startswith("GENERATED DATA")
    assert not (directory / "home" / "ledger.sqlite").exists()


# U8, U5 and U14: tests/cli/test_init.py and tests/cli/test_one_plan.py


@pytest.fixture
def directory(tmp_path, session, monkeypatch):
    session.close()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DISCREET_HOME", str(tmp_path / "home"))
    (tmp_path / "q.sql").write_text(BY_URGENT)
    return tmp_path


def _discreet(*words, text=None):
    return CliRunner().invoke(app, words, input=text)
