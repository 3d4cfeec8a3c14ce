"""The report as HTML: one file that needs nothing else, or a section for the report of releases, in the same style."""

from discreet.anonymity.limits import WorkedTable
from discreet.anonymity.owners import STAMP
from discreet.anonymity.report.bars import Bar, bar_chart
from discreet.anonymity.report.findings import (
    FindingTable,
    RiskFindings,
    RiskSection,
    sections,
    share_text,
    size_bins,
    size_caption,
)
from discreet.anonymity.report.text import unbroken
from discreet.plots.style import percent
from discreet.release.report.markup import Markup, code, element, escape, join, paragraph, table, terms
from discreet.release.report.style import STYLE
from discreet.release.values import rendering
from discreet.version import __version__

MADE = "Made by <code>discreet risk</code>"
ANCHORS = ("attacker", "generalisation", "release", "limits")
_PHONE = """@media (max-width:34rem){.numbers thead th{white-space:normal;vertical-align:bottom}
pre{white-space:pre-wrap;overflow-wrap:anywhere}}
"""
"""Headings and code are broken on a phone, so that nothing is cut at its edge."""
_CONTENTS = ("What an attacker learns", "Generalisation", "Differentially private release", "Not protected")


def page(findings: RiskFindings) -> str:
    """The report as one HTML file without scripts, fonts or pictures from elsewhere."""
    name = rendering.cell(findings.name)
    head = element(
        "head",
        Markup('<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">'),
        Markup(
            """<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">"""
        ),
        element("title", f"Re-identification risk: {name}"),
        element("style", Markup(STYLE + _PHONE)),
    )
    links = zip(ANCHORS, _CONTENTS, strict=True)
    body = element(
        "body",
        element("a", "Skip to the report", class_="skip", href="#main"),
        element(
            "header",
            paragraph("Re-identification risk"),
            element("h1", name),
            element(
                "nav",
                element("ul", *(element("li", element("a", text, href=f"#risk-{anchor}")) for anchor, text in links)),
                aria_label="Contents",
            ),
        ),
        element("main", *_parts(findings, "h2", "h3"), id="main", tabindex="-1"),
        element("footer", paragraph(Markup(MADE), f", discreet {__version__}.")),
    )
    return f'<!DOCTYPE html>\n<html lang="en">{head}{body}</html>\n'


def section(findings: RiskFindings) -> Markup:
    """The report as a section of another page, which has the style of the report of releases."""
    heading = element("h2", f"Re-identification risk: {rendering.cell(findings.name)}", id="risk")
    return element("section", heading, *_parts(findings, "h3", "h4"), aria_labelledby="risk")


def _parts(findings: RiskFindings, level: str, below: str) -> list[Markup]:
    drawn = (_exposure_charts(findings), _cost_charts(findings), Markup(), _worked_tables(findings.limits, below))
    found = zip(ANCHORS, sections(findings), drawn, strict=True)
    parts = [_part(anchor, finding, charts, level) for anchor, finding, charts in found]
    return [paragraph(element("strong", STAMP), class_="stamp"), _cards(findings), *parts]


def _part(anchor: str, finding: RiskSection, charts: Markup, level: str) -> Markup:
    return element(
        "section",
        element(level, finding.heading, id=f"risk-{anchor}"),
        *(paragraph(Markup(unbroken(escape(sentence)))) for sentence in finding.sentences),
        *([charts] if anchor != "limits" else []),
        *(_table(each) for each in finding.tables),
        *([code(finding.code)] if finding.code else []),
        *([charts] if anchor == "limits" else []),
        aria_labelledby=f"risk-{anchor}",
    )


def _cards(findings: RiskFindings) -> Markup:
    counts = findings.counts
    cards = (
        (
            "Alone in their class",
            share_text(counts.unique_share),
            f"{counts.unique_people:,} of {counts.people:,} people",
        ),
        ("Smallest class", f"k = {counts.k:,}", f"{counts.classes:,} classes"),
        ("Expected to be matched", share_text(counts.marketer), "marketer risk"),
    )
    return element(
        "div",
        *(
            element(
                "div",
                paragraph(label, class_="label"),
                paragraph(value, class_="value"),
                paragraph(below, class_="below"),
                class_="card",
            )
            for label, value, below in cards
        ),
        class_="cards",
    )


def _exposure_charts(findings: RiskFindings) -> Markup:
    known = [
        Bar(("+ " if place else "") + rendering.cell(each.columns[-1]), float(each.counts.unique_share), text)
        for place, each in enumerate(findings.growth)
        for text in [share_text(each.counts.unique_share)]
    ]
    bins = size_bins(findings.counts.people_by_size)
    most = max((people for _, people in bins), default=1) or 1
    sizes = [Bar(name, people / most, f"{people:,}") for name, people in bins]
    return element(
        "div",
        bar_chart("Share of people who are alone, as columns become known", known, "risk-growth"),
        bar_chart(size_caption(findings), sizes, "risk-sizes"),
        class_="charts",
    )


def _cost_charts(findings: RiskFindings) -> Markup:
    if not findings.costs:
        return Markup()
    bars = [Bar(f"k = {each.k:,}", each.loss, percent(each.loss)) for each in findings.costs]
    return element("div", bar_chart("Loss of the best generalisation", bars, "risk-cost"), class_="charts")


def _table(found: FindingTable) -> Markup:
    return table(found.caption, found.head, found.rows, found.text_columns, class_="numbers")


def _worked_tables(tables: tuple[WorkedTable, ...], level: str) -> Markup:
    return join(
        element(
            "section",
            element(level, each.name[:1].upper() + each.name[1:]),
            # cells of a worked table are examples, and none of them is the heading of its row
            table(each.holds, each.head, each.rows, 0, class_="worked"),
            terms(each.sentences()[1:]),
        )
        for each in tables
    )
