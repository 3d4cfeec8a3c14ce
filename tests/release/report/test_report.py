"""`dp.report`: from releases or files, saved as three files, never over something else."""

import json

import pytest

import discreet as dp
from discreet.catalog import strict_yaml
from discreet.errors import ParameterError
from discreet.release.report.report import ReleaseReport, report


def test_a_report_of_releases_and_of_files_is_the_same_but_for_names(made, wards):
    place = made[0]
    one, other = dp.report(wards), dp.report([place / "wards.json"])
    assert isinstance(one, ReleaseReport)
    assert dp.report is report
    assert one.to_html().replace("the release", "x") != other.to_html()
    assert one.to_json()["guarantees"] == other.to_json()["guarantees"]
    assert str(other).startswith(
        "report of wards.json\nepsilon 0.5, delta 0, for one patient_id, added or removed, over"
    )


def test_three_files_are_saved_and_replaced(made, tmp_path):
    found = dp.report([made[0] / "wards.csv"], about={"curator": "Example hospital"})
    places = found.save(tmp_path / "out.html")
    assert [path.name for path in places] == ["out.html", "out.json", "out.registry.yaml"]
    texts = [path.read_text(encoding="utf-8") for path in places]
    assert texts[0] == found.to_html()
    assert json.loads(texts[1]) == found.to_json()
    assert strict_yaml.read(texts[2])["curator"] == "Example hospital"
    found.save(str(tmp_path / "out.html"))
    assert [path.read_text(encoding="utf-8") for path in places] == texts


@pytest.mark.parametrize("name", ["out.html", "out.json", "out.registry.yaml"])
@pytest.mark.parametrize("content", ["other", "{", "\xff"])
def test_a_file_of_another_kind_is_not_replaced(wards, tmp_path, name, content):
    (tmp_path / name).write_text(content, encoding="latin-1")
    with pytest.raises(ParameterError, match="is not a report"):
        dp.report(wards).save(tmp_path / "out.html")
    assert len(list(tmp_path.iterdir())) == 1


def test_the_release_itself_is_not_replaced(wards, tmp_path):
    wards.save(tmp_path / "wards.json")
    found = dp.report(tmp_path / "wards.json")
    with pytest.raises(ParameterError) as refusal:
        found.save(tmp_path / "wards.html")
    assert "wards-report.html" in refusal.value.instead
    found.save(tmp_path / "wards-report.html")
    assert dp.Release.load(tmp_path / "wards.json") == wards


@pytest.mark.parametrize("name", ["out.pdf", "missing/out.html", "directory.html"])
def test_other_places_are_refused(wards, tmp_path, name):
    (tmp_path / "directory.html").mkdir()
    with pytest.raises(ParameterError, match="an HTML file in a directory that is there"):
        dp.report(wards).save(tmp_path / name)


def test_a_csv_file_that_was_changed_is_refused(wards, tmp_path):
    wards.save(tmp_path / "wards.csv")
    with (tmp_path / "wards.csv").open("a") as file:
        file.write("x,1,1,1,1\n")
    with pytest.raises(ParameterError, match="not those of the sidecar"):
        dp.report(tmp_path / "wards.csv")
