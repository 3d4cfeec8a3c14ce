"""A page replaces nothing but an earlier page."""

import pytest

from discreet.errors import ParameterError
from discreet.release.quality.files import require_page_place
from discreet.release.quality.page import MADE


def test_a_page_goes_to_a_new_file_or_replaces_a_page(tmp_path):
    place = tmp_path / "quality.html"
    assert require_page_place(str(place)) == place
    place.write_text(f"<p>{MADE}</p>")
    assert require_page_place(place) == place


def test_other_files_and_places_are_refused(tmp_path):
    (tmp_path / "other.html").write_text("other")
    for place in ("other.html", "quality.txt", "none/quality.html"):
        with pytest.raises(ParameterError):
            require_page_place(tmp_path / place)
