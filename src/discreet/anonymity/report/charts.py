"""Pictures of the report in the style of discreet.plots, with the stamp; each carries its numbers as text.

matplotlib is optional.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from discreet.anonymity.owners import STAMP, with_stamp
from discreet.anonymity.report.findings import RiskFindings, share_text, size_bins
from discreet.home.durable_files import write_file
from discreet.plots.bars import bars
from discreet.plots.style import percent, pluralize
from discreet.release.values import rendering

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_LONGEST_NAME = 24
_SMALL = 5


def class_sizes(findings: RiskFindings) -> "Figure":
    """Number of people by the size of their class, each person once."""
    counts = findings.counts
    bins = size_bins(counts.people_by_size)
    names = [name for name, _ in bins] or ["none"]
    people = [number for _, number in bins] or [0]
    are_several = findings.nulls == "wildcard" or counts.pairs > counts.people
    return bars(
        names,
        people,
        [pluralize(number, "person", "people") for number in people],
        title=f"How many people have the same {_columns(findings.quasi)}: k = {counts.k:,}",
        label="people, each once, by the size of their smallest class"
        if are_several
        else "people, by the number who share their values",
        exposed=[_first(name) < _SMALL for name in names],
        legend=(f"fewer than {_SMALL} people", "others"),
    )


def unique_share(findings: RiskFindings) -> "Figure":
    """Share of people who are alone as columns become known."""
    names = [("+ " if place else "") + _short(each.columns[-1]) for place, each in enumerate(findings.growth)]
    shares = [each.counts.unique_share for each in findings.growth]
    return bars(
        names,
        [float(share) for share in shares],
        [f"{share_text(share)}  k = {each.counts.k:,}" for share, each in zip(shares, findings.growth, strict=True)],
        title=f"{share_text(findings.counts.unique_share)} of people are alone when all columns are known",
        label="share of people who are alone",
        is_share=True,
    )


def generalisation_cost(findings: RiskFindings) -> "Figure":
    """Loss of the best generalisation for each k."""
    return bars(
        [f"k = {each.k:,}" for each in findings.costs],
        [each.loss for each in findings.costs],
        [f"{percent(each.loss)}, {pluralize(each.classes, 'class', 'classes')} left" for each in findings.costs],
        title="What generalisation would cost, by the k that it reaches",
        label="share of the information of the columns that is lost",
        is_share=True,
    )


def all_figures(findings: RiskFindings) -> "dict[str, Figure]":
    """Each picture by its name; the cost of generalisation only where a search was possible."""
    drawn = {"class-sizes": class_sizes(findings), "unique-share": unique_share(findings)}
    drawn |= {"generalisation-cost": generalisation_cost(findings)} if findings.costs else {}
    return {name: with_stamp(figure) for name, figure in drawn.items()}


def save_figure(figure: "Figure", path: Path) -> None:
    """Write a picture as SVG, with its description and the stamp as text beside the letters that are drawn."""
    metadata = {"Date": None, "Description": figure.get_label(), "Rights": STAMP}
    write_file(path, lambda file: figure.savefig(file, format="svg", metadata=metadata))


def _first(name: str) -> int:
    """The smallest size of a bin, from its name."""
    return int(name.split(maxsplit=1)[0].replace(",", "")) if name[:1].isdigit() else 0


def _columns(names: Iterable[str]) -> str:
    return ", ".join(_short(name) for name in names)


def _short(name: str) -> str:
    text = rendering.cell(name)
    return text if len(text) <= _LONGEST_NAME else f"{text[: _LONGEST_NAME - 1]}…"
