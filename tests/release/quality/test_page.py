"""A page is one file: no script, nothing from elsewhere, everything escaped, and its stamp comes first."""

from discreet.release.quality.page import MADE, PageSection, QualityPage, quality_page
from discreet.release.quality.shares import ColumnShares


def page(**changes):
    shown = {
        "name": "people",
        "stamp": None,
        "intro": ("An introduction.",),
        "reference": "data",
        "cards": (("Rows", "10", "drawn"),),
        "caption": "Exact",
        "figures": (("One-way distance", "0.01", "mean"),),
        "columns": (ColumnShares("a", False, ("x",), (1.0, 0.0), (1.0, 0.0)),) * 2,
        "pairs": {("a", "b"): 0.1},
        "pair_caption": "Distances",
        "sections": (PageSection("Risks", ("A sentence.",), ("attack", "risk"), (("linkability", "1%"),), "Rates"),),
    }
    return quality_page(QualityPage(**(shown | changes)))


def test_a_page_needs_nothing_else():
    text = page()
    assert text.startswith("<!DOCTYPE html>")
    assert "default-src 'none'" in text
    assert not any(word in text for word in ("<script", "http://", "https://", "@import", "url("))
    assert MADE in text


def test_a_stamp_stands_before_the_figures():
    text = page(stamp="For the owners of the data only")
    assert text.index("For the owners") < text.index("Figures")
    assert 'class="stamp"' not in page()


def test_names_and_texts_are_escaped():
    text = page(name="<img src=x>", sections=(PageSection("<b>", ("<i>",)),))
    assert "<img" not in text
    assert "&lt;img" in text
    assert "<i>" not in text


def test_parts_without_content_are_left_out():
    text = page(columns=(), pairs={}, sections=())
    assert "Single columns" not in text
    assert "Pairs of columns" not in text
