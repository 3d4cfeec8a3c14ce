"""Files of reports behind their lengths, and values in the type of their domain."""

from pathlib import Path

import pytest

import discreet as dp
from discreet.cli import local_files
from discreet.cli.local_files import BLANK
from discreet.errors import ParameterError, SourceError


def test_reports_come_back_as_they_were_written(tmp_path):
    reports = [b"a", b"bc" * 20, b"d" * 300]
    local_files.write_reports(dp.local.Task.choose(domain=2, epsilon=1, n=10), reports, tmp_path / "r.bin")
    assert list(local_files.read_reports(tmp_path / "r.bin")) == reports


@pytest.mark.parametrize("content", [b"\0", b"\0\0\0\5abc", b"\xff\xff\xff\xffabc", b"\0\0\0\0"])
def test_a_length_that_does_not_fit_is_refused(tmp_path, content):
    (tmp_path / "r.bin").write_bytes(content)
    with pytest.raises(SourceError):
        list(local_files.read_reports(tmp_path / "r.bin"))


@pytest.mark.parametrize(
    ("domain", "text", "values"),
    [
        (["7", "x"], "7\r\n x\n\n", ["7", "x", BLANK]),
        (["", " x"], " x\nx \n\n", [" x", "x", ""]),
        (8, "7\n-1\n1.0\n \n٣\n", [7, None, None, BLANK, None]),
        ({"low": 0, "high": 1, "steps": 4}, "0.5\nx\nnan\ninf\n\n", [0.5, None, None, float("inf"), BLANK]),
    ],
)
def test_values_have_the_type_of_their_domain(tmp_path, domain, text, values):
    task = dp.local.Task.choose(domain=domain, epsilon=1, n=10)
    path = Path(tmp_path / "values.txt")
    path.write_bytes(text.encode())
    assert list(local_files.read_values(path, None, task)) == values


def test_each_value_becomes_one_report_and_clients_are_in_all_cohorts():
    oracle = dp.local.oracles.LocalHashing.calibrate(16, epsilon=1)
    task = dp.local.Task(dp.local.SlotDomain(size=16), "1", oracle, cohorts=2)
    found = local_files.encode_values(task, iter([1, 2, None, 99, BLANK] * 32), 3)
    table = dp.local.collector.read_reports(task, found.reports)
    assert (len(table), found.outside, found.blank, table.refused) == (128, 64, 32, {})
    assert set(table.cohorts.tolist()) == {0, 1}  # but with probability 2^-127
    assert set(table.batches.tolist()) == {3}


def test_a_batch_of_more_than_32_bits_is_refused_as_every_parameter_is():
    task = dp.local.Task.choose(domain=4, epsilon=1, n=10)
    with pytest.raises(ParameterError, match="batch"):
        local_files.encode_values(task, iter([1]), 2**32)


@pytest.mark.parametrize(
    ("content", "because"),
    [
        (b"a\nb\na\n", "there twice or more: 'a'"),
        (b"a\nb\na \n", "there twice or more: 'a'"),
        (b"a\n\n", "the file has 1"),
        (b"a\n\xff\n", "not text in UTF-8"),
    ],
)
def test_a_list_of_values_is_refused_for_what_is_wrong_with_it(tmp_path, content, because):
    (tmp_path / "values.txt").write_bytes(content)
    with pytest.raises(ParameterError, match=because):
        local_files.read_list(tmp_path / "values.txt")
    with pytest.raises(ParameterError, match="not there"):
        local_files.read_list(tmp_path / "none.txt")


def test_a_list_of_values_is_without_spaces_and_blank_lines(tmp_path):
    (tmp_path / "values.txt").write_text("a\nb \n\n \n")
    assert local_files.read_list(tmp_path / "values.txt") == (["a", "b"], 2)


def test_a_file_of_values_that_is_not_text_is_refused_for_that(tmp_path):
    (tmp_path / "answers.txt").write_bytes(b"\xff\xfe\n")
    task = dp.local.Task.choose(domain=4, epsilon=1, n=10)
    with pytest.raises(ParameterError, match="not text in UTF-8"):
        list(local_files.read_values(tmp_path / "answers.txt", None, task))


@pytest.mark.parametrize("form", ["r.bin", "r.parquet"])
def test_reports_of_other_batches_are_counted_by_batch(tmp_path, form):
    task = dp.local.Task.choose(domain=4, epsilon=1, n=10)
    other = dp.local.Task.choose(domain=5, epsilon=1, n=10)
    sent = [dp.local.Client(task.assignment()).report(1, batch) for batch in (0, 3, 3, 9)]
    sent.append(dp.local.Client(other.assignment()).report(1, 4))
    local_files.write_reports(task, sent, tmp_path / form)
    found = local_files.collect_files(task, [tmp_path / form], batch=None, shard=None, shards=None)
    assert (found.state.reports, found.other_batches) == (1, {3: 2, 9: 1})
