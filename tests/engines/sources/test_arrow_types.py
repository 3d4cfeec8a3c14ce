import duckdb as driver
import pyarrow as pa
import pytest

from discreet.engines.sources.arrow_types import distinct_names, transport_schema, transport_type
from discreet.errors import SourceError

TIMES = [pa.timestamp(unit) for unit in ("s", "ms", "us", "ns")]


def read_back(kind: pa.DataType, cells: list[object]) -> list[object]:
    """What an engine sees of cells that travel; raw whole numbers for times."""
    way = transport_type(kind)
    connection = driver.connect(":memory:")
    connection.register("frame", pa.table({"c": pa.array(cells, way.type)}))
    return [row[0] for row in connection.execute(f"SELECT {way.sql.format('c')} FROM frame").fetchall()]


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.dictionary(pa.int32(), pa.string())], ids=str)
def test_text_travels_as_bytes_and_what_is_not_text_is_missing(kind):
    assert read_back(kind, [b"a", "é".encode(), b"\xff", None]) == ["a", "é", None, None]


@pytest.mark.parametrize("kind", TIMES, ids=str)
@pytest.mark.parametrize("cell", [2**63 - 1, -(2**63), 2**62, None])
def test_a_time_beyond_the_calendar_is_missing(kind, cell):
    in_range = str(kind) == "timestamp[ns]" and cell is not None
    assert (read_back(kind, [cell])[0] is not None) == in_range


@pytest.mark.parametrize(("kind", "second"), list(zip(TIMES, [1, 10**3, 10**6, 10**9], strict=True)))
def test_a_time_in_any_unit_is_the_same_instant(kind, second):
    assert str(read_back(kind, [86_400 * second])[0]) == "1970-01-02 00:00:00"


def test_a_date_beyond_the_calendar_is_missing():
    assert [str(day) for day in read_back(pa.date32(), [0, 3_000_000, -(2**31), None])] == ["1970-01-01", *3 * ["None"]]


def test_a_schema_is_forced_by_its_types_alone():
    schema = pa.schema([("a", pa.string()), ("b", pa.timestamp("ms")), ("c", pa.int32()), ("d", pa.float16())])
    assert transport_schema(schema) == pa.schema(
        [("a", pa.binary()), ("b", pa.int64()), ("c", pa.int32()), ("d", pa.float32())]
    )


@pytest.mark.parametrize("kind", [pa.time32("s"), pa.time64("us"), pa.duration("ns")], ids=str)
def test_clock_times_and_spans_travel_as_whole_numbers(kind):
    assert pa.types.is_integer(transport_type(kind).type)


@pytest.mark.pitfall("A24")
@pytest.mark.parametrize("names", [["zebra", "Zebra"], ["zebra", "zebra"]])
def test_names_that_come_from_records_are_not_shown(names):
    with pytest.raises(SourceError, match="not distinct") as refusal:
        distinct_names(names, are_public=False)
    assert "zebra" not in str(refusal.value).lower()
