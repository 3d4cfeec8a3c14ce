"""The page of `SyntheticTable.quality`: synthetic rows beside the noisy marginals of their release."""

from statistics import fmean
from typing import TYPE_CHECKING

from discreet.release.quality.page import PageSection, QualityPage, quality_page

if TYPE_CHECKING:
    from discreet.release.measured_quality import MarginalQuality, MeasuredQuality

_FREE = "Synthetic rows beside the noisy marginals of their release. The page reads no data, and may be published."
_EXACT = "Synthetic rows beside the exact marginals that they were made from, for tests only."
_MOST_ROWS = 50
_PAIR = 2


def measured_html(found: "MeasuredQuality", meaning: tuple[str, ...]) -> str:
    """The text of the page; `meaning` explains the distances."""
    return quality_page(measured_page(found, meaning))


def measured_page(found: "MeasuredQuality", meaning: tuple[str, ...]) -> QualityPage:
    """What the page shows; `meaning` explains the distances."""
    worst = max((each.excess for each in found.marginals), default=0.0)
    cards = (
        ("Synthetic rows", f"{found.rows:,}", "drawn from the model"),
        (
            "Measured marginals",
            f"{len(found.marginals):,}",
            "with noise, under the guarantee" if found.private else "without noise",
        ),
        ("Largest excess over noise", f"{max(0.0, worst):.3f}", "near 0: no fault can be seen in what was measured"),
    )
    return QualityPage(
        name=found.dataset or "synthetic table",
        stamp="; ".join(found.stamp) or None,
        intro=_intro(found),
        reference="noisy counts" if found.private else "exact counts",
        cards=cards,
        caption="Half the L1 distance of shares, from the noisy counts",
        figures=_figures(found),
        columns=found.columns,
        pairs=_pairs(found),
        pair_caption="Distance of drawn rows from the noisy counts of each pair (· was not measured)",
        sections=(_marginals(found, meaning),),
    )


def _intro(found: "MeasuredQuality") -> tuple[str, ...]:
    """The guarantee, and that the page may be published; a table of dp.testing has neither."""
    if not found.private:
        return (_EXACT,)
    return (*([f"Guarantee: {found.guarantee}."] if found.guarantee else []), _FREE)


def _figures(found: "MeasuredQuality") -> tuple[tuple[str, str, str], ...]:
    figures = []
    for order in sorted({len(each.columns) for each in found.marginals}):
        own = [each for each in found.marginals if len(each.columns) == order]
        distance, noise = fmean(each.distance for each in own), fmean(each.noise for each in own)
        meaning = f"mean distance of {len(own):,} measured marginals; noise alone would give {noise:.4f}"
        figures.append((f"{order}-way marginals", f"{distance:.4f}", meaning))
    return tuple(figures)


def _pairs(found: "MeasuredQuality") -> dict[tuple[str, str], float]:
    """The distance of each pair that was measured, by the measurement of least noise."""
    own = sorted((each for each in found.marginals if len(each.columns) == _PAIR), key=lambda each: -each.noise)
    return {(each.columns[0], each.columns[1]): each.distance for each in own}


def _marginals(found: "MeasuredQuality", meaning: tuple[str, ...]) -> PageSection:
    is_few = any(each.drawing > 0 for each in found.marginals)
    listed = sorted(found.marginals, key=lambda each: -each.excess)[:_MOST_ROWS]
    rows = [
        (", ".join(each.columns), *(f"{figure:.4f}" for figure in _figures_of(each, is_few=is_few))) for each in listed
    ]
    head = ("marginal", "distance", "noise alone", *(["drawing"] if is_few else []), "excess")
    rest = len(found.marginals) - len(listed)
    caption = "The largest excess first" + (f"; {rest:,} further marginals are not listed" if rest else "")
    return PageSection("Measured marginals", meaning, head, tuple(rows), caption)


def _figures_of(found: "MarginalQuality", *, is_few: bool) -> tuple[float, ...]:
    return (found.distance, found.noise, *([found.drawing] if is_few else []), found.excess)
