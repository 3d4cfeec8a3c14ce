"""Page one: what was released, of whom, how strongly it is protected and how exact it is. Plain words, no formula."""

from collections.abc import Iterator

from discreet.release.report import wording
from discreet.release.report.about import REGISTERED
from discreet.release.report.charges import FALSE_POSITIVES, Protection
from discreet.release.report.charts import charts
from discreet.release.report.facts import Facts, ReportedResult
from discreet.release.report.markup import Markup, bullets, element, join, paragraph, table, terms
from discreet.release.values import rendering

_ON_PAGE_TWO = ("protects", "columns read", "contribution bounds")


def page_one(facts: Facts) -> Markup:
    """The first page."""
    return element(
        "section",
        *_stamp(facts),
        _protection(facts),
        _results_section(facts),
        _accuracy(facts),
        _decision(facts),
        id="page-one",
        class_="page",
        aria_label="Page one: summary",
    )


def title(facts: Facts) -> str:
    """The heading of the report."""
    return facts.about.deployment or f"Release from {', '.join(map(rendering.cell, facts.datasets))}"


def _stamp(facts: Facts) -> list[Markup]:
    words = "NOT PRIVATE: exact answers from dp.testing, for tests only. Do not publish this page."
    return [] if facts.is_private else [paragraph(element("strong", words), class_="stamp")]


def _protection(facts: Facts) -> Markup:
    blocks = [_strength(facts, each) for each in facts.protections]
    return element(
        "section",
        element("h2", "How people are protected", id="protection"),
        *blocks,
        *([paragraph(_APART)] if len(blocks) > 1 else []),
        aria_labelledby="protection",
    )


_APART = (
    "These guarantees are for different units, rows of different datasets, or ledgers, and do not compare. Where the "
    "same people are in several of them, their epsilons and deltas add up."
)


def _strength(facts: Facts, protection: Protection) -> Markup:
    """Three figures, then sentences; epsilon stands in one box with its delta, unit and period."""
    cards = [
        _card(
            "Privacy loss",
            _unbroken(wording.guarantee(protection)),
            f"{wording.unit(protection)}, {wording.span(protection)}",
        ),
        _factor_card(protection),
        _attacker_card(protection),
    ]
    warning = [paragraph(element("strong", _ROWS), class_="stamp")] if protection.is_row else []
    words = (wording.odds(protection, facts.about), wording.attacker(protection, facts.about))
    several = len(facts.protections) > 1
    heading = [element("h3", f"Protection of {rendering.cell(protection.who)}")] if several else []
    return element(
        "div", *heading, element("div", *cards, class_="cards"), *warning, *map(paragraph, words), class_="protection"
    )


def _factor_card(protection: Protection) -> Markup:
    what, factor = "Chances" if protection.delta else "Odds", protection.factor()
    if factor is None:
        return _card(f"How far {what.lower()} change", wording.NO_BOUND, "the privacy loss is too large")
    return _card(f"{what} change by at most", f"a factor of {wording.factor_text(factor)}", "1 would be no change")


def _attacker_card(protection: Protection) -> Markup:
    """Insiders, where neighbours differ in who is in the data; else units with one of two possible records."""
    whom = "units with one of two possible records" if protection.is_replacement else "insiders"
    return _card(
        "An attacker recognises at most",
        wording.percent_up(protection.true_positive_rate),
        f"of {whom}, at {wording.percent_up(FALSE_POSITIVES)} false alarms; "
        f"advantage over guessing at most {wording.percent_up(protection.advantage)}",
    )


_ROWS = "Rows are protected, not people: somebody with several rows is protected less."


def _unbroken(text: str) -> Markup:
    """Parts between commas, each on one line: "9e-08" would break at its hyphen."""
    return join((element("span", part, class_="keep") for part in text.split(", ")), ", ")


def _card(label: str, value: str, below: str) -> Markup:
    return element(
        "div",
        paragraph(label, class_="label"),
        paragraph(value, class_="value"),
        paragraph(below, class_="below"),
        class_="card",
    )


def _results_section(facts: Facts) -> Markup:
    parts = [_result(each, place, len(facts.reported) > 1) for place, each in enumerate(facts.reported)]
    return element("section", element("h2", "What was released", id="released"), *parts, aria_labelledby="released")


def _result(each: ReportedResult, place: int, is_one_of_many: bool) -> Markup:
    found = each.table
    heading = [element("h3", each.name)] if is_one_of_many else []
    caption = f"Numbers of {each.name}, from {_dataset(each)}"
    numbers = table(caption, found.head, found.rows, found.text_columns, class_="numbers")
    drawn = charts(found, f"chart{place}")
    return element(
        "div",
        *heading,
        terms(_query(each), class_="query"),
        element("div", numbers, *([element("div", *drawn, class_="charts")] if drawn else []), class_="result"),
        paragraph(join(found.notes, "; "), ".", class_="note"),
        class_="reported",
    )


def _dataset(each: ReportedResult) -> str:
    return ", ".join(dict.fromkeys(f"{r.dataset}, version {r.version}" for r in each.results))


def _query(each: ReportedResult) -> Iterator[tuple[str, str]]:
    for label, text in each.query():
        if label in _ON_PAGE_TWO:
            continue
        if label == "output":
            name, _, what = text.partition(" = ")
            yield "released", f"{name}: {wording.in_words(what)}"
        else:
            yield label, wording.in_words(text)


def _accuracy(facts: Facts) -> Markup:
    return element(
        "section",
        element("h2", "How exact the numbers are", id="accuracy"),
        paragraph("Noise protects people, so every number is slightly wrong. ± is the margin of error of that noise."),
        paragraph("Margins do not include:")
        if facts.margin_omissions
        else paragraph("Margins are for the noise alone."),
        bullets(facts.margin_omissions, class_="tight"),
        aria_labelledby="accuracy",
    )


def _decision(facts: Facts) -> Markup:
    """Who is responsible, and lines for a signature."""
    labels = {name: name.capitalize() for name in REGISTERED[1:]} | {"period": "Period of the data"}
    stated = [(label, _fact(facts, name)) for name, label in labels.items()]
    blank = terms([(label, Markup("&nbsp;")) for label in ("Reviewed by", "Decision", "Date")], class_="sign")
    return element(
        "section",
        element("h2", "Responsibility and decision", id="decision"),
        terms(stated, class_="facts"),
        blank,
        aria_labelledby="decision",
    )


def _fact(facts: Facts, name: str) -> Markup | str:
    text = facts.about.text(name)
    return text if getattr(facts.about, name) else element("em", text)
