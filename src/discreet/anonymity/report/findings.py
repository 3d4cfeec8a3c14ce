"""Findings of the report on re-identification risk, in the order in which every form of it shows them."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from discreet.anonymity.classes.null_policies import NULL_TEXTS
from discreet.anonymity.classes.risk import person_hints
from discreet.anonymity.limits import WorkedTable
from discreet.anonymity.owners import STAMP
from discreet.anonymity.report.exposure import ClassCounts, ColumnExposure, KnownColumns, SensitiveExposure
from discreet.anonymity.report.generalisation_cost import SUPPRESSION, GeneralisationCost
from discreet.anonymity.report.release_plan import BUDGET, DELTA, NOTHING, TABLE, ReleasePlan
from discreet.plots.style import percent, pluralize
from discreet.release.values import rendering

SIZE_BINS = (1, 2, 3, 5, 10, 50, 100, 1_000, 10_000)
"""The first size of each bin of class sizes."""
MOST_SIZES = 12
"""Up to this size each has a line of its own."""
NOT_A_GUARANTEE = (
    "k-anonymity describes one file. It does not limit what the file reveals beside other files, answers or knowledge."
)


@dataclass(frozen=True, repr=False)
class RiskFindings:
    """What the report says, as figures.

    Attributes:
        name: Name of the file or table.
        quasi: Columns that the attacker knows.
        person: Column that identifies a person, or None where each row is a person.
        nulls: What a missing cell means: "value", "wildcard" or "exclude".
        excluded: Number of people that `nulls="exclude"` leaves out.
        counts: Classes of all quasi-identifiers.
        growth: Classes as the attacker knows one column after another.
        columns: What each column adds, the most revealing first.
        sensitive: What is learned about each sensitive column.
        costs: What generalisation would cost.
        plan: The differentially private release.
        suitable: What the file is large enough for: the "table" of the plan, its "total" of people, or "nothing".
        limits: Worked tables of what k, l and t do not protect against.
        unnamed_rows: Number of rows without a person; each of them counts as a person.
    """

    name: str
    quasi: tuple[str, ...]
    person: str | None
    nulls: str
    excluded: int
    counts: ClassCounts
    growth: tuple[KnownColumns, ...]
    columns: tuple[ColumnExposure, ...]
    sensitive: tuple[SensitiveExposure, ...]
    costs: tuple[GeneralisationCost, ...]
    plan: ReleasePlan
    suitable: str
    limits: tuple[WorkedTable, ...]
    unnamed_rows: int = 0

    def __repr__(self) -> str:
        """The smallest class: examples of generalised values and other figures are not printed."""
        found = f"{_people(self.counts.people)}, k = {self.counts.k:,} for {listing(self.quasi)}"
        return f"RiskFindings on {rendering.cell(self.name)}: {found}. {STAMP}"


@dataclass(frozen=True)
class FindingTable:
    """A table of a finding: `text_columns` of its columns are text, the others numbers."""

    caption: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    text_columns: int = 1


@dataclass(frozen=True)
class RiskSection:
    """One section: a heading, sentences, tables, and code that follows the sentence before it."""

    heading: str
    sentences: tuple[str, ...]
    tables: tuple[FindingTable, ...] = ()
    code: str = ""


def sections(findings: RiskFindings) -> tuple[RiskSection, ...]:
    """The four sections of the report; worked tables follow the last."""
    return (_attacker(findings), _generalisation(findings), _release(findings), _limits())


def size_bins(people_by_size: Iterable[tuple[int, int]]) -> list[tuple[str, int]]:
    """People by the size of their smallest class, in bins where sizes are many: a name and a number; none is empty."""
    pairs, found = list(people_by_size), []
    if max((size for size, _ in pairs), default=0) <= MOST_SIZES:
        return [(f"{size:,}", number) for size, number in pairs]
    for place, first in enumerate(SIZE_BINS):
        after = SIZE_BINS[place + 1] if place + 1 < len(SIZE_BINS) else None
        inside = [number for size, number in pairs if size >= first and (after is None or size < after)]
        if inside:
            found.append((f"{first:,} or more" if after is None else _span(first, after - 1), sum(inside)))
    return found


def size_caption(findings: RiskFindings) -> str:
    """What the people by class size are called; a person may be in several classes, and classes may overlap."""
    if findings.nulls == "wildcard" or findings.counts.pairs > findings.counts.people:
        return "People by the size of their smallest class"
    return "People by the size of their class"


def part(number: int, whole: int) -> str:
    """A number of people with its share."""
    return f"{number:,} ({share_text(Fraction(number, whole) if whole else Fraction(0))})"


def share_text(share: Fraction) -> str:
    """A share in percent."""
    return percent(float(share))


def listing(names: Sequence[str]) -> str:
    """Names as a list in a sentence."""
    clean = [rendering.cell(name) for name in names]
    return clean[0] if len(clean) == 1 else f"{', '.join(clean[:-1])} and {clean[-1]}"


def _attacker(findings: RiskFindings) -> RiskSection:
    counts = findings.counts
    who = "each row is a person" if findings.person is None else f"a person is a {rendering.cell(findings.person)}"
    alone = part(counts.unique_people, counts.people)
    sentences = [
        f"{alone} of {pluralize(counts.people, 'person is', 'people are')} alone in their class.",
        f"The smallest of {pluralize(counts.classes, 'class', 'classes')} has {_people(counts.k)}: k = {counts.k:,}.",
        f"Prosecutor risk: somebody known to be in the file is matched with {_chance(counts.k)}.",
        f"Marketer risk: {share_text(counts.marketer)} of the people are expected to be matched correctly.",
        *map(_sensitive_sentence, findings.sensitive),
        f"Here {who}, and {NULL_TEXTS[findings.nulls]}{_excluded_text(findings)}.",
        *(f"{rendering.cell(hint)}." for hint in person_hints(findings.quasi, findings.person, findings.unnamed_rows)),
    ]
    tables = [_growth_table(findings), _column_table(findings), _size_table(findings)]
    heading = f"What an attacker who knows {listing(findings.quasi)} learns"
    return RiskSection(heading, tuple(sentences), tuple(table for table in tables if table.rows))


def _people(number: int) -> str:
    return pluralize(number, "person", "people")


def _chance(k: int) -> str:
    return f"a chance of up to 1 in {k:,}" if k > 1 else "certainty, if alone"


def _excluded_text(findings: RiskFindings) -> str:
    return f": {_people(findings.excluded)}" if findings.nulls == "exclude" else ""


def _sensitive_sentence(found: SensitiveExposure) -> str:
    name = rendering.cell(found.name)
    measures = f"l = {found.least} and t = {float(found.closeness):.2f}"
    if not found.people or found.sharing is None:
        known = "" if found.people is None else f"In no class does everybody have the same {name}. "
        return f"{known}For {name}, {measures}."
    return (
        f"{name} is learned for {_people(found.people)}: everybody in their class has the same {name}. "
        f"{found.sharing:,} of them are not alone in the class. For {name}, {measures}."
    )


def _growth_table(findings: RiskFindings) -> FindingTable:
    rows = []
    for place, known in enumerate(findings.growth):
        counts, name = known.counts, rendering.cell(known.columns[-1])
        share = share_text(counts.unique_share)
        rows.append(
            (f"+ {name}" if place else name, f"{counts.unique_people:,}", share, f"{counts.classes:,}", f"{counts.k:,}")
        )
    return FindingTable("As columns become known", ("known", "alone", "share", "classes", "k"), tuple(rows))


def _column_table(findings: RiskFindings) -> FindingTable:
    rows = [
        (rendering.cell(each.name), f"{each.distinct:,}", f"{each.alone:,}", f"{each.without:,}")
        for each in findings.columns
        if each.without is not None
    ]
    head = ("column", "values", "alone by it", "alone without it")
    return FindingTable("Most revealing column first", head, tuple(rows))


def _size_table(findings: RiskFindings) -> FindingTable:
    counts = findings.counts
    rows = [
        (name, f"{people:,}", share_text(Fraction(people, counts.people)))
        for name, people in size_bins(counts.people_by_size)
    ]
    return FindingTable(size_caption(findings), ("class size", "people", "share"), tuple(rows))


def _generalisation(findings: RiskFindings) -> RiskSection:
    heading = "What generalisation would cost"
    if not findings.costs:
        return RiskSection(heading, ("No level of these columns reaches the k that was searched for.",))
    lines = [each.cells() for each in findings.costs]
    rows = tuple((line[0][0], *(cell for _, cell in line)) for line in zip(*lines, strict=True))
    head = ("column", *(f"k = {each.k:,}" for each in findings.costs))
    table = FindingTable("The least loss that reaches each k", head, rows)
    sentences = (
        *(["Here a missing cell counts as a value of its own."] if findings.nulls == "wildcard" else []),
        "One level of each column is applied to all rows (global recoding).",
        f"At most {share_text(SUPPRESSION)} of the people are left out. A cell has an example of what values become.",
        "Local recoding (Mondrian) cuts the table into boxes of at least k people and leaves out nobody.",
        "Loss is 0% for the file as it is, and 100% where every value is left out.",
        "A file that reaches k is exposed to all that the last part of this report shows.",
    )
    return RiskSection(heading, sentences, (table,))


def _release(findings: RiskFindings) -> RiskSection:
    plan, people = findings.plan, findings.counts.people
    heading = "What a differentially private release would give instead"
    if findings.suitable != TABLE:
        return _smaller_release(heading, findings)
    by = "" if plan.by is None else f" by {rendering.cell(plan.by)}"
    budget = f"a budget of epsilon {BUDGET} and delta {DELTA}"
    sentences = [f"It counts people{by} for epsilon {plan.epsilon} of {budget}. No row is published."]
    if plan.margin is None:
        sentences.append(f"The expected error is not known: {rendering.cell(plan.reason)}.")
    else:
        sentences.append(f"Each count has a margin of error of ± {plan.margin} at 95%. The file has {_people(people)}.")
    if plan.keys and plan.by is not None:
        sentences.append(f"Values of {rendering.cell(plan.by)}: {plan.keys}.")
    sentences.append("The guarantee holds for every attacker and all background knowledge.")
    sentences.append("Costs of further releases add up in one ledger.")
    return RiskSection(heading, tuple(sentences), code=plan.code)


def _smaller_release(heading: str, findings: RiskFindings) -> RiskSection:
    """What is left for a file that is too small for a table: one count, or nothing."""
    plan, sentences = findings.plan, []
    size = f"The file has {_people(findings.counts.people)}"
    if plan.by is not None:
        name = rendering.cell(plan.by)
        sentences += [
            f"{size}: too small for a table by {name} at epsilon {plan.epsilon}, which would be mostly empty or noise.",
            f"A value needs {plan.least:,} people to be kept in 95% of releases; the margin is ± {plan.margin}.",
        ]
    if findings.suitable == NOTHING:
        sentences.append(f"{size}: too small for a count, whose margin of error is ± {plan.total_margin}.")
        sentences.append("Count over a larger file, or over several files together.")
        return RiskSection(heading, tuple(sentences))
    sentences += [
        f"This counts all people for epsilon {plan.epsilon} of a budget of epsilon {BUDGET} and delta {DELTA}.",
        f"The margin of error is ± {plan.total_margin} at 95%.",
        "For a table, use a larger file, or a lower bound on the rows of a person (max_rows=).",
        "If the values of a column are public, state them (keys=): then none is left out.",
        "This advice is from exact counts: who sees that you follow it may infer that the file is small.",
    ]
    return RiskSection(heading, tuple(sentences), code=plan.total_code)


def _limits() -> RiskSection:
    return RiskSection("What k-anonymity, l-diversity and t-closeness do not protect against", (NOT_A_GUARANTEE,))


def _span(first: int, last: int) -> str:
    return f"{first:,}" if first == last else f"{first:,} to {last:,}"
