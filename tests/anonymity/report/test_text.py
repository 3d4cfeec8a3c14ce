"""The report in a terminal: at 80 and 120 columns, without control characters, with the stamp at the top."""

import pytest

from discreet.anonymity.owners import STAMP
from discreet.anonymity.report.findings import FindingTable
from discreet.anonymity.report.text import table_lines, text


@pytest.mark.parametrize("width", [80, 120])
def test_every_line_fits(report, width):
    lines = text(report.findings, width).splitlines()
    assert max(map(len, lines)) <= width
    code = report.findings.plan.total_code.splitlines()
    assert [line for line in lines if len(line) > width and line not in code] == []


def test_no_line_ends_inside_a_figure(report):
    for line in (line for width in range(60, 121) for line in text(report.findings, width).splitlines()):
        assert not line.endswith((" l", " t", " =", "±"))
        assert not line.strip().startswith(("= ", "± "))
        assert "\N{NO-BREAK SPACE}" not in line


def test_the_stamp_is_at_the_top(report):
    assert STAMP in " ".join(text(report.findings, 80).splitlines()[1:3])


def test_the_code_is_printed_as_it_is(report):
    # 3,000 people are too few for the table
    assert report.findings.plan.total_code in text(report.findings, 80)


def test_control_characters_of_the_data_are_not_printed(evil_report):
    printed = text(evil_report.findings, 80)
    assert all(character == "\n" or character.isprintable() for character in printed)
    assert "\x1b" not in printed


def test_long_names_are_cut_so_that_numbers_fit():
    table = FindingTable("a", ("column", "people"), (("x" * 200, "1,000"),))
    lines = table_lines(table, 40)
    assert max(map(len, lines)) == 40
    assert lines[1].endswith("…   1,000")
