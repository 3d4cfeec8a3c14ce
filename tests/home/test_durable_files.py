"""Durable files: whole or absent, and by default readable by the user alone."""

import stat

import pytest

from discreet.home import durable_files


def test_a_file_replaces_another_and_only_the_user_may_read_it(tmp_path):
    path = tmp_path / "a.html"
    path.write_text("earlier")
    path.chmod(0o644)
    durable_files.write_file(path, lambda file: file.write(b"later"))
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
        durable_files.write_file(path, fail)
    assert path.read_text() == "earlier"
    assert list(tmp_path.iterdir()) == [path]


def test_a_failure_before_the_name_leaves_no_file(tmp_path):
    def stop():
        with durable_files.draft_file(tmp_path / "a.csv", lambda file: file.write(b"x")) as draft:
            assert draft.read_bytes() == b"x"
            raise KeyError

    with pytest.raises(KeyError):
        stop()
    assert not list(tmp_path.iterdir())


def test_a_name_as_long_as_a_directory_takes_is_written(tmp_path):
    path = tmp_path / f"{'n' * 250}.html"
    durable_files.write_file(path, lambda file: file.write(b"x"))
    assert path.read_bytes() == b"x"


def test_a_name_that_is_too_long_does_not_fit(tmp_path):
    assert durable_files.fits(tmp_path / "a.html")
    assert not durable_files.fits(tmp_path / f"{'n' * 300}.html")


def test_a_shared_file_has_the_rights_that_the_umask_leaves(tmp_path):
    plain, shared = tmp_path / "plain", tmp_path / "shared"
    plain.write_bytes(b"x")
    durable_files.write_file(shared, lambda file: file.write(b"x"), mode=durable_files.SHARED)
    assert shared.stat().st_mode == plain.stat().st_mode


def test_a_file_that_another_program_wrote_gets_its_name_in_one_step(tmp_path):
    draft, path = tmp_path / "draft", tmp_path / "name"
    draft.write_bytes(b"later")
    path.write_bytes(b"earlier")
    durable_files.publish(draft, path)
    assert path.read_bytes() == b"later"
    assert list(tmp_path.iterdir()) == [path]


def test_a_directory_that_is_not_there_is_an_error_and_stays_absent(tmp_path):
    with pytest.raises(FileNotFoundError):
        durable_files.write_file(tmp_path / "absent" / "name", lambda file: file.write(b"x"))
    assert not list(tmp_path.iterdir())
