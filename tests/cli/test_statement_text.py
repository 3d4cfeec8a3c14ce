"""Where statements end: semicolons outside quotes and comments, and lines that are commands."""

import pytest

from discreet.cli.statement_text import is_complete, split


@pytest.mark.parametrize(
    ("text", "found", "rest"),
    [
        ("SELECT 1; SELECT 2", ["SELECT 1"], "SELECT 2"),
        ("SELECT ';' ; SELECT \";\";", ["SELECT ';'", 'SELECT ";"'], ""),
        ("SELECT 'it''s; here';", ["SELECT 'it''s; here'"], ""),
        ("SELECT 1 -- a; b\n;", ["SELECT 1 -- a; b"], ""),
        ("SELECT /* ; */ 1;", ["SELECT /* ; */ 1"], ""),
        ("SELECT 'open; SELECT 2;", [], "SELECT 'open; SELECT 2;"),
        (".tables\n.plan SELECT 1;\nSELECT 2;", [".tables", ".plan SELECT 1", "SELECT 2"], ""),
        ("  ;;  ", [], ""),
        ("-- nothing; at all\n", [], ""),
        (".quit", [".quit"], ""),
    ],
)
def test_text_is_split_where_statements_end(text, found, rest):
    assert split(text, "duckdb") == (found, rest)


def test_a_backslash_escapes_where_the_dialect_says_so():
    text = r"SELECT 'it\'s; here';"
    assert split(text, "bigquery") == ([text[:-1]], "")
    assert split(text, "duckdb")[0] == [r"SELECT 'it\'s"]


def test_enter_answers_what_is_complete():
    complete = ["", ".help", "SELECT 1;", "SELECT 1; -- so be it"]
    assert all(is_complete(text, "duckdb") for text in complete)
    assert not any(
        is_complete(text, "duckdb") for text in ["SELECT 1", ".plan SELECT 1", "SELECT ';", "SELECT 1; SELECT"]
    )
