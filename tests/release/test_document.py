"""A document is read back as it was written, prints one label once, and refuses what is damaged."""

import pytest

import discreet as dp
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


def test_a_printed_release_names_its_conditions():
    session = dp.testing.protect(
        dp.datasets.visits(100), name="visits", privacy_unit="patient_id", max_rows=10, budget=dp.Budget(epsilon=2)
    )
    visits = dp.table("visits")
    query = visits.where(visits["age"] < 65).where(visits["urgent"]).agg(n=dp.count())
    release = session.release(query, epsilon=0.5)
    assert "where    age < 65\nwhere    urgent" in str(release)
    assert "age &lt; 65" in release._repr_html_()
    assert "age < 65; urgent" in release.plot().get_label()
    table = session.sql("SELECT COUNT(*) AS n FROM visits WHERE age < 65 AND urgent", epsilon=0.5)
    assert "where    age < 65" in str(table)
