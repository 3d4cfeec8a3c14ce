"""Composition: releases of the same people, each k-anonymous, intersected on a sensitive column.

A release leaves the sensitive values of the target's class as candidates. Two releases that were generalised apart
leave the values that are candidates in both, and k of neither says how many these are.

References:
    Ganta, Kasiviswanathan and Smith, Composition Attacks and Auxiliary Information in Data Privacy, KDD 2008.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet import plots
from discreet.anonymity.classes.column_lists import names_of, one_column
from discreet.anonymity.classes.null_policies import NullPolicy, require_policy
from discreet.anonymity.linkage.persons import distinct, expand, has_value, is_member, people_of
from discreet.anonymity.linkage.worked_releases import HOSPITALS, QUASI, SENSITIVE, TARGET
from discreet.anonymity.owners import OwnerResult, with_stamp
from discreet.engines.sources.arrow_tables import Codes, as_arrow, classes, encode
from discreet.errors import ParameterError, public_class, short_traceback
from discreet.plots.style import pluralize

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Flags = NDArray[np.bool_]

_CELLS = '{"zip": "130**"}'
_PEOPLE = ("person", "people")


@public_class
@dataclass(frozen=True, repr=False)
class ReleaseCandidates(OwnerResult):
    """Candidates for the target in one release.

    Attributes:
        name: Name of the release.
        k: Size of the smallest class of the release, in people.
        people: Number of people in the release.
        candidates: Number of people who fit the target.
        values: Pairs of a sensitive value and the number of candidates who have it, commonest first.

    Example:
        >>> import discreet as dp
        >>> first, second = dp.anonymity.composition.example().risk.releases
        >>> first.k, first.candidates, second.k, second.candidates
        (4, 4, 6, 6)
    """

    kind = "candidates in a release"

    name: str
    k: int
    people: int
    candidates: int
    values: tuple[tuple[Any, int], ...]

    @property
    def description(self) -> str:
        """The candidates and their values in one line."""
        texts = ", ".join(f"{value!r} {count:,}" for value, count in self.values) or "none"
        return f"{self.name} (k = {self.k:,}): {pluralize(self.candidates, 'candidate')}: {texts}"

    def _lines(self) -> list[str]:
        return [self.description]


@public_class
@dataclass(frozen=True, repr=False)
class CompositionRisk(OwnerResult):
    """What releases of the same people reveal together about one person.

    Attributes:
        sensitive: Name of the sensitive column.
        releases: Candidates in each release.
        values: Sensitive values that are compatible with every release.

    Example:
        >>> import discreet as dp
        >>> risk = dp.anonymity.composition.example().risk
        >>> risk.is_disclosed, risk.values
        (True, ('tuberculosis',))
    """

    kind = "composition"

    sensitive: str
    releases: tuple[ReleaseCandidates, ...]
    values: tuple[Any, ...]

    @property
    def is_disclosed(self) -> bool:
        """Whether one value alone is compatible with every release."""
        return len(self.values) == 1

    @property
    def verdict(self) -> str:
        """What the releases reveal together, as a sentence."""
        if not self.values:
            return (
                "No value is compatible with all releases: the person is not in all of them, or the value differs "
                "between them."
            )
        if self.is_disclosed:
            return f"Together the releases name {self.sensitive!r} of the person: {self.values[0]!r}."
        left = ", ".join(repr(value) for value in self.values)
        fewest = min(len(each.values) for each in self.releases)
        return (
            f"{len(self.values)} values of {self.sensitive!r} are compatible with all releases: {left}; the release "
            f"with the fewest leaves {fewest}."
        )

    def _lines(self) -> list[str]:
        return [*(each.description for each in self.releases), self.verdict]

    def plot(self) -> "Figure":
        """Candidates by sensitive value, one panel for each release; values compatible with all are dark.

        Returns:
            A figure, with a description as its label.

        Raises:
            UnsupportedError: If matplotlib is not installed.
        """
        counts = [dict(each.values) for each in self.releases]
        every = list(dict.fromkeys([*self.values, *(value for each in counts for value in each)]))
        notes = [[_note(each.get(value, 0)) for value in every] for each in counts]
        names = ["(missing)" if value is None else str(value) for value in every] or ["no value"]
        title, most = f"Composition: {self.verdict}", max([1, *(count for each in counts for count in each.values())])
        with plots.listing(names, notes if every else [["0"]] * len(counts), title, height=0.36) as (figure, panels):
            for axes, each, release in zip(panels, counts, self.releases, strict=True):
                _draw_bars(axes, [(each.get(value, 0), value in self.values) for value in every])
                axes.set_xlim(0, most * 1.02)
                axes.set_title(f"{release.name}: {release.k:,}-anonymous", loc="left", fontsize=10)
            figure.legend(
                *panels[0].get_legend_handles_labels(),
                loc="outside lower center",
                ncols=2,
                frameon=False,
                borderaxespad=2,
            )
            # an empty line makes room for the legend above the stamp
            panels[-1].set_xlabel("number of people who fit the description\n")
            figure.set_label(f"{title} " + "; ".join(each.description for each in self.releases))
        for axes in panels:
            axes.xaxis.set_major_locator(_whole_ticks())
        return with_stamp(figure)


@public_class
@dataclass(frozen=True, repr=False)
class CompositionCounts(OwnerResult):
    """How many people's sensitive values are disclosed by each release, and by all together.

    Attributes:
        sensitive: Name of the sensitive column.
        people: Number of people who are in every release.
        alone: Pairs of the name of a release and the number of these people whose value it discloses alone.
        together: Number of these people of whom one value is compatible with every release.
        contradictory: Number of these people of whom no value is compatible with every release.
        compatible: Pairs of a number of compatible values and the number of people, ascending.

    Example:
        >>> import discreet as dp
        >>> import pyarrow as pa
        >>> ill = ["flu", "asthma", "cancer", "asthma"]
        >>> first = pa.table({"id": [1, 2, 3, 4], "zip": ["a", "a", "b", "b"], "ill": ill})
        >>> second = pa.table({"id": [1, 2, 3, 4], "zip": ["c", "d", "c", "d"], "ill": ill})
        >>> releases = {"first": first, "second": second}
        >>> counts = dp.anonymity.composition.intersect_everyone(releases, ["zip"], "ill", person="id")
        >>> counts.alone, counts.together
        ((('first', 0), ('second', 2)), 4)
    """

    kind = "composition, for everyone"

    sensitive: str
    people: int
    alone: tuple[tuple[str, int], ...]
    together: int
    contradictory: int
    compatible: tuple[tuple[int, int], ...]

    def _lines(self) -> list[str]:
        return [
            f"{pluralize(self.people, *_PEOPLE)} in every release",
            *(f"{self.sensitive!r} of {number:,} is disclosed by {name} alone" for name, number in self.alone),
            f"{self.sensitive!r} of {self.together:,} is disclosed by all releases together",
            *([f"{self.contradictory:,} have different values in the releases"] if self.contradictory else []),
        ]


@public_class
@dataclass(frozen=True)
class WorkedReleases:
    """Two k-anonymous releases of two hospitals that treated the same person, and what the attacker knows of her.

    Attributes:
        releases: The published tables by name.
        quasi: Names of the quasi-identifiers.
        sensitive: Name of the sensitive column.
        target: Her generalised values in each release.
        story: Who knows what, in two sentences.
        risk: What the two releases reveal together.

    Example:
        >>> import discreet as dp
        >>> dp.anonymity.composition.example().risk.verdict
        "Together the releases name 'condition' of the person: 'tuberculosis'."
    """

    releases: Mapping[str, pa.Table]
    quasi: tuple[str, ...]
    sensitive: str
    target: Mapping[str, Mapping[str, Any]]
    story: str
    risk: CompositionRisk

    def plot(self) -> "Figure":
        """The candidates of both releases and their intersection.

        Returns:
            A figure, with a description as its label.
        """
        return self.risk.plot()


@short_traceback
def example() -> WorkedReleases:
    """The textbook case: a 4-anonymous release of one hospital and a 6-anonymous one of another.

    Both treated the target. Each leaves several conditions; one condition alone is compatible with both.

    Returns:
        The tables, what the attacker knows, and the result of `intersect`.

    Raises:
        Refusal: As `intersect`, which the example calls.

    Example:
        >>> import discreet as dp
        >>> print(dp.anonymity.composition.example().risk)
        composition
          first hospital (k = 4): 4 candidates: 'asthma' 2, 'heart disease' 1, 'tuberculosis' 1
          second hospital (k = 6): 6 candidates: 'diabetes' 3, 'cancer' 2, 'tuberculosis' 1
          Together the releases name 'condition' of the person: 'tuberculosis'.
        For the owners of the data only: these are exact figures about people, not differentially private.
    """
    releases = {name: pa.table(columns) for name, columns in HOSPITALS.items()}
    return WorkedReleases(
        releases=releases,
        quasi=QUASI,
        sensitive=SENSITIVE,
        target=TARGET,
        story=(
            "A colleague knows that she is 28, lives in ZIP code 13012 and was treated in both hospitals. Each "
            "hospital published its patients without names, generalised on its own."
        ),
        risk=intersect(releases, TARGET, SENSITIVE, quasi=QUASI),
    )


@short_traceback
def intersect(
    releases: Mapping[str, object],
    target: Mapping[str, Mapping[str, Any]],
    sensitive: str,
    *,
    quasi: Sequence[str] | None = None,
    person: str | None = None,
    nulls: NullPolicy = "value",
) -> CompositionRisk:
    """Sensitive values of one person that are compatible with every release.

    Args:
        releases: Two or more published tables by name: Arrow, pandas, Polars, or paths of CSV or Parquet files.
        target: For each release, what the person's cells are there after generalisation. A list stands for any of
            several cells.
        sensitive: Name of the sensitive column, in every release.
        quasi: Quasi-identifiers that k is computed over. Default: the columns that `target` names for the release.
        person: Column that identifies people with several rows. Default: each row is a person.
        nulls: "value": a missing cell fits None alone; "wildcard": it fits everything; "exclude": it fits nothing.

    Returns:
        The candidates in each release, and the values that remain.

    Raises:
        ParameterError: If there are fewer than two releases, or `target` leaves one of them out.
        NameNotFoundError: If a release lacks a column.

    Example:
        >>> import discreet as dp
        >>> worked = dp.anonymity.composition.example()
        >>> dp.anonymity.intersect(worked.releases, worked.target, "condition").values
        ('tuberculosis',)
    """
    _check_releases(releases)
    require_policy(nulls)
    one_column(sensitive, "sensitive", example='"condition"')
    if not _has_cells(target, releases):
        raise ParameterError(
            f"target={target!r}",
            because="each release needs the person's cells in it",
            instead=f"target={{{', '.join(f'{name!r}: {_CELLS}' for name in releases)}}}",
        )
    answers = []
    for name, source in releases.items():
        columns = names_of(list(target[name]) if quasi is None else quasi, "quasi")
        needed = dict.fromkeys([*columns, *target[name], sensitive, *([person] if person else [])])
        answers.append(_candidates(name, as_arrow(source, *needed), target[name], columns, sensitive, person, nulls))
    first, *others = ([value for value, _ in each.values] for each in answers)
    shared = tuple(value for value in first if all(value in other for other in others))
    return CompositionRisk(sensitive=sensitive, releases=tuple(answers), values=shared)


@short_traceback
def intersect_everyone(
    releases: Mapping[str, object], quasi: Sequence[str] | Mapping[str, Sequence[str]], sensitive: str, *, person: str
) -> CompositionCounts:
    """For everybody who is in all releases, how many sensitive values are compatible with every release.

    The owner knows which rows are of one person. An attacker who knows a person's quasi-identifiers gets the same.

    Args:
        releases: Two or more tables by name, with the column `person`.
        quasi: Quasi-identifiers, the same of every release, or by the name of the release.
        sensitive: Name of the sensitive column, in every release.
        person: Column that identifies people across the releases; rows without a person are candidates alone.

    Returns:
        The number of people whose value is disclosed by each release and by all together.

    Raises:
        ParameterError: If there are fewer than two releases.
        NameNotFoundError: If a release lacks a column.

    Example:
        >>> import discreet as dp
        >>> people = dp.datasets.people(100)
        >>> releases = {"by state": people, "by sex": people}
        >>> quasi = {"by state": ["state"], "by sex": ["sex"]}
        >>> dp.anonymity.composition.intersect_everyone(releases, quasi, "occupation", person="person_id").people
        100
    """
    _check_releases(releases)
    one_column(sensitive, "sensitive", example='"condition"')
    one_column(person, "person", example='"person_id"')
    tables, codes = [], []
    for name, source in releases.items():
        columns = names_of(quasi[name] if isinstance(quasi, Mapping) else quasi, "quasi")
        tables.append(as_arrow(source, *dict.fromkeys([*columns, sensitive, person])))
        *_, (each,) = classes([tables[-1]], columns)
        codes.append(each)
    ends = np.cumsum([table.num_rows for table in tables])[:-1]
    persons = np.split(encode([table[person] for table in tables], person), ends)
    cells = encode([table[sensitive] for table in tables], sensitive)
    values, width = np.split(cells, ends), int(cells.max(initial=0)) + 1
    is_known = [has_value(table[person]) for table in tables]
    pairs = [_possible_values(*each, width) for each in zip(is_known, persons, values, codes, strict=True)]
    return _count_people(sensitive, list(releases), pairs, width)


def _has_cells(target: Any, releases: Mapping[str, object]) -> bool:
    """Whether each release has cells of the target by column."""
    if not isinstance(target, Mapping) or set(target) != set(releases):
        return False
    return all(isinstance(cells, Mapping) and cells for cells in target.values())


def _check_releases(releases: object) -> None:
    if isinstance(releases, list | tuple) and len(releases) >= 2:
        names = [f"release {number}" for number in range(1, len(releases) + 1)]
        raise ParameterError(
            f"a {type(releases).__name__} of releases",
            because="an intersection needs a name for each table",
            instead=f"releases = dict(zip({names!r}, releases))",
        )
    if not isinstance(releases, Mapping) or len(releases) < 2:
        raise ParameterError(
            f"releases of type {type(releases).__name__}",
            because="an intersection needs two or more tables by name",
            instead='releases = {"first": first, "second": second}',
        )


def _candidates(
    name: str,
    table: pa.Table,
    cells: Mapping[str, Any],
    quasi: Sequence[str],
    sensitive: str,
    person: str | None,
    nulls: NullPolicy,
) -> ReleaseCandidates:
    fits = np.ones(table.num_rows, dtype=np.bool_)
    for column, cell in cells.items():
        fits &= _compatible(table[column], cell, nulls)
    people = people_of(table, person)
    *_, (codes,) = classes([table], quasi)
    # people are numbered below the number of rows, so that the pair fits 64 bits
    class_sizes = np.unique(distinct(codes * table.num_rows + people) // max(1, table.num_rows), return_counts=True)[1]
    pairs = set(zip(people[fits].tolist(), table[sensitive].filter(pa.array(fits)).to_pylist(), strict=True))
    counts = Counter(value for _, value in pairs)
    order = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0] is None, str(pair[0])))
    return ReleaseCandidates(
        name=name,
        k=int(class_sizes.min()) if len(people) else 0,
        people=len(distinct(people)),
        candidates=len(distinct(people[fits])),
        values=tuple(order),
    )


def _compatible(column: pa.ChunkedArray, cell: Any, nulls: NullPolicy) -> Flags:
    wanted = set(cell) if isinstance(cell, list | tuple | set | frozenset) else {cell}
    missing = nulls == "wildcard" or (nulls == "value" and None in wanted)
    cells = [None if part is None or part != part else part for part in column.to_pylist()]  # noqa: PLR0124 - NaN
    return np.array([missing if part is None else part in wanted for part in cells], dtype=np.bool_)


def _possible_values(has_person: Flags, persons: Codes, values: Codes, codes: Codes, width: int) -> Codes:
    """Pairs of a person and a value of one of the person's classes, as one number: person * width + value."""
    count = int(codes.max(initial=-1)) + 1
    cells = distinct(codes * width + values)
    first = np.searchsorted(cells, np.arange(count + 1) * width)
    members = distinct(persons[has_person] * count + codes[has_person]) if count else np.empty(0, dtype=np.int64)
    person, code = np.divmod(members, max(count, 1))
    which, place = expand(first[code], first[code + 1] - first[code])
    return distinct(person[which] * width + cells[place] % width)


