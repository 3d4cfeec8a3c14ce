"""`discreet release`: show, verify and compare, from the files alone."""

import json
import re
from functools import partial

import pytest
from typer.testing import CliRunner

import discreet as dp
from discreet.cli import app, release
from discreet.cli.terminal import print_fitting
from discreet.ledger import Signer

FACTS = {"name": "visits", "privacy_unit": "patient_id", "max_rows": 10, "budget": dp.Budget(epsilon=4)}
visits = dp.table("visits")


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    return tmp_path_factory.mktemp("releases")


@pytest.fixture(scope="module")
def public(place):
    with (
        dp.SQLiteLedger(place / "ledger.sqlite", key=place / "signing.key") as ledger,
        dp.protect(dp.datasets.visits(200), **FACTS, ledger=ledger) as session,
    ):
        query = visits.where(visits.age < 65).agg(n=dp.count())
        first = session.release(query, epsilon=0.5)
        first.save(place / "first.json")
        first.rounded(to=10).save(place / "rounded.json")
        session.release(query, epsilon=0.5, fresh=True).save(place / "second.json")
        session.release(visits.group_by("ward", keys={"ward": ["surgery"]}).agg(n=dp.count()), epsilon=0.5).save(
            place / "wards.json"
        )
        session.sql("SELECT COUNT(*) AS n, SUM(CLAMP(age, 0, 99)) / COUNT(*) AS a FROM visits", epsilon=0.1).save(
            place / "statement.csv"
        )
        chosen = session.release(visits.choose(["surgery"], score=dp.score(by="ward")), epsilon=0.1)
        (place / "chosen.json").write_text(json.dumps(chosen.to_json()))
    edited = json.loads((place / "first.json").read_text())
    edited["outputs"][0]["values"][0] += 1
    (place / "edited.json").write_text(json.dumps(edited))
    former = {name: value for name, value in edited.items() if name not in ("document", "signature")}
    (place / "former.json").write_text(json.dumps(former | {"schema": "discreet.release/1"}))
    return Signer.at(place / "signing.key").public


def run(*words):
    return CliRunner().invoke(app, ["release", *map(str, words)])


def test_a_key_that_is_not_known_is_said_to_be_so_and_nothing_is_said_of_the_numbers(place, public):
    key = ("--key", Signer.in_memory().public)
    found = run("verify", place / "first.json", *key)
    assert found.exit_code == 1
    assert found.stdout.startswith("UNKNOWN KEY  ")
    assert "WRONG" not in found.stdout
    assert json.loads(run("verify", place / "first.json", *key, "--json").stdout)["verdict"] == "unknown key"
    assert json.loads(run("verify", place / "edited.json", "--key", public, "--json").stdout)["verdict"] == "wrong"


@pytest.mark.parametrize(
    ("name", "code", "words"),
    [
        ("first", 0, "numbers  covered by the signature"),
        ("chosen", 0, "numbers  covered by the signature"),
        ("edited", 1, "WRONG  the numbers"),
        ("former", 3, "numbers  not covered: the file is of version 1"),
        ("rounded", 3, "only the copy under 'original' is covered"),
    ],
)
def test_verify_says_what_holds_and_ends_with_its_code(place, public, name, code, words):
    result = run("verify", place / f"{name}.json", "--key", public)
    assert result.exit_code == code
    assert words in result.stdout


def test_show_prints_the_query_the_charge_and_what_margins_omit(place, public):
    result = run("show", place / "first.json")
    assert result.exit_code == 0
    for words in (
        "age < 65",
        "number of rows",
        "margins do not include",
        "not protected",
        "tightest bound",
        "protects",
    ):
        assert words in result.stdout
    assert "which is of version 1" in run("show", place / "former.json").stdout
    assert "concentrated accountant" in run("show", place / "first.json", "--accountants").stdout
    assert "these numbers were changed after it" in run("show", place / "rounded.json").stdout


def test_compare_says_whether_noise_explains_a_difference(place, public):
    same = run("compare", place / "first.json", place / "second.json").stdout
    assert "the same" in same
    assert "with probability at least 90%" in same
    assert "n  " in same
    other = run("compare", place / "first.json", place / "wards.json").stdout
    assert "where: age < 65" in other
    assert "surgery  only in the second" in other
    far = json.loads((place / "first.json").read_text())
    far["outputs"][0]["values"][0] += 10**6
    (place / "far.json").write_text(json.dumps(far))
    assert "MORE THAN THE NOISE" in run("compare", place / "first.json", place / "far.json").stdout
    assert "not in a file of version 1" in run("compare", place / "first.json", place / "former.json").stdout


def test_margins_in_ranks_are_not_compared(place, tmp_path):
    with dp.testing.protect(dp.datasets.visits(200), **FACTS) as session:
        session.release(visits.agg(m=dp.median("age", bounds=(0, 99))), epsilon=0.5).save(tmp_path / "median.json")
    shown = run("compare", tmp_path / "median.json", tmp_path / "median.json").stdout
    assert "not compared, because margins are in ranks" in shown


def test_a_csv_file_is_verified_with_its_sidecar(place, public, tmp_path):
    path = tmp_path / "first.csv"
    dp.Release.load(place / "first.json").save(path)
    assert run("verify", path, "--key", public).exit_code == 0
    path.write_text("n,n_margin\n999990,30\n")
    assert "not those of the sidecar" in str(run("verify", path, "--key", public).exception)


