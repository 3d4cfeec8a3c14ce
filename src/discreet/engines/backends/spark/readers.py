"""Files behind a DataFrame: columns that were declared or inferred from rows, and options that can fail on a cell.

Types that a reader inferred are not used: one person's cell would decide how all others are read. CSV files with a
header are read again as text, and so are the names of partition folders. Where the set of columns depends on rows, or
Spark does not show whether it does, the source is refused.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from discreet.engines.backends.spark.expressions import class_of, items
from discreet.engines.sources.source import Statements
from discreet.errors import SourceError

AS_A_TABLE = 'frame.write.saveAsTable("clinic.visits"), then spark.table("clinic.visits")'
_FORMATS = {
    "ParquetFileFormat": "parquet",
    "DeltaParquetFileFormat": "delta",
    "OrcFileFormat": "orc",
    "AvroFileFormat": "avro",
    "CSVFileFormat": "csv",
    "JsonFileFormat": "json",
    "TextFileFormat": "text",
}
# A file of these holds its schema, which its writer declared.
_TYPED = frozenset({"parquet", "delta", "orc", "avro", "text"})
_MOST_HEADERS = 100
_FILE_OPTIONS = frozenset(
    {
        *("path", "paths", "basepath", "compression", "mergeschema", "pathglobfilter", "recursivefilelookup"),
        *("datetimerebasemode", "int96rebasemode", "serialization.format"),
    }
)
_TEXT_OPTIONS = frozenset(
    {
        *(
            "sep",
            "delimiter",
            "header",
            "inferschema",
            "samplingratio",
            "enforceschema",
            "preferdate",
            "prefersdecimal",
        ),
        *("quote", "escape", "chartoescapequoteescaping", "comment", "linesep", "encoding", "charset", "locale"),
        *("nullvalue", "emptyvalue", "nanvalue", "positiveinf", "negativeinf", "mode", "columnnameofcorruptrecord"),
        *("ignoreleadingwhitespace", "ignoretrailingwhitespace", "dateformat", "timestampformat", "timestampntzformat"),
        *("timezone", "primitivesasstring", "dropfieldifallnull", "allowcomments", "allowsinglequotes"),
        *("allowunquotedfieldnames", "allownumericleadingzeros", "allowbackslashescapinganycharacter"),
        *("allownonnumericnumbers", "allowunquotedcontrolchars"),
    }
)
_FAILING = {
    "mode": ("FAILFAST", "DROPMALFORMED"),
    "datetimerebasemode": ("EXCEPTION",),
    "int96rebasemode": ("EXCEPTION",),
}
_NOT_GIVEN_AGAIN = ("path", "paths", "inferschema", "samplingratio")


@dataclass(frozen=True)
class FileRelation:
    """The files that a relation reads: `folders` are columns that only the names of folders hold."""

    kind: str
    options: Mapping[str, str]
    paths: tuple[str, ...]
    columns: Mapping[str, str]
    folders: Mapping[str, str]
    is_table: bool
    index: Any

    def is_on(self, option: str) -> bool:
        """Whether an option is given as true."""
        return self.options.get(option, "").lower() == "true"


def files_of(node: Any) -> FileRelation | None:
    """The files of a relation, where it has some of a kind that is known and nothing but their columns."""
    relation = node.relation()
    if not class_of(relation).endswith(".HadoopFsRelation"):
        return None
    kind = _FORMATS.get(class_of(relation.fileFormat()).rpartition(".")[2])
    columns, folders = _columns(relation.dataSchema()), _columns(relation.partitionSchema())
    # what Spark can add about files (_metadata: sizes, row numbers) depends on the rows of others
    if kind is None or {attribute.name() for attribute in items(node.output())} != {*columns, *folders}:
        return None
    return FileRelation(
        kind,
        _options(relation.options()),
        tuple(path.toString() for path in items(relation.location().rootPaths())),
        columns,
        folders,
        bool(node.catalogTable().isDefined()),
        relation.location(),
    )


def require_safe_options(files: FileRelation) -> None:
    """Refuse options that make a reader fail on a cell, and those that are not known."""
    known = _FILE_OPTIONS if files.kind in _TYPED else _FILE_OPTIONS | _TEXT_OPTIONS
    for option, value in files.options.items():
        if value.upper() in _FAILING.get(option, ()):
            raise _unsafe(f"a reader with {option}={value.upper()}", "one cell would make it fail or leave out a row")
        if option not in known:
            raise _unsafe(f"a reader with the option {option!r}", "discreet does not know that no cell can fail on it")


def is_declared(files: FileRelation, stated: Statements) -> bool:
    """Whether types stay as they are; otherwise they are read again as text. What cannot be is refused."""
    if stated.fixed_schema or files.is_table:
        return True
    if files.kind == "csv" and not _has_declared_csv_schema(files):
        return False
    if files.kind not in (*_TYPED, "csv"):
        raise SourceError(
            f"a {files.kind.upper()} reader without fixed_schema=True",
            because="Spark does not show whether its columns were declared or inferred from the rows",
            instead='dp.protect(spark.read.schema("id STRING, age INT").json(path), ..., fixed_schema=True), '
            f"or a table of its own: {AS_A_TABLE}",
        )
    # Delta keeps the types of its folders in its log
    return files.kind == "delta" or set(files.folders.values()) <= {"string"}


def _has_declared_csv_schema(files: FileRelation) -> bool:
    if not files.is_on("inferschema") and set(files.columns.values()) - {"string"}:
        return True
    if not files.is_on("header") and (files.is_on("inferschema") or _is_numbered(files.columns)):
        raise SourceError(
            "a CSV reader without header=True or a schema",
            because="the first row, which is somebody's, says how many columns there are",
            instead='spark.read.schema("id STRING, age STRING").csv(path), without inferSchema',
        )
    return not files.is_on("inferschema")


def _is_numbered(columns: Mapping[str, str]) -> bool:
    return list(columns) == [f"_c{i}" for i in range(len(columns))]


def require_one_header(files: FileRelation, session: Any) -> None:
    """Refuse CSV files whose headers differ: columns are read by position, and named by the largest file."""
    if files.kind != "csv" or files.is_table or not files.is_on("header"):
        return
    paths = [status.getPath().toString() for status in items(files.index.allFiles())]
    if len(paths) > _MOST_HEADERS:
        raise SourceError(
            f"more than {_MOST_HEADERS} CSV files",
            because="every one of their headers would have to be compared",
            instead=f"a table of its own: {AS_A_TABLE}",
        )
    headers = {_header(files, session, path) for path in paths} if len(paths) > 1 else set()
    if len(headers - {()}) > 1:
        raise SourceError(
            "CSV files with different headers",
            because="their columns are not the same, or not in the same order",
            instead="files with one and the same header line, or Parquet files",
        )


def _header(files: FileRelation, session: Any, path: str) -> tuple[str, ...]:
    return tuple(_reader(files, session).option("inferSchema", "false").csv(path).columns)


def as_text(files: FileRelation, frame: Any) -> Any:
    """The same files read again: columns whose types were inferred as text."""
    from pyspark.sql.types import StringType, StructField, StructType  # noqa: PLC0415 - an optional driver

    keeps_types = files.kind in _TYPED or not files.is_on("inferschema")
    kept = set(files.columns) - set(files.folders) if keeps_types else set()
    fields = [each if each.name in kept else StructField(each.name, StringType()) for each in frame.schema.fields]
    reader = _reader(files, frame.sparkSession).format(files.kind).schema(StructType(fields))
    return reader.load(list(files.paths))


def _reader(files: FileRelation, session: Any) -> Any:
    options = {name: value for name, value in files.options.items() if name not in _NOT_GIVEN_AGAIN}
    # the paths were found already: a bracket in a name is not a pattern
    return session.read.options(**options).option("__globPaths__", "false")


def _options(options: Any) -> dict[str, str]:
    found, each = {}, options.iterator()
    while each.hasNext():
        pair = each.next()
        found[str(pair._1()).lower()] = str(pair._2())  # noqa: SLF001 - the names of Scala's pair
    return found


def _columns(schema: Any) -> dict[str, str]:
    return {str(field.name()): str(field.dataType().typeName()) for field in schema.fields()}


def _unsafe(what: str, because: str) -> SourceError:
    return SourceError(
        what, because=because, instead=f"leave the option out, or write a table of its own: {AS_A_TABLE}"
    )
