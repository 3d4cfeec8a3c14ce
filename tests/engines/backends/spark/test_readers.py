"""Spark readers: types that rows decided are read again as text or refused, alike with and without a person's row."""

import json

import pytest

import discreet as dp
from discreet.engines.backends.spark import engine as module
from discreet.engines.sources.source import Statements
from discreet.errors import Refusal, SourceError

FIXED = Statements(fixed_schema=True)
TYPES = {"id": "text", "code": "text", "age": "integer"}
T = dp.table("t")
ROWS = [(f"p{i}", f"{i % 4:03}", i % 50) for i in range(100)]
BY_CODE = T.group_by("code", keys={"code": ["000", "001", "002", "003"]}).agg(n=dp.count())
TOTAL_AGE = T.agg(s=dp.sum("age", bounds=(0, 50)))


@pytest.fixture
def written(tmp_path):
    """Paths of CSV and JSON files with some rows."""

    def write(name, rows):
        path = tmp_path / name
        if path.suffix == ".csv":
            path.write_text("\n".join(["id,code,age", *(",".join(map(str, row)) for row in rows)]) + "\n")
        else:
            path.write_text("\n".join(json.dumps(row) for row in rows) + "\n")
        return str(path)

    return write


def exact(frame, query, **facts):
    """The exact answer, or what is refused."""
    facts = {"privacy_unit": "id", "max_rows": 5, "types": TYPES, "budget": dp.Budget(epsilon=9), **facts}
    try:
        with dp.testing.protect(frame, name="t", **facts) as session:
            rows = session.release(query, epsilon=1).to_arrow().to_pydict()
            return {column: values for column, values in rows.items() if column in ("n", "s")}
    except Refusal as refusal:
        return str(refusal)


def moved(first, second):
    assert first.keys() == second.keys()
    return sum(abs(a - b) for name in first for a, b in zip(first[name], second[name], strict=True))


@pytest.mark.pitfall("A23")
@pytest.mark.parametrize(
    ("row", "query", "most"),
    [
        (("pz", "X", 1), BY_CODE, 1),
        (("pz", "1.5", 1), BY_CODE, 1),
        (("pz", "001", "2020-01-01"), TOTAL_AGE, 50),
    ],
)
def test_one_cell_of_an_inferred_csv_file_moves_an_answer_by_its_own_row_alone(spark, written, row, query, most):
    paths = written("without.csv", ROWS), written("with.csv", [*ROWS, row])
    first, second = (exact(spark.read.csv(path, header=True, inferSchema=True), query) for path in paths)
    assert moved(first, second) <= most
    assert sum(next(iter(first.values()))) >= 100


@pytest.mark.pitfall("A24")
@pytest.mark.parametrize("facts", [{}, {"types": None}])
def test_one_row_changes_no_refusal_of_an_inferred_file(spark, written, facts):
    rows = [dict(zip(TYPES, row, strict=True)) for row in ROWS]
    odd = [{"id": "pz", "code": 1, "age": {"y": 1}}, {"id": "pz", "vip": 1}]
    paths = [written("0.json", rows), *(written(f"{i + 1}.json", [*rows, row]) for i, row in enumerate(odd))]
    refused = {exact(spark.read.json(path), TOTAL_AGE, **facts) for path in paths}
    assert len(refused) == 1
    assert "a JSON reader without fixed_schema=True" in refused.pop()
    paths = written("without.csv", ROWS), written("with.csv", [*ROWS, ("pz", "X", "Y")])
    frames = [spark.read.csv(path, header=True, inferSchema=True) for path in paths]
    assert len({exact(frame.where("age > 3"), TOTAL_AGE, **facts) for frame in frames}) == 1
    columns = [module.draft(module.source(frame, None)) for frame in frames]
    assert columns[0] == columns[1] == dict.fromkeys(TYPES, "text")


def test_a_json_reader_whose_schema_the_owner_states_to_be_declared_is_admitted(spark, written):
    rows = [dict(zip(TYPES, row, strict=True)) for row in ROWS]
    frame = spark.read.schema("id STRING, code STRING, age INT").json(written("some.json", rows))
    assert exact(frame, TOTAL_AGE, fixed_schema=True) == {"s": [sum(age for *_, age in ROWS)]}


