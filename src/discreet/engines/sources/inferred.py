"""In-memory tables, whose readers inferred column types from all cells: every stored form of a value reads alike.

pandas, Polars, pyarrow and DuckDB choose the type of a column from its cells, so one person's cell (a blank, a letter)
decides whether the cells of everybody else are stored as integers, reals, booleans, times or text. A value must not
change with the form, so each is read as the poorest form leaves it: integers from 2^53 on are missing, true and false
are 1 and 0, reals keep 15 significant digits, and text that some reader would take for a number, a truth value, a
missing value or a date is read as what that reader leaves of it. Formats of dates are guessed from cells as well, so
dates and times have no such reading: they are refused from their declaration alone.

Owners whose column types do not depend on the rows state it: `fixed_schema=True`. Then nothing here applies.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from typing import Any

import pyarrow as pa

from discreet.catalog.catalog import ColumnType, Value
from discreet.engines.sql import casts
from discreet.engines.sql.dialect import Reads, StorageType
from discreet.errors import ParameterError
from discreet.plan.physical import Apply, Constant, CountValues, Keys, Read, Term, case_parts, reads_of

EXACT = 2**53
BLANKS = " \t\n\v\f\r"
NUMBER = r"[+-]?([0-9]+(_[0-9]+)*([.][0-9]*)?|[.][0-9]+)([eE][+-]?[0-9]+)?"
PREFIXED = r"0[xX][0-9a-fA-F]{1,31}|0[bB][01]{1,126}"
TRUE, FALSE = r"(?i)true|t|yes", r"(?i)false|f|no"
_YES, _NO = r"(?i)true|t|yes|y", r"(?i)false|f|no|n"
_DAY = r"[+-]?([0-9]{1,7}[-/. ][0-9]{1,2}[-/. ][0-9]{1,2}|[0-9]{1,2}[-/. ][0-9]{1,2}[-/. ][0-9]{1,7})"
_CLOCK = r"[0-9]{1,2}:[0-9]{1,2}(:[0-9]{1,2}([.][0-9]+)?)?( ?[AaPp][Mm])?([Zz]|[+-][0-9:]+)?"
_WORDS = r"(?i)[+-]?(inf|infinity|nan([(][^)]*[)])?|1[.]#ind|1[.]#qnan)|epoch|null|none|na|n/a|#na|#n/a|#n/a n/a|<na>|"
LOST = rf"{_WORDS}|{_DAY}([T ][0-9:., +a-zA-Z()-]*)?|{_CLOCK}|[0-9]{{8}}T[0-9.]+[Zz]?"
"""Text that some reader takes for a missing value, an infinity, a date or a time."""

UUID = r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"
"""DuckDB's reader of JSON stores text of this form as numbers, which it prints in lower case."""

SCALARS = (ColumnType.INTEGER, ColumnType.REAL, ColumnType.TEXT, ColumnType.BOOLEAN)
_DIGITS = 15
_SIGN = 0x80
_LONGEST = 128  # bytes, or 308 digits: the largest real has 151
TEXT = (StorageType.TEXT, ColumnType.TEXT)
_DECLARED_TYPES = (
    'the file itself, dp.protect("visits.csv", ...), or fixed_schema=True if column types were declared to the reader'
)
_COMPARED = frozenset({"eq", "ne", "lt", "le", "gt", "ge", "in"})


def unreadable_columns(columns: Mapping[str, ColumnType]) -> dict[str, str]:
    """Columns of declared types that no reading gives to every stored form alike; the frame is not looked at."""
    reason = "readers guess the format of a {0} from all cells, so one cell could change how the others are read"
    return {column: reason.format(kind) for column, kind in columns.items() if kind not in SCALARS}


def declared_columns(frame: pa.Table, columns: Iterable[str]) -> pa.Table:
    """The declared columns of a frame; one that it does not have, or holds in no scalar form, is missing throughout.

    Whether a frame has a column may depend on one person: a field of a JSON record that nobody else has.
    """
    found = {name: i for i, name in enumerate(frame.column_names)}
    nothing = pa.nulls(frame.num_rows)
    return pa.table({name: _scalar(frame.column(found[name])) if name in found else nothing for name in columns})


