"""Tables fit a terminal, and nothing in them is markup."""

import pytest

from discreet.ledger.records import faults
from discreet.ledger.reporting.tables import TextTable, html_page, shorten, text_page, with_commands_apart

SENTENCES = {name: text for name, text in vars(faults).items() if name.isupper() and isinstance(text, str)}
SMALL = TextTable(("name", "spent"), (("visits", "0.35"), ("lab", "1")), "<>")


def test_words_stand_left_and_numbers_right():
    assert SMALL.text() == "  name    spent\n  visits   0.35\n  lab         1"


def test_a_table_without_a_head_has_rows_only():
    assert TextTable((), (("left", "nothing"),), "<<").text() == "  left  nothing"


def test_what_is_not_shown_is_told_under_the_table():
    assert TextTable(("name",), (("visits",),), "<", "... 3 more").text().endswith("\n  ... 3 more")


def test_a_long_name_gives_way_to_the_numbers():
    table = TextTable(("name", "a", "b"), (("n" * 200, "1" * 30, "2" * 30),), "<>>")
    assert max(map(len, table.text().splitlines())) == 80
    assert "1" * 30 in table.text()


def test_a_shortened_name_keeps_its_ends():
    assert shorten("visits", 6) == "visits"
    assert shorten("records of 2025", 9) == "reco…2025"
    assert len(shorten("x" * 200, 8)) == 8


def test_a_page_has_a_title_tables_and_notes_wrapped_at_80_characters():
    page = text_page("title " * 30, [SMALL, SMALL], ["note " * 40])
    assert max(map(len, page.splitlines())) <= 80
    assert page.count("visits") == 2


def test_html_holds_no_markup_from_cells():
    page = html_page("<title>", [TextTable(("<head>",), (("<cell>",),), "<", "<more>")], ["<note>"])
    assert not any(f"<{name}>" in page for name in ("title", "head", "cell", "more", "note"))
    assert all(f"&lt;{name}&gt;" in page for name in ("title", "head", "cell", "more", "note"))


@pytest.mark.parametrize("sentence", SENTENCES.values(), ids=SENTENCES.keys())
def test_commands_in_sentences_are_whole_in_lines_of_a_page(sentence):
    lines = with_commands_apart(sentence, 78)
    assert max(map(len, lines)) <= 78
    words = " ".join(line.strip() for line in lines).split()
    assert [each.rstrip(",;.") for each in words] == [each.rstrip(",;.") for each in sentence.split()]


def test_each_command_in_a_sentence_is_on_a_line_of_its_own_without_the_mark_after_it():
    sentence = "it is behind; run discreet ledger recover --ledger LEDGER --reason TEXT, and then ask again"
    assert with_commands_apart(sentence, 30) == [
        "it is behind; run",
        "    discreet ledger recover --ledger LEDGER --reason TEXT",
        "  and then ask again",
    ]
