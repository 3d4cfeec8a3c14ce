"""Synthetic tables: a table to synthesise from noisy marginals, declared without data. A session releases it.

people = dp.table("people")
table = session.release(people.synthesize(dp.synthesis.IndependentSynthesizer()), epsilon=1)
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from discreet.errors import ParameterError, public_class, short_traceback
from discreet.plan import logical
from discreet.plan.slots import Marginal, SlotColumn
from discreet.plan.synthesis import Synthesizer, synthesizer_tag
from discreet.query.found_slots import column_names, found_columns
from discreet.release.found_slots import FoundSlots

PublicValues = tuple[tuple[str, tuple[logical.Scalar, ...]], ...]
"""Public values by column: edges of bins, keys, or two bounds."""


@public_class
@dataclass(frozen=True)
class SynthesisQuery:
    """Query for a synthetic table; `Frame.synthesize` makes it.

    Attributes:
        source: The rows.
        synthesizer: The synthesizer.
        columns: Names of the columns of the synthetic table; None for all but the privacy unit.
        edges: Edges of bins of numbers, dates and times, by column.
        workload: Marginals that matter most; None where all do.
        keys: Values of other columns, by column.
        bounds: Lowest and highest value of numbers, dates and times, by column.
        found: Columns with slots that were found privately.
        not_found: Columns in which that search found nothing.
        exact_slots: Whether those were found without noise, by `dp.testing`; only a session of `dp.testing` takes them.

    Example:
        >>> import discreet as dp
        >>> dp.table("people").synthesize(dp.synthesis.IndependentSynthesizer(), columns=["age", "sex"]).columns
        ('age', 'sex')
    """

    source: logical.Relation
    synthesizer: Synthesizer
    columns: tuple[str, ...] | None = None
    edges: PublicValues = ()
    workload: tuple[Marginal, ...] | None = None
    keys: PublicValues = ()
    bounds: PublicValues = ()
    found: tuple[SlotColumn, ...] = ()
    exact_slots: bool = False
    not_found: tuple[str, ...] = ()


@public_class
class SynthesisQueries:
    """The queries of a table for synthetic tables."""

    _relation: logical.Relation

    @short_traceback
    def synthesize(
        self,
        synthesizer: Synthesizer,
        *,
        columns: Sequence[str] | None = None,
        edges: Mapping[str, Sequence[logical.Scalar]] | None = None,
        keys: Mapping[str, Sequence[logical.Scalar | None]] | None = None,
        bounds: Mapping[str, Sequence[logical.Scalar]] | None = None,
        slots: FoundSlots | None = None,
        workload: Sequence[Sequence[str]] | None = None,
    ) -> SynthesisQuery:
        """Synthetic table: `session.release` charges for all of it, then returns the table.

        Columns are read in slots. A number has the bins of the catalog, or 32 of equal width between its bounds.
        Another column has the keys of the catalog. Missing values, and those not declared, have a slot of their own.
        What the query declares has to be public, or from an earlier release; it comes before the catalog.

        Args:
            synthesizer: A synthesizer of `dp.synthesis` itself, not of a subclass.
            columns: Names of the columns of the synthetic table. Default: all but the privacy unit; each then needs
                bounds or keys in the catalog.
            edges: Edges of bins, by column: at least two increasing numbers, dates or times. Default: those of the
                catalog.
            keys: Values of texts, whole numbers or dates, by column. Default: those of the catalog.
            bounds: Lowest and highest number, date or time, by column, with 32 bins of equal width between them.
                Default: those of the catalog.
            slots: Slots that `session.release(table.find_slots(...))` found; those of other columns play no part. What
                else the query declares comes first. Default: none.
            workload: Marginals that matter most, each as names of columns. Default: those that the synthesizer
                chooses.

        Returns:
            A query for `session.explain` and `session.release`.

        Raises:
            ParameterError: If an argument is of another kind, or the synthesizer of a class that is not of
                `dp.synthesis`.

        Example:
            >>> import discreet as dp
            >>> query = dp.table("people").synthesize(dp.synthesis.IndependentSynthesizer(), columns=["age", "sex"])
        """
        synthesizer_tag(synthesizer)
        listed = None if columns is None else column_names(columns, "columns", '["age", "sex"]')
        declared = [
            _public_values(*each) for each in zip(("edges", "keys", "bounds"), (edges, keys, bounds), strict=True)
        ]
        _refuse_several(declared)
        return SynthesisQuery(
            self._relation,
            synthesizer,
            listed,
            declared[0],
            _workload(workload, listed),
            declared[1],
            declared[2],
            found_columns(slots),
            exact_slots=slots is not None and not slots.private,
            not_found=() if slots is None else tuple(str.__str__(name) for name in slots.not_found),
        )


_EXAMPLES = {
    "edges": 'edges={"age": [0, 18, 65, 100]}',
    "keys": 'keys={"sex": ["F", "M"]}',
    "bounds": 'bounds={"age": (0, 100)}',
}


def _public_values(what: str, given: object) -> PublicValues:
    """Public values by column, each as a list."""
    if given is None:
        return ()
    found = given if isinstance(given, Mapping) else {}
    is_fitting = all(isinstance(each, Sequence) and not isinstance(each, str) for each in found.values())
    if not found or not is_fitting or not all(isinstance(name, str) for name in found):
        raise ParameterError(
            f"{what} that are not lists by the names of columns",
            because=f"each column has its own {what}",
            instead=_EXAMPLES[what],
        )
    return tuple((str.__str__(name), tuple(each)) for name, each in found.items())


def _refuse_several(declared: Sequence[PublicValues]) -> None:
    """Refuse a column with two declarations: one of them would have no effect."""
    names = [name for each in declared for name, _ in each]
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise ParameterError(
            f"two declarations of {twice[0]!r}",
            because="a column has edges, keys or bounds, and one of them",
            instead=f"edges={{{twice[0]!r}: [0, 18, 65, 100]}} alone",
        )


def _workload(workload: object, columns: tuple[str, ...] | None) -> tuple[Marginal, ...] | None:
    if workload is None:
        return None
    listed = () if isinstance(workload, str) or not isinstance(workload, Sequence) else tuple(workload)
    example = '[["age", "sex"], ["sex"]]'
    if not listed or any(isinstance(marginal, str) for marginal in listed):
        raise ParameterError(
            "a workload that is not a list of marginals",
            because="a marginal is a list of names of columns",
            instead=f"workload={example}",
        )
    found = tuple(column_names(marginal, "workload", example) for marginal in listed)
    for name in (name for marginal in found for name in marginal):
        if columns is not None and name not in columns:
            raise ParameterError(
                f"{name!r} in the workload",
                because="it is not one of the columns",
                instead=f"columns={[*columns, name]}",
            )
    return found
