"""Words that people bring from other libraries, and what to type here instead.

Each table is for one kind of thing: a word, why it is not there, and the line that does what was meant. A name that is
in no table is met with the nearest one that exists.
"""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from discreet.errors import UnknownCallError, suggestion


class Hint(NamedTuple):
    """Why a word is not there, and what to type."""

    because: str
    instead: str


_ELSEWHERE = "it has another name here"
_EXTREME = "the smallest and the largest value are those of one person, whom no reasonable noise would hide"
_NO_ROWS = "a query holds no rows; only a session releases"
_NOT_A_ROW = "an expression speaks of one row; aggregates are asked for by agg"
_PREPARED = "it does not mean the same on every engine"
_ORDER = "rows are chosen and columns are made before they are grouped"
_ONE_DOOR = "a query is built first, and the session releases it"

_RELEASE = 'session.release(dp.table("visits").agg(n=dp.count()), epsilon=0.5)'
_AGG = "agg(n=dp.count())"
_AGG_MEAN = 'agg(cost=dp.mean("cost", bounds=(0, 5_000)))'
_AGG_MEDIAN = 'agg(cost=dp.median("cost", bounds=(0, 5_000)))'
_AGG_QUANTILE = 'agg(cost=dp.quantile("cost", 0.9, bounds=(0, 5_000)))'
_AGG_STD = 'agg(cost=dp.std("cost", bounds=(0, 5_000)))'
_AGG_SUM = 'agg(cost=dp.sum("cost", bounds=(0, 5_000)))'
_HIGH = 'dp.quantile("cost", 0.99, bounds=(0, 5_000))'
_LOW = 'dp.quantile("cost", 0.01, bounds=(0, 5_000))'
_MAX_OF_UNIT = 'dp.largest("cost") in per_unit(...), of the rows of one unit'
_MIN_OF_UNIT = 'dp.smallest("cost") in per_unit(...), of the rows of one unit'
_AGG_HIGH, _AGG_LOW = f"agg(cost={_HIGH})", f"agg(cost={_LOW})"
_CHOOSE = 'choose(["A", "B"], score=dp.score(by="ward"))'
_APPLY = 'apply(function, columns=["cost"], blocks=100, bounds=(0, 5_000))'
_SMOOTH, _PROPOSED = "dp.SmoothSensitivity()", "dp.ProposedBound(bound=10, delta=1e-10)"


def _same(words: str, because: str, instead: str) -> dict[str, Hint]:
    return dict.fromkeys(words.split(), Hint(because, instead))


def _release_call(verb: str, method: str = "") -> str:
    return f'session.release(dp.table("visits").{verb}, epsilon=0.5{", method=" * bool(method)}{method})'


