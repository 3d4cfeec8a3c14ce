"""Files that `discreet local` may replace, and those that it may not."""

import os
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import discreet as dp
from discreet.cli import local_files
from discreet.cli.local_outputs import format_of, require_place
from discreet.errors import ParameterError


@pytest.fixture
def files(tmp_path):
    """A file of each format."""
    task = dp.local.Task.choose(domain=4, epsilon=1, n=10)
    report = dp.local.Client(task.assignment()).report(1)
    local_files.write_reports(task, [report], tmp_path / "r.bin")
    dp.local.collector.write_reports(task, [report], tmp_path / "r.parquet")
    state = dp.local.collector.count_reports(task, [report])
    (tmp_path / "c.acc").write_bytes(state.to_bytes())
    found = dp.local.estimates.estimate(task, state)
    pq.write_table(found.to_arrow(), tmp_path / "e.parquet")
    pq.write_table(pa.table({"id": [1]}), tmp_path / "o.parquet")
    (tmp_path / "e.csv").write_text('"value","estimate"\n0,1\n')
    (tmp_path / "answers.csv").write_text("id,value\n1,red\n")
    (tmp_path / "empty").write_bytes(b"")
    (tmp_path / "cut.parquet").write_bytes(b"PAR1")
    task.save(tmp_path / "task.json")
    return tmp_path


def test_each_format_is_known_by_its_content(files):
    names = ("r.bin", "r.parquet", "c.acc", "e.parquet", "e.csv", "task.json")
    found = [format_of(files / name) for name in names]
    assert found == ["reports", "table of reports", "accumulator", "estimates", "estimates", "task"]
    assert {format_of(files / name) for name in ("o.parquet", "answers.csv", "cut.parquet")} == {"something else"}
    assert {format_of(files / name) for name in ("empty", "none", "")} == {None}


def test_a_file_of_another_format_is_never_replaced(files):
    require_place(files / "r.bin", [], "reports")
    require_place(files / "empty", [], "reports")
    require_place(files / "none", [files / "r.bin"], "reports")
    for name in ("c.acc", "r.parquet", "answers.csv", "task.json"):
        with pytest.raises(ParameterError, match="a file of another format is there") as caught:
            require_place(files / name, [], "reports")
        assert not Path(caught.value.instead.removeprefix("--out ").strip("'")).exists()


def test_an_input_is_never_replaced_also_through_links(files):
    (files / "symbolic").symlink_to("r.bin")
    os.link(files / "r.bin", files / "hard")
    for name in ("r.bin", "symbolic", "hard", f"../{files.name}/r.bin"):
        with pytest.raises(ParameterError, match="which the command reads"):
            require_place(files / name, [files / "c.acc", files / "r.bin"], "reports")


def test_a_directory_is_refused_and_advice_is_a_name_that_is_free(files):
    (files / "d").mkdir()
    (files / "d-2").mkdir()
    with pytest.raises(ParameterError, match="it is a directory") as caught:
        require_place(files / "d", [], "reports")
    assert caught.value.instead.endswith("new-d-2'")
