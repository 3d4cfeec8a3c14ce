"""The page of `owner_quality`: synthetic rows beside the data, exact figures and risks, for owners alone."""

from typing import TYPE_CHECKING

from discreet.anonymity.linkage.attack_rates import AttackRate, AttackRisk
from discreet.anonymity.owners import STAMP
from discreet.release.quality.page import PageSection, QualityPage
from discreet.synthesis.quality.membership import membership_line

if TYPE_CHECKING:
    from discreet.synthesis.quality.owner import OwnerQuality

_RISKS = (
    "A risk is the excess over the control group: people whose rows were not synthesized.",
    "What succeeds on both groups is knowledge about the population. Only the guarantee bounds all attacks.",
    "Distances from rows to their nearest synthetic row are not shown, because they are not evidence of privacy.",
)
_CANARIES = "Canaries are planted people. The bound says what this attack shows, not that a stronger one shows no more."
_LIMITS = (
    "Relations of four and more columns are judged by the propensity alone.",
    "A match of a unique row is not a breach: it comes by chance, or because the row is a likely one.",
    "A choice between synthetic tables by this page is not covered by the guarantee.",
)


def owner_page(found: "OwnerQuality") -> QualityPage:
    """What the page shows."""
    distances = found.distances
    far = distances.one_way if distances.two_way is None else distances.two_way
    order = "single columns" if distances.two_way is None else "pairs of columns"
    cards = [("Mean distance", f"{far:.3f}", f"total variation of {order}, from 0 to 1")]
    if found.sample is not None:
        cards.append(("As good as", f"a {found.sample:.1%} sample", "of the rows, by the k-marginal score"))
    cards.append(
        ("Synthetic or real?", f"{found.propensity:.3f}", "area under the curve of a tree; 0.5 is a coin toss")
    )
    return QualityPage(
        name=found.dataset or "synthetic table",
        stamp=STAMP,
        intro=(f"Guarantee of the synthetic table itself: {found.guarantee}.",) if found.guarantee else (),
        reference="data",
        cards=tuple(cards),
        caption="Exact, against the data",
        figures=tuple(_figures(found)),
        columns=found.columns,
        pairs={(pair[0], pair[1]): distance for pair, distance in distances.pairs},
        pair_caption="Total variation distance of each pair of columns; a stronger colour is further from the data",
        sections=_sections(found),
    )


def _sections(found: "OwnerQuality") -> tuple[PageSection, ...]:
    parts = [_risks(found.risks)] if found.risks else []
    if found.membership is not None:
        line = membership_line(found.membership)
        parts.append(PageSection("Membership", (f"{line[0].upper()}{line[1:]}.", _CANARIES)))
    return (*parts, PageSection("Limits of this page", _LIMITS))


def _figures(found: "OwnerQuality") -> list[tuple[str, str, str]]:
    far = found.distances
    named = (("One-way", far.one_way), ("Two-way", far.two_way), ("Three-way", far.three_way))
    rows = [("Rows", f"{found.rows[1]:,}", f"synthetic rows, against {found.rows[0]:,} rows of the data")]
    rows += [
        (f"{name} distance", f"{value:.4f}", "mean total variation: 0 equal, 1 disjoint")
        for name, value in named
        if value is not None
    ]
    if found.score is not None and found.sample is not None:
        rows.append(("k-marginal score", f"{found.score:.0f}", f"of 1000; a {found.sample:.1%} sample has the same"))
    matches = f"of {found.unique_rows:,} rows that are unique in the data are in the synthetic table"
    rows.append(("Unique matches", f"{found.unique_matches:,}", matches))
    curve = "area under the curve of a tree that tells synthetic from real rows"
    rows.append(("Propensity", f"{found.propensity:.3f}", curve))
    if found.accuracy is not None:
        each = found.accuracy
        meaning = (
            f"of logistic regression for {each.target}, trained on synthetic rows and tested on real ones; "
            f"{each.real:.3f} trained on the data, {each.majority:.3f} by the most frequent value"
        )
        rows.append(("Accuracy", f"{each.synthetic:.3f}", meaning))
    return rows


def _risks(risks: tuple[AttackRisk, ...]) -> PageSection:
    rows = [
        (
            each.heading.capitalize(),
            *map(_rate, (each.attack, each.control, each.baseline)),
            f"{each.risk:.1%} ({max(-1.0, each.interval[0]):.1%} to {each.interval[1]:.1%})",
        )
        for each in risks
    ]
    head = ("attack", "on the data", "on the control group", "random guesses", "risk (95% interval)")
    caption = f"Attempts that succeeded, of {max(each.attack.attempts for each in risks):,} at most in each group"
    return PageSection("Risks", (*(each.verdict for each in risks), *_RISKS), head, tuple(rows), caption)


def _rate(found: AttackRate) -> str:
    return f"{found.rate:.1%}"
