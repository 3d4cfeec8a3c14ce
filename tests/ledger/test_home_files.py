"""A key and anchors are where they are named, or in the home, which a reader does not make."""

from pathlib import Path

from discreet.ledger.home_files import anchor_directory, key_file


def test_what_is_not_named_is_in_the_home(tmp_path, monkeypatch):
    monkeypatch.setenv("DISCREET_HOME", str(tmp_path / "home"))
    assert key_file() == tmp_path / "home" / "signing.key"
    assert anchor_directory() == tmp_path / "home" / "anchors"
    assert (tmp_path / "home").is_dir()


def test_a_reader_makes_no_home(tmp_path, monkeypatch):
    monkeypatch.setenv("DISCREET_HOME", str(tmp_path / "home"))
    assert key_file(read_only=True) == tmp_path / "home" / "signing.key"
    assert anchor_directory(read_only=True) == tmp_path / "home" / "anchors"
    assert not (tmp_path / "home").exists()


def test_what_is_named_needs_no_home(tmp_path, monkeypatch):
    monkeypatch.setenv("DISCREET_HOME", str(tmp_path / "home"))
    assert key_file("some.key") == Path("some.key")
    assert anchor_directory(tmp_path / "anchors") == tmp_path / "anchors"
    assert not (tmp_path / "home").exists()
