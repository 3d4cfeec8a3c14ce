"""`discreet local`: from a task to estimates on the command line, and refusals whose advice is for the command line."""

import csv
import json
import re
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

import discreet as dp
from discreet.cli import app

EMOJI = ("smile", "tear", "heart", "fire")


@pytest.fixture
def local(tmp_path, monkeypatch):
    """The command `discreet local` in a directory with a list of values."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DISCREET_HOME", str(tmp_path / "home"))
    (tmp_path / "emoji.txt").write_text("".join(f"{each}\n" for each in EMOJI))

    def invoke(*words, text=None):
        return CliRunner().invoke(app, ["local", *map(str, words)], input=text)

    return invoke


@pytest.fixture
def task(local):
    found = local("task", "--values", "emoji.txt", "--epsilon", "3", "--n", "2000", "--out", "task.json")
    assert found.exit_code == 0, found.output
    return dp.local.Task.load("task.json")


def write_answers(path="answers.txt", number=2_000):
    values = ["smile"] * (number * 3 // 4) + ["tear"] * (number // 4)
    with Path(path).open("w") as file:
        file.writelines(f"{value}\n" for value in values)


def document(result):
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def refusal(result):
    assert result.exit_code == 1, result.output
    return result.exception


def test_a_task_is_that_of_python_and_its_explanation_is_printed(local, task):
    assert task == dp.local.Task.choose(domain=EMOJI, epsilon=3, n=2_000)
    again = local("task", "--values", "emoji.txt", "--epsilon", "3", "--n", "2000", "--out", "task.json")
    assert again.exit_code == 0
    assert "k-ary randomized response" in again.stdout
    assert "use the local model only where" in again.stdout
    assert task.hash in again.stdout
    found = document(local("task", "--values", "emoji.txt", "--epsilon", "3", "--n", "2000", "--json"))
    assert dp.local.Task.from_json(found["task"]) == task
    assert found["expected_error"] == task.expected_error


def test_another_task_is_never_overwritten(local, task):
    result = local("task", "--values", "emoji.txt", "--epsilon", "2", "--n", "2000", "--out", "task.json")
    assert "another task is there" in refusal(result).because
    assert dp.local.Task.load("task.json") == task


@pytest.mark.parametrize(
    ("words", "kind"),
    [(("--domain", "1024"), "pgr"), (("--low", "0", "--high", "100"), "hybrid"), (("--domain", "2"), "krr")],
)
def test_the_domain_is_a_number_a_list_or_a_range(local, words, kind):
    found = document(local("task", *words, "--epsilon", "1", "--n", "1000", "--json"))
    assert found["task"]["oracle"]["kind"] == kind


@pytest.mark.parametrize(
    "words", [(), ("--domain", "4", "--values", "emoji.txt"), ("--low", "0"), ("--domain", "4", "--high", "1")]
)
def test_no_domain_and_two_domains_are_wrong_calls(local, words):
    assert local("task", *words, "--epsilon", "1", "--n", "1000").exit_code == 2


# All intervals hold with probability 1 - 5e-7, and the correction for skewness changes that by at most a twentieth.
@pytest.mark.statistical(false_alarm=1e-6)
@pytest.mark.parametrize("form", ["reports.bin", "reports.parquet"])
def test_values_become_reports_counts_and_estimates_whose_intervals_hold(local, task, form, samples):
    number = samples(2_000)
    write_answers(number=number)
    assert document(local("encode", "task.json", "answers.txt", "--out", form, "--json"))["reports"] == number
    counted = document(local("collect", "task.json", form, "--out", "counts.acc", "--json"))
    assert (counted["reports"], counted["refused"]) == (number, {})
    words = ("estimate", "task.json", "counts.acc", "--confidence", "0.9999995")
    rows = document(local(*words, "--json"))["rows"]
    truth = dict(zip(EMOJI, (number * 3 // 4, number // 4, 0, 0), strict=True))
    assert [row["value"] for row in rows] == list(EMOJI)
    assert all(row["low"] <= truth[row["value"]] <= row["high"] for row in rows)
    assert "all 4 intervals hold" in local(*words).stdout


def test_a_report_in_several_files_of_any_form_counts_once_and_malformed_ones_by_reason(local, task, tmp_path):
    client = dp.local.Client(task.assignment())
    reports = [client.report("tear") for _ in range(50)]
    other = dp.local.Client(dp.local.Task.choose(domain=4, epsilon=3, n=2_000).assignment())
    wrong = [reports[0] + b"x", b"\2" + reports[0][1:], other.report(1)]
    sent = [reports[:30], [*reports[10:], *wrong]]
    for name, part in zip(("a.bin", "b.bin"), sent, strict=True):
        (tmp_path / name).write_bytes(b"".join(len(each).to_bytes(4, "big") + each for each in part))
    dp.local.collector.write_reports(task, reports[:40], tmp_path / "c[1].parquet")
    for inputs in (["a.bin", "b.bin"], ["a.bin", "b.bin", "c[1].parquet"]):
        found = document(local("collect", "task.json", *inputs, "--out", "counts.acc", "--json"))
        assert found["reports"] == 50
        assert found["refused"] == {"length": 1, "task": 1, "version": 1}
        text = local("collect", "task.json", *inputs, "--out", "counts.acc").stdout
        assert "refused: 1 for its length" in text


def test_shards_are_counted_apart_and_merged_in_any_order(local, task):
    write_answers()
    local("encode", "task.json", "answers.txt", "--out", "reports.bin")
    for shard in range(3):
        words = ("--shard", shard, "--shards", "3", "--out", f"{shard}.acc")
        assert local("collect", "task.json", "reports.bin", *words).exit_code == 0
    assert local("collect", "task.json", "2.acc", "0.acc", "1.acc", "0.acc", "--out", "all.acc").exit_code == 0
    state = dp.local.collector.Accumulator.from_bytes(Path("all.acc").read_bytes())
    assert (state.reports, len(state.partials)) == (2_000, 3)


def test_two_counts_of_one_shard_are_refused_with_advice_for_the_command_line(local, task):
    write_answers()
    for name in ("a", "b"):
        local("encode", "task.json", "answers.txt", "--out", f"{name}.bin")
        local("collect", "task.json", f"{name}.bin", "--out", f"{name}.acc")
    error = refusal(local("collect", "task.json", "a.acc", "b.acc", "--out", "both.acc"))
    assert error.instead.startswith("one `discreet local collect` of all files")


def test_a_column_of_csv_is_read_and_values_outside_the_domain_are_the_default(local, task):
    with Path("answers.csv").open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerows([["id", "emoji"], [1, "tear"], [2, "unknown"], [3], [4, "fire"], [5, "nobody"]])
    found = local("encode", "task.json", "answers.csv", "--column", "emoji", "--out", "reports.bin")
    assert found.exit_code == 0
    assert "2 of 4 values are outside of the domain" in found.stderr
    assert "1 lines have no value" in found.stderr
    assert found.stdout.startswith("4 reports of batch 0")
    assert "unknown" not in found.output
    wrong = refusal(local("encode", "task.json", "answers.csv", "--column", "name", "--out", "reports.bin"))
    assert wrong.instead == "--column 'id'"


def test_standard_input_is_read_and_a_batch_is_written(local, task):
    words = ("encode", "task.json", "-", "--batch", "7", "--out", "reports.bin")
    assert local(*words, text="smile\ntear\n").exit_code == 0
    counted = document(local("collect", "task.json", "reports.bin", "--batch", "7", "--out", "counts.acc", "--json"))
    assert (counted["batch"], counted["reports"], counted["other_batches"]) == (7, 2, {})


def test_reports_of_other_batches_are_named_and_no_report_at_all_is_a_refusal(local, task, tmp_path):
    for batch, number in ((7, 2), (0, 1)):
        words = ("encode", "task.json", "-", "--batch", batch, "--out", f"{batch}.bin")
        assert local(*words, text="smile\n" * number).exit_code == 0
    error = refusal(local("collect", "task.json", "7.bin", "--out", "none.acc"))
    assert error.because == "left out: 2 reports of other batches: 7"
    assert error.instead == "--batch 7"
    assert not (tmp_path / "none.acc").exists()
    both = local("collect", "task.json", "7.bin", "0.bin", "--out", "counts.acc").stdout
    assert both.startswith("1 report of batch 0 in counts.acc, 1 partial count\n")
    assert "left out: 2 reports of other batches: 7" in both
    other = local("task", "--domain", "4", "--epsilon", "3", "--n", "2000", "--out", "other.json")
    assert other.exit_code == 0
    refused = refusal(local("collect", "other.json", "7.bin", "--out", "none.acc"))
    assert refused.because == "refused: 2 for its task"


def test_a_shard_without_reports_is_counted(local, task):
    local("encode", "task.json", "-", "--out", "r.bin", text="smile\n")
    found = [
        document(local("collect", "task.json", "r.bin", "--shard", i, "--shards", 2, "--out", f"{i}.acc", "--json"))
        for i in (0, 1)
    ]
    assert sorted(each["reports"] for each in found) == [0, 1]


def test_options_that_do_not_fit_an_accumulator_are_refused(local, task):
    local("encode", "task.json", "-", "--batch", "7", "--out", "r.bin", text="smile\ntear\n")
    assert local("collect", "task.json", "r.bin", "--batch", "7", "--out", "7.acc").exit_code == 0
    assert document(local("collect", "task.json", "7.acc", "--out", "again.acc", "--json"))["batch"] == 7
    for words in (("--batch", "0"), ("--shards", "3"), ("--shard", "1", "--shards", "3")):
        error = refusal(local("collect", "task.json", "7.acc", *words, "--out", "x.acc"))
        assert "7.acc" in error.what


def test_inputs_and_files_of_another_format_are_never_overwritten(local, task, tmp_path):
    write_answers(number=40)
    local("encode", "task.json", "answers.txt", "--out", "r.bin")
    local("collect", "task.json", "r.bin", "--out", "c.acc")
    (tmp_path / "link").symlink_to("answers.txt")
    (tmp_path / "raw.csv").write_text("id,value\n1,smile\n")
    held = {path: path.read_bytes() for path in tmp_path.iterdir() if path.is_file()}
    for words in (
        ("encode", "task.json", "answers.txt", "--out", "answers.txt"),
        ("encode", "task.json", "answers.txt", "--out", "link"),
        ("encode", "task.json", "answers.txt", "--out", "task.json"),
        ("encode", "task.json", "answers.txt", "--out", "c.acc"),
        ("collect", "task.json", "r.bin", "--out", "r.bin"),
        ("collect", "task.json", "r.bin", "--out", "task.json"),
        ("collect", "task.json", "r.bin", "--out", "answers.txt"),
        ("estimate", "task.json", "c.acc", "--out", "raw.csv"),
    ):
        assert refusal(local(*words)).instead.startswith("--out ")
    assert held == {path: path.read_bytes() for path in held}
    for words in (
        ("encode", "task.json", "answers.txt", "--out", "r.bin"),
        ("collect", "task.json", "r.bin", "--out", "c.acc"),
    ):
        assert local(*words).exit_code == 0


def test_a_file_without_values_of_the_domain_is_refused(local, task):
    csv_without_column = refusal(local("encode", "task.json", "-", "--out", "r.bin", text="id,emoji\n1,smile\n"))
    assert "none of 2 values is in the domain" in csv_without_column.because
    assert "--column" in csv_without_column.instead
    assert "no value" in refusal(local("encode", "task.json", "-", "--out", "r.bin", text="\n\n")).because
    assert not Path("r.bin").exists()


def test_blank_lines_do_not_bias_a_mean(local):
    local("task", "--low", "0", "--high", "10", "--steps", "64", "--epsilon", "3", "--n", "200", "--out", "task.json")
    found = local("encode", "task.json", "-", "--out", "r.bin", text="10\n" * 20 + "\n" * 20)
    assert found.stdout.startswith("20 reports of batch 0")
    assert "20 lines have no value" in found.stderr


def test_blank_lines_and_spaces_are_no_values_of_a_task(local, tmp_path):
    (tmp_path / "some.txt").write_text("a\nb \n\n")
    found = local("task", "--values", "some.txt", "--epsilon", "1", "--n", "100", "--json")
    assert document(found)["task"]["domain"]["values"] == ["a", "b"]
    assert "1 blank line of some.txt left out" in found.stderr


@pytest.mark.parametrize(
    ("words", "what", "instead"),
    [
        (("--domain", "4", "--epsilon", "0"), "--epsilon 0", "--epsilon 1"),
        (("--domain", "4", "--epsilon", "nan"), "--epsilon 'nan'", "--epsilon 1"),
        (("--domain", "4", "--epsilon", "1e-9"), "--epsilon 1e-9", "--epsilon 1"),
        (("--domain", "4", "--epsilon", "1", "--epsilon-second", "x"), "--epsilon-second 'x'", "--epsilon-second 1"),
        (("--low", "nan", "--high", "1", "--epsilon", "1"), "--low 'nan'", "--low 0"),
        (("--low", "2", "--high", "1e0", "--epsilon", "1"), "--low 2 --high 1e0", "--low 0 --high 100"),
        (("--domain", "1024", "--epsilon", "1", "--max-bytes", "5"), "--max-bytes 5", "--max-bytes 32"),
        (("--domain", "1000000000", "--epsilon", "1"), "--domain 1000000000", "--domain 1024"),
    ],
)
def test_errors_about_numbers_name_the_option_and_the_value(local, words, what, instead):
    error = refusal(local("task", *words, "--n", "100"))
    assert error.what == what
    assert error.instead.startswith(instead)


def test_numbers_may_have_an_exponent(local):
    found = document(local("task", "--low", "-1e3", "--high", "1e6", "--epsilon", "1e-1", "--n", "100", "--json"))
    assert (found["task"]["domain"]["high"], found["task"]["epsilon"]) == ("1000000", "0.1")


@pytest.mark.parametrize("words", [("--repeat", "always"), ("--trust", "me")])
def test_rules_and_models_are_choices(local, words):
    result = local("task", "--domain", "4", "--epsilon", "1", "--n", "100", *words)
    assert result.exit_code == 2
    assert re.search("memoised|shuffle", result.output)


def test_a_batch_of_more_than_32_bits_is_a_wrong_call(local, task):
    for words in (("encode", "task.json", "emoji.txt"), ("collect", "task.json", "r.bin")):
        assert local(*words, "--batch", "99999999999999", "--out", "x").exit_code == 2


@pytest.mark.parametrize("confidence", ["0", "1", "1.5", "nan"])
def test_advice_about_a_confidence_is_about_the_confidence(local, task, tmp_path, confidence):
    (tmp_path / "empty.acc").write_bytes(dp.local.collector.Accumulator.empty(task).to_bytes())
    error = refusal(local("estimate", "task.json", "empty.acc", "--confidence", confidence))
    assert error.instead == "--confidence 0.95"
    empty = refusal(local("estimate", "task.json", "empty.acc"))
    assert empty.instead == "discreet local collect task.json reports.bin --out counts.acc"


def test_the_advice_for_a_memoised_task_makes_one_that_is_encoded(local, task):
    words = ("--values", "emoji.txt", "--epsilon", "1/3", "--n", "100", "--repeat", "memoised", "--out", "memo.json")
    assert local("task", *words).exit_code == 0
    advice = refusal(local("encode", "memo.json", "emoji.txt", "--out", "r.bin")).instead.partition(", or ")[0]
    made = local(*advice.replace("values.txt", "emoji.txt").split()[2:])
    assert made.exit_code == 0, made.output
    assert local("encode", "fresh.json", "emoji.txt", "--out", "r.bin").exit_code == 0


def test_a_name_cannot_move_the_cursor_of_a_terminal(local):
    name = "\x1b[2Jname"
    found = local("task", "--domain", "4", "--epsilon", "1", "--n", "100", "--name", name, "--question", name)
    assert "\x1b" not in found.stdout
    assert r"\x1b[2Jname" in found.stdout


def test_a_task_of_many_values_says_what_its_estimate_takes(local):
    words = ("--epsilon", "1", "--n", "1000")
    large = local("task", "--domain", 2**24, *words)
    assert large.exit_code == 0
    assert "about 11 GB of memory" in large.stderr
    assert "PrefixTree" in large.stderr
    assert not local("task", "--domain", 2**16, *words).stderr


def test_a_confidence_near_1_is_printed_in_full(local, task):
    write_answers(number=200)
    local("encode", "task.json", "answers.txt", "--out", "r.bin")
    local("collect", "task.json", "r.bin", "--out", "c.acc")
    shown = local("estimate", "task.json", "c.acc", "--confidence", "0.9999995").stdout
    assert "with probability 0.9999995 all 4" in shown


def test_a_mean_is_estimated_with_an_interval(local):
    words = ("--low", "0", "--high", "10", "--steps", "64", "--epsilon", "3", "--n", "2000")
    local("task", *words, "--out", "task.json")
    encoded = local("encode", "task.json", "-", "--out", "r.bin", text="4.5\n5.5\nnan\nnone\n1e400\n" * 10)
    assert "20 of 50 values" in encoded.stderr
    local("collect", "task.json", "r.bin", "--out", "counts.acc")
    found = document(local("estimate", "task.json", "counts.acc", "--json", "--out", "mean.csv"))
    assert 0 <= found["low"] <= found["high"] <= 10
    assert "mean " in local("estimate", "task.json", "counts.acc").stdout
    assert local("estimate", "task.json", "counts.acc", "--consistent").exit_code == 2


def test_estimates_are_written_and_consistent_ones_add_up(local, task, monkeypatch):
    write_answers()
    local("encode", "task.json", "answers.txt", "--out", "reports.bin")
    local("collect", "task.json", "reports.bin", "--out", "counts.acc")
    assert local("estimate", "task.json", "counts.acc", "--out", "t.parquet").exit_code == 0
    table = pq.read_table("t.parquet")
    assert table.column_names == ["value", "estimate", "standard_error", "low", "high"]
    found = local("estimate", "task.json", "counts.acc", "--consistent", "--out", "t.csv")
    assert "biased" in found.stdout
    with Path("t.csv").open(newline="") as file:
        counts = [float(row["count"]) for row in csv.DictReader(file)]
    assert np.isclose(sum(counts), 2_000)
    assert min(counts) >= 0
    monkeypatch.setattr(dp.local.estimates.FrequencyEstimates, "to_arrow", None)
    shown = local("estimate", "task.json", "counts.acc", "--rows", "1").stdout
    assert "3 more" in shown


@pytest.mark.parametrize(
    ("words", "advice"),
    [
        (("encode", "none.json", "emoji.txt", "--out", "r.bin"), "discreet local task"),
        (("encode", "task.json", "none.txt", "--out", "r.bin"), "--column"),
        (("encode", "task.json", "emoji.txt", "--out", "none/r.bin"), "--out 'r.bin'"),
        (("collect", "task.json", "none.bin", "--out", "c.acc"), "discreet local encode"),
        (("collect", "task.json", "emoji.txt", "--out", "c.acc"), "discreet local encode"),
        (("estimate", "task.json", "none.acc"), "discreet local collect"),
        (("estimate", "task.json", "emoji.txt"), "discreet local collect"),
        (("estimate", "task.json", "empty.acc"), "discreet local collect"),
        (("estimate", "task.json", "empty.acc", "--out", "t.xlsx"), "t.csv"),
        (("task", "--values", "none.txt", "--epsilon", "1", "--n", "10"), "--domain"),
        (("demo", "--out", "t.pdf"), "t.svg"),
        (("demo", "--epsilon", "x"), "--epsilon 1"),
        (("demo", "--domain", "1000000"), "--domain 1024"),
    ],
)
def test_errors_advise_the_command_line(local, task, tmp_path, words, advice):
    (tmp_path / "empty.acc").write_bytes(dp.local.collector.Accumulator.empty(task).to_bytes())
    error = refusal(local(*words))
    assert advice in error.instead
    assert not re.search(r"dp\.|_reports\(|estimate\(", error.instead)


def test_counts_of_another_task_are_refused(local, task, tmp_path):
    other = dp.local.Task.choose(domain=EMOJI, epsilon=2, n=2_000)
    (tmp_path / "other.acc").write_bytes(dp.local.collector.Accumulator.empty(other).to_bytes())
    for words in (("estimate", "task.json", "other.acc"), ("collect", "task.json", "other.acc", "--out", "x.acc")):
        assert task.hash[:16] in refusal(local(*words)).because


def test_tasks_whose_clients_have_a_state_or_send_shares_are_not_encoded_here(local):
    for options in (("--repeat", "memoised"), ("--repeat", "two_stage", "--epsilon-second", "1"), ("--trust", "dap")):
        path = f"{options[1]}.json"
        local("task", "--domain", "4", "--epsilon", "1", "--n", "100", *options, "--out", path)
        assert "each device" in refusal(local("encode", path, "emoji.txt", "--out", "r.bin")).instead


def test_a_file_of_reports_that_is_cut_off_is_refused(local, task, tmp_path):
    write_answers(number=8)
    local("encode", "task.json", "answers.txt", "--out", "r.bin")
    (tmp_path / "cut.bin").write_bytes((tmp_path / "r.bin").read_bytes()[:-1])
    assert "cut off" in refusal(local("collect", "task.json", "cut.bin", "--out", "c.acc")).because


def test_the_demo_compares_three_models_and_draws_them(local, tmp_path):
    found = document(local("demo", "--clients", "20000", "--domain", "16", "--json"))
    assert [each["trust"] for each in found["errors"]] == ["local", "shuffle", "dap"]
    assert found["is_simulated"] is True
    drawn = local("demo", "--clients", "20000", "--domain", "16", "--out", "trust.svg")
    assert "(simulated)" in drawn.stdout
    assert (tmp_path / "trust.svg").read_text().startswith("<?xml")
