"""DDL is read as tokens in linear time; quotes and comments that do not end are refused with their line."""

from decimal import Decimal

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from discreet.catalog.imports.ddl import GOOGLE, SNOWFLAKE, statements
from discreet.catalog.imports.draft import MetadataOrigin
from discreet.errors import CatalogError

patiently = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
ORIGIN = MetadataOrigin("DDL")


def one(text, lexicon=SNOWFLAKE):
    (statement,) = statements(text, lexicon, ORIGIN)
    return statement


@pytest.mark.parametrize(
    ("text", "lexicon", "value"),
    [
        ("'it''s'", SNOWFLAKE, "it's"),
        (r"'it\'s \\ \x41\u00e9\101'", SNOWFLAKE, "it's \\ Aé" + "A"),
        ("$$it's$$", SNOWFLAKE, "it's"),
        ("''", SNOWFLAKE, ""),
        ("'''00'", SNOWFLAKE, "'00"),
        (r"'a\'b\n'", GOOGLE, "a'b\n"),
        (r"r'a\d'", GOOGLE, r"a\d"),
        ("'''it's \"so\"\n'''", GOOGLE, 'it\'s "so"\n'),
        ('""', GOOGLE, ""),
        (r"'\U0001F600'", GOOGLE, "\U0001f600"),
    ],
)
def test_text_is_read_as_each_system_writes_it(text, lexicon, value):
    assert one(text, lexicon).string() == value


def test_names_are_folded_by_snowflake_and_split_by_google():
    assert one('Db."My ""x"" s".t').path() == ["DB", 'My "x" s', "T"]
    assert one("`my-project.Data`.view", GOOGLE).path() == ["my-project", "Data", "view"]
    assert one("my-project-1.Data.view", GOOGLE).path() == ["my-project-1", "Data", "view"]


def test_comments_and_empty_statements_are_left_out():
    found = statements("-- a\n; SELECT 1 /* ; */ ; // b;\n SELECT 2", SNOWFLAKE, ORIGIN)
    assert [statement.title for statement in found] == ["SELECT in line 2", "SELECT in line 3"]


@pytest.mark.parametrize(("text", "value"), [("-1.50", "-1.50"), ("+3", "3"), (".5e2", "50"), ("7.", "7")])
def test_a_number_is_exact(text, value):
    assert one(text).number() == Decimal(value)


def test_a_list_is_split_outside_of_parentheses():
    statement = one("(a(1, 2), [3, 4], 'x,y')")
    assert [len(part.tokens) for part in statement.inside(statement.group())] == [6, 5, 1]
    assert statement.is_done()


@pytest.mark.parametrize("lexicon", [GOOGLE, SNOWFLAKE])
@pytest.mark.parametrize("text", ["'a", '"a', "/* a", "\n\n\\", "\u00e9"])
def test_what_does_not_end_or_is_no_sql_is_refused_with_its_line(text, lexicon):
    with pytest.raises(CatalogError, match=r"in line \d"):
        statements(text, lexicon, ORIGIN)


@pytest.mark.parametrize(
    "read",
    [
        lambda: one("5").path(),
        lambda: one("a.b").name(),
        lambda: one("a").string(),
        lambda: one("a").number(),
        lambda: one("1" * 500).number(),
        lambda: one("a").expect("b"),
        lambda: one("(a").group(),
        lambda: one(r"'\q'").string(),
        lambda: one(r"'\ud800'").string(),
        lambda: one(r"'\UFFFFFFFF'", GOOGLE).string(),
    ],
)
def test_what_is_not_of_the_expected_form_is_refused(read):
    with pytest.raises(CatalogError) as caught:
        read()
    assert caught.value.instead


@patiently
@given(st.text(max_size=200), st.sampled_from([GOOGLE, SNOWFLAKE]))
def test_any_text_is_tokens_or_a_refusal(text, lexicon):
    try:
        found = statements(text, lexicon, ORIGIN)
    except CatalogError:
        return
    assert all(token.text in text for statement in found for token in statement.tokens)
