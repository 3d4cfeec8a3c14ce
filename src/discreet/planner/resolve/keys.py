"""The public keys of a grouping: given with the query, declared in the catalog, or the rows of a public table."""

import itertools
import math
from collections import Counter
from collections.abc import Iterable

from discreet.catalog.catalog import UNSTRUCTURED, ColumnType, Value, is_of_type
from discreet.errors import KeysError, TypeMismatchError, UnsupportedError
from discreet.errors.calls import keyword_text
from discreet.plan import logical
from discreet.plan.logical import MOST_KEYS
from discreet.plan.physical import Apply, Constant, Keys, Read, Term
from discreet.planner.resolve.binding import KEY_EXAMPLES, Bound, key_constant


def resolve(grouping: logical.Grouping, scope: Bound) -> Keys:
    """Terms and key rows of a grouping; every key is always answered, in this order."""
    if not grouping.columns:
        return Keys()
    if grouping.discovery is not None:
        raise UnsupportedError(
            "keys that are discovered, in this kind of query",
            because="they are found for counts, sums and means in a release",
            instead="keys=... with public ones, or session.release(table.group_by(...).agg(n=dp.count()), ...) first",
        )
    terms = tuple(_term(name, scope) for name in grouping.columns)
    public = [_public(name, term, scope) for name, term in zip(grouping.columns, terms, strict=True)]
    if grouping.rows is not None:
        _refuse_none_or_too_many(len(grouping.rows))
        listed = _key_constants(grouping, zip(*grouping.rows, strict=True), terms, public)
        return Keys(terms, _distinct(tuple(zip(*listed, strict=True))))
    lists = [
        _key_list(name, term, known if given is None else given)
        for name, term, known, given in zip(grouping.columns, terms, public, grouping.values, strict=True)
    ]
    _refuse_none_or_too_many(math.prod(map(len, lists)))
    columns = _key_constants(grouping, lists, terms, public)
    if all(len(set(values)) == len(values) for values in columns):  # then all rows of their product are distinct
        return Keys(terms, tuple(itertools.product(*columns)))
    return Keys(terms, _distinct(tuple(itertools.product(*columns))))


def resolve_unknown(grouping: logical.Grouping, scope: Bound) -> tuple[Bound, Keys]:
    """Terms of a grouping whose keys are to be found; rows whose other columns have no public key are left out."""
    assert grouping.discovery is not None  # noqa: S101 - planning sees to it
    terms = tuple(_term(name, scope) for name in grouping.columns)
    for name, term, given in zip(grouping.columns, terms, grouping.values, strict=True):
        if name not in grouping.discovery.columns:
            known = _public(name, term, scope)
            values = _constants(_key_list(name, term, known if given is None else given), term, name)
            if known is not None:
                _refuse_undeclared_keys(name, values, _constants(known, term, name))
            scope = scope.restrict(among(term, values))
    return scope, Keys(terms, (), at_least=grouping.discovery.at_least)


def among(term: Term, values: tuple[Value, ...]) -> Term:
    """Whether a term has one of some values, of which one may be the missing one."""
    _refuse_none_or_too_many(len(values))
    present = tuple(Constant(value, term.type) for value in values if value is not None)
    parts: list[Term] = [Apply("in", (term, *present), ColumnType.BOOLEAN)] if present else []
    parts += [Apply("missing", (term,), ColumnType.BOOLEAN)] if None in values else []
    return parts[0] if len(parts) == 1 else Apply("or", tuple(parts), ColumnType.BOOLEAN)


def _key_constants(
    grouping: logical.Grouping,
    lists: Iterable[tuple[Value, ...]],
    terms: tuple[Term, ...],
    public: list[tuple[Value, ...] | None],
) -> list[tuple[Value, ...]]:
    """Each column's keys as constants of its type, all of them among those that the catalog declares."""
    columns = []
    for name, values, term, known in zip(grouping.columns, lists, terms, public, strict=True):
        columns.append(_constants(values, term, name))
        if known is not None:
            _refuse_undeclared_keys(name, columns[-1], _constants(known, term, name))
    return columns


def _term(name: str, scope: Bound) -> Term:
    term = scope.term(logical.ColumnRef(name))
    if term.type in (ColumnType.REAL, *UNSTRUCTURED):
        cast = f'table["{name}"].cast("integer")'
        raise TypeMismatchError(
            f"group_by({name!r}) of type {term.type}",
            because="groups need values that can be listed in advance",
            instead=f"derive({keyword_text(name, cast)})"
            if term.type is ColumnType.REAL
            else "a column that the owner extracted from it",
        )
    return term


def _public(name: str, term: Term, scope: Bound) -> tuple[Value, ...] | None:
    """The keys that the catalog declares, only where the column is that very one and nothing redefined it."""
    return scope.table.columns[name].keys if name not in scope.derived and isinstance(term, Read) else None


def _key_list(name: str, term: Term, values: tuple[Value, ...] | None) -> tuple[Value, ...]:
    if values is None and term.type is ColumnType.BOOLEAN:
        return False, True
    if values is None:
        raise KeysError(
            f"group_by({name!r})",
            because="its keys are not public, so a rare one would reveal a unit",
            instead=f'group_by("{name}", keys={{"{name}": {KEY_EXAMPLES[term.type]}}}), '
            "or declare keys in the catalog, or keys=dp.discover(delta=1e-10) under a budget with reserved_delta",
        )
    return values


def _constants(values: Iterable[Value], term: Term, name: str) -> tuple[Value, ...]:
    place, listed = f"keys of {name!r}", tuple(values)
    if term.type is ColumnType.INTEGER and set(map(type, listed)) == {int} and _fits(listed):
        return listed
    return tuple(key_constant(value, term.type, place) for value in listed)


def _fits(numbers: tuple[Value, ...]) -> bool:
    """Whether whole numbers are keys as they are, which is quick to see of a million."""
    return all(is_of_type(extreme(numbers), ColumnType.INTEGER) for extreme in (min, max))  # type: ignore[type-var]


def _refuse_undeclared_keys(name: str, given: tuple[Value, ...], declared: tuple[Value, ...]) -> None:
    known = set(declared)
    strangers = [value for value in given if value not in known]
    if strangers:
        shown = ", ".join(repr(value) for value in declared[:8]) + (", ..." if len(declared) > 8 else "")
        raise KeysError(
            f"key {strangers[0]!r} of {name!r}",
            because="the catalog declares the keys of this column, and it is not among them",
            instead=f'keys={{"{name}": [{shown}]}}',
        )


def _refuse_none_or_too_many(count: int) -> None:
    if not 0 < count <= MOST_KEYS:
        raise KeysError(
            f"a grouping with {count:,} keys",
            because=f"a release has 1 to {MOST_KEYS:,} keys",
            instead="fewer grouping columns, or keys=... with the rows of a public table that are wanted",
        )


def _distinct(rows: tuple[tuple[Value, ...], ...]) -> tuple[tuple[Value, ...], ...]:
    if len(set(rows)) != len(rows):
        twice = next(row for row, times in Counter(rows).items() if times > 1)
        raise KeysError(
            f"the key {', '.join(map(repr, twice))} twice",
            because="each key is answered once",
            instead="keys=list(dict.fromkeys(...)), which keeps each once",
        )
    return rows
