"""One page on the quality of a synthetic table: a file without scripts, fonts or pictures from elsewhere."""

from collections.abc import Mapping
from dataclasses import dataclass

from discreet.release.quality.charts import column_picture, pair_matrix
from discreet.release.quality.shares import ColumnShares
from discreet.release.report.markup import Markup, element, paragraph, table
from discreet.release.report.style import STYLE
from discreet.release.values import rendering
from discreet.version import __version__

MADE = "Made by <code>quality</code> of a synthetic table"
_POLICY = "default-src 'none'; style-src 'unsafe-inline'"
_OWN_STYLE = """
svg .base{fill:var(--line);stroke:var(--soft);stroke-width:.6}
svg .step{fill:none;stroke:var(--mark);stroke-width:2.4}
.legend span{display:inline-block;width:1.6rem;height:.8rem;margin:0 .4rem 0 1.2rem;vertical-align:-.05rem}
.legend span:first-child{margin-left:0;background:var(--line);border:1px solid var(--soft)}
.legend span:nth-child(2){height:0;border-top:3px solid var(--mark);vertical-align:.3rem}
.matrix table{width:auto}
.matrix td,.matrix thead th{text-align:center;font-variant-numeric:tabular-nums;font-size:.85rem;padding:.3rem .45rem}
.matrix tbody th{font-weight:400;white-space:nowrap;padding-right:.8rem}
.matrix td{background:color-mix(in srgb,var(--mark) var(--shade,0%),transparent);border:1px solid var(--paper)}
@media (min-width:34.01rem){.figures tbody th{white-space:nowrap}}
.figures td:nth-child(2){font-variant-numeric:tabular-nums;white-space:nowrap;font-weight:600}
.charts{gap:1.2rem 1.5rem}
figcaption .note{font-weight:400}
@media (max-width:34rem){.numbers thead th{white-space:normal;vertical-align:bottom}.numbers td{white-space:normal}
.matrix td,.matrix thead th{font-size:.72rem;padding:.3rem .2rem}.matrix tbody th{font-size:.8rem;padding-right:.4rem}
.figures,.figures caption,.figures tbody,.figures tr,.figures th,.figures td{display:block;border:0;padding-bottom:0}
.figures thead{position:absolute;left:-99rem}.figures tr{border-bottom:1px solid var(--line);padding:.4rem 0}}
"""


@dataclass(frozen=True)
class PageSection:
    """A section of a page.

    Attributes:
        heading: Its heading.
        sentences: Its paragraphs.
        head: The heads of its table; none where it has no table.
        rows: The rows of its table, the first cell as the heading of each.
        caption: What its table shows.
    """

    heading: str
    sentences: tuple[str, ...] = ()
    head: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()
    caption: str = ""


@dataclass(frozen=True)
class QualityPage:
    """What the page shows.

    Attributes:
        name: Name of the dataset.
        stamp: Who may see it; None where everybody may.
        intro: Sentences under the title.
        reference: What synthetic rows are compared with, in two or three words.
        cards: Label, figure and a line under it, of the figures that matter most.
        caption: What the figures are.
        figures: Name, figure and meaning of each figure.
        columns: Shares of single columns.
        pairs: Distances of pairs of columns.
        pair_caption: What these distances are.
        sections: Further sections.
    """

    name: str
    stamp: str | None
    intro: tuple[str, ...]
    reference: str
    cards: tuple[tuple[str, str, str], ...]
    caption: str
    figures: tuple[tuple[str, str, str], ...]
    columns: tuple[ColumnShares, ...]
    pairs: Mapping[tuple[str, str], float]
    pair_caption: str
    sections: tuple[PageSection, ...]


def quality_page(page: QualityPage) -> str:
    """The page as text."""
    name = rendering.cell(page.name)
    head = element(
        "head",
        Markup('<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">'),
        Markup(f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'),
        element("title", f"Quality of a synthetic table: {name}"),
        element("style", Markup(STYLE + _OWN_STYLE)),
    )
    body = element(
        "body",
        element("a", "Skip to the report", class_="skip", href="#main"),
        element("header", paragraph("Quality of a synthetic table"), element("h1", name)),
        element("main", *_parts(page), id="main", tabindex="-1"),
        element("footer", paragraph(Markup(MADE), f", discreet {__version__}.")),
    )
    return f'<!DOCTYPE html>\n<html lang="en">{head}{body}</html>\n'


def _parts(page: QualityPage) -> list[Markup]:
    stamp = [] if page.stamp is None else [paragraph(element("strong", page.stamp), class_="stamp")]
    return [
        *stamp,
        *map(paragraph, page.intro),
        element("div", *(_card(*each) for each in page.cards), class_="cards"),
        _section(
            "figures", "Figures", table(page.caption, ("figure", "value", "meaning"), page.figures, 1, class_="figures")
        ),
        *_pictures(page),
        *(_further(each, place) for place, each in enumerate(page.sections)),
    ]


def _pictures(page: QualityPage) -> list[Markup]:
    words = page.reference, "synthetic rows"
    legend = paragraph(element("span"), page.reference, element("span"), "synthetic rows", class_="legend")
    drawn = [column_picture(each, words, place) for place, each in enumerate(page.columns)]
    parts = [_section("columns", "Single columns", legend, element("div", *drawn, class_="charts"))] if drawn else []
    if page.pairs:
        names = [each.name for each in page.columns] or sorted({name for pair in page.pairs for name in pair})
        parts.append(_section("pairs", "Pairs of columns", pair_matrix(page.pair_caption, names, page.pairs)))
    return parts


def _further(found: PageSection, place: int) -> Markup:
    rows = [table(found.caption, found.head, found.rows, 1, class_="numbers")] if found.rows else []
    return _section(f"section-{place}", found.heading, *rows, *map(paragraph, found.sentences))


def _section(name: str, heading: str, *parts: Markup) -> Markup:
    return element("section", element("h2", heading, id=name), *parts, aria_labelledby=name)


def _card(label: str, value: str, below: str) -> Markup:
    texts = (("label", label), ("value", value), ("below", below))
    return element("div", *(paragraph(text, class_=kind) for kind, text in texts), class_="card")
