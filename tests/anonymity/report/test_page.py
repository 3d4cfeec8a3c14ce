"""The page: it needs nothing from elsewhere, and nothing of the data is markup in it."""

from html.parser import HTMLParser

from discreet.anonymity.owners import STAMP
from discreet.anonymity.report.page import ANCHORS, page, section
from discreet.release.report.style import STYLE


class Elements(HTMLParser):
    """Counts elements, and collects ids and links."""

    VOID = ("meta",)

    def __init__(self):
        super().__init__()
        self.open, self.ids, self.links, self.names = [], [], [], set()

    def handle_starttag(self, tag, attrs):
        values = dict(attrs)
        self.names.add(tag)
        self.ids += [values["id"]] if "id" in values else []
        self.links += [values["href"]] if "href" in values else []
        assert not {"src", "onclick", "style"} & values.keys()
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def elements(text):
    found = Elements()
    found.feed(text)
    assert found.open == []
    assert len(set(found.ids)) == len(found.ids)
    return found


def test_the_page_is_well_formed_and_its_links_lead_somewhere(report):
    found = elements(page(report.findings))
    assert {link.removeprefix("#") for link in found.links} <= set(found.ids)
    assert {f"risk-{anchor}" for anchor in ANCHORS} <= set(found.ids)
    assert "script" not in found.names


def test_the_page_has_the_stamp_the_style_of_releases_and_the_code(report):
    text = page(report.findings)
    assert STAMP in text
    assert STYLE in text
    assert "dp.protect(" in text
    assert 'class="stamp"' in text


def test_data_is_escaped(evil_report):
    text = page(evil_report.findings)
    found = elements(text)
    assert "script" not in found.names
    assert "\x1b" not in text


def test_a_section_has_no_page_around_it(report):
    text = section(report.findings)
    found = elements(text)
    assert text.startswith("<section")
    assert not {"html", "body", "h1", "style"} & found.names


def test_worked_tables_are_on_the_page(report):
    text = page(report.findings)
    for table in report.findings.limits:
        assert table.name[1:] in text


def test_no_line_is_broken_inside_a_figure_and_no_space_is_shown_as_a_code(report):
    text = page(report.findings)
    assert "\\xa0" not in text
    assert "k\N{NO-BREAK SPACE}=\N{NO-BREAK SPACE}1" in text


def test_a_phone_breaks_headings_and_code(report):
    assert "pre{white-space:pre-wrap" in page(report.findings)
