"""Which Catalyst expressions are deterministic and total: they give the same value again, and no cell makes them fail.

An allow-list by class name. An expression of any other class is not admitted, nor is one of these classes under a mode
that raises: an ANSI cast from text, an ANSI sum that overflows, an ANSI division by a column. A wrapper that Spark
replaces by another expression (`try_divide`, `nvl`) counts as its replacement.
"""

import re
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

from discreet.engines.backends.spark import jobs

PACKAGE = "org.apache.spark.sql.catalyst.expressions."
_WRAPPER = f"{PACKAGE}InheritAnalysisRules"

TOTAL = frozenset(
    {
        *("Alias", "AttributeReference", "Literal", "SortOrder"),
        *("And", "Or", "Not", "EqualTo", "EqualNullSafe", "In", "InSet"),
        *("LessThan", "LessThanOrEqual", "GreaterThan", "GreaterThanOrEqual"),
        *("IsNull", "IsNotNull", "IsNaN", "NaNvl", "Coalesce", "If", "CaseWhen", "Greatest", "Least"),
        *("Upper", "Lower", "StringTrim", "StringTrimLeft", "StringTrimRight", "Substring", "Length"),
        *("Concat", "ConcatWs", "StartsWith", "EndsWith", "Contains"),
        *("Year", "Quarter", "Month", "DayOfMonth", "DayOfWeek", "WeekDay", "DayOfYear", "WeekOfYear"),
        *("Hour", "Minute", "Second", "DateAdd", "DateSub", "DateDiff"),
        *("UnixMicros", "UnixMillis", "UnixSeconds", "UnixDate"),
        *("UnaryPositive", "Floor", "Ceil", "Sqrt", "Signum"),
        *("BitwiseAnd", "BitwiseOr", "BitwiseXor", "BitwiseNot"),
        *("Md5", "Sha1", "Sha2", "Crc32", "XxHash64", "Murmur3Hash"),
        *("CreateArray", "CreateNamedStruct", "GetStructField", "Size", "Explode", "PosExplode"),
    }
)
# Only where the owner states that rows are computed from one unit's: ties and orders must not matter in any of them.
TOTAL_ACROSS = frozenset(
    {
        *("WindowExpression", "WindowSpecDefinition", "UnboundedPreceding$", "UnboundedFollowing$", "CurrentRow$"),
        *("aggregate.AggregateExpression", "aggregate.Count", "aggregate.Min", "aggregate.Max"),
    }
)

_WHOLE = ("byte", "short", "integer", "long")
_REAL = ("float", "double")
_DIGITS = {"byte": 3, "short": 5, "integer": 10, "long": 19}
_MOMENTS = ("timestamp", "timestamp_ntz")
_SCALARS = frozenset({*_WHOLE, *_REAL, "boolean", "string", "decimal"})
_TO_TEXT = _SCALARS | {"date", *_MOMENTS}
_DECIMAL = re.compile(r"decimal\((\d+),(-?\d+)\)")


def unfit(expression: Any, gateway: Any, *, across: bool) -> Any | None:
    """The first expression in a tree that is not known to be deterministic and total."""
    from py4j.java_gateway import is_instance_of  # noqa: PLC0415 - comes with the optional driver

    for node in _nodes(expression):
        name = class_of(node).removeprefix(PACKAGE)
        if name in TOTAL or (across and name in TOTAL_ACROSS):
            continue
        check = _CONDITIONAL.get(name)
        if check is None and across:
            check = _CONDITIONAL_ACROSS.get(name)
        if check(node) if check is not None else is_instance_of(gateway, node, _WRAPPER):
            continue
        return node
    return None


def class_of(node: Any) -> str:
    """The full name of a node's class; a class of somebody else's with the same short name is another one."""
    return str(node.getClass().getName())


def type_of(expression: Any) -> str:
    """The type of an expression by Spark's name for it."""
    return str(expression.dataType().typeName())


def items(sequence: Any) -> list[Any]:
    """A Scala sequence as a list."""
    return [sequence.apply(i) for i in range(sequence.size())]


def _nodes(expression: Any) -> Iterator[Any]:
    waiting = [expression]
    while waiting:
        node = waiting.pop()
        yield node
        waiting += items(node.children())


def _is_ansi(node: Any) -> bool:
    return str(node.evalMode().toString()) == "ANSI"


def _is_total_cast(cast: Any) -> bool:
    source, target = type_of(cast.child()), type_of(cast)
    if class_of(cast.child()) == f"{PACKAGE}Literal":
        return _constant(cast) is not None
    if _widens(source, target):
        return True
    if _is_ansi(cast):
        return False
    source, target = _family(source), _family(target)
    # text such as T12:30 is a timestamp of the day on which it is cast, but no timestamp_ntz
    return source in _SCALARS and (target in _SCALARS or (source == "string" and target in ("date", "timestamp_ntz")))


