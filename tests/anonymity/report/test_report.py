"""The report as an object: text, page, pictures and plain data that agree."""

import json
import stat

import pytest

import discreet as dp
from discreet.anonymity.owners import STAMP
from discreet.errors import ParameterError


def test_text_and_json_have_the_same_figures_and_the_stamp(report):
    data = json.loads(json.dumps(report.to_json()))
    assert data["audience"] == STAMP
    assert data["kind"] == "re-identification risk"
    counts = data["figures"]["counts"]
    assert f"{counts['unique_people']:,} (" in str(report)
    assert counts["prosecutor_risk"] == 1
    assert counts["marketer_risk"] == pytest.approx(counts["classes"] / counts["pairs"])
    assert data["figures"]["limits"][0]["name"] == "homogeneity"
    assert str(report) == repr(report) == report.text(80)


def test_a_page_is_written_and_replaces_only_an_earlier_report(report, tmp_path):
    path = report.save(tmp_path / "risk.html")
    assert path.read_text(encoding="utf-8") == report.to_html()
    report.save(path)
    (tmp_path / "other.html").write_text("mine")
    for place in ("other.html", "risk.txt", "nowhere/risk.html", f"{'n' * 300}.html"):
        with pytest.raises(ParameterError):
            report.save(tmp_path / place)
    assert (tmp_path / "other.html").read_text() == "mine"


def test_pages_and_pictures_are_stamped_and_only_the_user_may_read_them(report, tmp_path):
    pytest.importorskip("matplotlib")
    paths = [report.save(tmp_path / "risk.html"), *report.save_plots(tmp_path)]
    for path in paths:
        assert STAMP in path.read_text(encoding="utf-8")
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert sorted(tmp_path.iterdir()) == sorted(paths)


def test_pictures_are_written_to_a_directory_that_is_created_if_need_be(report, tmp_path):
    pytest.importorskip("matplotlib")
    paths = report.save_plots(tmp_path)
    assert {path.name for path in paths} >= {"risk-class-sizes.svg", "risk-unique-share.svg"}
    assert all(path.read_text(encoding="utf-8").startswith("<?xml") for path in paths)
    assert [path.name for path in report.save_plots(tmp_path / "new" / "plots")] == [path.name for path in paths]
    for place in (paths[0], paths[0] / "below"):
        with pytest.raises(ParameterError):
            report.save_plots(place)


def test_a_notebook_shows_the_section(report):
    assert report._repr_html_().startswith("<section")


def test_the_report_is_public():
    assert dp.anonymity.risk_report.__doc__
    assert "risk_report" in dir(dp.anonymity)


def test_the_report_of_releases_takes_the_section(report):
    people = dp.datasets.people(200)
    with dp.testing.protect(people, name="people", privacy_unit=dp.ROW, budget=dp.Budget(epsilon=1)) as session:
        release = session.release(dp.table("people").agg(n=dp.count()), epsilon=0.5)
    page = dp.report(release).to_html(sections=[report.section(), "<b>not markup</b>"])
    assert report.section() in page
    assert "<b>not markup" not in page
    assert page.count("<main") == 1
    assert report.section() not in dp.report(release).to_html()


def test_a_clock_runs_on_the_terminal_while_the_risk_is_measured(monkeypatch):
    seen = []

    def shown(run, **words):
        seen.append(words["label"])
        return run()

    monkeypatch.setattr("discreet.anonymity.report.report.shown_while", shown)
    dp.anonymity.risk_report(dp.datasets.people(50), ["sex"])
    assert seen == ["measuring the risk"]
