import os

from discreet.home.held_files import hold, identity_of, is_held, let_go


def test_a_held_file_is_known_under_any_name_until_the_last_holder_lets_go(tmp_path):
    file, link, second = tmp_path / "file", tmp_path / "link", tmp_path / "second"
    file.touch()
    link.symlink_to(file)
    os.link(file, second)
    first, other = object(), object()
    for holder in (first, other):
        hold(holder, identity_of(file))
    let_go(first)
    assert [is_held(name) for name in (file, link, second)] == [True] * 3
    let_go(other)
    let_go(other)
    assert not is_held(file)


def test_what_is_no_file_is_not_held(tmp_path):
    assert not is_held(tmp_path / "absent")
    assert not is_held(tmp_path / "a\0b")
