"""A report tells every finding as text, JSON and HTML, and never says that anything is private."""

import html.parser
import json
import math

import pytest

from discreet.auditing.finding import Finding, Verdict
from discreet.auditing.report import FORMAT, Report
from discreet.errors import ParameterError, UnsupportedError
from discreet.testing import generator

HISTOGRAM = {"edges": [0.0, 1.0, 2.0], "one": [5, 5], "other": [9, 1]}
EVENT = {"feature": "value", "relation": ">=", "level": 1.0}
POINTS = [{"level": 1.0, "false_positive": 0.2, "false_negative": 0.6}]


def finding(**changes):
    usual = {
        "subject": "a count",
        "layer": "statistics",
        "claim": "epsilon 1",
        "verdict": Verdict.NOTHING_FOUND,
        "evidence": "value >= 1 came 5 times in 10",
        "stated": 1.0,
        "found": 0.5,
        "samples": 10,
        "alarm": 1e-3,
    }
    return Finding(**usual | changes)


BROKEN = finding(subject="<b>a sum</b>", verdict=Verdict.BROKEN, found=math.inf, evidence="NaN came & went")
SEEN = finding(detail={"histogram": HISTOGRAM, "event": EVENT, "trade_off": POINTS})


class Tags(html.parser.HTMLParser):
    def __init__(self, page):
        super().__init__()
        self.open, self.seen, self.texts, self.images = [], [], [], []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.seen.append(tag)
        if tag == "img":
            self.images.append(dict(attrs))
        if tag not in ("meta", "img"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.texts.append(data)


def test_a_report_is_ok_unless_a_claim_is_broken_or_a_control_was_missed():
    assert Report.of([finding(), finding(verdict=Verdict.SKIPPED)]).ok
    assert not Report.of([finding(), BROKEN]).ok
    assert not Report.of([finding(verdict=Verdict.VOID)]).ok


def test_false_alarms_add_up():
    assert Report.of([finding(), finding(alarm=0.0), BROKEN]).alarm == pytest.approx(2e-3)
    assert Report.of([finding(alarm=0.7), finding(alarm=0.7)]).alarm == 1


def test_the_text_names_every_finding_and_tells_why_a_claim_is_broken():
    text = str(Report.of([finding(), BROKEN]))
    assert "a count" in text
    assert "NaN came & went" in text
    assert "1 nothing found, 1 broken" in text
    assert "chance of at most 0.002" in text
    assert "private" not in text


def test_a_single_finding_tells_its_evidence_whatever_it_is():
    assert "value >= 1 came 5 times" in str(Report.of([finding()]))


def test_a_report_of_nothing_says_so():
    assert "nothing was examined" in str(Report.of([]))


def test_json_says_everything_and_infinities_as_text():
    data = json.loads(Report.of([SEEN, BROKEN], "two").to_json())
    assert (data["format"], data["title"], data["ok"]) == (FORMAT, "two", False)
    assert data["findings"][1]["found"] == "inf"
    assert data["findings"][0]["detail"]["histogram"]["one"] == [5, 5]


def test_html_is_well_formed_escaped_and_its_pictures_are_described():
    page = Tags(Report.of([SEEN, BROKEN], "a <title>").to_html())
    assert page.open == []
    assert "b" not in page.seen
    assert "<b>a sum</b>" in page.texts
    assert [image["alt"] for image in page.images] == ["a count: value >= 1 came 5 times in 10"]


@pytest.mark.parametrize("ending", ["html", "json"])
def test_a_report_is_saved_by_its_ending(tmp_path, ending):
    report = Report.of([finding()])
    report.save(tmp_path / f"audit.{ending}")
    assert (tmp_path / f"audit.{ending}").read_text() == getattr(report, f"to_{ending}")()


def test_another_ending_is_refused(tmp_path):
    with pytest.raises(ParameterError, match="neither JSON nor HTML"):
        Report.of([finding()]).save(tmp_path / "audit.pdf")


def test_a_real_audit_makes_a_report_with_a_picture():
    from discreet.auditing.statistical.audit import audit  # noqa: PLC0415 - the layer below it, for this test alone

    noise = generator(1)
    found = audit(lambda data, count: data + noise.laplace(0, 0.2, count), 0.0, 1.0, epsilon=1, many=True, samples=400)
    page = Tags(Report.of([found]).to_html())
    assert found.is_broken
    assert len(page.images) == 1


def test_a_long_report_is_told_by_layer_with_what_is_remarkable():
    skipped = finding(subject="skipped one", verdict=Verdict.SKIPPED, evidence="it is not installed")
    text = str(Report.of([finding(subject=f"usual {number}") for number in range(60)] + [BROKEN, skipped]))
    assert "usual" not in text
    assert "skipped one: it is not installed" in text
    assert "statistics  60             1       1" in text


def test_a_report_says_how_to_make_it_again():
    report = Report.of([finding()], "t", "discreet audit a:b --one '<x>'")
    assert "discreet audit a:b --one &#x27;&lt;x&gt;&#x27;" in report.to_html()
    assert json.loads(report.to_json())["about"] == "discreet audit a:b --one '<x>'"


def test_a_report_into_no_directory_is_refused(tmp_path):
    with pytest.raises(ParameterError, match="no such directory"):
        Report.of([finding()]).save(tmp_path / "nowhere" / "audit.html")


def test_without_matplotlib_a_page_says_that_its_pictures_are_left_out(monkeypatch):
    def missing(_):
        raise UnsupportedError("a plot", because="matplotlib is not installed", instead="pip install it")

    monkeypatch.setattr("discreet.auditing.figures.figure", missing)
    page = Report.of([SEEN]).to_html()
    assert "Pictures are left out: matplotlib is not installed" in page
