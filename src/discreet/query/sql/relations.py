"""FROM, JOIN, WHERE, WITH and subqueries: the rows that a statement reads, as a frame, and the names of its columns."""

from collections.abc import Mapping
from dataclasses import replace

from sqlglot import exp

from discreet.catalog.catalog import Catalog, Column, Table, Through
from discreet.errors import SqlError, suggestion
from discreet.plan import logical
from discreet.query.expression import Expr
from discreet.query.frame import Frame
from discreet.query.sql import features
from discreet.query.sql.expressions import expression, operands
from discreet.query.sql.nodes import arguments, refusal, sql_text
from discreet.query.sql.scope import NamedTable, Scope, matching

Views = Mapping[str, exp.Select]
"""The SELECT of every WITH, by name."""


def rows(select: exp.Select, catalog: Catalog, dialect: str, views: Views) -> Scope:
    """The rows of a SELECT after FROM, JOIN and WHERE."""
    source, where, joins = (select.args.get(name) for name in ("from_", "where", "joins"))
    if source is None:
        raise refusal(select, because="a statement reads a table", instead="SELECT COUNT(*) AS n FROM visits")
    scope = _from(arguments(source, "this")[0], catalog, dialect, views)
    conditions = [] if where is None else operands(arguments(where, "this")[0])
    for join in joins or ():
        scope = _join(scope, join, views, conditions)
    for condition in conditions:
        scope = scope.where(expression(condition, scope))
    return scope


def views_of(select: exp.Select, outer: Views) -> Views:
    """The named subqueries of WITH, beside those that are known already."""
    clause = select.args.get("with_")
    if clause is None:
        return outer
    known = dict(outer)
    (listed,) = arguments(clause, "expressions")
    for view in listed:
        inner, alias = arguments(view, "this", "alias")
        (name,) = arguments(alias, "this")
        if not isinstance(inner, exp.Select):
            raise refusal(view, because="WITH names a SELECT", instead="WITH adults AS (SELECT ...) SELECT ...")
        known[name.name.casefold()] = _with_views(inner, dict(known))
    return known


def check_views(select: exp.Select) -> None:
    """Refuse a WITH that nothing reads: what is in it was not looked at."""
    for view in select.find_all(exp.CTE):
        if not view.this.meta.get(_USED):
            raise refusal(
                view, what=f"WITH {view.alias}", because="nothing reads it", instead="the statement without it"
            )


_KNOWN = "discreet_views"
_USED = "discreet_used"


def _with_views(select: exp.Select, known: Views) -> exp.Select:
    """A SELECT that remembers which names stood before it: a view sees only earlier ones."""
    select.meta[_KNOWN] = known
    return select


def _from(node: exp.Expr, catalog: Catalog, dialect: str, views: Views) -> Scope:
    if isinstance(node, exp.Subquery):
        inner, alias = arguments(node, "this", "alias")
        return _subquery(inner, _alias(alias, "subquery"), catalog, dialect, views)
    if not isinstance(node, exp.Table):
        raise refusal(node, because="FROM reads tables and subqueries", instead="FROM visits")
    identifier, alias = _table_parts(node)
    view = None if node.args.get("db") is not None else views.get(identifier.name.casefold())
    if view is not None:
        view.meta[_USED] = True
        return _subquery(view, _alias(alias, identifier.name), catalog, dialect, view.meta.get(_KNOWN, {}))
    name = _table_name(node, catalog)
    columns = visible_columns(catalog, name)
    source = NamedTable(_alias(alias, name), {column: Expr(logical.ColumnRef(column)) for column in columns})
    return Scope(catalog, dialect, Frame(logical.TableRef(name)), (source,), columns)


def visible_columns(catalog: Catalog, name: str) -> dict[str, Column]:
    """The columns of a table that can be named, those of its unit among them where another table has it."""
    table = catalog.table(name)
    columns = dict(table.columns)
    way: object = table.privacy_unit
    while isinstance(way, Through):
        holder = catalog.table(way.through)
        own = {column: holder.columns[column] for column in table.unit.columns if column in holder.columns}
        columns = {**own, **columns}
        way = holder.privacy_unit
    return columns


