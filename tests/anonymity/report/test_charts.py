"""Pictures: each has its numbers as text, and names are cut."""

import pytest

from discreet.anonymity.owners import STAMP
from discreet.anonymity.report import charts

pytest.importorskip("matplotlib")


def test_each_picture_carries_its_numbers_as_text(report):
    figures = charts.all_figures(report.findings)
    assert list(figures)[:2] == ["class-sizes", "unique-share"]
    sizes, shares = figures["class-sizes"].get_label(), figures["unique-share"].get_label()
    assert f"{report.findings.counts.unique_people:,} people" in sizes
    assert "+ birth_date" in shares
    assert "k = 1" in shares


def test_the_stamp_is_drawn_and_described(report):
    for figure in charts.all_figures(report.findings).values():
        assert " ".join(figure.get_supxlabel().split()) == STAMP
        assert figure.get_label().endswith(STAMP)


def test_the_cost_is_drawn_where_a_search_was_possible(report):
    assert ("generalisation-cost" in charts.all_figures(report.findings)) == bool(report.findings.costs)


def test_names_of_the_data_are_one_line_of_printable_text(evil_report):
    for figure in charts.all_figures(evil_report.findings).values():
        assert figure.get_label().isprintable()
