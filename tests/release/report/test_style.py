"""The style needs nothing from elsewhere, and its colours have contrast in light, dark and print."""

import re

import pytest

from discreet.release.report.style import STYLE


def luminance(colour):
    digits = colour if len(colour) == 7 else "#" + "".join(2 * digit for digit in colour[1:])
    parts = [int(digits[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return sum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def contrast(one, other):
    high, low = sorted((luminance(one), luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


THEMES = [dict(re.findall(r"--(\w+):(#\w+)", block)) for block in re.findall(r":root\{[^}]+\}", STYLE)]


@pytest.mark.parametrize("theme", THEMES, ids=["light", "dark", "print"])
def test_text_has_the_contrast_of_level_aa(theme):
    for ink in ("ink", "soft", "mark", "warn"):
        for paper in ("paper", "panel"):
            assert contrast(theme[ink], theme[paper]) >= 4.5, (ink, paper)


def test_nothing_is_loaded():
    assert "url(" not in STYLE
    assert "@import" not in STYLE
    assert "<" not in STYLE
    assert STYLE.count("{") == STYLE.count("}")
    assert len(THEMES) == 3
