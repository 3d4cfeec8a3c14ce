"""A small printer: expressions of frames as SQL, for tests that read them back."""

import datetime as dt

from discreet.plan import logical

_SIGNS = {"==": "=", "!=": "<>"}
_REAL = {"bigquery": "FLOAT64", "postgres": "DOUBLE PRECISION"}
_PLACES = {"starts": "{}%", "ends": "%{}", "contains": "%{}%"}


def sql_of(node: logical.Expression, dialect: str) -> str:
    """An expression in SQL, with every bracket."""

    def text(part: logical.Expression) -> str:
        return sql_of(part, dialect)

    match node:
        case logical.ColumnRef(name):
            return name
        case logical.Literal(value):
            return constant(value)
        case logical.Compare(sign, left, right):
            return f"({text(left)} {_SIGNS.get(sign, sign)} {text(right)})"
        case logical.Both(left, right):
            return f"({text(left)} AND {text(right)})"
        case logical.Either(left, right):
            return f"({text(left)} OR {text(right)})"
        case logical.Not(operand):
            return f"(NOT {text(operand)})"
        case logical.IsIn(operand, values):
            return f"({text(operand)} IN ({', '.join(map(constant, values))}))"
        case logical.IsMissing(operand):
            return f"({text(operand)} IS NULL)"
        case logical.Combine(sign, left, right):
            return f"({text(left)} {sign} {text(right)})"
        case logical.Cast(operand, kind) if kind == "real":
            return f"CAST({text(operand)} AS {_REAL.get(dialect, 'DOUBLE')})"
        case logical.TextMatch(operand, how, matched):
            return f"({text(operand)} LIKE {constant(_PLACES[how].format(matched))})"
        case logical.DatePart(operand, part):
            return f"EXTRACT({part} FROM {text(operand)})"
        case logical.Case(branches, otherwise):
            whens = " ".join(f"WHEN {text(condition)} THEN {text(value)}" for condition, value in branches)
            return f"CASE {whens} {'' if otherwise is None else f'ELSE {text(otherwise)} '}END"
    raise NotImplementedError(node)


def constant(value: object) -> str:
    """A constant in SQL."""
    match value:
        case bool():
            return str(value).upper()
        case str():
            return f"'{value}'"
        case dt.datetime():
            return f"TIMESTAMP '{value.isoformat(' ')}'"
        case dt.date():
            return f"DATE '{value.isoformat()}'"
    return repr(value)
