"""Joined relations: what a join or a grouping by unit makes of tables, as a new relation whose rows each have one unit.

After every join a row belongs to exactly one unit, and the rows of one unit are made from its own rows and public
tables alone. So the scan, its contribution bounds and every sensitivity rule stand above such a relation as they stand
above a table: contribution bounds are enforced after the join, on the rows that it gives.

Definition   the relation of a chain of joins, and whose each of its rows is
Guarantee    removing the rows of a unit from one protected table, or from all of them, removes exactly the rows of the
             relation that are labelled with it (inner joins), and changes no other row
Exactness    equality of typed columns; no number is computed
Not covered  tables whose rows belong to several units, and a unit that is called otherwise in another table
References   docs/proofs/planner/resolve/relations.md
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from discreet.catalog.catalog import UNSTRUCTURED, Catalog, Column, ColumnType, Table, Through
from discreet.errors import NameNotFoundError, ParameterError, TypeMismatchError, UnitError, UnsupportedError
from discreet.plan import logical
from discreet.plan.physical import (
    Apply,
    Average,
    Base,
    Feature,
    JoinedRows,
    MissingUnits,
    NamedColumn,
    PerUnit,
    Read,
    Rows,
    Term,
    leaves,
    reads_of,
)
from discreet.planner.resolve.time_slices import within

LONGEST_NAME = 60
_HIDDEN = "discreet_"


@dataclass(frozen=True)
class Link:
    """The way to a unit that the catalog declares, as it stands in a base: pairs of a name there and a column."""

    table: str
    on: tuple[tuple[str, str], ...]
    names: Mapping[str, str]


@dataclass(frozen=True)
class Origin:
    """A relation that stands in the place of a table: public facts of its columns, and how its rows are made.

    `labels` are the names that the columns of the unit have in the base; a column that people cannot name is hidden.
    """

    name: str
    table: Table
    base: Base
    labels: tuple[str, ...]
    links: tuple[Link, ...] = ()
    has_one_row_each: bool = False

    @property
    def types(self) -> dict[str, ColumnType]:
        """The types of all columns of the tables below, hidden ones included."""
        return _column_types(self.base)


def origin(name: str, catalog: Catalog) -> Origin:
    """A table of the catalog as a relation, joined to the table that has its unit where that is another one."""
    return _open_table(name, catalog, {}, 0)


def join(
    left: Origin, step: logical.Join, keys: Sequence[Term], catalog: Catalog, derived: Collection[str] = ()
) -> Origin:
    """The relation joined with a table, by terms of its own; refused where a row could belong to several units."""
    table = catalog.table(step.table)
    _check_columns(step, table)
    if table.public:
        made = _beside_public(left, step, keys, table)
    elif (link := _link(left, step, keys)) is not None:
        made = _along(left, step, link, table)
    else:
        made = _per_unit_pairs(left, step, keys, catalog)
    _refuse_name_clash(step, [name for name in made.table.columns if name not in left.table.columns], derived)
    _refuse_alike(made.base, f"a join of {left.name!r} and {step.table!r}")
    if step.max_rows is None:
        return made
    return replace(made, table=made.table.model_copy(update={"max_rows": step.max_rows}))


def per_unit(of: Origin, predicate: Term | None, features: tuple[Feature, ...]) -> Origin:
    """One row for each unit, with its features; nothing but the unit and the features can be named from here on."""
    unit = of.table.unit
    if unit.is_row:
        raise UnitError(
            "per_unit(...) where each row is a unit",
            because="a unit has one row already",
            instead="where, derive and agg on the rows themselves",
        )
    shown = {name: of.table.columns[name] for name in of.labels if name in of.table.columns}
    columns = shown | {feature.name: Column(type=feature.type) for feature in features}
    for feature in features:
        _check_name(feature.name, shown, f"per_unit({feature.name}=...)", f"per_unit({feature.name}_of_unit=...)")
    policy = MissingUnits(of.table.missing_units)
    gathered = PerUnit(of.base, predicate, of.labels, policy, features)
    _refuse_alike(gathered, "per_unit(...)")
    alone = {"max_rows": 1, "max_groups": None, "max_rows_per_group": None, "rows": of.table.population}
    return Origin(
        of.name,
        of.table.model_copy(update={"columns": columns, **alone}),
        gathered,
        of.labels,
        has_one_row_each=True,
    )


def prune(base: Base, wanted: frozenset[str]) -> Base:
    """The same relation with no more columns than are wanted of it, and what its joins and features need."""
    match base:
        case Rows():
            return replace(base, columns=tuple(each for each in base.columns if each.name in wanted))
        case JoinedRows():
            both = wanted | {right for _, right in base.on} | {name for term, _ in base.on for name in _names(term)}
            return replace(base, left=prune(base.left, both), right=prune(base.right, both))
        case PerUnit():
            kept = tuple(feature for feature in base.features if feature.name in wanted)
            terms = [operand_of(feature) for feature in kept] + [base.predicate]
            needed = {name for term in terms if term is not None for name in _names(term)}
            return replace(base, source=prune(base.source, frozenset({*base.unit, *needed})), features=kept)


def operand_of(feature: Feature) -> Term | None:
    """What a feature is computed from; nothing but the presence of rows for a count."""
    return feature.of.steps.operand if isinstance(feature.of, Average) else feature.of.operand


def _open_table(name: str, catalog: Catalog, names: Mapping[str, str], first: int) -> Origin:
    """A table with its columns under given names, and the way to its unit under hidden ones."""
    table = catalog.table(name)
    shown = {column: names.get(column, column) for column in table.columns}
    visible = {shown[column]: fact for column, fact in table.columns.items() if not shown[column].startswith(_HIDDEN)}
    base: Base = _rows(name, table, shown)
    links: list[Link] = []
    at, here, number = table, shown, first
    while isinstance(way := at.privacy_unit, Through):
        number += 1
        holder = catalog.table(way.through)
        hidden = _hidden_names(holder, number)
        matched = {other: here[own] for own, other in way.on}
        if not isinstance(holder.privacy_unit, Through):
            hidden |= _free(holder.unit.columns, names, {*visible, *matched})
        keys = tuple((Read(one, holder.columns[other].type), hidden[other]) for other, one in matched.items())
        base = JoinedRows(base, _rows(way.through, holder, hidden), keys)
        links.append(Link(way.through, tuple((one, other) for other, one in matched.items()), hidden))
        at, here = holder, hidden | matched
    unit = () if at.public else at.unit.columns
    labels = tuple(here[column] for column in unit)
    visible |= {
        label: at.columns[column]
        for label, column in zip(labels, unit, strict=True)
        if not label.startswith(_HIDDEN) and label not in visible
    }
    _refuse_alike(base, f"the way from {name!r} to its unit")
    return Origin(name, table.model_copy(update={"columns": visible}), base, labels, tuple(links))


def _free(unit: Sequence[str], names: Mapping[str, str], taken: Collection[str]) -> dict[str, str]:
    """The columns of a unit that may keep their names, because no column of the table that leads to it has them."""
    wanted = {column: names.get(column, column) for column in unit}
    folded = {name.casefold() for name in taken}
    return {
        column: name
        for column, name in wanted.items()
        if column.casefold() not in folded and name.casefold() not in folded
    }


def _rows(name: str, table: Table, names: Mapping[str, str]) -> Rows:
    columns = tuple(NamedColumn(names[column], Read(column, fact.type)) for column, fact in table.columns.items())
    return Rows(name, table.version, columns, within(table), table.public)


def _hidden_names(table: Table, number: int) -> dict[str, str]:
    """Names that no column has and that every engine tells apart, however long the columns' own names are."""
    return {column: f"{_HIDDEN}{number}_{i}" for i, column in enumerate(table.columns)}


