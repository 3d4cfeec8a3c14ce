"""Total reads and casts, the same on every engine: a cell that does not fit its declared type is missing.

Which text is a number, a date or a time is defined once, by regular expressions that every engine understands,
and only text that matches is cast: no engine has to recover from an error, and none is more generous than another. Real
numbers keep to LARGEST_REAL, and what is smaller than about 1e-150 is zero, so that no sum, product or quotient of two
of them leaves what a double can hold: PostgreSQL raises an error there, where others go on with infinity or zero.
"""

from dataclasses import dataclass

from discreet.catalog.catalog import ColumnType
from discreet.engines.sql.dialect import LIMITED, Reads, StorageType, finite

LARGEST_REAL = 1e150
FLUSHING = 1e-134
"""Adding and subtracting it turns what is below 1e-150 into zero, minus zero included, and changes no larger number
that a table about people holds: values between 1e-134 and 1e-118 may change in their last bit."""

ROUNDED = "floor({0} + {1} + {1})"
"""Half up, by adding one quarter {1} twice: from 2^52 on adding one half would itself round an odd integer up."""

WHOLE = " {0,99}[+-]?[0-9]{1,38} {0,99}"
NUMBER = " {0,99}[+-]?([0-9]{1,38}([.][0-9]{0,50})?|[.][0-9]{1,50})([eE][+-]?[0-9]{1,2})? {0,99}"
TRUE = "[Tt]([Rr][Uu][Ee])?|[Yy]([Ee][Ss])?|1"
TRUTHS = {"[Tt][Rr][Uu][Ee]": 1, "[Ff][Aa][Ll][Ss][Ee]": 0}
"""What a stored truth value prints, and the number that it reads as."""
FALSE = "[Ff]([Aa][Ll][Ss][Ee])?|[Nn][Oo]?|0"
_YEAR = "([0-9]{3}[1-9]|[0-9]{2}[1-9]0|[0-9][1-9]00|[1-9]000)"
_LEAP_YEAR = "([0-9]{2}(0[48]|[2468][048]|[13579][26])|(0[48]|[2468][048]|[13579][26])00)"
_DAY = "((0[13578]|1[02])-(0[1-9]|[12][0-9]|3[01])|(0[469]|11)-(0[1-9]|[12][0-9]|30)|02-(0[1-9]|1[0-9]|2[0-8]))"
_CALENDAR_DAY = f"({_YEAR}-{_DAY}|{_LEAP_YEAR}-02-29)"
_TIME = "[T ]([01][0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9]([.][0-9]{1,6})?)?"
DATE = _CALENDAR_DAY
TIME = f"{_CALENDAR_DAY}{_TIME}"
ZONED_TIME = f"{_CALENDAR_DAY}{_TIME}(Z|[+-](0[0-9]|1[0-3]):[0-5][0-9])"
FIRST_DAY, LAST_DAY = "0001-01-01", "9999-12-31"


@dataclass(frozen=True)
class Primitives:
    """What reads are made of; each template may take for granted what its comment says of `{0}`."""

    matches: str  # whether text {0} matches the regular expression {1} from its first character to its last
    text: str = "'{0}'"  # a plain constant without quotes or backslashes
    double: str = "CAST({0} AS DOUBLE)"  # a 64-bit integer, or text that matches NUMBER
    bigint: str = "CAST({0} AS BIGINT)"  # a number within 64 bits
    whole_text: str = "TRY_CAST({0} AS BIGINT)"  # text that matches WHOLE; missing beyond 64 bits
    varchar: str = "CAST({0} AS VARCHAR)"  # an integer or a date
    date: str = "CAST({0} AS DATE)"  # text that matches DATE, or a timestamp
    timestamp: str = "CAST({0} AS TIMESTAMP)"  # text that matches TIME, or a date
    zoned_text: str = ""  # text that matches ZONED_TIME, as a timestamp in UTC
    zoned: str = ""  # a timestamp with a zone, as one in UTC
    wide: str = ""  # an integer of any size as 64 bits; missing beyond
    decimal: str = ""  # a decimal, halves rounded up, as 64 bits; missing beyond
    decimal_real: str = ""  # a decimal as a double within LARGEST_REAL; missing beyond
    real: str = "CAST('{0}' AS DOUBLE)"  # a constant
    day: str = "DATE '{0}'"  # a constant
    moment: str = "TIMESTAMP '{0}'"  # a constant
    limited: str = LIMITED