def test_files_are_read_again_with_the_options_that_give_them_their_meaning(spark, tmp_path):
    path = tmp_path / "odd [x] {a}"
    path.mkdir()
    (path / "a b.csv").write_text("'id';'age'\n'ä;b';7\nnone;8\n", encoding="latin-1")
    options = {
        "sep": ";",
        "quote": "'",
        "encoding": "ISO-8859-1",
        "nullValue": "none",
        "header": True,
        "inferSchema": True,
    }
    pattern = str(path / "a b.csv").translate({ord(sign): f"\\{sign}" for sign in "[]{}"})
    read = module.source(spark.read.options(**options).csv(pattern), None).frame
    assert [tuple(row) for row in read.collect()] == [("ä;b", "7"), (None, "8")]


def test_a_declared_schema_stays_as_it_is(spark, written):
    path = written("some.csv", ROWS)
    for schema in ("id STRING, code STRING, age INT", "id STRING, code STRING, age STRING"):
        frame = spark.read.schema(schema).csv(path)
        assert module.source(frame, None).frame is frame
    inferred = spark.read.csv(path, header=True, inferSchema=True)
    assert module.source(inferred, None, FIXED).frame is inferred
    header = spark.read.csv(path, header=True)
    assert module.source(header, None).frame is header


@pytest.mark.pitfall("A23")
def test_folders_of_partitions_are_read_as_text(spark, tmp_path):
    spark.range(4).selectExpr("id", "id % 2 AS g").write.partitionBy("g").parquet(str(tmp_path / "parts"))
    frame = spark.read.parquet(str(tmp_path / "parts"))
    assert dict(frame.dtypes)["g"] == "int"
    assert module.source(frame, None).frame.dtypes == [("id", "bigint"), ("g", "string")]


REFUSED = {
    "no header": (lambda read: read, "the first row"),
    "no header, inferred": (lambda read: read.option("inferSchema", True), "the first row"),
    "failing mode": (lambda read: read.option("mode", "failfast").option("header", True), "mode=FAILFAST"),
    "rows left out": (lambda read: read.option("mode", "DROPMALFORMED").option("header", True), "mode=DROPMALFORMED"),
    "failing quotes": (lambda read: read.option("unescapedQuoteHandling", "RAISE_ERROR"), "unescapedquotehandling"),
    "longest cell": (lambda read: read.option("maxCharsPerColumn", 9), "maxcharspercolumn"),
    "quotes over lines": (lambda read: read.option("multiLine", True).option("header", True), "multiline"),
}


@pytest.mark.pitfall("A29")
@pytest.mark.parametrize(("reader", "words"), REFUSED.values(), ids=REFUSED)
def test_readers_that_fail_on_a_cell_or_count_columns_by_a_row_are_refused(spark, written, reader, words):
    with pytest.raises(SourceError, match=words):
        module.source(reader(spark.read).csv(written("some.csv", ROWS)), None)


@pytest.mark.pitfall("A29")
def test_options_of_one_reader_and_of_a_table_are_looked_at(spark, tmp_path):
    path = str(tmp_path / "days")
    spark.sql("SELECT 1 AS id, date '2020-01-01' AS day").write.parquet(path)
    with pytest.raises(SourceError, match="datetimerebasemode=EXCEPTION"):
        module.source(spark.read.option("datetimeRebaseMode", "EXCEPTION").parquet(path), None, FIXED)
    spark.sql("CREATE TABLE failing_csv(id INT) USING csv OPTIONS (mode 'FAILFAST')")
    with pytest.raises(SourceError, match="mode=FAILFAST"):
        module.source(spark.table("failing_csv"), None)
    spark.sql("DROP TABLE failing_csv")


def test_csv_files_with_different_headers_are_refused(spark, tmp_path):
    for name, header in (("a.csv", "id,age"), ("b.csv", "age,id"), ("empty.csv", "")):
        (tmp_path / name).write_text(f"{header}\n1,2\n" if header else "")
    with pytest.raises(SourceError, match="CSV files with different headers"):
        module.source(spark.read.csv(str(tmp_path), header=True, inferSchema=True), None)
    (tmp_path / "b.csv").write_text("id,age\n3,4\n")
    assert module.source(spark.read.csv(str(tmp_path), header=True, inferSchema=True), None).columns == ("id", "age")