def _beside_public(left: Origin, step: logical.Join, keys: Sequence[Term], table: Table) -> Origin:
    if left.table.unit.is_row:
        raise UnitError(
            f"a join of {left.name!r} where each row is a unit",
            because=f"a row may match several rows of {step.table!r}, and each would be a unit",
            instead='privacy_unit="row_id", a column that names each row',
        )
    names = _joined_names(left, step, table)
    right = _rows(step.table, table, names)
    visible = {names[column]: fact for column, fact in table.columns.items() if not names[column].startswith(_HIDDEN)}
    on = _join_keys(step, keys, {other: (names[other], table.columns[other].type) for _, other in step.on})
    base = JoinedRows(left.base, right, on, keeps_unmatched=step.how == "left")
    return _add_columns(left, step, base, visible, rows=left.table.rows)


def _per_unit_pairs(left: Origin, step: logical.Join, keys: Sequence[Term], catalog: Catalog) -> Origin:
    """Pairs of rows of two protected tables that belong to one unit."""
    table = catalog.table(step.table)
    _refuse_other_units(left, step, table)
    right = _open_table(step.table, catalog, _joined_names(left, step, table), len(leaves(left.base)))
    types = _column_types(right.base)
    own = dict(zip(table.unit.columns, right.labels, strict=True))
    others = own | {each.read.column: each.name for each in leaves(right.base)[0].columns}
    on = _join_keys(step, keys, {other: (others[other], types[others[other]]) for _, other in step.on})
    met = {(term.column, name) for term, name in on if isinstance(term, Read)}
    if not set(zip(left.labels, right.labels, strict=True)) <= met:
        raise _not_per_unit(left, step, table, {name: column for column, name in others.items()}, right.labels)
    return _add_columns(left, step, JoinedRows(left.base, right.base, on), right.table.columns, rows=None)