MODULE: Mapping[str, Hint] = {
    **_same("percentile percentiles", _ELSEWHERE, 'dp.quantile("cost", 0.9, bounds=(0, 5_000))'),
    **_same("var", _ELSEWHERE, 'dp.variance("cost", bounds=(0, 5_000))'),
    **_same("stdev stddev deviation", _ELSEWHERE, 'dp.std("cost", bounds=(0, 5_000))'),
    **_same("hist histogram", "bins belong to a table", 'table.histogram("age", bins=range(20, 100, 10))'),
    **_same("crosstab contingency", "cells belong to a table", 'table.contingency("ward", "urgent")'),
    **_same("max maximum", _EXTREME, f"{_HIGH}, or {_MAX_OF_UNIT}"),
    **_same("min minimum", _EXTREME, f"{_LOW}, or {_MIN_OF_UNIT}"),
    **_same("avg average", _ELSEWHERE, 'dp.mean("cost", bounds=(0, 5_000))'),
    **_same("total", _ELSEWHERE, 'dp.sum("cost", bounds=(0, 5_000))'),
    **_same("size len count_rows", _ELSEWHERE, "dp.count()"),
    **_same("Chosen", _ELSEWHERE, "dp.Selection"),
    **_same("nunique distinct count_unique", _ELSEWHERE, 'dp.count_distinct("ward", domain=["A", "B"])'),
    **_same("case case_when ifelse if_else where", _ELSEWHERE, "dp.when(table.age >= 18, 1).otherwise(0)"),
    **_same("coalesce fillna ifnull", "missing values belong to an expression", "table.cost.fill_missing(0)"),
    **_same("col column", "columns belong to a table", 'dp.table("visits").age, or dp.table("visits")["age"]'),
    **_same(
        "read_csv read_parquet read open load connect from_pandas DataFrame",
        "data is opened together with its privacy budget",
        'dp.protect("visits.csv", privacy_unit="patient_id", max_rows=10, budget=dp.Budget(epsilon=2))',
    ),
    **_same("execute explain", "a session is who releases", _RELEASE),
    **_same(
        "Laplace Gaussian", "mechanisms stand in their own module", "dp.mechanisms.Laplace(sensitivity=1, epsilon=0.1)"
    ),
    **_same("compare pld renyi", "accountants stand in their own module", "dp.accounting.compare(event, delta=1e-6)"),
    **_same(
        "PureDPBudget ApproxDPBudget RhoZCDPBudget BudgetAccountant PrivacyBudget Accountant",
        "the budget belongs to the data, and one ledger counts what is spent of it",
        "dp.Budget(epsilon=2), or dp.Budget(epsilon=2, delta=1e-9)",
    ),
    **_same("QueryBuilder Query Context", "a query begins with its table", 'dp.table("visits").agg(n=dp.count())'),
    **_same(
        "KeySet",
        "keys are given where rows are grouped",
        'dp.table("visits").group_by("ward", keys={"ward": ["A", "B"]})',
    ),
    **_same(
        "make_laplace make_gaussian LaplaceMechanism GaussianMechanism measurements",
        "mechanisms stand in their own module",
        "dp.mechanisms.Laplace(sensitivity=1, epsilon=0.1)",
    ),
    **_same("tools", "aggregates stand in discreet itself", 'dp.mean("cost", bounds=(0, 5_000))'),
    **_same(
        "smooth_sensitivity propose_test_release",
        "it is a method of a release",
        f"{_release_call(_AGG_MEDIAN, _SMOOTH)}, or method={_PROPOSED}",
    ),
    **_same("Ledger", _ELSEWHERE, 'dp.SQLiteLedger("ledger.sqlite")'),
}

_PREVIEW = 'dp.preview(session.catalog, dp.table("visits").agg(n=dp.count()), epsilon=0.5)'
SESSION: Mapping[str, Hint] = {
    **_same("query execute run ask table count mean sum", _ONE_DOOR, _RELEASE),
    **_same("evaluate answer compute", _ONE_DOOR, _RELEASE),
    **_same("select choose top within", _ONE_DOOR, _release_call(_CHOOSE)),
    **_same("sample apply map", _ONE_DOOR, _release_call(_APPLY)),
    **_same("smooth", _ONE_DOOR, _release_call(_AGG_MEDIAN, method=_SMOOTH)),
    **_same("propose", _ONE_DOOR, _release_call(_AGG_MEDIAN, method=_PROPOSED)),
    **_same("batch", _ONE_DOOR, "session.release([query, another], epsilon=0.5)"),
    **_same(
        "watch sparse_vector svt",
        _ELSEWHERE,
        "with session.above_threshold(threshold=1_000, epsilon=0.5) as vector: ...",
    ),
    **_same(
        "stream ranges",
        _ELSEWHERE,
        'with session.online_ranges(dp.table("visits"), "age", edges=range(0, 101, 10), total=10_000, threshold=500, '
        "epsilon=0.5) as ranges: ...",
    ),
    **_same(
        "errors",
        _ELSEWHERE,
        'session.expected_errors(dp.table("visits").agg(n=dp.count()), epsilons=[0.1, 0.5, 1], sizes=10_000)',
    ),
    **_same("preview synthetic twin", _ELSEWHERE, _PREVIEW),
    **_same("budget epsilon left spent balance remaining_privacy_budget total", _ELSEWHERE, "session.remaining()"),
    **_same("log charges queries", _ELSEWHERE, "session.history()"),
    **_same("tables columns schema", "public facts stand in the catalog", "session.catalog.tables"),
    **_same(
        "set_cap verify receipts",
        "the ledger keeps the privacy budget",
        "session.ledger.set_cap(...), session.ledger.verify()",
    ),
}

FRAME: Mapping[str, Hint] = _same(
    "columns shape dtypes",
    'a frame knows no schema; a column of that very name is table["{name}"]',
    'session.catalog.table("visits").columns',
)

