"""Results of linkage: numbers of candidates, scored matches, learned values and the next column to seek."""

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from discreet.anonymity.owners import OwnerResult, with_stamp
from discreet.errors import public_class
from discreet.plots import bars as bar_figures
from discreet.plots.style import percent, pluralize

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_PEOPLE = ("person", "people")
_BINS = ((2, 2), (3, 5), (6, 20), (21, 100), (101, None))


@public_class
@dataclass(frozen=True, repr=False)
class ControlMatches(OwnerResult):
    """Matches among people who are not in the published table: all of them are wrong.

    Attributes:
        people: Number of people of the control group.
        no_candidate: Number of them without candidates.
        one_candidate: Number of them with one candidate.
        several_candidates: Number of them with several.

    Example:
        >>> import discreet as dp
        >>> people = dp.datasets.people(200)
        >>> risk = dp.anonymity.link(people[:100], people[:100], ["sex", "birth_date"], control=people[100:])
        >>> risk.control.people
        100
    """

    kind = "matches of the control group"

    people: int
    no_candidate: int
    one_candidate: int
    several_candidates: int

    def _lines(self) -> list[str]:
        return [f"{self.one_candidate:,} of {self.people:,} people who are not in the file have one candidate"]


@public_class
@dataclass(frozen=True, repr=False)
class LearnedValues(OwnerResult):
    """What the candidates reveal about a column, whether or not the match is unique.

    The posterior probability of a value is the share of the candidates who have it. The guess is the likeliest value;
    equally likely ones are taken in the order of their frequency in the published table.

    Attributes:
        column: Name of the column.
        people: Number of people with a candidate.
        certain: Number of people all of whose candidates share one value.
        certain_right: Number of those for whom it is the true value; None where the truth is not known.
        right: Number of people whose guess is right; None where the truth is not known.
        baseline_right: Number of people for whom the commonest value of the table is right; None as above.
        confidence: Pairs of a probability and the number of people whose guess has at least it.

    Example:
        >>> import discreet as dp
        >>> people = dp.datasets.people(200)
        >>> risk = dp.anonymity.link(people, people, ["birth_date"], person="person_id", learn="occupation")
        >>> risk.learned.right >= risk.learned.baseline_right
        True
    """

    kind = "learned values"

    column: str
    people: int
    certain: int
    certain_right: int | None
    right: int | None
    baseline_right: int | None
    confidence: tuple[tuple[float, int], ...]

    @property
    def description(self) -> str:
        """What is learned, as a sentence."""
        text = f"{self.column!r}: all candidates share one value for {pluralize(self.certain, *_PEOPLE)}"
        if self.right is None:
            return text
        return (
            f"{text}; the likeliest value is right for {self.right:,} of {self.people:,}, the commonest value of the "
            f"file for {self.baseline_right:,}"
        )

    def _lines(self) -> list[str]:
        return [self.description]


@public_class
@dataclass(frozen=True, repr=False)
class NextColumn(OwnerResult):
    """A column that an attacker does not know yet, and what it would be worth.

    Attributes:
        column: Name of the column.
        expected_unique: Expected number of people with one candidate if the column were known as well and each
            candidate were equally likely to be the person. A person with several values counts with one that is alone.

    Example:
        >>> import discreet as dp
        >>> people = dp.datasets.people(200)
        >>> dp.anonymity.link(people, people, ["sex"], seek=["state", "birth_date"]).next_columns[0].column
        'birth_date'
    """

    kind = "next column"

    column: str
    expected_unique: float

    def _lines(self) -> list[str]:
        return [f"{self.column!r}: {self.expected_unique:,.0f} people with one candidate are expected"]


