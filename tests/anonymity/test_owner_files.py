"""Files for owners: whole or absent, and readable by the user alone."""

import stat

import pytest

from discreet.anonymity import owner_files


def test_a_file_replaces_another_and_only_the_user_may_read_it(tmp_path):
    path = tmp_path / "a.html"
    path.write_text("earlier")
    path.chmod(0o644)
    owner_files.write_file(path, lambda file: file.write(b"later"))
    assert path.read_bytes() == b"later"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert list(tmp_path.iterdir()) == [path]


def test_a_failure_while_writing_leaves_the_earlier_file_and_no_draft(tmp_path):
    path = tmp_path / "a.html"
    path.write_text("earlier")

    def fail(file):
        file.write(b"half")
        raise OSError

    with pytest.raises(OSError):
        owner_files.write_file(path, fail)
    assert path.read_text() == "earlier"
    assert list(tmp_path.iterdir()) == [path]


def test_a_failure_before_the_name_leaves_no_file(tmp_path):
    def stop():
        with owner_files.draft_file(tmp_path / "a.csv", lambda file: file.write(b"x")) as draft:
            assert draft.read_bytes() == b"x"
            raise KeyError

    with pytest.raises(KeyError):
        stop()
    assert not list(tmp_path.iterdir())


def test_a_name_as_long_as_a_directory_takes_is_written(tmp_path):
    path = tmp_path / f"{'n' * 250}.html"
    owner_files.write_file(path, lambda file: file.write(b"x"))
    assert path.read_bytes() == b"x"


def test_a_name_that_is_too_long_does_not_fit(tmp_path):
    assert owner_files.fits(tmp_path / "a.html")
    assert not owner_files.fits(tmp_path / f"{'n' * 300}.html")
