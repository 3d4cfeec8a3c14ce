"""Every result about anonymity says that it is for owners."""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest

import discreet as dp
from discreet.anonymity.owners import STAMP, OwnerResult, plain_data, with_stamp


@dataclass(frozen=True, repr=False)
class _Share(OwnerResult):
    kind = "share"
    share: Fraction

    def _lines(self) -> list[str]:
        return [f"{float(self.share):.0%}"]


def test_text_and_json_carry_the_stamp():
    result = _Share(Fraction(1, 4))
    assert str(result).splitlines() == ["share", "  25%", STAMP]
    assert result.to_json() == {
        "schema": "discreet.anonymity/1",
        "kind": "share",
        "audience": STAMP,
        "figures": {"share": 0.25},
    }


def test_counts_of_numpy_stay_whole_in_json():
    assert repr(plain_data((np.int64(3), Fraction(1, 2), np.bool_(True)))) == "[3, 0.5, True]"


@dataclass(frozen=True, repr=False)
class _Column(OwnerResult):
    kind = "column"
    name: str

    def _lines(self) -> list[str]:
        return [f"{self.name}: one", "two"]


def test_control_characters_are_shown_as_codes_and_lines_stay_lines():
    assert str(_Column("a\x1b[31m\nb\u202e")).splitlines() == ["column", r"  a\x1b[31m\nb\u202e: one", "  two", STAMP]


def test_a_figure_shows_the_stamp_and_is_described_with_it():
    pytest.importorskip("matplotlib")
    with dp.plots.canvas(4, 3, "Visits") as (figure, _):
        figure.set_label("visits by ward.")
    with_stamp(figure)
    assert " ".join(figure.get_supxlabel().split()) == STAMP
    assert figure.get_label() == f"visits by ward. {STAMP}"
