"""Facts about a deployment: read strictly, on one line each, and refused with the nearest field."""

import pytest

from discreet.errors import ParameterError
from discreet.release.report.about import NAMES, About, read_about


def test_a_file_and_a_dictionary_are_read_alike(tmp_path):
    path = tmp_path / "about.yaml"
    path.write_text("curator: Example hospital\npurpose: >\n  two\n  lines\ncontact: ''\n", encoding="utf-8")
    found = read_about(path)
    assert found == read_about(str(path)) == About(curator="Example hospital", purpose="two lines")
    assert found == read_about({"curator": "Example hospital", "purpose": "two\nlines", "contact": None})
    assert found.text("contact") == "not stated"
    assert found.missing() == ["deployment", "justification", "contact"]


def test_nothing_is_stated_by_default(tmp_path):
    (tmp_path / "empty.yaml").write_text("", encoding="utf-8")
    assert read_about(None) == read_about(tmp_path / "empty.yaml") == About()


@pytest.mark.parametrize(
    ("data", "instead"),
    [({"curater": "x"}, "curator"), ({"curator": 5}, "text in quotes"), ({"curator": "x" * 3_000}, "text in quotes")],
)
def test_other_fields_are_refused_with_the_nearest_one(data, instead):
    with pytest.raises(ParameterError) as refusal:
        read_about(data)
    assert instead in refusal.value.instead


@pytest.mark.parametrize("text", ["- a\n", "a: [", "curator: x\ncurator: y\n", "curator: !x y\n", "\tcurator: x"])
def test_what_is_no_list_of_fields_is_refused(tmp_path, text):
    (tmp_path / "about.yaml").write_text(text, encoding="utf-8")
    with pytest.raises(ParameterError) as refusal:
        read_about(tmp_path / "about.yaml")
    assert "catalog" not in str(refusal.value)


def test_a_file_that_is_not_there_is_refused(tmp_path):
    with pytest.raises(ParameterError, match="no file at that path"):
        read_about(tmp_path / "missing.yaml")


def test_characters_that_do_not_print_become_codes():
    assert read_about({"curator": "a\u202eb\x00"}).curator == "a\\u202eb\\x00"
    assert len(NAMES) == 9
