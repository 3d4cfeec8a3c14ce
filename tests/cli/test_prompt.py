"""The words of the prompt, and the file of what was typed."""

import re
import stat

from discreet.catalog.catalog import Catalog
from discreet.cli import prompt
from query.sql.statements import golden


def words(before, catalog="catalog.yaml"):
    return [word for word, _, _ in prompt.Vocabulary(Catalog.load(catalog)).completions(before)]


def test_words_of_sql_and_of_the_catalog_are_completed(visits_directory):
    assert words("SELECT wa") == ["ward"]
    assert words("select cou") == ["COUNT(", "COUNT_IF("]
    assert words("SELECT COUNT(*) FROM vi")[0] == "visits"
    assert words("SELECT COUNT(*) FROM visits gro") == ["GROUP BY"]
    assert words("SELECT ") == []


def test_a_name_that_needs_quotes_is_completed_with_them(visits_directory):
    path = visits_directory / "catalog.yaml"
    path.write_text(path.read_text().replace("visit_id:", "visit id:"))
    assert words("SELECT visit") == ["visits", '"visit id"']


def test_keys_are_completed_inside_quotes(visits_directory):
    assert words("WHERE ward IN ('card") == ["cardiology'"]
    assert words("WHERE ward IN ('cardiology', '") == ["cardiology'", "emergency'", "surgery'"]


def test_commands_are_completed_after_a_dot(visits_directory):
    assert words(".b") == [".budget"]
    assert words(".plan SELECT wa") == ["ward"]


def test_every_function_that_is_offered_is_called_in_a_golden_statement_that_translates():
    accepted = [each.sql for each in golden("accepted")]
    assert [name for name in prompt.FUNCTIONS if not any(calls(sql, name) for sql in accepted)] == []


def calls(sql, name):
    return re.search(rf"\b{name} ?\(", sql) is not None


def test_what_was_typed_is_for_nobody_else(visits_directory):
    path = visits_directory / "home" / prompt.HISTORY
    assert prompt.history_file() == path
    path.chmod(0o644)
    assert stat.S_IMODE(prompt.history_file().stat().st_mode) == 0o600
