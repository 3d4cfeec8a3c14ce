import os
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.ledger.records import append_log

WRITER = """
import sys
from pathlib import Path
from discreet.ledger.records import append_log

path, name = Path(sys.argv[1]), sys.argv[2]
sys.stdin.read(1)
for batch in range(200):
    append_log.append(path, [f"{name} {batch} {line} " + "x" * 300 for line in range(3)])
"""


@pytest.fixture
def path(tmp_path):
    return tmp_path / "lines"


def texts(path):
    return [line.decode() for _, line in append_log.read_all(path)]


def test_lines_are_read_as_they_were_appended_with_their_numbers(path):
    append_log.append(path, ["a", "b"])
    append_log.append(path, ["c"], sync=True)
    assert append_log.read_all(path) == [(1, b"a"), (2, b"b"), (3, b"c")]


def test_a_file_is_made_for_its_owner_alone(path):
    append_log.append(path, ["a"])
    assert path.stat().st_mode & 0o777 == 0o600


def test_nothing_to_append_makes_no_file(path):
    append_log.append(path, [])
    assert not path.exists()
    assert append_log.read_all(path) == []


def test_reading_goes_on_where_it_stopped(path):
    append_log.append(path, ["a"])
    first = append_log.read_after(path)
    assert append_log.read_after(path, first.place).lines == ()
    append_log.append(path, ["b"])
    assert append_log.read_after(path, first.place).lines == ((2, b"b"),)


def test_many_lines_are_read_in_batches(path):
    append_log.append(path, map(str, range(10)))
    first = append_log.read_after(path, most=4)
    second = append_log.read_after(path, first.place, most=100)
    assert [number for number, _ in first.lines + second.lines] == list(range(1, 11))


def test_the_first_sight_of_a_file_is_not_a_change(path):
    assert not append_log.read_after(path).is_anew
    path.touch()
    assert not append_log.read_after(path).is_anew


def test_a_line_that_was_cut_off_is_left_and_swallows_nothing_after_it(path):
    append_log.append(path, ["a", "b"])
    os.truncate(path, 3)
    assert texts(path) == ["a"]
    append_log.append(path, ["c"])
    assert append_log.read_all(path) == [(1, b"a"), (3, b"c")]


@given(st.integers(0, 30))
def test_wherever_a_file_is_cut_whole_lines_stay_and_later_ones_are_read(tmp_path_factory, place):
    path = tmp_path_factory.mktemp("cut") / "lines"
    append_log.append(path, ["alpha", "beta", "gamma", "delta"])
    os.truncate(path, min(place, path.stat().st_size))
    kept = path.read_text().split("\n")[:-1]
    append_log.append(path, ["later"])
    assert texts(path) == [*kept, "later"]


def test_a_line_is_not_read_before_its_end(path):
    path.write_bytes(b"a\nb")
    first = append_log.read_after(path)
    assert first.lines == ((1, b"a"),)
    with path.open("ab") as file:
        file.write(b"c\n")
    assert append_log.read_after(path, first.place).lines == ((2, b"bc"),)


@pytest.mark.parametrize("change", ["cut", "deleted", "replaced", "overwritten"])
def test_a_file_that_is_no_longer_the_same_is_noticed_once_and_read_anew(path, change):
    append_log.append(path, ["a", "b", "c"])
    place = append_log.read_after(path).place
    if change == "cut":
        os.truncate(path, 2)
    elif change == "deleted":
        path.unlink()
    elif change == "replaced":
        other = path.with_name("other")
        append_log.append(other, ["a", "b", "c", "d"])
        other.replace(path)
    else:
        path.write_bytes(b"x\ny\nz\nw\n")
    batch = append_log.read_after(path, place)
    assert batch.is_anew
    assert [line.decode() for _, line in batch.lines] == texts(path)
    assert not append_log.read_after(path, batch.place).is_anew


def test_a_full_disk_is_an_error():
    with pytest.raises(OSError, match="No space"):
        append_log.append(append_log.Path("/dev/full"), ["a"])


def test_lines_of_eight_processes_never_mix(path):
    crowd = [
        subprocess.Popen([sys.executable, "-c", WRITER, path, f"p{i}"], stdin=subprocess.PIPE, text=True)
        for i in range(8)
    ]
    for process in crowd:
        process.communicate("x", timeout=120)
    assert [process.returncode for process in crowd] == [0] * 8
    found = texts(path)
    expected = [f"p{i} {batch} {line} " + "x" * 300 for i in range(8) for batch in range(200) for line in range(3)]
    assert sorted(found) == sorted(expected)
    for i in range(8):
        mine = [line for line in found if line.startswith(f"p{i} ")]
        assert mine == [line for line in expected if line.startswith(f"p{i} ")]
