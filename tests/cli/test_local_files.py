"""Files of reports behind their lengths, and values in the type of their domain."""

from pathlib import Path

import pytest

import discreet as dp
from discreet.cli import local_files
from discreet.errors import SourceError


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
        (["7", "x"], "7\r\n x\n\n", ["7", " x", ""]),
        (8, "7\n-1\n1.0\n\n٣\n", [7, None, None, None, None]),
        ({"low": 0, "high": 1, "steps": 4}, "0.5\nx\nnan\ninf\n", [0.5, None, None, float("inf")]),
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
    reports, outside = local_files.encode_values(task, iter([1, 2, None, 99] * 32), 3)
    table = dp.local.collector.read_reports(task, reports)
    assert (len(table), outside, table.refused) == (128, 64, {})
    assert set(table.cohorts.tolist()) == {0, 1}  # but with probability 2^-127
    assert set(table.batches.tolist()) == {3}