def _subquery(inner: exp.Expr, name: str, catalog: Catalog, dialect: str, views: Views) -> Scope:
    """A subquery in FROM: rows with columns of its own, or one row for each privacy unit."""
    if not isinstance(inner, exp.Select):
        raise refusal(inner, because="a subquery in FROM is a SELECT", instead="FROM (SELECT age FROM visits)")
    known = views_of(inner, views)
    scope = rows(inner, catalog, dialect, known)
    if inner.args.get("group") is not None:
        return features.per_unit(inner, scope, name)
    (listed, *_) = arguments(inner, "expressions", "from_", "where", "joins", "with_")
    columns: dict[str, Expr] = {}
    for item in listed:
        if isinstance(item, exp.Star):
            arguments(item)
            _add(columns, _all_columns(scope), item)
            continue
        alias = item.alias_or_name
        if not alias:
            text = sql_text(item, dialect)
            raise refusal(item, because="a column of a subquery has a name", instead=f"{text} AS value")
        _add(columns, {alias: expression(item.unalias(), scope)}, item)
    return replace(scope, sources=(NamedTable(name, columns),))


def _add(columns: dict[str, Expr], more: Mapping[str, Expr], node: exp.Expr) -> None:
    taken = {column.casefold() for column in columns}
    twice = next((column for column in more if column.casefold() in taken), None)
    if twice is not None:
        raise refusal(node, because=f"the subquery has two columns {twice}", instead="another name for one: AS value")
    columns.update(more)


def _all_columns(scope: Scope) -> dict[str, Expr]:
    """The columns of all tables. A name that means different columns can then not be used."""
    found: dict[str, dict[logical.Expression, tuple[str, Expr]]] = {}
    for source in scope.sources:
        for column, made in source.columns.items():
            found.setdefault(column.casefold(), {}).setdefault(made.node, (column, made))
    return dict(next(iter(meanings.values())) for meanings in found.values() if len(meanings) == 1)


def _join(scope: Scope, node: exp.Join, views: Views, conditions: list[exp.Expr]) -> Scope:
    """The rows joined with a table; one that follows a comma takes its equalities out of the conditions of WHERE."""
    other, side, kind, on, using = arguments(node, "this", "side", "kind", "on", "using")
    how = "left" if str(side or "").upper() == "LEFT" else "inner"
    form = (str(side or "").upper(), str(kind or "").upper())
    is_listed = form in _LISTED and not (on or using) and isinstance(other, exp.Table)
    if not is_listed and (form not in _JOINS or not (on or using)):
        raise _no_join(node)
    if not isinstance(other, exp.Table) or (other.args.get("db") is None and other.name.casefold() in views):
        raise refusal(other, because="a table of the catalog is joined as it is", instead="JOIN wards USING (ward)")
    _, alias = _table_parts(other)
    name = _table_name(other, scope.catalog)
    if any(source.name.casefold() == _alias(alias, name).casefold() for source in scope.sources):
        raise refusal(other, because="two tables of FROM have this name", instead=f"JOIN {name} AS other")
    table = scope.catalog.table(name)
    right = NamedTable(_alias(alias, name), {column: Expr(logical.ColumnRef(column)) for column in table.columns})
    if is_listed:
        pairs = _listed(conditions, scope, right)
    else:
        pairs = _using(using, scope, right) if using else _on(operands(on), scope, right)
    if not pairs:
        raise _no_join(node)
    return _join_frame(scope, right, table, name, pairs, how)


_JOINS = (("", ""), ("", "INNER"), ("LEFT", ""), ("LEFT", "OUTER"))
_LISTED = (("", ""), ("", "CROSS"))
"""A comma, as it is read in different dialects."""


def _no_join(node: exp.Expr) -> SqlError:
    return refusal(
        node,
        because="joins are INNER or LEFT, with ON or USING: every row must come from a unit of the first table",
        instead="FROM visits JOIN wards ON visits.ward = wards.ward",
    )


def _join_frame(scope: Scope, right: NamedTable, table: Table, name: str, pairs: dict[str, str], how: str) -> Scope:
    """The joined frame. Matched columns of the other table are those of this one; names that clash are extended."""
    taken = scope.names_in_use - _unit_of_link(scope, name, pairs)
    matched = {other: own for own, other in pairs.items()}
    names = {
        column: f"{name}_{column}" for column in table.columns if column not in matched and column.casefold() in taken
    }
    frame = scope.frame.join(Frame(logical.TableRef(name)), on=pairs, how=how, names=names)  # type: ignore[arg-type]
    columns = {
        column: Expr(logical.ColumnRef(names.get(column, column))) for column in table.columns if column not in matched
    }
    facts = {names.get(column, column): fact for column, fact in table.columns.items() if column not in matched}
    if how == "inner":
        columns |= {other: Expr(logical.ColumnRef(own)) for other, own in matched.items()}
    return replace(
        scope,
        frame=frame,
        sources=(*scope.sources, NamedTable(right.name, columns)),
        facts={**scope.facts, **facts},
    )


