"""Statements for tests: one fixed catalog, the golden statements, and the fingerprint of what a statement asks."""

import datetime as dt
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import discreet as dp
from discreet.plan.fingerprint import Context, fingerprint
from discreet.planner import identity
from discreet.planner.budget.price import Price
from discreet.planner.registry import plan_query
from discreet.query.frame import Query

GOLDEN = Path(__file__).parent / "golden"
DIALECTS = ("duckdb", "postgres", "spark", "bigquery", "snowflake")
EPSILON = Fraction(1, 10)
BUDGET = dp.Budget(epsilon=9, delta=5e-7, reserved_delta=3e-7)
CATALOG = dp.Catalog.parse(
    """
tables:
  visits:
    privacy_unit: patient_id
    max_rows: 10
    budget: {epsilon: 9, delta: 5e-7, reserved_delta: 3e-7}
    columns:
      patient_id: {type: text}
      visit_id: {type: text}
      ward: {type: text, keys: [A, B, C]}
      code: {type: text}
      Room: {type: text}
      age: {type: integer, bounds: [0, 120]}
      nights: {type: integer}
      cost: {type: real, bounds: [0, 5000], grid: 0.01}
      fee: {type: real}
      urgent: {type: boolean}
      day: {type: date}
      seen: {type: timestamp}
      scan: {type: binary}
  prescriptions:
    privacy_unit: patient_id
    max_rows: 5
    budget: {epsilon: 9}
    columns:
      patient_id: {type: text}
      visit_id: {type: text}
      drug: {type: text, keys: [X, Y]}
      dose: {type: integer, bounds: [0, 50]}
      cost: {type: real, bounds: [0, 100]}
  letters:
    privacy_unit: {through: visits, on: visit_id}
    max_rows: 20
    budget: {epsilon: 9}
    columns:
      visit_id: {type: text}
      pages: {type: integer, bounds: [0, 50]}
  people:
    privacy_unit: dp.ROW
    budget: {epsilon: 9}
    columns:
      sex: {type: text, keys: [f, m]}
      age: {type: integer, bounds: [0, 120]}
      income: {type: real, bounds: [0, 100000]}
  wards:
    public: true
    columns:
      ward: {type: text}
      region: {type: text, keys: [N, S]}
      beds: {type: integer, bounds: [0, 60]}
      cost: {type: real, bounds: [0, 9]}
"""
)
_NAMES = {
    "dp": dp,
    "date": dt.date,
    "datetime": dt.datetime,
    "Decimal": Decimal,
    "Fraction": Fraction,
    "visits": dp.table("visits"),
    "prescriptions": dp.table("prescriptions"),
    "letters": dp.table("letters"),
    "people": dp.table("people"),
    "wards": dp.table("wards"),
    "is_true": lambda condition: dp.sum(dp.when(condition, 1).otherwise(0), bounds=(0, 1)),
    "months": lambda first, last: [dt.date(at // 12, at % 12 + 1, 1) for at in range(_month(first), _month(last) + 1)],
}


def _month(text: str) -> int:
    year, month = text.split("-")
    return int(year) * 12 + int(month) - 1


@dataclass(frozen=True)
class Golden:
    """A statement with the construct that it shows, and what it must become.

    `frame` is the query that it equals, in Python; or `because` is a part of the refusal, and `place` where it stands.
    """

    construct: str
    dialect: str
    sql: str
    frame: str = ""
    because: str = ""
    place: str = ""

    @property
    def name(self) -> str:
        """A short name for the report of a test."""
        return f"{self.construct}: {self.dialect}: {' '.join(self.sql.split())}"[:100]


def golden(kind: str) -> list[Golden]:
    """The golden statements that are "accepted" or "refused", one for each of their dialects."""
    found = []
    for path in sorted((GOLDEN / kind).glob("*.toml")):
        for entry in tomllib.loads(path.read_text(encoding="utf-8"))["statement"]:
            rest: Any = {name: value for name, value in entry.items() if name != "dialects"}
            found += [Golden(**rest, dialect=each) for each in entry.get("dialects", ["duckdb"])]
    return found


def queries_of(text: str, dialect: str) -> tuple[Query, ...]:
    """The queries of a statement, each of which has a plan."""
    queries = dp.sql(text, dialect=dialect).translate(CATALOG).queries
    for query in queries:
        plan_query(query.plan, CATALOG, budget_of(query), epsilon=EPSILON)
    return queries


def fingerprint_of(queries: Sequence[Query]) -> str:
    """The fingerprint under which a ledger would know a query, or several as one batch."""
    price, budget = Price(epsilon=EPSILON), budget_of(queries[0])
    asked = [identity.table(query.plan, CATALOG, budget, price) for query in queries]
    question = asked[0] if len(asked) == 1 else identity.batch(asked, budget, price, None)
    return fingerprint(question, Context(((table_of(queries[0]), 1),), is_private=True))


def budget_of(query: Query) -> dp.Budget:
    """The budget of the table at the bottom of a query."""
    return BUDGET if table_of(query) == "visits" else dp.Budget(epsilon=9)


def table_of(query: Query) -> str:
    """The table at the bottom of a query."""
    relation: Any = query.plan.source
    while hasattr(relation, "source"):
        relation = relation.source
    return str(relation.name)


def frame_queries(code: str) -> tuple[Query, ...]:
    """The query or queries that an expression in Python makes, with the tables of the catalog as names."""
    made = eval(code, dict[str, Any](_NAMES))  # noqa: S307 - the golden statements are ours
    return tuple(made) if isinstance(made, Sequence) else (made,)


def bases() -> Mapping[str, str]:
    """Golden statements that are accepted, by text: what a fuzzer starts from."""
    return {each.sql: each.dialect for each in golden("accepted")}
