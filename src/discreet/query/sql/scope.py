"""Which columns a statement can name at some place, and what each of them is."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from sqlglot import exp

from discreet.catalog.catalog import Catalog, Column, ColumnType, Table, Through
from discreet.errors import suggestion
from discreet.plan import logical
from discreet.query.expression import Expr
from discreet.query.frame import Frame, relation_of
from discreet.query.sql.nodes import arguments, refusal
from discreet.query.sql.types import type_of


@dataclass(frozen=True)
class NamedTable:
    """A table of FROM under its name in the statement: its columns, each an expression over columns of the frame."""

    name: str
    columns: Mapping[str, Expr]


@dataclass(frozen=True)
class Scope:
    """The rows of a query so far, what can be named, and public facts of the columns of the frame."""

    catalog: Catalog
    dialect: str
    frame: Frame
    sources: tuple[NamedTable, ...]
    facts: Mapping[str, Column]
    conditions: tuple[logical.Expression, ...] = ()
    features: Mapping[str, ColumnType] = field(default_factory=dict)
    has_one_row_each: bool = False

    @property
    def table(self) -> Table:
        """The protected table at the bottom."""
        return self.catalog.table(self.table_name)

    @property
    def table_name(self) -> str:
        """The name of that table."""
        relation = relation_of(self.frame)
        while not isinstance(relation, logical.TableRef):
            relation = relation.source
        return relation.name

    def column(self, node: exp.Column) -> Expr:
        """What a name stands for; unknown and ambiguous names are refused."""
        name, qualifier = arguments(node, "this", "table")
        if not isinstance(name, exp.Identifier):
            raise refusal(node, because="columns are named one by one", instead="SELECT ward, COUNT(*) AS n ...")
        sources = self.sources if qualifier is None else [self._source(qualifier)]
        found = [(source, match) for source in sources if (match := matching(name, source.columns)) is not None]
        if len({source.columns[match].node for source, match in found}) > 1:
            raise refusal(
                node,
                because="several tables have a column of that name",
                instead=" or ".join(f"{source.name}.{match}" for source, match in found),
            )
        if not found:
            names = [known for source in sources for known in source.columns]
            nearest = suggestion(name.name, names)
            raise refusal(
                node,
                because="no table of FROM has a column of that name that can be used here",
                instead=nearest,
            )
        source, match = found[0]
        return source.columns[match]

    def fact(self, expression: Expr) -> Column | None:
        """What the catalog says of an expression that is a column as it is."""
        node = expression.node
        return self.facts.get(node.name) if isinstance(node, logical.ColumnRef) else None

    def kind(self, expression: Expr) -> ColumnType:
        """The type of an expression."""
        return type_of(expression.node, {name: fact.type for name, fact in self.facts.items()} | dict(self.features))

    def with_frame_names(self, node: exp.Expr) -> exp.Expr:
        """A node whose columns have the names that they have in the frame: ward and v.WARD are then the same."""

        def rename(part: exp.Expr) -> exp.Expr:
            if isinstance(part, exp.Column) and isinstance(part.this, exp.Identifier):
                found = self.column(part).node
                if isinstance(found, logical.ColumnRef):
                    return exp.Column(this=exp.Identifier(this=found.name, quoted=True))
            return part

        return node.transform(rename)

    @property
    def names_in_use(self) -> set[str]:
        """The names of columns of the frame, in small letters: a derived column must have another one."""
        return {name.casefold() for name in (*self.facts, *self.features)}

    def where(self, predicate: Expr) -> "Scope":
        """The same with a condition, in which lists of keys are looked for later."""
        return replace(self, frame=self.frame.where(predicate), conditions=(*self.conditions, predicate.node))

    def is_unit(self, expressions: list[Expr]) -> bool:
        """Whether some expressions are the columns of the privacy unit."""
        unit = self.table.unit
        names = {each.node.name for each in expressions if isinstance(each.node, logical.ColumnRef)}
        is_named = not unit.is_row and len(names) == len(expressions) and names == set(unit.columns)
        return is_named and not any(map(self._is_own, unit.columns))

    def _is_own(self, name: str) -> bool:
        """Whether a column with the name of the unit is one of the table's own, which no link equates with the unit."""
        table = self.table
        while isinstance(way := table.privacy_unit, Through):
            if name in table.columns and dict(way.on).get(name) != name:
                return True
            table = self.catalog.table(way.through)
        return False

    def _source(self, qualifier: exp.Identifier) -> NamedTable:
        known = {source.name: source for source in self.sources}
        match = matching(qualifier, known)
        if match is None:
            raise refusal(
                qualifier,
                because="FROM has no table of that name",
                instead=suggestion(qualifier.name, known),
            )
        return known[match]


def matching(name: exp.Identifier, known: Mapping[str, object]) -> str | None:
    """The known name that an identifier stands for: itself, or without quotes one that differs in capitals alone."""
    text = name.name
    if text in known:
        return text
    if name.args.get("quoted"):
        return None
    alike = [each for each in known if each.casefold() == text.casefold()]
    return alike[0] if len(alike) == 1 else None