GROUPED: Mapping[str, Hint] = {
    **_same("count size len", "aggregates are named, and asked for by agg", _AGG),
    **_same("mean avg average", "aggregates are named, and asked for by agg", _AGG_MEAN),
    **_same("sum total", "aggregates are named, and asked for by agg", _AGG_SUM),
    **_same("nunique", "aggregates are named, and asked for by agg", 'agg(wards=dp.count_distinct("ward"))'),
    **_same("max", _EXTREME, _AGG_HIGH),
    **_same("min", _EXTREME, _AGG_LOW),
    **_same("median", _ELSEWHERE, _AGG_MEDIAN),
    **_same("quantile quantiles", _ELSEWHERE, _AGG_QUANTILE),
    **_same("std var variance", "aggregates are named, and asked for by agg", _AGG_STD),
    **_same("aggregate apply transform", _ELSEWHERE, _AGG),
    **_same("where filter having", _ORDER, 'table.where(table.age >= 40).group_by("ward")'),
    **_same("derive assign with_columns", _ORDER, 'table.derive(tens=table.age / 10).group_by("tens", keys=...)'),
}

QUERY: Mapping[str, Hint] = {
    **_same("where filter having", _ORDER, "table.where(table.age >= 40).agg(n=dp.count())"),
    **_same("group_by groupby", _ORDER, 'table.group_by("ward").agg(n=dp.count())'),
    **_same("derive assign agg", _ORDER, "table.derive(tens=table.age / 10).agg(n=dp.count())"),
    **_same("release run execute collect show fetch head", _NO_ROWS, "session.release(query, epsilon=0.5)"),
    **_same("to_pandas to_polars to_arrow plot value", _NO_ROWS, "session.release(query, epsilon=0.5).to_pandas()"),
    **_same("explain", _NO_ROWS, "session.explain(query, epsilon=0.5)"),
}

EXPRESSION: Mapping[str, Hint] = {
    **_same("mean avg average", _NOT_A_ROW, 'table.agg(cost=dp.mean("cost", bounds=(0, 5_000)))'),
    **_same("sum total", _NOT_A_ROW, 'table.agg(cost=dp.sum("cost", bounds=(0, 5_000)))'),
    **_same("count size", _NOT_A_ROW, "table.agg(n=dp.count())"),
    **_same("unique nunique value_counts", _NOT_A_ROW, 'table.group_by("ward").agg(n=dp.count())'),
    **_same("max", _EXTREME, f"table.{_AGG_HIGH}, or {_MAX_OF_UNIT}"),
    **_same("min", _EXTREME, f"table.{_AGG_LOW}, or {_MIN_OF_UNIT}"),
    **_same("median", _ELSEWHERE, f"table.{_AGG_MEDIAN}"),
    **_same("quantile quantiles", _ELSEWHERE, f"table.{_AGG_QUANTILE}"),
    **_same("std var variance", _NOT_A_ROW, f"table.{_AGG_STD}"),
    **_same("isin in_", _ELSEWHERE, '.is_in(["A", "B"])'),
    **_same("isnull isna is_null is_na is_none is_nan", _ELSEWHERE, ".is_missing()"),
    **_same("notnull notna is_not_null is_not_na is_not_missing", _ELSEWHERE, ".is_present()"),
    **_same("astype", _ELSEWHERE, '.cast("integer")'),
    **_same("round floor ceil", _PREPARED, '.cast("integer"), which rounds to the nearest'),
    **_same("fillna fill_null fill_nan coalesce ifnull nvl", _ELSEWHERE, ".fill_missing(0)"),
    **_same("startswith", _ELSEWHERE, '.starts_with("E11")'),
    **_same("endswith", _ELSEWHERE, '.ends_with(".9")'),
    **_same(
        "str like ilike rlike match",
        "patterns do not mean the same on every engine",
        '.starts_with("E11"), .ends_with(".9") or .contains("insulin"), where case matters',
    ),
    **_same("dt", _ELSEWHERE, '.part("weekday"), or .truncate("month")'),
    **_same("date_trunc trunc to_period", _ELSEWHERE, '.truncate("month")'),
    **_same("extract date_part strftime", _ELSEWHERE, '.part("month")'),
    **{each: Hint(_ELSEWHERE, f'.part("{each}")') for each in ("year", "quarter", "month", "day", "hour")},
    **_same("weekday dayofweek isodow", _ELSEWHERE, '.part("weekday"), Monday 1 to Sunday 7'),
    **_same("case case_when when otherwise mask", _ELSEWHERE, "dp.when(table.age >= 18, 1).otherwise(0)"),
    **_same("lower upper abs", _PREPARED, "a column that the owner prepared"),
}


