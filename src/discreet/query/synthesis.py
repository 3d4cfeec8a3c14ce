"""Synthetic tables: a table to synthesise from noisy marginals, declared without data. A session releases it.

people = dp.table("people")
table = session.release(people.synthesize(dp.synthesis.IndependentSynthesizer()), epsilon=1)
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from discreet.errors import ParameterError, public_class, short_traceback
from discreet.plan import logical
from discreet.plan.slots import Marginal
from discreet.plan.synthesis import Synthesizer, synthesizer_tag

Edges = tuple[tuple[str, tuple[logical.Scalar, ...]], ...]


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

    Example:
        >>> import discreet as dp
        >>> dp.table("people").synthesize(dp.synthesis.IndependentSynthesizer(), columns=["age", "sex"]).columns
        ('age', 'sex')
    """

    source: logical.Relation
    synthesizer: Synthesizer
    columns: tuple[str, ...] | None = None
    edges: Edges = ()
    workload: tuple[Marginal, ...] | None = None


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
        workload: Sequence[Sequence[str]] | None = None,
    ) -> SynthesisQuery:
        """Synthetic table: `session.release` charges for all of it, then returns the table.

        Columns are read in slots. A number has the bins of the catalog, or 32 of equal width between its bounds.
        Another column has the keys of the catalog. Missing values, and those not declared, have a slot of their own.

        Args:
            synthesizer: A synthesizer of `dp.synthesis` itself, not of a subclass.
            columns: Names of the columns of the synthetic table. Default: all but the privacy unit; each then needs
                bounds or keys in the catalog.
            edges: Edges of bins, by column: at least two increasing numbers, dates or times. Default: those of the
                catalog.
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
        listed = None if columns is None else _names(columns, "columns", '["age", "sex"]')
        return SynthesisQuery(self._relation, synthesizer, listed, _edges(edges), _workload(workload, listed))


def _names(names: object, what: str, example: str) -> tuple[str, ...]:
    given = () if isinstance(names, str) or not isinstance(names, Sequence) else tuple(names)
    listed = tuple(str.__str__(name) for name in given if isinstance(name, str))  # a subclass would see exact counts
    if not listed or len(listed) < len(given) or len(set(listed)) < len(listed):
        raise ParameterError(
            f"{what} that are not a list of names, each once",
            because="columns are named by text",
            instead=f"{what}={example}",
        )
    return listed


def _edges(edges: object) -> Edges:
    if edges is None:
        return ()
    found = edges if isinstance(edges, Mapping) else {}
    is_fitting = all(isinstance(each, Sequence) and not isinstance(each, str) for each in found.values())
    if not found or not is_fitting or not all(isinstance(name, str) for name in found):
        raise ParameterError(
            "edges that are not lists by the names of columns",
            because="each column has its own edges",
            instead='edges={"age": [0, 18, 65, 100]}',
        )
    return tuple((name, tuple(each)) for name, each in found.items())


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
    found = tuple(_names(marginal, "workload", example) for marginal in listed)
    for name in (name for marginal in found for name in marginal):
        if columns is not None and name not in columns:
            raise ParameterError(
                f"{name!r} in the workload",
                because="it is not one of the columns",
                instead=f"columns={[*columns, name]}",
            )
    return found
