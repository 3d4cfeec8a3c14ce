"""Names that a reader could not tell apart, or not see, are refused."""

import pytest

from discreet.catalog.names import check_names
from discreet.errors import CatalogError


def test_plain_names_are_taken_as_they_are():
    check_names(["age", "Alter in Jahren", "ändern", "visits-2026-10", "x" * 200], "column")
    check_names([], "table")


@pytest.mark.parametrize("name", ["", "x" * 201, "a\nb", "a\x00", "dp.ROW", "discreet_key", "Discreet_x", "\u200b"])
def test_names_that_cannot_be_seen_or_are_taken_are_refused(name):
    with pytest.raises(CatalogError, match="names are 1 to 200 characters that can be seen"):
        check_names(["age", name], "column")


@pytest.mark.pitfall("D")
@pytest.mark.parametrize("other", ["Age", "age ", "\u0430ge", "ａｇｅ"])  # noqa: RUF001 - letters that look alike
def test_names_that_look_alike_are_refused(other):
    with pytest.raises(CatalogError, match="letters that look alike"):
        check_names(["age", other], "table")