@public_class
@dataclass(frozen=True, repr=False)
class LinkageRisk(OwnerResult):
    """How many people of an auxiliary table are matched in a published one, and what ambiguous matches reveal.

    Attributes:
        on: Columns that were compared.
        approximate: Those that were compared approximately.
        nulls: Policy for missing cells.
        published_rows: Number of published rows that were compared.
        published_people: Number of people in them.
        people: Number of people of the auxiliary table.
        candidates: Pairs of a number of candidates and the number of people who have it, ascending.
        correct: Number of unique matches with the true person; None where the truth is not known.
        wrong: Number of unique matches with another person; None where the truth is not known.
        among_candidates: Number of people whose true row is among their candidates; None as above.
        expected_correct: Expected number of correct matches if one candidate is drawn at random; None as above.
        learned: What is learned about the column `learn`, or None.
        next_columns: Columns that the attacker would seek next, the best first.
        control: Matches of the control group, or None.
        excluded: Number of rows that were left out for missing cells, published and auxiliary.

    Example:
        >>> import discreet as dp
        >>> people = dp.datasets.people(200)
        >>> risk = dp.anonymity.link(people, people, ["sex", "zip_code", "birth_date"], person="person_id")
        >>> risk.no_candidate, risk.one_candidate > 190
        (0, True)
    """

    kind = "linkage"

    on: tuple[str, ...]
    approximate: tuple[str, ...]
    nulls: str
    published_rows: int
    published_people: int
    people: int
    candidates: tuple[tuple[int, int], ...]
    correct: int | None = None
    wrong: int | None = None
    among_candidates: int | None = None
    expected_correct: float | None = None
    learned: LearnedValues | None = None
    next_columns: tuple[NextColumn, ...] = ()
    control: ControlMatches | None = None
    excluded: tuple[int, int] = (0, 0)

    @property
    def no_candidate(self) -> int:
        """Number of people without candidates."""
        return dict(self.candidates).get(0, 0)

    @property
    def one_candidate(self) -> int:
        """Number of people with one candidate."""
        return dict(self.candidates).get(1, 0)

    @property
    def several_candidates(self) -> int:
        """Number of people with several candidates."""
        return self.people - self.no_candidate - self.one_candidate

    @property
    def odds(self) -> tuple[tuple[Fraction, int], ...]:
        """Pairs of the probability 1/candidates that a random candidate is the person, and the number of people."""
        return tuple((Fraction(1, number), people) for number, people in self.candidates if number)

    @property
    def verdict(self) -> str:
        """The matches as a sentence."""
        share = percent(self.one_candidate / self.people) if self.people else "none"
        text = f"{self.one_candidate:,} of {self.people:,} people ({share}) have one candidate"
        if self.correct is None:
            return f"{text}; which of them are correct is not known."
        return f"{text}: {self.correct:,} correct and {self.wrong:,} wrong."

    def _lines(self) -> list[str]:
        names = ", ".join(f"{name} (approximate)" if name in self.approximate else name for name in self.on)
        lines = [
            f"{pluralize(self.people, *_PEOPLE)} compared with {self.published_people:,} published ones on {names}",
            self.verdict,
            f"{self.no_candidate:,} have none and {self.several_candidates:,} have several",
        ]
        if self.expected_correct is not None:
            lines.append(f"one candidate drawn at random is correct for {self.expected_correct:,.1f} people on average")
        lines += [self.learned.description] if self.learned else []
        if self.next_columns and self.several_candidates:
            best = self.next_columns[0]
            expected = f"{best.expected_unique:,.0f} unique matches are expected with it"
            lines.append(f"the next column an attacker would seek is {best.column!r}: {expected}")
        if self.control:
            share = percent(self.control.one_candidate / self.control.people) if self.control.people else "none"
            lines.append(
                f"control group: {share} of {self.control.people:,} people outside the file have one candidate"
            )
        if any(self.excluded):
            lines.append(
                f"left out for missing cells: {self.excluded[0]:,} published rows, {self.excluded[1]:,} others"
            )
        return lines

    def plot(self) -> "Figure":
        """Number of people by their number of candidates.

        Returns:
            A figure, with a description as its label.

        Raises:
            UnsupportedError: If matplotlib is not installed.
        """
        bars = [("no candidate", self.no_candidate, False)]
        if self.correct is None or self.wrong is None:
            bars += [("one candidate", self.one_candidate, True)]
        else:
            bars += [("one, correct", self.correct, True), ("one, wrong", self.wrong, False)]
        for low, high in _BINS:
            name = f"{low} candidates" if low == high else f"{low} or more" if high is None else f"{low} to {high}"
            inside = [people for number, people in self.candidates if number >= low and number <= (high or number)]
            bars.append((name, sum(inside), False))
        figure = bar_figures.bars(
            [name for name, _, _ in bars],
            [float(number) for _, number, _ in bars],
            [pluralize(number, *_PEOPLE) for _, number, _ in bars],
            title=f"Linkage on {', '.join(self.on)}: {self.verdict}",
            label="people of the auxiliary table",
            exposed=[is_match for _, _, is_match in bars],
            legend=("matched uniquely" if self.correct is None else "matched correctly", "others"),
        )
        return with_stamp(figure)
