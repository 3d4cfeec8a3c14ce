"""Spark expressions: every class on the allow-list exists, and modes that raise are told from those that do not."""

import pytest

from discreet.engines.backends.spark import expressions as module


def test_every_class_on_the_list_is_one_of_spark(spark):
    names = {*module.TOTAL, *module.TOTAL_ACROSS, *module._CONDITIONAL, *module._CONDITIONAL_ACROSS}
    find = spark.sparkContext._jvm.java.lang.Class.forName
    assert [name for name in names if find(module.PACKAGE + name).getName() != module.PACKAGE + name] == []


def is_total(session, text):
    rows = session.range(1).selectExpr(
        "id", "CAST(id AS STRING) AS s", "CAST(id AS DOUBLE) AS x", "date '2020-01-01' AS d", "array(id) AS a"
    )
    plan = rows.selectExpr(f"{text} AS z")._jdf.queryExecution().analyzed()
    expression = plan.expressions().apply(0)
    return module.unfit(expression, session.sparkContext._gateway, across=False) is None


RAISING_IN_ANSI = ["CAST(s AS INT)", "id + 1", "id * id", "-id", "abs(id)", "id % id", "x / x", "id DIV -1", "a[0]"]
TOTAL = [
    "try_cast(s AS DATE)",
    "x + 1",
    "x * x",
    "-x",
    "abs(x)",
    "id % 7",
    "x / 7",
    "id DIV 7",
    "round(x, 1)",
]
WIDENING = [
    "CAST(id AS STRING)",
    "CAST(id AS DECIMAL(20, 0))",
    "CAST(d AS STRING)",
    "id > 1.5",
    "sha2(s, 256)",
    "year(d)",
]
NEVER = [
    "s RLIKE 'a'",
    "s LIKE s",
    "CAST(d AS TIMESTAMP)",
    "element_at(a, 1)",
    "raise_error(s)",
    "x / 0",
    "date '2020-01-01' + INTERVAL 1 DAY * id",
]


@pytest.mark.pitfall("A29")
def test_total_expressions_are_admitted_and_those_that_raise_are_not(spark):
    ansi, legacy = spark.newSession(), spark.newSession()
    ansi.conf.set("spark.sql.ansi.enabled", "true")
    legacy.conf.set("spark.sql.ansi.enabled", "false")
    assert [text for text in RAISING_IN_ANSI if is_total(ansi, text)] == []
    assert [text for text in RAISING_IN_ANSI if not is_total(legacy, text)] == []
    for session in (ansi, legacy):
        assert [text for text in TOTAL + WIDENING if not is_total(session, text)] == []
    assert [text for text in NEVER if is_total(ansi, text)] == []


def test_a_constant_that_cannot_be_cast_is_refused_without_a_word_in_the_log(spark, capfd):
    session = spark.newSession()
    session.conf.set("spark.sql.ansi.enabled", "true")
    assert is_total(session, "d > '2020-02-29'")
    assert not is_total(session, "d > 'tomorrow evening'")
    assert "tomorrow evening" not in capfd.readouterr().err
