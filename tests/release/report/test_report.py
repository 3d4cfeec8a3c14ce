"""`dp.report`: from releases or files, saved as three files, never over something else."""

import json
import random

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
    pages = [found.to_html().replace(name, "NAME") for found, name in ((one, "the release"), (other, "wards.json"))]
    # without a file, the command that verifies has the name of an example
    assert pages[0].replace("release.json", "NAME") == pages[1]
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


VALUES = (None, -1, 5, "", "<b>", "9" * 5_000, "\u202e\x00", [], {}, True, 1.5, "1/0", 10**400, [["a", "b"]])


def places(data, above=()):
    """The path of every value in plain data."""
    for name, value in data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ():
        yield (*above, name)
        yield from places(value, (*above, name))


@pytest.mark.parametrize("name", ["wards", "sql", "selection", "estimate", "keys", "median"])
def test_any_edit_of_a_file_is_refused_or_stays_text(made, tmp_path, name):
    """Forty edits that a fixed seed draws: no other error than a refusal, and nothing of a file becomes markup."""
    draw = random.Random(name)  # noqa: S311 - edits of a test, not noise
    text = (made[0] / f"{name}.json").read_text(encoding="utf-8")
    paths = list(places(json.loads(text)))
    for _ in range(40):
        data = json.loads(text)
        path, inner = draw.choice(paths), data
        for step in path[:-1]:
            inner = inner[step]
        inner[path[-1]] = draw.choice(VALUES)
        (tmp_path / "edited.json").write_text(json.dumps(data), encoding="utf-8")
        try:
            found = dp.report(tmp_path / "edited.json")
            page = found.to_html() + found.registry() + json.dumps(found.to_json())
        except dp.errors.DiscreetError:
            continue
        assert "<b></" not in page
        assert "\u202e" not in page
