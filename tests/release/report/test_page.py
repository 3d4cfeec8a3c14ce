"""The page is one file: landmarks, headings in order, tables with headers, nothing from elsewhere."""

import itertools
import re
from html.parser import HTMLParser

import pytest

from discreet.release.report.page import page

VOID = {"meta"}


class Outline(HTMLParser):
    """Elements in order, with what they are in; an error where one is not closed."""

    def __init__(self, text):
        super().__init__()
        self.open, self.elements, self.ids = [], [], []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs), tuple(self.open)))
        self.ids += [value for name, value in attrs if name == "id"]
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def named(self, *tags):
        return [each for each in self.elements if each[0] in tags]


@pytest.fixture(params=[["wards"], ["gauss", "wards", "median", "sql", "selection", "estimate", "row", "exact"]])
def outline(request, facts_of):
    return Outline(page(facts_of(*request.param)))


def test_landmarks_and_headings(outline):
    for tag in ("header", "main", "footer", "nav", "h1"):
        assert len(outline.named(tag)) == 1, tag
    levels = [int(tag[1]) for tag, _, _ in outline.named("h1", "h2", "h3", "h4")]
    assert levels[0] == 1
    assert all(later - earlier <= 1 for earlier, later in itertools.pairwise(levels))
    assert outline.named("html")[0][1]["lang"] == "en"
    assert outline.named("a")[0][1] == {"class": "skip", "href": "#main"}


def test_links_and_labels_lead_to_something(outline):
    assert len(outline.ids) == len(set(outline.ids))
    for _, attributes, _ in outline.elements:
        if "href" in attributes:
            assert attributes["href"].removeprefix("#") in outline.ids
        for name in attributes.get("aria-labelledby", "").split():
            assert name in outline.ids


def test_tables_have_captions_and_headers_with_scope(outline):
    assert len(outline.named("table")) == len(outline.named("caption"))
    assert all("scope" in attributes for _, attributes, _ in outline.named("th"))
    for _, attributes, _ in outline.named("svg"):
        assert attributes["role"] == "img"


def test_nothing_is_loaded_and_nothing_runs(outline, facts_of):
    assert outline.named("script", "link", "img", "iframe", "object", "embed", "base", "form", "input") == []
    for _, attributes, _ in outline.elements:
        assert not {"src", "srcset", "style", "action", "data"} & attributes.keys()
        assert not any(name.startswith("on") for name in attributes)
    text = page(facts_of("wards"))
    assert re.findall(r"https?:|//\w", text) == []
    assert "default-src 'none'" in text


def test_the_same_releases_give_the_same_page(facts_of):
    assert page(facts_of("wards", "gauss")) == page(facts_of("wards", "gauss"))


def test_hostile_facts_stay_text(facts_of):
    text = page(facts_of("wards", deployment="</title><script>x</script>", curator="<b>", unit_name="<i>"))
    Outline(text)
    assert "<script" not in text
    assert "<b>&lt;" not in text
    assert "<i>" not in text
