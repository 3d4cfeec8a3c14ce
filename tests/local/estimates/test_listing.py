"""Estimates as text."""

from discreet.local.estimates.listing import count_row, listing, printable, whole_text


def test_control_characters_are_escaped_and_letters_are_not():
    assert printable("rød 雨\x1b[2J\n") == r"rød 雨\x1b[2J\n"
    assert printable(7) == "7"


def test_a_count_that_rounds_to_zero_has_no_sign():
    assert [whole_text(number) for number in (-0.4, 0.4, -1_234.6)] == ["0", "0", "-1,235"]


def test_a_listing_says_how_many_rows_it_leaves_out():
    row = count_row("a\x1b", -0.2, 0, 3)
    assert listing("two", [row, row], 5).splitlines()[-1].split() == ["...", "5", "more"]
    assert listing("one", [row]).splitlines() == ["one", r"               a\x1b             0   0 to 3"]
