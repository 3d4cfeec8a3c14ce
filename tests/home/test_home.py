"""The directory of discreet: where it is, who may open it, and what is refused."""

import os
import stat
from pathlib import Path

import pytest

from discreet.errors import ParameterError
from discreet.home import home, location

posix_only = pytest.mark.skipif(os.name != "posix", reason="modes mean nothing here")


def test_the_directory_is_below_the_users_home_by_default(monkeypatch, tmp_path):
    monkeypatch.delenv("DISCREET_HOME", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    assert location() == tmp_path / ".discreet"
    assert not location().exists()


def test_an_empty_variable_means_the_default(monkeypatch):
    monkeypatch.delenv("DISCREET_HOME", raising=False)
    default = location()
    monkeypatch.setenv("DISCREET_HOME", "")
    assert location() == default


def test_the_variable_names_another_directory(monkeypatch, tmp_path):
    monkeypatch.setenv("DISCREET_HOME", str(tmp_path / "a" / "b"))
    assert home() == tmp_path / "a" / "b"
    assert home().is_dir()


def test_a_relative_or_tilde_path_becomes_absolute(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DISCREET_HOME", "here")
    assert home() == tmp_path / "here"
    monkeypatch.setenv("DISCREET_HOME", "~/there")
    assert location() == Path.home() / "there"


@posix_only
def test_the_directory_is_made_for_its_owner_alone(monkeypatch, tmp_path):
    monkeypatch.setenv("DISCREET_HOME", str(tmp_path / "private"))
    before = os.umask(0)
    try:
        made = home()
    finally:
        os.umask(before)
    assert stat.S_IMODE(made.stat().st_mode) == 0o700


@posix_only
@pytest.mark.parametrize("mode", [0o755, 0o750, 0o701, 0o720])
def test_a_directory_open_to_others_is_refused_and_left_as_it_is(monkeypatch, tmp_path, mode):
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(mode)
    monkeypatch.setenv("DISCREET_HOME", str(shared))
    with pytest.raises(ParameterError, match="chmod 700"):
        home()
    assert stat.S_IMODE(shared.stat().st_mode) == mode


def test_a_file_in_its_place_is_refused(monkeypatch, tmp_path):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("DISCREET_HOME", str(tmp_path / "file"))
    with pytest.raises(ParameterError, match="it is a file"):
        home()


def test_a_directory_that_cannot_be_made_is_refused(monkeypatch, tmp_path):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("DISCREET_HOME", str(tmp_path / "file" / "below"))
    with pytest.raises(ParameterError, match="cannot be made"):
        home()


def test_a_name_of_no_user_is_refused(monkeypatch):
    monkeypatch.setenv("DISCREET_HOME", "~nobody-of-this-name/x")
    with pytest.raises(ParameterError, match="no home directory"):
        home()