def test_queries_of_the_same_words_and_other_constants_are_told_apart(tmp_path):
    with dp.testing.protect(dp.datasets.visits(200), **FACTS) as session:
        for name, last in (("one", 28), ("two", 90)):
            query = visits.where(visits.age.is_in([*range(20, 28), last])).agg(n=dp.count())
            session.release(query, epsilon=0.5, confidence=0.3).save(tmp_path / f"{name}.json")
    shown = run("compare", tmp_path / "one.json", tmp_path / "two.json").stdout
    assert "the same words, and another fingerprint" in shown
    assert "with probability at least 0%" in shown


def test_a_selection_is_not_compared(place, public):
    result = run("compare", place / "first.json", place / "chosen.json")
    path = place / "chosen.json"
    assert str(result.exception).endswith(f"instead  discreet release show {path}")
    assert run("show", path).exit_code == 0


@pytest.fixture(scope="module")
def models(place):
    rows = dp.datasets.people(300).select(["person_id", "hours_per_week", "sex"])
    facts = {"name": "people", "privacy_unit": "person_id", "max_rows": 1, "population": 300, "ledger": ":memory:"}
    facts |= {"bounds": {"hours_per_week": (0, 80)}, "keys": {"sex": ["female", "male"]}}
    people = dp.table("people")
    with dp.protect(rows, **facts, budget=dp.Budget(epsilon=2, delta=1e-6)) as session:
        for name, model in (("bayes", dp.learning.NaiveBayes()), ("logistic", dp.learning.LogisticRegression())):
            query = people.fit(model, target="sex", holdout=0.2)
            session.release(query, epsilon=0.5).release.save(place / f"{name}.json")
    return place


def test_two_models_are_compared_by_their_cards_and_scores(models):
    shown = run("compare", models / "bayes.json", models / "logistic.json").stdout
    assert "model: NaiveBayes of sex" in shown
    assert "parameters: classes=['female', 'male'], iterations" in shown
    assert re.search(r"auc  +\S.* interval \| .* interval", shown)
    same = json.loads(run("compare", models / "bayes.json", models / "bayes.json", "--json").stdout)
    assert {"label": "query", "text": "the same"} in same["differences"]
    assert same["answers"] == []


def test_a_model_is_shown_once_and_fits_the_terminal(models, monkeypatch):
    monkeypatch.setenv("COLUMNS", "90")
    monkeypatch.setattr(release, "print_fitting", partial(print_fitting, is_terminal=True))
    for words in (("show", models / "bayes.json"), ("compare", models / "bayes.json", models / "logistic.json")):
        shown = run(*words).stdout
        assert max(map(len, shown.splitlines())) <= 90
    shown = run("show", models / "bayes.json").stdout
    for once in ("NaiveBayes of sex", "hours_per_week (32 bins)", "noisy sum", "held out: "):
        assert shown.count(once) == 1
    stated = json.loads(run("show", models / "bayes.json", "--json").stdout)["stated"][0]
    assert {"label": "model", "text": "NaiveBayes of sex"} in stated


def test_a_model_is_not_compared_with_a_table(models, public):
    for pair in (("first", "bayes"), ("bayes", "first")):
        result = run("compare", *(models / f"{name}.json" for name in pair))
        assert str(result.exception).endswith(f"instead  discreet release show {models / 'bayes.json'}")


def test_the_table_of_a_statement_is_computed_again_and_its_releases_are_verified(place, public):
    result = run("verify", place / "statement.csv", "--key", public)
    assert result.exit_code == 3
    assert "numbers  covered by the signature" in result.stdout
    assert "column   n = output n" in result.stdout
    assert "not signed: names and formulas" in result.stdout
    shown = run("show", place / "statement.csv").stdout
    assert "statement  SELECT COUNT(*) AS n" in shown
    assert "output" in shown


def test_an_edited_number_of_a_statement_is_found(place, public, tmp_path):
    for name in ("statement.csv", "statement.csv.json"):
        (tmp_path / name).write_bytes((place / name).read_bytes())
    table = (tmp_path / "statement.csv").read_text()
    (tmp_path / "statement.csv").write_text(table.replace("n,", "m,", 1))
    assert run("verify", tmp_path / "statement.csv", "--key", public).exit_code != 0
    data = json.loads((tmp_path / "statement.csv.json").read_text())
    data["releases"][0]["outputs"][0]["values"][0] += 1
    (tmp_path / "edited.json").write_text(json.dumps(data))
    assert run("verify", tmp_path / "edited.json", "--key", public).exit_code != 0


def test_the_same_for_programs(place, public):
    shown = json.loads(run("show", place / "first.json", "--json").stdout)
    assert shown["release"]["dataset"]["name"] == "visits"
    assert {"label": "where", "text": "age < 65"} in shown["stated"][0]
    (answer,) = json.loads(run("compare", place / "first.json", place / "second.json", "--json").stdout)["answers"]
    assert answer["output"] == "n"
    assert answer["within_noise"] == (abs(answer["values"][0] - answer["values"][1]) <= answer["margins"])
    only = json.loads(run("compare", place / "first.json", place / "wards.json", "--json").stdout)["answers"]
    assert {"key": ["surgery"], "output": None, "text": "only in the second"} in only


@pytest.mark.parametrize(
    ("file", "code", "verdict"),
    [
        ("first.json", 0, "covered"),
        ("edited.json", 1, "wrong"),
        ("former.json", 3, "not covered"),
        ("statement.csv", 3, "table not covered"),
    ],
)
def test_a_verdict_for_programs_goes_with_the_exit_code(place, public, file, code, verdict):
    result = run("verify", place / file, "--key", public, "--json")
    data = json.loads(result.stdout)
    assert (result.exit_code, data["verdict"]) == (code, verdict)
    assert bool(data["results"][0]["faults"]) == (code == 1)
    assert bool(data["columns_not_signed"]) == (file == "statement.csv")
