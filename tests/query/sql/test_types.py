"""Types of expressions are those that the planner binds."""

import datetime as dt

import pytest

import discreet as dp
from discreet.catalog.catalog import ColumnType
from discreet.plan import logical
from discreet.planner.resolve.binding import bind
from discreet.query.expression import Expr, as_expr
from discreet.query.sql.types import feature_type, type_of

KINDS = {
    "id": ColumnType.INTEGER,
    "i": ColumnType.INTEGER,
    "r": ColumnType.REAL,
    "t": ColumnType.TEXT,
    "b": ColumnType.BOOLEAN,
    "d": ColumnType.DATE,
    "s": ColumnType.TIMESTAMP,
}
CATALOG = dp.Catalog(
    tables={"t": {"privacy_unit": "id", "columns": {name: {"type": str(kind)} for name, kind in KINDS.items()}}}
)
t = dp.table("t")
EXPRESSIONS = [
    *(t[name] for name in KINDS),
    t.i + 1,
    t.i / t.r,
    t.i == 3,
    t.t.starts_with("a"),
    t.b & ~t.b,
    t.i.is_missing(),
    t.i.is_in([1, 2]),
    t.i.bin([1, 2]),
    t.r.cast("integer"),
    t.i.cast("text"),
    t.d.truncate("month"),
    t.s.truncate("hour"),
    t.d.part("month"),
    dp.when(t.i > 3, 1).otherwise(0),
    dp.when(t.i > 3, 1).otherwise(0.5),
    dp.when(t.i > 3, t.d).otherwise("2026-01-01"),
    dp.when(t.i > 3, "a").when(t.i > 2, "b"),
    as_expr(dt.date(2026, 1, 1)),
]


@pytest.mark.parametrize("expression", EXPRESSIONS, ids=repr)
def test_a_type_is_the_one_that_the_planner_binds(expression: Expr):
    bound = bind(logical.TableRef("t"), CATALOG).term(expression.node).type
    assert type_of(expression.node, KINDS) is bound


@pytest.mark.parametrize(
    "feature", [dp.count(), dp.sum("i", bounds=(0, 9)), dp.mean("i", bounds=(0, 9)), dp.largest("d"), dp.smallest("r")]
)
def test_a_feature_of_a_unit_has_the_type_that_the_planner_binds(feature):
    units = t.per_unit(x=feature)
    bound = bind(units._relation, CATALOG).term(logical.ColumnRef("x")).type
    assert feature_type(feature.measure, KINDS) is bound