def _count_people(sensitive: str, names: Sequence[str], pairs: Sequence[Codes], width: int) -> CompositionCounts:
    everybody = distinct(pairs[0] // width)
    for each in pairs[1:]:
        everybody = everybody[is_member(everybody, each // width)]
    alone = [int((np.bincount(_places(everybody, each, width)) == 1).sum()) for each in pairs]
    shared = pairs[0]
    for each in pairs[1:]:
        shared = shared[is_member(shared, each)]
    left = np.bincount(_places(everybody, shared, width), minlength=len(everybody))
    numbers, people = np.unique(left, return_counts=True)
    compatible = tuple(zip(numbers.tolist(), people.tolist(), strict=True)) if len(everybody) else ()
    return CompositionCounts(
        sensitive=sensitive,
        people=len(everybody),
        alone=tuple(zip(names, alone, strict=True)),
        together=dict(compatible).get(1, 0),
        contradictory=dict(compatible).get(0, 0),
        compatible=compatible,
    )


def _places(everybody: Codes, pairs: Codes, width: int) -> Codes:
    """The place of the person of each pair among everybody; pairs of others are left out."""
    persons = pairs // width
    return np.searchsorted(everybody, persons[is_member(persons, everybody)])


def _whole_ticks() -> Any:
    from matplotlib.ticker import MaxNLocator  # noqa: PLC0415 - optional

    return MaxNLocator(integer=True)


def _draw_bars(axes: Any, bars: Sequence[tuple[int, bool]]) -> None:
    for is_dark, words in ((True, "compatible with all releases"), (False, "ruled out by another release")):
        lines = [line for line, (_, flag) in enumerate(bars) if flag == is_dark]
        colour, hatch = (plots.VERMILION, None) if is_dark else ("#f0f0f0", "///")
        lengths = [bars[line][0] for line in lines]
        axes.barh(lines, lengths, height=0.62, color=colour, edgecolor=plots.INK, hatch=hatch, label=words)


def _note(count: int) -> str:
    return pluralize(count, *_PEOPLE) if count else "nobody"
