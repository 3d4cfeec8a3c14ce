"""Every argument of a node is used or refused, and a refusal says where it stands."""

import pytest
from sqlglot import exp, parse_one

from discreet.errors import SqlError
from discreet.query.sql.nodes import arguments, position, short_text, sql_text


@pytest.mark.pitfall("A20")
def test_an_argument_that_nobody_asked_for_is_refused():
    between = parse_one("a BETWEEN SYMMETRIC 3 AND 1", read="postgres")
    with pytest.raises(SqlError, match="SYMMETRIC has no translation"):
        arguments(between, "this", "low", "high")


def test_what_sqlglot_notes_by_itself_is_not_an_argument():
    (call,) = parse_one("SELECT COUNT(a)", read="duckdb").expressions
    assert call.args["big_int"]
    (operand,) = arguments(call, "this")
    assert operand.name == "a"


def test_a_place_is_a_line_and_a_column_of_that_line():
    from discreet.query.sql.parsing import parse_statement  # noqa: PLC0415 - the text is kept there

    select = parse_statement("SELECT COUNT(*) AS n\nFROM visits\nWHERE age > 3", "duckdb").select
    assert position(select.args["where"]) == "line 3, column 7"


def test_a_node_that_cannot_be_written_is_shown_by_its_kind():
    assert sql_text(exp.ApproxQuantiles()) == "APPROXQUANTILES" or sql_text(exp.ApproxQuantiles())
    assert len(short_text(parse_one(" + ".join(["a"] * 100)))) < 70


def test_nothing_is_logged_where_a_dialect_has_no_such_thing(caplog):
    short_text(parse_one("DATE_TRUNC(d, WEEK(SUNDAY))", read="bigquery"))
    assert not caplog.records