def _refuse_other_units(left: Origin, step: logical.Join, table: Table) -> None:
    what = f"a join of {left.name!r} and {step.table!r}"
    if step.table in {leaf.table for leaf in leaves(left.base)}:
        raise UnsupportedError(
            f"{what}, which is in it already",
            because="a unit's rows would be paired with its own rows, and their number squared",
            instead="per_unit(n=dp.count(), ...), which puts all rows of a unit into one",
        )
    mine, other = left.table.unit, table.unit
    if mine.is_row or other.is_row or len(mine.columns) != len(other.columns) or mine.neighbours != other.neighbours:
        raise UnitError(
            what,
            because=f"one protects {mine}, the other {other}",
            instead="tables of one privacy_unit with the same neighbours, or a public table",
        )
    _refuse_outer(left, step)


def _refuse_outer(left: Origin, step: logical.Join) -> None:
    if step.how != "inner":
        raise UnsupportedError(
            f'a join of {left.name!r} and {step.table!r} with how="{step.how}"',
            because=f"removing one unit from {step.table!r} would change rows of others",
            instead='how="inner"',
        )


def _not_per_unit(
    left: Origin, step: logical.Join, table: Table, columns: Mapping[str, str], labels: Sequence[str]
) -> UnitError:
    way = table.privacy_unit
    if isinstance(way, Through) and way.through in {leaf.table for leaf in leaves(left.base)}:
        instead = f'dp.table("{step.table}").join(dp.table("{way.through}"), on={_on(dict(way.on))})'
    else:
        units = dict(zip(left.labels, (columns[label] for label in labels), strict=True))
        others = {one: other for one, other in step.on if one not in units and other not in units.values()}
        instead = f'.join(dp.table("{step.table}"), on={_on(units | others)})'
    return UnitError(
        f"a join of {left.name!r} and {step.table!r} on {', '.join(repr(one) for one, _ in step.on)}",
        because="a joined row would belong to two units",
        instead=instead,
    )


def _on(pairs: Mapping[str, str]) -> str:
    """Pairs of columns as somebody would write them."""
    if any(one != other for one, other in pairs.items()):
        return repr(dict(pairs))
    return repr(list(pairs)) if len(pairs) > 1 else repr(next(iter(pairs)))


def _link(left: Origin, step: logical.Join, keys: Sequence[Term]) -> Link | None:
    """The way to the unit that a join goes along, where it is the one that the catalog declares."""
    given = {(term.column, other) for term, (_, other) in zip(keys, step.on, strict=True) if isinstance(term, Read)}
    for link in left.links:
        if link.table == step.table and set(link.on) == given and len(given) == len(step.on):
            return link
    return None


def _along(left: Origin, step: logical.Join, link: Link, table: Table) -> Origin:
    """A join with the very table that leads to the unit: it is joined already, and its columns get their names."""
    _refuse_outer(left, step)
    given, matched = dict(step.names), {other for _, other in link.on}
    names = {
        hidden: given.get(column, column)
        for column, hidden in link.names.items()
        if hidden.startswith(_HIDDEN) and column not in matched
    }
    visible = {names[hidden]: table.columns[column] for column, hidden in link.names.items() if hidden in names}
    base = _rename_columns(left.base, names)
    links = tuple(
        Link(
            each.table,
            tuple((names.get(one, one), other) for one, other in each.on),
            {column: names.get(name, name) for column, name in each.names.items()},
        )
        for each in left.links
        if each is not link
    )
    labels = tuple(names.get(label, label) for label in left.labels)
    widened = _add_columns(left, step, base, visible, rows=left.table.rows)
    return replace(widened, links=links, labels=labels)


def _rename_columns(base: Base, names: Mapping[str, str]) -> Base:
    match base:
        case Rows():
            columns = tuple(NamedColumn(names.get(each.name, each.name), each.read) for each in base.columns)
            return replace(base, columns=columns)
        case JoinedRows():
            on = tuple((_renamed_term(term, names), names.get(name, name)) for term, name in base.on)
            return replace(
                base, left=_rename_columns(base.left, names), right=_rename_columns(base.right, names), on=on
            )
        case PerUnit():
            return base


def _renamed_term(term: Term, names: Mapping[str, str]) -> Term:
    if isinstance(term, Read):
        return Read(names.get(term.column, term.column), term.type)
    if isinstance(term, Apply):
        return replace(term, arguments=tuple(_renamed_term(each, names) for each in term.arguments))
    return term


def _add_columns(
    left: Origin, step: logical.Join, base: Base, more: Mapping[str, Column], *, rows: int | None
) -> Origin:
    _refuse_name_clash(step, list(more), left.table.columns)
    table = left.table.model_copy(update={"columns": {**left.table.columns, **more}, "rows": rows})
    return replace(left, table=table, base=base, has_one_row_each=False)


