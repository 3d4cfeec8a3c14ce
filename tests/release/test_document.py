"""A document is read back as it was written, prints one label once, and refuses what is damaged."""

import pytest

from discreet.release.document import Document, aligned, summary

DOCUMENT = Document(
    query=(("table", "visits"), ("where", "age < 65"), ("where", "ward = 'A'")),
    plan='{"query":[]}',
    omitted=("the population",),
    unprotected=("the query",),
    others=(),
    software=(("discreet", "0.1.0"), ("engine", "DuckDB")),
)


def test_what_is_written_is_read_back():
    assert Document.from_json(DOCUMENT.to_json()) == DOCUMENT


@pytest.mark.parametrize(
    "damage", [{"plan": 5}, {"query": [["one"]]}, {"omitted": "text"}, {"others": [1]}, {"software": [[1, "x"]]}]
)
def test_a_damaged_document_is_refused(damage):
    with pytest.raises((TypeError, ValueError)):
        Document.from_json(DOCUMENT.to_json() | damage)


def test_it_prints_a_label_once_and_says_that_no_other_release_is_known():
    printed = str(DOCUMENT)
    assert printed.count("where") == 1
    assert "none declared by the owner" in printed
    assert "discreet 0.1.0, engine DuckDB" in printed
    assert repr(DOCUMENT) == printed


def test_the_summary_is_one_line():
    assert DOCUMENT.summary == summary(DOCUMENT.query) == "table: visits; where: age < 65; where: ward = 'A'"
    assert aligned(()) == ""


def test_what_does_not_print_is_written_as_its_code():
    """A file that nobody verified could forge a line, or move the cursor."""
    assert aligned((("a\nsigned", "x\x1b[2J"),)) == r"a\nsigned  x\x1b[2J"