def _unit_of_link(scope: Scope, name: str, pairs: dict[str, str]) -> set[str]:
    """The columns of the unit, in small letters, where a join goes along the link of the catalog that leads to it.

    They could be named before the join, so the table that has them gives them no other names.
    """
    table = scope.table
    known = {column.casefold() for column in table.columns}
    while isinstance(way := table.privacy_unit, Through):
        table = scope.catalog.table(way.through)
        if way.through == name and dict(way.on) == pairs and not isinstance(table.privacy_unit, Through):
            return {column.casefold() for column in table.unit.columns} - known
    return set()


def _using(listed: list[exp.Identifier], scope: Scope, right: NamedTable) -> dict[str, str]:
    pairs: dict[str, str] = {}
    for name in listed:
        own = _plain(scope.column(exp.column(name.copy())), name)
        other = matching(name, right.columns)
        if other is None:
            raise refusal(
                name, because=f"{right.name} has no such column", instead=suggestion(name.name, right.columns)
            )
        _pair(pairs, own, other, name)
    return pairs


def _pair(pairs: dict[str, str], own: str, other: str, node: exp.Expr) -> None:
    if pairs.setdefault(own, other) != other:
        raise refusal(
            node,
            because=f"{own} meets two columns of the other table",
            instead="one pair for each column, and the other condition in WHERE",
        )


def _listed(conditions: list[exp.Expr], scope: Scope, right: NamedTable) -> dict[str, str]:
    """Pairs of columns that WHERE equates, with a table after a comma; their conditions are taken out of the list."""
    pairs: dict[str, str] = {}
    for part in list(conditions):
        sides = [part.this, part.expression] if isinstance(part, exp.EQ) else []
        if not all(isinstance(side, exp.Column) for side in sides):
            continue
        theirs = [side for side in sides if _is_of(side, right)]
        mine = [side for side in sides if any(_is_of(side, source) for source in scope.sources)]
        if len(theirs) == len(mine) == 1 and theirs != mine:
            ((own, column),) = _on([part], scope, right).items()
            if own not in pairs and column not in pairs.values():  # a second condition on a column stays in WHERE
                pairs[own] = column
                conditions.remove(part)
    return pairs


def _on(conditions: list[exp.Expr], scope: Scope, right: NamedTable) -> dict[str, str]:
    """Pairs of columns that are equal, one of each side."""
    pairs: dict[str, str] = {}
    there = replace(scope, sources=(right,))
    for part in conditions:
        if not isinstance(part, exp.EQ) or not all(isinstance(s, exp.Column) for s in (part.this, part.expression)):
            raise refusal(part, because="rows meet where columns are equal", instead="ON visits.ward = wards.ward")
        sides = [part.this, part.expression]
        mine = [side for side in sides if not _is_of(side, right)]
        if len(mine) != 1:
            raise refusal(part, because="each side is a column of another table", instead="ON visits.ward = wards.ward")
        (theirs,) = [side for side in sides if side is not mine[0]]
        _pair(pairs, _plain(scope.column(mine[0]), mine[0]), _plain(there.column(theirs), theirs), part)
    return pairs


def _is_of(column: exp.Column, source: NamedTable) -> bool:
    if column.args.get("table") is not None:
        return column.table.casefold() == source.name.casefold()
    return matching(column.this, source.columns) is not None


def _plain(found: Expr, node: exp.Expr) -> str:
    if isinstance(found.node, logical.ColumnRef):
        return found.node.name
    raise refusal(node, because="tables are joined by columns as they are", instead="a column of the table itself")


def _table_parts(node: exp.Table) -> tuple[exp.Identifier, exp.TableAlias | None]:
    identifier, alias, _, _ = arguments(node, "this", "alias", "db", "catalog")
    if not isinstance(identifier, exp.Identifier):
        raise refusal(node, because="FROM names a table of the catalog", instead="FROM visits")
    return identifier, alias


def _table_name(node: exp.Table, catalog: Catalog) -> str:
    """The table of the catalog; a path such as project.dataset.visits is one by its whole or by its last name."""
    whole = ".".join(part.name for part in node.parts)
    if whole in catalog.tables:
        return whole
    found = matching(node.this, catalog.tables)
    if found is None:
        raise refusal(
            node,
            because="the catalog has no table of that name",
            instead=f"FROM {suggestion(node.name, catalog.tables)}",
        )
    return found


def _alias(alias: exp.TableAlias | None, otherwise: str) -> str:
    if alias is None:
        return otherwise
    (name,) = arguments(alias, "this")
    return str(name.name) if name is not None else otherwise