VERBS: Mapping[str, str] = {
    **dict.fromkeys(("aggregate", "count", "head", "size"), _AGG),
    **dict.fromkeys(("select",), f"{_AGG}, or table.{_CHOOSE}"),
    **dict.fromkeys(("argmax", "idxmax", "mode", "nlargest", "top"), _CHOOSE),
    **dict.fromkeys(("sample", "map", "pipe", "map_batches", "mapInArrow"), _APPLY),
    **dict.fromkeys(("assign", "with_columns", "withColumn"), "derive(tens=table.age / 10)"),
    **dict.fromkeys(("filter", "query", "loc"), "where(table.age >= 40)"),
    **dict.fromkeys(("groupby", "groupBy"), 'group_by("ward")'),
    **dict.fromkeys(("mean", "avg"), _AGG_MEAN),
    **dict.fromkeys(("hist", "histplot", "cut"), 'histogram("age", bins=range(0, 101, 10))'),
    **dict.fromkeys(("crosstab", "pivot", "pivot_table"), 'contingency("ward", "urgent")'),
    **dict.fromkeys(("merge", "left_join", "inner_join"), 'join(dp.table("wards"), on="ward")'),
    **dict.fromkeys(("value_counts", "unique"), 'group_by("ward").agg(n=dp.count())'),
    **dict.fromkeys(("median",), _AGG_MEDIAN),
    **dict.fromkeys(("quantile", "quantiles", "percentile"), _AGG_QUANTILE),
    **dict.fromkeys(("std", "var", "variance"), _AGG_STD),
    "max": _AGG_HIGH,
    "min": _AGG_LOW,
    "nunique": 'agg(wards=dp.count_distinct("ward", domain=["A", "B"]))',
    "sum": _AGG_SUM,
}

TABLE_VERBS: Mapping[str, str] = {
    "where": "where(table.age >= 40)",
    "derive": "derive(tens=table.age / 10)",
    "group_by": 'group_by("ward").agg(n=dp.count())',
    "agg": _AGG,
    "histogram": 'histogram("age", bins=range(0, 101, 10))',
    "contingency": 'contingency("ward", "urgent")',
    "ranges": 'ranges("age", ranges=[(21, 33), (21, 65)])',
    "hierarchy": 'hierarchy("state", "county", keys=public_table)',
    "join": 'join(dp.table("wards"), on="ward")',
    "per_unit": "per_unit(n=dp.count())",
    "bounds": 'bounds("cost")',
    "moments": 'moments("age", "cost")',
    "choose": _CHOOSE,
    "fit": 'fit(dp.learning.GradientBoostingClassifier(size=10_000), target="urgent")',
    "search": 'search(dp.learning.NaiveBayes(size=10_000), [{"smoothing": 1}, {"smoothing": 9}], target="urgent")',
    "synthesize": 'synthesize(dp.synthesis.TreeSynthesizer(), columns=["age", "ward"])',
    "find_slots": 'find_slots(["age", "ward"])',
    "apply": _APPLY,
}
LISTED_VERBS = ", ".join(list(TABLE_VERBS)[:-1]) + " and " + list(TABLE_VERBS)[-1]


def verb(name: str) -> str:
    """What to type for a name that was called on a table: a word from elsewhere, or a verb that is nearly that."""
    nearest = suggestion(name, TABLE_VERBS)
    known = VERBS.get(name) or TABLE_VERBS.get(nearest)
    return f"table.{known}" if known else f'table["{name}"] for the column, or one of these verbs'


def unknown_call(owner: str, name: str, words: Mapping[str, Hint], known: Iterable[str], form: str) -> UnknownCallError:
    """Error for an unknown name: the call for a word from elsewhere, or the nearest name that exists.

    `form` writes a name as it is called here, such as "dp.{}".
    """
    hint = words.get(name)
    if hint is None:
        names = [word for word in known if not word.startswith("_")]
        nearest = suggestion(name, names)
        hint = Hint("there is nothing of that name", form.format(nearest) if nearest in names else nearest)
    return UnknownCallError(
        f"{owner} has no attribute {name!r}", because=hint.because.format(name=name), instead=hint.instead
    )