def _joined_names(left: Origin, step: logical.Join, table: Table) -> dict[str, str]:
    """What the columns of the other table are called: as they are or were renamed; those that were matched are hidden.

    The unit that the other table leads to is named too: it may have to be matched, and is hidden then.
    """
    given, matched = dict(step.names), {other for _, other in step.on}
    hidden = _hidden_names(table, 1000 + len(leaves(left.base)))
    names = {column: hidden[column] if column in matched else given.get(column, column) for column in table.columns}
    if not table.public:
        own = (column for column in table.unit.columns if column not in names)
        names |= {column: f"{_HIDDEN}unit_{len(leaves(left.base))}_{i}" for i, column in enumerate(own)}
    return names


def _refuse_name_clash(step: logical.Join, more: Sequence[str], taken: Collection[str]) -> None:
    original = {new: old for old, new in step.names}
    for name in more:
        old = original.get(name, name)
        rename = f'.join(dp.table("{step.table}"), ..., names={{"{old}": "{step.table}_{old}"}})'
        _check_name(name, taken, f"column {name!r} of {step.table!r} in a join", rename)


def _refuse_alike(base: Base, what: str) -> None:
    """Every column of a relation has a name of its own, also for engines that do not tell capitals from small letters.

    Otherwise an engine could read one column where another is meant: another unit's label, or text as a number.
    """
    names = columns_of(base)
    seen: dict[str, str] = {}
    for name in names:
        if (other := seen.setdefault(name.casefold(), name)) is not name:
            raise ParameterError(
                f"{what} with columns {other!r} and {name!r}",
                because="engines treat names that differ only in case as one",
                instead=f'names={{...: "{name}_2"}}, or another name for one of them',
            )


def columns_of(base: Base) -> list[str]:
    """The names of all columns of a relation, hidden ones included; refused where a part of it has one twice."""
    match base:
        case Rows():
            return [each.name for each in base.columns]
        case JoinedRows():
            return [*columns_of(base.left), *columns_of(base.right)]
        case PerUnit():
            _refuse_alike(base.source, "per_unit(...)")
            return [*base.unit, *(feature.name for feature in base.features)]


def _check_name(name: str, taken: Collection[str], what: str, instead: str) -> None:
    if name.casefold() in {other.casefold() for other in taken}:
        raise ParameterError(what, because="there is a column of that name already", instead=instead)
    is_plain = name.isprintable() and not name.casefold().startswith(_HIDDEN)
    if not is_plain or not 0 < len(name.encode()) <= LONGEST_NAME:
        raise ParameterError(
            what,
            because=f"names have 1 to {LONGEST_NAME} visible bytes and do not begin with {_HIDDEN!r}",
            instead=instead if is_plain else "a plain name such as 'beds'",
        )


def _check_columns(step: logical.Join, table: Table) -> None:
    """The columns of the other table that a join names are there."""
    known = {*table.columns, *(() if table.public else table.unit.columns)}
    for old, new in step.names:
        _check_name(new, (), f"names={{{old!r}: {new!r}}} in a join", f'names={{"{old}": "{step.table}_{old}"}}')
    for column in [*(other for _, other in step.on), *(old for old, _ in step.names)]:
        if column not in known:
            raise NameNotFoundError(
                f"column {column!r} of {step.table!r}",
                because="the catalog has no column of that name there",
                instead=" or ".join(map(repr, list(table.columns)[:8])),
            )


def _join_keys(
    step: logical.Join, keys: Sequence[Term], others: Mapping[str, tuple[str, ColumnType]]
) -> tuple[tuple[Term, str], ...]:
    """What is equal in a pair of rows: values of one type, which has one normal form."""
    pairs = []
    for term, (one, other) in zip(keys, step.on, strict=True):
        name, kind = others[other]
        if term.type is not kind or kind in (ColumnType.REAL, *UNSTRUCTURED):
            raise TypeMismatchError(
                f"a join of {one!r} of type {term.type} with {other!r} of {step.table!r} of type {kind}",
                because="only values of one type are equal, and not real numbers, which are seldom so",
                instead=f'.derive(as_{kind}=table[{one!r}].cast("{kind}")), then on={{"as_{kind}": {other!r}}}'
                if term.type is not kind
                else "columns of type integer, text, date, timestamp or boolean",
            )
        pairs.append((term, name))
    return tuple(pairs)


def _column_types(base: Base) -> dict[str, ColumnType]:
    return {each.name: each.read.type for leaf in leaves(base) for each in leaf.columns}


def _names(term: Term) -> frozenset[str]:
    return frozenset(read.column for read in reads_of(term))
