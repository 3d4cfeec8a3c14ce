"""Page two has what a reviewer looks for."""

import html
import re
import shlex
from dataclasses import replace

from typer.testing import CliRunner

from discreet.cli import app
from discreet.ledger import Signer
from discreet.release.report.about import About
from discreet.release.report.facts import gather
from discreet.release.report.hazards import hazards
from discreet.release.report.page_two import commands, page_two

HEADINGS = (
    "Parameters",
    "How the numbers were made",
    "Not protected",
    "Other releases",
    "Harms",
    "Threat model",
    "Hazards of NIST SP 800-226",
    "How to verify",
    "Registry entry",
)


def text(markup):
    return html.unescape(re.sub(r"<[^>]+>", "", markup))


def test_all_parts_are_there(facts_of):
    page = page_two(facts_of("wards"))
    assert tuple(re.findall(r"<h3>(.*?)</h3>", page)) == HEADINGS
    words = text(page)
    for part in (
        "exact sum chargedepsilon 0.5, rho ",
        "columns readage, cost, patient_id, ward",
        "of one patient_id at most 6 rows in all, 2 groups, 3 rows in each group",
        "values clipped to 0 to 5,000, bounds from the query",
        "5 public keys from the query",
        "none: numbers are as drawn",
        "inferences about a person that would hold without their data",
        "The owner declares none.",
    ):
        assert part in words


def test_every_hazard_is_an_item_with_its_status(facts_of):
    facts = facts_of("wards")
    listed = re.search(r"<ol>.*?</ol>", page_two(facts))[0]
    items = re.findall(r"<li>(<b>.*?)</li>", listed)
    assert len(items) == 24
    for item, hazard in zip(items, hazards(facts), strict=True):
        assert text(item).startswith(f"{hazard.name}: {hazard.status}")
        assert hazard.text.replace("`", "") in text(item)


def test_the_command_that_is_printed_verifies_the_file(made):
    place = made[0]
    public = Signer.at(place / "signing.key").public
    facts = gather([place / "wards.csv"], About(public_key=public))
    (command,) = commands(facts)
    words = shlex.split(command)
    assert words[:3] == ["discreet", "release", "verify"]
    result = CliRunner().invoke(app, [*words[1:3], str(place / words[3]), *words[4:]])
    assert result.exit_code == 0, result.output
    assert html.escape(command) in page_two(facts)


def test_names_of_files_are_quoted_for_a_shell(made, wards, tmp_path):
    path = tmp_path / "a b; rm.json"
    wards.save(path)
    assert commands(gather([path], About())) == ["discreet release verify 'a b; rm.json' --key PUBLIC_KEY"]
    assert commands(gather([wards], About())) == ["discreet release verify release.json --key PUBLIC_KEY"]


def test_signatures_are_stated_and_not_claimed_to_be_checked(facts_of, wards):
    assert "signed these numbers; this report did not check it" in page_two(facts_of("wards"))
    assert "signed the original of these numbers" in page_two(facts_of("rounded"))
    assert "not signed, so edits" in page_two(gather([replace(wards, signed=None)], About()))