def _scalar(column: pa.ChunkedArray) -> pa.ChunkedArray | pa.Array:
    """A column of scalars as it is; bytes and long decimals as text, since one such cell makes readers store all so."""
    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    if pa.types.is_binary(kind) or pa.types.is_large_binary(kind) or pa.types.is_binary_view(kind):
        chunks = column.cast(pa.large_binary()).chunks
        return pa.chunked_array([chunk.view(pa.large_string()) for chunk in chunks], pa.large_string())
    if isinstance(kind, pa.BaseExtensionType) and getattr(kind, "type_name", None) == "bignum":
        chunks = [pa.array(map(_format_big_integer, chunk.storage.to_pylist()), pa.string()) for chunk in column.chunks]
        return pa.chunked_array(chunks, pa.string())
    if pa.types.is_decimal256(kind):
        return column.cast(kind).cast(pa.string())
    is_text = pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind)
    is_number = pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)
    return column if is_text or is_number or pa.types.is_boolean(kind) else pa.nulls(len(column))


def _format_big_integer(cell: bytes | None) -> str | None:
    """An integer of any length as text; DuckDB's reader of CSV stores a column so where one cell has 39 digits or more.

    Three bytes hold the sign and the length, the rest the magnitude; all are complemented where it is negative.
    """
    if cell is None:
        return None
    is_positive, magnitude = cell[0] >= _SIGN, cell[3:]
    if len(magnitude) > _LONGEST:
        return "1e999"  # a number that is too large for every reading
    value = int.from_bytes(magnitude if is_positive else bytes(255 - byte for byte in magnitude))
    return str(value if is_positive else -value)


def _matches(text: str, pattern: str) -> str:
    escaped = pattern.replace("'", "''").replace("{", "{{").replace("}", "}}")
    return f"regexp_full_match({text}, '{escaped}')"


_TRIMMED = f"trim({{0}}, '{BLANKS}')"
_WIDE = f"TRY_CAST({_TRIMMED} AS HUGEINT)"
_WRAPPED = f"{_WIDE} - CASE WHEN {_WIDE} >= {2**63} AND {_WIDE} < {2**64} THEN {2**64} ELSE 0 END"
_VALUE = (
    f"CASE WHEN {_matches(_TRIMMED, NUMBER)} THEN TRY_CAST({_TRIMMED} AS DOUBLE) "
    f"WHEN {_matches(_TRIMMED, PREFIXED)} THEN TRY_CAST({_WRAPPED} AS DOUBLE) "
    f"WHEN {_matches(_TRIMMED, TRUE)} THEN 1e0 WHEN {_matches(_TRIMMED, FALSE)} THEN 0e0 END"
)
"""The number that text spells; pyarrow reads 16 hexadecimal digits as a signed number, so they are one everywhere."""


def _real(value: str) -> str:
    """A real within the limits of reals, to 15 digits unless it is an integer that a double holds exactly.

    Digits of integers up to 2^54 are kept as well, or the first of those beyond 2^53 would be rounded below it.
    """
    exact = f"{value} = floor({value}) AND abs({value}) < {2 * EXACT}"
    digits = f"TRY_CAST(format('{{{{:.{_DIGITS - 1}e}}}}', {value}) AS DOUBLE)"
    kept = f"CASE WHEN {exact} THEN {value} ELSE {digits} END"
    limits = f"{value} > -{casts.LARGEST_REAL!r} AND {value} < {casts.LARGEST_REAL!r}"
    return f"CASE WHEN {limits} THEN {kept} + {casts.FLUSHING!r} - {casts.FLUSHING!r} END"


def _integer(real: str) -> str:
    return f"CASE WHEN abs({real}) < {EXACT} THEN TRY_CAST({casts.ROUNDED.format(real, '0.25e0')} AS BIGINT) END"


def _decimal(real: str) -> str:
    whole = f"CAST(TRY_CAST({real} AS BIGINT) AS VARCHAR)"
    part = f"format('{{{{:.{_DIGITS}g}}}}', {real})"
    return f"CASE WHEN abs({real}) < {EXACT} THEN CASE WHEN {real} = floor({real}) THEN {whole} ELSE {part} END END"


def _once(value: str, form: Callable[[str], str]) -> str:
    """A form of a value that repeats it, over a value that is computed once."""
    return f"list_transform([{value}], lambda discreet_value: {form('discreet_value')})[1]"


def _numbers(value: str) -> dict[ColumnType, str]:
    real = _once(value, _real)
    return {
        ColumnType.REAL: real,
        ColumnType.INTEGER: _once(real, _integer),
        ColumnType.TEXT: _once(real, _decimal),
        ColumnType.BOOLEAN: f"CASE {real} WHEN 1 THEN TRUE WHEN 0 THEN FALSE END",
    }


