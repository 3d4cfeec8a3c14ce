"""Small groups: a table of exact counts and means by group reveals people who are alone in one.

The mean of a group of one is a person's value; in a group of two, each learns the other's. Leaving small groups out
says where they are, and what was left out follows from the totals. A session answers for every public key, with noise
that is as large for a group of one as for a group of a million, so that small groups are distinguished from empty ones
only up to the odds that epsilon allows.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import exp, tanh
from statistics import median
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from discreet import plots
from discreet.attacks import pictures
from discreet.attacks.answers import checked_session
from discreet.attacks.outcome import NOT_PRIVATE, Outcome, exact_figure, few_digits, percent, pluralize
from discreet.catalog.catalog import Value
from discreet.engines.sources.arrow_tables import as_arrow, classes, column_names, numbers
from discreet.errors import ParameterError, public_class, short_traceback
from discreet.exact.numbers import Number, positive, whole
from discreet.query import frame
from discreet.release.release import Release
from discreet.session.session import Session

if TYPE_CHECKING:
    from matplotlib.figure import Figure

COUNT, MEAN = "n", "mean"
_EXAMPLES = 3
_COLUMNS = '["ward", "sex"]'

Counts = NDArray[np.int64]


@public_class
@dataclass(frozen=True, repr=False)
class SmallGroups(Outcome):
    """Outcome for exact figures: groups of one, and small groups.

    Attributes:
        groups: Number of groups.
        people: Number of people.
        fewer_than: Size below which a group is small.
        of_one: Number of groups of one.
        small: Number of small groups.
        people_in_small: Number of people in them.
        given_away: Number of people whose value is in the table, or None.
        sizes: Pairs of a size and the number of groups that have it.
        examples: Groups of one, in words.
        epsilon: Epsilon that `with_epsilon` is about.

    Example:
        >>> import discreet as dp
        >>> counts = dp.attacks.small_groups.exact_table(dp.datasets.people(500), by=["state", "occupation"])
        >>> dp.attacks.small_groups.against_table(counts).people
        500
    """

    attack = "small groups"

    groups: int
    people: int
    fewer_than: int
    of_one: int
    small: int
    people_in_small: int
    given_away: int | None
    sizes: tuple[tuple[int, int], ...]
    examples: tuple[str, ...]
    epsilon: float

    @property
    def has(self) -> str:
        """What the attacker starts from."""
        what = "counts" if self.given_away is None else "counts and means"
        return f"exact {what} of {pluralize(self.groups, 'group')}, {pluralize(self.people, 'person', 'people')} in all"

    @property
    def does(self) -> str:
        """What the attacker does with it."""
        return f"looks for groups of one, and of fewer than {self.fewer_than}"

    @property
    def inference(self) -> str:
        """What came out, and from how much."""
        small = pluralize(self.people_in_small, "person is", "people are")
        text = f"{pluralize(self.of_one, 'person is', 'people are')} alone in a group, {small} in one of fewer than "
        text += str(self.fewer_than)
        if self.given_away is not None:
            text += f"; {pluralize(self.given_away, 'value is', 'values are')} given away"
        return text + (f", such as {self.examples[0]}" if self.examples else "")

    @property
    def with_epsilon(self) -> str:
        """What epsilon does about it."""
        same = tanh(self.epsilon / 2)
        return (
            f"at epsilon {plots.plain(self.epsilon)} a group of one shows a count of 1 in {percent(same)} of releases, "
            f"an empty one in {percent(same * exp(-self.epsilon))}: no count moves the odds that somebody is there by "
            f"more than {few_digits(exp(self.epsilon))} times"
        )

    def plot(self) -> "Figure":
        """Number of groups of each size.

        Returns:
            A figure.
        """
        names, numbers, notes = _bin_sizes(self.sizes, self.fewer_than)
        return pictures.bars(
            names,
            numbers,
            notes,
            title=f"Small groups: {self.of_one:,} of {self.people:,} people are alone in theirs",
            label="groups of that size",
            exposed=[line < self.fewer_than - 1 for line in range(len(names))],
            legend=(f"fewer than {self.fewer_than} people", "others"),
        )


@public_class
@dataclass(frozen=True, repr=False)
class ToldGroups(Outcome):
    """Outcome for a release: groups that look small, against those that are.

    Attributes:
        groups: Number of groups.
        fewer_than: A group is called small if its count is at least 1 and below this.
        small: Number of small groups.
        called: Number of groups called small.
        right: Number of those that are small.
        of_one: Number of groups of one.
        called_one: Number of groups called groups of one.
        right_one: Number of those that are.
        by_size: Triples of a true size, the number of groups, and the number called small; the last is `fewer_than` or
            more.
        value_error: Median error of the released mean in groups of one, or None.
        epsilon: Epsilon of the release.
        is_private: Whether the release is private.
        is_pure: Whether it has no delta. Default True.

    Example:
        >>> import discreet as dp
        >>> issubclass(dp.attacks.small_groups.ToldGroups, dp.attacks.Outcome)
        True
    """

    attack = "small groups, from a release"

    groups: int
    fewer_than: int
    small: int
    called: int
    right: int
    of_one: int
    called_one: int
    right_one: int
    by_size: tuple[tuple[int, int, int], ...]
    value_error: float | None
    epsilon: float
    is_private: bool
    is_pure: bool = True

    @property
    def precision(self) -> float:
        """The share of groups called small that are."""
        return self.right / self.called if self.called else 0.0

    @property
    def has(self) -> str:
        """What the attacker starts from."""
        kind = "a private release" if self.is_private else "an exact release"
        return f"{kind} of counts for {pluralize(self.groups, 'public key')}"

    @property
    def does(self) -> str:
        """What the attacker does with it."""
        return f"calls a group small where the count is from 1 to {self.fewer_than - 1}, and alone where it is 1"

    @property
    def inference(self) -> str:
        """What came out, and from how much."""
        text = (
            f"{self.called:,} groups are called small and {percent(self.precision)} of them are (of all groups "
            f"{percent(self.small / self.groups)} are); {self.called_one:,} are called a group of one, "
            f"{self.right_one:,} of them are, of {self.of_one:,} that there are"
        )
        if self.value_error is None:
            return text
        return f"{text}; the mean of a group of one is off by {plots.plain(round(self.value_error, 6))} in the median"

    @property
    def with_epsilon(self) -> str:
        """What epsilon does about it."""
        if not self.is_private:
            return NOT_PRIVATE
        return (
            f"at epsilon {plots.plain(self.epsilon)} every key is answered, whether or not anybody is there, and no "
            f"count moves the odds that somebody is there by more than {few_digits(exp(self.epsilon))} times"
            + ("" if self.is_pure else ", except for the delta of the budget")
        )

    def plot(self) -> "Figure":
        """Share of groups called small, by their true size.

        Returns:
            A figure.
        """
        drawn = [each for each in self.by_size if each[1]]
        names = [
            f"{size} or more" if size == self.fewer_than else "empty" if not size else str(size) for size, *_ in drawn
        ]
        shares = [called / groups for _, groups, called in drawn]
        notes = [f"{called:,} of {groups:,} called small" for _, groups, called in drawn]
        kind = f"a release at epsilon {plots.plain(self.epsilon)}" if self.is_private else "an exact release"
        return pictures.bars(
            [f"true size {name}" if name != "empty" else name for name in names],
            shares,
            notes,
            title=f"Small groups: which groups look small in {kind}",
            label="share of the groups of that size that look small",
            exposed=[0 < size < self.fewer_than for size, *_ in drawn],
            legend=("are small", "are not"),
            is_share=True,
        )


@short_traceback
def exact_table(rows: object, *, by: Sequence[str], value: str | None = None) -> pa.Table:
    """Exact table of a careless publisher: the count `n` of each group, and the `mean` of a value.

    Args:
        rows: Table, or the path of a CSV or Parquet file.
        by: Columns of the groups.
        value: Numeric column for the mean. Default: none.

    Returns:
        An Arrow table.

    Raises:
        ParameterError: If an argument is outside its range or of another kind.

    Example:
        >>> import discreet as dp
        >>> dp.attacks.small_groups.exact_table(dp.datasets.people(500), by=["sex"], value="income").column_names
        ['sex', 'n', 'mean']
    """
    columns = column_names(by, "by", example=_COLUMNS)
    table = as_arrow(rows, *columns, *([value] if value is not None and value not in columns else []))
    *_, (codes,) = classes([table], columns)
    asked = [("row", "min"), ("row", "count"), *([("value", "mean")] if value else [])]
    coded = {"class": codes, "row": np.arange(len(codes)), **({"value": numbers(table, value)} if value else {})}
    found = pa.table(coded).group_by("class").aggregate(asked).sort_by("row_min")
    made = table.select(columns).take(found["row_min"]).append_column(COUNT, found["row_count"])
    return made.append_column(MEAN, found["value_mean"]) if value else made


@short_traceback
def against_table(
    figures: object, *, count: str = COUNT, value: str | None = None, fewer_than: int = 5, epsilon: Number = 1
) -> SmallGroups:
    """Groups of one and small groups in a table of exact counts.

    Args:
        figures: Table of figures, such as that of `exact_table`.
        count: Column of the counts. Default "n".
        value: Column of the means. Default: none.
        fewer_than: Size below which a group is small. Default 5.
        epsilon: Epsilon that `with_epsilon` is about. Default 1.

    Returns:
        The outcome.

    Raises:
        ParameterError: If an argument is outside its range or of another kind.

    Example:
        >>> import discreet as dp
        >>> counts = dp.attacks.small_groups.exact_table(dp.datasets.people(500), by=["sex"])
        >>> dp.attacks.small_groups.against_table(counts).groups
        3
    """
    table = as_arrow(figures)
    counts = _whole(as_arrow(table, count), count)
    alone = counts == 1
    small = (counts > 0) & (counts < whole(fewer_than, "fewer_than", least=2))
    given = None if value is None else pc.is_valid(as_arrow(table, value)[value]).to_numpy(zero_copy_only=False) & alone
    found, times = np.unique(counts[counts > 0], return_counts=True)
    return SmallGroups(
        groups=int((counts > 0).sum()),
        people=int(counts.sum()),
        fewer_than=fewer_than,
        of_one=int(alone.sum()),
        small=int(small.sum()),
        people_in_small=int(counts[small].sum()),
        given_away=None if given is None else int(given.sum()),
        sizes=tuple(zip(found.tolist(), times.tolist(), strict=True)),
        examples=_examples(table, alone if given is None else given, {count}),
        epsilon=float(positive(epsilon, "epsilon")),
    )


@short_traceback
def against_release(
    release: Release,
    truth: object,
    *,
    epsilon: Number,
    count: str = COUNT,
    value: str | None = None,
    fewer_than: int = 5,
) -> ToldGroups:
    """How well small groups can be found from a release.

    Args:
        release: The release.
        truth: The exact table, as `exact_table` makes it.
        epsilon: Epsilon of the release.
        count: Output with the counts. Default "n".
        value: Output with the means. Default: none.
        fewer_than: Size below which a group is small. Default 5.

    Returns:
        The outcome.

    Raises:
        ParameterError: If an argument is outside its range or of another kind.

    Example:
        >>> import discreet as dp
        >>> people = dp.datasets.people(200)
        >>> facts = {"name": "people", "privacy_unit": "person_id", "max_rows": 1, "budget": dp.Budget(epsilon=1)}
        >>> grouped = dp.table("people").group_by("sex", keys={"sex": ["female", "male"]})
        >>> release = dp.testing.protect(people, **facts).release(grouped.agg(n=dp.count()), epsilon=1)
        >>> truth = dp.attacks.small_groups.exact_table(people, by=["sex"])
        >>> dp.attacks.small_groups.against_release(release, truth, epsilon=1).groups
        2
    """
    exact = as_arrow(truth)
    columns = [key.name for key in release.keys]
    shown, sizes, places = _beside(release, exact, columns)
    noisy = np.round(np.asarray(release[count], dtype=float)).astype(np.int64)
    least = whole(fewer_than, "fewer_than", least=2)
    small, called = (sizes > 0) & (sizes < least), (noisy > 0) & (noisy < least)
    capped = np.minimum(sizes, least)
    return ToldGroups(
        groups=shown,
        fewer_than=least,
        small=int(small.sum()),
        called=int(called.sum()),
        right=int((small & called).sum()),
        of_one=int((sizes == 1).sum()),
        called_one=int((noisy == 1).sum()),
        right_one=int(((noisy == 1) & (sizes == 1)).sum()),
        by_size=tuple((s, int((capped == s).sum()), int((called & (capped == s)).sum())) for s in range(least + 1)),
        value_error=None if value is None else _value_error([v or 0 for v in release[value]], exact, sizes, places),
        epsilon=float(positive(epsilon, "epsilon")),
        is_private=release.private,
        is_pure=all(part.noise is not None and part.noise.cost == "epsilon" for part in release.measured),
    )


@short_traceback
def against_session(
    session: Session,
    truth: object,
    *,
    table: str,
    by: Sequence[str],
    epsilon: Number,
    keys: Mapping[str, Sequence[Value]] | None = None,
    value: str | None = None,
    bounds: tuple[Number, Number] | None = None,
    fewer_than: int = 5,
) -> ToldGroups:
    """Ask a session for counts of every public key, and tell small groups from the answers.

    Args:
        session: The session; it is charged.
        truth: The exact table, as `exact_table` makes it.
        table: Name of the table.
        by: Columns of the groups.
        epsilon: Epsilon of the release.
        keys: Public keys by column. Default: those in the catalog.
        value: Numeric column for a mean. Default: none.
        bounds: Clipping bounds of the mean. Default: those in the catalog.
        fewer_than: Size below which a group is small. Default 5.

    Returns:
        The outcome.

    Raises:
        Refusal: If an argument is of another kind, or the session refuses a query.

    Example:
        >>> import discreet as dp
        >>> people = dp.datasets.people(200)
        >>> facts = {"name": "people", "privacy_unit": "person_id", "max_rows": 1, "budget": dp.Budget(epsilon=1)}
        >>> session, keys = dp.testing.protect(people, **facts), {"sex": ["female", "male"]}
        >>> truth = dp.attacks.small_groups.exact_table(people, by=["sex"])
        >>> attack = {"table": "people", "by": ["sex"], "keys": keys, "epsilon": 1}
        >>> dp.attacks.small_groups.against_session(session, truth, **attack).groups
        2
    """
    checked_session(session)
    asked = {COUNT: frame.count()} | ({MEAN: frame.mean(value, bounds=bounds)} if value else {})
    query = frame.table(table).group_by(*column_names(by, "by", example=_COLUMNS), keys=keys).agg(**asked)
    release = session.release(query, epsilon=epsilon)
    return against_release(release, truth, epsilon=epsilon, value=MEAN if value else None, fewer_than=fewer_than)


def _beside(release: Release, exact: pa.Table, columns: list[str]) -> tuple[int, Counts, Counts]:
    """How many keys were answered, the true size of each, and where the exact table has it (-1 where it has not)."""
    if not columns:
        raise ParameterError(
            "a release without groups",
            because="small groups are identified by their keys",
            instead='table.group_by("ward").agg(n=dp.count())',
        )
    *_, (here, there) = classes([release.to_arrow(), as_arrow(exact, *columns)], columns)
    place = np.full(max(here.max(initial=0), there.max(initial=0)) + 1, -1, dtype=np.int64)
    place[there] = np.arange(len(there))
    places = place[here]
    sizes = np.where(places >= 0, np.append(_whole(as_arrow(exact, COUNT), COUNT), 0)[places], 0)
    return len(here), sizes, places


def _value_error(noisy: Sequence[float], exact: pa.Table, sizes: Counts, places: Counts) -> float | None:
    truth = as_arrow(exact, MEAN)[MEAN].to_pylist()
    pairs = ((noisy[line], truth[places[line]]) for line in np.flatnonzero(sizes == 1).tolist())
    errors = [abs(shown - true) for shown, true in pairs if true is not None]
    return median(errors) if errors else None


def _whole(table: pa.Table, count: str) -> Counts:
    return np.asarray(pc.fill_null(numbers(table, count), 0).to_numpy()).astype(np.int64)


def _examples(table: pa.Table, chosen: NDArray[np.bool_], hidden: set[str]) -> tuple[str, ...]:
    rows = table.drop_columns(list(hidden)).take(pa.array(np.flatnonzero(chosen)[:_EXAMPLES]))
    return tuple(", ".join(f"{name} {_cell(cell)}" for name, cell in row.items()) for row in rows.to_pylist())


def _cell(cell: Any) -> str:
    if cell is None:
        return "(missing)"
    return exact_figure(cell) if isinstance(cell, int | float) and not isinstance(cell, bool) else repr(str(cell))


def _bin_sizes(sizes: Sequence[tuple[int, int]], least: int) -> tuple[list[str], list[float], list[str]]:
    """One line for each small size, then decades."""
    ends = [*range(1, least), *(end for end in (10, 100, 1_000, 10_000) if end > least), None]
    names, numbers, notes, low = [], [], [], 1
    for end in ends:
        high = end if end is None or end < least else end - 1
        number = sum(times for size, times in sizes if size >= low and (high is None or size <= high))
        name = (
            f"{low:,} or more"
            if high is None
            else pluralize(low, "person", "people")
            if low == high
            else f"{low:,} to {high:,}"
        )
        if number or low < least:
            names.append(name)
            numbers.append(float(number))
            notes.append(pluralize(number, "group"))
        low = (high or 0) + 1
    return names, numbers, notes
