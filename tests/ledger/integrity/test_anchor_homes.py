"""The id of a directory of anchors."""

import re
from concurrent.futures import ThreadPoolExecutor

import pytest

from discreet.errors import LedgerError
from discreet.ledger.integrity.anchor_homes import home_at
from discreet.ledger.integrity.anchors import UNWRITABLE


def test_a_directory_has_one_id_and_another_directory_another(tmp_path):
    other = tmp_path / "other"
    other.mkdir()
    first = home_at(tmp_path)
    assert re.fullmatch("[0-9a-f]{32}", first)
    assert home_at(tmp_path) == home_at(tmp_path, read_only=True) == first
    assert home_at(other) != first


def test_concurrent_processes_find_the_same_home_id(tmp_path):
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(home_at, [tmp_path] * 8))
    assert len(set(found)) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["home"]


def test_read_only_creates_no_home_id(tmp_path):
    assert home_at(tmp_path, read_only=True) is None
    assert list(tmp_path.iterdir()) == []


def test_an_invalid_home_id_counts_as_absent(tmp_path):
    (tmp_path / "home").write_text("../elsewhere")
    assert home_at(tmp_path) is None


def test_a_directory_that_is_not_there_is_an_error(tmp_path):
    with pytest.raises(LedgerError) as caught:
        home_at(tmp_path / "absent")
    assert str(caught.value) == UNWRITABLE