def standard(p: Primitives) -> Reads:
    """How each stored type is read as each declared type; what is not here has no reading."""
    reads = {
        (StorageType.INTEGER, ColumnType.INTEGER): p.bigint,
        (StorageType.INTEGER, ColumnType.REAL): p.double,
        (StorageType.INTEGER, ColumnType.TEXT): p.varchar,
        (StorageType.INTEGER, ColumnType.BOOLEAN): "CASE {0} WHEN 1 THEN TRUE WHEN 0 THEN FALSE END",
        (StorageType.WIDE, ColumnType.INTEGER): p.wide,
        (StorageType.WIDE, ColumnType.REAL): p.decimal_real,
        (StorageType.WIDE, ColumnType.TEXT): p.varchar,
        (StorageType.DECIMAL, ColumnType.INTEGER): p.decimal,
        (StorageType.DECIMAL, ColumnType.REAL): p.decimal_real,
        (StorageType.REAL, ColumnType.INTEGER): _real_as_integer("{0}", p),
        (StorageType.REAL, ColumnType.REAL): _real(p),
        (StorageType.BOOLEAN, ColumnType.BOOLEAN): "{0}",
        (StorageType.BOOLEAN, ColumnType.INTEGER): p.bigint.format("CASE WHEN {0} THEN 1 WHEN NOT {0} THEN 0 END"),
        (StorageType.BOOLEAN, ColumnType.REAL): p.double.format("CASE WHEN {0} THEN 1 WHEN NOT {0} THEN 0 END"),
        (StorageType.BOOLEAN, ColumnType.TEXT): f"CASE WHEN {{0}} THEN {p.text.format('true')} "
        f"WHEN NOT {{0}} THEN {p.text.format('false')} END",
        **_texts(p),
        **_times(p),
    }
    for stored in StorageType:
        as_time = ColumnType.DATE if stored is StorageType.DATE else ColumnType.TIMESTAMP
        cell = "{0}" if stored is StorageType.TEXT else reads.get((stored, as_time)) or "{0}"
        present = f"CASE WHEN {cell} IS NOT NULL THEN TRUE END"
        reads[stored, ColumnType.DOCUMENT] = reads[stored, ColumnType.BINARY] = present
    return {pair: template for pair, template in reads.items() if template}


def _real(p: Primitives) -> str:
    largest, flushing = p.real.format(finite(LARGEST_REAL)), p.real.format(finite(FLUSHING))
    within = f"{p.double} > -{largest} AND {p.double} < {largest}"
    return f"CASE WHEN {within} THEN {p.double} + {flushing} - {flushing} END"


def _real_as_integer(value: str, p: Primitives) -> str:
    within = p.limited.format(p.double.format(value), p.real.format(finite(2.0**63)))
    return p.bigint.format(ROUNDED.format(within, p.real.format(finite(0.25))))


def _matches(p: Primitives, pattern: str) -> str:
    escaped = p.text.format(pattern).replace("{", "{{").replace("}", "}}")
    return p.matches.format("{0}", escaped)


def _texts(p: Primitives) -> dict[tuple[StorageType, ColumnType], str]:
    number = _matches(p, NUMBER)
    true, false = (f"WHEN {_matches(p, word)} THEN {value}" for word, value in ((TRUE, "TRUE"), (FALSE, "FALSE")))
    day, time, zoned = (f"WHEN {_matches(p, form)} THEN" for form in (DATE, TIME, ZONED_TIME))
    in_utc = p.zoned_text and _within_times(p.zoned_text, p)
    zoned_date, zoned_time = (f" {zoned} {p.date.format(in_utc)}", f" {zoned} {in_utc}") if in_utc else ("", "")
    return {
        (StorageType.TEXT, ColumnType.TEXT): "{0}",
        (StorageType.TEXT, ColumnType.INTEGER): f"CASE WHEN {_matches(p, WHOLE)} THEN {p.whole_text} "
        f"WHEN {number} THEN {_real_as_integer('{0}', p)} {_truths(p, '{0}')} END",
        (StorageType.TEXT, ColumnType.REAL): f"CASE WHEN {number} THEN {p.double} + {p.real.format(finite(0.0))} "
        f"{_truths(p, p.real.format('{0}.0e0'))} END",
        (StorageType.TEXT, ColumnType.BOOLEAN): f"CASE {true} {false} END",
        (StorageType.TEXT, ColumnType.DATE): f"CASE {day} {p.date} {time} {p.date.format(p.timestamp)}{zoned_date} END",
        (StorageType.TEXT, ColumnType.TIMESTAMP): f"CASE {day} {p.timestamp} {time} {p.timestamp}{zoned_time} END",
    }


def _truths(p: Primitives, number: str) -> str:
    """The branches that read true and false as numbers."""
    return " ".join(f"WHEN {_matches(p, word)} THEN {number.format(value)}" for word, value in TRUTHS.items())


def _times(p: Primitives) -> dict[tuple[StorageType, ColumnType], str]:
    zoned = p.zoned and _within_times(p.zoned, p)
    return {
        (StorageType.DATE, ColumnType.DATE): _within("{0}", p.day),
        (StorageType.DATE, ColumnType.TIMESTAMP): p.timestamp.format(_within("{0}", p.day)),
        (StorageType.DATE, ColumnType.TEXT): p.varchar.format(_within("{0}", p.day)),
        (StorageType.TIMESTAMP, ColumnType.TIMESTAMP): _within_times("{0}", p),
        (StorageType.TIMESTAMP, ColumnType.DATE): p.date.format(_within_times("{0}", p)),
        (StorageType.ZONED, ColumnType.TIMESTAMP): zoned,
        (StorageType.ZONED, ColumnType.DATE): zoned and p.date.format(zoned),
    }


def _within_times(value: str, p: Primitives) -> str:
    return _within(value, p.moment, f"{FIRST_DAY} 00:00:00", f"{LAST_DAY} 23:59:59.999999")


def _within(value: str, constant: str, first: str = FIRST_DAY, last: str = LAST_DAY) -> str:
    """A date or time within the years 1 to 9999, or missing."""
    return f"CASE WHEN {value} BETWEEN {constant.format(first)} AND {constant.format(last)} THEN {value} END"