def _widens(source: str, target: str) -> bool:
    """Whether every value of a type has a value of the other one."""
    if source in (target, "void"):
        return True
    if target == "string":
        return _family(source) in _TO_TEXT
    if target in _REAL:
        return _family(source) in (*_WHOLE, *_REAL, "decimal")
    if target in _WHOLE:
        return source in _WHOLE and _WHOLE.index(source) <= _WHOLE.index(target)
    if _family(target) == "decimal":
        return _widens_to_decimal(source, target)
    return (source, target) == ("string", "binary") or (source in _MOMENTS and target == "date")


def _widens_to_decimal(source: str, target: str) -> bool:
    precision, scale = _decimal(target)
    if source in _DIGITS:
        return precision - scale >= _DIGITS[source]
    if _family(source) != "decimal":
        return False
    digits, behind = _decimal(source)
    return scale >= behind and precision - scale >= digits - behind


def _decimal(name: str) -> tuple[int, int]:
    found = _DECIMAL.fullmatch(name)
    return (int(found[1]), int(found[2])) if found else (0, 0)


def _family(name: str) -> str:
    return "decimal" if _DECIMAL.fullmatch(name) else name


def _constant(expression: Any) -> Any | None:
    """The value of a constant; nothing where computing it fails, as it then would on every row."""
    with jobs.without_cells_in_logs():
        try:
            return (expression.eval(None),)
        except Exception:  # noqa: BLE001 - any exception of Spark
            return None


def _is_total_arithmetic(node: Any) -> bool:
    kind = type_of(node)
    return kind in _REAL or (_family(kind) in (*_WHOLE, "decimal") and not _is_ansi(node))


def _is_total_quotient(node: Any) -> bool:
    """Not ANSI, or by a constant that no number divided by it overflows with."""
    kinds = {_family(type_of(side)) for side in items(node.children())}
    if not kinds <= {*_WHOLE, *_REAL, "decimal"}:
        return False
    if not _is_ansi(node):
        return True
    return "decimal" not in kinds and _divisor(items(node.children())[1]) not in (None, 0, -1)


def _divisor(side: Any) -> Fraction | None:
    inner = side
    while class_of(inner) == f"{PACKAGE}Cast":
        inner = inner.child()
    if class_of(inner) != f"{PACKAGE}Literal":
        return None
    constant = _constant(side)
    try:
        return Fraction(str(constant[0])) if constant else None
    except ValueError:
        return None


def _cannot_overflow(node: Any) -> bool:
    kind = type_of(node)
    return kind in _REAL or (_family(kind) in (*_WHOLE, "decimal") and not node.failOnError())


def _is_plain_pattern(node: Any) -> bool:
    pattern = items(node.children())[1]
    return class_of(pattern) == f"{PACKAGE}Literal" and str(node.escapeChar()) not in str(pattern.toString())


def _is_padding(node: Any) -> bool:
    """What Spark itself puts around a CHAR column of a table."""
    return str(node.staticObject().getName()).endswith(".CharVarcharCodegenUtils") and (
        str(node.functionName()) == "readSidePadding"
    )


def _is_exact_sum(node: Any) -> bool:
    """Over whole numbers: a sum of reals depends on the order, and an ANSI sum of 64-bit numbers may overflow."""
    kind = _family(type_of(items(node.children())[0]))
    small = kind in _WHOLE[:3]
    return small or (kind in ("long", "decimal") and str(node.evalContext().evalMode().toString()) != "ANSI")


def _has_no_ties(frame: Any) -> bool:
    """A frame of rows cuts between rows of equal rank, so which rows are in it is chance; one of a range does not."""
    is_whole = str(frame.toString()).endswith("unboundedpreceding$(), unboundedfollowing$())")
    return is_whole or str(frame.frameType().toString()) == "RangeFrame"


_CONDITIONAL: dict[str, Callable[[Any], bool]] = {
    "Cast": _is_total_cast,
    **dict.fromkeys(("Add", "Subtract", "Multiply"), _is_total_arithmetic),
    **dict.fromkeys(("Divide", "IntegralDivide", "Remainder", "Pmod"), _is_total_quotient),
    **dict.fromkeys(("UnaryMinus", "Abs"), _cannot_overflow),
    **dict.fromkeys(("Round", "BRound"), lambda node: type_of(node) in _REAL),
    "GetArrayItem": lambda node: not node.failOnError(),
    "Like": _is_plain_pattern,
    "objects.StaticInvoke": _is_padding,
}
_CONDITIONAL_ACROSS: dict[str, Callable[[Any], bool]] = {
    "aggregate.Sum": _is_exact_sum,
    "SpecifiedWindowFrame": _has_no_ties,
}
