"""Slots that are found privately: which columns, at what delta, in how many bins; declared without data.

people = dp.table("people")
found = session.release(people.find_slots(["occupation", "income"]), epsilon=0.2)
table = session.release(people.synthesize(dp.synthesis.TreeSynthesizer(), slots=found), epsilon=1)
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from discreet.errors import ParameterError, public_class, short_traceback
from discreet.exact.numbers import Number, positive, probability, whole
from discreet.plan import logical
from discreet.plan.slots import SlotColumn
from discreet.release.found_slots import FoundSlots

MOST_BINS = 1_000


@public_class
@dataclass(frozen=True)
class SlotsQuery:
    """Query for slots of columns; `Frame.find_slots` makes it.

    Attributes:
        source: The rows.
        columns: Names of the columns; None for those that have no slots in the catalog.
        delta: Probability that a rare value is named, over all columns; None for a tenth of the reserved delta.
        bins: Most bins of a number or date.

    Example:
        >>> import discreet as dp
        >>> dp.table("people").find_slots(["occupation"]).columns
        ('occupation',)
    """

    source: logical.Relation
    columns: tuple[str, ...] | None = None
    delta: Fraction | None = None
    bins: int = 32


@public_class
class SlotQueries:
    """The queries of a table for slots of its columns."""

    _relation: logical.Relation

    @short_traceback
    def find_slots(
        self, columns: Sequence[str] | None = None, *, delta: Number | None = None, bins: int = 32
    ) -> SlotsQuery:
        """Slots of columns that are found privately, in one charge, for `synthesize(..., slots=found)`.

        A text has the values that partition selection keeps. A number has bins of about equal numbers of rows:
        between quantiles where bounds are declared, else between bounds that are found. A date or time has the
        years that partition selection keeps. The cost is divided evenly over the columns.

        Texts of an in-memory table whose column types were inferred are found in one form, which all readers leave of
        them: "f" and "false" are "0", and "t" and "true" are "1". `fixed_schema=True` of `dp.protect` keeps texts as
        they are.

        Args:
            columns: Names of columns. Default: those that have neither bounds nor keys in the catalog.
            delta: Probability that a value reveals the presence of one unit, over all columns; the budget must have
                reserved it. Default: a tenth of what the budget reserves. Numbers need none.
            bins: Most bins of a number or date. Default 32.

        Returns:
            A query for `session.explain` and `session.release`.

        Raises:
            ParameterError: If an argument is of another kind.

        Example:
            >>> import discreet as dp
            >>> query = dp.table("people").find_slots(["occupation", "income"], delta=1e-8)
        """
        if whole(bins, "bins") > MOST_BINS or bins < 2:
            raise ParameterError(f"bins={bins}", because=f"there are 2 to {MOST_BINS:,} of them", instead="bins=32")
        listed = None if columns is None else column_names(columns, "columns", '["occupation", "income"]')
        small = None
        if delta is not None:
            positive(delta, "delta")
            small = probability(delta, "delta", example="1e-8")
        return SlotsQuery(self._relation, listed, small, int(bins))


def column_names(names: object, what: str, example: str) -> tuple[str, ...]:
    """A list of names, each once and of no other class than text.

    Raises:
        ParameterError: If it is anything else.
    """
    given = () if isinstance(names, str) or not isinstance(names, Sequence) else tuple(names)
    listed = tuple(str.__str__(name) for name in given if isinstance(name, str))  # a subclass would see exact counts
    if not listed or len(listed) < len(given) or len(set(listed)) < len(listed):
        raise ParameterError(
            f"{what} that are not a list of names, each once",
            because="it is one text, not a list" if isinstance(names, str) else "columns are named by text",
            instead=f"{what}=[{str.__str__(names)!r}]" if isinstance(names, str) and names else f"{what}={example}",
        )
    return listed


def found_columns(slots: object) -> tuple[SlotColumn, ...]:
    """The columns of slots that were found.

    Raises:
        ParameterError: If it is anything else.
    """
    if slots is None:
        return ()
    if not isinstance(slots, FoundSlots):
        raise ParameterError(
            f"slots of type {type(slots).__name__}",
            because="they are what session.release(table.find_slots(...)) returned",
            instead='keys={"sex": ["F", "M"]}, edges={"age": [0, 18, 65, 100]}',
        )
    try:
        return tuple(SlotColumn.from_json(each) for each in slots.columns)
    except (KeyError, TypeError, ValueError):
        raise ParameterError(
            "slots that are damaged",
            because="a column has edges or values of its type",
            instead="dp.FoundSlots.from_json(...) of what to_json() wrote",
        ) from None
