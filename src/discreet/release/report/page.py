"""The whole report as one HTML file that needs nothing else: no script, no font, no picture from elsewhere."""

from collections.abc import Sequence

from discreet.release.report.facts import Facts
from discreet.release.report.markup import Markup, element, inline, join, paragraph
from discreet.release.report.page_one import page_one, title
from discreet.release.report.page_two import page_two
from discreet.release.report.style import STYLE
from discreet.release.values import rendering

MADE = "Made from saved releases alone, by `discreet report`. "
_CONTENTS = {
    "protection": "Protection",
    "released": "Numbers",
    "accuracy": "Accuracy",
    "decision": "Decision",
    "details": "Details for reviewers",
}


def page(facts: Facts, sections: Sequence[Markup] = ()) -> str:
    """The report as HTML; further sections come after its two pages, and text that is not markup is escaped."""
    heading = f"Privacy report: {title(facts)}"
    head = element(
        "head",
        Markup('<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">'),
        Markup(
            """<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">"""
        ),
        element("title", heading),
        element("style", Markup(STYLE)),
    )
    links = join(element("li", element("a", text, href=f"#{name}")) for name, text in _CONTENTS.items())
    body = element(
        "body",
        element("a", "Skip to the report", class_="skip", href="#main"),
        element(
            "header",
            paragraph("Privacy report"),
            element("h1", title(facts)),
            paragraph(_lead(facts)),
            element("nav", element("ul", links), aria_label="Contents"),
        ),
        element("main", page_one(facts), page_two(facts), *sections, id="main", tabindex="-1"),
        element("footer", paragraph(inline(MADE), facts.software, ".")),
    )
    return f'<!DOCTYPE html>\n<html lang="en">{head}{body}</html>\n'


def _lead(facts: Facts) -> str:
    """What the report is about, in one line."""
    names = ", ".join(each.name for each in facts.reported[:4])
    more = f" and {len(facts.reported) - 4:,} more" if len(facts.reported) > 4 else ""
    product = facts.about.data_product or f"{names}{more}"
    datasets = ", ".join(map(rendering.cell, facts.datasets))
    return f"Differentially private statistics: {product}, from {datasets}"