def _texts(text: str) -> dict[ColumnType, str]:
    """Readings of text; wide integers and decimals are read as the text that they print."""
    value, trimmed = _VALUE.replace("{0}", text), _TRIMMED.replace("{0}", text)
    numbers = _numbers(value)
    is_number = f"{_matches(trimmed, NUMBER)} OR {_matches(trimmed, PREFIXED)}"
    is_truth = f"{_matches(trimmed, TRUE)} OR {_matches(trimmed, FALSE)}"
    lost = f"WHEN {_matches(trimmed, LOST)} THEN NULL"
    words = f"WHEN {_matches(trimmed, _YES)} THEN TRUE WHEN {_matches(trimmed, _NO)} THEN FALSE"
    return numbers | {
        ColumnType.TEXT: f"CASE WHEN {is_number} OR {is_truth} THEN {numbers[ColumnType.TEXT]} {lost} "
        f"WHEN {_matches(text, UUID)} THEN lower({text}) ELSE {text} END",
        ColumnType.BOOLEAN: f"CASE {words} ELSE {numbers[ColumnType.BOOLEAN]} END",
    }


def _integers() -> dict[ColumnType, str]:
    within = f"CASE WHEN {{0}} > -{EXACT} AND {{0}} < {EXACT} THEN TRY_CAST({{0}} AS BIGINT) END"
    return _numbers("TRY_CAST({0} AS DOUBLE)") | {
        ColumnType.INTEGER: within,
        ColumnType.TEXT: f"CAST({within} AS VARCHAR)",
        ColumnType.BOOLEAN: "CASE {0} WHEN 1 THEN TRUE WHEN 0 THEN FALSE END",
    }


def _booleans() -> dict[ColumnType, str]:
    return {
        ColumnType.BOOLEAN: "{0}",
        ColumnType.INTEGER: "CASE WHEN {0} THEN 1::BIGINT WHEN NOT {0} THEN 0::BIGINT END",
        ColumnType.REAL: "CASE WHEN {0} THEN 1e0 WHEN NOT {0} THEN 0e0 END",
        ColumnType.TEXT: "CASE WHEN {0} THEN '1' WHEN NOT {0} THEN '0' END",
    }


READS: Reads = {
    (stored, declared): template
    for stored, templates in {
        StorageType.INTEGER: _integers(),
        StorageType.REAL: _numbers("TRY_CAST({0} AS DOUBLE)"),
        StorageType.BOOLEAN: _booleans(),
        StorageType.TEXT: _texts("{0}"),
        StorageType.WIDE: _texts("CAST({0} AS VARCHAR)"),
        StorageType.DECIMAL: _texts("CAST({0} AS VARCHAR)"),
    }.items()
    for declared, template in templates.items()
}
"""How DuckDB, which reads all frames, reads each stored form of an inferred column as each declared type."""


def canonical_text(text: str) -> str | None:
    """What every stored form of a text is read as, by the rules of `READS`; None where that is missing.

    >>> canonical_text("01001"), canonical_text("1001.0"), canonical_text("Yes"), canonical_text("Ward A")
    ('1001', '1001', '1', 'Ward A')
    """
    trimmed = text.strip(BLANKS)
    value = _value(trimmed)
    if value is not None:
        return _canonical_decimal(value)
    if re.fullmatch(LOST, trimmed):
        return None
    return text.lower() if re.fullmatch(UUID, text) else text


def spellings(values: Sequence[str]) -> dict[str, str]:
    """The text that cells of each value are read as, with the value; refused where two are read alike, or as missing.

    Args:
        values: Texts as they were declared.

    Returns:
        The declared text of each text that is read.

    Raises:
        ParameterError: If a text is read as missing, or as another one.
    """
    found = tuple(_canonical_value(value) for value in values)
    _require_distinct(found, tuple(values))
    return dict(zip(found, values, strict=True))


def _value(trimmed: str) -> float | None:
    if re.fullmatch(NUMBER, trimmed):
        return float(trimmed)
    if re.fullmatch(PREFIXED, trimmed):
        whole = int(trimmed, 0)
        return float(whole - 2**64 if 2**63 <= whole < 2**64 else whole)
    truths = ((TRUE, 1.0), (FALSE, 0.0))
    return next((value for pattern, value in truths if re.fullmatch(pattern, trimmed)), None)


def _canonical_decimal(value: float) -> str | None:
    if not abs(value) < EXACT:
        return None
    if not value.is_integer():
        value = float(f"{value:.{_DIGITS - 1}e}") + casts.FLUSHING - casts.FLUSHING
    return str(int(value)) if value.is_integer() else f"{value:.{_DIGITS}g}"


