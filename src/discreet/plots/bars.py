"""A bar for each name with its numbers beside it, distinguished by hatch as well as by colour."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from discreet.plots.style import INK, VERMILION, listing, percent

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def bars(
    names: Sequence[str],
    values: Sequence[float],
    notes: Sequence[str],
    *,
    title: str,
    label: str,
    exposed: Sequence[bool] | None = None,
    legend: tuple[str, str] | None = None,
    is_share: bool = False,
) -> "Figure":
    """A bar for each name with its numbers beside it; those that are exposed are dark, the others light and hatched."""
    dark = list(exposed) if exposed is not None else [True] * len(names)
    with listing(list(names), [list(notes)], title, height=0.36) as (figure, (axes,)):
        for is_dark, words in zip((True, False), legend or (None, None), strict=True):
            lines = [line for line, flag in enumerate(dark) if flag == is_dark]
            if lines:
                colour, hatch = (VERMILION, None) if is_dark else ("#f0f0f0", "///")
                lengths = [values[line] for line in lines]
                axes.barh(lines, lengths, height=0.62, color=colour, edgecolor=INK, hatch=hatch, label=words)
        if legend:
            axes.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=2, frameon=False, borderaxespad=0.2)
        axes.set_xlabel(label)
        if is_share:
            axes.set_xlim(0, 1.004)
        figure.set_label(f"{title}: " + "; ".join(f"{n} {note}" for n, note in zip(names, notes, strict=True)))
    if is_share:
        axes.xaxis.set_major_formatter(lambda share, _: percent(share))
    return figure