def canonical(thing: Any) -> Any:
    """A query about an inferred table, or a part of it: text constants and keys in the form that text is read in."""
    match thing:
        case Keys():
            return _keys(thing)
        case CountValues():
            return _count_values(thing)
        case Apply("to_date" | "to_timestamp" as operator, (operand,)) if _is_read(operand, ColumnType.TEXT):
            column = next(reads_of(operand)).column
            raise _missing_constant_error(f"{column!r} of an in-memory table, cast to a {operator.removeprefix('to_')}")
        case Apply("starts_with" | "ends_with" | "contains" as operator, (_, Constant(str() as text))):
            _require_letters(operator, text)
        case Apply("case") if _is_read(thing):
            return replace(thing, arguments=tuple(_constant(each) for each in thing.arguments))
        case Apply(operator, arguments) if operator in _COMPARED and any(_is_read(each) for each in arguments):
            return replace(thing, arguments=tuple(_constant(each) for each in arguments))
        case tuple():
            return tuple(canonical(each) for each in thing)
    if is_dataclass(thing) and not isinstance(thing, Read | Constant | type):
        return replace(thing, **{each.name: canonical(getattr(thing, each.name)) for each in fields(thing)})
    return thing


def _constant(node: Term) -> Term:
    if isinstance(node, Constant) and node.type in (ColumnType.TEXT, ColumnType.INTEGER):
        known: Any = _canonical_value(node.value)
        return replace(node, value=known)
    return canonical(node)  # type: ignore[no-any-return]


def _is_read(node: Term, *kinds: ColumnType) -> bool:
    """Whether a term is a column whose constants are normalised or refused, or a case that may have its value."""
    if node.type not in (kinds or (ColumnType.TEXT, ColumnType.INTEGER)):
        return False
    if isinstance(node, Apply) and node.operator == "case":
        branches, otherwise = case_parts(node)
        values = [value for _, value in branches] + ([] if otherwise is None else [otherwise])
        return any(_is_read(value, *kinds) for value in values)
    return isinstance(node, Read)


def _require_letters(operator: str, text: str) -> None:
    """Numbers are read in one form, without zeros in front or behind: a part of another form would match nothing."""
    if re.fullmatch(r"[0-9+.\s-]*", text):
        raise ParameterError(
            f"{operator}({text!r}) about an in-memory table",
            because="a reader may have read such cells as numbers, which have no zeros in front",
            instead=_DECLARED_TYPES,
        )


def _keys(keys: Keys) -> Keys:
    """Keys in the form that cells are read in; the same object where nothing changes, which keeps its digest."""
    terms, rows = canonical(keys.columns), keys.rows
    if keys.at_least is None:
        pairs = zip(keys.values, keys.columns, strict=True)
        forms = tuple(_canonical_column(values) if _is_read(term) else values for values, term in pairs)
        if forms != keys.values:
            rows = tuple(zip(*forms, strict=True))
            _require_distinct(rows, keys.rows)
    is_same = terms == keys.columns and rows is keys.rows
    return keys if is_same else replace(keys, columns=terms, rows=rows)


def _canonical_column(values: list[Any]) -> list[Any]:
    if set(map(type, values)) == {int} and -EXACT < min(values) <= max(values) < EXACT:
        return values
    return list(map(_canonical_value, values))


def _count_values(measure: CountValues) -> CountValues:
    if not _is_read(measure.operand):
        return replace(measure, operand=canonical(measure.operand))
    domain = tuple(_canonical_value(value) for value in measure.domain)
    _require_distinct(domain, measure.domain)
    return replace(measure, domain=domain)


def _canonical_value(value: Any) -> Any:
    """A constant or key as cells are read; refused where cells of that form are always missing."""
    if isinstance(value, int) and abs(value) >= EXACT:
        raise _missing_constant_error(f"the number {value} about an in-memory table")
    if not isinstance(value, str):
        return value
    known = canonical_text(value)
    if known is None:
        raise _missing_constant_error(f"the text {value!r} about an in-memory table")
    return known


def _missing_constant_error(what: str) -> ParameterError:
    return ParameterError(
        what,
        because="a reader may have read such cells as missing, dates or large numbers",
        instead=_DECLARED_TYPES,
    )


def _require_distinct(
    rows: tuple[Value | tuple[Value, ...], ...], given: tuple[Value | tuple[Value, ...], ...]
) -> None:
    first: dict[object, object] = {}
    for row, other in zip(rows, given, strict=True):
        one = first.setdefault(row, other)
        if one != other:
            raise ParameterError(
                f"the keys {one!r} and {other!r} of an in-memory table",
                because="a reader may store both in one form, so they cannot be distinguished",
                instead="one of them, or fixed_schema=True if the column types were declared to the reader",
            )
